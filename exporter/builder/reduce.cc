// Reductions, sorting and running sums of the builder.
#include <numeric>

#include "exporter/builder/builder.h"

namespace rules_onnx::builder {
namespace {

// The opset from which a reduction takes its axes as an input.
int AxesInputSince(absl::string_view op_type) { return op_type == "ReduceSum" ? 13 : 18; }

}  // namespace

Val Builder::Reduce(absl::string_view op_type, Val x, std::vector<int64_t> axes, bool keepdims) {
  if (!x) return {};
  for (int64_t& axis : axes) {
    if (axis < 0 && x.rank() > 0) axis += x.rank();
  }
  if (x.rank() == 0) axes.clear();
  Attrs attrs = {{"keepdims", keepdims}};
  if (axes.empty()) return Op(op_type, {x}, std::move(attrs));
  if (opset() >= AxesInputSince(op_type)) {
    return Op(op_type, {x, Ints(axes)}, std::move(attrs));
  }
  attrs.emplace_back("axes", axes);
  return Op(op_type, {x}, std::move(attrs));
}

Val Builder::ArgMax(Val x, int axis, bool keepdims) {
  return Op("ArgMax", {x}, {{"axis", axis}, {"keepdims", keepdims}});
}
Val Builder::ArgMin(Val x, int axis, bool keepdims) {
  return Op("ArgMin", {x}, {{"axis", axis}, {"keepdims", keepdims}});
}

// Opset 9 has `k` as an attribute; 10 as an input; from 11 on the smallest ones can be asked for.
Vals Builder::TopK(Val x, Val k, int axis, bool largest, bool sorted) {
  if (!x || !k) return Vals(2);
  const OutputType indices{DType::kInt64, std::nullopt};
  if (opset() >= 11) {
    return OpN("TopK", {x, Reshape(k, std::vector<int64_t>{1})},
               {{"axis", axis}, {"largest", largest}, {"sorted", sorted}}, 2, {{}, indices});
  }
  if (!ir::IsFloat(x.dtype())) {
    if (ir::ElementSize(x.dtype()) == 8) {
      Fail("TopK of 64-bit integers needs opset 11");
      return Vals(2);
    }
    const Vals result = TopK(Cast(x, DType::kFloat64), k, axis, largest, sorted);
    return {Cast(result[0], x.dtype()), result[1]};
  }
  if (!largest) {
    Vals result = TopK(Unary("Neg", x), k, axis, true, sorted);
    return {Unary("Neg", result[0]), result[1]};
  }
  if (opset() >= 10) {
    return OpN("TopK", {x, Reshape(k, std::vector<int64_t>{1})}, {{"axis", axis}}, 2,
               {{}, indices});
  }
  if (!k.int_value()) {
    Fail("TopK with a computed count needs opset 10");
    return Vals(2);
  }
  return OpN("TopK", {x}, {{"axis", axis}, {"k", *k.int_value()}}, 2, {{}, indices});
}

Val Builder::CumSum(Val x, int axis, bool exclusive, bool reverse) {
  return Op("CumSum", {x, Int(axis)}, {{"exclusive", exclusive}, {"reverse", reverse}});
}

namespace {

// Before opset 13 Softmax works on a matrix: all axes from `axis` on at once.
Val SoftmaxLike(Builder& b, absl::string_view op_type, Val x, int axis) {
  if (!x || b.failed()) return {};
  const int rank = x.rank();
  axis = static_cast<int>(b.NormalizeAxis(axis, rank));
  if (rank == 0) {
    return b.Reshape(SoftmaxLike(b, op_type, b.Unsqueeze(x, {0}), 0), std::vector<int64_t>{});
  }
  if (b.opset() >= 13 || axis == rank - 1) return b.Op(op_type, {x}, {{"axis", axis}});
  const Val moved = b.SwapAxes(x, axis, rank - 1);
  return b.SwapAxes(b.Op(op_type, {moved}, {{"axis", rank - 1}}), axis, rank - 1);
}

}  // namespace

Val Builder::Softmax(Val x, int axis) { return SoftmaxLike(*this, "Softmax", x, axis); }
Val Builder::LogSoftmax(Val x, int axis) { return SoftmaxLike(*this, "LogSoftmax", x, axis); }

}  // namespace rules_onnx::builder
