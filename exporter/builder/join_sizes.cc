#include "exporter/builder/join_sizes.h"

#include <unordered_map>

#include "exporter/builder/builder.h"
#include "exporter/builder/infer.h"
#include "exporter/builder/inner_graphs.h"

namespace rules_onnx::builder {
namespace {

bool Is(const Node* node, absl::string_view op_type) {
  return node != nullptr && node->domain.empty() && node->op_type == op_type;
}

// The node reads the sizes of axes [start, end).
void MakeShape(Node* node, Value* of, int64_t start, int64_t end) {
  node->op_type = "Shape";
  node->inputs = {of};
  node->attrs.clear();
  const bool all = start == 0 && end == Val(of).rank();
  if (!all) node->attrs = {{"start", start}, {"end", end}};
  node->outputs[0]->type.shape = Shape{Dim(end - start)};
}

class Joiner {
 public:
  explicit Joiner(Model* model) : model_(model) {}

  void Run() {
    Count(model_->graph);
    Visit(&model_->graph);
  }

 private:
  struct Part {
    Node* node;
    int64_t start, end;
  };

  void Count(const Graph& graph) {
    for (const Value* output : graph.outputs) ++uses_[output];
    for (const auto& node : graph.nodes) {
      for (const Value* input : node->inputs) ++uses_[input];
      ForEachInnerGraph(*node, [&](const Graph* inner) { Count(*inner); });
    }
  }

  void Visit(Graph* graph) {
    for (const auto& node : graph->nodes) {
      if (Is(node.get(), "Unsqueeze")) ReadOne(node.get());
      if (Is(node.get(), "Concat") && IntAttr(node->attrs, "axis", -1) == 0) Join(node.get());
      for (const Value* output : node->outputs) makers_[output] = node.get();
      ForEachInnerGraph(*node, [&](Graph* inner) { Visit(inner); });
    }
  }

  Node* Maker(const Value* value) const {
    const auto found = makers_.find(value);
    return found == makers_.end() ? nullptr : found->second;
  }

  void ReadOne(Node* node) {
    const Node* gather = Maker(node->inputs[0]);
    if (!Is(gather, "Gather") || IntAttr(gather->attrs, "axis", 0) != 0) return;
    const Node* shape = Maker(gather->inputs[0]);
    const Val index(gather->inputs[1]);
    if (!Is(shape, "Shape") || !shape->attrs.empty() || index.rank() != 0) return;
    const std::optional<int64_t> axis = index.int_value();
    Value* of = shape->inputs[0];
    if (!axis || *axis < 0 || *axis >= Val(of).rank()) return;
    --uses_[node->inputs[0]];
    ++uses_[of];
    MakeShape(node, of, *axis, *axis + 1);
  }

  std::optional<Part> PartOf(const Value* value) const {
    Node* node = Maker(value);
    if (!Is(node, "Shape")) return std::nullopt;
    const int64_t start = IntAttr(node->attrs, "start", -1), end = IntAttr(node->attrs, "end", -1);
    if (start < 0 || end < 0) return std::nullopt;
    return Part{node, start, end};
  }

  // One value that holds the sizes of both, if they are neighbours and one is used only here.
  Value* Joined(Value* first, Value* second) {
    const std::optional<Part> a = PartOf(first), b = PartOf(second);
    if (!a || !b || a->node->inputs[0] != b->node->inputs[0] || a->end != b->start) return nullptr;
    const bool into_first = uses_[first] == 1;
    if (!into_first && uses_[second] != 1) return nullptr;
    MakeShape(into_first ? a->node : b->node, a->node->inputs[0], a->start, b->end);
    --uses_[into_first ? second : first];
    return into_first ? first : second;
  }

  void Join(Node* concat) {
    std::vector<Value*> parts;
    for (Value* input : concat->inputs) {
      Value* joined = parts.empty() ? nullptr : Joined(parts.back(), input);
      if (joined != nullptr) {
        parts.back() = joined;
      } else {
        parts.push_back(input);
      }
    }
    concat->inputs = parts;
    if (parts.size() > 1) return;
    const Node* only = Maker(parts[0]);
    if (!Is(only, "Shape")) return;
    --uses_[parts[0]];
    ++uses_[only->inputs[0]];
    concat->op_type = "Shape";
    concat->inputs = only->inputs;
    concat->attrs = only->attrs;
  }

  Model* model_;
  std::unordered_map<const Value*, Node*> makers_;
  std::unordered_map<const Value*, int> uses_;
};

}  // namespace

void JoinSizes(Model* model) {
  if (model->opset >= 15) Joiner(model).Run();
}

}  // namespace rules_onnx::builder
