#include "exporter/passes/functionalize.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/unique_names.h"
#include "exporter/passes/functionalizer.h"
#include "exporter/passes/twins.h"
#include "exporter/passes/views.h"

namespace rules_onnx::passes {
namespace {

using Kind = ir::Type::Kind;
using Names = absl::flat_hash_set<absl::string_view>;

// Results may not be contiguous even where the argument is.
bool Reorders(absl::string_view base) {
  static const auto* const kReordering = new Names{
      "aten::transpose", "aten::permute",    "aten::t",        "aten::numpy_T",
      "aten::mT",        "aten::mH",         "aten::adjoint",  "aten::movedim",
      "aten::moveaxis",  "aten::swapaxes",   "aten::swapdims", "aten::expand",
      "aten::expand_as", "aten::unfold",     "aten::diagonal", "aten::as_strided",
      "aten::broadcast_to", "aten::einsum",  "aten::matrix_H", "aten::broadcast_tensors",
      "aten::meshgrid"};
  return kReordering->contains(base);
}

// Results are contiguous whatever the arguments are.
bool MakesContiguous(absl::string_view base) {
  static const auto* const kContiguous =
      new Names{"aten::mm",    "aten::bmm",  "aten::addmm", "aten::matmul", "aten::linear",
                "aten::zeros", "aten::ones", "aten::full",  "aten::arange", "aten::embedding"};
  return kContiguous->contains(base);
}

// Results lie as the first argument does, whatever the others are.
bool LiesAsFirst(absl::string_view base) {
  static const auto* const kFollowing = new Names{
      "aten::as_strided_scatter", "aten::slice_scatter", "aten::select_scatter",
      "aten::diagonal_scatter",   "aten::index_put",     "aten::index_fill",
      "aten::scatter",            "aten::scatter_add",   "aten::copy",
      "aten::fill"};
  return kFollowing->contains(base);
}

// Whether a change of a list or dict may be one of a value of this type: a tuple cannot be changed.
bool HoldsContainer(const ir::Type& type) {
  if (type.kind == Kind::kTuple || type.kind == Kind::kOptional) {
    return std::any_of(type.elements.begin(), type.elements.end(), HoldsContainer);
  }
  return !type.is_tensor() && IsMutable(type);
}

// Strides and offsets are those of the storage, whatever the shape of the argument is.
bool CountsStrides(absl::string_view base) {
  return base == "aten::as_strided" || base == "aten::as_strided_copy" ||
         base == "aten::as_strided_scatter";
}

// Results are items of a list or tuple, which may be views.
bool TakesApart(absl::string_view base) {
  return base == "prim::ListUnpack" || base == "prim::TupleUnpack" || base == "prim::TupleIndex" ||
         base == "prim::DictIndex" || base == "aten::__getitem__";
}

// Where nothing changes, the result is the argument itself and no second tensor on its memory: a
// later change of geometry in place shows under both names.
bool ReturnsItsArgument(absl::string_view base) {
  static const auto* const kReturning = new Names{
      "aten::dropout",    "aten::feature_dropout", "aten::alpha_dropout",
      "aten::feature_alpha_dropout", "aten::contiguous", "aten::to",
      "aten::type_as",    "aten::positive",        "aten::cpu",
      "aten::real",       "aten::conj",            "aten::resolve_conj",
      "aten::resolve_neg", "prim::unchecked_cast", "prim::unchecked_unwrap_optional"};
  return kReturning->contains(base);
}

// The shapes are known to differ.
bool ShapesDiffer(const ir::Type& a, const ir::Type& b) {
  if (!a.shape || !b.shape) return false;
  if (a.shape->size() != b.shape->size()) return true;
  for (size_t i = 0; i < a.shape->size(); ++i) {
    const ir::Dim& x = (*a.shape)[i];
    const ir::Dim& y = (*b.shape)[i];
    if (x.is_number() && y.is_number() && x.value() != y.value()) return true;
  }
  return false;
}

// "aten::unsqueeze_" → "aten::unsqueeze"; squeeze_ and transpose_ keep their overload.
std::string GeometryView(const ir::Node& node) {
  std::string base(node.base_op());
  base.pop_back();
  std::string overload = node.op.substr(node.base_op().size());
  if (base == "aten::transpose") overload = ".int";
  return base + overload;
}

// A constant tensor is one tensor wherever it is used, in every iteration: literals that an
// operator writes to or views become prim::Constant nodes (a literal is the same tensor where it
// is the same object), and all of these stand before everything else.
class ConstantHoister {
 public:
  explicit ConstantHoister(Context* context) : context_(context) {}

