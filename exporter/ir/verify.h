// Structural checks of a graph.
#ifndef RULES_ONNX_EXPORTER_IR_VERIFY_H_
#define RULES_ONNX_EXPORTER_IR_VERIFY_H_

#include "absl/status/status.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::ir {

struct VerifyOptions {
  bool functional = false;  // also: no operator writes to an argument
};

// Every value is defined once, before its uses and in scope; outputs and blocks fit the operator;
// inputs and weights have names, all different, and so have outputs; arguments fit the schema
// where it is known (built in, or in Graph::custom_schemas); literals have the bytes and types the
// elements that they say.
// The message names the first node that does not hold.
absl::Status VerifyGraph(const Graph& graph, const VerifyOptions& options = {});

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_VERIFY_H_
