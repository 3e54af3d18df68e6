// Which places may share memory without the program's saying so, and what may be read after a
// write.
#ifndef RULES_ONNX_EXPORTER_PASSES_SHARING_H_
#define RULES_ONNX_EXPORTER_PASSES_SHARING_H_

#include "exporter/ir/graph.h"
#include "exporter/passes/context.h"
#include "exporter/passes/places.h"

namespace rules_onnx::passes {

// Memory knows what a name stands for: a place, a view of one, or one of several by flags
// (Place::choices). Where that is all that can be said, reading gives the newest value. Sharing
// knows the rest: pairs of roots that may show one tensor, or hold it, as only the run decides.
// Functionalizer notes such pairs as it meets them (Link…), and tells of each write; what was
// linked to the written place is unreadable from then on, and RequireReadable reports a read of it
// as "ambiguous-alias". So a link that is missed gives wrong values, and one too many refuses a
// right program.
//
// All links go both ways, are between roots (a view stands for its root, choices for each of their
// places), and are closed over one step: what is linked to a tensor is linked with what that tensor
// was linked with before.
//
// A tensor's link says that a write to the one may be one to the other. A container's link with a
// tensor says that it may hold it: a write to the tensor makes the container's items unreadable,
// and the other way round, but no change of the container itself does. Two containers may hold one
// tensor, or be one container.
//
// A loop's later lines come before its earlier ones, in the next iteration. So a write in a loop to
// what an earlier line of it read under another name is reported at once, and a link to what an
// earlier line wrote to counts as if it had stood there before.
class Sharing {
 public:
  // Both outlive it.
  Sharing(Context* context, Memory* memory) : context_(context), memory_(memory) {}

  // ---- what is noted ----

  // Both may be one tensor (or container); `made` is the newer one.
  void Link(Place* made, Place* other);
  // One tensor may be, or lie in, both.
  void LinkHolders(Place* a, Place* b);
  // `container` holds `place`, for sure.
  void LinkItem(Place* place, Place* container);
  // It holds whatever the values, in the program's own names, stand for.
  void LinkItems(Place* container, const ir::Arg::List& items);
  // An operator made `container` of `arg`: it holds that, or what that holds.
  void LinkToItemsOf(Place* container, Place* arg);
  // `place` may be anything visible that AliasClasses do not tell from it.
  void LinkToClass(Place* place);
  // `place`, of the current block, may be `other` of a branch or body that has ended; what that may
  // be is linked.
  void LinkToOuter(Place* place, Place* other);
  // `popped` was an item of `list`, and may have a name.
  void LinkPopped(Place* list, Place* popped);

  // ---- what is told ----

  // The tensor of `root` was written to, or, where it is a list, a tensor in it.
  void WroteTensor(Place* root, const ir::Node& writer);
  // The container got, lost or moved items.
  void ChangedContainer(Place* container, const ir::Node& writer);
  // Reports a place that a write under another name may have changed. `reader` without an operator
  // is the output.
  void RequireReadable(Place* place, const ir::Node& reader);

  // ---- what is asked ----

  // Both may be, or hold, one tensor. False for nullptr, which shares nothing.
  bool MayMeet(Place* a, Place* b) const;
  // A tensor of the current block that nothing from outside of it shows.
  bool IsMadeHere(const Place& place) const;
  // The tensor may become a view of the list, which takes it in at `depth`: nothing else shows it
  // that lies outside, or that may lie in a list already. What a loop carries is asked about at the
  // end of its body.
  bool CanMoveInto(const Place& place, const Place& list, int depth) const;
  // Tensors of the item, which keep their own places, may be in the list already, or will be put
  // into it again.
  bool MayHoldTwice(const Place& list, const ir::Arg& item) const;

 private:
  using Kind = Place::Dependents Place::*;  // what changes
  using Part = Place::Reading Place::*;     // what becomes unreadable

  void Depend(Place* owner, Kind kind, Place* dependent);
  void DependOnContent(Place* on, Place* dependent);
  void DependBothWays(Place* a, Place* b);
  bool HoldsWhatMeets(const Place& holder, Place* other) const;
  bool MayHoldTwice(const Place& list, Place* root) const;
  void MakeUnreadable(Place::Dependents* dependents, Part part, const ir::Node& writer);
  void MakeUnreadable(Place* place, Part part, const ir::Node& writer);
  void RequireReadable(Place::Reading* reading, const ir::Node& reader);

  Context* context_;
  Memory* memory_;
};

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_SHARING_H_
