// x.graph and x.debug: deterministic protobuf forms of a Graph and of its source locations.
#ifndef RULES_ONNX_EXPORTER_IR_SERIALIZE_H_
#define RULES_ONNX_EXPORTER_IR_SERIALIZE_H_

#include <map>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::ir {

// Where a node comes from: for messages, doc strings and `print` only.
struct SourceLocation {
  std::string file;    // name without folders; empty: not known
  int line = 0;
  std::string text;    // the source line, trimmed; may be empty
  std::string scope;   // as Node::scope; may be empty
};

// "net.py:12"; "" where the file is not known.
std::string LocationText(const SourceLocation& location);

// Node id → location.
using DebugInfo = std::map<int32_t, SourceLocation>;

// The same graph gives the same bytes in every process. Ids of values and nodes are renumbered in
// order of appearance, so that ids left over from dropped nodes do not show; `debug`, if given,
// is renumbered with them, and takes the nodes' scopes: the bytes then hold only the names of
// modules (`/[features]/[0]`), so that renaming a class does not change x.graph.
std::string SerializeGraph(Graph* graph, DebugInfo* debug = nullptr);
// Fails on foreign or damaged bytes, and on a graph that VerifyGraph refuses.
absl::StatusOr<Graph> ParseGraph(absl::string_view bytes);
// Gives the nodes the scopes that `debug` holds for them.
void RestoreScopes(const DebugInfo& debug, Graph* graph);

std::string SerializeDebug(const DebugInfo& debug);
absl::StatusOr<DebugInfo> ParseDebug(absl::string_view bytes);

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_SERIALIZE_H_
