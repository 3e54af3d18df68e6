// Scaled dot-product attention: ONNX's Attention from opset 23 on, written out before.
#include "exporter/lowering/attention.h"

#include <cmath>
#include <limits>

#include "exporter/lowering/arithmetic.h"
#include "exporter/lowering/dropout.h"
#include "exporter/lowering/linear.h"
#include "exporter/lowering/norm.h"
#include "exporter/lowering/random.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// Repeats the heads of key or value so that there are as many as the query has.
Val RepeatHeads(Builder& b, Val x, Val query) {
  const Val repeats = b.Div(b.Size(query, -3), b.Size(x, -3));
  if (repeats.int_value() == 1) return x;
  const int rank = x.rank(), heads = rank - 3;
  Vals wide, merged;
  for (int i = 0; i < rank; ++i) {
    const Val size = b.Size(x, i);
    wide.push_back(size);
    merged.push_back(i == heads ? b.Mul(size, repeats) : size);
    if (i == heads) wide.push_back(repeats);
  }
  return b.Reshape(b.Expand(b.Unsqueeze(x, {heads + 1}), b.Vector(wide)), b.Vector(merged));
}

// [L, S] truth values: position j of the keys is not after position i of the queries.
Val CausalMask(Builder& b, Val query, Val key) {
  const auto positions = [&](Val x) { return b.Range(b.Int(0), b.Size(x, -2), b.Int(1)); };
  return b.GreaterOrEqual(b.Unsqueeze(positions(query), {1}), b.Unsqueeze(positions(key), {0}));
}

Val Masked(Builder& b, Val scores, Val mask) {
  if (!mask) return scores;
  if (mask.dtype() != DType::kBool) return b.Add(scores, b.Cast(mask, scores.dtype()));
  const Val out = b.Scalar(-std::numeric_limits<double>::infinity(), scores.dtype());
  return b.Where(mask, scores, out);
}

// A query that may look at nothing gives zeros, not NaN, as in PyTorch.
Val SafeSoftmax(Builder& b, Val scores, Val bool_mask) {
  const Val weights = b.Softmax(scores, -1);
  if (!bool_mask) return weights;
  const Val none = b.Equal(b.Reduce("ReduceMax", scores, {-1}, true),
                           b.Scalar(-std::numeric_limits<double>::infinity(), scores.dtype()));
  return b.Where(none, b.Scalar(0, weights.dtype()), weights);
}

// What the scores are multiplied by, if it is known.
std::optional<double> Scale(const Attention& a) {
  if (a.scale || !a.query.dim(-1).is_number()) return a.scale;
  return 1 / std::sqrt(static_cast<double>(a.query.dim(-1).value()));
}

// ONNX has one batch axis, heads in order, a scale in float32, and pads a mask that is narrower
// than the keys.
bool IsNative(Builder& b, const Attention& a) {
  const int rank = a.query.rank();
  if (b.opset() < 23 || rank < 3 || rank > 4 || a.scale == 0.0 || a.dropout != 0) return false;
  const DType dtype = a.query.dtype();
  const auto scale = Scale(a);
  if (dtype == DType::kFloat64 && (!scale || !HoldsExactly(dtype, *scale))) return false;
  for (const Val other : {a.key, a.value}) {
    if (other.rank() != rank || other.dtype() != dtype) return false;
    if (!other.dim(0).Equals(a.query.dim(0)) || !other.dim(-3).Equals(a.key.dim(-3))) return false;
  }
  if (!a.grouped && !a.key.dim(-3).Equals(a.query.dim(-3))) return false;
  if (!a.mask) return true;
  return a.mask.rank() >= 2 && a.mask.rank() <= 4 && a.mask.dim(-1).Equals(a.key.dim(-2)) &&
         (a.mask.dtype() == DType::kBool || a.mask.dtype() == dtype);
}

// One row for each query; a runtime may have no broadcasting of that axis.
Val WithAllRows(Builder& b, Val mask, Val query) {
  if (!mask || !mask.dim(-2).Equals(Dim(1)) || query.dim(-2).Equals(Dim(1))) return mask;
  Vals sizes = SizesOf(b, mask);
  sizes[mask.rank() - 2] = b.Size(query, -2);
  return b.Expand(mask, b.Vector(sizes));
}

