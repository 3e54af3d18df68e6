"""Rows of scripted programs in which numbers decide sizes: those among the inputs, and those that data gives.

Each row's `more` holds numbers that capture does not try.
"""

from typing import Dict, List, Tuple

import torch
import torch.nn.functional as F
from torch import Tensor

from case import Case, T

SCRIPT = ("script",)
X = T("f32", 12)
M = T("f32", 6, 2)
ROW = T("f32", 4, 2)


def viewed(x: Tensor, n: int, m: int):
    return x.view(n, m).sum(1)


def viewed_by_tuple(x: Tensor, n: Tuple[int, int]):
    return x.view(n).sum(-1)


def viewed_by_list(x: Tensor, n: List[int]):
    y = x.reshape(n)
    return y.size(0), y.numel(), torch.zeros(y.size(1)), y.sum(-1)


def viewed_by_dict(x: Tensor, n: Dict[str, int]):
    return x.view(n["a"], n["b"]).sum(-1)


def viewed_by_data(x: Tensor, a: Tensor):
    y = x.view(int(a[0]), int(a[1]))
    return y.sum(1), y.size(0), (y * 2).t()


def expanded(x: Tensor, n: int, m: int):
    return x.expand(n, m), x.narrow(0, m, 1)


def expanded_by_list(x: Tensor, n: List[int]):
    return x.expand(n)


def split_by_list(x: Tensor, n: List[int]):
    a, b, c = torch.split(x, n, 1)
    return a.sum(1), b.size(1), torch.cat([c, a], 1)


def split_by_data(x: Tensor, sizes: Tensor):
    lengths: List[int] = sizes.tolist()
    parts = torch.split(x, lengths)
    parts[1].mul_(2)
    return parts[0] * 2, parts[1].size(0), len(parts), x


