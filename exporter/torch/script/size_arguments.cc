#include "exporter/torch/script/size_arguments.h"

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "exporter/ir/elementwise.h"
#include "exporter/ir/schema.h"

namespace rules_onnx::script {
namespace {

enum class Reach {
  kNothing,
  kDim,         // the axis that the argument `dim` or `dimension` names
  kOwnAxes,     // item i of a list: axis i
  kShape,       // the same, and the axis of an item that is -1
  kLastAxes,    // the last item: the last axis, and so on
  kPads,        // pairs of items from the last axis on
  kSpatial,     // all axes from 2 on
  kLast,        // the last axis
  kSequence,    // batch and time, the first two
  kEverything,
};

struct Rule {
  absl::string_view op, argument;  // without overload; "*": each argument
  Reach reach;
};

// Numbers of which the default, everything, says too much.
constexpr Rule kRules[] = {
    {"aten::select", "index", Reach::kNothing},
    {"aten::select_scatter", "*", Reach::kNothing},
    {"aten::slice_scatter", "*", Reach::kNothing},
    {"aten::narrow", "start", Reach::kNothing},
    {"aten::roll", "*", Reach::kNothing},
    {"aten::randint", "low", Reach::kNothing},
    {"aten::randint", "high", Reach::kNothing},
    {"aten::tril", "*", Reach::kNothing},
    {"aten::triu", "*", Reach::kNothing},
    {"aten::softmax", "*", Reach::kNothing},
    {"aten::log_softmax", "*", Reach::kNothing},
    {"aten::cumsum", "*", Reach::kNothing},
    {"aten::cumprod", "*", Reach::kNothing},
    {"aten::flip", "*", Reach::kNothing},
    {"aten::sort", "*", Reach::kNothing},
    {"aten::argsort", "*", Reach::kNothing},
    {"aten::gather", "*", Reach::kNothing},
    {"aten::scatter", "*", Reach::kNothing},
    {"aten::scatter_add", "*", Reach::kNothing},
    {"aten::index_add", "*", Reach::kNothing},
    {"aten::index_fill", "*", Reach::kNothing},
    {"aten::index_copy", "*", Reach::kNothing},
    {"aten::embedding", "*", Reach::kNothing},
    {"aten::group_norm", "*", Reach::kNothing},
    {"aten::layer_norm", "*", Reach::kNothing},
    {"aten::slice", "start", Reach::kDim},
    {"aten::slice", "end", Reach::kDim},
    {"aten::slice", "step", Reach::kDim},
    {"aten::narrow", "length", Reach::kDim},
    {"aten::topk", "k", Reach::kDim},
    {"aten::one_hot", "num_classes", Reach::kLast},
    {"aten::zeros", "size", Reach::kOwnAxes},
    {"aten::ones", "size", Reach::kOwnAxes},
    {"aten::full", "size", Reach::kOwnAxes},
    {"aten::empty", "size", Reach::kOwnAxes},
    {"aten::rand", "size", Reach::kOwnAxes},
    {"aten::randn", "size", Reach::kOwnAxes},
    {"aten::randint", "size", Reach::kOwnAxes},
    {"aten::new_zeros", "size", Reach::kOwnAxes},
    {"aten::new_ones", "size", Reach::kOwnAxes},
    {"aten::new_full", "size", Reach::kOwnAxes},
    {"aten::new_empty", "size", Reach::kOwnAxes},
    {"aten::expand", "size", Reach::kOwnAxes},
    {"aten::broadcast_to", "size", Reach::kOwnAxes},
    {"aten::as_strided", "size", Reach::kOwnAxes},
    {"aten::as_strided", "*", Reach::kNothing},
    {"aten::view", "size", Reach::kShape},
    {"aten::_unsafe_view", "size", Reach::kShape},
    {"aten::reshape", "shape", Reach::kShape},
    {"aten::repeat", "repeats", Reach::kLastAxes},
    {"aten::tile", "dims", Reach::kLastAxes},
    {"aten::adaptive_avg_pool1d", "*", Reach::kLastAxes},
    {"aten::adaptive_avg_pool2d", "*", Reach::kLastAxes},
    {"aten::adaptive_avg_pool3d", "*", Reach::kLastAxes},
    {"aten::adaptive_max_pool1d", "*", Reach::kLastAxes},
    {"aten::adaptive_max_pool2d", "*", Reach::kLastAxes},
    {"aten::adaptive_max_pool3d", "*", Reach::kLastAxes},
    {"aten::_pad_packed_sequence", "*", Reach::kSequence},
    {"aten::pad", "pad", Reach::kPads},
    {"aten::constant_pad_nd", "pad", Reach::kPads},
};

// Of operators that give lists of tensors: of another list, or cut out of one tensor.
std::optional<Reach> ReachOfList(const ir::Node& node, bool* length) {
  const absl::string_view op = node.base_op();
  static const std::set<std::string> kOfItems = {"aten::slice.t", "aten::mul.left_t",
                                                 "aten::mul.right_", "aten::mul_.t"};
  if (kOfItems.count(node.op)) {
    *length = true;
    return Reach::kNothing;
  }
  if (op == "aten::split" || op == "aten::unsafe_split" || op == "aten::chunk" ||
      op == "aten::tensor_split" || absl::EndsWith(op, "split_with_sizes")) {
    // A list of sizes, the length of which is that of the result.
    const bool by_list = node.op == "aten::split" || node.op == "aten::split.sizes" ||
                         node.op == "aten::tensor_split.indices" ||
                         absl::EndsWith(op, "split_with_sizes");
    *length = *length || !by_list;
    return Reach::kDim;
  }
  return std::nullopt;
}

bool IsResize(absl::string_view op) {
  return absl::StrContains(op, "upsample") || absl::StrContains(op, "interpolate");
}

bool IsRange(absl::string_view op) {
  static const std::set<std::string> kOps = {"aten::arange", "aten::range", "aten::linspace",
                                             "aten::logspace"};
  return kOps.count(std::string(op)) > 0;
}

// Numbers that are computed with, and flags.
bool IsPlainNumber(const ir::Node& node, absl::string_view argument) {
  const ir::Schema* schema = ir::FindSchema(node.op);
  const ir::SchemaArg* arg = schema == nullptr ? nullptr : schema->Find(argument);
  if (arg == nullptr) return false;
  static const std::set<std::string> kTypes = {"Scalar", "Scalar?", "float", "float?",
                                               "bool",   "bool?",   "str",   "str?"};
  return kTypes.count(arg->type) > 0;
}

std::optional<Reach> ReachOf(const ir::Node& node, absl::string_view argument) {
  const absl::string_view op = node.base_op();
  if (IsResize(op)) return Reach::kSpatial;
  if (IsRange(op)) return Reach::kEverything;
  if (IsPlainNumber(node, argument)) return Reach::kNothing;
  for (const Rule& rule : kRules) {
    const bool in_place = absl::StartsWith(op, rule.op) && op.size() == rule.op.size() + 1 &&
                          absl::EndsWith(op, "_");
    if (op != rule.op && !in_place) continue;
    if (rule.argument == argument || rule.argument == "*") return rule.reach;
  }
  return std::nullopt;
}

class Marks {
 public:
  explicit Marks(size_t rank) : axes_(rank) {}

