"""Rows of activation.cc."""

import torch
import torch.nn.functional as F

from case import Case, T

X = T("f32", 2, 3, 4, N=0)
S = T("f32")
M = T("f32", 4, 6, N=0)

ROWS = [
    *[Case(f.__name__, lambda x, f=f: f(x), [X]) for f in
      (F.relu, F.relu6, F.hardtanh, F.leaky_relu, F.elu, F.selu, F.celu, F.silu, F.mish, F.gelu,
       F.hardsigmoid, F.hardswish, F.softplus, F.hardshrink, F.softshrink, F.tanhshrink,
       F.softsign, F.logsigmoid, F.glu, F.rrelu, torch.sigmoid, torch.tanh)],
    *[Case(f"{f.__name__}_scalar", lambda x, f=f: f(x) + 1, [S]) for f in
      (F.relu, F.celu, F.softshrink, F.gelu, F.softplus)],
    *[Case(f"{f.__name__}_f64", lambda x, f=f: f(x), [T("f64", 3, 4, N=0)]) for f in
      (F.selu, F.celu, F.hardshrink, F.softshrink, F.elu, F.silu, F.leaky_relu, F.hardsigmoid, F.hardswish, F.rrelu,
       F.mish, F.softplus)],
    # the reference evaluator's Erf gives float32
    Case("gelu_f64", lambda x: F.gelu(x), [T("f64", 3, 4, N=0)], tol=(1e-6, 1e-7)),
    Case("alpha_f64", lambda x: (F.elu(x, 0.3), F.celu(x, 0.3), F.leaky_relu(x, 0.25), F.gelu(x, approximate="tanh")),
         [T("f64", 3, 4, N=0)]),
    Case("celu_alpha", lambda x: F.celu(x, 0.3), [X]),
    Case("elu_alpha", lambda x: F.elu(x, 0.3), [X]),
    Case("gelu_tanh", lambda x: F.gelu(x, approximate="tanh"), [X]),
    Case("softplus_threshold", lambda x: F.softplus(x, 2.0, 1.5), [X]),
    Case("threshold", lambda x: F.threshold(x, 0.5, -7.0), [X]),
    Case("threshold_nan", lambda x: F.threshold(torch.where(x > 1, float("nan"), x), 0.5, 2.0), [X]),
    Case("softshrink_lambd", lambda x: F.softshrink(x, 1.25), [X]),
    Case("prelu_channels", lambda x, w: F.prelu(x, w), [X, T("f32", 3)]),
    Case("prelu_one", lambda x, w: F.prelu(x, w), [X, T("f32", 1)]),
    Case("prelu_matrix", lambda x, w: F.prelu(x, w), [M, T("f32", 6)]),
    Case("glu_axis", lambda x: F.glu(x, 0), [T("f32", 4, 3)]),
    Case("softmin", lambda x: F.softmin(x, 1), [X]),
    Case("softmax_dtype", lambda x: torch.softmax(x, 1, dtype=torch.float64), [M]),
    Case("safe_softmax", lambda x: torch.ops.aten._safe_softmax(
        torch.where(x[:, :1] > 0, float("-inf"), x), 1), [M]),
    Case("softmax_backward", lambda g, y: torch.ops.aten._softmax_backward_data(
        g, torch.softmax(y, 1), 1, torch.float32), [M, T("f32", 4, 6, N=0)]),
    Case("log_softmax_backward", lambda g, y: torch.ops.aten._log_softmax_backward_data(
        g, torch.log_softmax(y, 1), 1, torch.float32), [M, T("f32", 4, 6, N=0)]),
]
