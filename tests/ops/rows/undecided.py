"""Operators' arguments that the run decides, though ONNX's operators take them as attributes: axes, truth values, and
what is None or not (exporter/torch, convert_undecided).
"""

from typing import List, Optional

import torch
import torch.nn.functional as F
from torch import Tensor

from case import Case, T

SCRIPT = ("script",)
M = T("f32", 4, 3, 2, N=0)
SQUARE = T("f32", 3, 3)


# ---------------------------------------------------------------- axes


def reduced(x: Tensor, d: int):
    return x.sum(d), x.mean(d, keepdim=True), x.amax(d), x.argmin(d), x.max(d)


def along(x: Tensor, d: int):
    return x.cumsum(d), x.softmax(d), x.flip(d), x.sort(d), x.roll(1, d)


def picked(x: Tensor, d: int, i: int):
    y = x.select(d, i)
    return y * 2, x.size(d), y.size(0), torch.zeros(y.size(-1)), x.narrow(d, 0, 2)


def moved(x: Tensor, d: int, e: int):
    y = x.transpose(d, e)
    return y, y.reshape(y.size(0), -1), torch.movedim(x, d, e)


def put_together(x: Tensor, d: int):
    return torch.cat([x, x * 2], d), torch.stack([x, -x], d), x.unsqueeze(d)


def taken_apart(x: Tensor, d: int):
    total = torch.zeros(2)
    for part in x.unbind(d):
        total = total * 2 + part.sum()
    for part in x.chunk(2, d):
        total = total + part.size(d)
    for i in range(x.size(d)):
        total = total + x.select(d, i).sum() * i
    return total, torch.split(x, 1, d)[1].sum()


def of_data(x: Tensor, d: Tensor):
    axis = int(d) - 1
    return x.sum(axis), x.logsumexp([axis], keepdim=True), F.normalize(x, dim=axis)


def changing_in_a_loop(x: Tensor, n: Tensor):
    for i in range(int(n)):
        x = x.cumsum(i % 3) - x.mean(-1 - i % 2, keepdim=True)
    return x


def measured(x: Tensor, d: int, keep: bool):
    y = x - x.mean(d, keepdim=True)
    return torch.norm(y, dim=d, keepdim=keep), y.index_select(d, torch.tensor([1, 0]))


def of_several(x: Tensor, d: int):
    y = x[0]
    return F.cosine_similarity(x, y, d), F.cosine_similarity(y, x, d), x.roll([1, 2], [0, d]), x.tile(abs(d))


def several(x: Tensor, d: List[int]):
    return x.sum(d), x.flip(d), x.amax(d, keepdim=True)


def ordered(x: Tensor, d: List[int]):
    return x.permute(d), x.permute([d[0], 1, d[2]]) if d[1] == 1 else x


def of_a_list(x: Tensor, n: int, d: int):
    rows: List[Tensor] = []
    for i in range(n):
        rows.append(x * i)
    return torch.stack(rows, d), torch.cat(rows, d).cumsum(d)


# ---------------------------------------------------------------- truth values


def kept(x: Tensor, keep: bool):
    y = x.sum(1, keepdim=keep)
    return y * 2, x - y.reshape(x.size(0), -1)[0, 0], y.dim()


def falling(x: Tensor, ones: Tensor):
    down = bool(ones.sum() > 2)
    values, places = x.sort(1, descending=down)
    return values, places, x.topk(2, dim=0, largest=down)[0], x.var(1, unbiased=down)


def dropped_out(x: Tensor, train: bool):
    return F.batch_norm(x, torch.zeros(3), torch.ones(3), training=train), F.avg_pool1d(x, 2, ceil_mode=train)


def axis_and_flag(x: Tensor, d: int, keep: bool):
    return x.prod(d, keepdim=keep)


# ---------------------------------------------------------------- None or not


def with_or_without_bias(x: Tensor, w: Tensor, n: int):
    b: Optional[Tensor] = None
    if n > 1:
        b = w[0] * n
    y = F.linear(x, w, b)
    return y, y.size(1), F.layer_norm(x, [3], None, b)


def clamped(x: Tensor, n: int):
    low: Optional[float] = None
    high: Optional[Tensor] = None
    for i in range(n):
        if i == 1:
            low = -0.5
        if i == 2:
            high = x.mean() + i
    return x.clamp(min=low, max=1.5), torch.clip(x, x - 1, high)


