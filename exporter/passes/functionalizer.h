// The interpreter behind Functionalize; internal to passes/functionalize*.cc.
#ifndef RULES_ONNX_EXPORTER_PASSES_FUNCTIONALIZER_H_
#define RULES_ONNX_EXPORTER_PASSES_FUNCTIONALIZER_H_

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "absl/strings/string_view.h"
#include "exporter/passes/alias_classes.h"
#include "exporter/passes/context.h"
#include "exporter/passes/places.h"
#include "exporter/passes/rewrite.h"
#include "exporter/passes/rough_values.h"
#include "exporter/passes/sharing.h"

namespace rules_onnx::passes {

// Goes through the program in order and emits it anew. Values in classes that nothing writes to
// are left alone; all others are names of objects in Memory, and reading one gives its newest
// value.
class Functionalizer {
 public:
  explicit Functionalizer(Context* context);
  void Run();
  // Strides and offsets of the operator are those of the storage, whatever the shape of the argument is.
  static bool CountsStrides(absl::string_view base);

 private:
  // What a branch delivers.
  struct Ending {
    ir::Arg::List results;
    std::vector<Place*> places;          // of each result; nullptr where untracked
    std::vector<ir::Arg> results_named;  // as the program names them
    std::map<int, Place*> changed;       // by order of creation: outer roots that it writes to
    std::map<int, ir::Arg> values;       // of those, and of containers that a branch may change
    std::map<int, std::vector<Place*>> held;  // in outer lists, of which all is known
  };
  using NodePtr = std::unique_ptr<ir::Node>;

  // functionalize.cc: names, reads, tensor writes.
  bool IsTracked(const ir::Value* value) const { return classes_.IsWritten(value); }
  bool TouchesTracked(const ir::Node& node) const;
  Place* PlaceOf(const ir::Arg& arg) const {
    return memory_.PlaceOf(arg);
  }  // nullptr where untracked
  Place* BindNewRoot(ir::Value* value, Layout layout = {});
  // `args`: where the program has what the node takes.
  void BindOutputs(const ir::Node& node, const std::vector<Place*>& args = {});
  std::vector<Place*> PlacesIn(const ir::Node& node) const;

  ir::Arg Read(const ir::Arg& arg, const ir::Node& reader);
  ir::Arg ReadPlace(Place* place, const ir::Node& reader);
  // Also for what is poisoned: the value is only passed on.
  ir::Arg PassPlace(Place* place, const ir::Node& reader);
  ir::Arg Derive(Place* view, const ir::Node& reader);
  // A value where a list of values would be, for block results and carried values.
  ir::Arg AsOneValue(ir::Arg arg, const ir::Type& type, const ir::Node& reader,
                     const std::string& construct);
  void ReadArgs(ir::Node* node);

  void WritePlace(Place* place, ir::Arg value, const ir::Node& writer);
  void WarnOfLostChanges();
  void ReturnChanges(const ir::Node& end);

  void Emit(NodePtr node) { out_->push_back(std::move(node)); }
  Emitter EmitterFor(const ir::Node& origin) { return Emitter(context_, origin, out_); }
  void Refuse(const ir::Node& node, std::string message, std::string hint = "");

  void VisitBlock(ir::Block* block, const std::function<void()>& at_end);
  void VisitNode(NodePtr node);
  void VisitView(NodePtr node, const ir::Arg& self, const std::vector<Place*>& args);
  void VisitWrite(NodePtr node);
  void VisitGeometryChange(NodePtr node, const ir::Arg& self);

  // functionalize_layouts.cc: where elements lie, in tracked classes and outside.
  void BindWeight(size_t index);
  void CountFromWeight(ir::Node* node, const ir::Value* weight);
  Layout LayoutWhenMade(const ir::Value& value) const;
  Layout LayoutOf(const ir::Value* value) const;
  void NoteView(const ir::Node& node);
  void CountFromStorage(ir::Node* node);
  void WarnOfSizeOne(const ir::Node& node);
  void RequireContiguous(const ir::Node& node, const Layout& layout, const ir::Type& type);

