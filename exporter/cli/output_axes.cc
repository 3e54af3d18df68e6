#include "exporter/cli/output_axes.h"

#include <simdjson.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "exporter/diagnostics/json_text.h"

namespace rules_onnx::cli {

std::string WithoutOutputAxes(const std::string& json, const std::vector<std::string>& outputs) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(json).get_object().get(object) != simdjson::SUCCESS) return json;
  std::string kept;
  bool dropped = false;
  for (const auto field : object) {
    const std::string key(field.key);
    if (std::find(outputs.begin(), outputs.end(), key) != outputs.end()) {
      dropped = true;
      continue;
    }
    absl::StrAppend(&kept, kept.empty() ? "" : ", ", diagnostics::JsonText(key), ": ",
                    simdjson::minify(field.value));
  }
  if (!dropped) return json;
  return kept.empty() ? "" : absl::StrCat("{", kept, "}");
}

}  // namespace rules_onnx::cli
