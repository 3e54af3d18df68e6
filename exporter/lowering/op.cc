#include "exporter/lowering/op.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/complex.h"
#include "exporter/lowering/lowering.h"

namespace rules_onnx::lowering {
namespace {

std::string Name(DType dtype) { return std::string(ir::DTypeName(dtype)); }

}  // namespace

Op::Op(Lowering& lowering, const ir::Node& node)
    : lowering(lowering), b(lowering.b()), node(node) {}

bool Op::Require(bool condition, absl::string_view message) {
  if (!condition) Fail(message);
  return condition;
}

// ---------------------------------------------------------------- arguments

const ir::Arg* Op::Find(absl::string_view name) const { return node.Find(name); }

bool Op::Has(absl::string_view name) const {
  const ir::Arg* arg = Find(name);
  if (arg == nullptr || arg->is_none()) return false;
  return !arg->is_value() || !lowering.Get(arg->value()).is_none();
}

Item Op::Arg(absl::string_view name) const {
  const ir::Arg* arg = Find(name);
  return arg == nullptr ? Item::Constant({}) : lowering.Lower(*arg);
}

Val Op::Tensor(absl::string_view name) {
  const ir::Arg* arg = Find(name);
  // Complex tensors have an axis more than PyTorch's: a lowering that is made for them takes them
  // by Arg.
  if (arg != nullptr && IsComplexArgument(*arg)) {
    return Fail(absl::StrCat("complex numbers are not supported (argument ", name, ")"));
  }
  const Item item = Arg(name);
  if (item.is_quantized()) return Fail(absl::StrCat("argument ", name, " is quantized"));
  if (item.is_val()) return item.val;
  if (item.failed()) return {};
  return Fail(absl::StrCat("argument ", name, " must be a tensor"));
}

Val Op::Tensor(absl::string_view name, DType dtype) {
  const ir::Arg* arg = Find(name);
  if (arg != nullptr && arg->is_float()) return b.Scalar(arg->as_float(), dtype);
  if (arg != nullptr && arg->is_int()) return b.ScalarInt(arg->as_int(), dtype);
  return b.Cast(Tensor(name), dtype);
}

Vals Op::Tensors(absl::string_view name) {
  const Item item = Arg(name);
  if (item.failed()) return {};
  if (!item.is_list()) {
    Fail(absl::StrCat("the length of the list ", name, " is not known"));
    return {};
  }
  const ir::Arg* arg = Find(name);
  if (arg->is_list() &&
      std::any_of(arg->list().begin(), arg->list().end(),
                  [](const ir::Arg& part) { return IsComplexArgument(part); })) {
    Fail(absl::StrCat("complex numbers are not supported (argument ", name, ")"));
    return {};
  }
  Vals vals;
  for (const Item& element : item.items) vals.push_back(element.val);
  return vals;
}

std::optional<int64_t> Op::KnownInt(absl::string_view name) {
  const Item item = Arg(name);
  if (item.is_val()) return item.val.int_value();
  return std::nullopt;
}

std::optional<double> Op::KnownFloat(absl::string_view name) {
  if (const ir::Arg* arg = Find(name)) {
    if (arg->is_float()) return arg->as_float();
    if (arg->is_int()) return static_cast<double>(arg->as_int());
  }
  const Item item = Arg(name);
  if (item.is_val()) return item.val.float_value();
  return std::nullopt;
}

int64_t Op::Int(absl::string_view name) {
  const auto value = KnownInt(name);
  Require(value.has_value() || Arg(name).failed(),
          absl::StrCat("argument ", name, " must be known at build time"));
  return value.value_or(0);
}

double Op::Float(absl::string_view name) {
  const auto value = KnownFloat(name);
  Require(value.has_value() || Arg(name).failed(),
          absl::StrCat("argument ", name, " must be known at build time"));
  return value.value_or(0);
}

bool Op::Bool(absl::string_view name) { return Int(name) != 0; }

std::string Op::String(absl::string_view name) {
  const Item item = Arg(name);
  if (item.kind == Item::Kind::kConstant && item.constant.is_string()) {
    return item.constant.as_string();
  }
  Fail(absl::StrCat("argument ", name, " must be a string"));
  return "";
}

std::vector<int64_t> Op::Ints(absl::string_view name) {
  std::vector<int64_t> values;
  for (const Val val : IntVals(name)) {
    const auto value = val.int_value();
    if (!Require(value.has_value() || !val,
                 absl::StrCat("argument ", name, " must be known at build time"))) {
      break;
    }
    values.push_back(value.value_or(0));
  }
  return values;
}

std::vector<double> Op::Floats(absl::string_view name) {
  std::vector<double> values;
  for (const Val val : Tensors(name)) {
    const auto value = val.float_value();
    if (!Require(value.has_value() || !val,
                 absl::StrCat("argument ", name, " must be known at build time"))) {
      break;
    }
    values.push_back(value.value_or(0));
  }
  return values;
}

std::optional<int64_t> Op::OptInt(absl::string_view name) {
  return Has(name) ? std::optional(Int(name)) : std::nullopt;
}

std::optional<double> Op::OptFloat(absl::string_view name) {
  return Has(name) ? std::optional(Float(name)) : std::nullopt;
}

DType Op::Dtype(absl::string_view name, DType if_none) {
  if (!Has(name)) return if_none;
  const Item item = Arg(name);
  if (item.kind == Item::Kind::kConstant && item.constant.is_dtype()) {
    return item.constant.as_dtype();
  }
  Fail(absl::StrCat("argument ", name, " must be a dtype known at build time"));
  return if_none;
}

Val Op::IntVal(absl::string_view name) {
  const Val val = Tensor(name, DType::kInt64);
  return val.rank() == 1 ? b.Reshape(val, std::vector<int64_t>{}) : val;
}

Vals Op::IntVals(absl::string_view name) {
  const Item item = Arg(name);
  if (item.failed()) return {};
  if (item.is_val()) return b.Elements(item.val);
  if (!item.is_list()) {
    Fail(absl::StrCat("argument ", name, " must be a list of integers"));
    return {};
  }
  Vals vals;
  for (const Item& element : item.items) vals.push_back(b.Cast(element.val, DType::kInt64));
  return vals;
}

int Op::Axis(absl::string_view name, Val of) {
  return static_cast<int>(of ? b.NormalizeAxis(Int(name), of.rank()) : 0);
}

std::vector<int64_t> Op::Axes(absl::string_view name, Val of) {
  if (!of) return {};
  std::vector<int64_t> axes;
  const Item item = Arg(name);
  if (item.is_val() && item.val.rank() == 0) {
    axes = {Int(name)};
  } else if (Has(name)) {
    axes = Ints(name);
  }
  for (int64_t& axis : axes) axis = b.NormalizeAxis(axis, of.rank());
  std::sort(axes.begin(), axes.end());
  axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
  if (!axes.empty() || !Require(of.rank() >= 0, "the rank of the operand is not known")) {
    return axes;
  }
  for (int i = 0; i < of.rank(); ++i) axes.push_back(i);
  return axes;
}

// ---------------------------------------------------------------- types

namespace {

// A category lower on this list raises the result only if it is of a higher kind.
struct Candidates {
  DType dimensioned = DType::kUndefined, zero_dim = DType::kUndefined,
        number = DType::kUndefined;
};

int Kind(DType dtype) {
  if (dtype == DType::kUndefined) return -1;
  if (IsComplex(dtype)) return 3;
  if (IsFloat(dtype)) return 2;
  return dtype == DType::kBool ? 0 : 1;
}

DType Combine(DType higher, DType lower) {
  if (higher == DType::kUndefined) return lower;
  return Kind(lower) > Kind(higher) ? ir::PromoteTypes(higher, lower) : higher;
}

// A number on its own: PyTorch's default dtypes.
DType NumberType(DType dtype) { return IsFloat(dtype) ? DType::kFloat32 : dtype; }

}  // namespace

DType Op::ResultType(std::initializer_list<absl::string_view> names) const {
  Candidates candidates;
  const auto add = [](DType* slot, DType dtype) { *slot = ir::PromoteTypes(*slot, dtype); };
  for (const absl::string_view name : names) {
    const ir::Arg* arg = Find(name);
    if (arg == nullptr || arg->is_none()) continue;
    if (arg->is_value() && arg->value()->type.is_tensor()) {
      const ir::Type& type = arg->value()->type;
      const bool zero_dim = type.shape && type.shape->empty();
      add(zero_dim ? &candidates.zero_dim : &candidates.dimensioned, type.dtype);
    } else if (arg->is_literal()) {
      const bool zero_dim = arg->literal().shape.empty();
      add(zero_dim ? &candidates.zero_dim : &candidates.dimensioned, arg->literal().dtype);
    } else if (arg->is_complex()) {
      add(&candidates.number, DType::kComplex64);
    } else {
      const Item item = Arg(name);
      if (item.is_val()) add(&candidates.number, NumberType(item.val.dtype()));
    }
  }
  return Combine(Combine(candidates.dimensioned, candidates.zero_dim), candidates.number);
}

// ---------------------------------------------------------------- results

void Op::Return(const Vals& results) {
  Return(std::vector<Item>(results.begin(), results.end()));
}

void Op::Return(Item result) {
  std::vector<Item> results;
  results.push_back(std::move(result));
  Return(std::move(results));
}

void Op::Return(std::vector<Item> results) {
  if (!Require(results.size() == num_outputs(), "the lowering gave another number of results")) {
    return;
  }
  for (size_t i = 0; i < results.size(); ++i) {
    lowering.Set(node.outputs[i], Checked(std::move(results[i]), i));
  }
}

Item Op::Checked(Item result, size_t i) {
  const ir::Type& type = OutType(i);
  const bool plain = type.is_tensor() || type.is_number();
  if (failed() || !plain) return result;
  if (result.is_list() || (result.is_val() && result.val.is_sequence())) {
    Fail("the lowering gives a list, PyTorch gives a tensor");
    return {};
  }
  if (!result.is_val()) return result;
  const bool complex = IsComplex(type.TensorDType());
  const DType expected = complex ? ir::RealOf(type.TensorDType()) : type.TensorDType();
  if (expected != DType::kUndefined && !IsQuantized(expected) &&
      result.val.dtype() != expected) {
    Fail(absl::StrCat("the lowering gives ", Name(result.val.dtype()), ", PyTorch gives ",
                      Name(expected)));
    return {};
  }
  const std::optional<Shape> shape = type.is_tensor() ? type.shape : Shape{};
  const int rank = shape ? static_cast<int>(shape->size()) + complex : -1;
  if (rank >= 0 && result.val.rank() >= 0 && result.val.rank() != rank) {
    Fail(absl::StrCat("the lowering gives rank ", result.val.rank(), ", PyTorch gives ", rank));
    return {};
  }
  if (!complex) Lowering::Refine(result.val, type);
  return result;
}

}  // namespace rules_onnx::lowering
