// From an inlined TorchScript graph and the records of its runs to the captured graph.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_CONVERTER_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_CONVERTER_H_

#include <torch/csrc/jit/ir/alias_analysis.h>

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/capture/program.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/torch/script/item.h"
#include "exporter/torch/script/program.h"
#include "exporter/torch/script/restructure.h"
#include "exporter/torch/script/shared_containers.h"
#include "exporter/torch/script/size_arguments.h"
#include "exporter/torch/script/typing.h"
#include "exporter/torch/script/weight_table.h"
#include "exporter/torch/values/arguments.h"

namespace rules_onnx::script {

// A node whose outcome the inputs decide, in one of the ways that runs can be made to vary.
struct DynamicPoint {
  enum class Kind { kSize, kNumber, kCondition, kLoop };
  const torch::jit::Node* node;
  Kind kind;
  // kSize: the axis of its results that is to be moved; nullopt: the one that values decide
  // (DataDependentAxis).
  std::optional<int64_t> axis;
  // Axes of the inputs decide it alone, which the runs move by themselves: where nothing else can, the
  // runs are believed.
  bool axes_alone = false;
};

struct Conversion {
  capture::Program program;
  std::vector<DynamicPoint> points;  // in order of appearance, each node once
  std::vector<diagnostics::Diagnostic> warnings;
  // What keeps the program from having a graph as it is; if there is any, there is none.
  std::vector<FormChange> changes;
};

struct ConvertInput {
  const ScriptProgram* program;
  const std::vector<torch_values::BoundArgument>* arguments;
  const std::vector<Run>* runs;  // the first at the example sizes
  const Contexts* contexts;
  // Nodes whose outcome could not be varied: no size that follows from them is taken as known.
  std::set<const torch::jit::Node*> untrusted;
  // Nodes that no other form is known for.
  std::set<const torch::jit::Node*> as_it_is;
  // Paths of inputs that could not be varied, or an axis of which could not.
  std::set<std::string> untrusted_inputs;
  // What was varied where no value asked for it: numbers, and axes of results.
  std::set<const torch::jit::Node*> moved_numbers;
  std::map<const torch::jit::Node*, std::set<int64_t>> moved_axes;
};

// Converts the whole program. Errors name the operator and the source line.
absl::StatusOr<Conversion> Convert(const ConvertInput& input);

// Thrown inside of the conversion, and turned into a status by Convert.
struct ConvertError {
  absl::Status status;
};
// Where the program itself would raise an error.
struct RaisedError : ConvertError {};

class Converter {
 public:
  explicit Converter(const ConvertInput& input);
  Conversion Run();

 private:
  using JitNode = torch::jit::Node;
  using JitValue = torch::jit::Value;
  using JitBlock = torch::jit::Block;

  // Content that items had before a block changed them, in order of the first change.
  struct Journal {
    std::vector<std::pair<ItemRef, Item::Content>> before;
  };
  // One conversion of an inner block.
  struct Branch {
    std::unique_ptr<ir::Block> block;
    std::vector<ItemRef> outputs;
    std::vector<std::pair<ItemRef, Item::Content>> changed;  // after; outside all is as before
    bool raises = false;
  };
  // What takes the results of two branches together.
  struct Merge {
    const JitNode* node;    // for messages
    const JitNode* chooser;  // the branch that another form of the program can do without
    ir::Arg condition;
    Branch a, b;
    std::unique_ptr<ir::Node> emitted;  // the If
    bool copies = false;  // nothing is written to afterwards
    std::unique_ptr<Sharing> sharing_a, sharing_b;  // null until asked for
    std::map<const Item*, ItemRef> lifted;  // what a branch made, as seen from outside
  };
  // One side of a branch: converts it, which is true if it raises, and where its results are then.
  struct Side {
    std::function<bool()> convert;
    std::vector<const JitValue*> results;
  };
  // Thrown where a node needs another form.
  struct NeedsRestructuring {
    FormChange change;
  };
  // Thrown where an item must be a value of the graph before the current inner block begins.
  struct NeedsValue {
    ItemRef item;
  };
  // An entry of an outer object, dict or list that a loop changes.
  struct Slot {
    ItemRef holder;
    std::string attribute;  // kObject
    size_t index = 0;       // kDict, kList
  };
  // What a loop carries, as far as attempts at its body have shown.
  struct LoopPlan {
    std::vector<ItemRef> state;        // that of TorchScript, before the loop
    std::set<size_t> invariant;        // of the state: what no iteration changes
    std::vector<Slot> slots;
    std::vector<ir::Type> slot_types;  // what an iteration leaves in them
    // Places of two keys of a dict, the second of which may be there without the first.
    std::set<std::tuple<const Item*, size_t, size_t>> apart;
    std::set<const Item*> kept;        // lists and dicts that are carried as what they are, not copied
  };
  struct LoopAttempt {
    Branch branch;
    ir::Block head;  // has the body's parameters
    ir::Arg::List carried;
    std::vector<ItemRef> state_items;
    // As they are before the body, which may append to a parameter or make it a value.
    std::vector<ItemRef> params, slot_params;
    // Of a list or dict that is carried by copying, the parameter and what it was before: the initial.
    std::map<const Item*, ItemRef> copied;
    std::set<const Item*> shared;  // results that no copy can stand for
    std::vector<ItemRef> slot_initials, slot_items, slot_results;  // before, in, after the body
  };

