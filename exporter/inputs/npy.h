// numpy's array files.
//   .npy = "\x93NUMPY" major minor header_length header data
//   header = a Python dict with 'descr', 'fortran_order' and 'shape', padded with spaces
// (numpy.lib.format); .npz is a zip of them.
#ifndef RULES_ONNX_EXPORTER_INPUTS_NPY_H_
#define RULES_ONNX_EXPORTER_INPUTS_NPY_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/inputs/input.h"

namespace rules_onnx::inputs {

// The array in the bytes of a .npy file. Numbers and bools in little-endian order; Fortran order
// is turned into row-major. `name` is for messages.
absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes, absl::string_view name);

// One positional argument.
absl::StatusOr<Inputs> ReadNpy(const std::string& path);

// As numpy.savez(path, *args, **kwargs) writes them: arr_0, arr_1, … are positional arguments, all
// others keyword arguments, in the file's order.
absl::StatusOr<Inputs> ReadNpz(const std::string& path);

}  // namespace rules_onnx::inputs

#endif  // RULES_ONNX_EXPORTER_INPUTS_NPY_H_