  void All() { axes_.assign(axes_.size(), true); }
  void AllButLast() {
    for (size_t i = 0; i + 1 < axes_.size(); ++i) axes_[i] = true;
  }
  void From(size_t first) {
    for (size_t i = first; i < axes_.size(); ++i) axes_[i] = true;
  }
  // Negative axes count from the end.
  void Axis(int64_t axis) {
    if (axis < 0) axis += static_cast<int64_t>(axes_.size());
    if (axis >= 0 && axis < static_cast<int64_t>(axes_.size())) {
      axes_[static_cast<size_t>(axis)] = true;
    }
  }
  std::vector<bool> Take() { return std::move(axes_); }

 private:
  std::vector<bool> axes_;
};

void MarkDim(const ir::Node& node, Marks* marks) {
  const ir::Arg* dim = node.Find("dim");
  if (dim == nullptr) dim = node.Find("dimension");
  if (dim == nullptr || !dim->is_int()) return marks->All();
  marks->Axis(dim->as_int());
}

void MarkItems(const ir::Arg& arg, Reach reach,
               const std::function<bool(const ir::Value&)>& asked, Marks* marks) {
  if (!arg.is_list()) return marks->All();
  const ir::Arg::List& items = arg.list();
  for (size_t i = 0; i < items.size(); ++i) {
    const auto place = static_cast<int64_t>(i), size = static_cast<int64_t>(items.size());
    if (reach == Reach::kShape && items[i].is_int() && items[i].as_int() == -1) marks->Axis(place);
    if (!AnyValue(items[i], asked)) continue;
    switch (reach) {
      case Reach::kLastAxes: marks->Axis(place - size); break;
      case Reach::kPads: marks->Axis(-1 - place / 2); break;
      default: marks->Axis(place);
    }
  }
}

void Mark(const ir::Node& node, const ir::Arg& arg, Reach reach,
          const std::function<bool(const ir::Value&)>& asked, Marks* marks) {
  switch (reach) {
    case Reach::kNothing:
      return;
    case Reach::kDim:
      return MarkDim(node, marks);
    case Reach::kSpatial:
      return marks->From(2);
    case Reach::kLast:
      return marks->Axis(-1);
    case Reach::kSequence:
      marks->Axis(0);
      return marks->Axis(1);
    case Reach::kEverything:
      return marks->All();
    default:
      return MarkItems(arg, reach, asked, marks);
  }
}

// The result is as large as its arguments, broadcast.
bool IsAsLargeAsArguments(absl::string_view op) {
  static const std::set<std::string> kOthers = {"aten::masked_fill", "aten::dropout",
                                                "aten::softmax", "aten::layer_norm"};
  const absl::string_view base = absl::StripSuffix(op, "_");
  return ir::IsElementwise(base) || kOthers.count(std::string(base)) > 0;
}

// Where the sizes of the values, counted from the last axis, are not known, so are those of the result.
void MarkUnknown(const ir::Arg& arg, size_t rank, Marks* marks) {
  arg.ForEachValue([&](const ir::Value* value) {
    if (!value->type.is_tensor()) return;
    if (!value->type.shape) return marks->All();
    const auto own = static_cast<int64_t>(value->type.shape->size());
    for (int64_t axis = 0; axis < own; ++axis) {
      const int64_t at = static_cast<int64_t>(rank) - own + axis;
      const bool known = (*value->type.shape)[static_cast<size_t>(axis)].is_number();
      if (!known && at >= 0) marks->Axis(at);
    }
  });
}

// Sizes that whole tensors decide. Those of the operators here that are known follow from sizes that are.
void MarkDecidedByTensors(const ir::Node& node, size_t rank, Marks* marks) {
  static const std::set<std::string> kRecurrent = {"aten::lstm", "aten::gru", "aten::rnn_tanh",
                                                   "aten::rnn_relu"};
  const std::string op(node.base_op());
  if (kRecurrent.count(op)) return marks->AllButLast();  // the last one follows from the weights
  if (IsAsLargeAsArguments(op)) {
    for (const ir::NamedArg& arg : node.args) MarkUnknown(arg.value, rank, marks);
  } else if (op == "aten::_pad_packed_sequence") {
    Mark(node, ir::Arg(), Reach::kSequence, nullptr, marks);
    MarkUnknown(node.args[0].value, rank, marks);
  } else {
    marks->All();
  }
}

// An item that a number picks: its sizes are those that all items have.
bool MarkPicked(const ir::Node& node, Marks* marks) {
  const absl::string_view op = node.base_op();
  if ((op != "aten::__getitem__" && op != "aten::pop") || node.args.empty()) return false;
  const ir::Arg& list = node.args[0].value;
  if (!list.is_value() || !list.value()->type.is_list()) return false;
  const ir::Type& item = list.value()->type.elements[0];
  if (!item.is_tensor() || !item.shape) return false;
  for (size_t i = 0; i < item.shape->size(); ++i) {
    if (!(*item.shape)[i].is_number()) marks->Axis(static_cast<int64_t>(i));
  }
  return true;
}

}  // namespace

bool IsNumber(const ir::Type& type) {
  return type.is_number() || type.kind == ir::Type::Kind::kComplex;
}

bool AnyValue(const ir::Arg& arg, const std::function<bool(const ir::Value&)>& asked) {
  bool any = false;
  arg.ForEachValue([&](const ir::Value* value) { any = any || asked(*value); });
  return any;
}

bool DecidedSizes::any() const {
  return length || std::any_of(axes.begin(), axes.end(), [](bool decided) { return decided; });
}

DecidedSizes SizesDecidedBy(const ir::Node& node, size_t rank,
                            const std::function<bool(const ir::Value&)>& asked) {
  Marks marks(rank);
  DecidedSizes decided;
  for (const ir::NamedArg& arg : node.args) {
    bool whole = false, number = false;
    arg.value.ForEachValue([&](const ir::Value* value) {
      if (!asked(*value)) return;
      (IsNumber(value->type) ? number : whole) = true;
    });
    if (whole) {
      MarkDecidedByTensors(node, rank, &marks);
      decided.length = true;
    } else if (number) {
      if (MarkPicked(node, &marks)) continue;
      std::optional<Reach> reach = ReachOfList(node, &decided.length);
      if (!reach) reach = ReachOf(node, arg.name);
      if (!reach) decided.length = decided.vague = true;
      Mark(node, arg.value, reach.value_or(Reach::kEverything), asked, &marks);
    }
  }
  decided.axes = marks.Take();
  return decided;
}

bool LengthFollowsSize(const ir::Node& node) {
  if (node.op != "aten::split.Tensor" && node.op != "aten::unsafe_split.Tensor") return false;
  const ir::Arg *self = node.Find("self"), *dim = node.Find("dim"), *size = node.Find("split_size");
  if (self == nullptr || !self->is_value() || !self->value()->type.shape) return false;
  if (size == nullptr || !size->is_int()) return false;
  const ir::Shape& shape = *self->value()->type.shape;
  if (dim == nullptr || !dim->is_int()) return true;
  const int64_t axis = dim->as_int() < 0 ? dim->as_int() + static_cast<int64_t>(shape.size())
                                         : dim->as_int();
  return axis >= 0 && axis < static_cast<int64_t>(shape.size()) &&
         !shape[static_cast<size_t>(axis)].is_number();
}

}  // namespace rules_onnx::script