  // functionalize_choices.cc: tensors that lie in one of several places, as the run decides.
  bool BindPickedItem(const ir::Node& node, const ir::Arg::List& items, const ir::Arg& index);
  bool BindChosenResult(ir::Node* node, size_t index, const std::vector<Ending>& endings);
  std::vector<Choice> LiftedChoices(const Place& place, ir::Node* branch, size_t side,
                                    const std::function<Place*()>& own);
  ir::Arg ReadChoice(Place* place, const ir::Node& reader);
  void WriteChoices(Place* place, const ir::Arg& value, const ir::Node& writer);
  // The place as seen from outside of a branch; nullptr for one that lies inside.
  Place* Lifted(Place* place, const ir::Node& branch);
  // `condition ? a : b`
  ir::Arg EmitChoice(const ir::Arg& condition, const ir::Arg& a, const ir::Arg& b,
                     const ir::Type& type, const ir::Node& origin);
  ir::Value* EmitTruth(absl::string_view op, std::vector<ir::NamedArg> args,
                       const ir::Node& origin);

  // functionalize_containers.cc. True if the node is done with.
  bool VisitConstruct(const ir::Node& node);
  bool VisitContainerRead(const ir::Node& node);
  bool VisitContainerWrite(const ir::Node& node);
  bool ReadItem(const ir::Node& node, const ir::Arg& container, int64_t index,
                ir::Value* output);
  bool BindItemOfViews(const ir::Node& node, Place* list, const ir::Arg& index,
                       ir::Value* output);
  bool BindViewAt(const ir::Node& node);
  bool Unpack(const ir::Node& node);
  const ir::Arg::List* KnownItems(const ir::Arg& container) const;
  void BindItem(ir::Value* output, const ir::Arg& item);
  void BindContainer(const ir::Value* output, std::string construct, ir::Arg::List items);
  void BindContainerOrList(ir::Value* output, ir::Arg::List items);
  bool ReadUnknownItem(const ir::Node& node);
  bool DictRead(const ir::Node& node, const ir::Arg::List& items);
  bool WriteKnownList(const ir::Node& node, Place* place);
  bool WriteKnownDict(const ir::Node& node, Place* place);
  bool WriteUnknownList(const ir::Node& node, Place* place);
  const ir::Node* AsDelete(const ir::Node& node);
  struct ListChange;
  static const ListChange* FindListChange(absl::string_view base);
  void PutInAdded(const ir::Node& node, const ListChange& change, const ir::Arg& list,
                  Place* place);
  ir::Value* EmitListChange(const ir::Node& node, const ListChange& change, const ir::Arg& list,
                            const ir::Type& type);
  void SetItems(Place* place, ir::Arg::List items);
  void FinishContainerWrite(const ir::Node& node);

  // functionalize_items.cc: tensors in lists of unknown length.
  bool BindItemOfUnknown(const ir::Node& node);
  void BindTupleItem(const ir::Node& node, Place* tuple, int64_t index, ir::Value* output);
  bool SetsSameItem(const ir::Node& node, const Place& list) const;
  ir::Arg PlaceInList(const ir::Arg& list, const ir::Arg& index, const ir::Node& origin);
  void TakeKnownItems(Place* list, const ir::Node& by);
  void PutIn(Place* list, const ir::Arg& item, const ir::Arg& index, const ir::Node& by);
  bool MoveInto(Place* whole, const ir::Arg& item, NodePtr view);
  void BindItem(const ir::Node& node, Place* whole, const std::string& op,
                std::vector<ir::NamedArg> args, ir::Value* output);
  bool KeepsItemsApart(const Ending& ending, const Place& list) const;
  void TakeBranchItems(Place* list, ir::Value* result, const std::vector<Ending>& endings,
                       const ir::Node& by);
  void LinkToHolders(Place* made, Place* result, const Ending& ending,
                     const std::map<int, Place*>& changed);
  // After a node whose blocks change the list.
  void NoteChangesIn(const ir::Node& node, Place* list);
  void Disown(Place* list, const ir::Node& by);
  void Reorder(Place* list, const ir::Node& by);
  bool RequireInPlace(const Place& item, const ir::Node& reader);
  bool RequireOwnItem(const Place& item, const ir::Node& writer);

  // functionalize_blocks.cc
  void VisitIf(NodePtr node);
  void VisitScan(NodePtr node);
  ir::Arg PassRoot(Place* root, const ir::Node& reader);
  void VisitBranch(ir::Node* node, size_t index, Ending* ending);
  void BindIfOutput(ir::Node* node, size_t index, const std::vector<Ending>& endings,
                    const std::map<int, Place*>& changed);
  void LinkResults(const ir::Node& node, size_t count, const std::vector<Ending>& endings);
  Place* OwnPlace(const ir::Value* output) const;

