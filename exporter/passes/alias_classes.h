// Which values may share memory, coarsely: the classes that functionalize has to follow.
#ifndef RULES_ONNX_EXPORTER_PASSES_ALIAS_CLASSES_H_
#define RULES_ONNX_EXPORTER_PASSES_ALIAS_CLASSES_H_

#include <functional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "exporter/ir/graph.h"
#include "exporter/passes/schemas.h"

namespace rules_onnx::passes {

// A tensor or a container; numbers and strings share no memory.
bool IsMutable(const ir::Type& type);

// Operators that change a list or dict rather than a tensor.
bool ChangesContainer(const ir::Node& node);

// Equivalence classes over all tensor and container values of a graph: two values are in one
// class if one may be a view of, an item of, or the same as the other, by any chain of
// operators, blocks included. Flow-insensitive, linear in the graph.
class AliasClasses {
 public:
  AliasClasses(const ir::Graph& graph, const Schemas& schemas);

  // A number of the class; values outside any class have one of their own.
  int ClassOf(const ir::Value* value) const;
  // Something in the value's class is written to.
  bool IsWritten(const ir::Value* value) const;
  // A tensor's content in the value's class is written to.
  bool IsContentWritten(const ir::Value* value) const;
  // The first node that writes to one of these or to what may share memory with it; or nullptr.
  const ir::Node* FirstWriter(const std::vector<const ir::Value*>& values) const;

  struct Writes {
    std::set<int> tensors;     // classes in which a tensor's content is written
    std::set<int> containers;  // classes in which a list or dict is changed
    std::set<int> orders;      // classes in which items of one leave or change their places
  };
  // What the blocks of a node write, inner blocks included.
  const Writes& WrittenIn(const ir::Node& node) const;

  struct Source {
    const ir::Value* value;  // nullptr: a constant
    bool is_part = false;    // it is not this, but a view of it
    bool is_view = false;    // this is a view itself, for sure, and its sources follow as parts
  };
  // Where the value comes from as what it is, through branches, loops and in-place operators only, and as a part,
  // through views as well, as far back as to what `is_source`.
  std::vector<Source> Sources(const ir::Arg& value,
                              const std::function<bool(const ir::Value*)>& is_source) const;

  // The value, from before `loop`, is used in it or after it, or by an earlier line that a loop
  // around it comes back to; but for its being what the loop carries first at `slot`.
  bool IsUsedFrom(const ir::Node& loop, const ir::Value* value, size_t slot) const;

  // The operator makes items leave a list or dict, or change their places.
  bool MovesItems(const ir::Node& node) const;
  // `list[i] += x`: sets an item that was written to where it stands already.
  bool SetsSameItem(const ir::Node& node) const;

  // The body's result is the param: only in-place operators lie between them.
  bool IsSameObject(const ir::Arg& result, const ir::Value* param) const;

 private:
  struct Definition {
    const ir::Node* node;
    size_t index;
  };
  struct Use {
    int at;                 // in program order
    const ir::Node* loop;   // that carries it first, at `slot`; else nullptr
    size_t slot;
  };
  struct Extent {
    int start;
    std::vector<const ir::Node*> around;  // loops
  };

  int Index(const ir::Value* value);
  int Root(int index) const;
  void Unite(const ir::Arg& a, const ir::Arg& b);
  void VisitBlock(const ir::Block& block, std::vector<const ir::Node*>* owners);
  void VisitNode(const ir::Node& node, const std::vector<const ir::Node*>& owners);
  void UniteBySchema(const ir::Node& node, const ir::Schema& schema);
  void UniteAll(const ir::Node& node);
  void UniteControlFlow(const ir::Node& node);
  void NoteUses(const ir::Node& node, const std::vector<const ir::Node*>& owners);
  bool ComesBackTo(const Extent& loop, const Use& use, const ir::Value* value) const;
  // What the list held from which the node takes an item, when it was made; nullptr where that is not stated.
  const ir::Arg::List* ItemsTakenFrom(const ir::Node& node) const;
  // The tensor that the node's output is a view of; None for what is none.
  ir::Arg Viewed(const ir::Node& node) const;

  const Schemas& schemas_;
  std::unordered_map<const ir::Value*, int> indices_;
  mutable std::vector<int> parents_;
  struct Write {
    const ir::Value* value;
    const ir::Node* by;
  };
  std::vector<Write> writes_seen_;  // in program order
  std::unordered_map<const ir::Node*, std::vector<Write>> written_in_blocks_;
  std::unordered_map<const ir::Value*, Definition> definitions_;
  int clock_ = 0;  // of the program order
  std::unordered_map<const ir::Value*, int> defined_at_;
  std::unordered_map<const ir::Value*, std::vector<Use>> uses_;
  std::unordered_map<const ir::Node*, Extent> loops_;
  // Where items are read and set: the block, and how many changes of lists or dicts stand before.
  std::unordered_map<const ir::Node*, std::pair<const ir::Block*, int>> moments_;
  int container_changes_ = 0;
  std::set<int> written_, contents_written_;
  std::unordered_map<const ir::Node*, Writes> writes_;
};

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_ALIAS_CLASSES_H_
