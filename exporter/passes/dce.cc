#include "exporter/passes/dce.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

namespace rules_onnx::passes {
namespace {

// Marks from outputs and effects backwards, then sweeps.
class Eliminator {
 public:
  explicit Eliminator(Context* context) : context_(context) {}

  bool Run() {
    ir::Block* main = &context_->graph->main;
    Index(main, nullptr);
    for (const ir::Arg& result : main->results) MarkArg(result);
    for (ir::Node* node : effects_) MarkNode(node);
    while (!work_.empty()) {
      const ir::Value* value = work_.back();
      work_.pop_back();
      MarkDefinition(value);
    }
    Sweep(main);
    return changed_;
  }

 private:
  struct Definition {
    ir::Node* node = nullptr;  // the node itself, or the owner of the block for a param
    size_t index = 0;
    bool is_param = false;
  };

  void Index(ir::Block* block, ir::Node* owner) {
    for (size_t i = 0; i < block->params.size(); ++i) {
      definitions_[block->params[i]] = {owner, i, true};
    }
    for (const auto& node : block->nodes) {
      parents_[node.get()] = owner;
      for (size_t i = 0; i < node->outputs.size(); ++i) {
        definitions_[node->outputs[i]] = {node.get(), i, false};
      }
      if (context_->schemas.HasEffects(*node)) effects_.push_back(node.get());
      for (const auto& inner : node->blocks) Index(inner.get(), node.get());
    }
  }

  void MarkArg(const ir::Arg& arg) {
    arg.ForEachValue([this](ir::Value* value) {
      if (live_.insert(value).second) work_.push_back(value);
    });
  }

  // The node runs: what decides that, and (without blocks) all it reads.
  void MarkNode(ir::Node* node) {
    if (node == nullptr || !needed_.insert(node).second) return;
    if (node->op == "prim::Loop") {
      MarkArg(*node->Find("max_trip_count"));
      MarkArg(*node->Find("cond"));
      MarkArg(node->blocks[0]->results[0]);
    } else {
      for (const ir::NamedArg& arg : node->args) MarkArg(arg.value);
    }
    MarkNode(parents_[node]);
  }

  void MarkDefinition(const ir::Value* value) {
    const auto it = definitions_.find(value);
    if (it == definitions_.end()) return;  // a weight
    const auto [node, index, is_param] = it->second;
    if (node == nullptr) return;  // an input
    MarkNode(node);
    if (node->op == "prim::If") {
      for (const auto& block : node->blocks) MarkArg(block->results[index]);
    } else if (node->op == "prim::Loop") {
      if (is_param && index == 0) return;
      const size_t slot = is_param ? index - 1 : index;
      MarkArg(node->Find("carried")->list()[slot]);
      MarkArg(node->blocks[0]->results[slot + 1]);
      kept_slots_.insert(node->outputs[slot]);
    } else {
      for (const auto& block : node->blocks) {
        for (const ir::Arg& result : block->results) MarkArg(result);
      }
    }
  }

  template <typename T>
  void Keep(std::vector<T>* items, const std::vector<bool>& keep, size_t skip) {
    size_t to = skip;
    for (size_t i = 0; i < keep.size(); ++i) {
      if (keep[i]) {
        if (to != skip + i) (*items)[to] = std::move((*items)[skip + i]);
        ++to;
      }
    }
    items->resize(to);
  }

  void DropUnusedOutputs(ir::Node* node) {
    const bool is_loop = node->op == "prim::Loop";
    if (!is_loop && node->op != "prim::If") return;
    std::vector<bool> keep;
    for (const ir::Value* output : node->outputs) {
      keep.push_back(is_loop ? kept_slots_.contains(output) : live_.contains(output));
    }
    if (std::all_of(keep.begin(), keep.end(), [](bool k) { return k; })) return;
    changed_ = true;
    Keep(&node->outputs, keep, 0);
    for (const auto& block : node->blocks) Keep(&block->results, keep, is_loop ? 1 : 0);
    if (is_loop) {
      Keep(&node->blocks[0]->params, keep, 1);
      Keep(&node->Find("carried")->list(), keep, 0);
    }
  }

  void Sweep(ir::Block* block) {
    const auto dead = [this](const auto& node) { return !needed_.contains(node.get()); };
    const auto end = std::remove_if(block->nodes.begin(), block->nodes.end(), dead);
    changed_ |= end != block->nodes.end();
    block->nodes.erase(end, block->nodes.end());
    for (const auto& node : block->nodes) {
      DropUnusedOutputs(node.get());
      for (const auto& inner : node->blocks) Sweep(inner.get());
    }
  }

  Context* context_;
  std::unordered_map<const ir::Value*, Definition> definitions_;
  std::unordered_map<const ir::Node*, ir::Node*> parents_;
  std::vector<ir::Node*> effects_;
  std::unordered_set<const ir::Value*> live_;
  std::unordered_set<const ir::Value*> kept_slots_;  // by output
  std::unordered_set<const ir::Node*> needed_;
  std::vector<const ir::Value*> work_;
  bool changed_ = false;
};

}  // namespace

bool Dce(Context* context) { return Eliminator(context).Run(); }

}  // namespace rules_onnx::passes
