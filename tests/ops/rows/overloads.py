"""Rows of random.cc and random_gamma.cc, and overloads and other names of operators that the rest of the rows do
not call: one row for each group."""

import math
from typing import Dict, List

import torch

from case import DTYPES, Case, T

aten = torch.ops.aten
X = T("f32", 3, 4, N=0)
I = T("i64", 3, 4, low=-9, high=9, N=0)
U = T("i64", 3, 4, low=0, high=5, N=0)
SMALL = T("f32", 3, 4, low=-0.9, high=0.9, N=0)
IMAGE = T("f32", 2, 3, 6, 7, N=0)
SCRIPT = ("script",)


def calls(*operators):
    """Each operator on the same tensors."""
    return lambda *x: tuple(operator(*x) for operator in operators)


def on(number, *overloads):
    """Each overload on a tensor and the number."""
    return lambda x: tuple(overload(x, number) for overload in overloads)


def under(number, *overloads):
    """Each overload on the number and a tensor."""
    return lambda x: tuple(overload(number, x) for overload in overloads)


# ---------------------------------------------------------------- scripted functions of numbers


def float_functions(x: torch.Tensor):
    a = float(x.sum()) / 1000 + 0.3
    first = [math.acos(a), math.asin(a), math.acosh(a + 2), math.asinh(a), math.atan(a), math.atanh(a), math.atan2(a, 2.0)]
    second = [math.cos(a), math.sin(a), math.tan(a), math.cosh(a), math.sinh(a), math.tanh(a), math.exp(a), math.expm1(a)]
    third = [math.log(a + 1), math.log10(a + 1), math.log1p(a + 1), math.sqrt(a + 1), math.erf(a), math.erfc(a)]
    return torch.tensor(first), torch.tensor(second), torch.tensor(third)


def int_functions(x: torch.Tensor):
    a = x.size(0)
    first = [math.acos(a - 2), math.asin(a - 2), math.acosh(a), math.asinh(a), math.atan(a), math.atanh(a - 3)]
    second = [math.cos(a), math.sin(a), math.tan(a), math.cosh(a), math.sinh(a), math.tanh(a), math.exp(a), math.expm1(a)]
    third = [math.log(a), math.log10(a), math.log1p(a), math.sqrt(a), math.erf(a), math.erfc(a), math.atan2(a, 2)]
    return torch.tensor(first), torch.tensor(second), torch.tensor(third)


def number_functions(x: torch.Tensor):
    a = x.mean().item() / 1000 + 0.3
    first = [math.acos(a), math.asin(a), math.asinh(a), math.atan(a), math.atanh(a), math.atan2(a, a)]
    second = [math.cos(a), math.sin(a), math.tan(a), math.cosh(a), math.sinh(a), math.tanh(a), math.exp(a), math.expm1(a)]
    third = [math.log(a), math.log10(a), math.log1p(a), math.sqrt(a), math.erf(a), math.erfc(a), math.acosh(a + 3)]
    return torch.tensor(first), torch.tensor(second), torch.tensor(third)


