// Tools that passes share: replacing values, emitting nodes, one sweep over all blocks.
#ifndef RULES_ONNX_EXPORTER_PASSES_REWRITE_H_
#define RULES_ONNX_EXPORTER_PASSES_REWRITE_H_

#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "absl/strings/string_view.h"
#include "exporter/ir/graph.h"
#include "exporter/passes/context.h"

namespace rules_onnx::passes {

using NodeList = std::vector<std::unique_ptr<ir::Node>>;

inline ir::Type IntType() { return ir::Type::Scalar(ir::Type::Kind::kInt); }
inline ir::Type BoolType() { return ir::Type::Scalar(ir::Type::Kind::kBool); }

// Values that are replaced by other arguments. A replacement is taken as it stands: what is set
// must hold no replaced value itself, which a sweep in program order gives by itself.
class Replacements {
 public:
  void Set(const ir::Value* from, ir::Arg to) { map_[from] = std::move(to); }
  bool empty() const { return map_.empty(); }
  // nullptr where the value stays.
  const ir::Arg* Find(const ir::Value* value) const;
  void Apply(ir::Arg* arg) const;
  void Apply(ir::Node* node) const;           // arguments only
  void ApplyToResults(ir::Block* block) const;
  // Everything in the block and the blocks below it.
  void ApplyToAll(ir::Block* block) const;

 private:
  std::unordered_map<const ir::Value*, ir::Arg> map_;
};

// Appends nodes that stand for `origin` to a list of nodes.
class Emitter {
 public:
  Emitter(Context* context, const ir::Node& origin, NodeList* out)
      : context_(context), origin_(&origin), out_(out) {}

  // Arguments are bound to the operator's schema where it has one: defaults may be left out.
  ir::Value* Emit(absl::string_view op, std::vector<ir::NamedArg> args, ir::Type type);
  // With any number of outputs.
  ir::Node* EmitNode(absl::string_view op, std::vector<ir::NamedArg> args,
                     std::vector<ir::Type> outputs);
  // Deep copy of a node with its blocks. Values defined in it, outputs and block params included,
  // get new values, which are added to `replacements`.
  ir::Node* EmitCopy(const ir::Node& node, Replacements* replacements);

  Context* context() const { return context_; }
  const ir::Node& origin() const { return *origin_; }

 private:
  Context* context_;
  const ir::Node* origin_;
  NodeList* out_;
};

// Copies all nodes of the block to `out`, with new values for what they define.
void CopyBlock(Context* context, const ir::Block& block, Replacements* replacements,
               NodeList* out);

enum class Action { kKeep, kDrop };

// Called for each node, outer before inner, in program order, with its arguments replaced
// already. What it emits stands before the node. A visitor that drops a node, or wants its
// outputs replaced, sets them in `replacements`.
using Visitor =
    std::function<Action(ir::Node* node, Emitter* emitter, Replacements* replacements)>;

// True if a node was dropped, emitted or replaced.
bool RewriteGraph(Context* context, const Visitor& visit);

// How often each value is read: by nodes, by block results, by the graph's outputs.
std::unordered_map<const ir::Value*, int> CountUses(const ir::Graph& graph);

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_REWRITE_H_
