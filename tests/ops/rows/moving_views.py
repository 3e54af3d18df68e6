"""Views that a loop carries, with other names of what they show (exporter/passes, functionalize_moving)."""

import torch
from torch import Tensor

from case import Case, T, counted

M = T("f32", 4, 6, N=0)


def row_of_the_last_iteration(x: Tensor):
    y = x.clone()
    row = y[0]
    for i in range(y.size(0)):
        row.add_(1)
        row = y[i]
        row.mul_(2)
    row.sub_(5)
    return y, row


def suffix_of_a_suffix(x: Tensor):
    y = x.clone()
    rest = y
    while rest.size(0) > 1:
        rest.add_(1)
        rest = rest[1:]
    return y, rest


def column_beside_the_last_one(x: Tensor):
    y = x.clone()
    last = y[:, 0]
    for i in range(1, y.size(1)):
        column = y[:, i]
        column += last
        last = column
    return y


def best_row(x: Tensor):
    y = x.clone()
    best = y[0]
    for i in range(1, y.size(0)):
        if bool(y[i].sum() > best.sum()):
            best = y[i]
    best.zero_()
    return y


def halves(x: Tensor):
    y = x.clone()
    part = y
    while part.size(0) > 1:
        half = part.size(0) // 2
        part = part[half:] if bool(part[half].sum() > 0) else part[:half]
        part.add_(1)
    return y, part


def rows_exchanged(x: Tensor):
    y = x.clone()
    a, b = y[0], y[1]
    for i in range(y.size(0)):
        a.add_(i)
        a, b = b, a
    return y, a, b


def rows_of_two_tensors(x: Tensor):
    y, z = x.clone(), x * 3
    row = y[0]
    for i in range(y.size(0)):
        row = y[i] if i % 2 == 0 else z[i]
        row.add_(1)
    row.zero_()
    return y, z, row


def row_of_what_is_made_anew(x: Tensor):
    y = x.clone()
    row = y[0]
    for i in range(y.size(0)):
        row.add_(1)
        y = y * 2
        row = y[1]
    return y, row


def made_anew_once(x: Tensor):
    y = x.clone()
    row = y[0]
    for i in range(y.size(0)):
        if i == 1:
            y = y * 2
        row.add_(1)
        row = y[i]
    row.add_(7)
    return y, row


def flat_beside_whole(x: Tensor):
    y = x.clone()
    flat = y.view(-1)
    for i in range(y.size(0)):
        flat[i] = 5.
        y = y + 1
        flat = y.view(-1)
    return y, flat


def transposed(x: Tensor):
    y = x.clone()
    turned = y.t()
    for i in range(y.size(0)):
        turned[i % 3] += 1
        turned = y.t()[1:]
    return y, turned


def in_nested_loops(x: Tensor):
    y = x.clone()
    row = y[0]
    for i in range(y.size(0)):
        for j in range(3):
            row.add_(1)
            row = y[(i + j) % 4]
        y.mul_(1.5)
    return y, row


def item_of_unbind(x: Tensor):
    y = x.clone()
    row = y[0]
    for i in range(y.size(0)):
        row.mul_(2)
        row = y.unbind(0)[i]
    return y, row


def first_value_has_another_name(x: Tensor):
    a = x.clone()
    b = a
    for i in range(x.size(0) - 4):
        a[0] += 1
        a = a * 2
    a.mul_(3)
    return a, b


def first_value_is_in_a_list(x: Tensor):
    y = x.clone()
    l = [y]
    a = y
    for i in range(x.size(0) - 4):
        a = a + 1
    a.add_(1)
    return l[0], a


def first_value_comes_back(x: Tensor):
    y = x.clone()
    for i in range(x.size(0)):
        rest = y
        while rest.size(0) > 1:
            rest = rest[1:]
            rest.add_(1)
    return y


def kept_from_one_iteration(x: Tensor):
    y = x.clone()
    b = y
    for i in range(x.size(0)):
        y += 1
        y = y * 2
        if i == 1:
            b = y
    b.add_(100)
    return y, b


def one_row_or_the_other(x: Tensor):
    y = x.clone()
    a, b = y[0], y[1]
    for i in range(y.size(0)):
        if i % 2 == 0:
            a = b
        else:
            b = y[i]
        a.add_(1)
        b.mul_(2)
    return y, a, b


def piece_of_a_copy(x: Tensor):
    y = x.clone()
    piece = y[0]
    for i in range(x.size(0)):
        piece.mul_(2)
        piece = y.t().reshape(-1)[i:i + 3]
    return y, piece


def moved_by_a_number(x: Tensor, ones: Tensor):
    y = x.clone()
    row = y[0]
    for i in range(int(ones.sum())):
        row.mul_(2)
        row = y[i]
    row.add_(1)
    return y, row


FROM_9 = (piece_of_a_copy, row_of_the_last_iteration, suffix_of_a_suffix, column_beside_the_last_one, best_row, halves,
          rows_exchanged, row_of_what_is_made_anew, flat_beside_whole, item_of_unbind, first_value_has_another_name,
          first_value_is_in_a_list, first_value_comes_back, kept_from_one_iteration)
FROM_11 = (one_row_or_the_other, rows_of_two_tensors, made_anew_once, transposed, in_nested_loops)

ROWS = [
    *[Case(fn.__name__, fn, [M], modes=("script",), dynamic_since=since)
      for programs, since in ((FROM_9, 9), (FROM_11, 11)) for fn in programs],
    *counted(moved_by_a_number, ((2, 3), (4, 1), (3, 0)), M),
]
