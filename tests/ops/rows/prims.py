"""Rows of prims.cc."""

import torch
import torch._inductor.inductor_prims  # registers fma, which torch.export(strict=True) makes of addcmul

from case import Case, T

prims = torch.ops.prims
X = T("f32", 3, 4, N=0)
I = T("i64", 3, 4, low=-9, high=9, N=0)
COUNTS = T("i64", 3, 4, low=1, high=9, N=0)
PART = T("f32", 3, 4, low=-0.9, high=0.9, N=0)
POSITIVE = T("f32", 3, 4, low=0.2, high=4, N=0)
BOTH = ("export", "dynamic")
TOL = (1e-4, 1e-5)
CPU = torch.device("cpu")


def each(names, *numbers):
    """Each operator on the same tensors."""
    return lambda *x: tuple(getattr(prims, name)(*x, *numbers) for name in names.split())


def row(name, names, inputs, tol=None, since=9):
    return Case(name, each(names), inputs, modes=BOTH, tol=tol, since=since)


def shaping(x):
    return (prims.broadcast_in_dim(x, [2, x.shape[0], 5, 4], [1, 3]), prims.transpose(x, [1, 0]), prims.reshape(x, [4, x.shape[0]]),
            prims.collapse(x, 0, 1), prims.collapse_view(x, 0, 0), prims.split_dim(x, 1, 2), prims.squeeze(x[:, None], [1]), prims.rev(x, [1]),
            prims.cat([x, x + 1], 1), prims.view_of(x) + 1, prims.clone(x))


def types(x):
    return (prims.convert_element_type(x, torch.float64), prims.convert_element_type(x, torch.int32), prims.convert_element_type(x, torch.bool),
            prims.device_put(x, CPU), prims.view_of_dtype(x, torch.float32))


def reduced(x):
    return (prims.sum(x, [0]), prims.sum(x, [0, 1]), prims.prod(x, [1]), prims.prod(x, [0, 1]),
            prims.amax(x, [1]), prims.amin(x, [0, 1]), prims.var(x, [1], 1), prims.var(x, [0, 1], 0))


def made(x):
    how = {"device": CPU, "requires_grad": False}
    return (prims.iota(5, start=2, step=3, dtype=torch.int64, **how), prims.iota(x.shape[0], start=0, step=1, dtype=torch.int32, **how) + x[:, 0],
            prims.full([2, 3], 1.5, dtype=torch.float32, **how))


def fourier(x, y):
    z = prims.fft_c2c(torch.complex(x, y), dim=[1], forward=True)
    back = prims.fft_c2c(z, dim=[0, 1], forward=False)
    half = prims.fft_r2c(x, dim=[1], onesided=True)
    return torch.view_as_real(z), torch.view_as_real(back), torch.view_as_real(half), prims.fft_c2r(half, dim=[1], last_dim_size=4)


def complex_forms(x, y):
    z = torch.complex(x, y)
    parts = [prims.add(z, z), prims.mul(z, z), prims.div(z, z + 1), prims.sub(z, z * 2), prims.exp(z), prims.conj_physical(z), prims.neg(z)]
    return *map(torch.view_as_real, parts), prims.real(z), prims.imag(z), prims.abs(z)


def drawn(x):
    how = {"dtype": torch.float32, "device": CPU}
    even = prims.uniform([50, 40], low=2.0, high=3.0, stride=[40, 1], **how)
    return (even >= 2) & (even < 3), prims.normal([3, 40], mean=0.0, std=0.0, requires_grad=False, **how) + x.sum()


ROWS = [
    row("unary", "cos cosh sin sinh tan tanh atan asinh exp exp2 expm1 abs neg ceil floor round trunc sign isfinite erf erfc erfcx cbrt reciprocal", [X], TOL),
    row("inside", "acos asin atanh erf_inv", [PART], TOL),
    row("positive", "log log2 log10 log1p sqrt rsqrt lgamma digamma", [POSITIVE], TOL),
    row("bessel", "bessel_i0 bessel_i0e bessel_i1 bessel_i1e bessel_j0 bessel_j1 spherical_bessel_j0", [POSITIVE], TOL),
    Case("above_one", lambda x: (prims.acosh(x + 1), prims.ndtri(x / 5), prims.zeta(x + 1, x), prims.igamma(x, x), prims.igammac(x, x)), [POSITIVE], modes=BOTH, tol=TOL),
    row("binary", "add sub mul div atan2 hypot fmax fmin maximum minimum eq ne lt le gt ge nextafter", [X, X], TOL),
    row("power", "pow", [POSITIVE, X], TOL),
    row("fused", "fma", [X, X, X], TOL),
    row("integers", "add sub mul bitwise_and bitwise_or bitwise_xor div fmod remainder", [I, COUNTS], since=10),
    row("remainders", "fmod remainder", [X, X], TOL, since=10),
    row("gcd", "gcd", [I, COUNTS], since=10),
    row("shifts", "shift_left shift_right_arithmetic", [I, COUNTS]),
    row("not", "bitwise_not sign", [I]),
    row("frexp", "frexp", [X]),
    Case("where", lambda x, y: prims.where(x > 0, x, y), [X, X], modes=BOTH),
    Case("shaping", shaping, [X], modes=BOTH),
    Case("types", types, [X], modes=BOTH),
    Case("strided", lambda x: (prims.copy_strided(x, [1, 3]), prims.as_strided_scatter(x, x[:2, :3] * 2, [2, 3], [4, 1], 1)), [T("f32", 3, 4)], modes=("export",), since=11),
    Case("reduced", reduced, [X], modes=BOTH, tol=TOL),
    Case("made", made, [X], modes=BOTH),
    Case("fourier", fourier, [T("f32", 3, 4), T("f32", 3, 4)], modes=("export",), tol=TOL, since=11),
    Case("complex_forms", complex_forms, [X, X], modes=BOTH, tol=TOL),
    Case("drawn", drawn, [X], modes=("export",)),
    Case("svd", lambda x: (lambda u, s, v: ((u * s) @ v, s))(*prims.svd(x, full_matrices=False)), [T("f32", 3, 4)], modes=("export",), tol=TOL, since=10),
]
