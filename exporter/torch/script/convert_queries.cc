// Questions about types and static sizes, members of enums and arithmetic on constants, which are
// answered at conversion.
#include <ATen/ATen.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/torch/script/converter.h"
#include "exporter/torch/script/enums.h"
#include "exporter/torch/script/operator_call.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
namespace {

namespace prim = c10::prim;

// Exact on every machine for 0-d tensors.
bool IsExactOnScalars(const std::string& op) {
  static const std::set<std::string> kOps = {
      "aten::add", "aten::sub", "aten::mul", "aten::div", "aten::floor_divide", "aten::remainder",
      "aten::neg", "aten::Int", "aten::Float", "aten::Bool", "aten::item", "aten::ScalarImplicit",
      "aten::IntImplicit", "aten::FloatImplicit", "aten::eq", "aten::ne", "aten::lt", "aten::le",
      "aten::gt", "aten::ge", "aten::sqrt", "aten::floor", "aten::ceil", "prim::NumToTensor",
      "aten::tensor", "aten::scalar_tensor", "aten::to", "aten::clone", "aten::rsub",
      "aten::logical_and", "aten::logical_or", "aten::logical_not", "aten::minimum",
      "aten::maximum", "aten::floor_divide", "aten::trunc", "aten::contiguous"};
  return kOps.count(op) > 0;
}

}  // namespace

ir::Arg Converter::SizeOf(const JitNode* origin, const ItemRef& tensor, int64_t axis) {
  const ir::Type type = TypeOfItem(*tensor);
  const ir::Dim& dim = (*type.shape)[static_cast<size_t>(axis)];
  if (dim.is_number()) return dim.value();
  return EmitScalar(origin, "aten::size.int", {{"self", ToArg(*tensor)}, {"dim", axis}},
                    ir::Type::Kind::kInt);
}

ItemRef Converter::Negated(const JitNode* origin, const ItemRef& truth) {
  if (truth->is_constant()) return Leaf(!truth->content.leaf.as_bool());
  ir::Value* negated =
      EmitScalar(origin, "aten::__not__", {{"self", ToArg(*truth)}}, ir::Type::Kind::kBool);
  negations_[negated] = truth->value();
  return Leaf(negated);
}

std::optional<bool> Converter::Agrees(const ItemRef& a, const ItemRef& b) const {
  if (a->is_constant() && b->is_constant() && ConstantBool(a) && ConstantBool(b)) {
    return ConstantBool(a) == ConstantBool(b);
  }
  if (!a->is_value() || !b->is_value()) return std::nullopt;
  if (a->value() == b->value()) return true;
  for (const auto& [one, other] : {std::pair(a->value(), b->value()), {b->value(), a->value()}}) {
    const auto known = negations_.find(one);
    if (known != negations_.end() && known->second == other) return false;
  }
  return std::nullopt;
}

// The truth value that a node gave in all runs that reached it.
std::optional<bool> Converter::SeenTruth(const JitNode* node) const {
  std::optional<int64_t> answer;
  for (const Observed& seen : typing_.Seen(node->output(), contexts_)) {
    if (seen.kind == ir::Type::Kind::kUnknown) continue;  // not reached
    if (!seen.number || (answer && *answer != *seen.number)) return std::nullopt;
    answer = seen.number;
  }
  return answer ? std::optional<bool>(*answer != 0) : std::nullopt;
}

// Whether the run decides which tensor this is: a branch or loop gives it, or what it may be of.
bool Converter::MayBeGiven(const JitValue* value) {
  if (At(value)->given) return true;
  const c10::FunctionSchema* schema = value->node()->maybeSchema();
  if (schema == nullptr || schema->returns().size() != 1 || value->node()->inputs().empty()) {
    return false;
  }
  const bool alias = schema->returns()[0].alias_info() != nullptr ||
                     absl::StrContains(schema->name(), "dropout");  // its input, in evaluation
  return alias && MayBeGiven(value->node()->input(0));
}

