// How an argument is made to fit a schema's type: for schema_parser and schema_bind, and for front
// ends that bind by themselves.
#ifndef RULES_ONNX_EXPORTER_IR_SCHEMA_COERCE_H_
#define RULES_ONNX_EXPORTER_IR_SCHEMA_COERCE_H_

#include "absl/strings/string_view.h"
#include "exporter/ir/schema.h"

namespace rules_onnx::ir {

// Converts the argument as BindToSchema says; false where the type does not take it.
bool CoerceArg(const SchemaArg& schema_arg, Arg* arg);

// True for arguments that mean nothing to ONNX: None in a graph, but for channels_last.
bool IsIgnored(const SchemaArg& schema_arg);

// channels_last or channels_last_3d, by their numbers in c10::MemoryFormat, which torch.export's
// schema shares. Of memory formats these alone stay, as they tell what shares memory.
bool IsChannelsLast(const Arg& memory_format);

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_SCHEMA_COERCE_H_
