#include "exporter/passes/unroll.h"

#include <algorithm>
#include <utility>

#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

constexpr int64_t kMaxIterations = 64;
constexpr int64_t kMaxNodes = 2048;
constexpr int64_t kMaxIterationsOfContainers = 1024;
constexpr int64_t kMaxNodesOfContainers = 16384;

bool IsTrue(const ir::Arg& arg) { return arg.is_bool() && arg.as_bool(); }
bool IsFalse(const ir::Arg& arg) { return arg.is_bool() && !arg.as_bool(); }

bool CarriesContainer(const ir::Node& loop) {
  return std::any_of(loop.outputs.begin(), loop.outputs.end(), [](const ir::Value* value) {
    using Kind = ir::Type::Kind;
    const Kind kind = value->type.kind;
    return kind == Kind::kList || kind == Kind::kTuple || kind == Kind::kDict ||
           kind == Kind::kOptional;
  });
}

int64_t CountNodes(const ir::Block& block) {
  int64_t count = 0;
  ir::ForEachNode(block, [&](const ir::Node&) { ++count; });
  return count;
}

class Unroller {
 public:
  explicit Unroller(Context* context) : context_(context) {}

  void Run(ir::Block* block) {
    NodeList nodes = std::move(block->nodes);
    block->nodes.clear();
    for (auto& node : nodes) Visit(std::move(node), &block->nodes);
    replacements_.ApplyToResults(block);
  }

  bool changed() const { return changed_; }

 private:
  void Visit(std::unique_ptr<ir::Node> node, NodeList* out) {
    replacements_.Apply(node.get());
    if (node->op == "prim::If" && node->Find("cond")->is_bool()) return InlineBranch(*node, out);
    if (node->op == "prim::Loop") {
      const ir::Arg& count = *node->Find("max_trip_count");
      const bool never = IsFalse(*node->Find("cond")) || (count.is_int() && count.as_int() <= 0);
      if (never) return RepeatBody(*node, 0, out);
      if (ShouldUnroll(*node)) return RepeatBody(*node, count.as_int(), out);
    }
    for (const auto& inner : node->blocks) Run(inner.get());
    out->push_back(std::move(node));
  }

  void InlineBranch(const ir::Node& node, NodeList* out) {
    changed_ = true;
    ir::Block* taken = node.blocks[node.Find("cond")->as_bool() ? 0 : 1].get();
    for (auto& inner : taken->nodes) Visit(std::move(inner), out);
    replacements_.ApplyToResults(taken);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      replacements_.Set(node.outputs[i], taken->results[i]);
    }
  }

  static bool ShouldUnroll(const ir::Node& node) {
    const ir::Arg& count = *node.Find("max_trip_count");
    const ir::Block& body = *node.blocks[0];
    if (!count.is_int() || !IsTrue(*node.Find("cond")) || !IsTrue(body.results[0])) return false;
    const bool containers = CarriesContainer(node);
    const int64_t iterations = containers ? kMaxIterationsOfContainers : kMaxIterations;
    const int64_t limit = containers ? kMaxNodesOfContainers : kMaxNodes;
    return count.as_int() <= iterations && count.as_int() * CountNodes(body) <= limit;
  }

  void RepeatBody(const ir::Node& node, int64_t count, NodeList* out) {
    changed_ = true;
    replacements_.ApplyToAll(node.blocks[0].get());
    const ir::Block& body = *node.blocks[0];
    ir::Arg::List carried = node.Find("carried")->list();
    for (int64_t i = 0; i < count; ++i) {
      Replacements iteration;
      iteration.Set(body.params[0], i);
      for (size_t k = 0; k < carried.size(); ++k) iteration.Set(body.params[k + 1], carried[k]);
      CopyBlock(context_, body, &iteration, out);
      for (size_t k = 0; k < carried.size(); ++k) {
        carried[k] = body.results[k + 1];
        iteration.Apply(&carried[k]);
      }
    }
    for (size_t k = 0; k < carried.size(); ++k) {
      replacements_.Set(node.outputs[k], std::move(carried[k]));
    }
  }

  Context* context_;
  Replacements replacements_;
  bool changed_ = false;
};

}  // namespace

bool Unroll(Context* context) {
  Unroller unroller(context);
  unroller.Run(&context->graph->main);
  return unroller.changed();
}

}  // namespace rules_onnx::passes
