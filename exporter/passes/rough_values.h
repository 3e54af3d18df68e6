// Which tensors need not be contiguous when an operator makes them.
#ifndef RULES_ONNX_EXPORTER_PASSES_ROUGH_VALUES_H_
#define RULES_ONNX_EXPORTER_PASSES_ROUGH_VALUES_H_

#include <unordered_set>

#include "exporter/ir/graph.h"
#include "exporter/passes/alias_classes.h"
#include "exporter/passes/context.h"

namespace rules_onnx::passes {

// The program's values whose elements may lie in another order than row-major: what operators give
// that choose their own strides (transpose, nonzero, LAPACK's and FFT's), weights that are stored so,
// and what is made of these, as PyTorch's operators on elements follow their arguments' strides.
// Through branches, loops and lists; of the whole program, whatever the order of its lines.
class RoughValues {
 public:
  RoughValues(const Context& context, const AliasClasses& classes);

  bool contains(const ir::Value* value) const { return rough_.contains(value); }

 private:
  void VisitBlock(const ir::Block& block);
  void VisitNode(const ir::Node& node);
  void VisitIf(const ir::Node& node);
  void VisitLoop(const ir::Node& node);
  void VisitScan(const ir::Node& node);
  bool IsRough(const ir::Node& node) const;
  bool IsRough(const ir::Arg& arg) const;
  // A container's other names are as rough as it is.
  void Insert(const ir::Value* value);
  void InsertIf(bool rough, const ir::Value* value);

  const AliasClasses& classes_;
  std::unordered_set<const ir::Value*> rough_;
  std::unordered_set<int> containers_;  // alias classes of lists and dicts that hold rough ones
  bool changed_ = false;
};

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_ROUGH_VALUES_H_