// Whether two values are one object. An operator may give its input back: as all runs say.
ItemRef Converter::Identity(const JitNode* node) {
  const ItemRef &a = At(node->input(0)), &b = At(node->input(1));
  const bool is = node->kind() == c10::Symbol::fromQualString("aten::__is__");
  if (a == b || (a->is_value() && b->is_value() && a->value() == b->value())) {
    return Leaf(is);
  }
  const auto fail = [&] { Fail(node, "asks whether two values are one, which only the run tells"); };
  // Lists that nothing changes may be copies.
  for (size_t i = 0; i < 2; ++i) {
    const ItemRef& item = At(node->input(i));
    if (!item->is_value() || !item->value()->type.is_tensor()) fail();
    if (MayBeGiven(node->input(i))) fail();
  }
  const auto seen = SeenTruth(node);
  if (!seen) fail();
  return Leaf(*seen);
}

// Questions whose answers the types hold.
bool Converter::ConvertQuery(const JitNode* node) {
  const std::string op = node->kind().toQualString();
  if (op == "aten::__is__" || op == "aten::__isnot__") {
    const ItemRef &a = At(node->input(0)), &b = At(node->input(1));
    if ((a->is_optional() && b->is_none()) || (b->is_optional() && a->is_none())) {
      const ItemRef there = (a->is_optional() ? a : b)->content.items[0];
      Define(node->output(), op == "aten::__isnot__" ? there : Negated(node, there));
      return true;
    }
    const auto maybe = [](const Item& item) {
      const ir::Type::Kind kind = TypeOfItem(item).kind;
      return item.is_value() && (kind == ir::Type::Kind::kOptional || kind == ir::Type::Kind::kUnknown);
    };
    if (maybe(*a) || maybe(*b)) return false;
    if (a->is_constant() && b->is_constant() && !a->is_none() && !b->is_none()) return false;
    const bool both = a->is_none() && b->is_none(), neither = !a->is_none() && !b->is_none();
    Define(node->output(), neither ? Identity(node) : Leaf(both == (op == "aten::__is__")));
    return true;
  }
  if (op == "aten::Int" && node->input(0)->type()->kind() == c10::TypeKind::TensorType &&
      At(node->input(0))->is_value()) {
    const auto number = numbers_.find(At(node->input(0))->value());
    if (number != numbers_.end() &&
        TypeOfItem(*number->second).kind == ir::Type::Kind::kInt) {
      Define(node->output(), number->second);
      return true;
    }
  }
  if (op == "prim::device") {
    Define(node->output(), Leaf(ir::Arg()));
    return true;
  }
  if (op == "aten::str" && node->input(0)->type()->kind() == c10::TypeKind::DeviceObjType) {
    Define(node->output(), Leaf(std::string("cpu")));
    return true;
  }
  if (op == "prim::type" && node->output()->type()->kind() == c10::TypeKind::StringType) {
    Define(node->output(), Leaf(std::string("cpu")));  // of a device
    return true;
  }
  static const std::set<std::string> kFalse = {
      "prim::is_cuda", "prim::is_sparse", "prim::is_mkldnn", "prim::is_vulkan", "prim::is_ipu",
      "prim::is_mps", "prim::is_xla", "prim::is_sparse_csr",
      "prim::is_nested", "prim::is_ort", "prim::is_hpu", "prim::is_xpu", "prim::requires_grad",
      "aten::is_grad_enabled", "aten::is_autocast_enabled", "aten::is_autocast_cpu_enabled",
      "aten::is_scripting", "aten::is_inference", "aten::is_conj", "aten::is_neg"};
  static const std::set<std::string> kOnTensor = {
      "aten::size", "aten::dim", "aten::len", "aten::is_floating_point", "aten::is_complex",
      "prim::dtype", "prim::layout", "aten::numel", "aten::get_device", "prim::shape",
      "prim::ndim", "aten::is_contiguous", "prim::is_quantized"};
  if (kFalse.count(op)) {
    Define(node->output(), Leaf(false));
    return true;
  }
  if (!kOnTensor.count(op) || node->inputs().empty()) return false;
  const ItemRef tensor = At(node->input(0));
  const ir::Type type = TypeOfItem(*tensor);
  if (!type.is_tensor()) return false;
  const bool dtype_known = type.dtype != ir::DType::kUndefined;
  std::optional<ir::Arg> answer;
  if (op == "prim::layout") answer = static_cast<int64_t>(at::kStrided);
  if (op == "aten::is_floating_point" && dtype_known) answer = ir::IsFloat(type.dtype);
  if (op == "prim::is_quantized" && dtype_known) answer = ir::IsQuantized(type.dtype);
  if (op == "aten::is_complex" && dtype_known) answer = ir::IsComplex(type.dtype);
  if (op == "prim::dtype" && dtype_known) {
    const auto scalar_type = torch_values::ScalarTypeOf(type.dtype);
    if (scalar_type) answer = static_cast<int64_t>(*scalar_type);
  }
  if (type.shape) {
    const auto rank = static_cast<int64_t>(type.shape->size());
    if (op == "aten::dim" || op == "prim::ndim") answer = rank;
    if (op == "aten::len" && rank > 0) answer = SizeOf(node, tensor, 0);
    if (op == "aten::numel" && ir::NumElements(*type.shape).is_number()) {
      answer = ir::NumElements(*type.shape).value();
    }
    const bool sizes = op == "aten::size" || op == "prim::shape";
    if (sizes && node->inputs().size() > 1) {
      const auto index = IntOf(At(node->input(1)));
      const auto axis = index ? Position(*index, static_cast<size_t>(rank)) : std::nullopt;
      if (index && !axis) {
        Fail(node, absl::StrCat("asks for axis ", *index, " of a tensor of rank ", rank));
      }
      if (axis) answer = SizeOf(node, tensor, static_cast<int64_t>(*axis));
    } else if (sizes) {
      std::vector<ItemRef> all;
      for (int64_t axis = 0; axis < rank; ++axis) all.push_back(Leaf(SizeOf(node, tensor, axis)));
      Define(node->output(), ListOf(std::move(all)));
      return true;
    }
  }
  if (!answer) return false;
  Define(node->output(), Leaf(*answer));
  return true;
}

