#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/inputs/dynamic_axes.h"
#include "exporter/inputs/read_inputs.h"
#include "exporter/torch/command.h"
#include "exporter/torch/pickle/pickle_file.h"

namespace rules_onnx::torch_command {
namespace {

// Specs are taken in order: one that bears the name of another parameter would be taken for it.
absl::Status CheckOrder(const std::string& name, size_t position,
                        const std::vector<std::string>& parameters) {
  const auto named = std::find(parameters.begin(), parameters.end(), name);
  if (position >= parameters.size() || named == parameters.end() || parameters[position] == name) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "input ", name, " is given in the place of parameter ", parameters[position],
      " of the program; the program's parameters are, in order, ",
      absl::StrJoin(parameters, ", ")));
}

}  // namespace

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
    const bool renamed = leaf < input_names.size() && argument.name == input_names[leaf];
    if (!argument.by_name && !renamed) {
      if (auto status = CheckOrder(argument.name, i, parameters); !status.ok()) return status;
    }
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
