#include "exporter/cli/reference_inputs.h"

#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "exporter/diagnostics/json_text.h"
#include "exporter/files/atomic_file.h"
#include "exporter/zip/zip_reader.h"

namespace rules_onnx::cli {

std::string AxesOfInputs(const ir::Graph& graph) {
  std::vector<std::string> entries;
  for (const ir::Value* param : graph.main.params) {
    if (!param->type.is_tensor()) continue;
    std::vector<std::string> axes;
    const ir::Shape shape = param->type.shape.value_or(ir::Shape());
    for (size_t axis = 0; axis < shape.size(); ++axis) {
      const std::string name = shape[axis].ToString();
      if (graph.symbols.count(name) == 0) continue;
      axes.push_back(absl::StrCat("\"", axis, "\": ", diagnostics::JsonText(name)));
    }
    entries.push_back(absl::StrCat("{", absl::StrJoin(axes, ", "), "}"));
  }
  return absl::StrCat("[", absl::StrJoin(entries, ", "), "]");
}

std::string WithoutAxisNames(absl::string_view spec) {
  const size_t open = spec.find('['), close = spec.find(']');
  if (open == absl::string_view::npos || close == absl::string_view::npos || close < open) {
    return std::string(spec);
  }
  std::vector<absl::string_view> sizes;
  for (absl::string_view axis : absl::StrSplit(spec.substr(open + 1, close - open - 1), ',')) {
    const size_t equals = axis.find('=');
    if (equals != absl::string_view::npos) axis.remove_prefix(equals + 1);
    sizes.push_back(axis.substr(0, axis.find('|')));
  }
  return absl::StrCat(spec.substr(0, open + 1), absl::StrJoin(sizes, ","), spec.substr(close));
}

absl::Status ExtractSampleInputs(const std::string& model, const std::string& path) {
  const absl::StatusOr<zip::ZipReader> zip = zip::ZipReader::Open(model);
  if (!zip.ok()) return zip.status();
  for (const zip::Entry& entry : zip->entries()) {
    if (!absl::StrContains(entry.name, "/data/sample_inputs/")) continue;
    const absl::StatusOr<std::string> bytes = zip->Read(entry.name);
    return bytes.ok() ? files::WriteFile(path, *bytes) : bytes.status();
  }
  return absl::InvalidArgumentError(
      absl::StrCat(model, " holds no sample inputs; give it some with --inputs"));
}

}  // namespace rules_onnx::cli