  // functionalize_loops.cc, functionalize_loop_names.cc
  struct Slot;
  struct LoopParts;
  void VisitLoop(NodePtr node);
  std::vector<Place*> RootsToCarry(const ir::Node& loop) const;
  void CollectSlots(LoopParts* loop);
  class CarriedNames;
  void FindCarriedNames(LoopParts* loop);
  bool HasLaterName(const LoopParts& loop, const Slot& slot) const;
  void CarryOuter(LoopParts* loop);
  void BindParams(LoopParts* loop);
  void CarryTold(LoopParts* loop);
  // `told`: the slot's flags and numbers.
  Place* BindCarried(ir::Value* value, Slot* slot, const std::vector<ir::Value*>& told);
  ir::Arg IsPlace(Place* place, const Place* target, const ir::Node& origin);
  ir::Arg Both(const ir::Arg& a, const ir::Arg& b, const ir::Node& origin);
  ir::Arg Either(const ir::Arg& a, const ir::Arg& b, const ir::Node& origin);
  ir::Arg AreOne(const Slot& slot, const Slot& other, const ir::Node& origin);
  static std::vector<Place*> OwnPlaces(const Slot& slot, Place* place);
  using IsPeer = std::function<ir::Arg(const Slot&)>;
  ir::Arg::List PlaceFlags(Place* place, const Slot& slot, const ir::Node& origin,
                           const IsPeer& is_peer);
  void FinishBody(LoopParts* loop);
  void DeliverTold(LoopParts* loop, const Slot& slot);
  // By root: the slots whose results show it, and the places that they are.
  using SeenNames = std::map<Place*, std::vector<std::pair<const Slot*, const Place*>>>;
  void CheckNames(const LoopParts& loop, Slot* slot, SeenNames* seen);
  bool HasOtherName(const LoopParts& loop, const Slot& slot, Place* place, const SeenNames& seen);
  bool HasOtherName(const LoopParts& loop, const Slot& slot, const Place& place, Place* root,
                    const SeenNames& seen);
  static bool IsSeen(const Slot& slot, const Place& place, Place* root, const SeenNames& seen);
  static bool IsWhole(const Place* place, Place* root);
  void LinkSlots(const LoopParts& loop, const std::vector<ir::Value*>& named);
  void BindLoopOutputs(LoopParts* loop, const std::vector<ir::Value*>& named);

  // functionalize_moving.cc: views of another part in each iteration.
  ir::Arg IsIn(Place* place, const Place* root, const ir::Node& origin);
  ir::Arg NumbersOf(Place* place, const ir::Node& origin);
  ir::Arg NumbersIn(const std::vector<Place*>& wanted, Place* place, const ir::Node& origin);
  ir::Arg NumbersOfChosen(const Place& place, const std::vector<Place*>* wanted,
                          const ir::Node& origin);
  ir::Arg NoNumbers(const ir::Type& type, const ir::Node& origin);
  // For each of the slot's places and peers.
  ir::Arg::List PlaceNumbers(Place* place, const Slot& slot, const ir::Type& type,
                             const ir::Node& origin, const IsPeer& is_peer);
  Place* Numbered(Place* root, ir::Value* value, const Slot& slot, ir::Value* numbers);
  void WriteNumbered(Place* place, const ir::Arg& value, const ir::Node& writer);
  static ir::Type NumbersType(const Slot& slot, const ir::Type& type);
  static bool LeavesItsPlaces(const Slot& slot);

  Context* context_;
  AliasClasses classes_;
  RoughValues rough_;
  Memory memory_;
  Sharing sharing_;
  NodeList* out_ = nullptr;
  Replacements renamed_;  // outputs outside tracked classes that another value stands for
  std::unordered_set<const ir::Value*> counters_;  // of loops' iterations
  // Views outside tracked classes, with the tensor whose storage they show.
  struct UntrackedView {
    Layout layout;
    ir::Value* root;
  };
  std::unordered_map<const ir::Value*, UntrackedView> views_;
  std::unordered_map<const ir::Value*, int64_t> weight_offsets_;  // in their storages, but for 0
  // With the first node that writes to each.
  std::vector<std::pair<const Place*, const ir::Node*>> changed_weights_;
  std::vector<NodePtr> retired_;  // replaced nodes, kept for messages
};

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_FUNCTIONALIZER_H_
