#include "exporter/cli/given_inputs.h"

#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/files/input_file.h"
#include "exporter/inputs/read_inputs.h"
#include "exporter/inputs/spec.h"

namespace rules_onnx::cli {
namespace {

// A tensor's spec and the input that it is for.
struct Spec {
  std::string text;
  inputs::Tensor tensor;
  const ir::Value* input = nullptr;
};

absl::Status Refuse(const std::string& spec, const std::string& reason) {
  return absl::InvalidArgumentError(absl::StrCat("--inputs ", spec, ": ", reason));
}

absl::Status RefuseFor(const Spec& spec) {
  return Refuse(spec.text, absl::StrCat("input ", spec.input->name, " of the program is ",
                                        spec.input->type.ToString()));
}

const ir::Value* FindInput(const ir::Graph& graph, const std::string& name) {
  for (const ir::Value* param : graph.main.params) {
    if (param->name == name) return param;
  }
  return nullptr;
}

std::vector<const ir::Value*> TensorInputs(const ir::Graph& graph) {
  std::vector<const ir::Value*> tensors;
  for (const ir::Value* param : graph.main.params) {
    if (param->type.is_tensor()) tensors.push_back(param);
  }
  return tensors;
}

// Collects the specs of tensors, each for its input.
class Reader {
 public:
  Reader(const ir::Graph& graph, diagnostics::Diagnostics* diagnostics)
      : graph_(graph), tensors_(TensorInputs(graph)), diagnostics_(diagnostics) {}

  absl::Status Read(const std::string& item);
  const std::vector<Spec>& specs() const { return specs_; }

 private:
  absl::Status ReadTensor(Spec spec, const std::string& name);
  absl::Status CheckNumber(const std::string& text, const inputs::Argument& argument);