  // converter.cc: blocks, plain operators, results.
  void ConvertProgram();
  bool ConvertBlock(const JitBlock* block);
  bool ConvertNode(const JitNode* node);
  void ConvertGetAttr(const JitNode* node);
  void EmitOperator(const JitNode* node);
  ir::Node* Emit(const JitNode* origin, std::string op, std::vector<ir::NamedArg> args);
  // The bool or number that an emitted node gives.
  ir::Value* EmitScalar(const JitNode* origin, std::string op, std::vector<ir::NamedArg> args,
                        ir::Type::Kind kind);
  // None but for channels_last.
  ir::Arg MemoryFormat(const JitNode* node, size_t index) const;
  ir::Arg BindArgument(const JitNode* node, size_t index, const c10::Argument& argument);
  ItemRef Unpacked(const JitNode* origin, ir::Value* value, size_t fixed_length,
                   const std::vector<bool>& unknown);
  void TellEqualAxesApart(const ir::Node& node, ir::Type* type) const;
  void JoinItem(const ItemRef& list, const ItemRef& item) const;
  void AddDataSymbols(const JitNode* node);
  void DefineOutputs(const JitNode* node, ir::Node* emitted);
  [[noreturn]] void Fail(const JitNode* node, const std::string& message) const;
  [[noreturn]] void FailAsProgram(const JitNode* node, const std::string& message) const;
  absl::Status Error(const JitNode* node, const std::string& message) const;
  void Warn(const JitNode* node, const std::string& id, const std::string& message);

  // convert_io.cc: inputs and outputs of the program.
  void DefineInputs();
  ItemRef InputItem(const inputs::Value& value, const std::string& path);
  void AddOutputs();
  void FlattenOutput(const ItemRef& item, const Observed& seen, const std::string& path,
                     const ItemRef& there, const c10::TypePtr& type);
  ir::Value* OptionalOutput(const ir::Arg& result, const ItemRef& there);
  // Whether both hold; a null `a` does.
  ItemRef Both(const ItemRef& a, const ItemRef& b);
  ir::Arg Ranked(const ir::Arg& result, const Observed& seen, const std::string& path);
  void FinishWeights();

  // convert_containers.cc
  bool ConvertStructure(const JitNode* node);
  bool ConvertListOperator(const JitNode* node);
  void MakeReadable(const JitNode* node, const ItemRef& list);
  bool SetsSameItem(const JitNode* node, const ItemRef& list);

