// Nodes of other domains than ONNX's own, for operators that are written as they were captured.
#ifndef RULES_ONNX_EXPORTER_LOWERING_FOREIGN_H_
#define RULES_ONNX_EXPORTER_LOWERING_FOREIGN_H_

#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// What becomes of operators (torch.onnx.OperatorExportTypes).
enum class ExportType {
  kOnnx,          // ONNX nodes; an operator that has no such form is refused
  kAten,          // every ATen operator that gives tensors: a node ATen of org.pytorch.aten
  kAtenFallback,  // such nodes for ATen operators that have no ONNX form
  kRaw,           // every operator: a node of its own namespace, blocks as graph attributes
  kFallthrough,   // nodes of their own namespace for operators that have no ONNX form
};
// "onnx", "aten", "aten_fallback", "raw", "fallthrough".
std::optional<ExportType> ParseExportType(absl::string_view name);

// The arguments of the captured node as an ONNX node has them:
// - values, and lists that hold values, are inputs in the order of the schema; the attribute
//   `input_names` has the argument's name for each of them
// - other arguments are attributes of their own names: numbers and bools, strings, lists of these;
//   dtypes as the integers of PyTorch's ScalarType; None is left out
// - `prefix` attributes come first.
// Lists that hold values become inputs item by item. Outputs have the captured types; an output
// that ONNX has no type for is a failure.
struct ForeignNode {
  std::string domain;
  std::string op_type;
  Attrs prefix;
};

// As ATen of org.pytorch.aten: attributes `operator` and `overload_name` and the arguments.
ForeignNode AtenNode(const ir::Node& node);
// In the operator's own namespace: "mylib::twice.Tensor" is `twice` of mylib with attribute
// `overload_name`.
ForeignNode OwnNode(const ir::Node& node);
// Emits it in place of a lowering. The domain's version is that of LowerOptions::custom_opsets,
// or 1.
void LowerForeign(Op& op, ForeignNode node);

// The constant argument as an attribute; nullopt for None and what no attribute holds.
std::optional<builder::Attr> AttributeOf(const std::string& name, const ir::Arg& arg);
// The ONNX types of the captured node's outputs; a failure where one has none.
std::optional<std::vector<builder::ValueType>> ForeignTypes(Op& op);
// The version of a custom domain.
int DomainVersion(Op& op, const std::string& domain);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_FOREIGN_H_
