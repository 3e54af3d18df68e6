"""Rows of numeric.cc, differences.cc, cumulative.cc."""

import torch

from case import Case, T

X = T("f32", 3, 4, N=0)
I = T("i64", 3, 4, low=-20, high=20, N=0)
SPECIAL = torch.tensor([0.0, -0.0, 1.0, -2.5, float("inf"), -float("inf"), float("nan"), 1e-42, 3e38])
S64 = SPECIAL.double()

ROWS = [
    Case("signbit", lambda x: torch.signbit(x), [torch.tensor([0.0, -0.0, 1.0, -3.0, float("inf")])]),
    Case("signbit_i64", lambda x: torch.signbit(x), [I]),
    Case("copysign", lambda x, y: torch.copysign(x, y), [X, T("f32", 3, 4, N=0)]),
    Case("copysign_zero", lambda x, y: torch.copysign(x, y), [torch.ones(2), torch.tensor([0.0, -0.0])]),
    Case("copysign_scalar", lambda x: torch.copysign(x, -1.0), [I]),
    Case("sgn", lambda x: torch.sgn(x), [X]),
    *[Case(f"{f.__name__}_special{'_f64' if x is S64 else ''}", lambda x, f=f: f(x), [x])
      for f in (torch.sign, torch.sgn) for x in (SPECIAL, S64)],
    Case("angle", lambda x: torch.angle(x), [X]),
    Case("angle_i64", lambda x: torch.angle(x), [I]),
    Case("heaviside", lambda x, v: torch.heaviside(x.round(), v), [X, T("f32", 4)]),
    Case("nan_to_num", lambda x: torch.nan_to_num(x), [SPECIAL]),
    Case("nan_to_num_values", lambda x: torch.nan_to_num(x, 1.0, 2.0, 3.0), [SPECIAL]),
    Case("nan_to_num_f64", lambda x: torch.nan_to_num(x), [S64]),
    Case("frexp", lambda x: torch.frexp(x), [SPECIAL]),
    Case("frexp_f64", lambda x: torch.frexp(x), [torch.tensor([1e-310, 1.7e308, -8.0, 0.0], dtype=torch.float64)]),
    Case("frexp_dynamic", lambda x: torch.frexp(x), [X]),
    Case("ldexp", lambda x, n: torch.ldexp(x, n), [X, T("i64", 4, low=-5, high=5)]),
    Case("nextafter", lambda x, y: torch.nextafter(x, y), [SPECIAL, SPECIAL.flip(0)]),
    Case("nextafter_f64", lambda x, y: torch.nextafter(x, y), [S64, S64.flip(0)]),
    Case("nextafter_power", lambda x: (torch.nextafter(x, x - 1), torch.nextafter(x, x + 1)),
         [torch.tensor([1.0, 2.0, 0.5, -1.0, -4.0])]),
    Case("gcd", lambda x, y: torch.gcd(x, y), [I, T("i64", 4, low=-20, high=20)], since=10),
    Case("gcd_zero", lambda x, y: torch.gcd(x, y), [torch.tensor([0, 0, 6]), torch.tensor([0, 5, 0])], since=10),
    Case("lcm", lambda x, y: torch.lcm(x, y), [I, T("i64", 4, low=-20, high=20)], since=10),
    *[Case(f"lcm_{dtype}", lambda x, y: torch.lcm(x, y), [T(dtype, 3, 8, low=-120, high=120, N=0), T(dtype, 8, low=-120, high=120)],
           since=10) for dtype in ("i8", "u8")],
    Case("lcm_i32", lambda x, y: torch.lcm(x, y), [T("i32", 5, low=0, high=9), T("i32", 5, low=0, high=9)], since=10),
    Case("isclose", lambda x: torch.isclose(x, x.round(), rtol=0.1), [X]),
    Case("isclose_nan", lambda x: torch.isclose(x, x, equal_nan=True), [SPECIAL]),
    Case("isclose_i64", lambda x: torch.isclose(x, x + 1, rtol=0.2), [I]),

    Case("isin", lambda x, y: torch.isin(x, y), [I, T("i64", 7, low=-20, high=20)]),
    Case("isin_invert", lambda x: torch.isin(x, torch.tensor([1, 2, 3]), invert=True), [I]),
    Case("isreal", lambda x: torch.isreal(x), [X]),
    Case("xlog1py", lambda x, y: torch.special.xlog1py(x, y), [X, T("f32", 3, 4, low=-0.9, high=4, N=0)]),
    Case("xlog1py_scalar", lambda y: torch.special.xlog1py(0, y), [SPECIAL]),
    Case("diff", lambda x: torch.diff(x), [X]),
    Case("diff_twice", lambda x: torch.diff(x, n=2, dim=0), [T("f32", 5, 2, N=0)]),
    Case("diff_ends", lambda x: torch.diff(x, prepend=x[:, :1], append=x), [X]),
    Case("diff_bool", lambda x: torch.diff(x), [T("bool", 3, 5, N=0)]),
    Case("trapezoid", lambda y: torch.trapezoid(y, dx=0.5), [X]),
    Case("trapezoid_x", lambda y, x: torch.trapezoid(y, x, dim=0), [T("f32", 5, 2), T("f32", 5)]),
    Case("trapezoid_x_matrix", lambda y, x: torch.trapezoid(y, x), [X, T("f32", 3, 4, N=0)]),
    *[Case(f"trapezoid_{dtype}", lambda y: torch.trapezoid(y, dx=0.5), [T(dtype, 3, 4, high=120, N=0)]) for dtype in ("u8", "i8", "i64")],
    *[Case(f"trapezoid_x_{dtype}", lambda y, x: torch.trapezoid(y, x), [T(dtype, 3, 4, high=120, N=0), T("u8", 4, high=200)])
      for dtype in ("u8", "i64", "f32")],
    Case("cumulative_trapezoid_u8", lambda y: torch.cumulative_trapezoid(y), [T("u8", 3, 4, high=200, N=0)], since=11),
    Case("cumulative_trapezoid", lambda y: torch.cumulative_trapezoid(y), [X], since=11),
    Case("gradient", lambda x: torch.gradient(x, spacing=0.5), [T("f32", 5, 6)]),
    Case("gradient_axes", lambda x: torch.gradient(x, dim=(1, 0), spacing=(2.0, 3.0)), [T("f32", 5, 6)], modes=("export", "dynamic")),
    Case("gradient_edge", lambda x: torch.gradient(x, dim=1, edge_order=2), [T("f32", 5, 6)]),
    Case("gradient_uneven", lambda x, c: torch.gradient(x, spacing=(c.cumsum(0),), dim=1),
         [T("f32", 5, 6), T("f32", 6, low=0.5, high=2)], since=11),
    Case("gradient_uneven_edge", lambda x, c: torch.gradient(x, spacing=(c.cumsum(0),), dim=1, edge_order=2),
         [T("f32", 5, 6), T("f32", 6, low=0.5, high=2)], tol=(1e-4, 1e-4), since=11),
    Case("cumprod", lambda x: torch.cumprod(x, 1), [X]),
    Case("cumprod_first", lambda x: torch.cumprod(x, 0), [X]),
    Case("cumprod_i64", lambda x: torch.cumprod(x, 1), [T("i64", 3, 4, N=0)]),
    Case("logcumsumexp", lambda x: torch.logcumsumexp(x, 1), [X]),
    Case("logcumsumexp_infinite", lambda x: torch.logcumsumexp(x, 0),
         [torch.tensor([-float("inf"), -float("inf"), 1.0, float("inf"), 2.0])]),
]