Val NativeAttention(Builder& b, const Attention& a) {
  const bool headless = a.query.rank() == 3;  // the only leading axis is taken for the heads
  const auto wide = [&](Val x) { return headless ? b.Unsqueeze(x, {0}) : x; };
  const Val query = wide(a.query), value = wide(a.value);
  Shape shape = query.shape();
  shape.back() = value.dim(-1);
  const int causal = a.causal ? 1 : 0;
  const Attrs attrs = a.scale ? Attrs{{"is_causal", causal}, {"scale", *a.scale}}
                              : Attrs{{"is_causal", causal}};
  const Val result =
      b.Op("Attention", {query, wide(a.key), value, WithAllRows(b, a.mask, a.query)}, attrs,
           {query.dtype(), shape});
  return headless ? b.Squeeze(result, {0}) : result;
}

Attention Read(Op& op) {
  Attention a;
  a.query = op.Tensor("query");
  a.key = op.Tensor("key");
  a.value = op.Tensor("value");
  for (const char* mask : {"attn_mask", "attn_bias"}) {
    if (op.Has(mask)) a.mask = op.Tensor(mask);
  }
  a.causal = op.Bool("is_causal");
  a.scale = op.OptFloat("scale");
  a.grouped = op.node.Find("enable_gqa") != nullptr && op.Bool("enable_gqa");
  a.dropout = op.Float("dropout_p");
  op.Require(!op.Has("dropout_mask"), "attention with a dropout mask is not supported");
  op.Require(!a.scale || *a.scale >= 0, "attention with a negative scale is not supported");
  return a;
}

void ScaledDotProductAttention(Op& op) { op.Return(AttentionOf(op.b, Read(op))); }

void WithWeights(Op& op) {
  const Attended attended = Attend(op.b, Read(op));
  op.Return(Vals{attended.output, attended.weights});
}

// What PyTorch's backends call. Beside the result they give what only training reads.
void Fused(Op& op) {
  std::vector<Item> results(op.num_outputs());
  results[0] = AttentionOf(op.b, Read(op));
  op.Return(std::move(results));
}

}  // namespace

Attended Attend(Builder& b, Attention a) {
  if (!a.query || !a.key || !a.value || b.failed()) return {};
  if (a.grouped) {
    a.key = RepeatHeads(b, a.key, a.query);
    a.value = RepeatHeads(b, a.value, a.query);
  }
  // Half types in float32, as in PyTorch: scores rounded to them are far from the softmax's.
  const DType given = a.query.dtype(), dtype = Wide(given);
  for (Val* operand : {&a.query, &a.key, &a.value}) *operand = b.Cast(*operand, dtype);
  Val root;  // √scale, on both operands
  if (const auto scale = Scale(a)) {
    root = b.Scalar(std::sqrt(*scale), dtype);
  } else {
    const Val width = b.Cast(b.Size(a.query, -1), dtype);
    root = b.Unary("Sqrt", b.Unary("Reciprocal", b.Unary("Sqrt", width)));
  }
  const Val scores = MatMul(b, b.Mul(a.query, root), b.SwapAxes(b.Mul(a.key, root), -2, -1));
  const Val causal = a.causal ? CausalMask(b, a.query, a.key) : Val();
  const Val masked = Masked(b, Masked(b, scores, causal), a.mask);
  const Val weights = Dropped(b, SafeSoftmax(b, masked, a.mask), a.dropout);
  return {b.Cast(MatMul(b, weights, a.value), given), b.Cast(weights, given)};
}

Val AttentionOf(Builder& b, const Attention& a) {
  if (!a.query || !a.key || !a.value || b.failed()) return {};
  return IsNative(b, a) ? NativeAttention(b, a) : Attend(b, a).output;
}

extern const Family kAttention;
const Family kAttention = {"attention", {
    {"aten::scaled_dot_product_attention", ScaledDotProductAttention, 9, kRandomInTraining},
    {"aten::_scaled_dot_product_attention_math", WithWeights, 9, kRandomInTraining},
    {"aten::_scaled_dot_product_cudnn_attention", Fused, 9, kRandomInTraining},
    {"aten::_scaled_dot_product_efficient_attention", Fused, 9, kRandomInTraining},
    {"aten::_scaled_dot_product_flash_attention", Fused, 9, kRandomInTraining},
    {"aten::_scaled_dot_product_flash_attention_for_cpu", Fused, 9, kRandomInTraining},
    {"aten::_scaled_dot_product_fused_attention_overrideable", Fused, 9, kRandomInTraining},
}};

}  // namespace rules_onnx::lowering
