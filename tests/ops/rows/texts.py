"""Strings that the run chooses among those that the program names (exporter/torch, convert_texts)."""

from typing import List, Optional

import torch
from torch import Tensor
from torch.nn import functional as F

from case import T, counted

M = T("f32", 4, 6, N=0)


def of_a_branch(x: Tensor, ones: Tensor):
    word = "less"
    if bool(ones.sum() > 2):
        word = "more"
    return x * 2 if word == "less" else x - 1


def state_machine(x: Tensor, ones: Tensor):
    state, steps = "start", 0
    for i in range(int(ones.sum())):
        if state == "start":
            state = "run" if i > 0 else "start"
            steps += 1
        elif state == "run":
            x = x * 2
            state = "stop" if i > 3 else "run"
            steps += 10
        else:
            state = "start"
            steps += 100
        if state != "stop":
            steps += 1000
    return x, steps, state == "run"


def until_a_state(ones: Tensor):
    state, n = "odd", int(ones.sum())
    while state != "end":
        state = "even" if state == "odd" else "odd"
        if n == 1:
            state = "end"
        n -= 1
    return n, state


def as_keys(x: Tensor, ones: Tensor):
    values, key = {"a": x, "b": x * 2, "c": x * 3}, "a"
    for i in range(int(ones.sum())):
        if key == "a":
            key = "b"
        elif key == "b":
            key = "c"
        else:
            key = "a"
        values[key] = values[key] + i
    return values, values[key], values.get(key, x)


def as_an_argument(x: Tensor, ones: Tensor):
    mode, n = "constant", int(ones.sum())
    if n > 2:
        mode = "reflect"
    elif n < 2:
        mode = "replicate"
    return F.pad(x.unsqueeze(0), [1, 1], mode=mode)


def none_or_word(x: Tensor, ones: Tensor):
    word: Optional[str] = None
    for i in range(int(ones.sum())):
        if i == 2:
            word = "two"
        if i == 4:
            word = "four"
    if word is None:
        return x
    return x * 2 if word == "two" else x * 4


def asked_otherwise(x: Tensor, ones: Tensor):
    n = int(ones.sum())
    word = "a" if n > 2 else "b"
    if n > 4:
        word = "c"
    pair = (word, n)
    length = len(word + "xy") if word >= "b" else 0
    return x * (1 if word in ["a", "c"] else 2), length, pair[0] + "z" == "az"


def compared_with_another(x: Tensor, ones: Tensor):
    n = int(ones.sum())
    first, second = "a", "b"
    for i in range(n):
        first, second = second, first
        if i == 3:
            second = first
    return x * 2 if first == second else x, first != "a"


class Mode(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.mode = "idle"

    def forward(self, x: Tensor, ones: Tensor):
        self.mode = "idle"
        for i in range(int(ones.sum())):
            if self.mode == "idle" and i > 1:
                self.mode = "busy"
            elif self.mode == "busy":
                self.mode = "done"
        return x * 3 if self.mode == "done" else x


def made_of_numbers(x: Tensor, ones: Tensor):
    n, log = int(ones.sum()), "of"
    names: List[str] = []
    for i in range(n):
        log = log + f" {i}"
        names.append(str(i))
    last = "none"
    if n > 2:
        last = f"{n} rows of {float(x.sum())}"
    return x * n, str(n), log, names, last


PROGRAMS = ((of_a_branch, 9), (state_machine, 9), (as_keys, 9), (as_an_argument, 9), (none_or_word, 9),
            (asked_otherwise, 9), (compared_with_another, 9), (made_of_numbers, 9))

# The number that decides: example, and what it is in the second input set.
NUMBERS = ((3, 1), (2, 5), (1, 4))


ROWS = [
    *[row for fn, since in PROGRAMS for row in counted(fn, NUMBERS, M, since=since)],
    *counted(until_a_state, NUMBERS),
    *counted(Mode(), NUMBERS, M),
]
