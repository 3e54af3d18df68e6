#include "exporter/passes/functionalize.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/unique_names.h"
#include "exporter/passes/functionalizer.h"
#include "exporter/passes/hoist_constants.h"
#include "exporter/passes/twins.h"
#include "exporter/passes/views.h"

namespace rules_onnx::passes {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

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

}  // namespace

Functionalizer::Functionalizer(Context* context)
    : context_(context),
      classes_(*context->graph, context->schemas),
      rough_(*context, classes_),
      sharing_(context, &memory_) {}

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

// ---- names ----

Place* Functionalizer::BindNewRoot(ir::Value* value, Layout layout) {
  Place* place =
      memory_.NewRoot(value->type, value, classes_.ClassOf(value), std::move(layout));
  memory_.Bind(value, place);
  return place;
}

void Functionalizer::BindOutputs(const ir::Node& node, const std::vector<Place*>& args) {
  for (ir::Value* output : node.outputs) {
    if (!IsTracked(output)) continue;
    Place* made = BindNewRoot(output, LayoutWhenMade(*output));
    if (output->type.is_tensor()) continue;
    for (Place* arg : args) sharing_.LinkToItemsOf(made, arg);
  }
}

bool Functionalizer::TouchesTracked(const ir::Node& node) const {
  bool touches = std::any_of(node.outputs.begin(), node.outputs.end(),
                             [&](const ir::Value* value) { return IsTracked(value); });
  node.ForEachInput([&](ir::Value* value) { touches |= IsTracked(value); });
  return touches;
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
  sharing_.RequireReadable(place, reader);
  return PassPlace(place, reader);
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
  sharing_.WroteTensor(root, writer);
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

std::vector<Place*> Functionalizer::PlacesIn(const ir::Node& node) const {
  std::vector<Place*> places;
  node.ForEachInput([&](ir::Value* value) {
    if (Place* place = PlaceOf(value)) places.push_back(place);
  });
  return places;
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
  if (!TouchesTracked(*node)) {
    NoteView(*node);
    if (CountsStrides(node->base_op())) CountFromStorage(node.get());
    ReadArgs(node.get());
    BindOutputs(*node);
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
  if (PlaceOf(self) != nullptr) return VisitView(std::move(node), self, args);
  BindOutputs(*node, args);
  if (MayGiveItsTensor(*node)) {
    for (Place* arg : args) sharing_.LinkHolders(PlaceOf(node->output()), arg);
  }
  Emit(std::move(node));
}

// `self` is the first argument as the program names it; the node's own is its newest value.
void Functionalizer::VisitView(NodePtr node, const ir::Arg& self,
                               const std::vector<Place*>& args) {
  Place* place = PlaceOf(self);
  ViewKind kind = GivesListOfViews(*node) ? ViewKind::kView : ClassifyView(*node, place->layout);
  if (kind == ViewKind::kSame) {
    if (ReturnsItsArgument(node->base_op())) {
      memory_.BindSame(node->output(), self);
    } else {
      memory_.Bind(node->output(), place);
    }
    retired_.push_back(std::move(node));
    return;
  }
  if (kind == ViewKind::kView && node->base_op() == "aten::as_strided") {
    // Strides are those of the storage, which is the root's where that is contiguous.
    const bool at_start = place->whole() == place || !node->Find("storage_offset")->is_none();
    place = place->whole();
    if (at_start && place->layout.IsContiguous(place->type) == Answer::kYes) {
      if (place->weight != nullptr) CountFromWeight(node.get(), place->weight->value);
      node->args[0].value = PassPlace(place, *node);
    } else {
      RequireContiguous(*node, PlaceOf(self)->layout, PlaceOf(self)->type);
      kind = ViewKind::kUnknown;
    }
  } else if (CountsStrides(node->base_op())) {
    RequireContiguous(*node, place->layout, place->type);
  }
  if (kind == ViewKind::kViewAtSizeOne) WarnOfSizeOne(*node);
  if (kind == ViewKind::kView) {
    auto view = context_->graph->NewNode(node->op, node->args);
    context_->InheritPlace(*node, view.get());
    view->outputs = {node->output()};
    Place* made = memory_.NewView(place, std::move(view), node->output()->type);
    made->is_list_of_views = GivesListOfViews(*node);
    made->state.current = node->output();
    made->state.version = place->newest_version();
    memory_.Bind(node->output(), made);
    return Emit(std::move(node));
  }
  BindOutputs(*node, args);
  Place* made = PlaceOf(node->output());
  if (made != nullptr && IsCopyForShape(*node, kind)) {
    made->layout = Layout::Contiguous(node->output()->type);
  }
  if (kind == ViewKind::kUnknown && made != nullptr) sharing_.Link(made, place);
  Emit(std::move(node));
}

void Functionalizer::VisitGeometryChange(NodePtr node, const ir::Arg& self) {
  Object* object = memory_.ObjectOf(self.value());
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
  memory_.BindSame(node->output(), self);
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
    memory_.BindSame(node->output(), self);
    retired_.push_back(std::move(node));
    return;
  }
  Emitter emitter = EmitterFor(*node);
  const Twin twin = EmitTwin(*node, &emitter);
  if (!twin.found) {
    Refuse(*node, absl::StrCat(node->op, " writes to its arguments, and there is no functional "
                               "form of it"));
    BindOutputs(*node);
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
      memory_.BindSame(node->outputs[i], targets[written]);
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
    needed |= context->schemas.Writes(node) || Functionalizer::CountsStrides(node.base_op());
  });
  if (!needed) return;
  HoistConstants(context);
  Functionalizer(context).Run();
}

}  // namespace rules_onnx::passes