  void Run() {
    ir::Block* main = &context_->graph->main;
    FindAliased(*main);
    Rewrite(main);
    main->nodes.insert(main->nodes.begin(), std::make_move_iterator(hoisted_.begin()),
                       std::make_move_iterator(hoisted_.end()));
  }

 private:
  void FindAliased(const ir::Block& block) {
    ir::ForEachNode(block, [&](const ir::Node& node) {
      const ir::Schema* schema = context_->schemas.Find(node.op);
      if (schema == nullptr) return;
      for (size_t i = 0; i < schema->args.size() && i < node.args.size(); ++i) {
        const ir::Arg& arg = node.args[i].value;
        if (schema->args[i].alias.empty() || !arg.is_literal()) continue;
        ir::Value*& value = values_[&arg.literal()];
        if (value != nullptr) continue;
        ir::Shape shape(arg.literal().shape.begin(), arg.literal().shape.end());
        value = Emitter(context_, node, &hoisted_)
                    .Emit("prim::Constant", {{"value", arg}},
                          ir::Type::Tensor(arg.literal().dtype, std::move(shape)));
      }
    });
  }

  void Rewrite(ir::Block* block) {
    NodeList nodes = std::move(block->nodes);
    block->nodes.clear();
    for (auto& node : nodes) {
      if (node->op == "prim::Constant") {
        hoisted_.push_back(std::move(node));
        continue;
      }
      for (ir::NamedArg& arg : node->args) Replace(&arg.value);
      for (const auto& inner : node->blocks) Rewrite(inner.get());
      block->nodes.push_back(std::move(node));
    }
    for (ir::Arg& result : block->results) Replace(&result);
  }

  void Replace(ir::Arg* arg) const {
    if (arg->is_literal()) {
      const auto it = values_.find(&arg->literal());
      if (it != values_.end()) *arg = it->second;
    } else if (arg->is_list()) {
      for (ir::Arg& item : arg->list()) Replace(&item);
    }
  }

