// How an argument is made to fit a schema's type. Internal to schema_parser and schema_bind.
#ifndef RULES_ONNX_EXPORTER_IR_SCHEMA_COERCE_H_
#define RULES_ONNX_EXPORTER_IR_SCHEMA_COERCE_H_

#include "absl/strings/string_view.h"
#include "exporter/ir/schema.h"

namespace rules_onnx::ir {

// Converts the argument as BindToSchema says; false where the type does not take it.
bool CoerceArg(const SchemaArg& schema_arg, Arg* arg);

// True for arguments that mean nothing to ONNX: always None in a graph.
bool IsIgnored(const SchemaArg& schema_arg);

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_SCHEMA_COERCE_H_
