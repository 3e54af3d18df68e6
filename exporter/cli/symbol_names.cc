#include "exporter/cli/symbol_names.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "exporter/cli/given_inputs.h"
#include "exporter/inputs/dynamic_axes.h"
#include "exporter/inputs/input.h"

namespace rules_onnx::cli {
namespace {

using Names = std::map<std::string, std::string>;  // old → new

const ir::Type& TypeOf(const ir::Graph& graph, const std::string& input) {
  for (const ir::Value* param : graph.main.params) {
    if (param->name == input) return param->type;
  }
  return graph.main.params.front()->type;
}

// The first name of a size is kept; the program tells that axes with other names are as long.
void AddName(const std::string& old_name, const std::string& new_name, Names* names,
             diagnostics::Diagnostics* diagnostics) {
  const std::string& name = names->emplace(old_name, new_name).first->second;
  if (name == new_name) return;
  diagnostics->Add({.severity = diagnostics::Severity::kWarning,
                    .id = "equal-axes",
                    .message = absl::StrCat("axes ", name, " and ", new_name,
                                            " have one size in the program; both are named ", name),
                    .hint = "give them one name"});
}

// Two sizes that are one from here on.
void Restrict(const ir::SymbolInfo& other, ir::SymbolInfo* info) {
  if (other.second != info->second) info->second = 0;
  info->min = std::max(info->min, other.min);
  if (other.max.has_value()) info->max = std::min(*other.max, info->max.value_or(*other.max));
}

std::string NewName(const Names& names, const std::string& old_name) {
  const auto renamed = names.find(old_name);
  return renamed == names.end() ? old_name : renamed->second;
}

// The symbols under their new names. One name says that sizes are equal: so must be those of the
// example, within common bounds.
absl::StatusOr<std::map<std::string, ir::SymbolInfo>> RenamedSymbols(const ir::Graph& graph,
                                                                     const Names& names) {
  std::map<std::string, ir::SymbolInfo> symbols;
  for (const auto& [old_name, info] : graph.symbols) {
    const std::string name = NewName(names, old_name);
    const auto [entry, inserted] = symbols.emplace(name, info);
    if (inserted) continue;
    ir::SymbolInfo& joined = entry->second;
    if (names.count(name) == 0 && graph.symbols.count(name) != 0) {
      return absl::InvalidArgumentError(
          absl::StrCat("names of axes: the program uses the name ", name, " for another size"));
    }
    if (joined.example != info.example) {
      return absl::InvalidArgumentError(
          absl::StrCat("names of axes: ", name, " names axes of sizes ", joined.example, " and ",
                       info.example, " in the program; give them two names"));
    }
    Restrict(info, &joined);
    if (joined.max.has_value() && joined.min > *joined.max) {
      return absl::InvalidArgumentError(
          absl::StrCat("names of axes: ", name, " names axes whose sizes cannot be equal in the "
                       "program; give them two names"));
    }
  }
  return symbols;
}

// Replaces whole identifiers in a dim's text.
ir::Dim RenameDim(const ir::Dim& dim, const Names& names) {
  if (dim.is_number() || dim.is_unknown()) return dim;
  const std::string text = dim.ToString();
  std::string renamed;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && (absl::ascii_isalnum(text[end]) || text[end] == '_')) ++end;
    if (end == at) {
      renamed += text[at++];
      continue;
    }
    const std::string word = text.substr(at, end - at);
    renamed += NewName(names, word);
    at = end;
  }
  const absl::StatusOr<ir::Dim> parsed = ir::Dim::Parse(renamed);
  return parsed.ok() ? *parsed : ir::Dim::Unknown();
}

void RenameType(const Names& names, ir::Type* type) {
  if (type->shape.has_value()) {
    for (ir::Dim& dim : *type->shape) dim = RenameDim(dim, names);
  }
  for (ir::Type& element : type->elements) RenameType(names, &element);
}

}  // namespace

absl::Status NameSymbols(const std::vector<std::string>& given, const std::string& json,
                         bool allow_frozen, ir::Graph* graph,
                         diagnostics::Diagnostics* diagnostics) {
  absl::StatusOr<inputs::Inputs> examples = GivenInputs(given, graph, diagnostics);
  if (!examples.ok()) return examples.status();
  if (!json.empty()) {
    const absl::Status status = inputs::ApplyDynamicAxes(json, {}, &*examples);
    if (!status.ok()) return status;
  }
  Names names;
  for (const inputs::Argument& argument : examples->arguments) {
    const ir::Type& type = TypeOf(*graph, argument.name);
    for (size_t axis = 0; axis < argument.value.tensor.axes.size(); ++axis) {
      const std::string& name = argument.value.tensor.axes[axis].symbol;
      if (name.empty()) continue;
      const ir::Dim& dim = (*type.shape)[axis];
      // Sizes that follow from those of other axes are dynamic as they are.
      if (!dim.is_number() && graph->symbols.count(dim.ToString()) == 0) continue;
      if (dim.is_number()) {
        diagnostics->Add({.severity = allow_frozen ? diagnostics::Severity::kWarning
                                                   : diagnostics::Severity::kError,
                          .id = "frozen-size",
                          .message = absl::StrCat("axis ", axis, " of input ", argument.name,
                                                  " is to be dynamic as ", name,
                                                  ", but the program has it as ", dim.ToString()),
                          .hint = "give torch.export.export dynamic_shapes that name the axis"});
        continue;
      }
      AddName(dim.ToString(), name, &names, diagnostics);
    }
  }
  auto symbols = RenamedSymbols(*graph, names);
  if (!symbols.ok()) return symbols.status();
  graph->symbols = *std::move(symbols);
  for (const auto& value : graph->values()) RenameType(names, &value->type);
  return absl::OkStatus();
}

}  // namespace rules_onnx::cli