def axis_or_all(x: Tensor, n: int):
    d: Optional[int] = None
    if n > 1:
        d = 1
    return x.argmax(d), x.argmin(d) * 2


def attention(x: Tensor, n: int):
    mask: Optional[Tensor] = None
    if n > 1:
        mask = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril(n)
    return F.scaled_dot_product_attention(x, x * 2, x, attn_mask=mask)


def held(i: int):
    return torch.tensor(i)


AXES = (-3, -2, -1, 1, 2)

ROWS = [
    *[Case(fn.__name__, fn, [M, 0], more=[[M, d] for d in AXES], modes=SCRIPT, since=since)
      for fn, since in ((reduced, 11), (along, 10), (put_together, 11), (taken_apart, 13))],
    *[Case(f"{fn.__name__}_square", fn, [SQUARE, 1], more=[[SQUARE, d] for d in (0, -1, -2)], modes=SCRIPT, since=since)
      for fn, since in ((reduced, 11), (along, 10), (put_together, 11))],
    Case("picked", picked, [M, 0, 1], more=[[M, d, i] for d, i in ((1, -1), (2, 0), (-1, 1), (-3, 3))], since=11,
         modes=SCRIPT),
    Case("moved", moved, [M, 0, 1], more=[[M, d, e] for d, e in ((1, 2), (-1, 0), (2, 2), (-2, -1), (-3, 2))],
         since=11, modes=SCRIPT),
    Case("of_data", of_data, [M, held(1)], more=[[M, held(d)] for d in (0, 2, 3, -1)], since=11, modes=SCRIPT),
    Case("changing_in_a_loop", changing_in_a_loop, [M, held(2)], more=[[M, held(n)] for n in (0, 1, 5)], since=11,
         modes=SCRIPT),
    Case("measured", measured, [M, 1, False], more=[[M, d, k] for d in (0, -1) for k in (True, False)], modes=SCRIPT,
         since=11),
    Case("of_several", of_several, [M, 1], more=[[M, d] for d in AXES], since=11, modes=SCRIPT),
    Case("several", several, [M, [0, 1]], more=[[M, d] for d in ([1, 2], [-1, 0], [2, 0])], modes=SCRIPT, since=10),
    Case("ordered", ordered, [M, [0, 2, 1]], more=[[M, d] for d in ([2, 1, 0], [1, 2, 0], [-1, 0, -2])], since=11,
         modes=SCRIPT),
    Case("of_a_list", of_a_list, [SQUARE, 2, 1], more=[[SQUARE, n, d] for n, d in ((3, 0), (1, -1), (4, -2))], since=11,
         modes=SCRIPT),
    *[Case(f"kept_{keep}", kept, [M, keep], more=[[M, not keep]], since=11, modes=SCRIPT) for keep in (True, False)],
    *[Case(f"falling_{n}", falling, [M, torch.ones(n)], more=[[M, torch.ones(n) * 5], [M, torch.zeros(n)]],
           modes=SCRIPT) for n in (2, 3)],
    Case("dropped_out", dropped_out, [T("f32", 4, 3, 5), False], more=[[T("f32", 4, 3, 5), True]], since=10,
         modes=SCRIPT),
    Case("axis_and_flag", axis_and_flag, [M, 0, True], more=[[M, 1, True], [M, -1, False], [M, 0, False]], since=11,
         modes=SCRIPT),
    *[Case(f"with_or_without_bias_{n}", with_or_without_bias, [T("f32", 4, 3, N=0), T("f32", 3, 3), n],
           more=[[T("f32", 4, 3, N=0), T("f32", 3, 3), m] for m in (1, 2, 3)], modes=SCRIPT) for n in (1, 2)],
    *[Case(f"clamped_{n}", clamped, [T("f32", 4, 3, N=0), n], more=[[T("f32", 4, 3, N=0), m] for m in (0, 1, 2, 3, 4)],
           modes=SCRIPT) for n in (0, 2, 3)],
    *[Case(f"axis_or_all_{n}", axis_or_all, [SQUARE, n], more=[[SQUARE, m] for m in (1, 2)], since=11,
           modes=SCRIPT)
      for n in (1, 2)],
    *[Case(f"attention_{n}", attention, [T("f32", 2, 5, 4, N=0), n],
           more=[[T("f32", 2, 5, 4, N=0), m] for m in (1, 2, 3)], modes=SCRIPT)
      for n in (1, 3)],
]
