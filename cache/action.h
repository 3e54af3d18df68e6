// The record of an action: what it was and what it gave.
//
//   record   = "rules_onnx action 1" LF { artifact } { key } check
//   artifact = "artifact" TAB name TAB size TAB digest LF      name escaped as in C
//   key      = "key" TAB line                                  of Key::Text, with its LF
//   check    = "check" TAB digest LF                           of all before it
#ifndef RULES_ONNX_CACHE_ACTION_H_
#define RULES_ONNX_CACHE_ACTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "cache/digest.h"

namespace rules_onnx::cache {

struct Artifact {
  std::string name;  // what the action calls it: "graph", "data/fc.weight"
  uint64_t size = 0;
  Digest content;
};

struct Action {
  std::vector<Artifact> artifacts;
  std::string key;  // Key::Text
};

std::string SerializeAction(const Action& action);
// nullopt for a damaged record.
std::optional<Action> ParseAction(absl::string_view record);

}  // namespace rules_onnx::cache

#endif  // RULES_ONNX_CACHE_ACTION_H_
