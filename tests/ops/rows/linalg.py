"""Rows of linalg.cc, qr.cc, ldl.cc, ldl_factor.cc, lstsq.cc, jacobi.cc, svd.cc, singular_vectors.cc,
products.cc, distance.cc."""

import torch
from torch import linalg as L

from case import Case, T

A = T("f32", 3, 4, 4, B=0)
ONE = T("f32", 4, 4)
TALL = T("f32", 2, 5, 3, B=0)
WIDE = T("f32", 2, 3, 5, B=0)
RHS = T("f32", 3, 4, 2, B=0)
V = T("f32", 5, N=0)
TOL = (1e-3, 1e-4)


def positive(a):
    return a @ a.mT + 2 * torch.eye(a.shape[-1], dtype=a.dtype)


def symmetric_factors():
    """LDL factors with blocks of one and of two."""
    generator = torch.Generator().manual_seed(1)
    a = torch.rand(6, 6, generator=generator) * 2 - 1
    a = (a + a.mT) * torch.tensor([0.0, 0.0, 1.0, 1.0, 1.0, 0.0]).diag().add(1 - torch.eye(6))
    return L.ldl_factor(a)


LDL = symmetric_factors()


def lower(a):
    return torch.tril(a) + 5 * torch.eye(a.shape[-1])


def rebuilt(u, s, vh):
    """What does not depend on the vectors' signs: their product, s, and that they are orthonormal."""
    k = s.shape[-1]
    product = (u[..., :k] * s.unsqueeze(-2)) @ vh[..., :k, :]
    return product, s, u.mT @ u, vh @ vh.mT


def spectrum(values, vectors):
    return (vectors * values.unsqueeze(-2)) @ vectors.mT, values, vectors.mT @ vectors


DYNAMIC = T("f64", 2, 5, 3, B=0, M=1, N=2)
RANK_TWO = torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0], [0.0, 0.0, 0.0]])
MATRICES = (("tall", TALL), ("wide", WIDE), ("f64", T("f64", 2, 2, 4, 4, B=1)), ("dynamic", DYNAMIC),
            ("one", T("f32", 1, 1)), ("column", T("f32", 4, 1)), ("row", T("f32", 1, 4)), ("rank", RANK_TWO),
            ("wide_rank", RANK_TWO.mT.contiguous()), ("zero", torch.zeros(2, 3, 2)), ("equal", 2 * torch.eye(3)),
            ("large", T("f64", 3, 2, low=1e180, high=3e180)), ("dynamic_rows", T("f32", 2, 5, 3, M=1)),
            ("dynamic_columns", T("f32", 2, 3, 5, N=2)))
DYNAMIC_SINCE = {"dynamic": 11}  # padding of a computed size
SYMMETRIC = (("batch", A), ("f64", T("f64", 5, 5)), ("one", T("f32", 1, 1)), ("zero", torch.zeros(3, 3)),
             ("equal", -2 * torch.eye(3)), ("ones", torch.ones(4, 4)), ("odd", T("f32", 2, 7, 7, B=0)))


