#include "exporter/cli/ops_table.h"

#include <algorithm>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/diagnostics/json_text.h"
#include "exporter/ir/overloads.h"
#include "exporter/ir/schema.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::cli {
namespace {

using diagnostics::JsonText;

bool OnTensors(const std::string& op) {
  const auto on_tensor = [](const ir::SchemaArg& arg) {
    return absl::StrContains(arg.type, "Tensor");
  };
  const ir::Schema* const schema = ir::FindSchema(op);
  return schema != nullptr &&
         (std::any_of(schema->args.begin(), schema->args.end(), on_tensor) ||
          std::any_of(schema->returns.begin(), schema->returns.end(), on_tensor));
}

// The overloads that the row is in charge of: its own, or those without a row of their own. Of an
// operator on tensors, TorchScript's forms for numbers are left out.
std::vector<std::string> Overloads(const lowering::Row& row) {
  const size_t dot = row.op.find('.');
  if (dot != std::string::npos) return {row.op.substr(dot + 1)};
  std::vector<std::string> overloads, on_tensors;
  for (const std::string& overload : ir::OverloadsOf(row.op)) {
    const std::string op = overload.empty() ? row.op : absl::StrCat(row.op, ".", overload);
    if (lowering::FindRow(op) != &row) continue;
    overloads.push_back(overload);
    if (OnTensors(op)) on_tensors.push_back(overload);
  }
  return on_tensors.empty() ? overloads : on_tensors;
}

std::string BaseName(const lowering::Row& row) { return row.op.substr(0, row.op.find('.')); }

}  // namespace

std::string OpsText() {
  std::string text;
  for (const lowering::Family* family : lowering::Families()) {
    absl::StrAppend(&text, text.empty() ? "" : "\n", family->name, "\n");
    for (const lowering::Row& row : family->rows) {
      const std::string overloads =
          absl::StrJoin(Overloads(row), " ", [](std::string* out, const std::string& name) {
            out->append(name.empty() ? "(default)" : name);
          });
      absl::StrAppend(&text, "  ", BaseName(row), "  opset ", row.since_opset);
      if (overloads != "(default)" && !overloads.empty()) absl::StrAppend(&text, "  ", overloads);
      if (!row.note.empty()) absl::StrAppend(&text, "  (", row.note, ")");
      absl::StrAppend(&text, "\n");
    }
  }
  return text;
}

std::string OpsJson() {
  std::string json = "[";
  for (const lowering::Family* family : lowering::Families()) {
    for (const lowering::Row& row : family->rows) {
      const std::string overloads = absl::StrJoin(
          Overloads(row), ", ",
          [](std::string* out, const std::string& name) { out->append(JsonText(name)); });
      absl::StrAppend(&json, json.size() > 1 ? "," : "", "\n  {\"op\": ", JsonText(BaseName(row)),
                      ", \"overloads\": [", overloads, "], \"family\": ", JsonText(family->name),
                      ", \"since_opset\": ", row.since_opset, ", \"note\": ", JsonText(row.note),
                      "}");
    }
  }
  return json + "\n]\n";
}

}  // namespace rules_onnx::cli
