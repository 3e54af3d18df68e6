// Example inputs in a `torch.save`d file.
#ifndef RULES_ONNX_EXPORTER_TORCH_PICKLE_PICKLE_FILE_H_
#define RULES_ONNX_EXPORTER_TORCH_PICKLE_PICKLE_FILE_H_

#include <string>

#include "absl/status/statusor.h"
#include "exporter/inputs/input.h"

namespace rules_onnx::pickle {

// Reads a tuple of positional arguments (or one value) that torch.save wrote in its zip format:
// tensors, numbers, None, strings, and tuples, lists and dicts of them in any nesting. Errors name
// the file, and the place of a value of another type.
absl::StatusOr<inputs::Inputs> ReadPickle(const std::string& path);

}  // namespace rules_onnx::pickle

#endif  // RULES_ONNX_EXPORTER_TORCH_PICKLE_PICKLE_FILE_H_
