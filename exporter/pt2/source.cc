#include "exporter/pt2/source.h"

#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"

namespace rules_onnx::pt2 {
namespace {

absl::string_view After(absl::string_view text, char separator) {
  const size_t at = text.rfind(separator);
  return at == absl::string_view::npos ? text : text.substr(at + 1);
}

// Calls of one module after the first are marked: "conv@1".
absl::string_view WithoutCallNumber(absl::string_view path) {
  return path.substr(0, path.find('@'));
}

// Code that torch generates and its export machinery: of no use to a reader.
bool IsGenerated(absl::string_view path) {
  return absl::StartsWith(path, "<") || absl::StrContains(path, "torch/fx/") ||
         absl::StrContains(path, "torch/_");
}

bool IsInsideTorch(absl::string_view path) {
  return absl::StrContains(path, "-packages/torch/") || absl::StartsWith(path, "torch/");
}

struct Frame {
  absl::string_view path;
  ir::SourceLocation location;
};

std::optional<Frame> ParseFrame(absl::string_view line) {
  constexpr absl::string_view kLine = "\", line ";
  if (!absl::ConsumePrefix(&line, "File \"")) return std::nullopt;
  const size_t quote = line.find(kLine);
  if (quote == absl::string_view::npos) return std::nullopt;
  const absl::string_view number = line.substr(quote + kLine.size());
  Frame frame;
  frame.path = line.substr(0, quote);
  if (!absl::SimpleAtoi(number.substr(0, number.find(',')), &frame.location.line)) {
    return std::nullopt;
  }
  frame.location.file = std::string(After(After(frame.path, '/'), '\\'));
  return frame;
}

std::vector<Frame> ParseFrames(absl::string_view trace) {
  std::vector<Frame> frames;
  bool in_frame = false;
  for (const absl::string_view line : absl::StrSplit(trace, '\n')) {
    const absl::string_view text = absl::StripAsciiWhitespace(line);
    if (auto frame = ParseFrame(text)) {
      frames.push_back(*std::move(frame));
      in_frame = true;
    } else if (in_frame) {
      frames.back().location.text = std::string(text);
      in_frame = false;
    }
  }
  return frames;
}

}  // namespace

std::string ParseModuleStack(absl::string_view stack) {
  std::string scope;
  absl::string_view parent;
  for (const absl::string_view entry : absl::StrSplit(stack, ';', absl::SkipEmpty())) {
    const std::vector<absl::string_view> parts = absl::StrSplit(entry, absl::MaxSplits(',', 2));
    if (parts.size() != 3 || absl::StartsWith(parts[0], "_empty_nn_module_stack")) continue;
    const absl::string_view path = WithoutCallNumber(parts[1]);
    const absl::string_view type = After(parts[2], '.');
    if (path.empty()) {
      if (scope.empty()) scope = std::string(type);
      continue;
    }
    if (path == parent) continue;
    absl::string_view name = path;
    absl::ConsumePrefix(&name, absl::StrCat(parent, "."));
    absl::StrAppend(&scope, scope.empty() ? "" : "/", type, "[", name, "]");
    parent = path;
  }
  return scope;
}

std::optional<ir::SourceLocation> ParseStackTrace(absl::string_view trace) {
  std::optional<ir::SourceLocation> inside_torch;
  const std::vector<Frame> frames = ParseFrames(trace);
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    if (IsGenerated(frame->path)) continue;
    if (!IsInsideTorch(frame->path)) return frame->location;
    if (!inside_torch) inside_torch = frame->location;
  }
  return inside_torch;
}

}  // namespace rules_onnx::pt2
