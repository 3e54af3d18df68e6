"""Rows of linear.cc, conv.cc, norm.cc, attention.cc, encoder.cc, dropout.cc."""

import torch
from torch import nn
from torch.nn import functional as F

from case import Case, DTYPES, T

torch.manual_seed(7)


def module(build):
    torch.manual_seed(3)
    return build().eval()


X = T("f32", 3, 4, N=0)
IMAGE = T("f32", 2, 4, 9, 8, N=0, H=2)
LINE = T("f32", 2, 4, 11, N=0, L=2)
CUBE = T("f32", 2, 4, 5, 6, 7, N=0)
SEQUENCE = T("f32", 2, 6, 8, N=0, S=1)
Q, K, V = (T("f32", 2, 4, s, 8, N=0) for s in (5, 7, 7))


def conv_row(name, build, x, **kwargs):
    return Case(name, module(build), [x], tol=(1e-4, 1e-5), **kwargs)


class WithStatistics(nn.Module):
    """batch_norm with the statistics of the batch, without running ones."""

    def forward(self, x):
        return F.batch_norm(x, None, None, training=True)


def dropped(y, x):
    zero = y == 0
    return (zero | ((y - x / 0.75).abs() < 1e-4)).all(), (zero.float().mean() - 0.25).abs() < 0.06


def normal(y):
    return y.mean().abs() < 0.1, (y.std() - 1).abs() < 0.1


