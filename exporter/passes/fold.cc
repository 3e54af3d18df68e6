#include "exporter/passes/fold.h"

#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "absl/strings/string_view.h"
#include "exporter/ir/dtype.h"
#include "exporter/passes/alias_classes.h"
#include "exporter/passes/rewrite.h"
#include "exporter/passes/scalar_ops.h"

namespace rules_onnx::passes {
namespace {

using Result = std::optional<ir::Arg>;
using Kind = ir::Type::Kind;

// The type of the first argument if it is a tensor value.
const ir::Type* SelfTensor(const ir::Node& node) {
  if (node.args.empty() || !node.args[0].value.is_value()) return nullptr;
  const ir::Type& type = node.args[0].value.value()->type;
  return type.is_tensor() ? &type : nullptr;
}

const ir::Shape* SelfShape(const ir::Node& node) {
  const ir::Type* type = SelfTensor(node);
  return type != nullptr && type->shape ? &*type->shape : nullptr;
}

Result DimValue(const ir::Shape& shape, int64_t axis) {
  const int64_t rank = static_cast<int64_t>(shape.size());
  if (axis < 0) axis += rank;
  if (axis < 0 || axis >= rank || !shape[axis].is_number()) return std::nullopt;
  return ir::Arg(shape[axis].value());
}

Result SizeOfAxis(const ir::Node& node) {
  const ir::Shape* shape = SelfShape(node);
  if (shape == nullptr || node.args.size() < 2 || !node.args[1].value.is_int()) {
    return std::nullopt;
  }
  return DimValue(*shape, node.args[1].value.as_int());
}

Result AllSizes(const ir::Node& node) {
  const ir::Shape* shape = SelfShape(node);
  if (shape == nullptr) return std::nullopt;
  ir::Arg::List sizes;
  for (const ir::Dim& dim : *shape) {
    if (!dim.is_number()) return std::nullopt;
    sizes.emplace_back(dim.value());
  }
  return ir::Arg(std::move(sizes));
}

Result Size(const ir::Node& node) {
  return node.args.size() == 1 ? AllSizes(node) : SizeOfAxis(node);
}

Result Length(const ir::Node& node) {
  if (node.args[0].value.is_string()) {
    return ir::Arg(static_cast<int64_t>(node.args[0].value.as_string().size()));
  }
  const ir::Shape* shape = SelfShape(node);
  return shape == nullptr || shape->empty() ? std::nullopt : DimValue(*shape, 0);
}

Result Rank(const ir::Node& node) {
  const ir::Shape* shape = SelfShape(node);
  return shape == nullptr ? std::nullopt
                          : Result(ir::Arg(static_cast<int64_t>(shape->size())));
}

Result NumElements(const ir::Node& node) {
  const ir::Shape* shape = SelfShape(node);
  if (shape == nullptr) return std::nullopt;
  const ir::Dim elements = ir::NumElements(*shape);
  return elements.is_number() ? Result(ir::Arg(elements.value())) : std::nullopt;
}

Result DTypeOf(const ir::Node& node) {
  const ir::Type* type = SelfTensor(node);
  if (type == nullptr || type->dtype == ir::DType::kUndefined) return std::nullopt;
  return ir::Arg(type->dtype);
}

template <bool (*property)(ir::DType)>
Result HasDType(const ir::Node& node) {
  const Result dtype = DTypeOf(node);
  return dtype ? Result(ir::Arg(property(dtype->as_dtype()))) : std::nullopt;
}

bool IsSigned(ir::DType dtype) {
  return !ir::IsUnsigned(dtype) && dtype != ir::DType::kBool;
}

Result ItemSize(const ir::Node& node) {
  const Result dtype = DTypeOf(node);
  if (!dtype) return std::nullopt;
  return ir::Arg(static_cast<int64_t>(ir::ElementSize(dtype->as_dtype())));
}

Result True(const ir::Node&) { return ir::Arg(true); }
Result False(const ir::Node&) { return ir::Arg(false); }

// Devices mean nothing to ONNX: all are None, and equal.
Result Nothing(const ir::Node&) { return ir::Arg(); }

bool IsNoneAlways(const ir::Arg& arg) {
  return arg.is_none() || (arg.is_value() && arg.value()->type.kind == Kind::kNone);
}

bool IsNoneNever(const ir::Arg& arg) {
  if (!arg.is_value()) return !arg.is_none();
  const Kind kind = arg.value()->type.kind;
  return kind != Kind::kNone && kind != Kind::kOptional && kind != Kind::kUnknown;
}

Result Is(const ir::Node& node) {
  const ir::Arg& a = node.args[0].value;
  const ir::Arg& b = node.args[1].value;
  if (IsNoneAlways(a) && IsNoneAlways(b)) return ir::Arg(true);
  if ((IsNoneAlways(a) && IsNoneNever(b)) || (IsNoneNever(a) && IsNoneAlways(b))) {
    return ir::Arg(false);
  }
  if (a.is_bool() && b.is_bool()) return ir::Arg(a.as_bool() == b.as_bool());
  return std::nullopt;
}

Result IsNot(const ir::Node& node) {
  const Result is = Is(node);
  return is ? Result(ir::Arg(!is->as_bool())) : std::nullopt;
}

// A number read out of a constant tensor of one element.
Result LiteralItem(const ir::Node& node) {
  if (node.args.empty() || !node.args[0].value.is_literal()) return std::nullopt;
  const ir::TensorLiteral& literal = node.args[0].value.literal();
  if (literal.bytes.size() != ir::ElementSize(literal.dtype)) return std::nullopt;
  const auto read = [&](auto zero) {
    auto value = zero;
    __builtin_memcpy(&value, literal.bytes.data(), sizeof(value));
    return value;
  };
  switch (literal.dtype) {
    case ir::DType::kInt64: return ir::Arg(read(int64_t{}));
    case ir::DType::kInt32: return ir::Arg(int64_t{read(int32_t{})});
    case ir::DType::kInt16: return ir::Arg(int64_t{read(int16_t{})});
    case ir::DType::kInt8: return ir::Arg(int64_t{read(int8_t{})});
    case ir::DType::kUInt8: return ir::Arg(int64_t{read(uint8_t{})});
    case ir::DType::kBool: return ir::Arg(read(uint8_t{}) != 0);
    case ir::DType::kFloat32: return ir::Arg(double{read(float{})});
    case ir::DType::kFloat64: return ir::Arg(read(double{}));
    default: return std::nullopt;
  }
}

// `aten::Int.Tensor`, `aten::item` and their like: also casts.
Result ItemAsKind(const ir::Node& node) {
  const Result item = LiteralItem(node);
  if (!item) return std::nullopt;
  switch (node.output()->type.kind) {
    case Kind::kInt:
      if (item->is_float()) return std::nullopt;
      return ir::Arg(item->is_bool() ? int64_t{item->as_bool()} : item->as_int());
    case Kind::kFloat:
      if (item->is_float()) return item;
      return ir::Arg(static_cast<double>(item->is_bool() ? item->as_bool() : item->as_int()));
    case Kind::kBool:
      if (item->is_bool()) return item;
      return ir::Arg(item->is_float() ? item->as_float() != 0 : item->as_int() != 0);
    default: return std::nullopt;
  }
}

using Rule = Result (*)(const ir::Node&);

const std::map<std::string, Rule>& Rules() {
  static const auto* const kRules = new std::map<std::string, Rule>{
      {"aten::size", Size},
      {"aten::size.int", SizeOfAxis},
      {"aten::sym_size.int", SizeOfAxis},
      {"aten::sym_size", AllSizes},
      {"aten::len.Tensor", Length},
      {"aten::len.str", Length},
      {"aten::dim", Rank},
      {"aten::numel", NumElements},
      {"aten::sym_numel", NumElements},
      {"prim::dtype", DTypeOf},
      {"prim::itemsize", ItemSize},
      {"aten::element_size", ItemSize},
      {"aten::is_floating_point", HasDType<ir::IsFloat>},
      {"aten::is_complex", HasDType<ir::IsComplex>},
      {"aten::is_signed", HasDType<IsSigned>},
      {"prim::is_quantized", HasDType<ir::IsQuantized>},
      {"prim::is_cuda", False},
      {"prim::is_cpu", True},
      {"prim::is_ipu", False},
      {"prim::is_maia", False},
      {"prim::is_meta", False},
      {"prim::is_mkldnn", False},
      {"prim::is_mps", False},
      {"prim::is_mtia", False},
      {"prim::is_nested", False},
      {"prim::is_sparse", False},
      {"prim::is_sparse_csr", False},
      {"prim::is_vulkan", False},
      {"prim::is_xla", False},
      {"prim::is_xpu", False},
      {"prim::requires_grad", False},
      {"aten::is_grad_enabled", False},
      {"aten::is_autocast_enabled", False},
      {"aten::is_autocast_cpu_enabled", False},
      {"aten::is_scripting", True},
      {"prim::device", Nothing},
      {"prim::layout", Nothing},
      {"aten::eq.device", True},
      {"aten::ne.device", False},
      {"aten::__is__", Is},
      {"aten::__isnot__", IsNot},
      {"aten::Int.Tensor", ItemAsKind},
      {"aten::Float.Tensor", ItemAsKind},
      {"aten::Bool.Tensor", ItemAsKind},
      {"aten::IntImplicit", ItemAsKind},
      {"aten::FloatImplicit", ItemAsKind},
      {"aten::ScalarImplicit", ItemAsKind},
      {"aten::item", ItemAsKind},
      {"aten::_local_scalar_dense", ItemAsKind},
  };
  return *kRules;
}

bool ReadsNumber(const ir::Node& node) {
  const auto rule = Rules().find(node.op);
  return rule != Rules().end() && rule->second == ItemAsKind;
}

Result FoldNode(const ir::Node& node) {
  if (node.outputs.size() != 1) return std::nullopt;
  const auto rule = Rules().find(node.op);
  if (rule != Rules().end()) {
    if (Result result = rule->second(node)) return result;
  }
  return EvaluateScalarOp(node);
}

}  // namespace

bool Fold(Context* context) {
  const AliasClasses classes(*context->graph, context->schemas);
  std::unordered_map<const ir::Value*, ir::Arg> literals;  // of prim::Constant
  return RewriteGraph(context, [&](ir::Node* node, Emitter*, Replacements* replacements) {
    if (node->op == "prim::Constant" && !classes.IsWritten(node->output())) {
      literals[node->output()] = *node->Find("value");
    }
    if (ReadsNumber(*node) && node->args[0].value.is_value()) {
      const auto literal = literals.find(node->args[0].value.value());
      if (literal != literals.end()) node->args[0].value = literal->second;
    }
    Result result = FoldNode(*node);
    if (!result) return Action::kKeep;
    replacements->Set(node->output(), *std::move(result));
    return Action::kDrop;
  });
}

}  // namespace rules_onnx::passes