  Context* context_;
  std::unordered_map<const ir::TensorLiteral*, ir::Value*> values_;
  NodeList hoisted_;
};

}  // namespace

Functionalizer::Functionalizer(Context* context)
    : context_(context), classes_(*context->graph, context->schemas) {}

void Functionalizer::Run() {
  ir::Graph* graph = context_->graph;
  for (ir::Value* input : graph->main.params) {
    if (IsTracked(input)) BindNewRoot(input, Layout::Contiguous(input->type));
  }
  for (size_t i = 0; i < graph->weights.size(); ++i) BindWeight(i);
  const ir::Node end;
  VisitBlock(&graph->main, [&] {
    for (ir::Arg& result : graph->main.results) result = Read(result, end);
    if (context_->state_outputs) ReturnChanges(end);
  });
  if (!context_->state_outputs) WarnOfLostChanges();
}

void Functionalizer::BindWeight(size_t index) {
  const ir::Weight& weight = context_->graph->weights[index];
  const Layout layout = context_->weight_memory.empty()
                            ? Layout::Contiguous(weight.value->type)
                            : Layout::Strided(context_->weight_memory[index].strides,
                                              weight.value->type);
  if (IsTracked(weight.value)) {
    BindNewRoot(weight.value, layout)->weight = &weight;
  } else {
    views_[weight.value] = {layout, weight.value};
  }
}

// ---- names ----

Object* Functionalizer::ObjectOf(const ir::Value* value) const {
  const auto it = names_.find(value);
  return it == names_.end() ? nullptr : it->second;
}

Place* Functionalizer::PlaceOf(const ir::Arg& arg) const {
  if (!arg.is_value()) return nullptr;
  const Object* object = ObjectOf(arg.value());
  return object == nullptr ? nullptr : object->place;
}

void Functionalizer::Bind(const ir::Value* value, Place* place) {
  objects_.push_back({place, memory_.depth()});
  names_[value] = &objects_.back();
}

void Functionalizer::BindSame(const ir::Value* value, const ir::Arg& object) {
  names_[value] = ObjectOf(object.value());
}

Place* Functionalizer::BindNewRoot(ir::Value* value, Layout layout) {
  Place* place =
      memory_.NewRoot(value->type, value, classes_.ClassOf(value), std::move(layout));
  Bind(value, place);
  return place;
}

void Functionalizer::BindOutputs(const ir::Node& node, bool rough_inputs,
                                 const std::vector<Place*>& args) {
  const bool contiguous = MakesContiguous(node.base_op()) || !rough_inputs;
  for (ir::Value* output : node.outputs) {
    if (!contiguous) rough_.insert(output);
    if (!IsTracked(output)) continue;
    Place* made =
        BindNewRoot(output, contiguous ? Layout::Contiguous(output->type) : Layout());
    if (output->type.is_tensor()) continue;
    for (Place* arg : args) MayHoldItemsOf(made, arg);
  }
}

bool Functionalizer::TouchesTracked(const ir::Node& node) const {
  bool touches = std::any_of(node.outputs.begin(), node.outputs.end(),
                             [&](const ir::Value* value) { return IsTracked(value); });
  node.ForEachInput([&](ir::Value* value) { touches |= IsTracked(value); });
  return touches;
}

bool Functionalizer::IsRough(const ir::Node& node) const {
  if (Reorders(node.base_op())) return true;
  if (LiesAsFirst(node.base_op())) {
    return node.args[0].value.is_value() && rough_.contains(node.args[0].value.value());
  }
  bool rough = false;
  node.ForEachInput([&](ir::Value* value) { rough |= rough_.contains(value); });
  return rough;
}

// ---- strides ----

Layout Functionalizer::LayoutOf(const ir::Value* value) const {
  if (const Object* object = ObjectOf(value)) return object->place->layout;
  const auto view = views_.find(value);
  if (view != views_.end()) return view->second.layout;
  return rough_.contains(value) ? Layout() : Layout::Contiguous(value->type);
}

void Functionalizer::NoteView(const ir::Node& node) {
  if (TakesApart(node.base_op())) {
    for (ir::Value* item : node.outputs) views_[item] = {Layout(), item};
    return;
  }
  const ir::Schema* schema = context_->schemas.Find(node.op);
  if (schema == nullptr || !schema->is_view() || node.args.empty() || node.outputs.size() != 1 ||
      !node.args[0].value.is_value() || !node.output()->type.is_tensor()) {
    return;
  }
  ir::Value* viewed = node.args[0].value.value();
  const Layout layout = LayoutOf(viewed);
  const ViewKind kind = ClassifyView(node, layout);
  UntrackedView view{layout.AfterView(node, viewed->type, node.output()->type), node.output()};
  if (kind == ViewKind::kView || kind == ViewKind::kSame) {
    const auto outer = views_.find(viewed);
    view.root = outer == views_.end() ? viewed : outer->second.root;
  }
  if (kind == ViewKind::kSame) view.layout = layout;
  if (kind == ViewKind::kUnknown) view.layout = Layout();
  views_[node.output()] = std::move(view);
}

// Lowering counts in the argument, and an offset that is given counts from the storage's start.
void Functionalizer::CountFromStorage(ir::Node* node) {
  if (!node->args[0].value.is_value()) return;
  const ir::Value* self = node->args[0].value.value();
  const auto view = views_.find(self);
  if (view != views_.end() && !node->Find("storage_offset")->is_none()) {
    self = view->second.root;
    node->args[0].value = view->second.root;
  }
  RequireContiguous(*node, LayoutOf(self), self->type);
}

void Functionalizer::RequireContiguous(const ir::Node& node, const Layout& layout,
                                       const ir::Type& type) {
  if (layout.IsContiguous(type) == Answer::kYes) return;
  context_->Report(diagnostics::Severity::kError, "unsupported-form", node,
                   absl::StrCat(node.op, " of a tensor that is not known to be contiguous"),
                   "call contiguous() before it");
}

// ---- reading ----

ir::Arg Functionalizer::Read(const ir::Arg& arg, const ir::Node& reader) {
  if (arg.is_value()) {
    if (Place* place = PlaceOf(arg)) return ReadPlace(place, reader);
    const ir::Arg* renamed = renamed_.Find(arg.value());
    return renamed == nullptr ? arg : *renamed;
  }
  if (!arg.is_list()) return arg;
  ir::Arg::List items;
  for (const ir::Arg& item : arg.list()) items.push_back(Read(item, reader));
  return items;
}

ir::Arg Functionalizer::ReadPlace(Place* place, const ir::Node& reader) {
  RequireReadable(place, reader);
  return PassPlace(place, reader);
}

void Functionalizer::RequireReadable(Place* place, const ir::Node& reader) {
  RequireReadable(&place->contents, reader);
  RequireReadable(&place->itself, reader);
  for (const Choice& choice : place->choices) RequireReadable(choice.place, reader);
  if (place->is_root()) return;
  if (place->is_item() && place->state.version == place->newest_version()) {
    // It has its value from before the list changed.
    for (Place* at = place->viewed; at != nullptr; at = at->viewed) {
      RequireReadable(&at->contents, reader);
    }
  } else {
    RequireReadable(place->viewed, reader);
  }
}

void Functionalizer::RequireReadable(Place::Reading* reading, const ir::Node& reader) {
  reading->last_read = memory_.Tick();
  if (reading->unreadable_since == nullptr) return;
  context_->Report(
      diagnostics::Severity::kError, "ambiguous-alias", *reading->unreadable_since,
      absl::StrCat(reading->unreadable_since->op, " writes to a tensor or list that ",
                   reader.op.empty() ? "an output" : reader.op,
                   " reads afterwards under another name; whether both share memory is not "
                   "known before run time"),
      "clone the tensor before it is written to");
}

ir::Arg Functionalizer::PassPlace(Place* place, const ir::Node& reader) {
  if (place->is_root() && place->state.knows_items) {
    ir::Arg::List items;
    for (const ir::Arg& item : ir::Arg::List(place->state.items)) {
      items.push_back(Read(item, reader));
    }
    if (place->construct == "prim::ListConstruct") return items;
    return EmitterFor(reader).Emit(place->construct, {{"items", std::move(items)}}, place->type);
  }
  const bool newest = place->state.version == place->newest_version();
  if (!place->choices.empty() && !newest) return ReadChoice(place, reader);
  if (place->is_root() || newest) return place->state.current;
  return Derive(place, reader);
}

ir::Arg Functionalizer::Derive(Place* place, const ir::Node& reader) {
  if (place->is_item() && !RequireInPlace(*place, reader)) return place->state.current;
  const ir::Arg viewed = PassPlace(place->viewed, reader);
  std::vector<ir::NamedArg> args = place->view->args;
  args[0].value = viewed;
  ir::Arg derived =
      EmitterFor(*place->view).Emit(place->view->op, std::move(args), place->type);
  memory_.Save(place);
  place->state.current = derived;
  place->state.version = place->newest_version();
  return derived;
}

ir::Arg Functionalizer::AsOneValue(ir::Arg arg, const ir::Type& type, const ir::Node& reader,
                                   const std::string& construct) {
  if (!arg.is_list()) return arg;
  return EmitterFor(reader).Emit(construct.empty() ? "prim::ListConstruct" : construct,
                                 {{"items", std::move(arg)}}, type);
}

void Functionalizer::ReadArgs(ir::Node* node) {
  for (ir::NamedArg& arg : node->args) arg.value = Read(arg.value, *node);
}

// ---- writing ----

void Functionalizer::Refuse(const ir::Node& node, std::string message, std::string hint) {
  context_->Report(diagnostics::Severity::kError, "write-not-expressible", node,
                   std::move(message), std::move(hint));
}

void Functionalizer::WritePlace(Place* place, ir::Arg value, const ir::Node& writer) {
  Emitter emitter = EmitterFor(writer);
  std::vector<std::pair<Place*, ir::Arg>> path;
  for (Place* at = place; !at->is_root(); at = at->viewed) {
    if (at->is_item() && !RequireOwnItem(*at, writer)) return;
    path.emplace_back(at, value);
    const ir::Arg viewed = PassPlace(at->viewed, writer);
    ir::Value* changed = viewed.is_value() ? WriteThroughView(*at->view, viewed.value(), value,
                                                              &emitter)
                                           : nullptr;
    if (changed == nullptr) {
      return Refuse(writer, absl::StrCat(writer.op, " writes through the view ", at->view->op,
                                         ", which has no inverse or may show an element twice"),
                    "write to the viewed tensor by index instead");
    }
    value = changed;
  }
  Place* root = place->root();
  if (root->choices.empty()) {
    memory_.SetRoot(root, std::move(value));
  } else {
    WriteChoices(root, value, writer);
  }
  const bool in_list = root != place && root->type.is_list();
  if (in_list) root->state.items_version = root->state.version;
  for (const auto& [view, content] : path) {
    memory_.Save(view);
    view->state.current = content;
    view->state.version = root->newest_version();
  }
  MakeUnreadable(in_list ? &root->items : &root->content, &Place::contents, writer);
  if (root->weight != nullptr &&
      std::none_of(changed_weights_.begin(), changed_weights_.end(),
                   [&](const auto& changed) { return changed.first == root; })) {
    changed_weights_.emplace_back(root, &writer);
  }
}

// A buffer whose content no call reads before it writes it anew keeps nothing between calls.
void Functionalizer::WarnOfLostChanges() {
  if (changed_weights_.empty()) return;
  const auto uses = CountUses(*context_->graph);
  for (const auto& [root, writer] : changed_weights_) {
    if (!uses.contains(root->weight->value)) continue;
    context_->Report(diagnostics::Severity::kWarning, "buffer-changed", *writer,
                     absl::StrCat(writer->op, " changes '", root->weight->name,
                                  "': later reads of the same call see the change, but the "
                                  "final state is no output of the model"));
  }
}

void Functionalizer::ReturnChanges(const ir::Node& end) {
  ir::Graph* graph = context_->graph;
  ir::UniqueNames names;
  for (const ir::Value* input : graph->main.params) names.Take(input->name);
  for (const std::string& name : graph->output_names) names.Take(name);
  for (const auto& [root, writer] : changed_weights_) {
    graph->main.results.push_back(Read(root->weight->value, end));
    graph->output_names.push_back(names.Make(absl::StrCat("final_state.", root->weight->name)));
  }
}

void Functionalizer::MakeUnreadable(Place::Dependents* dependents, Place::Reading Place::*what,
                                    const ir::Node& writer) {
  dependents->last_write = memory_.Tick();
  dependents->writer = &writer;
  for (Place* dependent : dependents->places) MakeUnreadable(dependent, what, writer);
}

void Functionalizer::MakeUnreadable(Place* place, Place::Reading Place::*what,
                                    const ir::Node& writer) {
  Place::Reading& reading = place->*what;
  if (reading.unreadable_since == nullptr) reading.unreadable_since = &writer;
  if (!memory_.IsInLoopSince(*place, reading.last_read)) return;
  context_->Report(diagnostics::Severity::kError, "ambiguous-alias", writer,
                   absl::StrCat(writer.op, " writes in a loop to a tensor or list that the "
                                "next iteration reads under another name; whether both share "
                                "memory is not known before run time"),
                   "clone the tensor before it is written to");
}

// A write that an earlier line of a loop does comes after the current one as well.
void Functionalizer::Depend(Place* owner, Place::Dependents Place::*kind, Place* dependent) {
  Place::Dependents* on = &(owner->*kind);
  std::vector<Place*>& all = on->places;
  if (std::find(all.begin(), all.end(), dependent) != all.end()) return;
  all.push_back(dependent);
  if (on->writer == nullptr || !memory_.IsInLoopSince(*owner, on->last_write) ||
      !memory_.IsInLoopSince(*dependent, on->last_write)) {
    return;
  }
  const bool structure = kind == &Place::content && !owner->type.is_tensor();
  MakeUnreadable(dependent, structure ? &Place::itself : &Place::contents, *on->writer);
}

void Functionalizer::MayShare(Place* made, Place* other) {
  made = made->root();
  other = other->root();
  for (const Choice& choice : made->choices) MayShare(choice.place, other);
  for (const Choice& choice : other->choices) MayShare(made, choice.place);
  if (made == other || !made->choices.empty() || !other->choices.empty()) return;
  // And with what may share with the other one.
  std::vector<Place*> others = other->content.places;
  others.insert(others.end(), other->items.places.begin(), other->items.places.end());
  others.push_back(other);
  for (Place* one : others) {
    if (one == made) continue;
    DependOnContent(made, one);
    DependOnContent(one, made);
    // A change of a list leaves the tensors alone that it held, and tuples of them.
    if (one == other && HoldsContainer(made->type) && HoldsContainer(one->type)) {
      Depend(made, &Place::content, one);
      Depend(one, &Place::content, made);
    }
  }
}

// What a tensor of `on`, itself or an item of it, tells of `dependent`.
void Functionalizer::DependOnContent(Place* on, Place* dependent) {
  Depend(on, on->type.is_tensor() ? &Place::content : &Place::items, dependent);
}

void Functionalizer::MayBeAnyOfClass(Place* place) {
  for (Place* other : memory_.visible_roots()) {
    if (other->alias_class != place->alias_class) continue;
    const bool apart = other->owns_items && other->items.places.empty();
    if (!apart) MayShare(place, other);
  }
}

// A container that an operator makes: new itself, with a tensor that `arg` is, or those that it holds.
void Functionalizer::MayHoldItemsOf(Place* container, Place* arg) {
  Place* root = arg->root();
  HoldTogether(container, root);
  for (Place* item : std::vector<Place*>(root->items.places)) HoldTogether(container, item);
  for (const Choice& choice : root->choices) MayHoldItemsOf(container, choice.place);
  DependOnItems(container, root->state.items);
}

std::vector<Place*> Functionalizer::PlacesIn(const ir::Node& node) const {
  std::vector<Place*> places;
  node.ForEachInput([&](ir::Value* value) {
    if (Place* place = PlaceOf(value)) places.push_back(place);
  });
  return places;
}

// A write to a tensor that is, or lies in, one of both may be one to the other.
void Functionalizer::HoldTogether(Place* a, Place* b) {
  if (a == b) return;
  if (a->type.is_tensor() && b->type.is_tensor()) return MayShare(a, b);
  DependOnContent(a, b);
  DependOnContent(b, a);
}

// Whether both may be, or hold, one tensor.
bool Functionalizer::MayMeet(Place* a, Place* b) {
  if (a == nullptr || b == nullptr) return false;
  a = a->root();
  b = b->root();
  const auto has = [](const Place::Dependents& dependents, Place* place) {
    return std::find(dependents.places.begin(), dependents.places.end(), place) !=
           dependents.places.end();
  };
  if (a == b || has(a->content, b) || has(a->items, b) || has(b->content, a) || has(b->items, a)) {
    return true;
  }
  for (const auto& [one, other] : {std::pair(a, b), std::pair(b, a)}) {
    for (const Choice& choice : one->choices) {
      if (MayMeet(choice.place, other)) return true;
    }
    if (!one->state.knows_items) continue;
    for (const ir::Arg& item : one->state.items) {
      bool meets = false;
      item.ForEachValue([&, other = other](ir::Value* value) {
        meets = meets || MayMeet(PlaceOf(value), other);
      });
      if (meets) return true;
    }
  }
  return false;
}

// `container` holds `place`.
void Functionalizer::DependOn(Place* place, Place* container) {
  Place* root = place->root();
  for (const Choice& choice : root->choices) DependOn(choice.place, container);
  if (root == container) return;
  DependOnContent(root, container);
  DependOnContent(container, root);
  if (root == place && !root->type.is_tensor()) Depend(root, &Place::content, container);
}

void Functionalizer::DependOnItems(Place* container, const ir::Arg::List& items) {
  for (const ir::Arg& item : items) {
    item.ForEachValue([&](ir::Value* value) {
      Place* place = PlaceOf(value);
      if (place != nullptr) DependOn(place, container);
    });
  }
}

// ---- the sweep ----

void Functionalizer::VisitBlock(ir::Block* block, const std::function<void()>& at_end) {
  NodeList nodes = std::move(block->nodes);
  NodeList fresh;
  NodeList* outer = std::exchange(out_, &fresh);
  for (NodePtr& node : nodes) VisitNode(std::move(node));
  at_end();
  out_ = outer;
  block->nodes = std::move(fresh);
}

void Functionalizer::VisitNode(NodePtr node) {
  if (node->op == "prim::If") return VisitIf(std::move(node));
  if (node->op == "prim::Loop") return VisitLoop(std::move(node));
  if (!node->blocks.empty()) return VisitScan(std::move(node));
  const bool rough_inputs = IsRough(*node);
  if (!TouchesTracked(*node)) {
    NoteView(*node);
    if (CountsStrides(node->base_op())) CountFromStorage(node.get());
    ReadArgs(node.get());
    BindOutputs(*node, rough_inputs);
    return Emit(std::move(node));
  }
  if (VisitConstruct(*node) || VisitContainerRead(*node)) {
    retired_.push_back(std::move(node));
    return;
  }
  if (context_->schemas.Writes(*node)) return VisitWrite(std::move(node));
  const ir::Arg self = node->args.empty() ? ir::Arg() : node->args[0].value;
  const std::vector<Place*> args = PlacesIn(*node);
  ReadArgs(node.get());
  if (PlaceOf(self) != nullptr) return VisitView(std::move(node), self, args, rough_inputs);
  BindOutputs(*node, rough_inputs, args);
  Emit(std::move(node));
}

// `self` is the first argument as the program names it; the node's own is its newest value.
void Functionalizer::VisitView(NodePtr node, const ir::Arg& self, const std::vector<Place*>& args,
                               bool rough_inputs) {
  Place* place = PlaceOf(self);
  ViewKind kind = GivesListOfViews(*node) ? ViewKind::kView : ClassifyView(*node, place->layout);
  if (kind == ViewKind::kSame) {
    if (ReturnsItsArgument(node->base_op())) {
      BindSame(node->output(), self);
    } else {
      Bind(node->output(), place);
    }
    retired_.push_back(std::move(node));
    return;
  }
  if (kind == ViewKind::kView && node->base_op() == "aten::as_strided") {
    // Strides are those of the storage, which is the root's where that is contiguous.
    const bool at_start = place->whole() == place || !node->Find("storage_offset")->is_none();
    place = place->whole();
    if (at_start && place->layout.IsContiguous(place->type) == Answer::kYes) {
      node->args[0].value = PassPlace(place, *node);
    } else {
      RequireContiguous(*node, PlaceOf(self)->layout, PlaceOf(self)->type);
      kind = ViewKind::kUnknown;
    }
  } else if (CountsStrides(node->base_op())) {
    RequireContiguous(*node, place->layout, place->type);
  }
  if (kind == ViewKind::kView) {
    auto view = context_->graph->NewNode(node->op, node->args);
    context_->InheritPlace(*node, view.get());
    view->outputs = {node->output()};
    Place* made = memory_.NewView(place, std::move(view), node->output()->type);
    made->is_list_of_views = GivesListOfViews(*node);
    made->state.current = node->output();
    made->state.version = place->newest_version();
    Bind(node->output(), made);
    if (rough_inputs) rough_.insert(node->output());
    return Emit(std::move(node));
  }
  BindOutputs(*node, rough_inputs, args);
  Place* made = PlaceOf(node->output());
  if (kind == ViewKind::kUnknown && made != nullptr) MayShare(made, place);
  Emit(std::move(node));
}

void Functionalizer::VisitGeometryChange(NodePtr node, const ir::Arg& self) {
  Object* object = ObjectOf(self.value());
  const auto& roots = memory_.visible_roots();
  const bool chosen = std::any_of(roots.begin(), roots.end(), [&](const Place* root) {
    return std::any_of(root->choices.begin(), root->choices.end(), [&](const Choice& choice) {
      return choice.place == object->place || root == object->place->root();
    });
  });
  if (chosen) {
    Refuse(*node, absl::StrCat(node->op, " changes the shape of a tensor that is one of several, "
                               "as the inputs decide"));
  }
  if (object->depth < memory_.depth()) {
    Refuse(*node, absl::StrCat(node->op, " changes the shape of a tensor from outside the "
                               "branch or loop that it stands in"));
  }
  const std::string op = GeometryView(*node);
  std::vector<ir::NamedArg> args = node->args;
  ir::Value* output =
      EmitterFor(*node).Emit(op, std::move(args), node->output()->type);
  auto view = context_->graph->NewNode(op, out_->back()->args);
  context_->InheritPlace(*node, view.get());
  view->outputs = {output};
  Place* made = memory_.NewView(object->place, std::move(view), output->type);
  made->state.current = output;
  made->state.version = made->newest_version();
  object->place = made;
  names_[node->output()] = object;
  retired_.push_back(std::move(node));
}

void Functionalizer::VisitWrite(NodePtr node) {
  if (ChangesContainer(*node)) {
    if (!VisitContainerWrite(*node)) {
      Refuse(*node, absl::StrCat(node->op, " changes a list or dict whose content is not known "
                                 "at this point"));
    }
    FinishContainerWrite(*node);
    retired_.push_back(std::move(node));
    return;
  }
  const ir::Schema& schema = *context_->schemas.Find(node->op);
  std::vector<ir::Arg> targets;  // as the program names them
  for (size_t i = 0; i < schema.args.size() && i < node->args.size(); ++i) {
    if (schema.args[i].is_write) targets.push_back(node->args[i].value);
  }
  const ir::Arg self = node->args[0].value;
  ReadArgs(node.get());
  if (ChangesGeometry(*node) && PlaceOf(self) != nullptr) {
    return VisitGeometryChange(std::move(node), self);
  }
  if (ClassifyView(*node, {}) == ViewKind::kSame && PlaceOf(self) != nullptr) {
    BindSame(node->output(), self);
    retired_.push_back(std::move(node));
    return;
  }
  Emitter emitter = EmitterFor(*node);
  const Twin twin = EmitTwin(*node, &emitter);
  if (!twin.found) {
    Refuse(*node, absl::StrCat(node->op, " writes to its arguments, and there is no functional "
                               "form of it"));
    BindOutputs(*node, /*rough_inputs=*/true);
    Emit(std::move(node));
    return;
  }
  for (size_t i = 0; i < twin.written.size(); ++i) {
    Place* place = PlaceOf(targets[i]);
    if (place == nullptr) continue;
    if (ShapesDiffer(place->type, twin.written[i]->type)) {
      if (!place->is_root() || !place->choices.empty()) {
        Refuse(*node, absl::StrCat(node->op, " resizes a view of another tensor"));
        continue;
      }
      place->type = twin.written[i]->type;
    }
    WritePlace(place, twin.written[i], *node);
  }
  for (size_t i = 0; i < node->outputs.size(); ++i) {
    const int written = twin.output_is_written[i];
    if (written >= 0 && PlaceOf(targets[written]) != nullptr) {
      BindSame(node->outputs[i], targets[written]);
    } else {
      renamed_.Set(node->outputs[i],
                   written >= 0 ? twin.written[written] : twin.outputs[i]);
    }
  }
  retired_.push_back(std::move(node));
}

void Functionalize(Context* context) {
  bool needed = false;
  ir::ForEachNode(context->graph->main, [&](const ir::Node& node) {
    needed |= context->schemas.Writes(node) || CountsStrides(node.base_op());
  });
  if (!needed) return;
  ConstantHoister(context).Run();
  Functionalizer(context).Run();
}

}  // namespace rules_onnx::passes
