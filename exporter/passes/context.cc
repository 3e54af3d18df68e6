#include "exporter/passes/context.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace rules_onnx::passes {

void Context::Report(diagnostics::Severity severity, absl::string_view id, const ir::Node& node,
                     std::string message, std::string hint) {
  diagnostics::Diagnostic problem{.severity = severity,
                                  .id = std::string(id),
                                  .message = std::move(message),
                                  .op = node.op,
                                  .scope = node.scope,
                                  .hint = std::move(hint)};
  const auto place = debug->find(node.id);
  if (place != debug->end()) {
    problem.location = absl::StrCat(place->second.file, ":", place->second.line);
  }
  diagnostics->Add(std::move(problem));
}

void Context::InheritPlace(const ir::Node& origin, ir::Node* copy) {
  copy->scope = origin.scope;
  const auto place = debug->find(origin.id);
  if (place != debug->end()) (*debug)[copy->id] = place->second;
}

}  // namespace rules_onnx::passes
