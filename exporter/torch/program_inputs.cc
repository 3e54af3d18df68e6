#include "exporter/inputs/dynamic_axes.h"
#include "exporter/inputs/read_inputs.h"
#include "exporter/torch/command.h"
#include "exporter/torch/pickle/pickle_file.h"

namespace rules_onnx::torch_command {

absl::StatusOr<inputs::Inputs> ReadProgramInputs(const std::vector<std::string>& items,
                                                 const std::string& dynamic_axes,
                                                 const std::vector<std::string>& input_names,
                                                 const std::vector<std::string>& parameters) {
  auto inputs = inputs::ReadInputs(items, pickle::ReadPickle);
  if (!inputs.ok()) return inputs.status();
  size_t leaf = 0;
  for (size_t i = 0; i < inputs->arguments.size(); ++i) {
    inputs::Argument& argument = inputs->arguments[i];
    const size_t leaves = inputs::Leaves(inputs::Inputs{{argument}}).size();
    const bool plain = !argument.value.is_container() &&
                       argument.value.kind != inputs::Value::Kind::kNone;
    if (!argument.by_name && argument.name.empty() && i < parameters.size()) {
      argument.name = parameters[i];
    }
    if (!argument.by_name && plain && leaf < input_names.size()) {
      argument.name = input_names[leaf];
    }
    if (argument.value.kind != inputs::Value::Kind::kNone) leaf += leaves;
  }
  if (!dynamic_axes.empty()) {
    absl::Status status = inputs::ApplyDynamicAxes(dynamic_axes, {}, &*inputs);
    if (!status.ok()) return status;
  }
  return inputs;
}

}  // namespace rules_onnx::torch_command