  // convert_queries.cc: what is answered at conversion.
  bool ConvertQuery(const JitNode* node);
  ItemRef Identity(const JitNode* node);
  std::optional<bool> SeenTruth(const JitNode* node) const;
  bool MayBeGiven(const JitValue* value);
  bool ConvertEnum(const JitNode* node);
  bool FoldConstants(const JitNode* node);
  ItemRef Negated(const JitNode* origin, const ItemRef& truth);
  // What one truth value says of another: that it is the same, or the opposite.
  std::optional<bool> Agrees(const ItemRef& a, const ItemRef& b) const;
  ir::Arg SizeOf(const JitNode* origin, const ItemRef& tensor, int64_t axis);

  // convert_dicts.cc
  bool ConvertDictOperator(const JitNode* node);
  bool MakeDict(const JitNode* node);
  bool ConvertKeyOperator(const JitNode* node, const ItemRef& dict);
  bool ConvertLookup(const JitNode* node, const ItemRef& dict);
  ItemRef DictLength(const JitNode* node, const ItemRef& dict);
  ItemRef DictView(const JitNode* node, const ItemRef& dict);
  // An entry that may be missing: now it is there with `item`, or, where that is null, missing.
  ItemRef Entry(const JitNode* node, const ItemRef& item, const ItemRef& like);
  // Whether an entry is there.
  ItemRef There(const ItemRef& item);
  // What stands at a key after some change; `like` is what else stands there.
  ItemRef EntryAfter(const JitNode* node, const Item::Content& after, const ir::Arg& key,
                     const ItemRef& like);
  void SetEntry(const ItemRef& dict, const ir::Arg& key, ItemRef value);
  // Whether an entry is never there without another, as far as is known.
  bool Implies(const ItemRef& entry, const ItemRef& other);
  void NoteImplied(const ItemRef& entry, const ItemRef& other);
  // Calls `visit` for the slots of any two entries of one dict, in the order of their keys.
  static void ForEachTwoEntries(const std::vector<Slot>& slots,
                                const std::function<void(size_t first, size_t second)>& visit);
  // Gives both the keys that one of them has.
  void MergeKeys(const JitNode* node, Item::Content* left, Item::Content* right);
  // `condition ? a : b`; with `copies` it is only read.
  ItemRef Select(const JitNode* node, const ItemRef& condition, const ItemRef& a,
                 const ItemRef& b, bool copies = false);

  // Each retry of a branch or loop makes at least one more list or entry a value; programs need few.
  static constexpr int kMaxAttempts = 64;

  // convert_branches.cc: branches; convert_loops.cc: loops.
  bool ConvertIf(const JitNode* node);
  bool ConvertLoop(const JitNode* node);
  bool Unroll(const JitNode* node, std::vector<ItemRef>* state, ItemRef* condition,
              int64_t* iteration, bool* raised);
  void ConvertDynamicLoop(const JitNode* node, std::vector<ItemRef> state,
                          const ItemRef& condition, int64_t done);
  std::vector<int> LoopContexts(const JitNode* node, int64_t done) const;
  void AddLoopParams(const JitNode* node, const std::vector<int>& inside, const LoopPlan& plan,
                     LoopAttempt* attempt);
  // False if something had to become a value first; the attempt is void then.
  bool TryLoop(const JitNode* node, const std::vector<int>& inside, int64_t done,
               const LoopPlan& plan, LoopAttempt* attempt);
  // True if the attempt shows that the loop carries more, or in another form, than planned.
  bool ChangePlan(const JitNode* node, const LoopAttempt& attempt, LoopPlan* plan);
  // False as TryLoop.
  bool AddLoopResults(const JitNode* node, const LoopPlan& plan, LoopAttempt* attempt);
  ir::Arg TripCount(const JitNode* node, int64_t done);
  std::optional<bool> AtEnd(const ir::Arg& trips, const ItemRef& condition, const ItemRef& initial,
                            const ItemRef& result, const Branch& body) const;
  void EmitLoop(const JitNode* node, const ItemRef& condition, int64_t done,
                const LoopPlan& plan, LoopAttempt* attempt);
  Branch ConvertLoopBody(const JitNode* node, ir::Value* index, int64_t done);
  bool AddSlots(const JitNode* node, const ItemRef& item, const Item::Content& after,
                std::vector<Slot>* slots);
  static void DropSlotsOfValues(LoopPlan* plan);
  ItemRef SlotItem(const Slot& slot);
  ItemRef SlotResult(const JitNode* node, const Slot& slot, const Branch& branch);
  void SetSlot(const Slot& slot, ItemRef item);
  Branch ConvertInner(const Side& side);
  bool ConvertBranches(const JitNode* node, const JitNode* chooser, const ItemRef& condition,
                       const Side& first, const Side& second);
  ItemRef MergeItems(Merge* merge, const ItemRef& a, const ItemRef& b);
  // The list as a value that is made in the branch.
  ItemRef ListValueIn(const JitNode* node, const ItemRef& list, const Branch& branch,
                      const ir::Type& form = ir::Type());
  ItemRef MergeParts(Merge* merge, const ItemRef& a, const ItemRef& b);
  ItemRef MergeLeaves(Merge* merge, const ItemRef& a, const ItemRef& b);
  void PlaceIf(Merge* merge);
  void RequireOneType(const Merge& merge, const ir::Type& a, const ir::Type& b);
  void Restructure(const JitNode* node) const;
  void MergeChanges(Merge* merge);
  // Stands for a value like this one, or of this type, that nothing reads.
  ItemRef Filler(const JitNode* node, const ItemRef& like);
  ItemRef FillerOf(const JitNode* node, const ir::Type& type);
  // What may be None: the item, or None in the form of what it is otherwise.
  ItemRef Optional(const JitNode* node, const ItemRef& item, const ItemRef& like);
  Item::Content ContentAfter(const Branch& branch, const ItemRef& item) const;