std::optional<c10::IValue> Converter::ToIValue(const ItemRef& item,
                                               const c10::TypePtr& type) const {
  if (item->is_leaf()) {
    const ir::Arg& leaf = item->content.leaf;
    if (leaf.is_none()) return c10::IValue();
    if (leaf.is_bool()) return c10::IValue(leaf.as_bool());
    const c10::EnumTypePtr members = leaf.is_int() ? EnumOf(type) : nullptr;
    if (members) return MemberAt(members, leaf.as_int());
    if (leaf.is_int()) return c10::IValue(leaf.as_int());
    if (leaf.is_float()) return c10::IValue(leaf.as_float());
    if (leaf.is_string()) return c10::IValue(leaf.as_string());
    if (leaf.is_literal()) {
      if (!leaf.literal().shape.empty()) return std::nullopt;
      return c10::IValue(torch_values::TensorOf(leaf.literal()));
    }
    return std::nullopt;
  }
  std::vector<c10::IValue> parts;
  const auto list_type = type->cast<c10::ListType>();
  const auto tuple_type = type->cast<c10::TupleType>();
  for (size_t i = 0; i < item->content.items.size(); ++i) {
    const c10::TypePtr part_type =
        list_type ? list_type->getElementType()
                  : (tuple_type && i < tuple_type->elements().size()
                         ? tuple_type->elements()[i]
                         : c10::TypePtr(c10::AnyType::get()));
    const auto part = ToIValue(item->content.items[i], part_type);
    if (!part || part->isTensor()) return std::nullopt;
    parts.push_back(*part);
  }
  if (item->kind() == Item::Kind::kTuple) return c10::ivalue::Tuple::create(std::move(parts));
  if (!list_type) return std::nullopt;
  c10::impl::GenericList list(list_type->getElementType());
  for (c10::IValue& part : parts) list.push_back(std::move(part));
  return c10::IValue(list);
}

