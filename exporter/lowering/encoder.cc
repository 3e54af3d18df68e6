// The operators that nn.MultiheadAttention and nn.TransformerEncoderLayer call as one in eval mode.
#include <limits>

#include "exporter/lowering/activation.h"
#include "exporter/lowering/attention.h"
#include "exporter/lowering/linear.h"
#include "exporter/lowering/norm.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

// What both operators are given; tensors are [batch, length, width].
struct MultiHead {
  Val query, key, value;
  Val qkv_weight, qkv_bias, proj_weight, proj_bias;
  int64_t heads = 1;
  Val mask;  // added to the scores, or null
};

// PyTorch's masks are true where a key is left out; by kind: 0 [L, S], 1 [batch, S],
// 2 [batch, heads, L, S].
Val ReadMask(Op& op, DType dtype) {
  Builder& b = op.b;
  if (!op.Has("mask")) return {};
  Val mask = op.Tensor("mask");
  if (op.Has("mask_type") && op.Int("mask_type") == 1) mask = b.Unsqueeze(mask, {1, 2});
  if (mask.dtype() != DType::kBool) return b.Cast(mask, dtype);
  return b.Where(mask, b.Scalar(-std::numeric_limits<double>::infinity(), dtype),
                 b.Scalar(0, dtype));
}

// [batch, length, width] → [batch, heads, length, width / heads]
Val SplitHeads(Builder& b, Val x, int64_t heads) {
  const Val width = b.Div(b.Size(x, 2), b.Int(heads));
  const Vals sizes = {b.Size(x, 0), b.Size(x, 1), b.Int(heads), width};
  return b.SwapAxes(b.Reshape(x, b.Vector(sizes)), 1, 2);
}

Val MergeHeads(Builder& b, Val x) {
  const Val merged = b.SwapAxes(x, 1, 2);
  const Val width = b.Mul(b.Size(merged, 2), b.Size(merged, 3));
  return b.Reshape(merged, b.Vector({b.Size(merged, 0), b.Size(merged, 1), width}));
}

// The weights too where they are asked for.
Attended AttendWithHeads(Builder& b, const MultiHead& m, bool need_weights) {
  if (!m.qkv_weight || !m.query || b.failed()) return {};
  const Dim rows = m.qkv_weight.dim(0);
  if (!rows.is_number()) return {b.Fail("the width of the attention is not known"), {}};
  const int64_t width = rows.value() / 3;
  const auto part = [&](Val x, int64_t i) {
    const Val weight = b.Slice(m.qkv_weight, 0, i * width, (i + 1) * width);
    const Val bias = m.qkv_bias ? b.Slice(m.qkv_bias, 0, i * width, (i + 1) * width) : Val();
    return SplitHeads(b, Linear(b, x, weight, bias), m.heads);
  };
  Attention attention;
  attention.query = part(m.query, 0);
  attention.key = part(m.key, 1);
  attention.value = part(m.value, 2);
  attention.mask = m.mask;
  const Attended attended =
      need_weights ? Attend(b, attention) : Attended{AttentionOf(b, attention), {}};
  return {Linear(b, MergeHeads(b, attended.output), m.proj_weight, m.proj_bias),
          attended.weights};
}

MultiHead ReadProjections(Op& op, absl::string_view heads) {
  MultiHead m;
  m.qkv_weight = op.Tensor("qkv_weight");
  m.qkv_bias = Optional(op, "qkv_bias");
  m.proj_weight = op.Tensor("proj_weight");
  m.proj_bias = Optional(op, "proj_bias");
  m.heads = op.Int(heads);
  return m;
}

void MultiHeadAttention(Op& op) {
  Builder& b = op.b;
  MultiHead m = ReadProjections(op, "num_head");
  m.query = op.Tensor("query");
  m.key = op.Tensor("key");
  m.value = op.Tensor("value");
  m.mask = ReadMask(op, m.query.dtype());
  const bool need_weights = op.Bool("need_weights");
  const Attended attended = AttendWithHeads(b, m, need_weights);
  if (!need_weights) {
    return op.Return(std::vector<Item>{attended.output, Item()});
  }
  const bool average = op.Bool("average_attn_weights");
  op.Return(Vals{attended.output,
                 average ? b.Reduce("ReduceMean", attended.weights, {1}, /*keepdims=*/false)
                         : attended.weights});
}

void EncoderLayer(Op& op) {
  Builder& b = op.b;
  const Val src = op.Tensor("src");
  const double eps = op.Float("eps");
  const bool norm_first = op.Bool("norm_first"), use_gelu = op.Bool("use_gelu");
  const auto normalize = [&](Val x, const char* weight, const char* bias) {
    return LayerNormalize(b, x, 1, op.Tensor(weight), op.Tensor(bias), eps);
  };
  const auto attend = [&](Val x) {
    MultiHead m = ReadProjections(op, "num_heads");
    m.query = m.key = m.value = x;
    m.mask = ReadMask(op, x.dtype());
    return AttendWithHeads(b, m, /*need_weights=*/false).output;
  };
  const auto feed_forward = [&](Val x) {
    const Val up = Linear(b, x, op.Tensor("ffn_weight_1"), op.Tensor("ffn_bias_1"));
    return Linear(b, use_gelu ? Gelu(b, up, "none") : b.Unary("Relu", up),
                  op.Tensor("ffn_weight_2"), op.Tensor("ffn_bias_2"));
  };
  const auto norm1 = [&](Val x) { return normalize(x, "norm_weight_1", "norm_bias_1"); };
  const auto norm2 = [&](Val x) { return normalize(x, "norm_weight_2", "norm_bias_2"); };
  if (norm_first) {
    const Val x = b.Add(src, attend(norm1(src)));
    return op.Return(b.Add(x, feed_forward(norm2(x))));
  }
  const Val x = norm1(b.Add(src, attend(src)));
  op.Return(norm2(b.Add(x, feed_forward(x))));
}

}  // namespace

extern const Family kEncoder;
const Family kEncoder = {"encoder", {
    {"aten::_native_multi_head_attention", MultiHeadAttention},
    {"aten::_transformer_encoder_layer_fwd", EncoderLayer},
}};

}  // namespace rules_onnx::lowering
