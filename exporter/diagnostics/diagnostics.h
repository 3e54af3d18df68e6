// Problems as values: collected over a whole run, shown together.
#ifndef RULES_ONNX_EXPORTER_DIAGNOSTICS_DIAGNOSTICS_H_
#define RULES_ONNX_EXPORTER_DIAGNOSTICS_DIAGNOSTICS_H_

#include <string>
#include <vector>

#include "absl/status/status.h"

namespace rules_onnx::diagnostics {

enum class Severity { kWarning, kError };

struct Diagnostic {
  Severity severity = Severity::kError;
  std::string id;        // stable, kebab-case: "unsupported-operator", "frozen-size"
  std::string message;   // one sentence that names the op, file or option
  std::string op;        // "aten::foo.bar", if it is about an operator
  std::string scope;     // module path, may be empty
  std::string location;  // "alexnet.py:12", may be empty
  std::string hint;      // what to do; may be empty
  int count = 1;         // equal problems are counted, not repeated
};

// Not thread-safe.
class Diagnostics {
 public:
  // Adds a problem; one with equal severity, id, op and message raises the first one's count
  // instead (its scope and location stay those of the first).
  void Add(Diagnostic diagnostic);
  // Adds a status that is about no operator as an error. No-op for OK.
  void AddStatus(const absl::Status& status);

  bool has_errors() const;
  const std::vector<Diagnostic>& all() const { return all_; }

  // `error: aten::foo: message (3×, first at alexnet.py:12, in AlexNet/Linear[fc])\n  hint: …`,
  // errors last so that the last line of a terminal shows one.
  std::string ToText(bool colour) const;
  std::string ToJson() const;

 private:
  std::vector<Diagnostic> all_;
};

}  // namespace rules_onnx::diagnostics

#endif  // RULES_ONNX_EXPORTER_DIAGNOSTICS_DIAGNOSTICS_H_
