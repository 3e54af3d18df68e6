// The directory of a tensor dictionary that torch.save wrote: names, and where each tensor's bytes
// are. Pickles are programs that may call anything; this reads those few instructions and calls that
// a dictionary of tensors needs and refuses all others. It runs nothing.
//
// What it accepts, in pickle protocol 2:
//   dictionary = dict or collections.OrderedDict of string → tensor; other values are skipped
//   tensor     = torch._utils._rebuild_tensor_v2(storage, offset, sizes, strides, …)
//              | torch._utils._rebuild_parameter(tensor, …)
//   storage    = persistent id ("storage", class, key, device, elements)
// Source: torch/_utils.py, torch/serialization.py, CPython's pickletools.
#ifndef RULES_ONNX_EXPORTER_PT2_STATE_DICT_H_
#define RULES_ONNX_EXPORTER_PT2_STATE_DICT_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/pt2/format.h"

namespace rules_onnx::pt2 {

// Payloads by name, from the bytes of data.pkl; path_name is the entry "data/" + key. A value that is
// no tensor has no entry. Errors name `document`.
absl::StatusOr<std::map<std::string, Payload>> DecodeStateDict(const std::string& document,
                                                               absl::string_view pickle);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_STATE_DICT_H_
