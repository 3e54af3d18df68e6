"""Rows of complex.cc, complex_math.cc, complex_parts.cc, complex_tensors.cc, complex_matrices.cc: complex numbers inside of a program."""

import torch
from torch import fft

from case import Case, T

X, Y = T("f32", 3, 4, N=0), T("f32", 3, 4, N=0)
SMALL = [T("f32", 3, 4, low=-2, high=2, N=0), T("f32", 3, 4, low=-2, high=2, N=0)]
TOL = (1e-4, 1e-4)
EDGES = [torch.tensor([0.0, 0.0, -0.0, 1.0, -1.0, 2.5, -2.5, 0.0, 0.0, 1e-6, 30.0, -30.0]),
         torch.tensor([0.0, 1.0, -1.0, 0.0, 0.0, 1e-4, -1e-4, 2.0, -2.0, 1e-6, 1.0, 2.0])]
SQUARE = [T("f32", 2, 4, 4, N=0), T("f32", 2, 4, 4, N=0)]
TURNS = torch.tensor([1j, 2, 3 - 1j, 0])
real = torch.view_as_real
FUNCTIONS = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sigmoid", "sqrt", "rsqrt", "sin", "cos", "tan", "sinh", "cosh",
             "tanh", "square", "reciprocal", "sgn", "neg")


def reals(value):
    if isinstance(value, torch.Tensor):
        return real(value.resolve_conj()) if value.is_complex() else value
    return tuple(reals(v) for v in value)


def on(*functions):
    """Each function on the complex tensor that two real ones make."""
    return lambda x, y: tuple(reals(f(torch.complex(x, y))) for f in functions)


def with_second(*functions):
    """Each function on two complex tensors."""
    return lambda x, y: tuple(reals(f(torch.complex(x, y), torch.complex(y + 0.5, -x))) for f in functions)


def all_close(x: torch.Tensor, y: torch.Tensor):
    z = torch.complex(x, y)
    return torch.allclose(z, z * (1 + 1e-7)), torch.allclose(z, z + 1)


def spectral_layer(x, re, im):
    """The lowest frequencies mixed by complex weights, the others 0."""
    spectrum = fft.rfft2(x)
    mixed = torch.einsum("bixy,ioxy->boxy", spectrum[:, :, :3, :2], torch.complex(re, im))
    result = torch.zeros(x.shape[0], 4, x.shape[2], x.shape[3] // 2 + 1, dtype=torch.cfloat)
    result[:, :, :3, :2] = mixed
    return fft.irfft2(result, s=(x.shape[2], x.shape[3]))


def rotary(x, angles):
    """Pairs of features turned by angles, as complex numbers."""
    turns = torch.polar(torch.ones_like(angles), angles)
    pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * turns).flatten(3)


class Rotated(torch.nn.Module):
    """Complex numbers as a buffer and as a parameter."""

    def __init__(self):
        super().__init__()
        self.register_buffer("turns", torch.polar(torch.ones(4), torch.arange(4.0)))
        self.scale = torch.nn.Parameter(torch.tensor([1 + 1j, 2, 3j, 0.5]))

    def forward(self, x, y):
        return real(torch.complex(x, y) * self.turns * self.scale)


def masked_spectrum(x, mask):
    spectrum = torch.stft(x, 8, 4, window=torch.hann_window(8), return_complex=True)
    kept = spectrum * mask
    phase = torch.angle(spectrum)
    return torch.istft(torch.abs(kept) * torch.exp(1j * phase), 8, 4, window=torch.hann_window(8))


