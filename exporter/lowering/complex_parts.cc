// Operators that do the same to the real and to the imaginary part: what moves elements, and sums.
#include <algorithm>
#include <complex>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/call.h"
#include "exporter/lowering/complex.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// Arguments whose elements the result has, each with its part of it: 0 as the imaginary part of a
// real one. Other real arguments are places and masks.
constexpr absl::string_view kData[] = {"self",       "other",   "tensors", "value",
                                       "fill_value", "fill",    "values",  "source",
                                       "src",        "prepend", "append"};

bool IsData(absl::string_view name) {
  return std::find(std::begin(kData), std::end(kData), name) != std::end(kData);
}

Item ItemPart(Builder& b, const Item& item, const ir::Type& type, int part, bool is_data) {
  if (item.is_list()) {
    const ir::Type& element = type.is_list() ? type.elements.front() : type;
    std::vector<Item> items;
    for (const Item& x : item.items) items.push_back(ItemPart(b, x, element, part, is_data));
    return Item::List(std::move(items));
  }
  if (!item.is_val()) return item;
  if (IsComplexType(type)) return b.Gather(item.val, b.Int(part), item.val.rank() - 1);
  if (part == 0 || !is_data) return item;
  return b.ConstantOfShape(b.ShapeOf(item.val), 0, item.val.dtype());
}

Item ArgPart(Op& op, const ir::Arg& arg, int part, bool is_data) {
  if (arg.is_complex()) {
    const std::complex<double> value = arg.as_complex();
    return op.b.Scalar(part == 0 ? value.real() : value.imag(), PartType(op));
  }
  if (arg.is_list()) {
    std::vector<Item> items;
    for (const ir::Arg& element : arg.list()) items.push_back(ArgPart(op, element, part, is_data));
    return Item::List(std::move(items));
  }
  if (arg.is_value()) {
    return ItemPart(op.b, op.lowering.Get(arg.value()), arg.value()->type, part, is_data);
  }
  if (arg.is_literal()) {
    const ir::Type type = ir::Type::Tensor(arg.literal().dtype, std::nullopt);
    return ItemPart(op.b, op.lowering.Lower(arg), type, part, is_data);
  }
  const bool is_number = arg.is_int() || arg.is_float() || arg.is_bool();
  return part == 1 && is_data && is_number ? Item(op.b.Int(0)) : op.lowering.Lower(arg);
}

Item PackedItem(Builder& b, const Item& re, const Item& im) {
  if (!re.is_list()) return Packed({{b, re.val}, {b, im.val}});
  std::vector<Item> items;
  for (size_t i = 0; i < re.items.size() && i < im.items.size(); ++i) {
    items.push_back(PackedItem(b, re.items[i], im.items[i]));
  }
  return Item::List(std::move(items));
}

bool HasElements(const ir::Arg& arg) {
  if (!arg.is_list()) return arg.is_value() || arg.is_complex() || arg.is_literal();
  return std::any_of(arg.list().begin(), arg.list().end(), HasElements);
}

// The argument's part (0 real, 1 imaginary); nullopt: as it is.
std::optional<Item> PartOfArgument(Op& op, const ir::NamedArg& arg, int part) {
  const bool is_data = IsData(arg.name);
  if (!is_data && !HasElements(arg.value)) return std::nullopt;
  return ArgPart(op, arg.value, part, is_data);
}

using PartFunction = std::function<std::optional<Item>(const ir::NamedArg& arg, int part)>;

// The node's operator on each part that `part_of` gives of its arguments.
void OnParts(Op& op, const PartFunction& part_of) {
  const Row* row = FindRow(op.node.op);
  if (!op.Require(row != nullptr, "complex numbers are not supported")) return;
  std::vector<ir::Type> types;
  for (size_t i = 0; i < op.num_outputs(); ++i) types.push_back(PartOf(op.OutType(i)));
  // Real results of real operands beside a complex one, which only has a shape to give.
  bool any_complex = false;
  for (const ir::Value* output : op.node.outputs) any_complex |= IsComplexType(output->type);
  std::vector<Item> parts[2];
  for (int i = 0; i < (any_complex ? 2 : 1); ++i) {
    const auto replace = [&](const ir::NamedArg& arg) { return part_of(arg, i); };
    parts[i] = CallReplaced(op, row->function, replace, types);
  }
  if (!any_complex) return op.Return(std::move(parts[0]));
  std::vector<Item> results;
  for (size_t i = 0; i < parts[0].size() && i < parts[1].size(); ++i) {
    results.push_back(PackedItem(op.b, parts[0][i], parts[1][i]));
  }
  op.Return(std::move(results));
}

void PartByPart(Op& op) {
  OnParts(op, [&](const ir::NamedArg& arg, int part) { return PartOfArgument(op, arg, part); });
}

// ---------------------------------------------------------------- forms that are not

// Of a list: each result is of its own operand.
void EachOfList(Op& op) {
  const ir::Arg* tensors = op.node.Find("tensors");
  if (tensors != nullptr && tensors->is_list()) {
    const ir::Arg::List& list = tensors->list();
    const auto is_complex = [](const ir::Arg& arg) { return IsComplexArgument(arg); };
    const bool same = std::all_of(list.begin(), list.end(), is_complex);
    if (!op.Require(same, "a list of real and complex tensors")) return;
  }
  PartByPart(op);
}

