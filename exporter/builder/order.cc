#include "exporter/builder/order.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/builder/inner_graphs.h"
#include "exporter/ir/unique_names.h"

namespace rules_onnx::builder {
namespace {

using Nodes = std::vector<std::unique_ptr<Node>>;
using NodeVisitor = std::function<void(Node*)>;
using ValueVisitor = std::function<void(Value*)>;

// What the node reads, values that its inner graphs read included.
void ForEachUse(const Node& node, const ValueVisitor& visit) {
  for (Value* input : node.inputs) {
    if (input != nullptr) visit(input);
  }
  ForEachInnerGraph(node, [&](Graph* inner) {
    for (const auto& each : inner->nodes) ForEachUse(*each, visit);
    for (Value* output : inner->outputs) visit(output);
  });
}

// Orders the nodes of one graph, the last ir node's first: so the users of a value outside its
// ir node stand where they belong when the ir node that makes it has its turn.
class GraphOrder {
 public:
  explicit GraphOrder(Graph* graph) : graph_(graph) {}

  void Run() {
    for (const auto& node : graph_->nodes) {
      ForEachInnerGraph(*node, [](Graph* inner) { GraphOrder(inner).Run(); });
    }
    for (auto it = graph_->outputs.rbegin(); it != graph_->outputs.rend(); ++it) NoteUse(*it);
    auto end = graph_->nodes.end();
    while (end != graph_->nodes.begin()) {
      auto begin = std::prev(end);
      while (begin != graph_->nodes.begin() && (*std::prev(begin))->source == (*begin)->source) {
        --begin;
      }
      OrderRun(begin, end);
      end = begin;
    }
  }

 private:
  // Uses are noted backwards, so the first one comes last and stays, with the lowest number.
  void NoteUse(const Value* value) { first_use_[value] = --next_use_; }

  void OrderRun(Nodes::iterator begin, Nodes::iterator end) {
    std::unordered_map<const Value*, std::unique_ptr<Node>*> makers;
    std::vector<std::pair<int64_t, std::unique_ptr<Node>*>> roots;
    for (auto it = begin; it != end; ++it) {
      for (const Value* output : (*it)->outputs) {
        makers[output] = &*it;
        const auto use = first_use_.find(output);
        if (use != first_use_.end()) roots.emplace_back(use->second, &*it);
      }
    }
    std::sort(roots.begin(), roots.end());
    Nodes ordered;
    // Moves a node behind the ones it uses.
    const std::function<void(std::unique_ptr<Node>*)> place = [&](std::unique_ptr<Node>* maker) {
      if (*maker == nullptr) return;
      std::unique_ptr<Node> node = std::move(*maker);
      ForEachUse(*node, [&](Value* value) {
        const auto used = makers.find(value);
        if (used != makers.end()) place(used->second);
      });
      ordered.push_back(std::move(node));
    };
    for (const auto& [use, maker] : roots) place(maker);
    std::move(ordered.begin(), ordered.end(), begin);
    NoteUses(begin, end);
  }

  void NoteUses(Nodes::iterator begin, Nodes::iterator end) {
    std::vector<const Value*> uses;
    for (auto it = begin; it != end; ++it) {
      ForEachUse(**it, [&](Value* value) { uses.push_back(value); });
    }
    for (auto it = uses.rbegin(); it != uses.rend(); ++it) NoteUse(*it);
  }

  Graph* graph_;
  std::unordered_map<const Value*, int64_t> first_use_;
  int64_t next_use_ = 0;
};

// Every node of the graph and of inner ones, outer ones first.
void ForEachNode(const Graph& graph, const NodeVisitor& visit) {
  for (const auto& node : graph.nodes) {
    visit(node.get());
    ForEachInnerGraph(*node, [&](Graph* inner) { ForEachNode(*inner, visit); });
  }
}

void OrderInitializers(Model* model) {
  std::vector<Value*>& initializers = model->initializers;
  std::unordered_map<const Value*, size_t> place;
  const auto note = [&](Value* value) { place.emplace(value, place.size()); };
  ForEachNode(model->graph, [&](Node* node) { ForEachUse(*node, note); });
  for (Value* output : model->graph.outputs) note(output);
  const auto constants = std::stable_partition(initializers.begin(), initializers.end(),
                                               [](Value* value) { return value->weight >= 0; });
  std::sort(constants, initializers.end(),
            [&](Value* a, Value* b) { return place.at(a) < place.at(b); });
}

void Name(Model* model) {
  ir::UniqueNames names;
  for (const auto& value : model->values) {
    if (!value->name.empty()) names.Take(value->name);
  }
  for (Value* initializer : model->initializers) {
    if (initializer->name.empty()) initializer->name = names.Make("constant");
  }
  ForEachNode(model->graph, [&](Node* node) {
    node->name = names.Make(absl::StrCat(node->scope, "/", node->op_type));
    for (size_t i = 0; i < node->outputs.size(); ++i) {
      Value* output = node->outputs[i];
      if (output == nullptr || !output->name.empty()) continue;
      const std::string suffix = i == 0 ? "" : absl::StrCat("_", i);
      output->name = names.Make(absl::StrCat(node->name, "_output", suffix));
    }
  });
}

}  // namespace

void OrderAndName(Model* model) {
  GraphOrder(&model->graph).Run();
  OrderInitializers(model);
  Name(model);
}

}  // namespace rules_onnx::builder
