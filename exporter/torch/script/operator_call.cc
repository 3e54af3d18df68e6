#include "exporter/torch/script/operator_call.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>
#include <torch/csrc/jit/api/object.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <algorithm>
#include <functional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/torch/script/interpreter.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
namespace {

using c10::IValue;
using torch::jit::Node;
using torch::jit::Stack;
namespace prim = c10::prim;

// A copy of `value` with every tensor replaced; the value itself where it holds none.
IValue MapTensors(const IValue& value, const std::function<at::Tensor(const at::Tensor&)>& map) {
  if (value.isTensor()) return value.toTensor().defined() ? IValue(map(value.toTensor())) : value;
  if (value.isList()) {
    const auto list = value.toList();
    if (!list.elementType()->isSubtypeOf(*c10::TensorType::get()) &&
        std::none_of(value.toListRef().begin(), value.toListRef().end(), [](const IValue& item) {
          return item.isTensor() || item.isList() || item.isTuple() || item.isGenericDict();
        })) {
      return value;
    }
    c10::impl::GenericList mapped(list.elementType());
    for (const IValue& item : value.toListRef()) mapped.push_back(MapTensors(item, map));
    return mapped;
  }
  if (value.isTuple()) {
    std::vector<IValue> items;
    for (const IValue& item : value.toTupleRef().elements()) items.push_back(MapTensors(item, map));
    return c10::ivalue::Tuple::createNamed(
        std::move(items), value.toTupleRef().type()->expect<c10::TupleType>());
  }
  if (value.isGenericDict()) {
    const auto dict = value.toGenericDict();
    c10::impl::GenericDict mapped(dict.keyType(), dict.valueType());
    for (const auto& entry : dict) mapped.insert(entry.key(), MapTensors(entry.value(), map));
    return mapped;
  }
  return value;
}

bool AnyTensor(const IValue& value, const std::function<bool(const at::Tensor&)>& test) {
  if (value.isTensor()) return value.toTensor().defined() && test(value.toTensor());
  if (!value.isList()) return false;
  return std::any_of(value.toListRef().begin(), value.toListRef().end(),
                     [&](const IValue& item) { return AnyTensor(item, test); });
}

bool IsMeta(const at::Tensor& tensor) { return tensor.is_meta(); }
bool IsReal(const at::Tensor& tensor) { return !tensor.is_meta(); }

bool IsWritten(const Node* node, size_t input) {
  const auto* schema = node->maybeSchema();
  return schema != nullptr && input < schema->arguments().size() &&
         schema->arguments()[input].alias_info() != nullptr &&
         schema->arguments()[input].alias_info()->isWrite();
}

// The argument that return `index` is, for operators that return what they wrote.
std::optional<size_t> ReturnedArgument(const Node* node, size_t index) {
  const auto& schema = node->schema();
  if (index >= schema.returns().size()) return std::nullopt;
  const auto* alias = schema.returns()[index].alias_info();
  if (alias == nullptr || !alias->isWrite()) return std::nullopt;
  for (size_t i = 0; i < schema.arguments().size(); ++i) {
    const auto* argument = schema.arguments()[i].alias_info();
    if (argument != nullptr && argument->beforeSets() == alias->beforeSets()) return i;
  }
  return std::nullopt;
}

// LibTorch divides by 0 then, which ends the process.
bool LeavesRestOfZero(const Node* node, const std::vector<IValue>& inputs) {
  return node->kind() == c10::aten::remainder && inputs[0].isInt() && inputs[1].isInt() &&
         inputs[1].toInt() == 0;
}

std::vector<IValue> Call(const Node* node, const torch::jit::Operation& operation,
                         const std::vector<IValue>& inputs) {
  TORCH_CHECK(!LeavesRestOfZero(node, inputs), "integer modulo by zero");
  Stack stack(inputs.begin(), inputs.end());
  // prim::tolist says that it takes any number of arguments, and takes three.
  if (node->schema().is_vararg() && node->kind() != prim::tolist) {
    stack.emplace_back(static_cast<int64_t>(inputs.size()));
  }
  torch::jit::Operation call = operation;
  call(stack);
  for (const IValue& output : stack) {
    const bool tensor = output.isTensor() && output.toTensor().defined();
    if (tensor && output.toTensor().is_nested()) {
      throw std::runtime_error(
          "gives a nested tensor, for which ONNX has no form; nn.TransformerEncoder makes none with "
          "enable_nested_tensor=False");
    }
  }
  return {stack.begin(), stack.end()};
}

// For operators without a meta kernel whose result's shape does not depend on values.
std::vector<IValue> CallOnZeros(const Node* node, const torch::jit::Operation& operation,
                                const std::vector<IValue>& inputs) {
  std::vector<IValue> real;
  for (const IValue& input : inputs) {
    real.push_back(MapTensors(input, [](const at::Tensor& tensor) {
      return tensor.is_meta() ? at::zeros(tensor.sizes(), tensor.options().device(at::kCPU))
                              : tensor;
    }));
  }
  std::vector<IValue> outputs = Call(node, operation, real);
  for (size_t i = 0; i < outputs.size(); ++i) {
    const auto argument = ReturnedArgument(node, i);
    outputs[i] = argument ? inputs[*argument] : ToMeta(outputs[i]);
  }
  return outputs;
}

// Real tensors and devices that stand beside a meta tensor become meta.
void Unify(const Node* node, std::vector<IValue>* inputs) {
  for (size_t i = 0; i < inputs->size(); ++i) {
    IValue& input = (*inputs)[i];
    if (input.isDevice()) input = IValue(c10::Device(c10::kMeta));
    if (!AnyTensor(input, IsReal)) continue;
    if (IsWritten(node, i)) throw NeedsValues{"writes into a tensor that holds values"};
    input = ToMeta(input);
  }
}

bool ReturnsOnlyTensors(const Node* node) {
  for (const auto* output : node->outputs()) {
    const auto& type = output->type();
    if (!type->isSubtypeOf(*c10::TensorType::get()) &&
        !type->isSubtypeOf(*c10::ListType::ofTensors())) {
      return false;
    }
  }
  return true;
}

IValue Identity(const Node* node, const IValue& input) {
  if (node->kind() == c10::aten::_unwrap_optional) {
    TORCH_CHECK(!input.isNone(), "Unwrapping null optional");
  }
  return input;
}

IValue List(const Node* node, const std::vector<IValue>& inputs) {
  c10::impl::GenericList list(node->output()->type()->expectRef<c10::ListType>().getElementType());
  for (const IValue& input : inputs) list.push_back(input);
  return list;
}

IValue Dict(const Node* node, const std::vector<IValue>& inputs) {
  const auto& type = node->output()->type()->expectRef<c10::DictType>();
  c10::impl::GenericDict dict(type.getKeyType(), type.getValueType());
  for (size_t i = 0; i + 1 < inputs.size(); i += 2) dict.insert_or_assign(inputs[i], inputs[i + 1]);
  return dict;
}

// A tuple without a type asks its items for theirs, and a tensor that is not defined has none.
IValue TupleOf(const Node* node, const std::vector<IValue>& inputs) {
  const auto type = node->output()->type()->cast<c10::TupleType>();
  const bool undefined = std::any_of(inputs.begin(), inputs.end(), [](const IValue& input) {
    return input.isTensor() && !input.toTensor().defined();
  });
  if (type && (type->schema() || undefined)) return c10::ivalue::Tuple::createNamed(inputs, type);
  return c10::ivalue::Tuple::create(inputs);
}

bool IsInstance(const Node* node, const IValue& input) {
  const auto& types = node->tys(c10::attr::types);
  return std::any_of(types.begin(), types.end(), [&](const c10::TypePtr& type) {
    return input.type()->isSubtypeOf(*type);
  });
}

IValue NewObject(const Node* node) {
  const auto type = node->output()->type()->expect<c10::ClassType>();
  return c10::ivalue::Object::create(
      c10::StrongTypePtr(type->compilation_unit(), type), type->numAttributes());
}

// The meta kernel of index_select writes to memory that is not its own for an axis that there is not.
void RequireAxis(const Node* node, const std::vector<IValue>& inputs) {
  if (node->kind() != c10::aten::index_select || !inputs[0].isTensor() || !inputs[1].isInt()) return;
  const int64_t axes = std::max<int64_t>(inputs[0].toTensor().dim(), 1), axis = inputs[1].toInt();
  TORCH_CHECK_INDEX(axis >= -axes && axis < axes, "there is no axis ", axis, " of ", axes);
}

}  // namespace

