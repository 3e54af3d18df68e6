"""Rows of pool.cc, adaptive_pool.cc, resize.cc."""

import itertools

import torch
from torch.nn import functional as F

from case import Case, T

LINE = T("f32", 2, 3, 11, N=0, L=2)
IMAGE = T("f32", 2, 3, 9, 10, N=0, H=2, W=3)
CUBE = T("f32", 1, 2, 5, 6, 7, D=2)
FIXED = T("f32", 2, 3, 9, 10)
INTEGERS = T("i64", 2, 3, 9, 10, low=-2**40, high=2**40, N=0, H=2, W=3)

# torch.export ties the size of an axis to its example where pooling rounds it.
ROUNDED = ("export", "trace")

# kernel, stride, padding: windows that fit, that overhang, and that PyTorch drops in ceil mode
WINDOWS = [(2, 2, 0), (3, 2, 1), (2, 3, 1), (3, 1, 1), ((2, 3), (3, 2), (1, 0))]


def windows(name, fn, x=IMAGE, since=9):
    rows = []
    for (i, window), ceil in itertools.product(enumerate(WINDOWS), (False, True)):
        label = f"{name}_{i}{'_ceil' if ceil else ''}"
        rows.append(Case(label, lambda x, w=window, c=ceil: fn(x, *w, ceil_mode=c), [x], tol=(1e-4, 1e-6),
                         modes=ROUNDED if ceil else None, since=since if window[2] or ceil else 9))
    return rows


def resize(name, **how):
    return Case(name, lambda x: F.interpolate(x, **how), [IMAGE], tol=(1e-4, 1e-5))


