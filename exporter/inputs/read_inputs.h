// The option inputs: example inputs from specs and files.
#ifndef RULES_ONNX_EXPORTER_INPUTS_READ_INPUTS_H_
#define RULES_ONNX_EXPORTER_INPUTS_READ_INPUTS_H_

#include <functional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/inputs/input.h"

namespace rules_onnx::inputs {

// Reads a `torch.save`d file; needs LibTorch (exporter/torch/pickle).
using PickleReader = std::function<absl::StatusOr<Inputs>(const std::string& path)>;

// Whether an item is the name of a file, which its suffix tells.
bool NamesFile(absl::string_view item);

// Each item is a spec (spec.h) or, by its suffix, a file: .npz, .npy, .pb (an ONNX TensorProto) or
// .pt (a torch.save'd tuple, read by `read_pickle`; null: refused). The arguments of all items in
// order, keyword arguments last. Errors name the spec or the file; a keyword that comes twice and a
// symbol with two sizes are errors.
absl::StatusOr<Inputs> ReadInputs(const std::vector<std::string>& items,
                                  const PickleReader& read_pickle);

}  // namespace rules_onnx::inputs

#endif  // RULES_ONNX_EXPORTER_INPUTS_READ_INPUTS_H_