std::optional<std::vector<IValue>> BuildContainer(const Node* node,
                                                  const std::vector<IValue>& inputs) {
  using Values = std::vector<IValue>;
  switch (node->kind()) {
    case prim::ListConstruct:
      return Values{List(node, inputs)};
    case prim::TupleConstruct:
      return Values{TupleOf(node, inputs)};
    case prim::DictConstruct:
      return Values{Dict(node, inputs)};
    case prim::TupleUnpack:
      return inputs[0].toTupleRef().elements().vec();
    case prim::TupleIndex:
      return Values{inputs[0].toTupleRef().elements().vec().at(
          static_cast<size_t>(inputs[1].toInt() < 0
                                  ? inputs[1].toInt() + static_cast<int64_t>(
                                                            inputs[0].toTupleRef().size())
                                  : inputs[1].toInt()))};
    case prim::TupleSlice: {
      const auto items = inputs[0].toTupleRef().elements().vec();
      return Values{c10::ivalue::Tuple::create(
          Values(items.begin() + node->i(c10::attr::beg), items.begin() + node->i(c10::attr::end)))};
    }
    case prim::ListUnpack: {
      const auto items = inputs[0].toListRef();
      TORCH_CHECK(items.size() == node->outputs().size(), "Expected ", node->outputs().size(),
                  " elements in a list but found ", items.size());
      return items.vec();
    }
    case prim::unchecked_cast:
    case prim::unchecked_unwrap_optional:
    case c10::aten::_unwrap_optional:
      return Values{Identity(node, inputs[0])};
    case prim::isinstance:
      return Values{IsInstance(node, inputs[0])};
    case prim::CreateObject:
      return Values{NewObject(node)};
    case prim::Uninitialized:
    case prim::Enter:  // only torch.no_grad() and its like: no gradients are taken here
    case prim::Exit:
      return Values(node->outputs().size());
    case prim::Print:
    case c10::aten::warn:
      return Values{};
    default:
      return std::nullopt;
  }
}