  // convert_carried.cc: what a loop carries.
  ItemRef LoopParam(const ItemRef& initial, const ir::Type& seen, const LoopPlan& plan,
                    LoopAttempt* attempt);
  // The items that a loop carries by copying, as they are now; all others stand for themselves.
  static ItemRef Snapshot(const ItemRef& item, LoopAttempt* attempt);
  static bool IsInvariant(const ItemRef& param, const ItemRef& before, const ItemRef& result,
                          const LoopAttempt& attempt);
  void NoteShared(const JitNode* node, const LoopPlan& plan, LoopAttempt* attempt);
  bool CarriedResult(const JitNode* node, const ItemRef& param, const ItemRef& initial,
                     const ItemRef& result, LoopAttempt* attempt);
  ItemRef LoopOutput(const ItemRef& param, const LoopAttempt& attempt,
                     const std::vector<ir::Type>& result_types, size_t* next, ir::Node* emitted);
  // True if the initial value had to take another form for what the loop makes of it.
  bool FitInitial(const JitNode* node, const ItemRef& param, const ItemRef& result,
                  const LoopAttempt& attempt, LoopPlan* plan, ItemRef* initial);
  bool FitChoice(const JitNode* node, const ItemRef& result, const LoopAttempt& attempt,
                 LoopPlan* plan, ItemRef* initial);

  // convert_choices.cc: lists, dicts and objects that are one of several, as the run decides.
  std::unique_ptr<Sharing> SharingAfter(const JitNode* node, std::vector<ItemRef> holders,
                                        const Branch* branch = nullptr);
  bool MustChoose(Merge* merge, const ItemRef& a, const ItemRef& b);
  ItemRef MergeChoices(Merge* merge, const ItemRef& a, const ItemRef& b);
  bool IsOuter(const Item& item) const { return item.depth <= static_cast<int>(journals_.size()); }
  ItemRef Lift(Merge* merge, const ItemRef& item, const Branch& side);
  ItemRef NewChoice(std::vector<ItemRef> items, std::vector<ItemRef> flags, const JitNode* by);
  // A condition, if it is known in the branches that we are in.
  std::optional<bool> DecidedTruth(const ItemRef& flag) const;
  // Without the alternatives that are not taken where we are.
  ItemRef Decided(const ItemRef& choice);
  // What one of several is, as the run decides: the first of them, if that holds, or the rest.
  struct Alternatives {
    ItemRef condition, first, rest;
    const JitNode* chooser;
  };
  Alternatives Split(const JitNode* node, const ItemRef& item);
  // The node's conversion with another item for one of its inputs.
  Side WithInput(const JitNode* node, const JitValue* input, ItemRef item);
  // Converts a node that takes a choice, once for each alternative; false if there is none.
  bool ConvertChosen(const JitNode* node, bool* raises);
  // With copies in place of choices: for reading.
  ItemRef Resolved(const JitNode* node, const ItemRef& item);
  ItemRef PickShared(const JitNode* node, const ItemRef& list, const ItemRef& index);
  ItemRef IsAt(const JitNode* node, const ItemRef& index, size_t place, size_t size);
  bool SetAtUnknown(const JitNode* node, const ItemRef& list);
  // A list value takes copies of the lists that it holds. `holders`: what holds these beside what later
  // nodes name.
  void RequireUnshared(const JitNode* node, const std::vector<ItemRef>& parts,
                       const std::vector<ItemRef>& holders);

