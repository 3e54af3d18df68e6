#include "exporter/torch/reference/evaluator.h"

#include <ATen/ATen.h>
#include <c10/core/GradMode.h>
#include <torch/csrc/jit/runtime/operator.h>

#include <cstring>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/files/input_file.h"
#include "exporter/torch/reference/list_operators.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::reference {
namespace {

using c10::IValue;

IValue Scalar(const ir::Arg& arg) {
  if (arg.is_bool()) return arg.as_bool();
  if (arg.is_int()) return arg.as_int();
  if (arg.is_float()) return arg.as_float();
  if (arg.is_complex()) {
    return c10::complex<double>(arg.as_complex().real(), arg.as_complex().imag());
  }
  if (arg.is_string()) return arg.as_string();
  if (arg.is_dtype()) {
    return static_cast<int64_t>(torch_values::ScalarTypeOf(arg.as_dtype()).value_or(at::kFloat));
  }
  if (arg.is_literal()) return torch_values::TensorOf(arg.literal());
  return IValue();
}

c10::TypePtr ElementType(const std::vector<IValue>& items) {
  for (const IValue& item : items) {
    if (!item.isNone()) return item.type();
  }
  return c10::TensorType::get();
}

// Creates a tensor of whatever memory holds. Zeros are as good, and what the lowering takes.
bool IsUninitialized(const std::string& op) {
  return op == "aten::empty" || op == "aten::empty_like" || op == "aten::empty_strided" ||
         op == "aten::empty_permuted" || op == "aten::new_empty" || op == "aten::new_empty_strided";
}

// Of a list of numbers; null for others, whose items tell.
c10::TypePtr ListTypeOf(const ir::Type& type) {
  if (!type.is_list() || type.elements.empty()) return nullptr;
  switch (type.elements.front().kind) {
    case ir::Type::Kind::kInt: return c10::ListType::ofInts();
    case ir::Type::Kind::kFloat: return c10::ListType::ofFloats();
    case ir::Type::Kind::kBool: return c10::ListType::ofBools();
    default: return nullptr;
  }
}

class Run {
 public:
  explicit Run(const Observer& observer) : observer_(observer) {}

  // An input or weight.
  void Give(const ir::Value* value, IValue what) { values_[value] = std::move(what); }

  // A value of `type`, or of the argument's own type where that is null.
  IValue Get(const ir::Arg& arg, const c10::TypePtr& type) const {
    if (arg.is_value()) return AsType(values_.at(arg.value()), type);
    if (!arg.is_list()) return AsType(Scalar(arg), type);
    c10::TypePtr list_type = type;
    if (list_type && list_type->kind() == c10::TypeKind::OptionalType) {
      list_type = list_type->expectRef<c10::OptionalType>().getElementType();
    }
    const auto typed = list_type ? list_type->cast<c10::ListType>() : nullptr;
    std::vector<IValue> items;
    for (const ir::Arg& item : arg.list()) {
      items.push_back(Get(item, typed ? typed->getElementType() : nullptr));
    }
    c10::impl::GenericList list(typed && typed->getElementType()->kind() != c10::TypeKind::VarType
                                    ? typed->getElementType()
                                    : ElementType(items));
    for (IValue& item : items) list.push_back(std::move(item));
    return list;
  }

  std::vector<IValue> RunBlock(const ir::Block& block) {
    for (const auto& node : block.nodes) RunNode(*node);
    std::vector<IValue> results;
    for (const ir::Arg& result : block.results) results.push_back(Get(result, nullptr));
    return results;
  }

 private:
  // Numbers where tensors are wanted, and the other way round: sizes of `.pt2` graphs are both.
  static IValue AsType(const IValue& value, const c10::TypePtr& type) {
    if (type == nullptr) return value;
    const c10::TypeKind kind = type->kind();
    if (value.isTensor() && value.toTensor().defined() && value.toTensor().dim() == 0) {
      if (kind == c10::TypeKind::IntType) return value.toTensor().item().toLong();
      if (kind == c10::TypeKind::FloatType) return value.toTensor().item().toDouble();
      if (kind == c10::TypeKind::BoolType) return value.toTensor().item().toBool();
      if (kind == c10::TypeKind::NumberType) return value.toTensor().item();
    }
    if (kind == c10::TypeKind::TensorType && value.isScalar()) {
      return at::scalar_tensor(value.toScalar(), at::dtype(value.toScalar().type()));
    }
    if (kind == c10::TypeKind::FloatType && value.isInt()) {
      return static_cast<double>(value.toInt());
    }
    return value;
  }