std::vector<IValue> CallOperator(const Node* node, const torch::jit::Operation& operation,
                                 const std::vector<IValue>& inputs, bool meta) {
  const bool any_meta = meta && std::any_of(inputs.begin(), inputs.end(), [](const IValue& input) {
                          return AnyTensor(input, IsMeta);
                        });
  if (!any_meta) return Call(node, operation, inputs);
  if (DataDependentAxis(node, inputs) || ReadsNumber(node)) {
    throw NeedsValues{absl::StrCat(node->kind().toQualString(), " needs a value")};
  }
  std::vector<IValue> unified = inputs;
  // A list keeps its identity: list operators change it in place.
  const auto* schema = node->maybeSchema();
  const bool on_tensors =
      schema != nullptr &&
      std::any_of(schema->arguments().begin(), schema->arguments().end(), [](const auto& argument) {
        return argument.type()->isSubtypeOf(*c10::OptionalType::ofTensor()) ||
               argument.type()->isSubtypeOf(*c10::ListType::ofTensors()) ||
               argument.type()->isSubtypeOf(*c10::ListType::ofOptionalTensors());
      });
  if (!on_tensors) return Call(node, operation, inputs);
  RequireAxis(node, unified);
  Unify(node, &unified);
  try {
    return Call(node, operation, unified);
  } catch (const c10::NotImplementedError& error) {
    if (!ReturnsOnlyTensors(node)) throw NeedsValues{torch_values::ExceptionText(error)};
    return CallOnZeros(node, operation, unified);
  }
}

IValue ToMeta(const IValue& value) {
  return MapTensors(value, [](const at::Tensor& tensor) {
    if (tensor.is_meta()) return tensor;
    if (tensor.is_quantized()) throw NeedsValues{"quantized tensors have no meta form"};
    return at::empty_strided(tensor.sizes(), tensor.strides(),
                             tensor.options().device(at::kMeta).requires_grad(false));
  });
}

namespace {

// Tensors of `value` (or the tensor) with more rows, repeated from the start, or fewer; negative
// axes count from the end.
IValue Resized(const IValue& value, int64_t axis, int64_t delta) {
  return MapTensors(value, [&](const at::Tensor& tensor) {
    const int64_t at = axis < 0 ? axis + tensor.dim() : axis;
    if (at < 0 || at >= tensor.dim()) return tensor;
    const int64_t size = tensor.size(at), wanted = std::max<int64_t>(size + delta, 0);
    if (size == 0) {
      std::vector<int64_t> sizes = tensor.sizes().vec();
      sizes[static_cast<size_t>(at)] = wanted;
      return at::zeros(sizes, tensor.options());
    }
    const at::Tensor rows = at::arange(wanted, at::kLong).remainder(size);
    return tensor.index_select(at, rows.to(tensor.device()));
  });
}

// Of _pack_padded_sequence: rows, and sequences at each step. Further steps are of one sequence.
void ResizePacking(std::vector<IValue>* packing, int64_t delta) {
  const at::Tensor steps = (*packing)[1].toTensor();
  const int64_t kept = std::max<int64_t>(steps.size(0) + std::min<int64_t>(delta, 0), 1);
  const int64_t added = std::max<int64_t>(delta, 0);
  const at::Tensor resized = at::cat({steps.slice(0, 0, kept), at::ones({added}, steps.options())});
  const int64_t rows = (resized.sum() - steps.sum()).item<int64_t>();
  *packing = {Resized((*packing)[0], 0, rows), resized};
}

}  // namespace

void ResizeResults(const torch::jit::Node* node, int64_t axis, int64_t delta,
                   std::vector<IValue>* results) {
  if (node->kind() == c10::aten::_pack_padded_sequence) return ResizePacking(results, delta);
  for (IValue& result : *results) result = Resized(result, axis, delta);
}

}  // namespace rules_onnx::script
