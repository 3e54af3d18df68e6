"""Rows of gamma.cc, error_function.cc, bessel.cc, polynomials.cc."""

import torch
from torch import special as S

from case import Case, T

INF, NAN = float("inf"), float("nan")
WIDE = torch.tensor([-30.5, -20.25, -9.5, -7.01, -3.0, -2.5, -1.0, -0.5, -1e-3, -0.0, 0.0, 1e-30, 1e-3, 0.5, 1.0,
                     1.5, 2.0, 3.0, 5.0, 7.99, 8.0, 10.5, 15.9, 16.1, 19.9, 20.1, 35.0, 80.0, INF, -INF, NAN])
POSITIVE = T("f32", 4, 5, low=0.01, high=30, N=0)
X = T("f32", 4, 5, N=0)
UNIT = T("f32", 4, 5, low=-1, high=1, N=0)
SHARE = torch.tensor([0.0, 1e-30, 1e-10, 1e-3, 0.1, 0.5, 0.9, 0.999, 1.0, 1.5, -0.5, NAN])

ROWS = [
    *[Case(f"{name}_wide", lambda x, f=f: f(x), [WIDE], tol=(1e-4, 1e-5)) for name, f in (
        ("lgamma", torch.lgamma), ("digamma", torch.digamma), ("erfc", torch.erfc), ("erfcx", S.erfcx),
        ("ndtr", S.ndtr), ("log_ndtr", S.log_ndtr), ("entr", S.entr), ("i0", torch.i0), ("i0e", S.i0e),
        ("i1", S.i1), ("i1e", S.i1e), ("modified_bessel_k0", S.modified_bessel_k0),
        ("modified_bessel_k1", S.modified_bessel_k1), ("bessel_j0", S.bessel_j0), ("bessel_j1", S.bessel_j1),
        ("bessel_y0", S.bessel_y0), ("bessel_y1", S.bessel_y1), ("spherical_bessel_j0", S.spherical_bessel_j0),
        ("scaled_modified_bessel_k0", S.scaled_modified_bessel_k0),
        ("scaled_modified_bessel_k1", S.scaled_modified_bessel_k1),
        ("modified_bessel_i0", S.modified_bessel_i0), ("modified_bessel_i1", S.modified_bessel_i1))],
    *[Case(f"{name}_f64", lambda x, f=f: f(x), [T("f64", 40, low=0.02, high=40, N=0)], tol=(1e-8, 1e-8))
      for name, f in (
        ("lgamma", torch.lgamma), ("digamma", torch.digamma), ("erfcx", S.erfcx), ("erfc", torch.erfc),
        ("i0e", S.i0e), ("i1e", S.i1e),
        ("scaled_modified_bessel_k0", S.scaled_modified_bessel_k0),
        ("scaled_modified_bessel_k1", S.scaled_modified_bessel_k1))],
    # PyTorch's own float64 results are off by some 1e-6 in places.
    *[Case(f"{f.__name__}_f64", lambda x, f=f: f(x), [T("f64", 40, low=0.02, high=40, N=0)], tol=(1e-4, 1e-5))
      for f in (S.bessel_j0, S.bessel_j1, S.bessel_y0, S.bessel_y1)],
    Case("airy_ai", lambda x: S.airy_ai(x), [torch.linspace(-20, 12, 60)], tol=(1e-4, 1e-6)),
    Case("airy_ai_f64", lambda x: S.airy_ai(x), [torch.linspace(-20, 12, 60, dtype=torch.float64)], tol=(1e-4, 1e-5)),
    Case("lgamma_i64", lambda x: torch.lgamma(x), [T("i64", 5, low=-3, high=9)]),
    Case("digamma_dynamic", lambda x: torch.digamma(x), [X], tol=(1e-4, 1e-5)),
    Case("erfinv", lambda x: torch.erfinv(x), [torch.tensor([-1.0, -0.999999, -0.5, 0.0, 1e-8, 0.9, 0.99999, 1.0, 1.5, NAN])]),
    Case("erfinv_f64", lambda x: torch.erfinv(x), [T("f64", 50, low=-1, high=1, N=0)], tol=(1e-12, 1e-14)),
    Case("ndtri", lambda x: S.ndtri(x), [SHARE]),
    Case("ndtri_f64", lambda x: S.ndtri(x), [SHARE.double()], tol=(1e-12, 1e-12)),
    *[Case(f"polygamma_{n}", lambda x, n=n: torch.polygamma(n, x), [POSITIVE], tol=(1e-4, 1e-5)) for n in (0, 1, 2, 5)],
    Case("polygamma_negative", lambda x: torch.polygamma(2, x), [torch.tensor([-0.5, -3.25, -8.75])], tol=(1e-4, 1e-4)),
    Case("zeta", lambda s, q: S.zeta(s, q), [T("f32", 4, 5, low=1.1, high=8, N=0), T("f32", 5, low=0.1, high=20)]),
    Case("zeta_edges", lambda s, q: S.zeta(s, q),
         [torch.tensor([1.0, 0.5, 2.0, 2.0, 2.5, 3.0]), torch.tensor([2.0, 2.0, 0.0, -3.0, -0.5, -2.5])], tol=(1e-4, 1e-5)),
    Case("mvlgamma", lambda x: torch.mvlgamma(x, 3), [T("f32", 4, 5, low=2, high=9, N=0)]),
    Case("igamma", lambda a, x: torch.igamma(a, x), [POSITIVE, T("f32", 4, 5, low=0, high=30, N=0)], tol=(1e-4, 1e-6)),
    Case("igammac", lambda a, x: torch.igammac(a, x), [POSITIVE, T("f32", 4, 5, low=0, high=30, N=0)], tol=(1e-4, 1e-6)),
    Case("igamma_edges", lambda a, x: (torch.igamma(a, x), torch.igammac(a, x)),
         [torch.tensor([0.0, 0.0, 1.0, 2.0, INF, INF, -1.0, 500.0]), torch.tensor([0.0, 1.0, 0.0, INF, 1.0, INF, 1.0, 480.0])],
         tol=(1e-4, 1e-5)),
    *[Case(name, lambda x, n, f=getattr(S, name): f(x, n), [UNIT, torch.tensor([0, 1, 2, 5, 9])], tol=(1e-4, 1e-4))
      for name in ("chebyshev_polynomial_t", "chebyshev_polynomial_u", "chebyshev_polynomial_v", "chebyshev_polynomial_w",
                   "shifted_chebyshev_polynomial_t", "shifted_chebyshev_polynomial_u",
                   "shifted_chebyshev_polynomial_v", "shifted_chebyshev_polynomial_w",
                   "hermite_polynomial_h", "hermite_polynomial_he", "laguerre_polynomial_l", "legendre_polynomial_p")],
    Case("legendre_scalar", lambda x: S.legendre_polynomial_p(x, 4), [X], tol=(1e-4, 1e-4)),
    Case("hermite_negative", lambda x: S.hermite_polynomial_h(x, -1), [X]),
    Case("laguerre_degrees", lambda n: S.laguerre_polynomial_l(0.5, n), [torch.tensor([-1, 0, 1, 3])]),
    Case("polynomial_of_nothing", lambda x, n: torch.special.chebyshev_polynomial_t(x, n), [T("f32", 0, 3), T("i64", 0, 3)]),
]