ROWS = [
    Case("matmul_2d", torch.matmul, [X, T("f32", 4, 5)]),
    Case("matmul_batch", torch.matmul, [T("f32", 2, 1, 3, 4, N=0), T("f32", 5, 4, 2)]),
    Case("matmul_vector", torch.matmul, [T("f32", 4), T("f32", 2, 4, 3, N=0)]),
    Case("matmul_i64", torch.matmul, [T("i64", 3, 4, N=0), T("i64", 4, 2)]),
    Case("matmul_u8", torch.matmul, [T("u8", 3, 4, N=0), T("u8", 4, 2)]),
    Case("matmul_f64", torch.matmul, [T("f64", 3, 4, N=0), T("f64", 4, 2)]),
    Case("mm", torch.mm, [X, T("f32", 4, 5)]),
    Case("bmm", torch.bmm, [T("f32", 2, 3, 4, N=0), T("f32", 2, 4, 5, N=0)]),
    Case("mv", torch.mv, [X, T("f32", 4)]),
    Case("dot", torch.dot, [T("f32", 4), T("f32", 4)]),
    Case("inner", torch.inner, [T("f32", 2, 3, 4, N=0), T("f32", 5, 4)]),
    Case("outer", torch.outer, [T("f32", 3, N=0), T("f32", 4)]),
    Case("addmm", lambda c, a, b: torch.addmm(c, a, b, beta=0.5, alpha=2), [T("f32", 5), X, T("f32", 4, 5)]),
    Case("addmm_f64", lambda c, a, b: torch.addmm(c, a, b, beta=0.1, alpha=0.3),
         [T("f64", 5), T("f64", 3, 4, N=0), T("f64", 4, 5)]),
    Case("addmm_beta_zero", lambda c, a, b: torch.addmm(c * float("nan"), a, b, beta=0), [T("f32", 5), X, T("f32", 4, 5)]),
    Case("addmm_i64", torch.addmm, [T("i64", 5), T("i64", 3, 4, N=0), T("i64", 4, 5)]),
    Case("addbmm", torch.addbmm, [T("f32", 3, 5), T("f32", 2, 3, 4, N=0), T("f32", 2, 4, 5, N=0)]),
    Case("baddbmm", lambda c, a, b: torch.baddbmm(c, a, b, beta=2, alpha=0.5),
         [T("f32", 3, 5), T("f32", 2, 3, 4, N=0), T("f32", 2, 4, 5, N=0)]),
    Case("addmv", torch.addmv, [T("f32", 3, N=0), X, T("f32", 4)]),
    Case("addr", torch.addr, [X, T("f32", 3, N=0), T("f32", 4)]),
    Case("bilinear", module(lambda: nn.Bilinear(3, 4, 5)), [T("f32", 2, 3, N=0), T("f32", 2, 4, N=0)]),
    Case("linear", module(lambda: nn.Linear(4, 5)), [X]),
    Case("linear_batch", module(lambda: nn.Linear(4, 5)), [T("f32", 2, 3, 4, N=0)]),
    Case("linear_no_bias", module(lambda: nn.Linear(4, 5, bias=False)), [X]),
    Case("linear_vector", module(lambda: nn.Linear(4, 5)), [T("f32", 4)]),
    # convolutions
    conv_row("conv1d", lambda: nn.Conv1d(4, 6, 3, 2, 1), LINE),
    conv_row("conv2d_groups", lambda: nn.Conv2d(4, 6, (3, 2), (2, 1), (1, 0), (1, 2), groups=2), IMAGE),
    conv_row("conv2d_same", lambda: nn.Conv2d(4, 3, (4, 3), padding="same"), IMAGE),
    conv_row("conv2d_valid", lambda: nn.Conv2d(4, 3, 3, padding="valid"), IMAGE),
    conv_row("conv2d_unbatched", lambda: nn.Conv2d(4, 3, 3), T("f32", 4, 6, 7)),
    conv_row("conv3d", lambda: nn.Conv3d(4, 2, 3, 1, 1), CUBE),
    conv_row("conv_transpose1d", lambda: nn.ConvTranspose1d(4, 6, 3, 2, 1, output_padding=1), LINE),
    conv_row("conv_transpose2d", lambda: nn.ConvTranspose2d(4, 6, 3, (2, 3), 1, (1, 2), groups=2, dilation=(1, 2)), IMAGE),
    conv_row("conv_transpose3d", lambda: nn.ConvTranspose3d(4, 2, 2, 2), CUBE),
    *[Case(f"conv_transpose_far_{p}", lambda x, w, b, p=p: F.conv_transpose2d(x, w, b, (3, 2), p, (2, 3), 2, 4),
           [T("f32", 2, 2, 4, 5, N=0, H=2), T("f32", 2, 2, 3, 2), T("f32", 4)], tol=(1e-4, 1e-5)) for p in (1, 4)],
    Case("conv_computed_weight", lambda x, w: F.conv2d(x, w * 2), [IMAGE, T("f32", 3, 4, 2, 2)], tol=(1e-4, 1e-5)),
    # integers: exact, overflow included (opset 11 pads them)
    *[Case(f"conv_i64_{name}", lambda x, w, b, h=how: F.conv2d(x, w, b, **h),
           [T("i64", 2, 4, 9, 8, low=-2**62, high=2**62, N=0, H=2), T("i64", 6, 2, 3, 2), T("i64", 6)],
           since=11 if "padding" in how else 9)
      for name, how in {"pad": dict(padding=1, groups=2), "stride": dict(stride=(2, 1), dilation=(1, 2), groups=2),
                        "same": dict(padding="same", groups=2)}.items()],
    *[Case(f"conv_transpose_i64_{i}", lambda x, w, b, h=how: F.conv_transpose2d(x, w, b, *h),
           [T("i64", 2, 4, 5, 6, low=-99, high=99, N=0, H=2), T("i64", 4, 3, 3, 2), T("i64", 6)], since=11)
      for i, how in enumerate([((2, 3), (1, 0), (1, 2), 2), (2, 1, 0, 2, (1, 2)), (3, 1, 2, 2, (1, 4))])],
    Case("conv1d_i64_unbatched", lambda x, w: F.conv1d(x, w), [T("i64", 4, 9), T("i64", 3, 4, 2)]),
    Case("conv_transpose3d_i64", lambda x, w: F.conv_transpose3d(x, w, None, 2), [T("i64", 2, 2, 3, 4, 3, N=0), T("i64", 2, 3, 2, 2, 2)], since=11),
    Case("conv_tbc", lambda x, w, b: torch.conv_tbc(x, w, b, 1), [T("f32", 7, 2, 4), T("f32", 3, 4, 5), T("f32", 5)],
         tol=(1e-4, 1e-5)),
    # normalizations
    conv_row("batch_norm", lambda: nn.BatchNorm2d(4), IMAGE),
    conv_row("batch_norm_plain", lambda: nn.BatchNorm1d(4, affine=False), LINE),
    conv_row("batch_norm_statistics", WithStatistics, IMAGE),
    *[Case(f"batch_norm_native_{dtype}", lambda x, w: torch.native_batch_norm(x, w, w, w * 0, w.abs() + 1, True, 0.1, 1e-3),
           [T(dtype, 3, 4, 5, N=0), T(dtype, 4)], modes=("export", "dynamic")) for dtype in ("f16", "f32")],
    Case("batch_norm_updating", lambda x, w, b, m, v: torch.ops.aten._batch_norm_with_update_functional(x, w, b, m, v, 0.3, 1e-3),
         [IMAGE, *[T("f32", 4)] * 3, T("f32", 4, low=0.5)], tol=(1e-4, 1e-5), modes=("export", "dynamic")),
    conv_row("layer_norm", lambda: nn.LayerNorm((4, 8)), T("f32", 3, 4, 8, N=0)),
    conv_row("layer_norm_plain", lambda: nn.LayerNorm(8, elementwise_affine=False), SEQUENCE),
    conv_row("layer_norm_no_bias", lambda: nn.LayerNorm(8, bias=False), SEQUENCE),
    conv_row("group_norm", lambda: nn.GroupNorm(2, 4), IMAGE),
    conv_row("group_norm_plain", lambda: nn.GroupNorm(2, 4, affine=False), LINE),
    *[Case(f"norm_{d}", lambda x, w: (F.layer_norm(x, (4,), w, w), F.group_norm(x.mT, 2, w, w), F.rms_norm(x, (4,), w)),
           [T(d, 2, 3, 4, N=0), T(d, 4)], tol=(1e-2, 1e-2) if d == "f16" else None) for d in ("f16", "f64")],
    Case("group_norm_flat", lambda x, w: F.group_norm(x, 3, bias=w), [T("f32", 5, 6, N=0), T("f32", 6)], tol=(1e-4, 1e-5)),
    Case("rms_norm_plain", lambda x: F.rms_norm(x, (4, 2), eps=0.1), [T("f32", 3, 4, 2, N=0)], tol=(1e-4, 1e-5)),
    conv_row("instance_norm", lambda: nn.InstanceNorm2d(4, affine=True), IMAGE),
    conv_row("rms_norm", lambda: nn.RMSNorm(8), SEQUENCE),
    *[Case(f"weight_norm_{'_'.join(map(str, shape))}_{dim}".replace("-", "m"), lambda v, g, d=dim: torch._weight_norm(v, g, d),
           [T("f32", *shape), T("f32", *g)])
      for shape, dim, g in (((5,), 0, (5,)), ((5,), -1, ()), ((3, 4), -2, (3, 1)), ((3, 4, 2), 1, (1, 4, 1)),
                            ((3, 4, 2), -1, ()), ((3, 4, 2), 2, (1, 1, 2)))],
    Case("batch_norm_f64", lambda x, m, v: F.batch_norm(x, m, v),
         [T("f64", 3, 4, N=0), T("f64", 4), T("f64", 4, low=0, high=1e-6)]),
    conv_row("weight_norm", lambda: nn.utils.weight_norm(nn.Linear(8, 3)), SEQUENCE),
    # attention
    Case("attention", F.scaled_dot_product_attention, [Q, K, V], tol=(1e-4, 1e-5)),
    # scores of half types are float32's; the native operator leaves that to the runtime
    *[Case(f"attention_{d}", lambda q, k, v, d=DTYPES[d]: torch.ops.aten._scaled_dot_product_attention_math(
        q.to(d), k.to(d), v.to(d))[0].float(), [T("f32", 2, 4, s, 8, low=-9, high=9, N=0) for s in (5, 7, 7)],
           since=since, tol=(2**-7, 2**-7)) for d, since in (("f16", 9), ("bf16", 13))],
    # where the values are a unit matrix, the weights are the result
    Case("attention_dropout", lambda q, k: dropped(F.scaled_dot_product_attention(q, k, torch.eye(50), dropout_p=0.25), F.scaled_dot_product_attention(q, k, torch.eye(50))),
         [T("f32", 8, 40, 8, N=0), T("f32", 8, 50, 8, N=0)]),
    Case("attention_all_dropped", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=1.0), [Q, K, V]),
    Case("attention_causal", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), [Q, K, V],
         tol=(1e-4, 1e-5)),
    Case("attention_scale", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3), [Q, K, V], tol=(1e-4, 1e-5)),
    Case("attention_mask", F.scaled_dot_product_attention, [Q, K, V, T("f32", 5, 7)], tol=(1e-4, 1e-5)),
    Case("attention_bool_mask", F.scaled_dot_product_attention, [Q, K, V, T("bool", 2, 1, 5, 7, N=0)], tol=(1e-4, 1e-5)),
    Case("attention_nothing_seen", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, torch.zeros_like(m)),
         [Q, K, V, T("bool", 5, 7)], tol=(1e-4, 1e-5)),
    Case("attention_grouped", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True),
         [T("f32", 2, 6, 5, 8, N=0), T("f32", 2, 2, 7, 8, N=0), T("f32", 2, 2, 7, 8, N=0)], tol=(1e-4, 1e-5)),
    Case("attention_grouped_mask", lambda q, k, v, m: F.scaled_dot_product_attention(q, k, v, m, enable_gqa=True),
         [T("f32", 2, 6, 5, 8, N=0), T("f32", 2, 2, 7, 8, N=0), T("f32", 2, 2, 7, 8, N=0), T("f32", 2, 6, 5, 7, N=0)],
         tol=(1e-4, 1e-5)),
    *[Case(f"attention_rank_{r}", F.scaled_dot_product_attention,
           [T("f32", *lead, 5, 4), T("f32", *lead, 7, 4), T("f32", *lead, 7, 3), T("bool", *lead[1:], 5, 7)], tol=(1e-4, 1e-5))
      for r, lead in ((2, ()), (3, (2,)), (5, (2, 3, 2)))],
    Case("attention_mask_of_keys", F.scaled_dot_product_attention, [Q, K, V, T("bool", 2, 1, 1, 7, N=0)], tol=(1e-4, 1e-5)),
    Case("attention_narrow_mask", F.scaled_dot_product_attention, [Q, K, V, T("bool", 5, 1)], tol=(1e-4, 1e-5)),
    Case("attention_f64", F.scaled_dot_product_attention, [T("f64", 2, 4, 5, 8)] * 3),
    Case("attention_f64_scale", lambda q, k, v: F.scaled_dot_product_attention(q, k, v, scale=0.3), [T("f64", 2, 4, 5, 8)] * 3),
    # export takes bfloat16 only
    *[Case(f"grouped_mm_{name}", lambda x, y: torch._grouped_mm(x, y, offs=torch.tensor([3, 3, 8], dtype=torch.int32)),
           [T("f32", *x), T("f32", *y)], since=11, tol=(1e-4, 1e-5), modes=("trace",))
      for name, x, y in (("rows", (8, 4), (3, 4, 12)), ("columns", (3, 4, 12), (12, 8)), ("inner", (12, 8), (8, 4)))],
    Case("grouped_mm_dynamic", lambda x, y: torch._grouped_mm(x, y, offs=(x.shape[0] + torch.tensor([-6, -6, 0])).int()),
         [T("f32", 8, 4, N=0), T("f32", 3, 4, 12)], since=11, tol=(1e-4, 1e-5), modes=("trace",)),
    Case("grouped_mm_batch", lambda x, y: torch._grouped_mm(x, y), [T("f32", 3, 8, 4), T("f32", 3, 4, 12)], tol=(1e-4, 1e-5), modes=("trace",)),
    Case("attention_minus_infinity", F.scaled_dot_product_attention,
         [Q, K, V, torch.full((5, 7), float("-inf")).triu(1) + torch.full((5, 1), 0.0).index_fill(0, torch.tensor([2]), float("-inf"))],
         tol=(1e-4, 1e-5)),
    Case("multi_head", module(lambda: nn.MultiheadAttention(8, 2, batch_first=True)), [SEQUENCE, SEQUENCE, SEQUENCE],
         tol=(1e-4, 1e-5)),
    Case("encoder_layer", module(lambda: nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)), [SEQUENCE], tol=(1e-4, 1e-5)),
    Case("encoder_layer_norm_first", module(lambda: nn.TransformerEncoderLayer(8, 2, 16, activation="gelu", batch_first=True, norm_first=True)),
         [SEQUENCE], tol=(1e-4, 1e-5)),
    Case("decoder_layer", module(lambda: nn.TransformerDecoderLayer(8, 2, 16, batch_first=True)), [SEQUENCE, SEQUENCE], tol=(1e-4, 1e-5)),
    Case("dropout_eval", module(lambda: nn.Dropout(0.5)), [X]),
    Case("dropout2d_eval", module(lambda: nn.Dropout2d(0.5)), [IMAGE]),
    # random numbers: facts that hold of all of them
    Case("dropout_train", lambda x: dropped(F.dropout(x, 0.25, True), x), [T("f32", 40, 50, low=1, N=0)]),
    Case("dropout2d_train", lambda x: dropped(F.dropout2d(x, 0.25, True), x), [T("f64", 40, 50, 2, 3, low=1)]),
    Case("native_dropout_backward", lambda g, m: torch.ops.aten.native_dropout_backward(g, m, 1.25), [T("f32", 3, 4, N=0), T("bool", 3, 4, N=0)]),
    Case("native_dropout_train", lambda x: dropped(torch.native_dropout(x, 0.25, True)[0], x), [T("f32", 40, 50, low=1)]),
    Case("alpha_dropout_train", lambda x: normal(F.alpha_dropout(x, 0.25, True)), [T("f32", 100, 80, low=-3**0.5, high=3**0.5)]),
    Case("feature_alpha_dropout_train", lambda x: normal(F.feature_alpha_dropout(x, 0.25, True)),
         [T("f32", 100, 80, 2, low=-3**0.5, high=3**0.5)]),
    Case("dropout_all", lambda x: (F.dropout(x, 1.0, True), F.dropout2d(x, 1.0, True), F.alpha_dropout(x, 1.0, True)), [IMAGE]),
    Case("rrelu_train", lambda x: torch.where(x > 0, F.rrelu(x, 0.1, 0.2, True) == x,
                                              (F.rrelu(x, 0.1, 0.2, True) <= 0.1 * x) & (F.rrelu(x, 0.1, 0.2, True) >= 0.2 * x)), [X]),
    Case("alpha_dropout_eval", module(lambda: nn.AlphaDropout(0.5)), [X]),
]
