"""Rows of creation.cc, range.cc, size.cc and scalar.cc."""

import math

import torch

from case import Case, T

aten = torch.ops.aten
M = T("f32", 4, 6, N=0)
V = T("f32", 6, N=0)
S = T("f32")

def hann(x: torch.Tensor):
    return torch.hann_window(x.size(0)) + x


def symmetric(x: torch.Tensor):
    n = x.size(0)
    return (torch.hann_window(n, False) + x, torch.hamming_window(n, False), torch.blackman_window(n, False),
            torch.bartlett_window(n, False), torch.blackman_window(n), torch.bartlett_window(n), torch.kaiser_window(n, False))


def spaced(x: torch.Tensor):
    return torch.linspace(0.1, 1e9, x.size(0)) + x


ROWS = [
    Case("zeros", lambda x: torch.zeros(x.shape[0], 3) + x[:, :3], [M]),
    Case("ones", lambda x: torch.ones(x.shape[0], dtype=torch.int64), [M]),
    Case("full", lambda x: torch.full((x.shape[0], 2), 2.5), [M]),
    Case("full_static", lambda x: x + torch.full((4, 6), 2.5), [T("f32", 4, 6)]),
    Case("full_i64", lambda x: torch.full((x.shape[0],), 2**60 + 1), [M]),
    Case("full_bool", lambda x: torch.full((x.shape[0],), True), [M], modes=("export", "dynamic", "core")),
    Case("full_f16", lambda x: torch.full((x.shape[0],), 2.5, dtype=torch.float16), [M]),
    Case("full_bf16", lambda x: torch.full((x.shape[0],), 2.5, dtype=torch.bfloat16).float(), [M], since=13),
    Case("full_computed", lambda x: torch.full((2, 3), x.shape[0]), [M]),
    Case("zeros_like", lambda x: (torch.zeros_like(x), torch.ones_like(x, dtype=torch.int32)), [M]),
    Case("full_like", lambda x: (torch.full_like(x, 2), torch.full_like(x, 1, dtype=torch.bool)), [M]),
    Case("new", lambda x: (x.new_zeros(2, x.shape[0]), x.new_ones((3,)), x.new_full((x.shape[0],), 3)), [T("i64", 4, N=0)]),
    Case("empty", lambda x: (torch.empty(x.shape[0], 0), x.new_empty(0, 2)), [M]),
    Case("fill", lambda x, v: (torch.fill(x, 2.5), torch.fill(x, v), aten.zero(x)), [M, S], modes=("export", "dynamic")),
    Case("scalar_tensor", lambda x: x + aten.scalar_tensor(2.5), [M]),
    Case("tensor_constant", lambda x: x + torch.tensor([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), [M]),
    Case("tensor_size", lambda x: torch.tensor(x.shape[0]) + 1, [M], modes=("export",)),
    Case("eye", lambda x: (torch.eye(3), torch.eye(2, 4), torch.eye(x.shape[0], dtype=torch.int64)), [M]),
    *[Case(f"tril_{k}", lambda x, k=k: (torch.tril(x, k), torch.triu(x, k)), [T("f32", 2, 4, 5, N=0, W=2)]) for k in (0, 1, -2)],
    *[Case(f"tril_{d}", lambda x: (torch.tril(x), torch.triu(x, 1)), [T(d, 4, 5)]) for d in ("i64", "i32", "bool", "f64", "f16", "i8")],
    Case("tril_indices", lambda x: (torch.tril_indices(3, 4), torch.triu_indices(3, 4, 1), torch.tril_indices(4, 2, -1) + x), [T("i64")]),
    Case("vander", lambda x: (torch.vander(x), torch.vander(x, 3, True)), [V], modes=("export", "trace"), tol=(1e-4, 1e-4)),
    Case("linalg_vander", lambda x: (torch.linalg.vander(x), torch.linalg.vander(x, N=3)), [T("f32", 2, 4)], tol=(1e-4, 1e-4)),
    # ---- arange
    Case("arange", lambda x: torch.arange(x.shape[0]), [M]),
    Case("arange_start", lambda x: torch.arange(1, x.shape[0] + 3, 2), [M]),
    Case("arange_down", lambda x: torch.arange(x.shape[0], -1, -1), [M]),
    Case("arange_f32", lambda x: torch.arange(x.shape[0], dtype=torch.float32) + x[:, 0], [M]),
    Case("arange_float_step", lambda x: torch.arange(0.5, 3.0, 0.25) + x, [T("f32")]),
    Case("arange_float_odd", lambda x: torch.arange(0, 1, 0.1) + x, [T("f32")]),
    Case("arange_float_dynamic", lambda x: torch.arange(0, x.shape[0] * 0.5, 0.25), [M], since=9, modes=("export", "trace")),
    Case("arange_floats_i64", lambda x: torch.arange(2.6, 9.9, 1.5, dtype=torch.int64) + x, [T("i64")]),
    Case("arange_floats_i32", lambda x: torch.arange(2.6, 9.9, 1.5, dtype=torch.int32) + x, [T("i32")]),
    Case("dim_arange", lambda x: aten._dim_arange(x, 0), [M], modes=("trace",)),
    Case("arange_large", lambda x: torch.arange(0, 500, dtype=torch.int32) + x, [T("i32")]),
    Case("arange_empty", lambda x: torch.arange(3, 3) + x, [T("i64")]),
    Case("arange_f64", lambda x: torch.arange(0, 1, 0.3, dtype=torch.float64) + x, [T("f64")]),
    Case("linspace", lambda x: torch.linspace(-1, 2, 7) + x, [S]),
    Case("linspace_one", lambda x: torch.linspace(-1, 2, 1) + x, [S]),
    Case("linspace_dynamic", lambda x: torch.linspace(0, 1, x.shape[0]), [M], modes=("trace",)),
    Case("linspace_i64", lambda x: torch.linspace(0, 10, 4, dtype=torch.int64) + x, [T("i64")]),
    Case("linspace_tensors", lambda x, y: torch.linspace(x, y, 5), [S, S]),
    Case("logspace", lambda x: torch.logspace(-1, 2, 7) + x, [S], tol=(1e-5, 1e-4)),
    Case("logspace_base", lambda x: torch.logspace(0, 3, 4, base=2) + x, [S], tol=(1e-5, 1e-5)),
    # ---- windows
    *[Case(f"{name}_{periodic}", lambda x, f=f, p=periodic: f(8, periodic=p) + x, [S])
      for name, f in (("hann", torch.hann_window), ("hamming", torch.hamming_window),
                      ("blackman", torch.blackman_window), ("bartlett", torch.bartlett_window),
                      ("kaiser", torch.kaiser_window))
      for periodic in (True, False)],
    *[Case(f"{name}_one", lambda x, f=f: f(1) + x, [S])
      for name, f in (("hann", torch.hann_window), ("blackman", torch.blackman_window), ("kaiser", torch.kaiser_window))],
    Case("hamming_factors", lambda x: torch.hamming_window(8, True, 0.6, 0.4) + x, [S]),
    Case("kaiser_beta", lambda x: torch.kaiser_window(9, False, 5.0) + x, [S]),
    Case("hann_f64", lambda x: torch.hann_window(8, dtype=torch.float64) + x, [T("f64")]),
    # ---- sizes and numbers
    Case("size", lambda x: x + x.shape[0], [M]),
    Case("size_arithmetic", lambda x: x.reshape(x.shape[0] * 2, -1) * (x.shape[0] // 3 + 7 % x.shape[0]), [M], dynamic_since=10),
    Case("size_division", lambda x: x * (x.shape[0] / 3), [M]),
    Case("size_minmax", lambda x: x[: min(x.shape[0], 3)] * max(x.shape[0], 5), [M], modes=("export",)),
    Case("size_sym_max", lambda x: x * torch.sym_max(x.shape[0], 5) - torch.sym_min(x.shape[0], 6), [M], modes=("dynamic",)),
    Case("size_float", lambda x: x * torch.sym_float(x.shape[0]), [M], modes=("dynamic",)),
    Case("size_sqrt", lambda x: x / torch.sym_sqrt(x.shape[0]), [M], modes=("dynamic",), tol=(1e-5, 1e-6)),
    Case("size_ceil", lambda x: x * math.ceil(x.shape[0] / 3) + math.floor(x.shape[0] / 3), [M], modes=("export",)),
    Case("size_pow", lambda x: x * x.shape[0] ** 2, [M], dynamic_since=12, modes=("export", "dynamic")),
    Case("size_compare", lambda x: x * torch.sym_ite(x.shape[0] > 5, 2, 3), [M], modes=("dynamic",)),
    Case("numel", lambda x: x / x.numel(), [M]),
    Case("shape_as_tensor", lambda x: torch._shape_as_tensor(x) + 1, [M], modes=("trace",)),
    Case("item", lambda x, y: x * y.item(), [M, T("i64")], modes=("export", "dynamic")),
    Case("item_float", lambda x, y: x * y.item(), [M, S], modes=("export", "dynamic"), tol=(1e-5, 1e-5)),
    Case("shape_output", lambda x: (x + 1, x.shape[0]), [M], modes=("dynamic",)),
    *[Case(f"{fn.__name__}_computed", fn, [V], second={"N": 1}, modes=("script",), tol=(1e-5, 1e-5))
      for fn in (hann, symmetric, spaced)],
]
