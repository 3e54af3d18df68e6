// One node being lowered: its arguments by name, its result types, the builder.
//
// A lowering is a function `void Relu(Op& op)`: it reads arguments, emits nodes through `op.b`,
// and ends with `op.Return(…)`. Nothing needs to be checked on the way: what fails is kept, later
// calls do nothing, and the failure is reported with the node's operator and place.
#ifndef RULES_ONNX_EXPORTER_LOWERING_OP_H_
#define RULES_ONNX_EXPORTER_LOWERING_OP_H_

#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "exporter/builder/builder.h"
#include "exporter/ir/graph.h"
#include "exporter/lowering/item.h"

namespace rules_onnx::lowering {

using builder::Attrs;
using builder::Builder;
using ir::Dim;
using ir::DType;
using ir::Shape;

class Lowering;

class Op {
 public:
  Op(Lowering& lowering, const ir::Node& node);

  Lowering& lowering;
  Builder& b;
  const ir::Node& node;

  // Refuses the node: the first message counts. Returns a null Val.
  Val Fail(absl::string_view message) { return b.Fail(message); }
  // Fails with the message unless the condition holds; gives the condition.
  bool Require(bool condition, absl::string_view message);
  bool failed() const { return b.failed(); }

  // ---- arguments, by their names in the PyTorch schema
  // Given, and not None.
  bool Has(absl::string_view name) const;
  Item Arg(absl::string_view name) const;
  // A tensor; a number becomes 0-d (int64, float64, bool). With a dtype: cast to it.
  Val Tensor(absl::string_view name);
  Val Tensor(absl::string_view name, DType dtype);
  // A `Scalar` or number argument as a 0-d tensor of `dtype`.
  Val Scalar(absl::string_view name, DType dtype) { return Tensor(name, dtype); }
  // A list of tensors of known length; None items are null.
  Vals Tensors(absl::string_view name);
  // Constants; a failure where the program computes them.
  int64_t Int(absl::string_view name);
  double Float(absl::string_view name);
  bool Bool(absl::string_view name);
  std::string String(absl::string_view name);
  std::vector<int64_t> Ints(absl::string_view name);
  std::vector<double> Floats(absl::string_view name);
  std::optional<int64_t> OptInt(absl::string_view name);      // nullopt: None
  std::optional<double> OptFloat(absl::string_view name);
  DType Dtype(absl::string_view name, DType if_none);
  // The number if it is known at build time; nullopt where it is computed or None.
  std::optional<int64_t> KnownInt(absl::string_view name);
  std::optional<double> KnownFloat(absl::string_view name);
  // Numbers that may be computed: 0-d int64.
  Val IntVal(absl::string_view name);
  Vals IntVals(absl::string_view name);
  // An axis, from the end if negative, in [0, rank); (0 for a 0-d tensor).
  int Axis(absl::string_view name, Val of);
  // Axes, sorted and without doubles; all of them for None or an empty list.
  std::vector<int64_t> Axes(absl::string_view name, Val of);

  // ---- types
  // PyTorch's result type of the named arguments: dimensioned tensors before 0-d ones before
  // numbers, each category only raising the one before it.
  DType ResultType(std::initializer_list<absl::string_view> names) const;
  const ir::Type& OutType(size_t i = 0) const { return node.outputs[i]->type; }
  DType OutDType(size_t i = 0) const { return OutType(i).TensorDType(); }
  // The output's shape as captured; nullopt where its rank is not known.
  const std::optional<Shape>& OutShape(size_t i = 0) const { return OutType(i).shape; }
  size_t num_outputs() const { return node.outputs.size(); }

  // ---- results
  // Each must have the dtype and rank that capture saw: anything else is an error of the lowering.
  void Return(Val result) { Return(Item(result)); }
  void Return(const Vals& results);
  void Return(Item result);
  void Return(std::vector<Item> results);

 private:
  const ir::Arg* Find(absl::string_view name) const;
  Item Checked(Item result, size_t i);
};

using LoweringFunction = void (*)(Op& op);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_OP_H_