  void Set(const ir::Value* value, IValue what) {
    if (observer_) observer_(place_, *value, what);
    values_[value] = std::move(what);
  }

  std::vector<IValue> RunInner(const ir::Node& node, const ir::Block& block, int64_t iteration,
                               std::vector<IValue> params) {
    place_.push_back({node.id, iteration});
    for (size_t i = 0; i < params.size(); ++i) Set(block.params[i], std::move(params[i]));
    std::vector<IValue> results = RunBlock(block);
    place_.pop_back();
    return results;
  }

  void RunNode(const ir::Node& node) {
    std::vector<IValue> outputs;
    try {
      outputs = Outputs(node);
    } catch (const std::exception& exception) {
      if (!node.blocks.empty()) throw;
      throw std::runtime_error(
          absl::StrCat(node.op, ": ", torch_values::ExceptionText(exception)));
    }
    if (outputs.size() != node.outputs.size()) {
      throw std::runtime_error(absl::StrCat(node.op, ": gives ", outputs.size(),
                                            " results, not ", node.outputs.size()));
    }
    for (size_t i = 0; i < outputs.size(); ++i) Set(node.outputs[i], std::move(outputs[i]));
  }

  std::vector<IValue> Outputs(const ir::Node& node) {
    if (node.op == "prim::If") {
      const bool condition = Get(*node.Find("cond"), c10::BoolType::get()).toBool();
      return RunInner(node, *node.blocks[condition ? 0 : 1], 0, {});
    }
    if (node.op == "prim::Loop") return RunLoop(node);
    if (node.op == "prim::Scan") return RunScan(node);
    if (node.op == "prim::Constant") return {Get(*node.Find("value"), nullptr)};
    if (node.op == "prim::ListConstruct") {
      return {Get(*node.Find("items"), ListTypeOf(node.output()->type))};
    }
    std::vector<IValue> inputs;
    for (const ir::NamedArg& arg : node.args) inputs.push_back(Get(arg.value, nullptr));
    if (auto outputs = RunListOperator(node.op, inputs)) return *std::move(outputs);
    return Dispatch(node);
  }

  std::vector<IValue> RunLoop(const ir::Node& node) {
    const ir::Block& body = *node.blocks[0];
    const int64_t trips = Get(*node.Find("max_trip_count"), c10::IntType::get()).toInt();
    bool condition = Get(*node.Find("cond"), c10::BoolType::get()).toBool();
    std::vector<IValue> carried;
    for (const ir::Arg& arg : node.Find("carried")->list()) carried.push_back(Get(arg, nullptr));
    for (int64_t i = 0; condition && i < trips; ++i) {
      carried.insert(carried.begin(), i);
      const std::vector<IValue> results = RunInner(node, body, i, std::move(carried));
      condition = AsType(results[0], c10::BoolType::get()).toBool();
      carried.assign(results.begin() + 1, results.end());
    }
    return carried;
  }

  std::vector<IValue> RunScan(const ir::Node& node) {
    const ir::Block& body = *node.blocks[0];
    std::vector<IValue> carried;
    for (const ir::Arg& arg : node.Find("init")->list()) carried.push_back(Get(arg, nullptr));
    std::vector<at::Tensor> xs;
    for (const ir::Arg& arg : node.Find("xs")->list()) xs.push_back(Get(arg, nullptr).toTensor());
    const size_t num_carried = carried.size();
    std::vector<std::vector<at::Tensor>> stacked(body.results.size() - num_carried);
    for (int64_t i = 0; i < xs.at(0).size(0); ++i) {
      for (const at::Tensor& x : xs) carried.emplace_back(x.select(0, i));
      std::vector<IValue> results = RunInner(node, body, i, std::move(carried));
      for (size_t y = 0; y < stacked.size(); ++y) {
        stacked[y].push_back(results[num_carried + y].toTensor());
      }
      results.resize(num_carried);
      carried = std::move(results);
    }
    for (const auto& ys : stacked) carried.push_back(at::stack(ys));
    return carried;
  }

