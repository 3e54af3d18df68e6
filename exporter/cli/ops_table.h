// The table of operators that can be exported, from the lowerings themselves.
#ifndef RULES_ONNX_EXPORTER_CLI_OPS_TABLE_H_
#define RULES_ONNX_EXPORTER_CLI_OPS_TABLE_H_

#include <string>

namespace rules_onnx::cli {

// For a person: a paragraph for each family, a line for each operator.
std::string OpsText();
// An array of {op, overloads, family, since_opset, note}. Overloads are those of PyTorch that the
// row lowers, without in-place and out forms, which capture turns into these; "" is the one without
// a name.
std::string OpsJson();

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_OPS_TABLE_H_