  // convert_packed.cc: what lists of unknown length hold.
  ItemRef PackItem(const JitNode* node, const ItemRef& item, const c10::TypePtr& type,
                   const ir::Type& form);
  ItemRef NumbersAsTensor(const JitNode* node, const ItemRef& list, const c10::TypePtr& type);
  ItemRef PackedList(const JitNode* node, const ItemRef& list, const c10::TypePtr& element,
                     const ir::Type& form);
  ItemRef Taken(const JitNode* node, ir::Value* value, const c10::TypePtr& type);
  ItemRef FromPacked(const JitNode* node, ir::Value* value, const c10::TypePtr& type);
  ItemRef ListFromPacked(const JitNode* node, ir::Value* value, const c10::TypePtr& type);
  // An argument as the list takes it that the node changes or asks.
  ItemRef ForList(const JitNode* node, size_t index, const ItemRef& item);
  // The type of a result that the node takes out of a list.
  // `seen`: as the runs saw it.
  ir::Type TakenType(const JitValue* output, const ir::Type& list,
                     const std::vector<bool>& unknown, ir::Type seen);
  std::string ListOperator(const JitNode* node, std::string op) const;

  // convert_taken.cc: writes to what was taken out of a list of unknown length.
  struct Taking {
    ItemRef list, item;
    ir::Arg index;
    c10::TypePtr type;     // of the item
    const JitNode* loop;   // around it, of those that the graph has
    int64_t list_changes;  // up to then
  };
  void NoteTaken(const JitNode* node, const ItemRef& item, const c10::TypePtr& type);
  void NoteHeldWrite(const JitNode* node, const Item& item);
  void RequireOneCopy(const JitNode* node, const ItemRef& item);
  void PutBack(const JitNode* node, const Taking& taking);
  // What the node wrote to.
  void PutBackWritten(const JitNode* node);

  // convert_undecided.cc: arguments that an operator needs to be known, and that the run decides.
  std::optional<size_t> AxesFor(const JitNode* node);
  std::optional<UndecidedArgument> UndecidedAxis(const JitNode* node, size_t input);
  std::optional<UndecidedArgument> FindUndecided(const JitNode* node);
  void NoteUndecided(const JitNode* node);
  // False if no argument is None or not, as the run decides.
  bool ConvertMaybeNone(const JitNode* node, bool* raises);

  // convert_numbers.cc: numbers that are ints or floats, as the run decides.
  static bool IsIntOrFloat(const Item& item);
  // What a number is as one that may be of either type.
  ItemRef AsNumber(const ItemRef& item);
  // Whether two numbers cannot be one leaf.
  static bool AreMixed(const Item& a, const Item& b);
  // Of a result that follows from the types of numbers: that type, or the dtype of a tensor.
  void TypeByArguments(const JitNode* node, const JitValue* output, ir::Type* type);

  // convert_texts.cc: strings that the run chooses among those known here, by their numbers.
  int64_t NumberOf(const std::string& text);
  ItemRef NewText(ItemRef number, std::vector<ir::Arg> strings);
  // What a str known here is as one that the run decides.
  ItemRef AsText(const ItemRef& item);
  static bool IsText(const Item& item) { return item.is_text() || item.is_string(); }
  // With what the other may be.
  ItemRef JoinText(const ItemRef& text, const ItemRef& other);
  ItemRef MergeTexts(Merge* merge, const ItemRef& a, const ItemRef& b);
  ItemRef SameText(const JitNode* node, const ItemRef& a, const ItemRef& b);
  bool ConvertText(const JitNode* node);

