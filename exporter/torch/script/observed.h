// What runs of a program saw of its values, and the symbolic types that follow from it.
//
// No torch header here: this part is about numbers only.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_OBSERVED_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_OBSERVED_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "exporter/ir/type.h"

namespace rules_onnx::script {

// What one run saw of one value, over all iterations in which it was computed.
struct Observed {
  static constexpr int64_t kVaries = -1;  // a size that differed between iterations

  ir::Type::Kind kind = ir::Type::Kind::kUnknown;
  ir::DType dtype = ir::DType::kUndefined;
  std::optional<std::vector<int64_t>> sizes;  // kTensor; nullopt: the rank differed
  // kTuple: a field each. kList: an item each, or one joined item if `length_varies`.
  // kDict: key and value, joined over the entries. kOptional: the value where there was one.
  std::vector<Observed> elements;
  bool length_varies = false;
  std::optional<int64_t> number;  // kInt, kBool; nullopt where it differed
  // kTuple: those of a named one. kDict: the keys, and what stands there; none where they differed.
  std::vector<std::string> field_names;
  std::vector<Observed> fields;
  std::string class_name;

  // The value as it was or, where both values differ, what holds for both.
  void Join(const Observed& other);
};

// One run: the size of every symbol in it. A symbol that no value gave in this run is absent.
using Bindings = std::map<std::string, int64_t>;

// The dim that explains `sizes[r]` under `runs[r]` for all runs: a number where all are equal,
// else the first of `likely` that holds, an expression linear in the symbols, one of `possible`,
// or a product of two linear factors. Unknown where none holds in every run. `derived` are exact
// shape rules: they win over a number, so that a size too coarse to move is not taken as fixed.
struct DimHints {
  std::vector<ir::Dim> derived;
  std::vector<ir::Dim> possible;
};
ir::Dim FitDim(const std::vector<Bindings>& runs, const std::vector<int64_t>& sizes,
               const DimHints& hints);

// Equal dims stay, others are unknown; a list of numbers is the tensor of them where the other is one; types of different kinds join to kOptional (with None) or
// kUnknown.
ir::Type JoinTypes(const ir::Type& a, const ir::Type& b);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_OBSERVED_H_
