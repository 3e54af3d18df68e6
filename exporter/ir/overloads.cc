#include "exporter/ir/overloads.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "exporter/ir/aten_schemas.h"

namespace rules_onnx::ir {

std::vector<std::string> OverloadsOf(absl::string_view base_op) {
  std::vector<std::string> overloads;
  for (size_t i = 0; i < kNumBuiltinSchemas; ++i) {
    const absl::string_view text = kBuiltinSchemas[i];
    if (!absl::StartsWith(text, base_op) || absl::StrContains(text, "!)")) continue;
    const absl::string_view rest = text.substr(base_op.size());
    if (rest[0] == '(') overloads.push_back("");
    if (rest[0] == '.') overloads.emplace_back(rest.substr(1, rest.find('(') - 1));
  }
  std::sort(overloads.begin(), overloads.end());
  return overloads;
}

}  // namespace rules_onnx::ir