  // Items.
  ItemRef NewItem(Item::Kind kind);
  // Of the same form, without its items.
  ItemRef NewLike(const Item& form);
  ItemRef Leaf(ir::Arg arg);
  ItemRef Given(ir::Value* value);  // by a branch or loop of the graph
  ItemRef Unset(ir::Arg arg);
  ItemRef ListOf(std::vector<ItemRef> items);
  ItemRef FromIValue(const c10::IValue& value);
  ItemRef FromTensor(const at::Tensor& tensor, const std::string& path);
  // convert_quantized.cc: a node that comes before all others.
  ir::Value* EmitAtStart(std::string op, std::vector<ir::NamedArg> args, ir::Type type);
  ItemRef FromQuantized(const at::Tensor& tensor, const std::string& path);
  ItemRef FromPackedParams(const c10::IValue& object, const std::string& path);
  std::optional<c10::IValue> ToIValue(const ItemRef& item, const c10::TypePtr& type) const;
  ItemRef& At(const JitValue* value);
  void Define(const JitValue* value, ItemRef item);
  // Call before content of `item` changes.
  void Mutate(const ItemRef& item);
  // Makes a list or literal a value of the graph, for all who refer to it.
  // `form`: the type of another list that it stands for as well, if that is known.
  void MakeValue(const JitNode* origin, const ItemRef& item, const ir::Type& form = ir::Type());
  // A value with the list's items, for reading; the list itself stays.
  ir::Value* ListValue(const JitNode* origin, const ItemRef& item,
                       const ir::Type& form = ir::Type());
  ItemRef Attribute(const ItemRef& object, const std::string& name);
  void AddPoint(const JitNode* node, DynamicPoint::Kind kind,
                std::optional<int64_t> axis = std::nullopt, bool axes_alone = false);
  bool TakesDynamicList(const JitNode* node);

  // convert_sizes.cc: what sizes and numbers follow from, and whether the runs show it.
  // True for a number that numbers among the inputs or data may decide: a size that follows from it
  // may be another one although it was the same in all runs.
  bool IsFree(const ir::Value& value) const;
  // True for a tensor or list whose sizes follow from such numbers.
  bool HasFreeSizes(const ir::Value& value) const;
  // True where no size that follows from the value is taken from the runs.
  bool IsUntrusted(const ir::Value& value) const;
  bool AnyUntrusted(const ItemRef& item) const;
  // What no run moved of the results of a node, though it may move, is a point.
  void FindUnmoved(const JitNode* node, const ir::Node& emitted, const JitValue* output,
                   const DecidedSizes& doubted);
  // Of a result, what follows from what is untrusted.
  DecidedSizes DoubtedSizes(const JitNode* node, const ir::Node& emitted,
                            const JitValue* output) const;
  bool IsUnmovedNumber(const JitNode* node, const ir::Node& emitted, const JitValue* output);
  bool TakesWindow(const JitNode* node);
  bool HasFixedLength(const JitNode* node, const ir::Node& emitted, const JitValue* output);
  void AddMovedSymbols(const JitNode* node, const ir::Node& emitted);
  // Takes the names of sizes back that perhaps nothing decides.
  void DropVagueSymbols();
  // Names what `node` gave, one number a run; false if that is not one number in each or never moves.
  bool AddSymbol(const JitNode* node, std::optional<int64_t> axis,
                 const std::vector<int64_t>& sizes);
  // The names of a result's sizes along `axis` first: they explain it best.
  void AddSymbolHints(const JitNode* node, size_t axis, DimHints* hints) const;
  // Of all nodes from `first` on in this block, which come from `node`.
  void NoteOrigins(const JitNode* node, size_t first);
  void NoteOrigin(const JitNode* node, const ir::Node& emitted);
  void NoteInnerOrigin(const JitNode* node, const ir::Node& emitted);
  bool FollowsAxes(const JitNode* node, const ir::Node& emitted) const;
  void NoteParams(const JitNode* node, const LoopAttempt& attempt);
  // True if the body makes something untrusted of what it was not; the attempt is void then.
  bool DoubtsMore(const JitNode* node, const LoopPlan& plan, const LoopAttempt& attempt);
  // Notes results that numbers alone decide (`NumToTensor(x.size(0)) * 2`): no data is in them.
  void NoteDerived(const JitNode* node);
  bool IsDerived(const JitValue* value) const;

