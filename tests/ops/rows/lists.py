"""Rows of dynamic_list.cc and list_changes.cc: lists whose length the inputs decide, in scripted functions."""

from typing import List, Tuple

import torch
from torch import Tensor

from case import Case, T

M = T("f32", 4, 6, N=0)
SCRIPT = ("script",)


def stacked(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x + i)
    return torch.stack(rows), torch.stack(rows, 1), torch.stack(rows, -1), len(rows)


def joined(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x * i)
    return torch.cat(rows), torch.cat(rows, 1), torch.cat(rows, -2)


def sums_of_parts(x: Tensor):
    parts = x.split(2, 0)
    sums: List[Tensor] = []
    for i in range(len(parts)):
        sums += [parts[i].sum(0, False)]
    return torch.stack(sums), torch.cat(sums)


def growing_from_one(x: Tensor):
    rows = [x]
    for i in range(x.size(0)):
        rows.append(rows[-1] + rows[i])
    return torch.stack(rows), rows[0], rows[-2], rows[x.size(0) - 1]


def of_growing_tensors(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[:i + 1])
    return torch.cat(rows), len(rows)


def of_masked_tensors(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[i][x[i] > 0])
    return torch.cat(rows)


def from_a_branch(x: Tensor):
    rows = [x]
    if x.size(0) > 5:
        rows.append(x + 1)
    return torch.stack(rows), len(rows)


def of_tuples(x: Tensor):
    pairs: List[Tuple[Tensor, int]] = []
    for i in range(x.size(0)):
        pairs.append((x + i, i * 2))
    total = torch.zeros_like(x)
    for rows, factor in pairs:
        total = total + rows * factor
    return total, pairs[-1][0], pairs[x.size(0) - 1][1]


def of_lists(x: Tensor):
    pairs = [[x, x + 1]]
    for i in range(x.size(0)):
        pairs.append([x + i, x * i])
    total = torch.zeros_like(x)
    for pair in pairs:
        total = total + pair[0] * pair[1]
    return total, torch.cat(pairs[-1])


def of_lists_from_nothing(x: Tensor):
    pairs: List[List[Tensor]] = []
    numbers: List[List[int]] = []
    for i in range(x.size(0)):
        pairs.append([x + i, x * i])
        numbers.append([i, i * 2, 7])
    total = torch.zeros_like(x)
    for first, second in pairs:
        total = total + first * second
    return total, torch.cat(pairs[-1]), len(pairs), len(pairs[0]), numbers[-1][1] + numbers[0][2]


def enumerated_pairs(x: Tensor):
    first: List[Tensor] = []
    second: List[Tensor] = []
    for i in range(x.size(0)):
        first.append(x + i)
        second.append(x * i)
    total = torch.zeros_like(x)
    for i, (a, b) in enumerate(zip(first, second)):
        total = total + a * i - b
    return total


def of_empty_tensors(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[:, :0] + i)
    return torch.stack(rows), torch.cat(rows)


def shifted(x: Tensor) -> List[Tensor]:
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x + i)
    return rows


def reversed_list(x: Tensor):
    rows = shifted(x)
    rows.reverse()
    return torch.stack(rows)


def sums_of_lists(x: Tensor):
    a, b = shifted(x), shifted(-x)
    return torch.stack(a + b), torch.stack(b + [x]), torch.stack([x] + a), len(a + b)


def slices(x: Tensor):
    rows, n = shifted(x), x.size(0)
    return (torch.stack(rows[1:]), torch.stack(rows[:-1]), torch.stack(rows[::2]), torch.stack(rows[-1:]),
            torch.stack(rows[n - 1:]), torch.stack(rows[:100]), len(rows[3:2]))


def numbers_given(x: Tensor) -> List[int]:
    return [i * 2 for i in range(x.size(0) - 4)]


def tensors_given(x: Tensor):
    rows = shifted(x)
    return rows, torch.stack(rows).sum(0)


def cut_off(x: Tensor):
    rows = [x[0]]
    for i in range(x.size(0)):
        more: List[Tensor] = []
        for row in rows:
            more.append(row + i)
            more.append(row * 2)
        rows = more[:5]
    return torch.stack(rows), len(rows)


def queue(x: Tensor):
    waiting, done = [x], [x * 0]
    while len(waiting) > 0 and len(done) < x.size(0):
        first = waiting.pop(0)
        done.append(first * 2)
        waiting.append(first + 1)
        if len(done) % 2 == 0:
            waiting.append(first - 1)
    return torch.stack(done), len(waiting)


def set_items(x: Tensor):
    rows = shifted(x)
    rows[x.size(0) - 1] = x * 7
    rows[-2] = x * 9
    rows[0] = rows[1]
    return torch.stack(rows)


def inserted_and_popped(x: Tensor):
    rows, n = shifted(x), x.size(0)
    rows.insert(1, x * 3)
    rows.insert(n, x * 4)
    rows.insert(-1, x * 5)
    rows.insert(-100, x * 6)
    rows.insert(100, x * 8)
    a, b, c = rows.pop(1), rows.pop(), rows.pop(-2)
    del rows[0]
    return torch.stack(rows), a, b, c


def extended(x: Tensor):
    a, b = shifted(x), shifted(x * 2)
    a.extend(b)
    a += b[1:]
    a.extend([x, -x])
    return torch.stack(a)


