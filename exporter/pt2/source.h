// Module scopes and source lines from the metadata of `.pt2` nodes.
#ifndef RULES_ONNX_EXPORTER_PT2_SOURCE_H_
#define RULES_ONNX_EXPORTER_PT2_SOURCE_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "exporter/ir/serialize.h"

namespace rules_onnx::pt2 {

// "AlexNet/Sequential[features]/Conv2d[0]", each name relative to the module around it, from
//   stack = entry { ";" entry }
//   entry = key "," path "," class
// e.g. "L__self__,,m.AlexNet;L__self___features,features,torch.nn.modules.container.Sequential".
std::string ParseModuleStack(absl::string_view stack);

// The innermost line of the program itself: frames inside torch count only where there is no
// other. From a Python stack trace, outermost first:
//   frame = `File "` path `", line ` number `, in ` function [ newline "    " text ]
std::optional<ir::SourceLocation> ParseStackTrace(absl::string_view trace);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_SOURCE_H_
