"""Rows of what capture and the passes make of scripted programs: dicts, writes to tensors that are one of
several, values whose type the inputs decide."""

from typing import List

import torch
from torch import Tensor

from case import Case, T

M = T("f32", 4, 6, N=0)
SCRIPT = ("script",)


# ---------------------------------------------------------------- numbers


def places_of_numbers(x: Tensor, ones: Tensor):
    n = ones.sum()
    items = [3, 5, 7, int(n) + 20, 5]
    items.remove(5)
    grown = [i * 2 for i in range(int(n) + 4)]
    grown.remove(2)
    grown.remove(0)
    return items.index(5), items.index(int(n) + 20), torch.tensor(items), grown.index(4), torch.tensor(grown)


def quotients(ones: Tensor):
    n = ones.sum()
    k = int(n)
    return divmod(k, 3), divmod(-k, 3), divmod(k, -2), divmod(k * 0.5, 2)


def numbers_of_a_tensor(x: Tensor, ones: Tensor):
    n = ones.sum()
    floats: List[float] = x[:, 0].tolist()
    number: int = n.tolist()
    total = 0.5
    for value in floats:
        total += value * number
    return total, torch.tensor(floats), len(floats)


def compound_while(x: Tensor, ones: Tensor):
    n = ones.sum()
    i, j = 0, 10
    while i < int(n) and j > 5 or i == 0:
        i += 1
        j -= 2
        if i % 2 == 0 and not j == 6:
            x = x + 1
        else:
            x = x * 2
    return x, i, j


BRANCHES = (
    (places_of_numbers, 9), (numbers_of_a_tensor, 9), (compound_while, 10))

# The number that decides: example, and what it is in the second input set.
NUMBERS = ((3, 9), (2, 0), (5, 1))


def ones(example: int):
    return T("i64", example, low=1, high=2, K=0)


ROWS = [
    *[Case(f"{fn.__name__}_{n}", fn, [M, ones(n)], since=since, second={"K": other}, modes=SCRIPT)
      for fn, since in BRANCHES for n, other in NUMBERS],
    *[Case(f"quotients_{n}", quotients, [ones(n)], since=10, second={"K": other}, modes=SCRIPT)
      for n, other in NUMBERS],
]
