#include "exporter/diagnostics/diagnostics.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/diagnostics/json_text.h"

namespace rules_onnx::diagnostics {
namespace {

absl::string_view SeverityName(Severity severity) {
  return severity == Severity::kError ? "error" : "warning";
}

// ANSI escape sequences; all empty without colour.
struct Style {
  absl::string_view error, warning, hint, bold, reset;
};
constexpr Style kPlain = {"", "", "", "", ""};
constexpr Style kColour = {"\x1b[1;31m", "\x1b[1;35m", "\x1b[36m", "\x1b[1m", "\x1b[0m"};

// " (3×, first at alexnet.py:12, in AlexNet/Linear[fc])"; empty if nothing is known.
std::string PlaceText(const Diagnostic& diagnostic) {
  std::vector<std::string> parts;
  const bool repeated = diagnostic.count > 1;
  if (repeated) parts.push_back(absl::StrCat(diagnostic.count, "×"));
  if (!diagnostic.location.empty()) {
    parts.push_back(absl::StrCat(repeated ? "first at " : "at ", diagnostic.location));
  }
  if (!diagnostic.scope.empty()) parts.push_back(absl::StrCat("in ", diagnostic.scope));
  return parts.empty() ? "" : absl::StrCat(" (", absl::StrJoin(parts, ", "), ")");
}

void AppendText(const Diagnostic& diagnostic, const Style& style, std::string* text) {
  const bool is_error = diagnostic.severity == Severity::kError;
  absl::StrAppend(text, is_error ? style.error : style.warning, SeverityName(diagnostic.severity),
                  ":", style.reset, " ");
  if (!diagnostic.op.empty()) absl::StrAppend(text, style.bold, diagnostic.op, style.reset, ": ");
  absl::StrAppend(text, diagnostic.message, PlaceText(diagnostic), "\n");
  if (!diagnostic.hint.empty()) {
    absl::StrAppend(text, "  ", style.hint, "hint:", style.reset, " ", diagnostic.hint, "\n");
  }
}

void AppendJson(const Diagnostic& diagnostic, std::string* text) {
  const std::pair<absl::string_view, absl::string_view> fields[] = {
      {"severity", SeverityName(diagnostic.severity)},
      {"id", diagnostic.id},
      {"message", diagnostic.message},
      {"op", diagnostic.op},
      {"scope", diagnostic.scope},
      {"location", diagnostic.location},
      {"hint", diagnostic.hint},
  };
  absl::StrAppend(text, "{");
  for (const auto& [name, value] : fields) {
    absl::StrAppend(text, JsonText(name), ": ", JsonText(value), ", ");
  }
  absl::StrAppend(text, "\"count\": ", diagnostic.count, "}");
}

}  // namespace

void Diagnostics::Add(Diagnostic diagnostic) {
  const auto same = std::find_if(all_.begin(), all_.end(), [&](const Diagnostic& other) {
    return other.severity == diagnostic.severity && other.id == diagnostic.id &&
           other.op == diagnostic.op && other.message == diagnostic.message;
  });
  if (same == all_.end()) {
    all_.push_back(std::move(diagnostic));
  } else {
    same->count += diagnostic.count;
  }
}

void Diagnostics::AddStatus(const absl::Status& status) {
  if (status.ok()) return;
  Add({.severity = Severity::kError, .id = "failed", .message = std::string(status.message())});
}

bool Diagnostics::has_errors() const {
  return std::any_of(all_.begin(), all_.end(), [](const Diagnostic& diagnostic) {
    return diagnostic.severity == Severity::kError;
  });
}

std::string Diagnostics::ToText(bool colour) const {
  std::string text;
  for (const Severity severity : {Severity::kWarning, Severity::kError}) {
    for (const Diagnostic& diagnostic : all_) {
      if (diagnostic.severity != severity) continue;
      AppendText(diagnostic, colour ? kColour : kPlain, &text);
    }
  }
  return text;
}

std::string Diagnostics::ToJson() const {
  std::string text = "{\"diagnostics\": [";
  const char* separator = "\n  ";
  for (const Diagnostic& diagnostic : all_) {
    absl::StrAppend(&text, separator);
    AppendJson(diagnostic, &text);
    separator = ",\n  ";
  }
  absl::StrAppend(&text, all_.empty() ? "" : "\n", "]}\n");
  return text;
}

}  // namespace rules_onnx::diagnostics
