#include "exporter/verify/cases.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <utility>

#include "absl/strings/str_join.h"

namespace rules_onnx::verify {
namespace {

bool Allowed(const ir::SymbolInfo& info, int64_t size) {
  return size != info.example && size >= info.min && (!info.max.has_value() || size <= *info.max);
}

bool AllAllowed(const std::map<std::string, ir::SymbolInfo>& symbols, const Sizes& sizes) {
  return std::all_of(sizes.begin(), sizes.end(), [&](const auto& size) {
    return Allowed(symbols.at(size.first), size.second);
  });
}

// Other sizes of a symbol in the order of capture's second sizes, `shift` further on.
std::vector<int64_t> OtherSizes(const ir::SymbolInfo& info, int64_t shift) {
  const int64_t n = info.example;
  std::vector<int64_t> sizes;
  if (info.second > 0 && shift == 0) sizes.push_back(info.second);
  for (const int64_t size : {n + 1 + 2 * shift, n + 3 + 2 * shift, 2 * n, n + 32, n - 1, n - 2}) {
    const bool known = std::find(sizes.begin(), sizes.end(), size) != sizes.end();
    if (size > 0 && Allowed(info, size) && !known) sizes.push_back(size);
  }
  return sizes;
}

// At 2, a half, one less; nothing where an axis has no smaller size.
Case SmallerSizes(const std::map<std::string, ir::SymbolInfo>& symbols) {
  Case smaller{.name = "smaller", .choices = std::vector<Sizes>(3), .required = false};
  for (const auto& [name, info] : symbols) {
    if (info.data_dependent || info.example < 3) continue;
    const std::vector<int64_t> sizes = {2, info.example / 2, info.example - 1};
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (Allowed(info, sizes[i])) smaller.choices[i][name] = sizes[i];
    }
  }
  std::erase_if(smaller.choices, [](const Sizes& sizes) { return sizes.empty(); });
  return smaller;
}

// Those that the axes may have, of the sizes at which this one moves together with others.
std::vector<Sizes> CoupledSizes(const std::map<std::string, ir::SymbolInfo>& symbols,
                                const std::string& name) {
  Sizes example;
  for (const auto& [symbol, info] : symbols) {
    if (!info.data_dependent) example[symbol] = info.example;
  }
  std::vector<Sizes> choices =
      inputs::CoupledSizes(example, name, OtherSizes(symbols.at(name), 0));
  std::erase_if(choices, [&](const Sizes& sizes) { return !AllAllowed(symbols, sizes); });
  return choices;
}

// All axes moved, as far as each moves alone.
Case AllSizes(const std::map<std::string, ir::SymbolInfo>& symbols) {
  Case all{.name = "all"};
  int64_t shift = 0;
  for (const auto& [name, info] : symbols) {
    if (info.data_dependent || OtherSizes(info, 0).empty()) continue;
    const std::vector<int64_t> sizes = OtherSizes(info, ++shift);
    all.choices.resize(std::max(all.choices.size(), sizes.size()));
    for (size_t i = 0; i < all.choices.size(); ++i) {
      if (!sizes.empty()) all.choices[i][name] = sizes[std::min(i, sizes.size() - 1)];
    }
  }
  return all;
}

// By what axes moved together in the runs: as far as then, or, divided by the common step, as little
// as they may.
std::set<Sizes> Directions(const std::map<std::string, ir::SymbolInfo>& symbols,
                           const std::vector<Sizes>& found, bool divided) {
  std::set<Sizes> directions;
  for (const Sizes& sizes : found) {
    Sizes direction;
    int64_t step = 0;
    for (const auto& [name, size] : sizes) {
      direction[name] = size - symbols.at(name).example;
      step = std::gcd(step, direction[name]);
    }
    for (auto& [name, amount] : direction) amount /= divided ? step : 1;
    if (!direction.empty()) directions.insert(std::move(direction));
  }
  return directions;
}

// All axes moved, each with those that moved with it; at last by the steps of the runs, for programs
// that take only multiples.
Case AllDirections(const std::map<std::string, ir::SymbolInfo>& symbols,
                   const std::vector<Sizes>& found) {
  Case all{.name = "all"};
  for (const bool divided : {true, false}) {
    for (int64_t times : {3, 1}) {
      Sizes& sizes = all.choices.emplace_back();
      for (const Sizes& direction : Directions(symbols, found, divided)) {
        for (const auto& [name, amount] : direction) {
          sizes.try_emplace(name, symbols.at(name).example).first->second += times * amount;
        }
        times += 2;
      }
    }
  }
  std::erase_if(all.choices, [&](const Sizes& sizes) { return !AllAllowed(symbols, sizes); });
  all.required = !all.choices.empty();
  return all;
}

}  // namespace

std::string Label(const Sizes& sizes) {
  if (sizes.empty()) return "example";
  return absl::StrJoin(sizes, " ", absl::PairFormatter("="));
}

std::vector<Case> ChooseCases(const std::map<std::string, ir::SymbolInfo>& symbols) {
  std::vector<Case> cases = {{.name = "example", .choices = {Sizes()}}};
  for (const auto& [name, info] : symbols) {
    if (info.data_dependent) continue;
    Case one{.name = name};
    for (const int64_t size : OtherSizes(info, 0)) one.choices.push_back({{name, size}});
    if (one.choices.empty()) continue;
    for (Sizes& sizes : CoupledSizes(symbols, name)) one.choices.push_back(std::move(sizes));
    cases.push_back(std::move(one));
  }
  return cases;
}

std::vector<Case> ChooseJointCases(const std::map<std::string, ir::SymbolInfo>& symbols,
                                   const std::vector<Sizes>& found) {
  std::vector<Case> cases;
  const bool coupled = std::any_of(found.begin(), found.end(),
                                   [](const Sizes& sizes) { return sizes.size() > 1; });
  Case all = coupled ? AllDirections(symbols, found) : AllSizes(symbols);
  const size_t moving = static_cast<size_t>(
      std::count_if(found.begin(), found.end(), [](const Sizes& sizes) { return !sizes.empty(); }));
  if (moving > 1) cases.push_back(std::move(all));
  Case smaller = SmallerSizes(symbols);
  if (!smaller.choices.empty()) cases.push_back(std::move(smaller));
  return cases;
}

}  // namespace rules_onnx::verify