// `where(condition)` alone asks for the places that are not 0.
void Where(Op& op) { op.Has("self") ? PartByPart(op) : OnNonZero(op); }

void Scatter(Op& op) {
  const bool sums = !op.Has("reduce") || op.String("reduce") == "add";
  if (op.Require(sums, "scatter with a product of complex numbers")) PartByPart(op);
}

// A complex factor mixes the parts of what is added.
void IndexAdd(Op& op) {
  if (!IsComplexArgument(op, "alpha")) return PartByPart(op);
  const DType part_type = PartType(op);
  const Complex added =
      Times(ReadComplex(op, "source", part_type), ReadComplex(op, "alpha", part_type));
  OnParts(op, [&](const ir::NamedArg& arg, int part) -> std::optional<Item> {
    if (arg.name == "alpha") return Item::Constant(ir::Arg(int64_t{1}));
    if (arg.name == "source") return Item(part == 0 ? added.re.val() : added.im.val());
    return PartOfArgument(op, arg, part);
  });
}

// In training each part would lose other elements.
void Dropout(Op& op) {
  if (op.Require(!op.Bool("train"), "dropout of complex numbers in training")) PartByPart(op);
}

// Linear in the values, but not in both them and their places.
void Integral(Op& op) {
  const bool real_places = !IsComplexArgument(op, "x") && !IsComplexArgument(op, "dx");
  if (op.Require(real_places, "an integral along complex numbers")) PartByPart(op);
}

// As another dtype's bits, with `dtype`: two reals are one complex number.
void View(Op& op) {
  if (op.node.Find("dtype") == nullptr) return PartByPart(op);
  Builder& b = op.b;
  const Val x = op.Arg("self").val;
  if (!x) return;
  const bool from = IsComplexArgument(op, "self"), to = IsComplexType(op.OutType());
  const bool same = x.dtype() == PartType(op);
  if (!op.Require(same, "complex numbers as the bits of another dtype")) return;
  if (from == to) return op.Return(x);
  const int last = x.rank() - (from ? 2 : 1);
  Vals sizes;
  for (int i = 0; i < last; ++i) sizes.push_back(b.Size(x, i));
  if (from) {
    sizes.push_back(b.Mul(b.Size(x, last), b.Int(2)));
  } else {
    sizes.push_back(b.Div(b.Size(x, last), b.Int(2)));
    sizes.push_back(b.Int(2));
  }
  op.Return(b.Reshape(x, b.Vector(sizes)));
}

// clang-format off
constexpr const char* kPartByPart[] = {
    // shapes
    "_reshape_alias", "_unsafe_view", "alias", "as_strided", "broadcast_to", "clone", "contiguous",
    "detach", "expand", "expand_as", "flatten", "lift_fresh", "ravel", "reshape", "reshape_as",
    "squeeze", "sum_to_size", "unflatten", "unsqueeze", "view_as",
    // orders of axes and elements
    "fft_fftshift", "fft_ifftshift", "flip", "fliplr", "flipud", "mT", "moveaxis", "movedim",
    "numpy_T", "permute", "roll", "rot90", "swapaxes", "swapdims", "t", "transpose",
    // some of the elements
    "_unsafe_index", "_unsafe_masked_index", "combinations", "diag", "diag_embed", "diagonal",
    "gather", "index", "index_select", "masked_select", "narrow", "select", "slice", "take",
    "take_along_dim", "tril", "triu", "unfold",
    // several tensors of one, one of several
    "cat", "chunk", "column_stack", "concat", "concatenate", "dsplit", "dstack", "hsplit", "hstack",
    "meshgrid", "split", "split_with_sizes", "stack", "tensor_split", "unbind", "unsafe_chunk",
    "unsafe_split", "unsafe_split_with_sizes", "vsplit", "vstack",
    // elements again, and others beside them
    "col2im", "constant_pad_nd", "im2col", "pad", "reflection_pad1d", "reflection_pad2d", "repeat",
    "repeat_interleave", "replication_pad1d", "replication_pad2d", "tile",
    // other elements in their places
    "as_strided_scatter", "copy", "diagonal_scatter", "index_copy", "index_fill", "index_put",
    "masked_fill", "masked_scatter", "nan_to_num", "scatter_add", "select_scatter", "slice_scatter",
    // sums
    "cumsum", "diff", "mean", "positive", "sum", "trace",
};
// clang-format on

}  // namespace

const std::vector<Row>& ComplexPartForms() {
  static const auto* const kRows = [] {
    auto* rows = new std::vector<Row>{
        {"aten::atleast_1d", EachOfList},
        {"aten::atleast_2d", EachOfList},
        {"aten::atleast_3d", EachOfList},
        {"aten::broadcast_tensors", EachOfList},
        {"aten::where", Where},
        {"aten::scatter", Scatter},
        {"aten::index_add", IndexAdd},
        {"aten::dropout", Dropout},
        {"aten::view", View},
    };
    for (const char* name : {"trapezoid", "trapz", "cumulative_trapezoid"}) {
      rows->push_back({absl::StrCat("aten::", name), Integral});
    }
    for (const char* name : kPartByPart) {
      rows->push_back({absl::StrCat("aten::", name), PartByPart});
    }
    return rows;
  }();
  return *kRows;
}

}  // namespace rules_onnx::lowering
