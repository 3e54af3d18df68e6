"""Rows of arithmetic.cc, math.cc, compare.cc."""

import torch

from case import Case, DTYPES, T

X = T("f32", 3, 4, N=0)
Y = T("f32", 4)
I = T("i64", 3, 4, low=-9, high=9, N=0)
J = T("i32", 4, low=1, high=5)
B = T("bool", 3, 4, N=0)
POSITIVE = T("f32", 3, 4, low=0.1, high=6, N=0)
SIGNED = torch.tensor([-7.5, -3.0, -0.5, 0.0, 0.5, 3.0, 7.5])
SPECIAL = torch.tensor([0.0, -0.0, 1.0, -2.5, float("inf"), -float("inf"), float("nan")])
HALVES = torch.tensor([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5, 3.49, -0.2])


def each(name, fn, inputs, dtypes=("f32", "f64", "i32", "i64"), **kwargs):
    """A row a dtype; the inputs are Inputs whose dtype is replaced."""
    rows = []
    for dtype in dtypes:
        made = [T(dtype, *i.shape, low=i.low, high=i.high, **{n: a for a, n in i.axes.items()}) for i in inputs]
        rows.append(Case(f"{name}_{dtype}", fn, made, **kwargs))
    return rows


ROWS = [
    *each("add", lambda x, y: x + y, [X, Y], ("f32", "f64", "f16", "i8", "u8", "i16", "i32", "i64", "bool")),
    *each("sub", lambda x, y: x - y, [X, Y], ("f32", "f64", "u8", "i32", "i64")),
    *each("mul", lambda x, y: x * y, [X, Y], ("f32", "f64", "i8", "i64", "bool")),
    *each("div", lambda x, y: x / (y + 7), [X, Y], ("f32", "f64", "i32", "i64")),
    Case("add_alpha", lambda x, y: torch.add(x, y, alpha=2.5), [X, Y]),
    Case("sub_alpha_i64", lambda x, y: torch.sub(x, y, alpha=3), [I, I]),
    Case("rsub", lambda x: torch.rsub(x, 2.0, alpha=0.5), [X]),
    Case("add_mixed", lambda x, i: x + i, [X, I]),
    Case("add_zero_dim", lambda x, z: x + z, [T("i32", 3, N=0), torch.tensor(2.5)]),
    Case("add_zero_dim_f64", lambda x, z: x + z, [X, torch.tensor(2.5, dtype=torch.float64)]),
    # A tracer writes the number as a float64 tensor: the saved program itself gives float64.
    Case("mul_number_to_int", lambda x: x * 2.5, [I], modes=("export", "dynamic")),
    Case("bool_plus_number", lambda x: x + 1, [B]),
    Case("empty", lambda x: x + 1.5, [T("f32", 0, 3)]),
    *each("floor_divide", lambda x, y: torch.floor_divide(x, y + 7), [X, Y], ("f32", "f64"), since=10),
    *each("floor_divide", lambda x, y: torch.floor_divide(x, y + 7), [X, Y], ("i32", "i64")),
    Case("div_floor", lambda x: torch.div(x, 0.1, rounding_mode="floor"), [torch.tensor([1.0, 0.3, -0.7, 5.0])], since=10),
    Case("div_floor_neg_i64", lambda x: torch.div(x, -4, rounding_mode="floor"), [I]),
    Case("div_trunc", lambda x: torch.div(x, 2.0, rounding_mode="trunc"), [SIGNED]),
    Case("div_trunc_i64", lambda x: torch.div(x, -4, rounding_mode="trunc"), [I]),
    *each("remainder", lambda x, y: torch.remainder(x, y + 6), [X, Y], since=10),
    Case("remainder_negative", lambda x: torch.remainder(x, -3.0), [SIGNED], since=10),
    Case("remainder_negative_i64", lambda x: torch.remainder(x, -3), [I], since=10),
    *each("fmod", lambda x, y: torch.fmod(x, y + 6), [X, Y], since=10),
    Case("fmod_negative", lambda x: torch.fmod(x, -3.0), [SIGNED], since=10),
    # one operand
    *each("abs", lambda x: x.abs(), [X], ("f32", "f64", "i8", "i64")),
    *each("neg", lambda x: -x, [X], ("f32", "f64", "i32", "i64")),
    *each("sign", lambda x: x.sign(), [X], ("f32", "i64", "bool")),
    *each("square", lambda x: x.square(), [X], ("f32", "i64")),
    *[Case(f"{name}_int", getattr(torch, name), [T("i64", 3, 4, low=1, high=5, N=0)])
      for name in ("sqrt", "exp", "log", "sin", "cos", "tanh", "sigmoid", "reciprocal", "rsqrt", "erf", "expm1")],
    *[Case(name, getattr(torch, name), [T("f32", 3, 4, low=-0.9, high=0.9, N=0)])
      for name in ("acos", "asin", "atan", "atanh", "asinh", "sinh", "cosh", "tan", "erf", "erfc", "sinc", "expm1")],
    *[Case(name, getattr(torch, name), [POSITIVE])
      for name in ("log2", "log10", "log1p", "exp2", "rsqrt", "deg2rad", "rad2deg")],
    Case("acosh", torch.acosh, [T("f32", 3, 4, low=1.1, high=5, N=0)]),
    Case("log1p_small", torch.log1p, [torch.tensor([1e-8, -1e-9, 1e-20, 0.0, float("inf"), -1.0])]),
    Case("expm1_small", torch.expm1, [torch.tensor([1e-8, -1e-9, 1e-20, 0.0, float("inf"), -float("inf"), 80.0])]),
    *[Case(f"{name}_halves", getattr(torch, name), [HALVES]) for name in ("floor", "ceil", "trunc", "round", "frac")],
    *[Case(f"{name}_i64", getattr(torch, name), [I]) for name in ("floor", "ceil", "trunc", "round")],
    Case("round_decimals", lambda x: torch.round(x, decimals=2), [X]),
    Case("round_negative_decimals", lambda x: torch.round(x * 100, decimals=-2), [X]),
    Case("logit", lambda x: torch.logit(x), [T("f32", 5, low=0.1, high=0.9)]),
    Case("logit_eps", lambda x: torch.logit(x, 0.2), [T("f32", 5, low=0, high=1)]),
    # powers
    Case("pow_tensors", torch.pow, [POSITIVE, Y]),
    *[Case(f"pow_negative_{n}", torch.pow, [torch.tensor([[-3], [-1], [0], [1], [2]], dtype=DTYPES[n]), torch.tensor([-4, -3, -1, 0, 1, 3], dtype=DTYPES[n])])
      for n in ("i32", "i64")],
    Case("pow_integers", lambda x: x**3, [I]),
    Case("pow_squares", lambda x: x**2, [X]),
    Case("pow_root", lambda x: x**0.5, [POSITIVE]),
    Case("pow_scalar_base", lambda x: 2.0**x, [X]),
    Case("pow_int_to_float", lambda x: x**1.5, [T("i64", 4, low=1, high=9)]),
    Case("atan2", torch.atan2, [X, T("f32", 3, 4, N=0)]),
    Case("atan2_axes", torch.atan2, [torch.tensor([0.0, 1.0, 0.0, -1.0, 0.0, -0.0, -0.0]),
                                     torch.tensor([1.0, 0.0, -1.0, 0.0, 0.0, -1.0, 1.0])]),
    Case("hypot", torch.hypot, [X, Y]),
    Case("addcmul", lambda x, a, b: torch.addcmul(x, a, b, value=0.5), [X, Y, X]),
    Case("addcdiv", lambda x, a, b: torch.addcdiv(x, a, b, value=2), [X, Y, POSITIVE]),
    Case("lerp", lambda x, y: torch.lerp(x, y, 0.3), [X, X]),
    Case("lerp_tensor", torch.lerp, [X, X, T("f32", 3, 4, low=0, high=1, N=0)]),
    Case("xlogy", torch.xlogy, [torch.tensor([0.0, 0.0, 2.0, 1.0]), torch.tensor([0.0, float("nan"), 3.0, 0.0])]),
    Case("logaddexp", torch.logaddexp, [X, Y]),
    Case("logaddexp_infinite", torch.logaddexp, [SPECIAL[:6], SPECIAL[:6].flip(0)]),
    Case("logaddexp2", torch.logaddexp2, [X, Y]),
    # comparisons, logic, bits
    *[row for name in ("eq", "ne", "lt", "le", "gt", "ge")
      for row in each(name, getattr(torch, name), [X, Y], ("f32", "i32", "i64", "bool"))],
    Case("eq_nan", lambda x: x == x, [SPECIAL]),
    Case("lt_mixed", lambda x, i: x < i, [X, I]),
    Case("ge_number", lambda x: x >= 0.5, [I]),
    *[row for name in ("logical_and", "logical_or", "logical_xor")
      for row in each(name, getattr(torch, name), [X, Y], ("f32", "i64", "bool"))],
    Case("logical_not", torch.logical_not, [I]),
    *[row for name in ("bitwise_and", "bitwise_or", "bitwise_xor")
      for row in each(name, getattr(torch, name), [X, Y], ("i32", "i64", "u8"))],
    *[Case(f"bits_{t}", lambda x, y: (x & y, x | y, x ^ y, x & 6),
           [torch.tensor([[lowest], [lowest + 1], [3], [100], [highest]], dtype=DTYPES[t]),
            torch.tensor([0, 1, 6, 85, lowest, highest - 2, highest] + ([-1, -86] if lowest else []), dtype=DTYPES[t])])
      for t, lowest, highest in (("u8", 0, 255), ("i8", -128, 127), ("i16", -2**15, 2**15 - 1), ("i32", -2**31, 2**31 - 1),
                                 ("i64", -2**63, 2**63 - 1))],
    Case("bits_scalar", lambda x, y: (x & y, x ^ 5), [T("i64"), T("i32")]),
    Case("bits_empty", lambda x: x | 3, [T("i64", 0, 3)]),
    Case("bits_number", lambda x: (x & x.shape[0]) | x.shape[1], [T("i64", 4, 3, N=0, W=1)]),
    *[Case(f"{name}_bool", getattr(torch, name), [B, B]) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    *each("bitwise_not", torch.bitwise_not, [X], ("i32", "i64", "u8", "bool")),
    Case("left_shift", lambda x, n: x << n, [I, T("i64", 4, low=0, high=8)]),
    Case("right_shift", lambda x, n: x >> n, [I, T("i64", 4, low=0, high=8)]),
    Case("right_shift_far", lambda x: x >> 40, [I]),
    *[Case(f"shift_{t}", lambda x, n: (torch.bitwise_left_shift(x, n), torch.bitwise_right_shift(x, n)),
           [torch.tensor([[1], [3], [100], [200 if t == "u8" else -56]], dtype=DTYPES[t]),
            torch.tensor([0, 1, 6, 7, 8, 15, 16, 30, 31, 32, 63, 64, 255 if t == "u8" else -1], dtype=DTYPES[t])])
      for t in ("u8", "i8", "i16", "i32", "i64")],
    # extrema
    *each("maximum", torch.maximum, [X, Y], ("f32", "f64", "i32", "i64", "bool")),
    *each("minimum", torch.minimum, [X, Y], ("f32", "f64", "i32", "i64", "bool")),
    Case("maximum_nan", torch.maximum, [SPECIAL, SPECIAL.flip(0)]),
    Case("fmax_nan", torch.fmax, [SPECIAL, SPECIAL.flip(0)]),
    Case("fmin_nan", torch.fmin, [SPECIAL, SPECIAL.flip(0)]),
    *each("clamp", lambda x: x.clamp(-1, 2), [X], ("f32", "f64", "i32", "i64")),
    Case("clamp_min", lambda x: x.clamp(min=0.5), [X]),
    Case("clamp_reversed", lambda x: x.clamp(2, -1), [X]),
    Case("clamp_tensors", lambda x, low: torch.clamp(x, low, low + 2), [X, Y]),
    Case("clamp_promotes", lambda x: x.clamp(-0.5, 1.5), [I]),
    Case("clamp_nan", lambda x: x.clamp(-1, 1), [SPECIAL]),
    *[Case(f"clamp_one_bound_{name}", lambda x: (x.clamp(max=0), x.clamp(min=0)), [SPECIAL.to(dtype)])
      for name, dtype in (("f16", torch.float16), ("f32", torch.float32), ("f64", torch.float64))],
    Case("isinf", torch.isinf, [SPECIAL], since=10),
    Case("isnan", torch.isnan, [SPECIAL]),
    Case("isfinite", torch.isfinite, [SPECIAL]),
    Case("isposinf", torch.isposinf, [SPECIAL]),
    Case("isneginf", torch.isneginf, [SPECIAL]),
    Case("isnan_i64", torch.isnan, [I]),
    # large odd quotients: a half is not representable there
    Case("floor_divide_odd", lambda x: (torch.floor_divide(x, 1.0), torch.floor_divide(x, -1.0), x // 3),
         [torch.tensor([8388609.0, 16777215.0, -8388609.0, 8388608.0, 7.0, -0.0, 1e30])], since=10),
    Case("floor_divide_odd_f64", lambda x: (torch.floor_divide(x, 1.0), x // -3),
         [torch.tensor([4503599627370497.0, 9007199254740991.0, -4503599627370497.0], dtype=torch.float64)], since=10),
    Case("round_edges", lambda x: torch.round(x),
         [torch.tensor([8388609.0, -8388609.0, 16777215.0, 0.49999997, -0.49999997, 4194304.5, 4194305.5, float("inf")])]),
    Case("hypot_special", lambda x, y: torch.hypot(x.unsqueeze(1), y), [SPECIAL, SPECIAL]),
]
