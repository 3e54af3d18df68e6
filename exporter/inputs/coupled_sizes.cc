#include "exporter/inputs/coupled_sizes.h"

#include <utility>

namespace rules_onnx::inputs {

std::vector<int64_t> LargerSizes(int64_t n) { return {n + 1, n + 3, 2 * n, n + 32}; }

std::vector<Sizes> CoupledSizes(const Sizes& example, const std::string& symbol,
                                const std::vector<int64_t>& candidates) {
  const int64_t n = example.at(symbol);
  std::vector<Sizes> choices;
  for (const int64_t size : candidates) {
    Sizes equal;
    for (const auto& [other, known] : example) {
      if (known == n) equal[other] = size;
    }
    if (size != n && equal.size() > 1) choices.push_back(std::move(equal));
  }
  for (const int64_t amount : {1, 3}) {
    for (const auto& [other, known] : example) {
      if (other != symbol) choices.push_back({{symbol, n + amount}, {other, known + amount}});
    }
  }
  for (const auto& [other, known] : example) {
    if (other != symbol && n > 0) choices.push_back({{symbol, 2 * n}, {other, 2 * known}});
  }
  return choices;
}

}  // namespace rules_onnx::inputs
