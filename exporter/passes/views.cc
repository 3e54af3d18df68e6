#include "exporter/passes/views.h"

#include <algorithm>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/schema.h"

namespace rules_onnx::passes {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;
using Inverse = ir::Value* (*)(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                               Emitter* emitter);

bool SameStaticShape(const ir::Type& a, const ir::Type& b) {
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return false;
  return std::equal(
      a.shape->begin(), a.shape->end(), b.shape->begin(),
      [](const ir::Dim& x, const ir::Dim& y) { return !x.is_unknown() && x.Equals(y); });
}

std::optional<std::vector<int64_t>> StaticSizes(const ir::Type& type) {
  if (!type.shape) return std::nullopt;
  std::vector<int64_t> sizes;
  for (const ir::Dim& dim : *type.shape) {
    if (!dim.is_number()) return std::nullopt;
    sizes.push_back(dim.value());
  }
  return sizes;
}

bool IsStatic(const ir::Type& type) { return StaticSizes(type).has_value(); }

// `value` in the shape of `like`; the number of elements is the same.
ir::Value* ShapeLike(const ir::Arg& value, ir::Value* like, Emitter* emitter) {
  ir::Type type = like->type;
  if (value.is_value()) type.dtype = value.value()->type.dtype;
  if (const auto sizes = StaticSizes(type)) {
    return emitter->Emit("aten::reshape", {{"self", value}, {"shape", ir::Arg::Ints(*sizes)}},
                         type);
  }
  return emitter->Emit("aten::reshape_as", {{"self", value}, {"other", like}}, type);
}

ir::Type Flat(const ir::Type& type) {
  return ir::Type::Tensor(type.dtype, ir::Shape{type.shape ? ir::NumElements(*type.shape)
                                                           : ir::Dim::Unknown()});
}

ir::Value* Flatten(const ir::Arg& value, const ir::Type& type, Emitter* emitter) {
  return emitter->Emit("aten::reshape", {{"self", value}, {"shape", ir::Arg::Ints({-1})}},
                       Flat(type));
}

ir::Value* InverseShaping(const ir::Node&, ir::Value* viewed, const ir::Arg& written,
                          Emitter* emitter) {
  return ShapeLike(written, viewed, emitter);
}

ir::Value* InverseUnsqueeze(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                            Emitter* emitter) {
  return emitter->Emit("aten::squeeze.dim", {{"self", written}, {"dim", *view.Find("dim")}},
                       viewed->type);
}

// The operator that undoes itself.
ir::Value* InverseSelf(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                       Emitter* emitter) {
  std::vector<ir::NamedArg> args = view.args;
  args[0].value = written;
  return emitter->Emit(view.op, std::move(args), viewed->type);
}

ir::Value* InversePermute(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                          Emitter* emitter) {
  const auto order = view.Find("dims")->ints();
  if (!order) return nullptr;
  const int64_t rank = static_cast<int64_t>(order->size());
  std::vector<int64_t> inverse(order->size());
  for (int64_t i = 0; i < rank; ++i) {
    const int64_t axis = (*order)[i] < 0 ? (*order)[i] + rank : (*order)[i];
    inverse[axis] = i;
  }
  return emitter->Emit("aten::permute",
                       {{"self", written}, {"dims", ir::Arg::Ints(inverse)}}, viewed->type);
}

ir::Value* InverseMovedim(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                          Emitter* emitter) {
  return emitter->Emit(view.op,
                       {{"self", written},
                        {"source", *view.Find("destination")},
                        {"destination", *view.Find("source")}},
                       viewed->type);
}

ir::Value* InverseSelect(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                         Emitter* emitter) {
  return emitter->Emit("aten::select_scatter",
                       {{"self", viewed},
                        {"src", written},
                        {"dim", *view.Find("dim")},
                        {"index", *view.Find("index")}},
                       viewed->type);
}

ir::Value* InverseSlice(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                        Emitter* emitter) {
  return emitter->Emit("aten::slice_scatter",
                       {{"self", viewed},
                        {"src", written},
                        {"dim", *view.Find("dim")},
                        {"start", *view.Find("start")},
                        {"end", *view.Find("end")},
                        {"step", *view.Find("step")}},
                       viewed->type);
}

ir::Value* InverseDiagonal(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                           Emitter* emitter) {
  return emitter->Emit("aten::diagonal_scatter",
                       {{"self", viewed},
                        {"src", written},
                        {"offset", *view.Find("offset")},
                        {"dim1", *view.Find("dim1")},
                        {"dim2", *view.Find("dim2")}},
                       viewed->type);
}

// Any view that shows no element twice: the same view of the elements' numbers says where each
// written element goes.
ir::Value* InverseByNumbers(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                            Emitter* emitter) {
  ir::Value* numbers = ElementNumbers(viewed, emitter);
  std::vector<ir::NamedArg> args = view.args;
  args[0].value = numbers;
  ir::Type seen_type = view.output()->type;
  seen_type.dtype = ir::DType::kInt64;
  ir::Value* seen = emitter->Emit(view.op, std::move(args), seen_type);
  ir::Type written_type = seen_type;
  written_type.dtype = viewed->type.dtype;
  ir::Value* scattered =
      emitter->Emit("aten::scatter.src",
                    {{"self", Flatten(viewed, viewed->type, emitter)},
                     {"dim", 0},
                     {"index", Flatten(seen, seen_type, emitter)},
                     {"src", Flatten(written, written_type, emitter)}},
                    Flat(viewed->type));
  return ShapeLike(scattered, viewed, emitter);
}

// Windows may overlap: what an element is after a write depends on the order then.
ir::Value* InverseUnfold(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                         Emitter* emitter) {
  const ir::Arg *size = view.Find("size"), *step = view.Find("step");
  if (!size->is_int() || !step->is_int() || size->as_int() > step->as_int()) return nullptr;
  return InverseByNumbers(view, viewed, written, emitter);
}

// Shows no element twice if each axis steps over all that the ones with smaller strides reach; the
// size of the axis with the largest stride does not matter.
ir::Value* InverseAsStrided(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                            Emitter* emitter) {
  const auto strides = view.Find("stride")->ints();
  const std::optional<ir::Shape>& shape = view.output()->type.shape;
  if (!strides || !shape || strides->size() != shape->size()) return nullptr;
  std::vector<std::pair<int64_t, ir::Dim>> axes;
  for (size_t i = 0; i < shape->size(); ++i) {
    const ir::Dim& size = (*shape)[i];
    if (!size.is_number() || size.value() > 1) axes.emplace_back((*strides)[i], size);
  }
  std::sort(axes.begin(), axes.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  int64_t reach = 0;
  for (size_t i = 0; i < axes.size(); ++i) {
    if (axes[i].first <= reach) return nullptr;
    if (i + 1 == axes.size()) break;
    if (!axes[i].second.is_number()) return nullptr;
    reach += (axes[i].second.value() - 1) * axes[i].first;
  }
  return InverseByNumbers(view, viewed, written, emitter);
}

ir::Value* InverseNarrow(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                         Emitter* emitter) {
  const ir::Arg* start = view.Find("start");
  const ir::Arg* length = view.Find("length");
  if (!start->is_int() || !length->is_int()) {
    return InverseByNumbers(view, viewed, written, emitter);
  }
  const int64_t end = start->as_int() + length->as_int();
  const bool to_the_end = start->as_int() < 0 && end == 0;
  return emitter->Emit("aten::slice_scatter",
                       {{"self", viewed},
                        {"src", written},
                        {"dim", *view.Find("dim")},
                        {"start", *start},
                        {"end", to_the_end ? ir::Arg() : ir::Arg(end)},
                        {"step", 1}},
                       viewed->type);
}

// Only where no axis grew: writing to an element that is shown twice is an error in PyTorch.
ir::Value* InverseExpand(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                         Emitter* emitter) {
  if (!view.output()->type.shape || !viewed->type.shape) return nullptr;
  const ir::Dim before = ir::NumElements(*viewed->type.shape);
  const ir::Dim after = ir::NumElements(*view.output()->type.shape);
  return before.Equals(after) ? ShapeLike(written, viewed, emitter) : nullptr;
}

ir::Value* InverseReal(const ir::Node&, ir::Value* viewed, const ir::Arg& written,
                       Emitter* emitter) {
  ir::Type part = viewed->type;
  part.dtype = ir::RealOf(part.dtype);
  ir::Value* imag = emitter->Emit("aten::imag", {{"self", viewed}}, part);
  return emitter->Emit("aten::complex", {{"real", written}, {"imag", imag}}, viewed->type);
}

ir::Value* InverseImag(const ir::Node&, ir::Value* viewed, const ir::Arg& written,
                       Emitter* emitter) {
  ir::Type part = viewed->type;
  part.dtype = ir::RealOf(part.dtype);
  ir::Value* real = emitter->Emit("aten::real", {{"self", viewed}}, part);
  return emitter->Emit("aten::complex", {{"real", real}, {"imag", written}}, viewed->type);
}

ir::Value* InverseViewAsReal(const ir::Node&, ir::Value* viewed, const ir::Arg& written,
                             Emitter* emitter) {
  return emitter->Emit("aten::view_as_complex", {{"self", written}}, viewed->type);
}

ir::Value* InverseViewAsComplex(const ir::Node&, ir::Value* viewed, const ir::Arg& written,
                                Emitter* emitter) {
  return emitter->Emit("aten::view_as_real", {{"self", written}}, viewed->type);
}

ir::Value* InverseTake(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                       Emitter* emitter) {
  return emitter->Emit("aten::put",
                       {{"self", viewed}, {"index", *view.Find("index")}, {"source", written}},
                       viewed->type);
}

ir::Value* InverseItem(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                       Emitter* emitter) {
  return emitter->Emit("prim::ListSet",
                       {{"self", viewed}, {"idx", view.args[1].value}, {"el", written}},
                       viewed->type);
}

ir::Value* InverseTupleIndex(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                             Emitter* emitter) {
  ir::Arg::List items;
  for (size_t k = 0; k < viewed->type.elements.size(); ++k) {
    const auto index = static_cast<int64_t>(k);
    items.push_back(index == view.args[1].value.as_int()
                        ? written
                        : ir::Arg(emitter->Emit("prim::TupleIndex",
                                                {{"self", viewed}, {"index", index}},
                                                viewed->type.elements[k])));
  }
  return emitter->Emit("prim::TupleConstruct", {{"items", std::move(items)}}, viewed->type);
}

ir::Value* InverseConj(const ir::Node&, ir::Value* viewed, const ir::Arg& written,
                       Emitter* emitter) {
  return emitter->Emit("aten::conj", {{"self", written}}, viewed->type);
}

const std::map<std::string, Inverse>& Inverses() {
  static const auto* const kInverses = new std::map<std::string, Inverse>{
      {"aten::view", InverseShaping},
      {"aten::reshape", InverseShaping},
      {"aten::_reshape_alias", InverseShaping},
      {"aten::_unsafe_view", InverseShaping},
      {"aten::view_as", InverseShaping},
      {"aten::reshape_as", InverseShaping},
      {"aten::flatten", InverseShaping},
      {"aten::unflatten", InverseShaping},
      {"aten::ravel", InverseShaping},
      {"aten::squeeze", InverseShaping},
      {"aten::atleast_1d", InverseShaping},
      {"aten::atleast_2d", InverseShaping},
      {"aten::atleast_3d", InverseShaping},
      {"aten::unsqueeze", InverseUnsqueeze},
      {"aten::transpose", InverseSelf},
      {"aten::swapaxes", InverseSelf},
      {"aten::swapdims", InverseSelf},
      {"aten::t", InverseSelf},
      {"aten::numpy_T", InverseSelf},
      {"aten::mT", InverseSelf},
      {"aten::matrix_H", InverseSelf},
      {"aten::mH", InverseSelf},
      {"aten::adjoint", InverseSelf},
      {"aten::permute", InversePermute},
      {"aten::movedim", InverseMovedim},
      {"aten::moveaxis", InverseMovedim},
      {"aten::select", InverseSelect},
      {"aten::slice", InverseSlice},
      {"aten::narrow", InverseNarrow},
      {"aten::diagonal", InverseDiagonal},
      {"aten::linalg_diagonal", InverseByNumbers},
      {"aten::expand", InverseExpand},
      {"aten::expand_as", InverseExpand},
      {"aten::broadcast_to", InverseExpand},
      {"aten::unfold", InverseUnfold},
      {"aten::as_strided", InverseAsStrided},
      {"aten::real", InverseReal},
      {"aten::imag", InverseImag},
      {"aten::view_as_real", InverseViewAsReal},
      {"aten::view_as_complex", InverseViewAsComplex},
      {"aten::take", InverseTake},
      {"aten::__getitem__", InverseItem},
      {"prim::TupleIndex", InverseTupleIndex},
      {"aten::_conj", InverseConj},
      {"aten::conj", InverseConj},
  };
  return *kInverses;
}

// A tensor, or a value that was never seen: it may be one.
bool MayBeTensor(const ir::Type& type) {
  using Kind = ir::Type::Kind;
  return type.is_tensor() || type.kind == Kind::kUnknown || type.kind == Kind::kOptional;
}

bool IsTrue(const ir::Arg* arg) { return arg != nullptr && arg->is_bool() && arg->as_bool(); }

// Where channels are to come last: a tensor that is row-major is copied, unless that is the same.
ViewKind ClassifyChannelsLast(const ir::Type& from, const Layout& layout) {
  const auto is_large = [](const ir::Dim& dim) { return dim.is_number() && dim.value() > 1; };
  const bool differs = from.shape && from.shape->size() > 2 && is_large((*from.shape)[1]) &&
                       std::any_of(from.shape->begin() + 2, from.shape->end(), is_large);
  return differs && layout.IsContiguous(from) == Answer::kYes ? ViewKind::kNone
                                                              : ViewKind::kUnknown;
}

ViewKind ClassifyConversion(const ir::Node& node, const ir::Type& from, const ir::Type& to,
                            const Layout& layout) {
  if (from.dtype == ir::DType::kUndefined || to.dtype == ir::DType::kUndefined) {
    return ViewKind::kUnknown;
  }
  if (from.dtype != to.dtype) return ViewKind::kNone;
  const ir::Arg* copy = node.Find("copy");
  if (copy == nullptr) return ViewKind::kSame;  // type_as
  if (!copy->is_bool()) return ViewKind::kUnknown;
  if (copy->as_bool()) return ViewKind::kNone;
  return WantsChannelsLast(node) ? ClassifyChannelsLast(from, layout) : ViewKind::kSame;
}

// A copy where the layout does not allow a view.
ViewKind ViewIf(Answer allowed, ViewKind view) {
  switch (allowed) {
    case Answer::kYes: return view;
    case Answer::kNo: return ViewKind::kNone;
    case Answer::kUnknown: return ViewKind::kUnknown;
    case Answer::kAtSizeOne: return ViewKind::kViewAtSizeOne;
  }
  return ViewKind::kUnknown;
}

// Views where the layout allows it, else copies that are contiguous.
bool IsShaping(absl::string_view base) {
  static const auto* const kShaping = new Names{"aten::contiguous", "aten::flatten", "aten::ravel",
                                                "aten::reshape", "aten::reshape_as"};
  return kShaping->contains(base);
}

bool IsDropout(absl::string_view base) {
  static const auto* const kDropouts = new Names{"aten::dropout", "aten::feature_dropout",
                                                 "aten::alpha_dropout",
                                                 "aten::feature_alpha_dropout"};
  return kDropouts->contains(base);
}

// It drops nothing where `p` is 0, and outside of training.
ViewKind ClassifyDropout(const ir::Node& node) {
  const ir::Arg &train = *node.Find("train"), &p = *node.Find("p");
  if ((p.is_float() && p.as_float() == 0) || (train.is_bool() && !train.as_bool())) {
    return ViewKind::kSame;
  }
  return p.is_float() && train.is_bool() ? ViewKind::kNone : ViewKind::kUnknown;
}

bool IsSameAlways(absl::string_view base) {
  static const auto* const kSame =
      new Names{"aten::alias",         "aten::detach",       "aten::detach_",
                "aten::lift",          "aten::lift_fresh",   "aten::positive",
                "aten::requires_grad_", "aten::resolve_neg", "prim::data",
                "prim::unchecked_cast", "prim::unchecked_unwrap_optional",
                "aten::cpu"};
  return kSame->contains(base);
}

std::unique_ptr<ir::Node> NewView(Emitter* emitter, absl::string_view op,
                                  std::vector<ir::NamedArg> args) {
  return emitter->context()->graph->NewNode(std::string(op), std::move(args));
}

// "aten::chunk" of "aten::unsafe_chunk": the same views, without autograd's watch over them.
std::string SafeName(absl::string_view base) {
  return absl::StrReplaceAll(base, {{"::unsafe_", "::"}});
}

// The axis that the list's items are parts along; None where it is not known.
ir::Arg ListAxis(const ir::Node& list) {
  if (const ir::Arg* dim = list.Find("dim")) return *dim;
  const std::string base = SafeName(list.base_op());
  if (base == "aten::vsplit") return 0;
  if (base == "aten::dsplit") return 2;
  const ir::Type& type = list.args[0].value.value()->type;
  if (base != "aten::hsplit" || !type.shape) return ir::Arg();
  return type.shape->size() == 1 ? 0 : 1;
}

std::unique_ptr<ir::Node> NewSlice(Emitter* emitter, const ir::Node& list, ir::Arg start,
                                   ir::Arg end) {
  return NewView(emitter, "aten::slice.Tensor",
                 {{"self", list.args[0].value},
                  {"dim", ListAxis(list)},
                  {"start", std::move(start)},
                  {"end", std::move(end)},
                  {"step", 1}});
}

// Size of the list's axis, as a constant or a value.
ir::Arg AxisSize(const ir::Node& list, Emitter* emitter) {
  ir::Value* self = list.args[0].value.value();
  const ir::Arg dim = ListAxis(list);
  if (self->type.shape && dim.is_int()) {
    const int64_t rank = static_cast<int64_t>(self->type.shape->size());
    const int64_t axis = dim.as_int() < 0 ? dim.as_int() + rank : dim.as_int();
    if (axis >= 0 && axis < rank && (*self->type.shape)[axis].is_number()) {
      return (*self->type.shape)[axis].value();
    }
  }
  return emitter->Emit("aten::size.int", {{"self", self}, {"dim", dim}}, IntType());
}

// a op b; constants are computed.
ir::Arg Compute(absl::string_view op, const ir::Arg& a, const ir::Arg& b, Emitter* emitter) {
  if (a.is_int() && b.is_int()) {
    const int64_t x = a.as_int(), y = b.as_int();
    if (op == "aten::add.int") return x + y;
    if (op == "aten::mul.int") return x * y;
    return x >= 0 ? x / y : -((-x + y - 1) / y);  // floordiv
  }
  return emitter->Emit(op, {{"a", a}, {"b", b}}, IntType());
}

std::unique_ptr<ir::Node> SplitItem(const ir::Node& list, const ir::Arg& size,
                                    const ir::Arg& index, Emitter* emitter) {
  const ir::Arg next = Compute("aten::add.int", index, 1, emitter);
  return NewSlice(emitter, list, Compute("aten::mul.int", size, index, emitter),
                  Compute("aten::mul.int", size, next, emitter));
}

bool IsList(const ir::Arg& arg) {
  return arg.is_list() || (arg.is_value() && arg.value()->type.is_list());
}

// `sizes`: numbers, or the value of a list.
std::unique_ptr<ir::Node> SizesItem(const ir::Node& list, const ir::Arg& sizes,
                                    const ir::Arg& item, Emitter* emitter) {
  if (!item.is_int()) return nullptr;
  const int64_t index = item.as_int();
  if (sizes.is_list() && index >= static_cast<int64_t>(sizes.list().size())) return nullptr;
  const auto length = [&](int64_t i) -> ir::Arg {
    if (sizes.is_list()) return sizes.list()[static_cast<size_t>(i)];
    return emitter->Emit("aten::__getitem__.t", {{"list", sizes}, {"idx", i}}, IntType());
  };
  ir::Arg start = 0;
  for (int64_t i = 0; i < index; ++i) {
    start = Compute("aten::add.int", start, length(i), emitter);
  }
  ir::Arg end = Compute("aten::add.int", start, length(index), emitter);
  return NewSlice(emitter, list, std::move(start), std::move(end));
}

std::unique_ptr<ir::Node> IndicesItem(const ir::Node& list, const ir::Arg& indices,
                                      const ir::Arg& item, Emitter* emitter) {
  if (!item.is_int()) return nullptr;
  const int64_t index = item.as_int();
  if (!indices.is_list() || index > static_cast<int64_t>(indices.list().size())) return nullptr;
  const ir::Arg start = index == 0 ? ir::Arg(0) : indices.list()[index - 1];
  const bool last = index == static_cast<int64_t>(indices.list().size());
  return NewSlice(emitter, list, start, last ? ir::Arg() : indices.list()[index]);
}

// The first (size mod n) items have one element more: item i begins at i·(size div n) + min(i, size
// mod n).
std::unique_ptr<ir::Node> SectionsItem(const ir::Node& list, const ir::Arg& sections,
                                       const ir::Arg& item, Emitter* emitter) {
  if (!sections.is_int() || sections.as_int() <= 0 || !item.is_int()) return nullptr;
  const int64_t n = sections.as_int(), index = item.as_int();
  const ir::Arg size = AxisSize(list, emitter);
  const ir::Arg quotient = Compute("aten::floordiv.int", size, n, emitter);
  const auto start = [&](int64_t i) {
    const ir::Arg even = Compute("aten::mul.int", quotient, i, emitter);
    if (size.is_int()) return ir::Arg(even.as_int() + std::min(i, size.as_int() % n));
    ir::Value* const longer =
        emitter->Emit("aten::remainder.int", {{"a", size}, {"b", n}}, IntType());
    ir::Value* const more = emitter->Emit("prim::min.int", {{"a", longer}, {"b", i}}, IntType());
    return Compute("aten::add.int", even, more, emitter);
  };
  return NewSlice(emitter, list, start(index), start(index + 1));
}

}  // namespace

ViewKind ClassifyView(const ir::Node& node, const Layout& layout) {
  if (node.args.empty() || node.outputs.empty() || !node.args[0].value.is_value()) {
    return ViewKind::kNone;
  }
  const absl::string_view base = node.base_op();
  const ir::Type& from = node.args[0].value.value()->type;
  const ir::Type& to = node.output()->type;
  if (IsSameAlways(base)) return ViewKind::kSame;
  if (!MayBeTensor(from) || !MayBeTensor(to)) return ViewKind::kNone;
  if (IsDropout(base)) return ClassifyDropout(node);
  if (base == "aten::native_dropout") {
    return IsTrue(node.Find("train")) ? ViewKind::kNone : ViewKind::kUnknown;
  }
  if (base == "aten::to" || base == "aten::type_as")
    return ClassifyConversion(node, from, to, layout);
  if (base == "aten::contiguous") {
    return WantsChannelsLast(node) ? ClassifyChannelsLast(from, layout)
                                   : ViewIf(layout.IsContiguous(from), ViewKind::kSame);
  }
  const ViewKind kind = SameStaticShape(from, to) ? ViewKind::kSame : ViewKind::kView;
  if (base == "aten::sum_to_size") {
    if (kind == ViewKind::kSame) return kind;
    return IsStatic(from) && IsStatic(to) ? ViewKind::kNone : ViewKind::kUnknown;
  }
  if (base == "aten::dequantize") {
    return ir::IsQuantized(from.dtype) ? ViewKind::kNone : ViewKind::kSame;
  }
  if (base == "aten::ravel") return ViewIf(layout.IsContiguous(from), kind);
  if (base == "aten::reshape" || base == "aten::reshape_as" || base == "aten::flatten") {
    return ViewIf(layout.ReshapeIsView(from, to), kind);
  }
  if (base == "aten::real" || base == "aten::conj" || base == "aten::resolve_conj" ||
      base == "aten::conj_physical") {
    if (from.dtype == ir::DType::kUndefined) return ViewKind::kUnknown;
    if (!ir::IsComplex(from.dtype)) return ViewKind::kSame;
    if (base == "aten::conj_physical") return ViewKind::kNone;
    return base == "aten::resolve_conj" ? ViewKind::kUnknown : ViewKind::kView;
  }
  if (base == "aten::expand" || base == "aten::expand_as" || base == "aten::broadcast_to") {
    return kind;
  }
  if (node.op == "aten::view.dtype") {
    return from.dtype == to.dtype ? ViewKind::kSame : ViewKind::kView;
  }
  if (Inverses().contains(std::string(base))) return ViewKind::kView;
  // A view that nothing here knows: it can be read, and a write through it is refused.
  const ir::Schema* schema = ir::FindSchema(node.op);
  return schema != nullptr && schema->is_view() ? ViewKind::kView : ViewKind::kNone;
}

bool MayCopy(const ir::Node& node) {
  static const auto* const kConverting =
      new Names{"aten::to", "aten::type_as", "aten::_reshape_alias"};
  return IsShaping(node.base_op()) || kConverting->contains(node.base_op());
}

bool IsCopyForShape(const ir::Node& node, ViewKind kind) {
  const bool is_copy = kind == ViewKind::kNone || kind == ViewKind::kViewAtSizeOne;
  return is_copy && IsShaping(node.base_op()) && !WantsChannelsLast(node);
}

bool MayGiveItsTensor(const ir::Node& node) {
  static const auto* const kGiving =
      new Names{"aten::cartesian_prod", "aten::chain_matmul", "aten::einsum"};
  if (!kGiving->contains(node.base_op())) return false;
  const ir::Arg* tensors = node.Find("tensors");
  if (tensors == nullptr) tensors = node.Find("matrices");
  return tensors != nullptr && (!tensors->is_list() || tensors->list().size() == 1);
}

bool GivesListOfViews(const ir::Node& node) {
  static const auto* const kLists = new Names{
      "aten::split",        "aten::split_with_sizes", "aten::chunk",  "aten::unbind",
      "aten::tensor_split", "aten::hsplit",           "aten::vsplit", "aten::dsplit"};
  return kLists->contains(SafeName(node.base_op())) && !node.args.empty() &&
         node.args[0].value.is_value() && MayBeTensor(node.args[0].value.value()->type);
}

std::unique_ptr<ir::Node> ItemOfListOfViews(const ir::Node& list, const ir::Arg& index,
                                            Emitter* emitter) {
  const std::string base = SafeName(list.base_op());
  if ((index.is_int() && index.as_int() < 0) || ListAxis(list).is_none()) return nullptr;
  if (base == "aten::unbind") {
    return NewView(emitter, "aten::select.int",
                   {{"self", list.args[0].value}, {"dim", ListAxis(list)}, {"index", index}});
  }
  const ir::Arg& how = list.args[1].value;
  if (base == "aten::split" || base == "aten::split_with_sizes") {
    return IsList(how) ? SizesItem(list, how, index, emitter)
                       : SplitItem(list, how, index, emitter);
  }
  if (base == "aten::chunk") {
    if (!how.is_int() || how.as_int() <= 0) return nullptr;
    const ir::Arg rounded_up =
        Compute("aten::add.int", AxisSize(list, emitter), how.as_int() - 1, emitter);
    return SplitItem(list, Compute("aten::floordiv.int", rounded_up, how.as_int(), emitter),
                     index, emitter);
  }
  // tensor_split and its forms for one axis.
  return IsList(how) ? IndicesItem(list, how, index, emitter)
                       : SectionsItem(list, how, index, emitter);
}

ir::Value* ElementNumbers(ir::Value* like, Emitter* emitter) {
  const ir::Type type = ir::Type::Tensor(ir::DType::kInt64, like->type.shape);
  ir::Arg count;
  if (StaticSizes(type)) {
    count = ir::NumElements(*type.shape).value();
  } else {
    count = emitter->Emit("aten::numel", {{"self", like}}, IntType());
  }
  ir::Value* range = emitter->Emit(
      "aten::arange", {{"end", count}, {"dtype", ir::DType::kInt64}}, Flat(type));
  return ShapeLike(range, like, emitter);
}

bool MovesElements(const ir::Node& view) {
  static const auto* const kMoving = new Names{
      "aten::view",     "aten::reshape",  "aten::_reshape_alias", "aten::_unsafe_view",
      "aten::view_as",  "aten::reshape_as", "aten::flatten",      "aten::unflatten",
      "aten::ravel",    "aten::squeeze",  "aten::unsqueeze",      "aten::atleast_1d",
      "aten::atleast_2d", "aten::atleast_3d", "aten::transpose",  "aten::swapaxes",
      "aten::swapdims", "aten::t",        "aten::numpy_T",        "aten::mT",
      "aten::permute",  "aten::movedim",  "aten::moveaxis",       "aten::select",
      "aten::slice",    "aten::narrow",   "aten::diagonal",       "aten::linalg_diagonal",
      "aten::expand",   "aten::expand_as", "aten::broadcast_to"};
  return view.op != "aten::view.dtype" && kMoving->contains(view.base_op());
}

ir::Value* WriteThroughView(const ir::Node& view, ir::Value* viewed, const ir::Arg& written,
                            Emitter* emitter) {
  if (view.op == "aten::view.dtype") return nullptr;
  const auto inverse = Inverses().find(std::string(view.base_op()));
  if (inverse == Inverses().end()) return nullptr;
  return inverse->second(view, viewed, written, emitter);
}

}  // namespace rules_onnx::passes