  std::vector<IValue> Dispatch(const ir::Node& node) {
    const size_t dot = node.op.find('.');
    const c10::OperatorName name(node.op.substr(0, dot),
                                 dot == std::string::npos ? "" : node.op.substr(dot + 1));
    const auto op = torch::jit::findOperatorFor(name);
    if (op == nullptr) throw std::runtime_error("LibTorch knows no such operator");
    torch::jit::Stack stack;
    for (const c10::Argument& argument : op->schema().arguments()) {
      const ir::Arg* arg = node.Find(argument.name());
      if (arg == nullptr) {
        stack.push_back(argument.default_value().value_or(IValue()));
      } else if (arg->is_none() && argument.default_value()) {
        // Placement arguments are None in the graph, and have defaults.
        stack.push_back(argument.type()->kind() == c10::TypeKind::OptionalType
                            ? IValue()
                            : *argument.default_value());
      } else if (arg->is_none() && argument.type()->kind() == c10::TypeKind::DeviceObjType) {
        // As aten::to.device's, which has no default.
        stack.emplace_back(at::Device(at::kCPU));
      } else {
        stack.push_back(Get(*arg, argument.type()));
      }
    }
    if (op->schema().is_vararg()) {
      const size_t named = stack.size();
      for (size_t i = named; i < node.args.size(); ++i) {
        stack.push_back(Get(node.args[i].value, nullptr));
      }
      // prim::tolist says that it takes any number of arguments, and takes three.
      if (node.op != "prim::tolist") stack.emplace_back(static_cast<int64_t>(stack.size()));
    }
    op->getOperation(nullptr)(stack);
    if (IsUninitialized(name.name)) stack.back().toTensor().zero_();
    return {stack.begin(), stack.end()};
  }

  const Observer& observer_;
  Place place_;
  std::unordered_map<const ir::Value*, IValue> values_;
};

}  // namespace

absl::StatusOr<std::vector<IValue>> ReadWeights(const ir::Graph& graph, const std::string& path) {
  std::vector<IValue> weights;
  const auto file = files::InputFile::Open(path);
  if (!file.ok()) return file.status();
  for (const ir::Weight& weight : graph.weights) {
    const ir::Type& type = weight.value->type;
    std::vector<int64_t> sizes;
    for (const ir::Dim& dim : *type.shape) sizes.push_back(dim.value());
    at::Tensor tensor =
        at::empty(sizes, at::dtype(torch_values::ScalarTypeOf(type.dtype).value_or(at::kFloat)));
    if (tensor.nbytes() != weight.bytes) {
      return absl::InvalidArgumentError(absl::StrCat(path, ": weight ", weight.name, " has ",
                                                     weight.bytes, " bytes, not ",
                                                     tensor.nbytes()));
    }
    const absl::Status status = file->Read(weight.offset, weight.bytes,
                                           static_cast<char*>(tensor.mutable_data_ptr()));
    if (!status.ok()) return status;
    weights.emplace_back(std::move(tensor));
  }
  return weights;
}

absl::StatusOr<std::vector<IValue>> Evaluate(const ir::Graph& graph,
                                             const std::vector<IValue>& inputs,
                                             const std::vector<IValue>& weights,
                                             const Observer& observer) {
  if (inputs.size() != graph.main.params.size()) {
    return absl::InvalidArgumentError(absl::StrCat("the graph takes ", graph.main.params.size(),
                                                   " inputs; ", inputs.size(), " are given"));
  }
  const c10::AutoGradMode no_gradients(false);
  try {
    Run run(observer);
    for (size_t i = 0; i < inputs.size(); ++i) run.Give(graph.main.params[i], inputs[i]);
    for (size_t i = 0; i < weights.size(); ++i) run.Give(graph.weights[i].value, weights[i]);
    return run.RunBlock(graph.main);
  } catch (const std::exception& exception) {
    return absl::InvalidArgumentError(torch_values::ExceptionText(exception));
  }
}

}  // namespace rules_onnx::reference