  const ConvertInput& input_;
  const ScriptProgram& program_;
  Typing typing_;
  WeightTable weights_;
  Conversion result_;
  ir::Graph& graph_;
  std::unordered_map<const JitValue*, ItemRef> env_;
  std::unordered_map<const void*, ItemRef> objects_;
  ir::Block* block_ = nullptr;
  const JitNode* current_ = nullptr;                 // the node that is converted
  std::vector<std::unique_ptr<ir::Node>> prologue_;  // nodes that come before all others
  std::vector<Journal> journals_;
  std::map<const JitNode*, Later> later_;
  std::unordered_map<const ir::Value*, const ir::Value*> negations_;  // what each is the negation of
  // Conditions of which the second holds wherever the first does.
  std::set<std::pair<const ir::Value*, const ir::Value*>> implied_;
  std::map<const ir::Value*, bool> decided_;  // conditions of the branches that we are in
  bool unseen_form_ = false;  // the node is converted for arguments that no run need have seen
  const JitValue* maybe_none_ = nullptr;  // the argument of which it is converted for both forms
  std::vector<int> contexts_ = {0};
  std::vector<std::string> texts_;  // by their numbers
  // Names of what a node gives in some iterations, by its axis; of the number, or the size that values
  // decide: nullopt.
  std::map<std::tuple<const JitNode*, std::vector<int>, std::optional<int64_t>>, std::string> symbols_;
  std::set<std::pair<const JitNode*, std::optional<int64_t>>> points_;
  std::set<std::pair<const JitNode*, std::string>> warned_;  // blocks may be converted repeatedly
  // Each axis that was as large as others in every run, with those and itself.
  std::map<std::string, std::set<std::string>> equal_axes_;
  struct Origin {
    bool untrusted = false;
    bool axes_alone = false;  // a number that follows from the inputs' axes and constants alone
    bool free_sizes = false;  // a tensor or list: not so its sizes
  };
  std::unordered_map<const ir::Value*, Origin> origins_;
  std::set<std::string> vague_symbols_;
  std::set<const JitNode*> doubted_loops_;  // all that they carry is untrusted
  std::set<const JitValue*> derived_;
  std::unique_ptr<torch::jit::AliasDb> aliases_;  // null: the program writes nothing in place
  // What an operator returned that wrote to its first argument: the item that it wrote to.
  std::unordered_map<const ir::Value*, ItemRef> written_;
  // Items read at a place that only the run tells.
  struct PickedItem {
    ItemRef list;
    ir::Arg index;
    std::vector<ItemRef> items;  // of the list, then
  };
  std::unordered_map<const ir::Value*, PickedItem> picked_;
  std::unordered_map<const Item*, std::shared_ptr<const Taking>> takings_;
  std::vector<std::shared_ptr<const Taking>> written_takings_;
  const JitNode* loop_ = nullptr;  // around the node, of those that the graph has
  int64_t list_changes_ = 0;  // operators that wrote to lists of unknown length
  // The number in a 0-d tensor that prim::NumToTensor made.
  std::unordered_map<const ir::Value*, ItemRef> numbers_;
  std::map<const JitNode*, std::pair<std::string, ir::SourceLocation>> places_;
  // Outputs that are None unless a condition holds: a prim::If for each condition.
  struct OptionalOutputs {
    ir::Arg condition;
    std::unique_ptr<ir::Node> choice;
  };
  std::vector<OptionalOutputs> optional_outputs_;
};

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_CONVERTER_H_
