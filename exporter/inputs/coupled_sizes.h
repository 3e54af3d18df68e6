// Sizes at which to run a program beside those of the example.
#ifndef RULES_ONNX_EXPORTER_INPUTS_COUPLED_SIZES_H_
#define RULES_ONNX_EXPORTER_INPUTS_COUPLED_SIZES_H_

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace rules_onnx::inputs {

using Sizes = std::map<std::string, int64_t>;  // symbol → size

// Larger sizes of an axis that has `n` in the example, in the order in which to try them.
std::vector<int64_t> LargerSizes(int64_t n);

// The axes that move, and their sizes, where a program does not take another size of `symbol`
// alone: all axes of its example size at each of `candidates`; then it and one other axis larger by
// the same amount (the length of a cache and that of a mask over it); then in proportion, both
// doubled.
std::vector<Sizes> CoupledSizes(const Sizes& example, const std::string& symbol,
                                const std::vector<int64_t>& candidates);

}  // namespace rules_onnx::inputs

#endif  // RULES_ONNX_EXPORTER_INPUTS_COUPLED_SIZES_H_
