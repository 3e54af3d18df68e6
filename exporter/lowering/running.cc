// Running extremes: cummax, cummin.
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using builder::Graph;
using builder::ValueType;

// The best value so far along the axis and where it stands, the last of equal ones; NaN stays.
// A Scan over the slices.
template <bool kMax>
void Running(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!x) return;
  if (x.rank() == 0) return op.Return(Vals{x, b.Int(0)});
  const int axis = op.Axis("dim", x);
  const DType dtype = x.dtype() == DType::kBool ? DType::kInt32 : x.dtype();
  const Val numbers = b.Cast(x, dtype);
  Shape slice = x.shape();
  slice.erase(slice.begin() + axis);
  const ValueType value_type{.dtype = dtype, .shape = slice};
  const ValueType index_type{.dtype = DType::kInt64, .shape = slice};
  Vals inputs;  // best, its index, next, its index
  const auto body = b.Subgraph(
      "body",
      [&](Graph* graph) {
        inputs = {b.SubgraphInput(graph, "best", value_type),
                  b.SubgraphInput(graph, "best_index", index_type),
                  b.SubgraphInput(graph, "next", value_type),
                  b.SubgraphInput(graph, "next_index", {.dtype = DType::kInt64, .shape = Shape{}})};
      },
      [&]() -> Vals {
        const Val best = inputs[0], next = inputs[2];
        Val better = kMax ? b.GreaterOrEqual(next, best) : b.LessOrEqual(next, best);
        if (ir::IsFloat(dtype)) {
          better = b.Or(b.Unary("IsNaN", next), better);
        }
        const Val value = b.Where(better, next, best);
        const Val index = b.Where(better, inputs[3], inputs[1]);
        return {value, index, value, index};
      });
  const Val first = Select(b, numbers, axis, b.Int(0));
  const Val zeros = Filled(b, b.ShapeOf(first), b.Int(0));
  const std::vector<int64_t> input_axes = {axis, 0}, output_axes = {axis, axis};
  const Vals results = b.OpN(
      "Scan", {first, zeros, numbers, Iota(b, b.Size(x, axis))},
      {{"body", body}, {"num_scan_inputs", 2}, {"scan_input_axes", input_axes},
       {"scan_output_axes", output_axes}},
      4,
      {{dtype, slice}, {DType::kInt64, slice}, {dtype, x.shape()}, {DType::kInt64, x.shape()}});
  op.Return(Vals{b.Cast(results[2], x.dtype()), results[3]});
}

}  // namespace

extern const Family kRunning;
const Family kRunning = {"running", {
    {"aten::cummax", Running<true>},
    {"aten::cummin", Running<false>},
}};

}  // namespace rules_onnx::lowering
