"""Rows of pad.cc, fold.cc, grid.cc."""

import torch
import torch.nn.functional as F

from case import Case, T

X = T("f32", 2, 3, 6, 5, N=0, H=2)
GRID = T("f32", 2, 4, 3, 2, low=-1.3, high=1.3, N=0)
VOLUME = T("f32", 2, 2, 3, 4, 5, N=0)
GRID3 = T("f32", 2, 2, 3, 4, 3, low=-1.3, high=1.3, N=0)

ROWS = [
    *[Case(f"pad_{m}", lambda x, m=m: F.pad(x, (1, 2, 2, 0), mode=m), [X])
      for m in ("constant", "reflect", "replicate", "circular")],
    Case("pad_value", lambda x: F.pad(x, (1, 2), value=3.5), [X]),
    Case("pad_negative", lambda x: F.pad(x, (-1, 2, 1, -2)), [X]),
    Case("pad_negative_replicate", lambda x: F.pad(x, (-1, 2, 1, -2), mode="replicate"), [X]),
    Case("pad_negative_circular", lambda x: (F.pad(x, (-1, 2, 1, -2), mode="circular"),
                                             F.pad(x, (2, -1, -3, 2), mode="circular")), [X]),
    Case("pad_i64", lambda x: F.pad(x, (1, 1, 0, 2), value=7), [T("i64", 3, 4, N=0)]),
    Case("pad_bool", lambda x: F.pad(x, (1, 1), value=True), [T("bool", 3, 4, N=0)]),
    Case("pad_1d", lambda x: F.pad(x, (2, 1), mode="reflect"), [T("f32", 2, 3, 5, N=0)]),
    Case("pad_3d", lambda x: F.pad(x, (1, 1, 2, 0, 1, 1), mode="replicate"), [VOLUME]),
    Case("pad_computed", lambda x: F.pad(x, (x.shape[0], 0)), [T("f32", 2, 3, N=0)]),
    Case("unfold", lambda x: F.unfold(x, (2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2)), [X]),
    Case("unfold_single", lambda x: F.unfold(x, 2), [T("f32", 3, 6, 5)]),
    Case("fold", lambda x: F.fold(x, (6, 5), (2, 3), dilation=(2, 1), padding=(1, 0), stride=(1, 2)), [T("f32", 2, 12, 12, N=0)]),
    Case("fold_single", lambda x: F.fold(x, (5, 6), 2, stride=2), [T("f32", 8, 6)]),
    Case("max_unpool2d", lambda x: F.max_unpool2d(*F.max_pool2d(x, 2, return_indices=True), 2), [T("f32", 2, 3, 6, 4, N=0)], modes=("export", "dynamic")),
    Case("max_unpool1d", lambda x: F.max_unpool1d(*F.max_pool1d(x, 2, return_indices=True), 2), [T("f32", 2, 3, 6)], modes=("export", "dynamic")),
    Case("max_unpool3d", lambda x: F.max_unpool3d(*F.max_pool3d(x, 2, return_indices=True), 2), [T("f32", 1, 2, 4, 4, 4)], modes=("export", "dynamic")),
    Case("max_pool2d_backward", lambda x, g: torch.ops.aten.max_pool2d_with_indices_backward(
             g, x, [3, 2], [1, 2], [1, 0], [1, 1], False, torch.ops.aten.max_pool2d_with_indices(x, [3, 2], [1, 2], [1, 0])[1]),
         [T("f32", 2, 3, 6, 8, N=0), T("f32", 2, 3, 6, 4, N=0)]),
    Case("max_pool2d_backward_single", lambda x, g: torch.ops.aten.max_pool2d_with_indices_backward(
             g, x, [2, 2], [1, 1], [0, 0], [1, 1], False, torch.ops.aten.max_pool2d_with_indices(x, [2, 2], [1, 1])[1]),
         [T("f64", 3, 6, 8), T("f64", 3, 5, 7)]),
    *[Case(f"grid_{m}_{p}_{a}", lambda x, g, m=m, p=p, a=a: F.grid_sample(x, g, m, p, a),
           [T("f32", 2, 3, 6, 5, N=0), GRID], since=16 if m == "bicubic" else 9, tol=(1e-4, 1e-4))
      for m in ("bilinear", "nearest", "bicubic") for p in ("zeros", "border", "reflection") for a in (False, True)],
    *[Case(f"grid3_{m}_{p}", lambda x, g, m=m, p=p: F.grid_sample(x, g, m, p, False), [VOLUME, GRID3], tol=(1e-4, 1e-4))
      for m in ("bilinear", "nearest") for p in ("zeros", "border", "reflection")],
    *[Case(f"affine_grid_{a}", lambda t, a=a: F.affine_grid(t, (2, 3, 4, 5), a), [T("f32", 2, 2, 3)]) for a in (False, True)],
    Case("affine_grid_3d", lambda t: F.affine_grid(t, (2, 3, 4, 5, 1), True), [T("f32", 2, 3, 4)]),
]
