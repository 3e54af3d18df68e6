// Names that no two things share.
#ifndef RULES_ONNX_EXPORTER_IR_UNIQUE_NAMES_H_
#define RULES_ONNX_EXPORTER_IR_UNIQUE_NAMES_H_

#include <map>
#include <string>

#include "absl/strings/str_cat.h"

namespace rules_onnx::ir {

class UniqueNames {
 public:
  void Take(const std::string& name) { counts_.emplace(name, 1); }

  // `base`, or the first of `base_1`, `base_2`, … that is free.
  std::string Make(const std::string& base) {
    while (true) {
      const int count = counts_[base]++;
      if (count == 0) return base;
      std::string candidate = absl::StrCat(base, "_", count);
      if (counts_.emplace(candidate, 1).second) return candidate;
    }
  }

 private:
  std::map<std::string, int> counts_;  // name → next suffix
};

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_UNIQUE_NAMES_H_
