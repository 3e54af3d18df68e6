// From the records of all runs to types of the graph's values.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_TYPING_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_TYPING_H_

#include <functional>
#include <string>
#include <vector>

#include "exporter/torch/script/interpreter.h"
#include "exporter/torch/script/observed.h"

namespace rules_onnx::script {

// One run with the sizes that the user's symbols had in it.
struct Run {
  RunRecord record;
  Bindings bindings;
};

class Typing {
 public:
  // Hints for axis `axis` of result `path` (fields and items from the value downwards).
  using Hints = std::function<DimHints(size_t axis)>;

  explicit Typing(const std::vector<Run>* runs);

  // The type of `value` over the iterations `contexts`. What no run reached has the type that
  // TorchScript declares. Along the axes of `unknown`, of each tensor in it, no size is taken from the
  // runs.
  ir::Type TypeOf(const torch::jit::Value* value, const std::vector<int>& contexts,
                  const Hints& hints, const std::vector<bool>& unknown) const;
  // The same of what was taken out of a list, in the form that it has there.
  ir::Type ItemType(const torch::jit::Value* value, const std::vector<int>& contexts,
                    const std::vector<bool>& unknown) const;
  // What each run saw; kUnknown where it did not get there.
  std::vector<Observed> Seen(const torch::jit::Value* value,
                             const std::vector<int>& contexts) const;

  // The types of a list's items, where every run saw the same number of them.
  std::vector<ir::Type> ItemTypes(const torch::jit::Value* list, const std::vector<int>& contexts,
                                  const std::vector<bool>& unknown) const;

  // Names a size or number that values decide. `sizes` has one entry a run; -1: not known there.
  // False if it is not one number in each run, or the same number in all.
  bool AddSymbol(const std::string& name, const std::vector<int64_t>& sizes);

  const std::vector<Bindings>& bindings() const { return bindings_; }

 private:
  // `declared` may be null.
  ir::Type Build(const std::vector<Observed>& seen, const Hints& hints,
                 const std::vector<bool>& unknown, const c10::TypePtr& declared) const;
  // Of what a list holds. `lengths`: of a list of unknown length, where lists of one length are
  // tuples.
  ir::Type BuildItem(const std::vector<Observed>& seen, const Hints& hints,
                     const std::vector<bool>& unknown, const c10::TypePtr& declared,
                     bool lengths) const;
  ir::Type BuildTensor(const std::vector<Observed>& seen, const Hints& hints,
                       const std::vector<bool>& unknown) const;

  const std::vector<Run>* runs_;
  std::vector<Bindings> bindings_;
};

// The type that TorchScript declares, without sizes.
ir::Type DeclaredType(const c10::TypePtr& type);

// Whether a list of unknown length holds such a value in another form (convert_packed.cc). In the
// types of lists, what they hold has that form throughout.
bool IsPacked(const c10::TypePtr& type);
// Whether it is a list of numbers or of truth values.
bool HoldsNumbers(const c10::TypePtr& type);
// Whether it is a list of packed values.
bool HoldsPacked(const c10::TypePtr& type);
// The type of what a list holds without sizes that what stands in the place of None does not have.
ir::Type FormOf(ir::Type item, const c10::TypePtr& declared);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_TYPING_H_
