// Lists and dicts that several names stand for.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_SHARED_CONTAINERS_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_SHARED_CONTAINERS_H_

#include <torch/csrc/jit/ir/ir.h>

#include <functional>
#include <set>
#include <unordered_map>
#include <vector>

#include "exporter/torch/script/item.h"

namespace rules_onnx::script {

// What a program may do after one of its nodes; of a loop, its iterations count as well, and so do
// those of the loops around the node.
class Later {
 public:
  explicit Later(const torch::jit::Node* node);

  // Values that were there before the node and are read later, in order of reading.
  const std::vector<const torch::jit::Value*>& names() const { return names_; }
  // Whether a list or dict of the item's type is changed.
  bool MayWrite(const Item& item) const;

 private:
  void Visit(const torch::jit::Node* node, const torch::jit::Node* before);
  void VisitBlock(const torch::jit::Block* block, const torch::jit::Node* before);

  std::vector<const torch::jit::Value*> names_;
  std::set<const torch::jit::Value*> known_;
  std::vector<c10::TypePtr> written_;
};

// Which lists, dicts and objects no copy can stand for: one holder would not see what is written to
// another's.
class Sharing {
 public:
  // Gives the content of an item where sharing is asked about.
  using ContentOf = std::function<Item::Content(const ItemRef&)>;

  // The program goes on as `later` says, with `holders` and what they hold.
  Sharing(const Later* later, const std::vector<ItemRef>& holders, const ContentOf& content_of);

  // Objects are; a list or dict is that several hold and that may be written to.
  bool KeepsIdentity(const Item& item) const;
  // Whether several hold it and it may be written to, of objects as well.
  bool IsWrittenElsewhere(const Item& item) const;

 private:
  void Reach(const ItemRef& item, const ContentOf& content_of);

  const Later* later_;
  std::unordered_map<const Item*, int> ways_;  // that lead to it, up to 2
};

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_SHARED_CONTAINERS_H_
