#include "exporter/pt2/symbols.h"

#include <algorithm>
#include <cctype>
#include <limits>
#include <optional>
#include <set>

namespace rules_onnx::pt2 {
namespace {

using Examples = std::map<std::string, int64_t>;

void CollectSymbols(const ir::Type& type, std::set<std::string>* symbols) {
  if (type.shape) {
    for (const ir::Dim& dim : *type.shape) dim.CollectSymbols(symbols);
  }
  for (const ir::Type& element : type.elements) CollectSymbols(element, symbols);
}

bool IsDataDependent(const std::string& symbol) {
  return symbol.size() > 1 && symbol[0] == 'u' &&
         std::all_of(symbol.begin() + 1, symbol.end(),
                     [](unsigned char c) { return std::isdigit(c) != 0; });
}

// The value of the one symbol without an example that makes a linear dim equal `hint`.
std::optional<int64_t> Solve(const ir::Dim& dim, const std::string& symbol, int64_t hint,
                             Examples examples) {
  const auto at = [&](int64_t value) {
    examples[symbol] = value;
    return dim.Evaluate(examples);
  };
  const auto constant = at(0);
  const auto at_one = at(1);
  if (!constant || !at_one || *constant == *at_one) return std::nullopt;
  const int64_t value = (hint - *constant) / (*at_one - *constant);
  const auto check = at(value);
  return check && *check == hint ? std::optional(value) : std::nullopt;
}

Examples FindExamples(const std::vector<std::pair<ir::Dim, int64_t>>& hints) {
  Examples examples;
  for (bool found = true; found;) {
    found = false;
    for (const auto& [dim, hint] : hints) {
      std::set<std::string> symbols;
      dim.CollectSymbols(&symbols);
      std::erase_if(symbols, [&](const std::string& symbol) { return examples.contains(symbol); });
      if (symbols.size() != 1) continue;
      if (const auto value = Solve(dim, *symbols.begin(), hint, examples)) {
        examples[*symbols.begin()] = *value;
        found = true;
      }
    }
  }
  return examples;
}

}  // namespace

void DescribeSymbols(const std::map<std::string, RangeConstraint>& ranges,
                     const std::vector<std::pair<ir::Dim, int64_t>>& hints, ir::Graph* graph) {
  // torch writes the largest 64-bit sizes for "no bound".
  constexpr int64_t kUnbounded = std::numeric_limits<int64_t>::max() - 1;
  const Examples examples = FindExamples(hints);
  std::set<std::string> symbols;
  for (const auto& value : graph->values()) CollectSymbols(value->type, &symbols);
  for (const std::string& symbol : symbols) {
    ir::SymbolInfo& info = graph->symbols[symbol];
    info.data_dependent = IsDataDependent(symbol);
    if (const auto it = examples.find(symbol); it != examples.end()) info.example = it->second;
    const auto it = ranges.find(symbol);
    if (it == ranges.end()) continue;
    info.min = std::max<int64_t>(it->second.min.value_or(0), 0);
    if (it->second.max && *it->second.max < kUnbounded) info.max = it->second.max;
  }
}

}  // namespace rules_onnx::pt2
