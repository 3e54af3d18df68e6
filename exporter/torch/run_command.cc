#include <ATen/ATen.h>
#include <c10/core/GradMode.h>

#include <iostream>

#include "absl/strings/str_cat.h"
#include "exporter/inputs/tensor_pb.h"
#include "exporter/torch/command.h"
#include "exporter/torch/script/loader.h"
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

absl::Status WriteAll(const std::string& folder, const std::string& kind,
                      const std::vector<torch_values::NamedTensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const absl::Status status =
        inputs::WriteTensorPb(absl::StrCat(folder, "/", kind, "_", i, ".pb"), tensors[i].name,
                              torch_values::ToInput(tensors[i].tensor));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status RunProgram(const RunFlags& flags) {
  if (!flags.graph.empty()) {
    return absl::UnimplementedError(
        "run takes a .pt program; a captured graph cannot be run by this command");
  }
  auto module = script::LoadProgram(flags.model);
  if (!module.ok()) return module.status();
  auto program = script::PrepareProgram(*std::move(module), flags.training);
  if (!program.ok()) return program.status();
  std::vector<std::string> parameters;
  for (const auto& argument : program->schema().arguments()) {
    if (argument.name() != "self") parameters.push_back(argument.name());
  }
  auto inputs = ReadProgramInputs(flags.inputs, flags.dynamic_axes, {}, parameters);
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
  const absl::Status inputs_written = WriteAll(flags.output_dir, "input", given);
  if (!inputs_written.ok()) return inputs_written;
  const auto output = CallForward(&*program, *std::move(values));
  if (!output.ok()) return output.status();
  std::vector<torch_values::NamedTensor> results;
  torch_values::Flatten(*output, "out", &results);
  return WriteAll(flags.output_dir, "output", results);
}

}  // namespace rules_onnx::torch_command