ROWS = [
    *windows("max", F.max_pool2d),
    *windows("avg", F.avg_pool2d),
    *windows("avg_without_pad", lambda x, k, s, p, ceil_mode: F.avg_pool2d(x, k, s, p, ceil_mode, False)),
    *windows("avg_divisor", lambda x, k, s, p, ceil_mode: F.avg_pool2d(x, k, s, p, ceil_mode, divisor_override=3)),
    # integers: exact, the average rounded towards zero (opset 11 pads them)
    *windows("max_i64", F.max_pool2d, INTEGERS, since=11),
    *windows("avg_i64", F.avg_pool2d, T("i64", 2, 3, 9, 10, low=-99, high=99, N=0, H=2, W=3), since=11),
    *windows("avg_without_pad_i64", lambda x, k, s, p, ceil_mode: F.avg_pool2d(x, k, s, p, ceil_mode, False),
             INTEGERS, since=11),
    Case("avg_divisor_i64", lambda x: F.avg_pool2d(x, 3, 2, 1, divisor_override=5), [INTEGERS], since=11),
    Case("avg1d_i64", lambda x: F.avg_pool1d(x, 3, 2), [T("i64", 2, 3, 11, low=-99, high=99, N=0, L=2)]),
    Case("avg3d_i64", lambda x: F.avg_pool3d(x, 2, 2, 1), [T("i64", 2, 5, 6, 7, low=-99, high=99)], since=11),
    Case("max3d_indices_i64", lambda x: F.max_pool3d(x, 2, 1, 1, dilation=2, return_indices=True),
         [T("i64", 1, 2, 5, 6, 7, low=-9, high=9, D=2)], since=11),
    Case("max_indices_ceil_i64", lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True, return_indices=True), [INTEGERS],
         modes=ROUNDED, since=11),
    Case("max_indices_i64", lambda x: F.max_pool2d(x, 3, 2, return_indices=True), [T("i64", 2, 3, 9, 10, low=-9, high=9, N=0, H=2)]),
    Case("max_indices_lowest_i64", lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True, return_indices=True),
         [torch.where(torch.arange(30).reshape(1, 1, 5, 6) == 17, 3, -2**63)], since=11),
    Case("max_indices_ceil_sparse", lambda x: F.max_pool2d(torch.where(x > 3, float("nan"), x), 2, 3, ceil_mode=True, return_indices=True),
         [IMAGE], modes=("trace",), since=11),
    *[Case(f"max_{dtype}", lambda x: F.max_pool2d(x, 3, 2, 1), [T(dtype, 2, 3, 9, 10, low=-99, high=99, N=0, H=2)])
      for dtype in ("i8", "u8", "i16", "i32")],
    Case("max1d", lambda x: F.max_pool1d(x, 3, 2, 1), [LINE], modes=ROUNDED),
    Case("max3d", lambda x: F.max_pool3d(x, 2, 2, 1, ceil_mode=True), [CUBE], modes=ROUNDED),
    Case("max_dilated", lambda x: F.max_pool2d(x, 3, 1, 1, dilation=2), [IMAGE], since=10),
    Case("max_unbatched", lambda x: F.max_pool2d(x, 2), [T("f32", 3, 9, 10)]),
    Case("max_indices", lambda x: F.max_pool2d(x, 3, 2, 1, return_indices=True), [IMAGE]),
    Case("max_indices_ceil", lambda x: F.max_pool2d(x, 2, 2, ceil_mode=True, return_indices=True), [IMAGE], modes=ROUNDED),
    Case("max1d_indices", lambda x: F.max_pool1d(x, 2, return_indices=True), [LINE]),
    Case("max_f64", lambda x: F.max_pool2d(x, 2), [T("f64", 2, 3, 6, 6, N=0)]),
    Case("avg1d", lambda x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True), [LINE], modes=ROUNDED, tol=(1e-4, 1e-6)),
    Case("avg3d", lambda x: F.avg_pool3d(x, 2, 2, 1), [CUBE], tol=(1e-4, 1e-6)),
    Case("avg3d_divisor", lambda x: F.avg_pool3d(x, 2, divisor_override=5), [CUBE], tol=(1e-4, 1e-6)),
    # adaptive
    *[Case(f"adaptive_avg_{i}", lambda x, s=size: F.adaptive_avg_pool2d(x, s), [IMAGE], tol=(1e-4, 1e-5))
      for i, size in enumerate([1, (3, 5), (4, 7), (None, 2), (12, 3)])],
    Case("adaptive_avg_fixed", lambda x: F.adaptive_avg_pool2d(x, (3, 5)), [FIXED], tol=(1e-4, 1e-5)),
    Case("adaptive_avg_fixed_uneven", lambda x: F.adaptive_avg_pool2d(x, (4, 7)), [FIXED], tol=(1e-4, 1e-5)),
    Case("adaptive_avg1d", lambda x: F.adaptive_avg_pool1d(x, 4), [LINE], tol=(1e-4, 1e-5)),
    Case("adaptive_avg3d", lambda x: F.adaptive_avg_pool3d(x, (2, 3, 4)), [T("f32", 1, 2, 5, 6, 7)], tol=(1e-4, 1e-5)),
    *[Case(f"adaptive_max_{i}", lambda x, s=size: F.adaptive_max_pool2d(x, s, return_indices=True), [IMAGE])
      for i, size in enumerate([1, (3, 5), (4, 7)])],
    Case("adaptive_max1d", lambda x: F.adaptive_max_pool1d(x, 4), [LINE]),
    Case("adaptive_max3d", lambda x: F.adaptive_max_pool3d(x, (2, 3, 4)), [T("f32", 1, 2, 5, 6, 7)]),
    *[Case(f"fractional{n}d", lambda x, r, n=n, s=size: getattr(torch.ops.aten, f"fractional_max_pool{n}d")(x, [2, 3, 2][:n], s, r),
           [T("f32", 2, 3, *(9, 10, 8)[:n]), T("f32", 2, 3, n, low=0, high=1)])
      for n, size in ((2, (4, 5)), (3, (5, 3, 1)))],
    Case("fractional_plane", lambda x, r: torch.ops.aten.fractional_max_pool2d(x, 2, [3, 4], r),
         [T("f32", 3, 9, 10, H=1), T("f32", 1, 3, 2, low=0, high=1)]),
    Case("fractional_nan", lambda x, r: torch.ops.aten.fractional_max_pool2d(torch.where(x > 3, float("nan"), x), 3, [3, 4], r),
         [T("f32", 2, 3, 9, 10), T("f32", 2, 3, 2, low=0, high=1)]),
    # interpolation
    resize("nearest_size", size=(7, 13)),
    resize("nearest_scale", scale_factor=(1.7, 0.6)),
    resize("nearest_double", scale_factor=2),
    resize("nearest_exact", size=(7, 13), mode="nearest-exact"),
    resize("bilinear_size", size=(7, 13), mode="bilinear"),
    resize("bilinear_scale", scale_factor=2, mode="bilinear"),
    resize("bilinear_corners", size=(7, 13), mode="bilinear", align_corners=True),
    resize("bilinear_to_one", size=(1, 1), mode="bilinear"),
    resize("bicubic", size=(7, 13), mode="bicubic"),
    resize("bicubic_corners", scale_factor=2, mode="bicubic", align_corners=True),
    Case("linear1d", lambda x: F.interpolate(x, scale_factor=1.5, mode="linear"), [LINE], tol=(1e-4, 1e-5)),
    Case("trilinear", lambda x: F.interpolate(x, size=(4, 9, 5), mode="trilinear"), [CUBE], tol=(1e-4, 1e-5)),
    Case("interpolate_f64", lambda x: (F.interpolate(x, scale_factor=1.7, mode="bilinear"), F.interpolate(x, size=(5, 7), mode="bicubic"), F.interpolate(x, size=(4, 12), mode="bilinear", align_corners=True),
                                       F.interpolate(x, size=(7, 6), mode="bilinear", antialias=True), F.interpolate(x, scale_factor=2, mode="bilinear")), [T("f64", 2, 3, 9, 10, N=0)]),
    Case("area", lambda x: F.interpolate(x, size=(4, 7), mode="area"), [FIXED], tol=(1e-4, 1e-5)),
    Case("bilinear_antialias", lambda x: F.interpolate(x, size=(5, 6), mode="bilinear", antialias=True), [IMAGE],
         tol=(1e-3, 1e-4)),
    *[Case(f"{m}_antialias_corners", lambda x, y, m=m: (F.interpolate(x, size=(5, 17), mode=m, antialias=True, align_corners=True),
                                                        F.interpolate(y, size=(1, 3), mode=m, antialias=True, align_corners=True)),
           [T("f32", 2, 3, 9, 8, N=0, H=2), T("f64", 1, 2, 4, 5)], tol=(1e-3, 1e-4)) for m in ("bilinear", "bicubic")],
    *[Case(f"{m}_antialias_bytes_{a}", lambda x, y, m=m, a=a: (
               F.interpolate(x, size=(5, 13), mode=m, antialias=True, align_corners=a), F.interpolate(x, scale_factor=0.3, mode=m, antialias=True, align_corners=a),
               F.interpolate(y, size=(1, 3), mode=m, antialias=True, align_corners=a)),
           [T("u8", 1, 3, 19, 18, high=256, H=2), T("u8", 2, 5, 4, 5, high=256, N=0)]) for m in ("bilinear", "bicubic") for a in (False, True)],
    Case("bicubic_antialias_moving_factor", lambda x: F.interpolate(x, scale_factor=0.7, mode="bicubic", antialias=True),
         [T("f32", 1, 2, 11, 13, H=2)], tol=(1e-3, 1e-4)),
    # infinities and NaN stay in their windows
    Case("adaptive_avg_infinite", lambda x: F.adaptive_avg_pool1d(torch.where(x > 3, float("inf"), x), 4), [LINE]),
    Case("adaptive_avg_f16", lambda x: F.adaptive_avg_pool2d(x, (2, 3)), [T("f16", 2, 3, 9, 50, low=3e4, high=6e4, N=0)]),
    Case("adaptive_max_nan", lambda x: F.adaptive_max_pool2d(torch.where(x > 3, float("nan"), x), (3, 4), return_indices=True),
         [IMAGE]),
    # sizes of which float32 factors make another one, and positions that they round off a pixel's edge
    *[Case(f"{m.replace('-', '_')}_factor", lambda x, m=m: (F.interpolate(x, scale_factor=0.7, mode=m),
                                                           F.interpolate(x, scale_factor=1.3, mode=m)),
           [T("f32", 1, 2, 87, H=2) if m == "linear" else T("f32", 1, 2, 87, 5, H=2)], tol=(1e-3, 1e-4))
      for m in ("nearest", "nearest-exact", "linear", "bilinear", "bicubic")],
    *[Case(f"nearest_{m}_to_{n}", lambda x, m=m, n=n: (F.interpolate(x, size=n), F.interpolate(x, size=n, mode="nearest-exact")),
           [T("f32", 2, 2, m, N=0)]) for m, n in ((2, 82), (2, 94), (3, 123), (10, 7), (82, 2), (64, 8), (90, 62))],
    Case("nearest_moving", lambda x: F.interpolate(x, size=94), [T("f32", 1, 2, 2, L=2)], second={"L": 5}),
    Case("nearest_like", lambda x, y: F.interpolate(x, size=y.shape[2:]), [T("f32", 1, 2, 3, L=2), T("f32", 1, 1, 41, K=2)]),
    *[Case(f"nearest_{t}", lambda x: F.interpolate(x, size=(7, 13)), [T(t, 2, 2, 5, 6, high=90, N=0)]) for t in ("f64", "f16", "u8")],
    *[Case(f"{m}_bytes_{a}", lambda x, y, m=m, a=a: (
               F.interpolate(x, size=(7, 13), mode=m, align_corners=a), F.interpolate(x, scale_factor=0.6, mode=m, align_corners=a),
               F.interpolate(y, scale_factor=2, mode=m, align_corners=a), F.interpolate(y, size=(1, 3), mode=m, align_corners=a)),
           [T("u8", 1, 3, 9, 8, high=256, H=2), T("u8", 2, 5, 4, 5, high=256, N=0)]) for m in ("bilinear", "bicubic") for a in (False, True)],
    Case("bilinear_bytes_moving", lambda x: F.interpolate(x, size=(x.shape[3], x.shape[2] + 1), mode="bilinear"),
         [T("u8", 1, 1, 9, 8, high=256, H=2, W=3)]),
    Case("bilinear_f16_factor", lambda x: F.interpolate(x, scale_factor=0.7, mode="bilinear"), [T("f16", 1, 2, 11, 13, H=2)]),
    Case("bilinear_corners_factor", lambda x: F.interpolate(x, scale_factor=0.7, mode="bilinear", align_corners=True),
         [T("f32", 1, 2, 87, 5, H=2)], tol=(1e-3, 1e-4)),
    # a factor that leaves a size as it is: copied, but for bicubic interpolation of floats
    *[Case(f"{m}_unmoved_{t}{'_antialias' if a else ''}", lambda x, y, m=m, a=a: (
               F.interpolate(x, scale_factor=1.1, mode=m, antialias=a), F.interpolate(y, scale_factor=1.05, mode=m, antialias=a)),
           [T(t, 1, 6, 5, 5, low=0, high=256), T(t, 1, 3, 9, 25, low=0, high=256)], tol=None if t == "u8" else (1e-4, 1e-2))
      for m in ("bilinear", "bicubic") for t in ("u8", "f32") for a in (False, True)],
    *[Case(f"{m}_may_stay_{t}{'_antialias' if a else ''}", lambda x, m=m, a=a: F.interpolate(x, scale_factor=1.25, mode=m, antialias=a),
           [T(t, 1, 3, 3, 2, low=0, high=256, H=2, W=3)], tol=None if t == "u8" else (1e-4, 1e-2), modes=("export", "trace"))
      for m in ("bilinear", "bicubic") for t in ("u8", "f32") for a in (False, True)],
    Case("linear_unmoved", lambda x: F.interpolate(x, scale_factor=1.1, mode="linear"), [T("f32", 1, 2, 9)]),
    Case("trilinear_unmoved", lambda x: F.interpolate(x, scale_factor=(1.1, 1, 1.7), mode="trilinear"), [T("f32", 1, 2, 9, 4, 5)],
         tol=(1e-4, 1e-5)),
    Case("bicubic_antialias_factor", lambda x: F.interpolate(x, scale_factor=0.7, mode="bicubic", antialias=True),
         [T("f32", 1, 2, 11, 13)], tol=(1e-3, 1e-4)),
]