ROWS = [
    *[Case(f"{name}", on(getattr(torch, name)), SMALL, tol=TOL) for name in FUNCTIONS],
    *[Case(f"{name}_edges", on(getattr(torch, name)), EDGES, tol=TOL) for name in ("sqrt", "sgn", "tanh", "expm1", "log1p", "abs", "angle", "sigmoid")],
    *[Case(f"{name}_f64", on(getattr(torch, name)), [T("f64", 3, 4, N=0), T("f64", 3, 4, N=0)], tol=(1e-10, 1e-10))
      for name in ("exp", "log", "sqrt", "tan")],
    Case("large", on(torch.abs, torch.reciprocal, torch.sgn), [torch.tensor([1e30, 3e38, 1e-30]), torch.tensor([-1e30, 1e5, 1e-30])], tol=TOL),
    Case("powers", on(lambda z: z ** 2, lambda z: z ** -3, lambda z: z ** 0.5, lambda z: z ** 0, lambda z: 2.0 ** z, lambda z: z ** (1 + 2j)),
         [T("f32", 3, 4, low=0.2, high=2, N=0), T("f32", 3, 4, low=0.2, high=2, N=0)], tol=TOL),
    Case("power_of_zero", on(lambda z: (z * 0) ** 2.5), SMALL, tol=TOL),
    Case("arithmetic", with_second(torch.add, torch.sub, torch.mul, torch.div, torch.subtract, torch.multiply, torch.divide,
                                   lambda z, w: torch.rsub(z, w), lambda z, w: torch.add(z, w, alpha=2 - 1j), lambda z, w: z - 1j, lambda z, w: 2 / w,
                                   lambda z, w: z * w.real, lambda z, w: z.real * w, lambda z, w: z == w, lambda z, w: z != w), SMALL, tol=TOL),
    Case("pointwise", with_second(lambda z, w: torch.addcmul(z, z, w, value=2), lambda z, w: torch.addcdiv(z, z, w, value=1j),
                                  lambda z, w: torch.lerp(z, w, 0.3)), SMALL, tol=TOL),
    Case("products", with_second(lambda z, w: z @ w.t(), lambda z, w: torch.outer(z[0], w[1]), lambda z, w: torch.dot(z[0], w[1]),
                                 lambda z, w: torch.vdot(z[0], w[1]), lambda z, w: torch.inner(z, w), lambda z, w: torch.kron(z[:1], w[1:2]),
                                 lambda z, w: torch.mv(z, w[0]), lambda z, w: torch.tensordot(z, w, dims=([1], [1])),
                                 lambda z, w: torch.nn.functional.linear(z, w, w[:, 0]), lambda z, w: z @ w.mH),
         [T("f32", 3, 4), T("f32", 3, 4)], tol=TOL),
    Case("added_products", with_second(lambda z, w: torch.addmm(z @ w.t(), z, w.t(), beta=2, alpha=1j), lambda z, w: torch.addmv(z[:, 0], z, w[0]),
                                       lambda z, w: torch.addr(z[:, :3], z[:, 0], w[:, 1]),
                                       lambda z, w: torch.baddbmm((z @ w.t())[None], z[None], w.t()[None], alpha=0.5)), [T("f32", 3, 4), T("f32", 3, 4)], tol=TOL),
    Case("einsum", with_second(lambda z, w: torch.einsum("ij,kj->ik", z, w)), SMALL, tol=TOL),
    Case("norms", on(lambda z: torch.linalg.vector_norm(z, 3, 1), lambda z: z.norm(), lambda z: z.var(1), lambda z: z.std(0), lambda z: z.abs().sum(),
                     lambda z: torch.linalg.vector_norm(z)), SMALL, tol=TOL),
    Case("tests", on(lambda z: torch.isnan(z), lambda z: torch.isinf(z / 0.0), torch.isfinite, torch.isreal, torch.any, lambda z: z.all(1), torch.count_nonzero,
                     torch.logical_not), [torch.tensor([1.0, 0.0, 0.0, float("nan")]).reshape(2, 2), torch.tensor([0.0, 0.0, 2.0, 1.0]).reshape(2, 2)]),
    Case("filled", on(torch.zeros_like, torch.ones_like, lambda z: torch.full_like(z, 2 - 3j), lambda z: z.new_zeros(2, 3), lambda z: z.new_full((2,), 1j),
                      lambda z: z.new_ones(3) * 1j, lambda z: torch.full((2, 2), 1 + 2j) + z[0, 0], lambda z: torch.zeros(2, dtype=torch.cfloat) + z[0, 0],
                      lambda z: z.clone().fill_(1j)), SMALL),
    # A real operand beside a complex one has no imaginary part.
    Case("where", with_second(lambda z, w: torch.where(z.real > 0, z, w), lambda z, w: torch.where(z.real > 0, z, 1.5), lambda z, w: torch.where(z.real > 0, z, w.real),
                              lambda z, w: torch.where(z.real > 0, w.imag, z), lambda z, w: torch.where(z.real > 0, z, torch.ones(4, dtype=torch.int64))), SMALL),
    Case("masked", on(lambda z: z.masked_fill(z.real > 0, 2.5), lambda z: z.masked_fill(z.real > 0, 1 - 2j)), SMALL),
    Case("padded", on(lambda z: torch.nn.functional.pad(z, (1, 2)), lambda z: torch.nn.functional.pad(z, (1, 0, 0, 2), value=1.5)), SMALL),
    Case("joined", with_second(lambda z, w: torch.cat([z, w.real, w], 1), lambda z, w: torch.stack([z.imag, w]), lambda z, w: torch.hstack([z, w])), SMALL),
    Case("written", with_second(lambda z, w: z.index_put((torch.tensor([1]),), w[0]), lambda z, w: torch.slice_scatter(z, w[:1], 0, 1, 2),
                                lambda z, w: torch.select_scatter(z, w[0].real, 0, 1), lambda z, w: z.index_add(0, torch.tensor([0, 2]), w[:2]),
                                lambda z, w: z.scatter(1, torch.tensor([[1, 0]]), w), lambda z, w: z.index_fill(0, torch.tensor([1]), 2.0)), [T("f32", 3, 4), T("f32", 3, 4)],
         since=11),
    Case("added_by_factor", with_second(lambda z, w: z.index_add(0, torch.tensor([0, 2]), w[:2], alpha=2j), lambda z, w: z.index_add(1, torch.tensor([3, 3]), w[:, :2], alpha=0.5 - 1j),
                                        lambda z, w: z.index_add(0, torch.tensor([1]), w[:1], alpha=3)), [T("f32", 3, 4), T("f32", 3, 4)], since=11, tol=TOL),
    Case("scatter_sums", with_second(lambda z, w: z.scatter(1, torch.tensor([[1, 1]]), w, reduce="add"), lambda z, w: z.scatter(0, torch.tensor([[1, 0]]), 2 - 1j)),
         [T("f32", 3, 4), T("f32", 3, 4)]),
    # real ones beside complex ones, in each place
    Case("differences", with_second(lambda z, w: torch.diff(z, dim=0, prepend=w.real[:2]), lambda z, w: torch.diff(z, 2, append=w.imag), lambda z, w: z.real.diff(prepend=w, append=w.real),
                                    lambda z, w: torch.diff(z, prepend=w, append=z)), SMALL, tol=TOL),
    Case("masked_index", on(*[lambda z, fill=fill: torch.ops.aten._unsafe_masked_index(z, torch.tensor([True, False]), [torch.tensor([0, 9]), torch.tensor([1, 7])], fill)
                              for fill in (2.5, 2, 1 - 3j)]), [T("f32", 3, 4), T("f32", 3, 4)]),
    Case("where_numbers", on(lambda z: torch.where(z.real > 0, 1j, 2), lambda z: torch.where(z.real > 0, z.real, 1 - 2j), lambda z: torch.where(z.real > 0, torch.ones(4, dtype=torch.int64), 1j)), SMALL),
    Case("where_f64", on(lambda z: torch.where(z.real > 0, z.real, 0.1j)), [T("f64", 3, 4), T("f64", 3, 4)]),
    Case("where_places", lambda x, y: torch.where(torch.complex(x, y)), [torch.tensor([[0.0, 0, 2], [float("nan"), 0, -0.0]]), torch.tensor([[0.0, 1, 0], [0, 3, 0.0]])]),
    Case("summed_as", on(lambda z: z.sum(0, dtype=torch.complex128), lambda z: z.real.sum(dtype=torch.complex64), lambda z: z.real.mean(0, dtype=torch.complex128),
                         lambda z: z.imag.cumsum(1, dtype=torch.complex64), lambda z: z.sum(1, dtype=torch.float32)), [T("f32", 3, 4), T("f32", 3, 4)], since=11, tol=TOL),
    Case("as_bits", lambda x, y: (torch.complex(x, y).view(torch.float32), real(x.view(torch.complex64) * 1j), real(torch.complex(x, y).view(torch.complex64) * 1j)), SMALL, modes=("export", "dynamic")),
    Case("literals", lambda x: (real(torch.einsum("ij,j->i", torch.complex(x, x), TURNS)), torch.linalg.norm(TURNS, 3) + x, torch.linalg.norm(TURNS[None]) + x,
                                torch.linalg.vector_norm(TURNS) + x, torch.count_nonzero(TURNS) + x, TURNS.var() + x), [T("f32", 3, 4, N=0)], tol=TOL),
    Case("solve_by_one_matrix", on(lambda z: torch.linalg.solve(z, z[0] + 1j)), [T("f32", 4, 2, 2), T("f32", 4, 2, 2)], tol=(1e-3, 1e-3), since=11),
    Case("converted_to_bool", lambda x: (torch.complex(x.trunc(), x[0].trunc()).bool(), TURNS.to(torch.bool) & (x > 0)), [T("f32", 3, 4, low=-2, high=2, N=0)]),
    Case("converted_literals", lambda x: (TURNS.to(torch.float64) + x, torch.trapezoid(TURNS).real + x, TURNS.to(torch.complex128).imag + x), [T("f32", 3, 4, N=0)]),
    Case("products_of_elements", on(torch.prod, lambda z: z.prod(0), lambda z: z.prod(1, keepdim=True), lambda z: z.cumprod(1), lambda z: z.cumprod(-2), lambda z: z[0, 0].prod(),
                                    lambda z: z[:0].prod(0), lambda z: z[0, 0].cumprod(0), lambda z: z.real.prod(1, dtype=torch.complex64)), SMALL, tol=TOL),
    Case("distances", with_second(torch.dist, lambda z, w: torch.dist(z, w, 1), lambda z, w: torch.dist(z, w, float("inf")), lambda z, w: torch.isclose(z, w, rtol=0.9),
                                  lambda z, w: torch.isclose(z, z * (1 + 1e-6)), lambda z, w: torch.isclose(z / 0, z / 0, equal_nan=True)), SMALL, tol=TOL),
    Case("all_close", all_close, SMALL, modes=("script",)),
    Case("integrals", on(torch.trapezoid, lambda z: torch.trapezoid(z, z.real.cumsum(1), dim=1), lambda z: torch.cumulative_trapezoid(z, dx=0.5)), SMALL, tol=TOL, since=11),
    Case("matrix_norms", on(torch.linalg.matrix_norm, lambda z: torch.linalg.matrix_norm(z, 1), lambda z: torch.linalg.matrix_norm(z, -float("inf"), keepdim=True),
                            lambda z: torch.linalg.norm(z, 1), lambda z: torch.linalg.norm(z, 3, dim=1)), SMALL, tol=TOL, modes=("export", "trace")),
    Case("inverses", on(torch.inverse, torch.linalg.inv_ex, lambda z: torch.linalg.solve(z, z[..., :2] * 1j), lambda z: torch.linalg.solve(z, z[:, :, 0] + 1),
                        lambda z: torch.linalg.solve(z, z[:, :2] * 1j, left=False), lambda z: torch.linalg.matrix_power(z, -2)), SQUARE, tol=(1e-3, 1e-3), since=11),
    Case("matrix_exponentials", on(lambda z: torch.linalg.matrix_exp(z / 4), lambda z: torch.linalg.matrix_power(z, 3)), SQUARE, tol=TOL),
    Case("hermitian", on(lambda z: torch.linalg.cholesky(z @ z.mH + torch.eye(4)), lambda z: torch.linalg.cholesky(z @ z.mH + torch.eye(4), upper=True),
                         lambda z: torch.linalg.cholesky_ex(-z @ z.mH).info, lambda z: torch.linalg.eigvalsh(z), lambda z: torch.linalg.eigvalsh(z, UPLO="U")), SQUARE, tol=(1e-3, 1e-3), since=10),
    Case("singular_values", on(torch.linalg.svdvals), [T("f32", 2, 3, 4, N=0), T("f32", 2, 3, 4, N=0)], tol=TOL, since=10),
    Case("nan_to_numbers", on(lambda z: torch.nan_to_num(z, 3.0, 7.0, -5.0)), [torch.tensor([float("nan"), float("inf"), 1.0]), torch.tensor([2.0, float("-inf"), float("nan")])]),
    Case("dropout_in_evaluation", on(lambda z: torch.nn.functional.dropout(z, 0.5, False)), SMALL),
    Case("moved", on(lambda z: z[1:, ::2].reshape(-1), lambda z: z.flip(0).roll(1, 1), lambda z: torch.tensor_split(z, 2, 1)[1], lambda z: z.repeat_interleave(2, 0),
                     lambda z: z.ravel().unsqueeze(0).expand(2, -1), lambda z: torch.diagonal(z), lambda z: torch.tril(z), lambda z: z.gather(1, torch.tensor([[1, 3]])),
                     lambda z: z.index_select(1, torch.tensor([3, 1])), lambda z: z.mH), [T("f32", 3, 4), T("f32", 3, 4)]),
    Case("sums", on(lambda z: z.sum(0), lambda z: z.mean(1, keepdim=True), lambda z: z.cumsum(1), lambda z: z.diff(dim=1), lambda z: torch.nan_to_num(z)), SMALL, since=11, tol=TOL),
    Case("spectral_layer", spectral_layer, [T("f32", 2, 3, 6, 8), T("f32", 3, 4, 3, 2), T("f32", 3, 4, 3, 2)], since=11, tol=(1e-4, 1e-3)),
    Case("rotary", rotary, [T("f32", 2, 3, 5, 8, N=0), T("f32", 5, 4)], tol=TOL),
    *[Case(f"istft_{i}", lambda x, y, w, k=k: torch.istft(torch.complex(x, y), 8, window=w, **k),
           [T("f32", 2, 5, 7, N=0), T("f32", 2, 5, 7, N=0), T("f32", k.get("win_length", 8), low=0.5, high=1)], since=11 if "length" in k else 9, tol=TOL)
      for i, k in enumerate(({"hop_length": 3}, {"hop_length": 4, "length": 40}, {"hop_length": 4, "length": 9}, {"win_length": 6, "normalized": True},
                             {"center": False, "hop_length": 8}))],
    Case("istft_one", lambda x: torch.istft(torch.stft(x, 9, 4, window=torch.hann_window(9), return_complex=True), 9, 4, window=torch.hann_window(9)),
         [T("f32", 40)], since=11, tol=TOL, modes=("trace",)),
    Case("istft_frames", lambda x, y: torch.istft(torch.complex(x, y), 8, 2), [T("f32", 5, 7, F=1), T("f32", 5, 7, F=1)], tol=TOL),
    Case("istft_complex", lambda x, y: real(torch.istft(torch.complex(x, y), 8, 4, onesided=False, return_complex=True)),
         [T("f32", 8, 7), T("f32", 8, 7)], tol=TOL),
    Case("istft_two_sided", lambda x, y: torch.istft(torch.complex(x, y), 8, 4, onesided=False), [T("f64", 8, 7), T("f64", 8, 7)], tol=TOL),
    Case("masked_spectrum", masked_spectrum, [T("f32", 2, 24, N=0), T("f32", 5, 7, low=0, high=1)], tol=(1e-4, 1e-3)),
    Case("constants", on(lambda z: z * torch.tensor([1j, 2, 3 - 1j, 0]), lambda z: z + torch.tensor(2j), lambda z: torch.cat([z, torch.tensor([[1j, 0, 0, 1]])])),
         [T("f32", 3, 4), T("f32", 3, 4)]),
    Case("shapes_of_complex", with_second(lambda z, w: z.real[:1].expand_as(w), lambda z, w: z.real.reshape(-1).view_as(w), lambda z, w: z[:1].expand_as(w.real),
                                          lambda z, w: torch.broadcast_tensors(z[:1], w)[0]), SMALL),
    Case("parameter", Rotated(), SMALL, tol=TOL),
    Case("norm_names", on(lambda z: torch.linalg.norm(z), lambda z: torch.linalg.norm(z, "fro"), lambda z: torch.linalg.norm(z[0], 3)), [T("f32", 3, 4), T("f32", 3, 4)], tol=TOL),
    Case("decomposed", on(lambda z: torch.where(z.real > 0, z, 1.5), lambda z: z.masked_fill(z.real > 0, 1 - 2j), torch.sgn), SMALL, modes=("core",), tol=TOL),
]
