#include "exporter/torch/script/frozen_sizes.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "absl/strings/str_cat.h"

namespace rules_onnx::script {
namespace {

bool HoldsNumber(const ir::Arg& arg, int64_t number) {
  if (arg.is_int()) return arg.as_int() == number;
  return arg.is_list() &&
         std::any_of(arg.list().begin(), arg.list().end(),
                     [&](const ir::Arg& item) { return HoldsNumber(item, number); });
}

bool TakesNumberAsSize(const ir::Node& node, int64_t number) {
  static const std::set<std::string> kShapeArguments = {"size", "shape", "end", "length", "sizes"};
  return std::any_of(node.args.begin(), node.args.end(), [&](const ir::NamedArg& arg) {
    return kShapeArguments.count(arg.name) > 0 && HoldsNumber(arg.value, number);
  });
}

// True if a reshape gives an axis of that name the number for its size: reshape(4, -1) of [N, 6].
bool FixesAxis(const ir::Node& node, const std::string& symbol, int64_t number) {
  if (node.args.size() != 2 || !node.args[0].value.is_value()) return false;
  const ir::Arg& self = node.args[0].value;
  const ir::Arg& sizes = node.args[1].value;
  if (!sizes.is_list() || !self.value()->type.shape) return false;
  const ir::Shape& shape = *self.value()->type.shape;
  for (size_t axis = 0; axis < std::min(shape.size(), sizes.list().size()); ++axis) {
    const ir::Arg& size = sizes.list()[axis];
    if (size.is_int() && size.as_int() == number && shape[axis].Equals(ir::Dim::Symbol(symbol))) {
      return true;
    }
  }
  return false;
}

// A symbol at its example size, and at a larger one; the other symbols at theirs.
class Growth {
 public:
  Growth(const std::map<std::string, ir::SymbolInfo>& symbols, const std::string& grows) {
    for (const auto& [name, info] : symbols) at_example_[name] = info.example;
    larger_ = at_example_;
    larger_[grows] = 2 * larger_[grows] + 1;
  }

  // True if the size grows with the symbol, or may: min(N, 4) does not from N = 4 on.
  bool MayMove(const ir::Dim& dim) const {
    const auto before = dim.Evaluate(at_example_), after = dim.Evaluate(larger_);
    return !before || !after || *before != *after;
  }
  bool MayMove(const ir::Value& value) const {
    if (!value.type.is_tensor() || !value.type.shape) return true;
    return std::any_of(value.type.shape->begin(), value.type.shape->end(),
                       [&](const ir::Dim& dim) { return MayMove(dim); });
  }

 private:
  std::map<std::string, int64_t> at_example_, larger_;
};

bool TakesAxis(const ir::Node& node, const Growth& growth) {
  bool takes = false;
  node.ForEachInput([&](ir::Value* value) {
    takes = takes || (value->type.is_tensor() && value->type.shape && growth.MayMove(*value));
  });
  return takes;
}

}  // namespace

std::vector<diagnostics::Diagnostic> FindFrozenSizes(const capture::Program& program) {
  std::vector<diagnostics::Diagnostic> found;
  ir::ForEachNode(program.graph.main, [&](const ir::Node& node) {
    for (const auto& [symbol, info] : program.graph.symbols) {
      if (info.data_dependent || info.example < 2 || !TakesNumberAsSize(node, info.example)) continue;
      const Growth growth(program.graph.symbols, symbol);
      const bool moves =
          std::any_of(node.outputs.begin(), node.outputs.end(),
                      [&](const ir::Value* output) { return growth.MayMove(*output); });
      if (moves ? !FixesAxis(node, symbol, info.example) : !TakesAxis(node, growth)) continue;
      const auto place = program.debug.find(node.id);
      found.push_back(
          {.severity = diagnostics::Severity::kWarning,
           .id = "frozen-size",
           .message = absl::StrCat("the number ", info.example, " stands where axis ", symbol,
                                   " ends, and equals its example size"),
           .op = node.op,
           .scope = node.scope,
           .location = place == program.debug.end()
                           ? ""
                           : absl::StrCat(place->second.file, ":", place->second.line),
           .hint = "if it is meant to follow the input, take it from the input's size "
                   "in the program"});
    }
  });
  return found;
}

}  // namespace rules_onnx::script
