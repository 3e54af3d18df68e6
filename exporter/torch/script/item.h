// What a TorchScript value is while the graph is converted.
//
// A leaf is a constant or a value of the new graph. Tuples, lists and dicts of known structure,
// script objects and modules exist only here: operators on them are carried out at conversion, with
// the reference semantics of Python, so that `res += [y]` in straight-line code leaves no trace.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_ITEM_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_ITEM_H_

#include <ATen/core/ivalue.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "exporter/ir/graph.h"

namespace torch::jit {
struct Node;
}

namespace rules_onnx::script {

struct Item;
using ItemRef = std::shared_ptr<Item>;

struct Item {
  enum class Kind { kLeaf, kTuple, kList, kDict, kObject, kOptional, kChoice, kText, kNumber };

  // What assignment changes; all references to an item see it.
  struct Content {
    Kind kind = Kind::kLeaf;
    ir::Arg leaf;
    std::vector<ItemRef> items;                 // of a tuple or list; a dict's values;
                                                // kOptional: whether it is there, and what it is;
                                                // kChoice: what has_identity(), one of which it is
                                                // kText: its number, which Converter::NumberOf gave
                                                // kNumber: whether it is a float, and what it is as
                                                // an int and as a float
    std::vector<ir::Arg> keys;                  // of a dict, beside items; kText: the strings that
                                                // it may be, none if that is not known
    std::vector<ItemRef> flags;                 // kChoice, beside items: whether it is that one
    std::map<std::string, ItemRef> attributes;  // kObject: those read or assigned so far
    bool unset = false;                         // a leaf that nothing reads
    bool entry = false;                         // kOptional: a dict's entry that may be missing
    bool unordered = false;                     // a dict: the run decides the order of its keys
  };

  Content content;
  std::vector<std::string> field_names;            // of a named tuple
  c10::intrusive_ptr<c10::ivalue::Object> object;  // kObject: null for one that the program makes
  std::string path;                                // kObject: "features.0", "" for the root
  c10::TypePtr element;                            // kList: what it is declared to hold, if known
  bool held = false;                               // has_identity(): a copy of what a list holds
  int depth = 0;                                   // of the block that made it
  const torch::jit::Node* chosen_by = nullptr;     // kChoice: the branch or lookup; kNumber: or null
  bool given = false;                              // a leaf that a branch or loop of the graph gives

  Kind kind() const { return content.kind; }
  bool is_leaf() const { return content.kind == Kind::kLeaf; }
  bool is_list() const { return content.kind == Kind::kList; }
  bool is_container() const { return is_list() || content.kind == Kind::kDict; }
  bool is_constant() const { return is_leaf() && !content.leaf.is_value(); }
  bool is_none() const { return is_leaf() && content.leaf.is_none(); }
  bool is_choice() const { return content.kind == Kind::kChoice; }
  // A str that the run decides.
  bool is_text() const { return content.kind == Kind::kText; }
  // An int or a float, as the run decides.
  bool is_number() const { return content.kind == Kind::kNumber; }
  bool is_string() const { return is_leaf() && content.leaf.is_string(); }
  bool is_optional() const { return content.kind == Kind::kOptional; }
  bool is_entry() const { return content.entry; }
  bool is_value() const { return is_leaf() && content.leaf.is_value(); }
  ir::Value* value() const { return content.leaf.value(); }
  // Whether it can be changed in place, so that it matters who else holds it. Tensors are not
  // meant: passes/functionalize follows these.
  bool has_identity() const;
};

// What it is made of: its items, then its attributes.
std::vector<ItemRef> Parts(const Item::Content& content);
// True if both have the same structure of tuples, lists and dicts (with equal keys), and the same
// objects; leaves are equal whatever they hold.
bool SameStructure(const Item& a, const Item& b);
// True if both are the same constants, values and objects throughout.
bool SameContent(const Item& a, const Item& b);
// As SameContent, but of what has_identity() only one and the same is.
bool IsSame(const Item& a, const Item& b);

// The leaves in order, as an argument: lists and tuples become Arg::List. Objects and dicts are
// None; throws where a value may be None or not, or is one of several as the run decides.
ir::Arg ToArg(const Item& item);
// The truth value or integer, if it is one that is known.
std::optional<bool> ConstantBool(const ItemRef& item);
std::optional<int64_t> IntOf(const ItemRef& item);
// Whether it is made of constants alone; a dict or object is not.
bool AllConstant(const Item& item);
// `index` of a Python sequence of `size` items, from its end if negative.
std::optional<size_t> Position(int64_t index, size_t size);
// The type of a constant or value.
ir::Type TypeOfArg(const ir::Arg& arg);
ir::Type TypeOfItem(const Item& item);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_ITEM_H_