ROWS = [
    *[Case(f"det_{i}", lambda a: torch.det(a), [a], tol=TOL, since=11) for i, a in enumerate((A, ONE))],
    Case("slogdet", lambda a: L.slogdet(a), [A], tol=TOL, since=11),
    Case("logdet", lambda a: torch.logdet(a), [A], tol=TOL, since=11),
    Case("slogdet_singular", lambda a: L.slogdet(a), [torch.zeros(2, 2)], since=11),
    *[Case(f"inv_{i}", lambda a: L.inv(a), [a], tol=TOL, since=11) for i, a in enumerate((A, ONE, T("f64", 4, 4)))],
    Case("inv_empty", lambda a: L.inv(a), [torch.zeros(0, 0)]),
    Case("inv_ex", lambda a: L.inv_ex(a), [A], tol=TOL, since=11),
    Case("solve", lambda a, b: L.solve(a, b), [A, RHS], tol=TOL, since=11),
    Case("solve_vector", lambda a, b: L.solve(a, b), [A, T("f32", 3, 4, B=0)], tol=TOL, since=11),
    Case("solve_broadcast", lambda a, b: L.solve(a, b), [ONE, RHS], tol=TOL, since=11),
    Case("solve_right", lambda a, b: L.solve(a, b, left=False), [A, T("f32", 3, 2, 4, B=0)], tol=TOL, since=11),
    *[Case(f"solve_triangular_{u}{l}", lambda a, b, u=u, l=l: L.solve_triangular(
        lower(a).mT if u else lower(a), b if l else b.mT, upper=u, left=l), [A, RHS], tol=TOL)
      for u in (False, True) for l in (False, True)],
    Case("solve_triangular_unit", lambda a, b: L.solve_triangular(a, b, upper=True, unitriangular=True), [A, RHS], tol=TOL),
    Case("triangular_solve", lambda a, b: torch.triangular_solve(b, lower(a), upper=False, transpose=True), [A, RHS], tol=TOL),
    *[Case(f"lu_{n}", lambda a: L.lu(a), [a], tol=TOL, since=11) for n, a in (("square", A), ("tall", TALL), ("wide", WIDE))],
    Case("lu_factor", lambda a: L.lu_factor(a), [A], tol=TOL, since=11),
    Case("lu_factor_ex", lambda a: L.lu_factor_ex(a), [TALL], tol=TOL, since=11),
    Case("lu_factor_singular", lambda a: L.lu_factor_ex(a), [torch.tensor([[0.0, 0.0], [0.0, 2.0]])], since=11),
    Case("lu_unpack", lambda a: torch.lu_unpack(*L.lu_factor(a)), [A], tol=TOL, since=11),
    *[Case(f"lu_solve_{l}{t}", lambda a, b, l=l, t=t: L.lu_solve(
        *L.lu_factor(a), b if l else b.mT, left=l, adjoint=t), [A, RHS], tol=TOL, since=11)
      for l in (False, True) for t in (False, True)],
    Case("cholesky", lambda a: L.cholesky(positive(a)), [A], tol=TOL),
    Case("cholesky_upper", lambda a: torch.cholesky(positive(a), upper=True), [ONE], tol=TOL),
    Case("cholesky_ex", lambda a: L.cholesky_ex(positive(a)), [A], tol=TOL),
    Case("cholesky_solve", lambda a, b: torch.cholesky_solve(b, lower(a)), [A, RHS], tol=TOL),
    Case("cholesky_inverse", lambda a: torch.cholesky_inverse(lower(a).mT, upper=True), [A], tol=TOL),
    *[Case(f"lstsq_{d}_{n}", lambda a, b, d=d: L.lstsq(a, b, driver=d), [a, b], tol=TOL, since=10, modes=("trace",))
      for d in ("gels", "gelsy", "gelsd", "gelss")
      for n, a, b in (("tall", T("f32", 5, 3), T("f32", 5, 2)), ("wide", T("f32", 3, 5), T("f32", 3, 2)))],
    Case("lstsq_batch", lambda a, b: L.lstsq(a, b, driver="gels"), [T("f32", 2, 5, 3, B=0), T("f32", 2, 5, 2, B=0)],
         tol=TOL, since=10, modes=("trace",)),
    Case("lstsq_rank", lambda a, b: L.lstsq(a @ a.mT, b, driver="gelsd"), [T("f32", 5, 2), T("f32", 5, 2)],
         tol=TOL, since=10, modes=("trace",)),
    Case("ldl_solve", lambda ld, p, b: L.ldl_solve(ld, p, b), [*LDL[:2], T("f32", 6, 2)], tol=TOL, since=11),
    Case("ldl_solve_batch", lambda ld, p, b: L.ldl_solve(ld, p, b), [LDL[0], LDL[1], T("f32", 3, 6, 2, B=0)], tol=TOL, since=11),
    Case("tensorinv_4d", lambda a: L.tensorinv(a, ind=2), [T("f32", 2, 3, 3, 2)], tol=TOL, since=11),
    Case("tensorsolve", lambda a, b: L.tensorsolve(a, b), [T("f32", 2, 3, 6), T("f32", 2, 3)], tol=TOL, since=11),
    *[Case(f"qr_{m}_{n}", lambda a, m=m: L.qr(a, m), [a], tol=TOL) for m in ("reduced", "complete")
      for n, a in (("square", A), ("tall", TALL), ("wide", WIDE))],
    Case("geqrf", lambda a: torch.geqrf(a), [T("f32", 2, 5, 3)], tol=TOL),
    Case("householder", lambda a: L.householder_product(*torch.geqrf(a)), [T("f32", 2, 5, 3)], tol=TOL),
    *[Case(f"ormqr_{l}{t}", lambda a, x, l=l, t=t: torch.ormqr(*torch.geqrf(a), x if l else x.mT, l, t),
           [T("f32", 4, 4), T("f32", 4, 2)], tol=TOL) for l in (False, True) for t in (False, True)],
    Case("svdvals", lambda a: L.svdvals(a), [TALL], tol=TOL, since=10),
    *[Case(f"svdvals_empty_{n}", lambda a: L.svdvals(a), [torch.zeros(shape)]) for n, shape in ((0, (0, 0)), (1, (2, 3, 0)))],
    Case("pinverse", lambda a: torch.pinverse(a), [T("f32", 5, 3)], tol=TOL, since=10),
    Case("svdvals_wide", lambda a: L.svdvals(a), [T("f64", 3, 6)], tol=(1e-10, 1e-12), since=10),
    Case("eigvalsh_extremes", lambda a: (L.eigvalsh(a * 1e-200) * 1e200, L.eigvalsh(a * 1e200) * 1e-200), [T("f64", 2, 3, 3, N=0)], since=10),
    Case("eigvalsh", lambda a: L.eigvalsh(a), [A], tol=TOL, since=10),
    *[Case(f"svd_{'full' if full else 'reduced'}_{name}", lambda a, full=full: rebuilt(*L.svd(a, full_matrices=full)), [x],
           tol=(1e-10, 1e-12) if getattr(x, "dtype", None) == "f64" else TOL, since=10, dynamic_since=DYNAMIC_SINCE.get(name, 0),
           modes=("trace",) if name == "dynamic_rows" else None)
      for full in (True, False) for name, x in MATRICES],
    *[Case(f"svd_empty_{i}", lambda a: L.svd(a, full_matrices=i < 2), [torch.zeros(shape)])
      for i, shape in enumerate(((0, 3), (2, 3, 0), (0, 3), (0, 2, 3)))],
    *[Case(f"svd_old_{some}", lambda a, some=some: (lambda u, s, v: rebuilt(u, s, v.mT))(*torch.svd(a, some=some)), [TALL], tol=TOL, since=10)
      for some in (True, False)],
    Case("svd_old_values", lambda a: torch.svd(a, compute_uv=False), [T("f32", 2, 5, 3)], tol=TOL, since=10),
    Case("svd_no_vectors", lambda a: torch.ops.aten._linalg_svd(a, True, False), [TALL], tol=TOL, since=10),
    Case("svd_left", lambda a: L.svd(a, full_matrices=False)[0].square(), [TALL], tol=TOL, since=10),
    Case("svd_driver", lambda a: L.svd(a, driver=None).S, [TALL], tol=TOL, since=10),
    *[Case(f"eigh_{uplo}_{name}", lambda a, uplo=uplo: spectrum(*L.eigh(a, UPLO=uplo)), [x],
           tol=(1e-10, 1e-12) if getattr(x, "dtype", None) == "f64" else TOL, since=10)
      for uplo in ("L", "U") for name, x in SYMMETRIC],
    Case("eigh_dynamic", lambda a: spectrum(*L.eigh(a @ a.mT)), [T("f64", 2, 4, 3, B=0, N=1)], tol=(1e-10, 1e-12), since=10),
    Case("eigh_vectors", lambda a: L.eigh(a).eigenvectors.abs(), [A], tol=TOL, since=10),
    Case("eigh_empty", lambda a: L.eigh(a), [torch.zeros(2, 0, 0)]),
    Case("eigh_no_vectors", lambda a: torch.ops.aten._linalg_eigh(a, "L", False), [A], tol=TOL, since=10),
    Case("svdvals_dynamic", lambda a: L.svdvals(a), [DYNAMIC], tol=(1e-10, 1e-12), since=10, dynamic_since=11),
    Case("pinv_dynamic", lambda a: L.pinv(a), [DYNAMIC], tol=(1e-10, 1e-12), since=10, dynamic_since=11),
    Case("pinv_hermitian", lambda a: L.pinv(a + a.mT, hermitian=True), [A], tol=TOL, since=10),
    Case("pinv_tiny", lambda a: L.pinv(a), [T("f64", 4, 3, low=1e-180, high=3e-180)], tol=(1e-10, 0), since=10),
    Case("norm_nuclear_dynamic", lambda a: L.matrix_norm(a, "nuc"), [DYNAMIC], tol=(1e-10, 1e-12), since=10, dynamic_since=11),
    Case("matrix_rank", lambda a: L.matrix_rank(a), [torch.tensor([[1.0, 2.0, 3.0], [2.0, 4.0, 6.0], [1.0, 0.0, 1.0]])], since=10),
    Case("pinv", lambda a: L.pinv(a), [TALL], tol=TOL, since=10),
    Case("pinv_rank", lambda a: L.pinv(a @ a.mT), [T("f32", 4, 2)], tol=TOL, since=10),
    *[Case(f"matrix_norm_{o}", lambda a, o=o: L.matrix_norm(a, o), [T("f32", 2, 5, 3)], tol=TOL, since=10 if o in ("nuc", 2, -2) else 9)
      for o in ("fro", "nuc", 1, -1, 2, -2, float("inf"))],
    Case("matrix_norm_axes", lambda a: L.matrix_norm(a, 1, dim=(2, 0), keepdim=True), [T("f32", 3, 4, 5)]),
    *[Case(f"norm_{o}", lambda a, o=o: L.norm(a, o, dim=1), [TALL]) for o in (None, 0, 1, 3, float("inf"))],
    Case("cond", lambda a: (L.cond(a), L.cond(a, 1)), [ONE], tol=TOL, since=11),
    Case("matrix_power", lambda a: (L.matrix_power(a, 0), L.matrix_power(a, 5), L.matrix_power(a, -2)), [ONE], tol=TOL, since=11),
    Case("matrix_exp", lambda a: L.matrix_exp(a), [A], tol=TOL),
    Case("multi_dot", lambda a, b, c: L.multi_dot([a, b, c]), [T("f32", 3, 4), T("f32", 4, 5), T("f32", 5)]),
    *[Case(f"einsum_{i}", lambda *x, e=e: torch.einsum(e, *x), list(x)) for i, (e, x) in enumerate((
        ("ij,jk->ik", (T("f32", 2, 3, N=0), T("f32", 3, 4))),
        ("bij,bjk", (T("f32", 2, 3, 4, N=0), T("f32", 2, 4, 5, N=0))),
        ("...ij,...kj->...ik", (T("f32", 2, 2, 3, 4, N=0), T("f32", 2, 5, 4))),
        ("ii->i", (T("f32", 4, 4),)), ("ii", (T("f32", 4, 4),)), ("ij->", (T("f32", 2, 3),)),
        ("i,j,k->kji", (T("f32", 2), T("f32", 3), T("f32", 4))),
        ("bn,anm,bm->ba", (T("f32", 2, 5), T("f32", 3, 5, 4), T("f32", 2, 4))),
        ("ij , ij -> j", (T("f32", 2, 3), T("f32", 2, 3))), ("Ab,bA", (T("f32", 2, 3), T("f32", 3, 2))),
        ("bhqd,bhkd->bhqk", (T("f32", 2, 2, 3, 4, N=0), T("f32", 2, 2, 5, 4, N=0))),
        ("bij,bjk->bik", (T("f32", 2, 3, 4, B=0, I=1, J=2), T("f32", 2, 4, 5, B=0, J=1, K=2))),
        ("bij,bjk->ik", (T("f32", 2, 3, 4, B=0, J=2), T("f32", 1, 4, 5, J=1))),
        ("bi,bi->bi", (T("f32", 2, 3, N=0), T("f32", 2, 3, N=0))),
        ("ij,jk->ik", (T("f32", 2, 1, N=0), T("f32", 4, 5)))))],
    Case("tensordot", lambda x, y: torch.tensordot(x, y, dims=2), [T("f32", 2, 3, 4, N=0), T("f32", 3, 4, 5)]),
    Case("tensordot_axes", lambda x, y: torch.tensordot(x, y, dims=([1, 0], [0, 2])), [T("f32", 3, 4, 5), T("f32", 4, 2, 3)]),
    Case("kron", lambda x, y: torch.kron(x, y), [T("f32", 2, 3), T("f32", 4, 2, 5)]),
    Case("trace", lambda x: torch.trace(x), [T("f32", 4, 6, N=0)]),
    Case("trace_i32", lambda x: torch.trace(x), [T("i32", 4, 3)]),
    Case("vecdot", lambda x, y: L.vecdot(x, y, dim=0), [T("f32", 4, 3, N=0), T("f32", 4, 3, N=0)]),
    Case("cross", lambda x, y: L.cross(x, y), [T("f32", 4, 3, N=0), T("f32", 1, 3)]),
    Case("cross_first", lambda x, y: torch.cross(x, y), [T("f32", 2, 3, 4), T("f32", 2, 3, 4)]),
    Case("dist", lambda x, y: torch.dist(x, y, 3), [V, V]),
    *[Case(f"cdist_{p}", lambda x, y, p=p: torch.cdist(x, y, p), [T("f32", 2, 4, 3), T("f32", 2, 5, 3)], tol=TOL)
      for p in (0.0, 1.0, 2.0, 3.0, float("inf"))],
    Case("pdist", lambda x: torch.nn.functional.pdist(x), [T("f32", 5, 3)]),
    Case("cosine_similarity", lambda x, y: torch.cosine_similarity(x, y), [T("f32", 4, 3, N=0), T("f32", 3)]),
    *[Case(f"renorm_{p}", lambda x, p=p: torch.renorm(x, p, 1, 3.0), [T("f32", 4, 3, 2, N=0)]) for p in (1, 2)],
    Case("cov", lambda x: torch.cov(x), [T("f32", 3, 6, N=1)], modes=("trace",)),
    Case("cov_vector", lambda x: torch.cov(x, correction=0), [V], modes=("trace",)),
    Case("cov_weights", lambda x, f, a: torch.cov(x, fweights=f, aweights=a),
         [T("f32", 3, 6), T("i64", 6, low=1, high=4), T("f32", 6, low=0.1, high=1)], modes=("trace",)),
    Case("cov_row", lambda x: (torch.cov(x), torch.corrcoef(x)), [T("f32", 1, 6)], modes=("trace",)),
    Case("corrcoef_vector", lambda x: torch.corrcoef(x), [V], modes=("trace",)),
    Case("corrcoef", lambda x: torch.corrcoef(x), [T("f32", 3, 6)], modes=("trace",)),
    *[Case(f"ldl_factor_{name}", lambda a: tuple(L.ldl_factor_ex(a + a.mT)), [x], since=11, tol=TOL)
      for name, x in (("indefinite", T("f32", 2, 5, 5, B=0)), ("wide", T("f64", 3, 7, 7)), ("one", T("f32", 1, 1)), ("even", T("f32", 3, 4, 4)))],
    Case("ldl_factor_zeros", lambda a: tuple(L.ldl_factor_ex(a)), [torch.tensor([[[0.0, 0, 0], [0, 0, 2], [0, 2, 0]], [[0, 1, 0], [1, 0, 0], [0, 0, 0]]])], since=11),
    *[Case(f"ldl_factor_infinite_{i}", lambda a: tuple(L.ldl_factor_ex(a)), [torch.tensor(a)], since=11)
      for i, a in enumerate(([[float("inf"), 1], [1, 2]], [[1, 2], [2, float("inf")]]))],
    Case("ldl_factored", lambda a, y: L.ldl_solve(*L.ldl_factor(a + a.mT), y), [T("f32", 6, 6), T("f32", 6, 2)], since=11, tol=(1e-3, 1e-3)),
]