// Members of enums that the run decides. Those that are known are left to FoldConstants.
bool Converter::ConvertEnum(const JitNode* node) {
  const c10::EnumTypePtr type = node->inputs().empty() ? nullptr : EnumOf(node->input(0)->type());
  if (type == nullptr || node->outputs().size() != 1) return false;
  const std::string op = node->kind().toQualString();
  const ItemRef& member = At(node->input(0));
  if (member->is_none() || member->is_optional()) return false;
  if (node->kind() == prim::EnumValue || node->kind() == prim::EnumName) {
    if (member->is_constant()) return false;
    const auto part = [&](const c10::EnumNameValue& each) {
      return node->kind() == prim::EnumName ? Leaf(each.first) : FromIValue(each.second);
    };
    const auto members = type->enumNamesValues();
    ItemRef found = part(members.back());
    for (size_t i = members.size() - 1; i-- > 0;) {
      ir::Value* equal = EmitScalar(node, "aten::eq.int",
                                    {{"a", ToArg(*member)}, {"b", static_cast<int64_t>(i)}},
                                    ir::Type::Kind::kBool);
      found = Select(node, Leaf(equal), part(members[i]), found);
    }
    Define(node->output(), found);
    return true;
  }
  const bool same = op == "aten::eq" || op == "aten::__is__",
             differ = op == "aten::ne" || op == "aten::__isnot__";
  if (!same && !differ) return false;
  const ItemRef& other = At(node->input(1));
  if (other->is_none() || other->is_optional()) return false;
  if (member->is_constant() && other->is_constant()) {
    Define(node->output(), Leaf(SameContent(*member, *other) == same));
    return true;
  }
  Define(node->output(), Leaf(EmitScalar(node, same ? "aten::eq.int" : "aten::ne.int",
                                         {{"a", ToArg(*member)}, {"b", ToArg(*other)}},
                                         ir::Type::Kind::kBool)));
  return true;
}

bool Converter::FoldConstants(const JitNode* node) {
  const torch::jit::Operator* op = node->maybeOperator();
  if (op == nullptr || node->outputs().empty() || node->inputs().empty()) return false;
  if (node->schema().is_mutable() || node->hasSideEffects() || node->isNondeterministic()) {
    return false;
  }
  std::vector<c10::IValue> inputs;
  bool tensors = false;
  for (const JitValue* input : node->inputs()) {
    const ItemRef& item = At(input);
    if (!AllConstant(*item)) return false;
    // A device is kept as None: what it is asked for cannot be computed here.
    if (item->is_none() && input->type()->kind() == c10::TypeKind::DeviceObjType) return false;
    auto value = ToIValue(item, input->type());
    if (!value) return false;
    tensors = tensors || value->isTensor();
    inputs.push_back(*std::move(value));
  }
  for (const JitValue* output : node->outputs()) {
    tensors = tensors || output->type()->isSubtypeOf(*c10::TensorType::get());
  }
  if (tensors && !IsExactOnScalars(node->kind().toQualString())) return false;
  std::vector<c10::IValue> outputs;
  try {
    outputs = CallOperator(node, op->getOperation(node), inputs, /*meta=*/false);
  } catch (const std::exception& exception) {
    Fail(node, absl::StrCat("fails: ", torch_values::ExceptionText(exception)));
  }
  for (const c10::IValue& output : outputs) {
    if (output.isTensor() && output.toTensor().dim() != 0) return false;
    if (output.isList() && !output.toListRef().empty() && output.toListRef()[0].isTensor()) {
      return false;
    }
  }
  for (size_t i = 0; i < outputs.size(); ++i) Define(node->outputs()[i], FromIValue(outputs[i]));
  return true;
}

}  // namespace rules_onnx::script
