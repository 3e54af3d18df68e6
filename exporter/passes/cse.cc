#include "exporter/passes/cse.h"

#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

// Equal texts: equal arguments.
void AppendArg(const ir::Arg& arg, std::string* key) {
  const auto raw = [key](const auto& value) {
    key->append(reinterpret_cast<const char*>(&value), sizeof(value));
  };
  if (arg.is_none()) {
    key->push_back('n');
  } else if (arg.is_value()) {
    absl::StrAppend(key, "v", arg.value()->id, ";");
  } else if (arg.is_bool()) {
    absl::StrAppend(key, "b", arg.as_bool() ? 1 : 0);
  } else if (arg.is_int()) {
    absl::StrAppend(key, "i", arg.as_int(), ";");
  } else if (arg.is_float()) {
    key->push_back('f');
    raw(arg.as_float());
  } else if (arg.is_complex()) {
    key->push_back('c');
    raw(arg.as_complex().real());
    raw(arg.as_complex().imag());
  } else if (arg.is_string()) {
    absl::StrAppend(key, "s", arg.as_string().size(), ":", arg.as_string());
  } else if (arg.is_dtype()) {
    absl::StrAppend(key, "d", static_cast<int>(arg.as_dtype()), ";");
  } else if (arg.is_literal()) {
    const ir::TensorLiteral& literal = arg.literal();
    absl::StrAppend(key, "t", static_cast<int>(literal.dtype), ":");
    for (const int64_t size : literal.shape) absl::StrAppend(key, size, ",");
    absl::StrAppend(key, ":", literal.bytes.size(), ":", literal.bytes);
  } else {
    absl::StrAppend(key, "[", arg.list().size(), ":");
    for (const ir::Arg& item : arg.list()) AppendArg(item, key);
  }
}

class Eliminator {
 public:
  explicit Eliminator(Context* context) : context_(context) {}

  void Run(ir::Block* block) {
    std::vector<std::string> added;
    NodeList nodes = std::move(block->nodes);
    block->nodes.clear();
    for (auto& node : nodes) {
      replacements_.Apply(node.get());
      if (MayBeShared(*node)) {
        std::string key = Key(*node);
        const auto [it, is_new] = seen_.try_emplace(std::move(key), node.get());
        if (!is_new) {
          for (size_t i = 0; i < node->outputs.size(); ++i) {
            replacements_.Set(node->outputs[i], it->second->outputs[i]);
          }
          continue;
        }
        added.push_back(it->first);
      }
      for (const auto& inner : node->blocks) Run(inner.get());
      block->nodes.push_back(std::move(node));
    }
    replacements_.ApplyToResults(block);
    for (const std::string& key : added) seen_.erase(key);
  }

  bool changed() const { return !replacements_.empty(); }

 private:
  bool MayBeShared(const ir::Node& node) const {
    return node.blocks.empty() && !node.outputs.empty() && !Schemas::IsRandom(node) &&
           !context_->schemas.HasEffects(node);
  }

  static std::string Key(const ir::Node& node) {
    std::string key = absl::StrCat(node.op, "(", node.outputs.size(), ")");
    for (const ir::NamedArg& arg : node.args) AppendArg(arg.value, &key);
    // What an empty list may hold is said by its type alone.
    if (node.op == "prim::ListConstruct") absl::StrAppend(&key, node.output()->type.ToString());
    return key;
  }

  Context* context_;
  std::unordered_map<std::string, const ir::Node*> seen_;
  Replacements replacements_;
};

}  // namespace

bool Cse(Context* context) {
  Eliminator eliminator(context);
  eliminator.Run(&context->graph->main);
  return eliminator.changed();
}

}  // namespace rules_onnx::passes
