#include "exporter/verify/cases.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"

namespace rules_onnx::verify {
namespace {

bool Allowed(const ir::SymbolInfo& info, int64_t size) {
  return size != info.example && size >= info.min && (!info.max.has_value() || size <= *info.max);
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

}  // namespace

std::string Label(const Sizes& sizes) {
  if (sizes.empty()) return "example";
  return absl::StrJoin(sizes, " ", absl::PairFormatter("="));
}

std::vector<Case> ChooseCases(const std::map<std::string, ir::SymbolInfo>& symbols) {
  std::vector<Case> cases = {{.name = "example", .choices = {Sizes()}}};
  Case all{.name = "all"};
  int64_t shift = 0;
  for (const auto& [name, info] : symbols) {
    if (info.data_dependent) continue;
    Case one{.name = name};
    for (const int64_t size : OtherSizes(info, 0)) one.choices.push_back({{name, size}});
    if (one.choices.empty()) continue;
    cases.push_back(std::move(one));
    const std::vector<int64_t> sizes = OtherSizes(info, ++shift);
    all.choices.resize(std::max(all.choices.size(), sizes.size()));
    for (size_t i = 0; i < all.choices.size(); ++i) {
      if (!sizes.empty()) all.choices[i][name] = sizes[std::min(i, sizes.size() - 1)];
    }
  }
  if (cases.size() > 2) cases.push_back(std::move(all));
  Case smaller = SmallerSizes(symbols);
  if (!smaller.choices.empty()) cases.push_back(std::move(smaller));
  return cases;
}

}  // namespace rules_onnx::verify