def repeated(x: Tensor):
    rows, n = shifted(x), x.size(0)
    return torch.stack(rows * 2), torch.stack([x, -x] * n), torch.stack(rows * n), len(rows * 0)


def comprehensions(x: Tensor):
    doubled = [row * 2 for row in shifted(x)]
    return torch.stack(doubled), torch.stack([row.sum(0) for row in doubled])


def numbers(x: Tensor):
    a: List[int] = []
    for i in range(x.size(0)):
        a.append(i * 3)
    b = [y + 1 for y in a]
    found = 0
    if 9 in a and 18 not in a:
        found = 1
    if len(a) > 2 and a[-1] == 18:
        found += 2
    return torch.tensor(a), torch.tensor(b + a), found, a[x.size(0) - 1], sum(a), max(b), min(b)


def changed_numbers(x: Tensor):
    a = [1, 2]
    for i in range(x.size(0)):
        a.append((i * 5) % 7)
    a.reverse()
    a[x.size(0)] = 50
    a.insert(1, 9)
    first = a.pop(0)
    before = a[:]
    rest, twice = a[1:], a * 2
    a.sort()
    ones = a.count(1) + [1, x.size(0)].count(1)
    same, differ = a == before, a[1:] != rest
    b = sorted(before)
    before.sort(reverse=True)
    numbers = torch.tensor(a), torch.tensor(rest), torch.tensor(twice), torch.tensor(before)
    return numbers, first, ones, same, differ, a == b


def floats_and_bools(x: Tensor):
    a: List[float] = []
    b: List[bool] = []
    for i in range(x.size(0)):
        a.append(i * 0.5)
        b.append(i > 2)
    total = 0.0
    for value in a:
        total += value
    truths = any(b), all(b), all(b[3:]), any(b[:3]), sum(b)
    return torch.tensor(a), total, torch.tensor(b), truths, sum(a), 1.5 in a


def sizes_from_a_list(x: Tensor):
    sizes: List[int] = []
    for i in range(x.size(0)):
        sizes.append(i + 1)
    return x.expand([sizes[2]] + list(x.shape)), torch.zeros([sizes[-1], sizes[0]])


def appended_or_replaced(x: Tensor):
    a: List[int] = []
    rows, last = [x], torch.zeros_like(x)
    for i in range(x.size(0)):
        last = last + rows[-1]
        if i % 2 == 0:
            a.append(i)
            rows.append(x * i)
        else:
            a = a + [i * 3]
            rows = [x * 2] + rows
    return torch.tensor(a), torch.stack(rows), last


def popped_tuples(x: Tensor):
    rows: List[Tuple[Tensor, int]] = []
    for i in range(x.size(0)):
        rows.append((x + i, i))
    last, k = rows.pop()
    first, j = rows.pop(0)
    return last, k, first, j, len(rows), rows[-1]


def popped_tuples_that_change(x: Tensor):
    rows: List[Tuple[Tensor, int]] = []
    for i in range(x.size(0)):
        rows.append((x + i, i))
    last, k = rows.pop()
    last.mul_(2)
    return last, k, x.sum()


def backwards(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.append(x[i] * i)
    known = [x, x + 1, x + 2, x + 3]
    turned = rows[::-1]
    return (torch.stack(turned), torch.stack(rows[2:0:-1]), torch.stack(rows[-2::-2]), turned[0],
            torch.cat(known[::-1]), torch.cat(known[-2:-5:-2]), torch.cat(known[9:1:-1]))


def inserted_into_nothing(x: Tensor):
    rows: List[Tensor] = []
    for i in range(x.size(0)):
        rows.insert(0, x[i] * i)
    return torch.stack(rows), rows[0], len(rows)


def known_numbers(x: Tensor):
    numbers = [3, x.size(1), x.size(0), 2]
    numbers.sort()
    return numbers, x


def tensor_of_pairs(x: Tensor):
    pairs: List[Tuple[int, int]] = []
    for i in range(x.size(0)):
        pairs.append((i, i * 2))
    rows: List[List[float]] = []
    for i in range(x.size(0)):
        rows.append([i * 0.5, 1.0, 2.0])
    return torch.tensor([[a, b] for a, b in pairs]), torch.tensor(rows)


ROWS = [
    *[Case(fn.__name__, fn, [M], dynamic_since=since, modes=SCRIPT) for fn, since in (
        (stacked, 9), (joined, 9), (sums_of_parts, 11), (growing_from_one, 9), (of_growing_tensors, 13),
        (of_masked_tensors, 13), (from_a_branch, 11), (of_tuples, 9), (of_lists, 9), (of_lists_from_nothing, 9),
        (enumerated_pairs, 9), (of_empty_tensors, 9), (reversed_list, 9), (sums_of_lists, 9), (slices, 9),
        (set_items, 9),
        (inserted_and_popped, 9), (extended, 9), (repeated, 10), (comprehensions, 9), (numbers, 9),
        (changed_numbers, 11), (floats_and_bools, 9), (sizes_from_a_list, 9), (numbers_given, 11),
        (tensors_given, 11), (cut_off, 9), (queue, 11), (appended_or_replaced, 11),
        (popped_tuples, 9), (popped_tuples_that_change, 9), (backwards, 10), (inserted_into_nothing, 9),
        (known_numbers, 10), (tensor_of_pairs, 9))],
]
