// The functional twin of an operator that writes to its arguments.
#ifndef RULES_ONNX_EXPORTER_PASSES_TWINS_H_
#define RULES_ONNX_EXPORTER_PASSES_TWINS_H_

#include <string>
#include <vector>

#include "exporter/ir/graph.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {

// Operators that change a tensor's own geometry and no content: unsqueeze_, transpose_, t_, ….
// Their functional twin is the view operator of the same name without the underscore.
bool ChangesGeometry(const ir::Node& node);

// What a writing operator does, without the write.
struct Twin {
  bool found = false;
  // The new content of the written arguments, in the order of the schema's arguments, in the
  // dtype (and, but for out=, the shape) that they had.
  std::vector<ir::Value*> written;
  // For each output of the node: the index into `written` that it is, or -1 where `outputs` has
  // the value.
  std::vector<int> output_is_written;
  std::vector<ir::Value*> outputs;
};

// Emits the twin of `node`, whose arguments are current values. The twin is found by schema:
// `aten::add_.Tensor` → `aten::add.Tensor`, `aten::add.out` → the overload of `aten::add` with
// the same arguments, `aten::normal_` → `aten::normal_functional`; copy_, fill_, zero_ and
// fill_diagonal_ by what they do.
Twin EmitTwin(const ir::Node& node, Emitter* emitter);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_TWINS_H_