  const ir::Graph& graph_;
  const std::vector<const ir::Value*> tensors_;
  diagnostics::Diagnostics* diagnostics_;
  std::vector<Spec> specs_;
  std::set<const ir::Value*> seen_;
  bool after_file_ = false;
};

absl::Status Reader::Read(const std::string& item) {
  if (inputs::NamesFile(item)) {
    after_file_ = true;
    return files::InputFile::Open(item).status();
  }
  absl::StatusOr<inputs::Argument> argument = inputs::ParseSpec(item, 0);
  if (!argument.ok()) return argument.status();
  if (argument->value.kind != inputs::Value::Kind::kTensor) return CheckNumber(item, *argument);
  return ReadTensor({item, std::move(argument->value.tensor)}, argument->name);
}

absl::Status Reader::ReadTensor(Spec spec, const std::string& name) {
  if (!name.empty()) {
    spec.input = FindInput(graph_, name);
  } else if (after_file_) {
    return Refuse(spec.text, "after a file, a spec must name its input");
  } else if (specs_.size() < tensors_.size()) {
    spec.input = tensors_[specs_.size()];
  }
  if (spec.input == nullptr) {
    return Refuse(spec.text,
                  absl::StrCat("the program's inputs are ",
                               absl::StrJoin(graph_.main.params, ", ",
                                             [](std::string* out, const ir::Value* param) {
                                               out->append(param->name);
                                             }),
                               name.empty() ? "" : "; --input-names gives them other names"));
  }
  if (!seen_.insert(spec.input).second) {
    return Refuse(spec.text, absl::StrCat("input ", spec.input->name, " is given twice"));
  }
  const ir::Type& type = spec.input->type;
  if (!type.is_tensor() || type.dtype != spec.tensor.dtype ||
      (type.shape.has_value() && type.shape->size() != spec.tensor.axes.size())) {
    return RefuseFor(spec);
  }
  specs_.push_back(std::move(spec));
  return absl::OkStatus();
}

absl::Status Reader::CheckNumber(const std::string& text, const inputs::Argument& argument) {
  const ir::Value* input = argument.name.empty() ? nullptr : FindInput(graph_, argument.name);
  if (input == nullptr) {
    diagnostics_->Add({.severity = diagnostics::Severity::kWarning,
                       .id = "fixed-input",
                       .message = absl::StrCat("--inputs ", text,
                                               " changes nothing: the export fixed this input")});
    return absl::OkStatus();
  }
  const bool number = argument.value.kind == inputs::Value::Kind::kInt;
  return number && input->type.kind == ir::Type::Kind::kInt ? absl::OkStatus()
                                                            : RefuseFor({text, {}, input});
}

// The sizes of the specs' axes as example sizes of the symbols that stand there.
absl::Status BindSymbols(const std::vector<Spec>& specs, ir::Graph* graph) {
  for (const Spec& spec : specs) {
    if (!spec.input->type.shape.has_value()) continue;
    for (size_t i = 0; i < spec.tensor.axes.size(); ++i) {
      const auto found = graph->symbols.find((*spec.input->type.shape)[i].ToString());
      if (found == graph->symbols.end()) continue;
      const inputs::Axis& axis = spec.tensor.axes[i];
      ir::SymbolInfo& info = found->second;
      // As torch.export, whose bound 2 means that 0 and 1 were not tried.
      const int64_t min = info.min > 2 ? info.min : 0;
      if (axis.size < min || axis.size > info.max.value_or(axis.size)) {
        return Refuse(spec.text,
                      absl::StrCat("axis ", i, " of input ", spec.input->name,
                                   " of the program must be ", info.min, " or more",
                                   info.max ? absl::StrCat(", ", *info.max, " or less") : ""));
      }
      info.example = axis.size;
      if (axis.second.has_value()) info.second = *axis.second;
    }
  }
  return absl::OkStatus();
}

inputs::Inputs ExampleInputs(const ir::Graph& graph) {
  std::map<std::string, int64_t> bindings;
  for (const auto& [name, info] : graph.symbols) bindings[name] = info.example;
  inputs::Inputs result;
  for (const ir::Value* param : TensorInputs(graph)) {
    if (!param->type.shape.has_value()) continue;
    inputs::Argument argument;
    argument.name = param->name;
    argument.value.kind = inputs::Value::Kind::kTensor;
    argument.value.tensor.dtype = param->type.dtype;
    for (const ir::Dim& dim : *param->type.shape) {
      inputs::Axis axis;
      axis.size = dim.Evaluate(bindings).value_or(0);
      argument.value.tensor.axes.push_back(std::move(axis));
    }
    result.arguments.push_back(std::move(argument));
  }
  return result;
}

// Names the axes of the example that `spec` is for; its sizes must be those of the spec.
absl::Status NameAxes(const Spec& spec, inputs::Tensor* example) {
  for (size_t i = 0; i < example->axes.size(); ++i) {
    if ((*spec.input->type.shape)[i].is_unknown()) continue;
    if (example->axes[i].size != spec.tensor.axes[i].size) return RefuseFor(spec);
    example->axes[i].symbol = spec.tensor.axes[i].symbol;
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<inputs::Inputs> GivenInputs(const std::vector<std::string>& items, ir::Graph* graph,
                                           diagnostics::Diagnostics* diagnostics) {
  Reader reader(*graph, diagnostics);
  for (const std::string& item : items) {
    if (auto status = reader.Read(item); !status.ok()) return status;
  }
  if (auto status = BindSymbols(reader.specs(), graph); !status.ok()) return status;
  inputs::Inputs examples = ExampleInputs(*graph);
  for (const Spec& spec : reader.specs()) {
    for (inputs::Argument& argument : examples.arguments) {
      if (argument.name != spec.input->name) continue;
      const absl::Status status = NameAxes(spec, &argument.value.tensor);
      if (!status.ok()) return status;
    }
  }
  const absl::Status status = inputs::CollectSymbols(examples).status();
  if (!status.ok()) return status;
  return examples;
}

std::vector<std::string> SpecsInOrder(const std::vector<std::string>& items,
                                      const ir::Graph& graph) {
  std::map<std::string, std::vector<std::string>> specs;
  for (const std::string& item : items) {
    const absl::StatusOr<inputs::Argument> argument = inputs::ParseSpec(item, 0);
    if (inputs::NamesFile(item) || !argument.ok()) return items;
    specs[argument->name].push_back(item);
  }
  std::vector<std::string> ordered;
  for (const ir::Value* param : graph.main.params) {
    for (const std::string& item : specs[param->name]) ordered.push_back(item);
  }
  return ordered.size() == items.size() ? ordered : items;
}

}  // namespace rules_onnx::cli
