#include "cache/action.h"

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace rules_onnx::cache {
namespace {

constexpr absl::string_view kFirstLine = "rules_onnx action 1\n";

std::string CheckLine(absl::string_view text) {
  return absl::StrCat("check\t", DigestOf(text).ToHex(), "\n");
}

bool ParseArtifact(absl::string_view fields, Artifact* artifact) {
  const std::vector<absl::string_view> parts = absl::StrSplit(fields, '\t');
  if (parts.size() != 3 || !absl::CUnescape(parts[0], &artifact->name) ||
      !absl::SimpleAtoi(parts[1], &artifact->size)) {
    return false;
  }
  const std::optional<Digest> content = Digest::FromHex(parts[2]);
  if (content) artifact->content = *content;
  return content.has_value();
}

}  // namespace

std::string SerializeAction(const Action& action) {
  std::string record(kFirstLine);
  for (const Artifact& artifact : action.artifacts) {
    absl::StrAppend(&record, "artifact\t", absl::CEscape(artifact.name), "\t", artifact.size, "\t",
                    artifact.content.ToHex(), "\n");
  }
  for (const absl::string_view line : absl::StrSplit(action.key, '\n', absl::SkipEmpty())) {
    absl::StrAppend(&record, "key\t", line, "\n");
  }
  return absl::StrCat(record, CheckLine(record));
}

std::optional<Action> ParseAction(absl::string_view record) {
  const size_t check = record.rfind("check\t");
  if (check == absl::string_view::npos || !absl::StartsWith(record, kFirstLine) ||
      record.substr(check) != CheckLine(record.substr(0, check))) {
    return std::nullopt;
  }
  Action action;
  const absl::string_view body = record.substr(kFirstLine.size(), check - kFirstLine.size());
  for (absl::string_view line : absl::StrSplit(body, '\n', absl::SkipEmpty())) {
    if (absl::ConsumePrefix(&line, "key\t")) {
      absl::StrAppend(&action.key, line, "\n");
    } else if (!absl::ConsumePrefix(&line, "artifact\t") ||
               !ParseArtifact(line, &action.artifacts.emplace_back())) {
      return std::nullopt;
    }
  }
  return action;
}

}  // namespace rules_onnx::cache
