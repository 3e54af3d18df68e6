#include "exporter/torch/script/source.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"

namespace rules_onnx::script {
namespace {

struct Place {
  std::string path;
  int line = 0;
  std::string text;
};

bool IsLibrary(const std::string& path) {
  return absl::StrContains(path, "/torch/") || absl::StrContains(path, "/torch\\");
}

std::string BaseName(const std::string& path) {
  const size_t slash = path.find_last_of("/\\");
  return slash == std::string::npos ? path : path.substr(slash + 1);
}

// A traced node's text is a Python stack, innermost first: lines "path(line): function".
std::vector<Place> ParseStack(const std::string& text) {
  std::vector<Place> places;
  for (const absl::string_view line : absl::StrSplit(text, '\n', absl::SkipEmpty())) {
    const size_t close = line.rfind("): ");
    const size_t open = close == absl::string_view::npos ? close : line.rfind('(', close);
    if (open == absl::string_view::npos) return {};
    Place place;
    place.path = std::string(line.substr(0, open));
    if (!absl::SimpleAtoi(line.substr(open + 1, close - open - 1), &place.line)) return {};
    places.push_back(std::move(place));
  }
  return places;
}

void AppendPlaces(const torch::jit::SourceRange& generated, std::vector<Place>* places) {
  const auto original = generated.findSourceRangeThatGenerated();
  const torch::jit::SourceRange& range = original ? *original : generated;
  const auto& source = range.source();
  if (!source || !source->filename() || source->filename()->empty()) return;
  const std::vector<Place> stack = ParseStack(range.text().str());
  if (!stack.empty()) {
    places->insert(places->end(), stack.begin(), stack.end());
    return;
  }
  const size_t line = source->lineno_for_offset(range.start());
  Place place{*source->filename(), static_cast<int>(source->starting_line_no() + line), ""};
  if (line < source->num_lines()) {
    place.text = std::string(absl::StripAsciiWhitespace(source->get_line(line).str()));
  }
  places->push_back(std::move(place));
}

}  // namespace

std::string ClassName(const std::string& qualified_name) {
  return qualified_name.substr(qualified_name.rfind('.') + 1);
}

std::string ScopeOf(const torch::jit::Node* node, const std::string& root_class) {
  std::string scope = root_class;
  if (!node->callstack()) return scope;
  for (const auto& frame : (*node->callstack())->vec()) {
    const auto& instance = std::get<2>(frame);
    if (!instance || !instance->class_type() || !instance->class_type()->is_module()) continue;
    std::string name = instance->instance_name();
    if (name == "SELF") continue;
    const std::vector<std::string> path = absl::StrSplit(name, '.');
    const auto class_name = instance->class_type()->name();
    absl::StrAppend(&scope, scope.empty() ? "" : "/", class_name ? ClassName(class_name->qualifiedName()) : "", "[",
                    path.back(), "]");
  }
  return scope;
}

ir::SourceLocation LocationOf(const torch::jit::Node* node) {
  std::vector<Place> places;  // innermost first
  AppendPlaces(node->sourceRange(), &places);
  if (node->callstack()) {
    const auto frames = (*node->callstack())->vec();
    for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
      AppendPlaces(std::get<1>(*frame), &places);
    }
  }
  const auto own = std::find_if(places.begin(), places.end(),
                                [](const Place& place) { return !IsLibrary(place.path); });
  if (places.empty()) return {};
  const Place& place = own == places.end() ? places.front() : *own;
  return ir::SourceLocation{BaseName(place.path), place.line, place.text};
}

}  // namespace rules_onnx::script