def split_by_a_growing_list(x: Tensor, n: int):
    sizes: List[int] = []
    for i in range(n):
        sizes.append(i + 1)
    sizes.append(x.size(0) - n * (n + 1) // 2)
    total = torch.zeros(2)
    for part in x.split(sizes):
        total = total * 2 + part.sum(0) * part.size(0)
    last = torch.split(x, sizes)[-1]
    return total, last, len(sizes), torch.stack([p.sum() for p in x.t().split_with_sizes(sizes, dim=-1)])


def split_by_any_data(x: Tensor, sizes: Tensor):
    lengths: List[int] = sizes.tolist()
    lengths.append(x.size(0) - int(sizes.sum()))
    parts = torch.split(x, lengths)
    return parts[0] * 2, len(parts), torch.cat(parts[1:])


def split_and_padded(x: Tensor, n: List[int]):
    padded: List[Tensor] = []
    for part in torch.split(x, n):
        padded.append(F.pad(part, [0, 0, 0, 6 - part.size(0)]))
    return torch.stack(padded)


def beginning(x: Tensor, n: Tensor):
    y = x[:int(n)]
    return y.size(0), (y * 2).sum(0) * y.size(0), torch.ones(y.size(0))


def beginning_by_number(x: Tensor, n: int):
    y = x[:n]
    return y * 2, y.size(0), x[-n:] + 1


def beginning_of_a_list(x: Tensor, n: Tensor):
    rows = [x[0], x[1], x[2]][:int(n)]
    total = torch.zeros(2)
    for row in rows:
        total = total * 2 + row
    return total, len(rows)


def smaller(x: Tensor, n: Tensor):
    k = min(int(n), x.size(0))
    return x[:k].sum(0) / k, k, torch.zeros(k)


def smaller_by_number(x: Tensor, n: int):
    k = min(n, x.size(0))
    return x[:k], k, torch.zeros(k + 1), torch.stack([x[i] for i in range(k)])


def hundreds(x: Tensor, n: int):
    k = n // 100
    return x[:k + 1], k, torch.zeros(k + 2), torch.zeros(k + 2, 3).sum(0)


def hundreds_of_data(x: Tensor, n: Tensor):
    k = int(n) // 100
    y = torch.zeros(k + 2)
    return x[:k + 1], k, y + 1, y.size(0)


def whole(x: Tensor, f: float):
    k = int(f)
    return torch.zeros(k + 2), x[k:]


def repeated_in_a_list(x: Tensor, n: Tensor):
    rows = [x] * (int(n) // 50 + 1)
    return torch.stack(rows), len(rows)


def grown_in_a_loop(x: Tensor, n: Tensor):
    y = x.unsqueeze(0)
    for i in range(int(n) // 20):
        y = torch.cat([y, y])
    return y, torch.zeros(y.size(0) * 2)


def chosen_size(x: Tensor, n: Tensor):
    y = x.view(2, -1) if int(n) < 100 else x.view(4, -1)
    return y.size(0), y.sum(1)


def part_in_a_loop(x: Tensor, n: Tensor):
    y = x
    for i in range(int(n) % 3):
        y = x[:int(n)] * 2
    return y.size(0), y + 1


def coarse_axis(x: Tensor):
    k = x.size(0) // 128
    return torch.zeros(k + 1), k, x + k


def coarse_parts(x: Tensor):
    sums: List[Tensor] = []
    for part in x.split(500):
        sums.append(part.sum())
    return torch.stack(sums)


def resized(x: Tensor, f: float):
    y = F.interpolate(x, scale_factor=f)
    return y, y.size(2), F.interpolate(x, scale_factor=f, mode="bilinear")


def resized_by_list(x: Tensor, f: List[float]):
    return F.interpolate(x, scale_factor=f, mode="nearest"), x * f[0]


def unflattened(x: Tensor, n: List[int]):
    return x.unflatten(0, n) * 2


def held(i: int):
    return torch.tensor(i)


ROWS = [
    Case("viewed", viewed, [X, 3, 4], more=[[X, 4, 3], [X, 1, 12], [X, 6, 2]], modes=SCRIPT),
    Case("viewed_by_tuple", viewed_by_tuple, [M, (3, 4)], more=[[M, (4, 3)], [M, (6, 2)]], modes=SCRIPT),
    Case("viewed_by_list", viewed_by_list, [M, [3, 4]], more=[[M, [4, 3]], [M, [1, 12]]], modes=SCRIPT),
    Case("viewed_by_dict", viewed_by_dict, [M, {"a": 3, "b": 4}], more=[[M, {"a": 4, "b": 3}]], modes=SCRIPT),
    Case("viewed_by_data", viewed_by_data, [X, torch.tensor([3, 4])],
         more=[[X, torch.tensor([4, 3])], [X, torch.tensor([12, 1])]], modes=SCRIPT),
    Case("expanded", expanded, [T("f32", 2, 1), 2, 0], more=[[T("f32", 2, 1), -1, 1], [T("f32", 2, 1), 2, -1]],
         modes=SCRIPT),
    Case("expanded_by_list", expanded_by_list, [T("f32", 1, 2), [3, 2]],
         more=[[T("f32", 1, 2), [4, -1]], [T("f32", 1, 2), [-1, 2]]], modes=SCRIPT),
    Case("split_by_list", split_by_list, [T("f32", 2, 6), [3, 2, 1]],
         more=[[T("f32", 2, 6), [2, 3, 1]], [T("f32", 2, 6), [1, 1, 4]]], modes=SCRIPT),
    Case("split_by_data", split_by_data, [X, torch.tensor([3, 9])],
         more=[[X, torch.tensor([4, 8])], [X, torch.tensor([6, 6])]], modes=SCRIPT),
    *[Case(f"split_by_a_growing_list_{n}", split_by_a_growing_list, [T("f32", 9, 2, N=0), n],
           more=[[T("f32", 9, 2, N=0), m] for m in (0, 1, 2, 3)], since=11, modes=SCRIPT) for n in (1, 3)],
    Case("split_by_any_data", split_by_any_data, [T("f32", 9, 2), T("i64", 2, low=2, high=3, K=0)],
         second={"K": 4}, since=13, modes=SCRIPT),
    Case("split_and_padded", split_and_padded, [M, [3, 3]], more=[[M, [4, 2]], [M, [5, 1]]], modes=SCRIPT),
    *[Case(f"{fn.__name__}_{example}", fn, [ROW, held(example)], more=[[ROW, held(i)] for i in others],
           modes=SCRIPT)
      for fn, example, others in ((beginning, 4, (2, 0, 9)), (beginning, 9, (3, 1)), (smaller, 4, (2, 1, 9)),
                                  (smaller, 8, (2, 1)))],
    *[Case(f"beginning_by_number_{n}", beginning_by_number, [ROW, n], more=[[ROW, 1], [ROW, 3], [ROW, 7]],
           modes=SCRIPT) for n in (4, 9)],
    *[Case(f"beginning_of_a_list_{n}", beginning_of_a_list, [ROW, held(n)],
           more=[[ROW, held(2)], [ROW, held(0)], [ROW, held(9)]], modes=SCRIPT) for n in (3, 7)],
    Case("smaller_by_number", smaller_by_number, [T("f32", 4, N=0), 9],
         more=[[T("f32", 4, N=0), n] for n in (4, 3, 1)], modes=SCRIPT),
    Case("hundreds", hundreds, [X, 5], more=[[X, 150], [X, 350]], modes=SCRIPT),
    Case("hundreds_of_data", hundreds_of_data, [X, held(5)], more=[[X, held(150)], [X, held(350)]],
         modes=SCRIPT),
    Case("whole", whole, [X, 1.0], more=[[X, 3.5], [X, 0.2], [X, 11.9]], modes=SCRIPT),
    Case("repeated_in_a_list", repeated_in_a_list, [X, held(5)], more=[[X, held(60)], [X, held(320)]], since=11,
         modes=SCRIPT),
    Case("grown_in_a_loop", grown_in_a_loop, [X, held(1)], more=[[X, held(44)], [X, held(65)]],
         modes=SCRIPT),
    Case("chosen_size", chosen_size, [X, held(1)], more=[[X, held(144)]], since=11, modes=SCRIPT),
    Case("part_in_a_loop", part_in_a_loop, [X, held(13)], more=[[X, held(2)], [X, held(3)], [X, held(5)]],
         since=10, modes=SCRIPT),
    Case("resized", resized, [T("f32", 1, 2, 4, 3, H=2), 2.0],
         more=[[T("f32", 1, 2, 4, 3, H=2), f] for f in (1.5, 3.0, 1.0, 0.6)], modes=SCRIPT),
    Case("resized_by_list", resized_by_list, [T("f32", 1, 2, 4, 3), [3.0, 2.0]],
         more=[[T("f32", 1, 2, 4, 3), [2.0, 1.4]]], modes=SCRIPT),
    Case("unflattened", unflattened, [M, [3, 2]], more=[[M, [2, 3]], [M, [6, 1]]], modes=SCRIPT),
    Case("coarse_axis", coarse_axis, [T("f32", 4, N=0)], second={"N": 1200}, modes=SCRIPT),
    Case("coarse_parts", coarse_parts, [T("f32", 4, N=0)], second={"N": 1200}, since=11, modes=SCRIPT),
]