def float_rounding(x: torch.Tensor):
    a, n = float(x.sum()) + 0.5, x.size(0)
    whole = [math.floor(a), math.ceil(a), math.floor(n), math.ceil(n), int(a)]
    return whole, [a // 3.0, a // n, a % 3.0, a % n, math.fmod(a, 3.0), math.fmod(a, n), math.fmod(n, 2), float(round(a)), float(round(n)), -a, a + n, a - n]


def float_comparisons(x: torch.Tensor):
    a, n = float(x.sum()), x.size(0)
    floats = [a >= 1.0, a > 1.0, a <= 1.0, a < 1.0, a == 1.0, a != 1.0]
    mixed = [a >= n, a > n, n <= a, n < a, a == n, a != n, n >= 2, n != 3, True == (n > 2), (a > 1.0) != (n > 2)]
    kinds = [math.isnan(a), math.isinf(a), math.isfinite(a)]
    return floats, mixed, kinds


def number_comparisons(x: torch.Tensor):
    a, b = x.sum().item(), x.mean().item()
    return [a >= b, a > b, a <= b, a < b, a == b, a != b], x * (a + b), x * (a - b), x * (a * b), x * (-a)


def powers(x: torch.Tensor):
    a, n = float(x.abs().sum()), x.size(0)
    return [a ** 2, 2.0 ** n, float(2 ** n), a ** 0.5]


def lists_of_numbers(x: torch.Tensor):
    n, a = x.size(0), float(x.sum())
    ints, floats, flags = [n, 2, n + 1], [a, 2.5, 1.0], [n > 2, False]
    same = [ints == [3, 2, 4], floats == [1.0, 2.5], flags == [True, False], floats != [2.0], flags != [True], ["a"] == ["b"], ["a"] != ["b"]]
    ints.sort()
    floats.sort()
    return same, x * (ints[0] + 10 * ints[1] + 100 * ints[2]), x * (floats[0] + floats[1] * 10), [all(ints), any(ints), all(flags), any(flags)]


def list_positions(x: torch.Tensor):
    ints, floats, names = [4, 2, 3], [0.5, 1.5], ["a", "b"]
    n = ints.index(2) + floats.index(1.5) * 10 + names.index("b") * 100 + len(names) + len("abc") + "hello".find("l")
    return x * n


def list_positions_computed(x: torch.Tensor):
    n, a = x.size(0), float(x.sum())
    return x * ([n, 7, n].index(7) + [a, 1.5, a].index(1.5) * 10 + [n > 9, n > 1].index(True) * 100)


def strings(x: torch.Tensor):
    name = "left" + "_" + "right"
    parts = name.split("_")
    n = len(parts[0]) + len(name[1:3]) + int("a" < "b") + int("a" <= "b") + int("a" > "b") + int("a" >= "b") + int(name != "left")
    letters = list("abc")
    return x + n + len(letters) + int(letters[0] == "a")


def dictionaries(x: torch.Tensor):
    a: Dict[str, torch.Tensor] = {"x": x, "y": x + 1}
    b: Dict[int, torch.Tensor] = {1: x * 2}
    c: Dict[float, int] = {0.5: 3}
    d: Dict[bool, int] = {True: 4}
    a["z"] = x + 2
    b[2] = x * 3
    c[1.5] = 5
    d[False] = 6
    del a["y"]
    del b[1]
    e = a.copy()
    gone = a.pop("x")
    none = a.pop("none", x - 7)
    taken = b.pop(2)
    count = c.pop(0.5) + d.pop(True) + d.pop(True, 9)
    return a["z"], gone, none, taken, e["x"] * (len(a) + 10 * len(b) + 100 * len(c) + 1000 * len(d)) + count


def lists_changed(x: torch.Tensor):
    a: List[torch.Tensor] = [x, x + 1]
    a.append(x + 2)
    a.insert(1, x + 3)
    a[0] = x * 5
    b = a.copy()
    last = a.pop()
    del a[1]
    return a, b[1], last


def made_tensors(x: torch.Tensor):
    n, a = x.size(0), float(x.sum())
    return (torch.tensor(n), torch.tensor(a), torch.tensor(n > 2), torch.as_tensor(n), torch.as_tensor(a), torch.as_tensor(n > 2),
            torch.as_tensor([n, 2]), torch.as_tensor(x, dtype=torch.int32))


def kinds_of_tensor(x: torch.Tensor, y: torch.Tensor):
    return x.to(y), x.to(torch.float64), x.to(torch.device("cpu")), x.to("cpu"), x.device == y.device, x.device != y.device


def range_with_step(x: torch.Tensor):
    y = x
    for i in range(1, x.size(0) + 4, 2):
        y = y + i
    return y


def tensors_in_lists(x: torch.Tensor):
    one, two = x.sum(), x.sum() + 1
    return [one, two] == [one, two], [one] != [two], [one, two].index(two)


def whole_tensors(x: torch.Tensor, y: torch.Tensor):
    return [torch.allclose(x, y), torch.allclose(x, x + 1e-7), torch.equal(x, y), torch.equal(x, x * 1), torch.is_nonzero(x.sum())]


NUMBERS = ((float_functions, 9), (int_functions, 9), (number_functions, 9), (float_rounding, 11), (float_comparisons, 10),
           (number_comparisons, 9), (powers, 9), (lists_of_numbers, 11), (list_positions, 9), (list_positions_computed, 9), (strings, 9),
           (dictionaries, 9), (lists_changed, 9), (made_tensors, 9), (range_with_step, 9))


def complex_numbers(x: torch.Tensor):
    a = complex(1.5, -2.0)
    b = (a + 1.0) * (2 - a) / (a + 1)
    return torch.view_as_real(torch.complex(x, x) * b), [abs(b), float(b == a), float(b != a), float(a == 1.5)]


# ---------------------------------------------------------------- the rows


def gamma_moments(x: torch.Tensor):
    draws = aten._standard_gamma(x.expand(200000, -1))
    return (draws.mean(0) / x - 1).abs() < 0.05, (draws.var(0) / x - 1).abs() < 0.05


BATCH = [IMAGE, T("f32", 3), T("f32", 3), T("f32", 3), T("f32", 3, low=0.1, high=2)]

ROWS = [
    *[Case(fn.__name__, fn, [T("f32", 3, 4)], since=since, modes=SCRIPT, tol=(1e-4, 1e-4)) for fn, since in NUMBERS],
    Case("kinds_of_tensor", kinds_of_tensor, [X, T("i64", 2)], modes=SCRIPT),
    Case("complex_numbers", complex_numbers, [X], modes=SCRIPT),
    Case("tensors_in_lists", tensors_in_lists, [X], modes=SCRIPT),
    # a tensor and a number
    Case("compare_number", on(1.5, aten.less.Scalar, aten.less_equal.Scalar, aten.le.Scalar, aten.greater.Scalar,
                              aten.greater_equal.Scalar, aten.ne.Scalar, aten.not_equal.Scalar), [X]),
    Case("compare_tensor", calls(aten.less.Tensor, aten.less_equal.Tensor, aten.greater.Tensor, aten.greater_equal.Tensor,
                                 aten.not_equal.Tensor), [I, T("i64", 4)]),
    Case("arithmetic_number", on(2.5, aten.div.Scalar, aten.divide.Scalar, aten.true_divide.Scalar, aten.multiply.Scalar,
                                 aten.subtract.Scalar, aten.rsub.Scalar, aten.xlogy.Scalar_Other), [X]),
    Case("arithmetic_tensor", calls(aten.divide.Tensor, aten.true_divide.Tensor, aten.multiply.Tensor, aten.subtract.Tensor,
                                    aten.rsub.Tensor, aten.max.other, aten.min.other), [X, T("f32", 4, low=1, high=3)]),
    Case("divide_mode", lambda x: (aten.div.Scalar_mode(x, -2, rounding_mode="trunc"), aten.divide.Scalar_mode(x, 3, rounding_mode="floor"),
                                   aten.divide.Tensor_mode(x, x * 0 - 2, rounding_mode="trunc"), aten.floor_divide.Scalar(x, -4)), [I]),
    Case("number_first", under(2.5, aten.xlogy.Scalar_Self), [T("f32", 3, 4, low=0.1, N=0)]),
    Case("bits_number", on(5, aten.bitwise_and.Scalar, aten.bitwise_or.Scalar, aten.bitwise_xor.Scalar,
                           aten.bitwise_left_shift.Tensor_Scalar, aten.bitwise_right_shift.Tensor_Scalar, aten.__lshift__.Scalar,
                           aten.__rshift__.Scalar), [I]),
    Case("bits_number_first", under(77, aten.bitwise_and.Scalar_Tensor, aten.bitwise_or.Scalar_Tensor, aten.bitwise_xor.Scalar_Tensor,
                                    aten.bitwise_left_shift.Scalar_Tensor, aten.bitwise_right_shift.Scalar_Tensor), [U]),
    Case("clamps", lambda x, y: (aten.clamp_max(x, 1.0), aten.clamp_min(x, 1.0), aten.clamp_max.Tensor(x, y), aten.clamp_min.Tensor(x, y)),
         [X, T("f32", 4)]),
    Case("other_names", calls(aten.special_erf, aten.special_erfc, aten.special_expm1, aten.special_sinc), [X]),
    Case("special_softmaxes", calls(lambda x: aten.special_softmax(x, 1), lambda x: aten.special_log_softmax(x, 0),
                                    lambda x: aten._softmax(x, 1, False), lambda x: aten._log_softmax(x, 0, False)), [X]),
    # reductions
    Case("spreads", calls(aten.std, aten.var, aten.std_mean, aten.var_mean, lambda x: aten.std_mean.dim(x, [1]),
                          lambda x: aten.var_mean.correction(x, [0], correction=0), aten.min), [X]),
    Case("norms", calls(lambda x: aten.norm.Scalar(x, 2), lambda x: aten.norm.ScalarOpt_dim(x, 1, [1]),
                        lambda x: aten.norm.ScalarOpt_dim_dtype(x, 2, [1], True, dtype=torch.float64),
                        lambda x: aten.norm.ScalarOpt_dtype(x, 3, dtype=torch.float64), lambda x: aten.linalg_norm.ord_str(x, "fro")),
         [X], tol=(1e-5, 1e-5)),
    Case("whole_tensors", whole_tensors, [X, X], modes=SCRIPT),
    # shapes
    Case("splits", calls(lambda x: aten.split.sizes(x, [1, 3], 1), lambda x: aten.split.Tensor(x, 3, 1)), [X]),
    Case("narrow_tensor", lambda x: aten.narrow.Tensor(x, 1, torch.tensor(1), 2), [X], modes=("trace",)),
    Case("tensor_split_tensor", lambda x: aten.tensor_split.tensor_indices_or_sections(x, torch.tensor([1, 3]), 1), [X], modes=("trace",)),
    Case("at_least", lambda x, y: (aten.atleast_1d.Sequence([x.sum(), y]), aten.atleast_3d.Sequence([x, y])), [X, T("f32", 4)]),
    Case("meshgrid", lambda x, y: aten.meshgrid([x, y]), [T("f32", 3, N=0), T("f32", 4)]),
    Case("transposed_names", calls(aten.numpy_T, aten.mT, aten.mH), [X]),
    Case("views_copied", lambda x: aten.view_copy.dtype(x, torch.int32), [X], since=26),
    Case("views", lambda x: aten._unsafe_view(x, [-1, 2]), [X]),
    Case("reshape_from_tensor", lambda x: aten._reshape_from_tensor(x, torch.tensor([6, 2])), [T("f32", 3, 4)], modes=("trace",)),
    Case("complex_copies", lambda x: aten.view_as_real_copy(aten.view_as_complex_copy(x)), [T("f32", 3, 2, N=0)]),
    Case("copies", calls(aten.lift, lambda x: aten.copy(x, x[0]), aten.conj, aten.conj_physical), [X]),
    Case("pads", calls(lambda x: aten.reflection_pad2d(x, [1, 2, 0, 1]), lambda x: aten.replication_pad2d(x, [1, 2, 0, 1]),
                       lambda x: aten.constant_pad_nd(x, [1, -1, 2, 0], 0.5)), [IMAGE]),
    Case("pads_1d", calls(lambda x: aten.reflection_pad1d(x, [1, 2]), lambda x: aten.replication_pad1d(x, [1, 2])), [T("f32", 2, 3, 6, N=0)]),
    Case("pads_3d", calls(lambda x: aten.reflection_pad3d(x, [1, 2, 0, 1, 1, 1]), lambda x: aten.replication_pad3d(x, [1, 2, 0, 1, 3, 0])),
         [T("f32", 2, 3, 4, 5, 6, N=0)]),
    # indices
    Case("index_unsafe", lambda x, i: (aten._unsafe_index(x, [None, i]), aten._unsafe_index_put(x, [i[:1]], x[:1, :1] * 0 + 1)), [X, T("i64", 2, low=0, high=3)], since=11),
    Case("unique", lambda x: aten._unique(x, True, True), [T("i64", 9, low=0, high=4, N=0)], since=11),
    Case("embedding_bags", lambda w, i, o: (aten._embedding_bag(w, i, o)[0], aten._embedding_bag_forward_only(w, i, o)[0], aten.embedding_bag(w, i, o)[0]),
         [T("f32", 10, 3), T("i64", 6, low=0, high=10), torch.tensor([0, 2, 5])]),
    # products
    Case("einsum_names", lambda x, y: torch.einsum(x, [0, 1], y, [1, 2], [2, 0]), [X, T("f32", 4, 5)]),
    Case("determinant", lambda x: aten._linalg_det(x)[0], [T("f32", 2, 3, 3, N=0)], since=11, tol=(1e-4, 1e-4)),
    # layers
    Case("convolutions", lambda x, w: (aten.convolution(x, w, None, [2, 1], [1, 1], [1, 1], False, [0, 0], 1),
                                       aten._convolution.deprecated(x, w, None, [1, 1], [0, 1], [1, 1], False, [0, 0], 1, False, False, False)),
         [IMAGE, T("f32", 4, 3, 3, 3)], tol=(1e-4, 1e-4)),
    Case("batch_norms", lambda x, w, c, m, v: (aten._native_batch_norm_legit_no_training(x, w, c, m, v, 0.1, 1e-5)[0],
                                               aten._native_batch_norm_legit_functional(x, w, c, m, v, False, 0.1, 1e-5)[0],
                                               aten._native_batch_norm_legit.no_stats(x, w, c, True, 0.1, 1e-5)[0]), BATCH, tol=(1e-4, 1e-5)),
    Case("group_norm", lambda x, w, c: aten.native_group_norm(x, w, c, 2, 6, 20, 3, 1e-5), [T("f32", 2, 6, 4, 5), T("f32", 6), T("f32", 6)], tol=(1e-4, 1e-5)),
    Case("layer_norm", lambda x, w, c: aten.native_layer_norm(x, [4], w, c, 1e-5), [X, T("f32", 4), T("f32", 4)], tol=(1e-4, 1e-5)),
    Case("attentions", calls(lambda q, k, v: aten._scaled_dot_product_flash_attention_for_cpu(q, k, v)[0],
                             lambda q, k, v: aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, is_causal=True)[0]), [T("f32", 2, 2, 5, 8, N=0)] * 3, tol=(1e-4, 1e-5)),
    Case("prelu_kernel", lambda x, w: aten._prelu_kernel(x, w), [X, T("f32", 4)]),
    Case("upsamples", lambda x: (aten.upsample_bilinear2d(x, [9, 5], False), aten.upsample_bicubic2d(x, [9, 5], True), aten.upsample_nearest2d(x, [9, 5])),
         [IMAGE], tol=(1e-4, 1e-5)),
    Case("upsamples_aa", lambda x: (aten._upsample_bilinear2d_aa(x, [3, 4], False), aten._upsample_bicubic2d_aa(x, [3, 4], False)), [IMAGE], tol=(1e-4, 1e-4)),
    Case("upsample_linear", lambda x: aten.upsample_linear1d(x, [9], False), [T("f32", 2, 3, 6, N=0)], tol=(1e-4, 1e-5)),
    Case("upsample_volume", lambda x: (aten.upsample_trilinear3d(x, [5, 6, 7], False), aten.upsample_nearest3d(x, [5, 6, 7]), aten.upsample_nearest3d.vec(x, [5, 6, 7], None)),
         [T("f32", 2, 3, 4, 5, 6, N=0)], tol=(1e-4, 1e-5)),
    Case("grid_sampler", lambda x, g: aten.grid_sampler_2d(x, g, 0, 1, False), [IMAGE, T("f32", 2, 3, 4, 2, low=-1, high=1, N=0)], tol=(1e-4, 1e-5)),
    Case("losses", lambda x, t: (aten.nll_loss(x, t), aten.nll_loss_forward(x, t, None, 1, -100)), [X, T("i64", 3, low=0, high=4, N=0)]),
    Case("losses_2d", lambda x, t: aten.nll_loss2d(x, t), [IMAGE, T("i64", 2, 6, 7, low=0, high=3, N=0)]),
    Case("packed_rnns", lambda x, h, a, c, d, e: (aten.rnn_tanh.input(x, h, [a, c, d, e], True, 1, 0.0, False, False, True)[0],), [T("f32", 2, 5, 4), T("f32", 1, 2, 3), T("f32", 3, 4), T("f32", 3, 3), T("f32", 3), T("f32", 3)], tol=(1e-4, 1e-5)),
    # transforms
    Case("ffts", lambda x: (aten.view_as_real(aten._fft_r2c(x, [1], 0, True)), aten._fft_c2r(aten._fft_r2c(x, [1], 0, True), [1], 2, 6),
                            aten.view_as_real(aten._fft_c2c(aten._fft_r2c(x, [1], 0, False), [1], 1, True))), [T("f32", 3, 6, N=0)], since=11, tol=(1e-4, 1e-4)),
    # made of nothing
    Case("hamming", lambda x: (x + aten.hamming_window(4), x + aten.hamming_window.periodic_alpha(4, False, 0.6)), [X]),
    Case("linspaces", lambda x: (aten.linspace.Scalar_Tensor(0, x[0, 0], 4), aten.linspace.Tensor_Scalar(x[0, 0], 1, 4)), [X]),
    Case("buckets", lambda x: (aten.bucketize.Scalar(1.5, x.sort().values),), [T("f32", 6, N=0)], dynamic_since=10),
    # random ones: only their shapes and dtypes are the same
    Case("random_shapes", lambda x: tuple(r * 0 for r in (aten.rand_like(x), aten.randn_like(x), aten.randint_like(x, 5), aten.randint_like.low_dtype(x, 2, 5),
                                                          aten.rand([2, 3]), aten.randn([2, 3]), aten.randint(5, [2]), aten.randint.low(2, 5, [2]))), [X]),
    Case("random_normals", lambda x: tuple(r * 0 for r in (aten.normal.Tensor_float(x, 2.0), aten.normal.float_Tensor(1.0, x.abs()), aten.normal.Tensor_Tensor(x, x.abs()),
                                                           aten.normal_functional(x, 1.0, 2.0), aten.normal.float_float(0.0, 1.0, [2, 3]))), [X]),
    Case("random_choices", lambda x: tuple(r * 0 for r in (aten.bernoulli(x), aten.bernoulli.p(x, 0.3), aten.bernoulli.Tensor(x, x))), [T("f32", 3, 4, low=0.1, high=0.9, N=0)]),
    Case("multinomial", lambda x: aten.multinomial(x, 3, True) * 0, [T("f32", 3, 4, low=0.1, high=0.9, N=0)], modes=("trace",)),
    Case("random_gammas", lambda x: (aten._standard_gamma(x) * 0, aten._sample_dirichlet(x).sum(1)), [T("f32", 3, 4, low=0.1, high=9, N=0)], tol=(1e-5, 1e-5), modes=("export", "trace")),
    # mean and variance are the parameter; the error of 200,000 draws stays far below 5%
    Case("gamma_moments", gamma_moments, [torch.tensor([0.3, 1.0, 7.0])], modes=("export", "trace")),
    *[Case(f"gamma_edges_{dtype}", lambda x: aten._standard_gamma(x), [torch.tensor([float("nan"), -1.0, 0.0, float("inf")], dtype=DTYPES[dtype])], modes=("export", "trace"))
      for dtype in ("f32", "f64")],
]
