// Operators of one's own as nodes of a custom domain, by declaration.
//
// A mapping file is JSON:
//
//   file       = "[" mapping { "," mapping } "]"
//   mapping    = "{" '"op"' ":" operator          the captured operator
//                    '"to"' ":" target            the ONNX operator that it becomes
//                  [ '"version"' ":" integer ]    of the target's domain; default: custom_opsets, or 1
//                  [ '"since_opset"' ":" integer ]  counts from this opset on; default: 9
//                  [ '"inputs"' ":" "[" { input } "]" ]   default: none
//                  [ '"attributes"' ":" "{" { name ":" argument } "}" ]
//                  [ '"constants"' ":" "{" { name ":" constant } "}" ] "}"
//   operator   = '"' namespace "::" name [ "." overload ] '"'    without overload: all of them
//   target     = '"' domain "::" op_type '"'      domain ai.onnx: an operator of ONNX itself
//   input      = '"' argument '"' | null          a tensor, or the tensors of a list; null: left out
//   argument   = '"' name in the operator's schema '"'    None: no attribute
//   constant   = integer | number | string | true | false | a list of these of one kind
//
// Entries of a mapping come in any order. Outputs are the captured operator's, with its types.
#ifndef RULES_ONNX_EXPORTER_PLUGIN_HOST_MAPPING_H_
#define RULES_ONNX_EXPORTER_PLUGIN_HOST_MAPPING_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/lowering/lower.h"

namespace rules_onnx::plugin {

// Errors name the file and the mapping: no JSON, an unknown or missing entry, a wrong type.
absl::StatusOr<std::vector<lowering::UserLowering>> ReadMapping(const std::string& path);

}  // namespace rules_onnx::plugin

#endif  // RULES_ONNX_EXPORTER_PLUGIN_HOST_MAPPING_H_
