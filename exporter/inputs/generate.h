// Values for inputs that are given by shape only. The same on every machine and in every version:
// element i of the tensor at position p is made from
//   r = mix(mix(p) + (i + 1) * 0x9e3779b97f4a7c15), mix being SplitMix64's finalizer,
// so that a longer tensor begins with the values of a shorter one.
//   integers   min + r mod (max - min + 1)
//   bool       the lowest bit of r
//   floats     min + (max - min) * (r >> (64 - b)) / 2^b, b being the bits of the dtype's
//              significand, in IEEE double arithmetic, then rounded to nearest even
//   complex    two floats, elements 2i and 2i + 1
#ifndef RULES_ONNX_EXPORTER_INPUTS_GENERATE_H_
#define RULES_ONNX_EXPORTER_INPUTS_GENERATE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "exporter/ir/dtype.h"

namespace rules_onnx::inputs {

// Both ends belong to it; a float reaches max only by rounding.
struct IntRange {
  int64_t min = 0;
  int64_t max = 9;
};
struct FloatRange {
  double min = -1;
  double max = 1;
};

// Bytes of `count` elements. An error for a dtype of another kind, an empty range, and a range
// that the dtype cannot hold.
absl::StatusOr<std::string> GenerateInts(ir::DType dtype, uint64_t count, const IntRange& range,
                                         uint64_t position);
absl::StatusOr<std::string> GenerateFloats(ir::DType dtype, uint64_t count, const FloatRange& range,
                                           uint64_t position);
std::string GenerateBools(uint64_t count, uint64_t position);

}  // namespace rules_onnx::inputs

#endif  // RULES_ONNX_EXPORTER_INPUTS_GENERATE_H_
