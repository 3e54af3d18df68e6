#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <iostream>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/files/input_file.h"
#include "exporter/ir/serialize.h"
#include "exporter/torch/command.h"
#include "exporter/torch/reference/evaluator.h"
#include "exporter/torch/script/loader.h"
#include "exporter/torch/value_writer.h"
#include "exporter/torch/values/arguments.h"
#include "exporter/torch/values/flatten.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::torch_command {
namespace {

absl::StatusOr<c10::IValue> CallForward(script::ScriptProgram* program,
                                        std::vector<c10::IValue> values) {
  const c10::AutoGradMode no_gradients(false);
  at::manual_seed(0);
  try {
    return program->module.forward(std::move(values));
  } catch (const std::exception& exception) {
    return absl::InvalidArgumentError(absl::StrCat("the program fails on these inputs: ",
                                                   torch_values::ExceptionText(exception)));
  }
}

absl::Status WriteArguments(const std::string& folder,
                            std::vector<torch_values::NamedTensor> tensors) {
  return WriteTensors(folder, "input",
                      SplitQuantized(std::move(tensors), torch_values::Direction::kInput));
}

absl::Status WriteResults(const std::string& folder,
                          std::vector<torch_values::NamedTensor> tensors) {
  return WriteTensors(folder, "output",
                      SplitQuantized(std::move(tensors), torch_values::Direction::kOutput));
}

// The original program.
absl::Status RunScript(const RunFlags& flags) {
  auto module = script::LoadProgram(flags.model);
  if (!module.ok()) return module.status();
  auto program = script::PrepareProgram(*std::move(module), flags.training);
  if (!program.ok()) return program.status();
  auto inputs = ReadProgramInputs(flags.inputs, flags.dynamic_axes, {},
                                  program->parameter_names());
  if (!inputs.ok()) return inputs.status();
  const auto bound = torch_values::BindArguments(program->schema(),
                                                 inputs::WithSizes(*inputs, flags.sizes));
  if (!bound.ok()) return bound.status();
  auto values = torch_values::ToIValues(program->schema(), *bound);
  if (!values.ok()) return values.status();
  // Before the call, as the program may write to its inputs.
  std::vector<torch_values::NamedTensor> given;
  for (size_t i = 0; i < bound->size(); ++i) {
    if (!(*bound)[i].is_default) torch_values::Flatten((*values)[i], (*bound)[i].name, &given);
  }
  const absl::Status inputs_written = WriteArguments(flags.output_dir, std::move(given));
  if (!inputs_written.ok()) return inputs_written;
  const auto output = CallForward(&*program, *std::move(values));
  if (!output.ok()) return output.status();
  std::vector<torch_values::NamedTensor> results;
  torch_values::Flatten(*output, "out", &results);
  return WriteResults(flags.output_dir, std::move(results));
}

c10::IValue ToIValue(const inputs::Value& value) {
  switch (value.kind) {
    case inputs::Value::Kind::kInt:
      return value.integer;
    case inputs::Value::Kind::kFloat:
      return value.number;
    case inputs::Value::Kind::kBool:
      return value.boolean;
    default:
      return torch_values::ToTorch(value.tensor);
  }
}

// The values of a captured graph's parameters; `given` gets their tensors.
absl::StatusOr<std::vector<c10::IValue>> GraphInputs(
    const RunFlags& flags, const ir::Graph& graph, std::vector<torch_values::NamedTensor>* given) {
  std::vector<std::string> names;
  for (const ir::Value* param : graph.main.params) names.push_back(param->name);
  auto inputs = ReadProgramInputs(flags.inputs, flags.dynamic_axes, {}, names);
  if (!inputs.ok()) return inputs.status();
  const inputs::Inputs sized = inputs::WithSizes(*inputs, flags.sizes);
  std::vector<c10::IValue> values;
  for (const inputs::Leaf& leaf : inputs::Leaves(sized)) {
    const auto kind = leaf.value->kind;
    if (kind == inputs::Value::Kind::kNone || kind == inputs::Value::Kind::kString) continue;
    const size_t position = values.size();
    values.push_back(ToIValue(*leaf.value));
    torch_values::Flatten(values.back(), position < names.size() ? names[position] : leaf.path,
                          given);
  }
  return values;
}

// A captured graph, through the reference evaluator.
absl::Status RunGraph(const RunFlags& flags) {
  const auto bytes = files::ReadFile(flags.graph);
  if (!bytes.ok()) return bytes.status();
  const auto graph = ir::ParseGraph(*bytes);
  if (!graph.ok()) return graph.status();
  const auto weights = reference::ReadWeights(*graph, flags.weights);
  if (!weights.ok()) return weights.status();
  std::vector<torch_values::NamedTensor> given;
  const auto values = GraphInputs(flags, *graph, &given);
  if (!values.ok()) return values.status();
  absl::Status status = WriteArguments(flags.output_dir, std::move(given));
  if (!status.ok()) return status;
  auto place = ParsePlace(flags.values_of);
  if (!place.ok()) return place.status();
  ValueWriter writer(*std::move(place), flags.values_dir);
  reference::Observer observer;
  if (!flags.values_dir.empty()) {
    observer = [&](const reference::Place& at, const ir::Value& value, const c10::IValue& what) {
      writer.Write(at, value, what);
    };
  }
  const auto outputs = reference::Evaluate(*graph, *values, *weights, observer);
  if (writer.has_ended_run()) return absl::OkStatus();
  if (!outputs.ok()) return outputs.status();
  if (!writer.status().ok()) return writer.status();
  std::vector<torch_values::NamedTensor> results;
  for (size_t i = 0; i < outputs->size(); ++i) {
    torch_values::Flatten((*outputs)[i], graph->output_names[i], &results);
  }
  return WriteResults(flags.output_dir, std::move(results));
}

}  // namespace

absl::Status RunProgram(const RunFlags& flags) {
  if (absl::Status status = LoadLibraries(flags.torch_libraries); !status.ok()) return status;
  return flags.graph.empty() ? RunScript(flags) : RunGraph(flags);
}

}  // namespace rules_onnx::torch_command
