#include "exporter/inputs/dynamic_axes.h"

#include <simdjson.h>

#include <algorithm>
#include <map>
#include <optional>
#include <string>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/inputs/spec.h"

namespace rules_onnx::inputs {
namespace {

using simdjson::dom::element;

absl::string_view View(std::string_view text) {
  return absl::string_view(text.data(), text.size());
}

absl::Status Error(absl::string_view message) {
  return absl::InvalidArgumentError(absl::StrCat("dynamic_axes: ", message));
}

bool IsNumber(absl::string_view text) {
  uint64_t number;
  return absl::SimpleAtoi(text, &number);
}

// A tensor and its name in this option.
struct Target {
  std::string path;
  Tensor* tensor = nullptr;
};

class Applier {
 public:
  Applier(const std::vector<std::string>& outputs, Inputs* inputs) : outputs_(outputs) {
    const std::vector<Leaf> leaves = TensorLeaves(*inputs);
    const std::vector<Tensor*> tensors = MutableTensors(inputs);
    for (size_t i = 0; i < leaves.size(); ++i) {
      const std::string& path = leaves[i].path;
      // A number in this option counts tensors; a path that is one counts arguments.
      targets_.push_back({IsNumber(path) ? absl::StrCat(i) : path, tensors[i]});
    }
  }

  absl::Status Apply(const element& root) {
    if (root.is_object()) return ApplyObject(root.get_object());
    if (root.is_array()) return ApplyList(root.get_array());
    return Error("neither an object nor a list");
  }

 private:
  absl::Status ApplyObject(const simdjson::dom::object& object) {
    for (const auto field : object) {
      const std::string name(field.key);
      const Target* target = FindTarget(name);
      if (target == nullptr) {
        if (std::find(outputs_.begin(), outputs_.end(), name) != outputs_.end()) continue;
        return Error(absl::StrCat("there is no input '", name, "'; ", KnownInputs()));
      }
      const absl::Status status = ApplyEntry(field.value, *target);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  absl::Status ApplyList(const simdjson::dom::array& list) {
    if (list.size() > targets_.size()) {
      return Error(absl::StrCat("the list has ", list.size(), " entries; ", KnownInputs()));
    }
    size_t position = 0;
    for (const element entry : list) {
      const absl::Status status = ApplyEntry(entry, targets_[position++]);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  const Target* FindTarget(absl::string_view name) const {
    uint64_t position;
    if (absl::SimpleAtoi(name, &position)) {
      return position < targets_.size() ? &targets_[position] : nullptr;
    }
    for (const Target& target : targets_) {
      if (target.path == name) return &target;
    }
    return nullptr;
  }

  std::string KnownInputs() const {
    if (targets_.empty()) return "no input is a tensor";
    return absl::StrCat("the tensors are ",
                        absl::StrJoin(targets_, ", ", [](std::string* out, const Target& target) {
                          absl::StrAppend(out, target.path);
                        }));
  }

  absl::Status ApplyEntry(const element& entry, const Target& target) {
    if (entry.is_null()) return absl::OkStatus();
    if (entry.is_object()) {
      for (const auto field : entry.get_object()) {
        std::string_view symbol;
        if (field.value.get(symbol) != simdjson::SUCCESS) return BadEntry(target);
        const absl::Status status = NameAxis(View(field.key), View(symbol), target);
        if (!status.ok()) return status;
      }
      return absl::OkStatus();
    }
    if (!entry.is_array()) return BadEntry(target);
    for (const element item : entry.get_array()) {
      std::string_view text;
      if (item.get(text) != simdjson::SUCCESS) return BadEntry(target);
      const size_t colon = text.find(':');
      if (colon == std::string_view::npos) return BadEntry(target);
      const absl::Status status =
          NameAxis(View(text.substr(0, colon)), View(text.substr(colon + 1)), target);
      if (!status.ok()) return status;
    }
    return absl::OkStatus();
  }

  static absl::Status BadEntry(const Target& target) {
    return Error(absl::StrCat("the entry for input ", target.path,
                              R"( must be like {"0": "N"}, ["0:N"] or null)"));
  }

  absl::Status NameAxis(absl::string_view number, absl::string_view name, const Target& target) {
    std::vector<Axis>& axes = target.tensor->axes;
    const int64_t rank = axes.size();
    int64_t axis;
    if (!absl::SimpleAtoi(number, &axis)) {
      return Error(absl::StrCat("'", number, "' is no axis of input ", target.path));
    }
    if (axis < -rank || axis >= rank) {
      return Error(absl::StrCat("input ", target.path, " has ", rank, " axes and no axis ", axis));
    }
    if (name.empty()) {
      return Error(absl::StrCat("axis ", axis, " of input ", target.path, " has an empty name"));
    }
    const std::string symbol = AsSymbolName(name);
    const auto [known, is_new] = names_.try_emplace(symbol, name);
    if (!is_new && known->second != name) {
      return Error(absl::StrCat("the axes '", known->second, "' and '", name, "' would both be ",
                                symbol, ": name one of them otherwise"));
    }
    Axis& named = axes[axis < 0 ? axis + rank : axis];
    if (!named.symbol.empty() && named.symbol != symbol) {
      return Error(absl::StrCat("axis ", axis, " of input ", target.path, " is named both ",
                                named.symbol, " and ", symbol));
    }
    named.symbol = symbol;
    return absl::OkStatus();
  }

  const std::vector<std::string>& outputs_;
  std::vector<Target> targets_;
  std::map<std::string, std::string> names_;  // symbol → the name it stands for
};

}  // namespace

absl::Status ApplyDynamicAxes(absl::string_view json, const std::vector<std::string>& outputs,
                              Inputs* inputs) {
  simdjson::dom::parser parser;
  element root;
  const simdjson::error_code error =
      parser.parse(simdjson::padded_string(json.data(), json.size())).get(root);
  if (error != simdjson::SUCCESS) {
    constexpr size_t kShown = 100;
    return Error(absl::StrCat("'", json.substr(0, kShown), json.size() > kShown ? "…" : "",
                              "' is not JSON: ", simdjson::error_message(error)));
  }
  const absl::Status status = Applier(outputs, inputs).Apply(root);
  if (!status.ok()) return status;
  return CollectSymbols(*inputs).status();
}

}  // namespace rules_onnx::inputs
