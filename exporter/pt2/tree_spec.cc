#include "exporter/pt2/tree_spec.h"

#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/json/json.h"

namespace rules_onnx::pt2 {
namespace {

using json::Json;
using json::JsonDocument;

struct Tree {
  bool is_leaf = false;
  std::vector<std::string> keys;
  std::vector<Tree> children;
};

std::vector<std::string> Strings(const Json& list) {
  std::vector<std::string> strings;
  list.ForEachItem([&](const Json& item) { strings.push_back(item.String()); });
  return strings;
}

// The keys that a context holds: ["a", "b"] of a dict, [["a", "b"], …] of a dataclass. Contexts
// of other registered types hold anything, so that one which is not of these forms has no keys.
std::vector<std::string> KeysOfContext(const std::string& context) {
  const auto document = JsonDocument::Parse("context", context);
  if (!document.ok()) return {};
  const Json& root = document->root();
  std::vector<std::string> keys = Strings(root);
  if (document->status().ok()) return keys;

  const auto nested = JsonDocument::Parse("context", context);
  std::vector<std::vector<std::string>> lists;
  nested->root().ForEachItem([&](const Json& item) { lists.push_back(Strings(item)); });
  if (!nested->status().ok() || lists.empty()) return {};
  return lists.front();
}

std::vector<std::string> ChildKeys(const Json& node, const NamedTupleFields& fields) {
  const Json context = node.Optional("context");
  if (context.is_null()) return {};
  const std::string text = context.String();
  const auto it = fields.find(text);
  return it != fields.end() ? it->second : KeysOfContext(text);
}

Tree ParseNode(const Json& node, const NamedTupleFields& fields) {
  Tree tree;
  tree.is_leaf = node.Field("type").is_null();
  node.Field("children_spec").ForEachItem([&](const Json& child) {
    tree.children.push_back(ParseNode(child, fields));
  });
  tree.keys = ChildKeys(node, fields);
  if (tree.keys.size() != tree.children.size()) {  // called by position
    tree.keys.clear();
    for (size_t i = 0; i < tree.children.size(); ++i) tree.keys.push_back(absl::StrCat(i));
  }
  return tree;
}

absl::StatusOr<Tree> ParseTree(absl::string_view spec, const NamedTupleFields& fields) {
  auto document = JsonDocument::Parse("tree spec", spec);
  if (!document.ok()) return document.status();
  std::optional<Tree> tree;
  int index = 0;
  document->root().ForEachItem([&](const Json& item) {
    if (index++ == 1) tree = ParseNode(item, fields);
  });
  if (!document->status().ok()) return document->status();
  if (!tree) return absl::InvalidArgumentError("tree spec: has no tree");
  return *std::move(tree);
}

void AppendLeaves(const Tree& tree, const std::string& path, std::vector<std::string>* names) {
  if (tree.is_leaf) {
    names->push_back(path);
    return;
  }
  for (size_t i = 0; i < tree.children.size(); ++i) {
    const std::string child = path.empty() ? tree.keys[i] : absl::StrCat(path, ".", tree.keys[i]);
    AppendLeaves(tree.children[i], child, names);
  }
}

}  // namespace

absl::StatusOr<std::vector<std::string>> InputNames(absl::string_view in_spec,
                                                    const std::vector<std::string>& argument_names,
                                                    const NamedTupleFields& fields) {
  auto call = ParseTree(in_spec, fields);
  if (!call.ok()) return call.status();
  if (call->children.size() != 2) {
    return absl::InvalidArgumentError("tree spec: the inputs are not a pair (args, kwargs)");
  }
  Tree& args = call->children[0];
  for (size_t i = 0; i < args.keys.size(); ++i) {
    args.keys[i] = i < argument_names.size() ? argument_names[i] : absl::StrCat("input.", i);
  }
  std::vector<std::string> names;
  AppendLeaves(args, "", &names);
  AppendLeaves(call->children[1], "", &names);
  return names;
}

absl::StatusOr<std::vector<std::string>> OutputNames(absl::string_view out_spec,
                                                     const std::string& root,
                                                     const NamedTupleFields& fields) {
  const auto tree = ParseTree(out_spec, fields);
  if (!tree.ok()) return tree.status();
  std::vector<std::string> names;
  AppendLeaves(*tree, root, &names);
  return names;
}

}  // namespace rules_onnx::pt2
