"""Dicts, objects, strings and values that may be None, in lists whose length the
inputs decide (exporter/torch, convert_packed)."""

import dataclasses
from typing import Dict, List, Optional, Tuple

import torch
from torch import Tensor

from case import T, counted

M = T("f32", 4, 6, N=0)
FIXED = T("f32", 4, 6)


class Box:
    def __init__(self, corner: Tensor, score: float, label: str):
        self.corner = corner
        self.score = score
        self.label = label
        self.mask = torch.jit.annotate(Optional[Tensor], None)

    def weight(self):
        return self.corner.sum() * self.score


torch.jit.script(Box)


# ---------------------------------------------------------------- dicts


def dicts(x: Tensor, ones: Tensor):
    found: List[Dict[str, Tensor]] = []
    for i in range(int(ones.sum())):
        found.append({"a": x + i, "b": x * i})
    total = torch.zeros_like(x)
    for each in found:
        total = total * 2 + each["a"] * each["b"]
    return total, len(found), found[-1]["a"]


def best_of_dicts(x: Tensor, ones: Tensor):
    beams = [{"score": x.sum(), "rows": x}]
    for i in range(int(ones.sum())):
        best = beams[0]
        for beam in beams:
            if bool(beam["score"] > best["score"]):
                best = beam
        made: Dict[str, Tensor] = {}
        made["score"] = best["score"] * 0.5 - i
        made["rows"] = best["rows"] + 1
        beams.append(made)
        if len(beams) > 3:
            beams.pop(0)
    last = beams.pop()
    last["rows"] = last["rows"] * 2
    return last["rows"], last["score"], beams[0]["rows"]


def dicts_of_numbers(x: Tensor, ones: Tensor):
    counts: List[Dict[int, float]] = []
    for i in range(int(ones.sum())):
        counts.append({7: i * 0.5, 3: 2.0})
    total = 0.0
    for each in counts:
        for key, value in each.items():
            total += key * value
    return x * total


def stack_machine(x: Tensor, ones: Tensor):
    waiting: List[Dict[str, Tensor]] = []
    for i in range(int(ones.sum()) + 2):
        if i % 3 == 2:
            right, left = waiting.pop(), waiting.pop()
            waiting.append({"h": left["h"] - right["h"]})
        else:
            waiting.append({"h": x * i})
    return waiting[-1]["h"], len(waiting)


def dicts_of_lists(x: Tensor, ones: Tensor):
    found: List[Dict[str, List[Tensor]]] = []
    for i in range(int(ones.sum())):
        found.append({"a": [x + i, x * i], "b": [x]})
    for each in found:
        x = x + each["a"][1] * each["b"][0]
    return x


def copies_are_their_own(x: Tensor, ones: Tensor):
    found: List[Dict[str, Tensor]] = []
    for i in range(int(ones.sum())):
        found.append({"a": x + i})
    copy = found[0].copy()
    copy["a"] = x * 7
    copy["b"] = x
    return copy["a"], found[0]["a"], len(copy)


# ---------------------------------------------------------------- None or a value


def maybe_tensors(x: Tensor, ones: Tensor):
    kept: List[Optional[Tensor]] = []
    for i in range(int(ones.sum())):
        kept.append(x * i if i % 2 == 0 else None)
    total, missing = torch.zeros_like(x), 0
    for each in kept:
        if each is not None:
            total = total + each
        else:
            missing += 1
    return total, missing, len(kept)


def maybe_of_one_size(x: Tensor, ones: Tensor):
    return maybe_tensors(x, ones)


def maybe_numbers(x: Tensor, ones: Tensor):
    kept: List[Optional[int]] = [None]
    for i in range(int(ones.sum())):
        if i > 2:
            kept.append(i)
        else:
            kept.append(None)
    total = 0
    for each in kept:
        total += 100 if each is None else each
    last = kept[-1]
    return x * total, 7 if last is None else last


# ---------------------------------------------------------------- objects


def objects(x: Tensor, ones: Tensor):
    boxes: List[Box] = []
    for i in range(int(ones.sum())):
        box = Box(x[0] + i, i * 0.5, "even" if i % 2 == 0 else "odd")
        if i == 1:
            box.mask = x[1] * 3
        boxes.append(box)
    total, last = torch.zeros(()), x[2]
    for box in boxes:
        if box.label == "odd":
            total = total + box.weight()
        mask = box.mask
        if mask is not None:
            last = mask
    return total, len(boxes), last


# ---------------------------------------------------------------- strings


def words(x: Tensor, ones: Tensor):
    names: List[str] = []
    for i in range(int(ones.sum())):
        names.append("a" if i % 3 == 0 else "b")
    worth, total = {"a": 1, "b": 10}, 0
    for name in names:
        total += worth[name]
        if name == "b":
            total += 1000
    return x * total, "b" in names, names.count("a"), names[::-1][0] == "a"


def mixed(x: Tensor, ones: Tensor):
    found: List[Tuple[str, Optional[Tensor], Dict[str, int]]] = []
    for i in range(int(ones.sum())):
        rows: Optional[Tensor] = None
        if i > 1:
            rows = x[:2] * i
        found.append(("p" if i > 2 else "q", rows, {"u": i, "v": i * 2}))
    total, count = torch.zeros(2, 6), 0
    for name, rows, numbers in found:
        if name == "p":
            count += numbers["u"]
        if rows is not None:
            total = total + rows * numbers["v"]
    return total, count


# ---------------------------------------------------------------- lists that differ in length


def ragged(x: Tensor, ones: Tensor):
    rows: List[List[int]] = []
    for i in range(int(ones.sum()) + 1):
        row: List[int] = []
        for j in range(i):
            row.append(j * i)
        rows.append(row)
    longest = 0
    for row in rows:
        longest = max(longest, len(row))
    padded = torch.zeros(len(rows), longest, dtype=torch.long)
    for i, row in enumerate(rows):
        for j, number in enumerate(row):
            padded[i, j] = number
    return padded, rows[-1]


def beams(x: Tensor, ones: Tensor):
    found: List[Tuple[List[int], float]] = [([0], 0.0)]
    for i in range(int(ones.sum())):
        more: List[Tuple[List[int], float]] = []
        for words, score in found:
            for word in range(2):
                more.append((words + [word], score + float(x[i % x.size(0), word])))
        found = more[:3]
    best, highest = found[0]
    for words, score in found:
        if score > highest:
            best, highest = words, score
    return torch.tensor(best), highest, len(found)


# ---------------------------------------------------------------- written to in their places


class Place:
    def __init__(self, corner: Tensor, score: float, label: str):
        self.corner = corner
        self.score = score
        self.label = label


torch.jit.script(Place)


def objects_written(x: Tensor, ones: Tensor):
    places: List[Place] = []
    for i in range(int(ones.sum())):
        places.append(Place(x + i, i * 0.5, "a"))
    for i in range(len(places)):
        places[i].corner = places[i].corner * 2
        if i % 2 == 1:
            places[i].label = "b"
    for place in places:
        place.score += 1.5
        if place.label == "b":
            place.score = place.score * 2
    total = torch.zeros_like(x)
    for place in places:
        total = total * 2 + place.corner * place.score
    return total, places[-1].score


def dicts_written(x: Tensor, ones: Tensor):
    found: List[Dict[str, Tensor]] = []
    for i in range(int(ones.sum())):
        found.append({"a": x + i, "b": x * i})
    for i in range(1, len(found)):
        found[i]["a"] = found[i - 1]["a"] + found[i]["b"]
    found[0]["b"] = x
    total = torch.zeros_like(x)
    for each in found:
        total = total * 2 + each["a"] * each["b"]
    return total


def grid(ones: Tensor):
    n = int(ones.sum())
    cells: List[List[int]] = []
    for i in range(n):
        cells.append([0] * (n + 1))
    for i in range(n):
        cells[i][0] = i
        for j in range(1, n + 1):
            cells[i][j] = cells[i - 1][j - 1] + max(cells[i - 1][j], cells[i][j - 1]) + 1
    return torch.tensor(cells), cells[-1][-1]


def grid_of_threes(ones: Tensor):
    n = int(ones.sum())
    cells: List[List[int]] = []
    for i in range(n):
        cells.append([0, 0, i])
    for i in range(n):
        for j in range(2):
            cells[i][j] = cells[i][2] * j + 1
    first = cells[0]
    first[0] = 50
    first[1] = first[0] + 1
    return torch.tensor(cells), cells[-1][-1], first[1]


# ---------------------------------------------------------------- outputs


def given_dicts(x: Tensor, ones: Tensor):
    found: List[Dict[str, Tensor]] = []
    for i in range(int(ones.sum())):
        found.append({"rows": x + i, "first": x[0] * i})
    return found, len(found)


def given_pairs(x: Tensor, ones: Tensor):
    found: List[Tuple[Tensor, Dict[str, float], int]] = []
    for i in range(int(ones.sum())):
        found.append((x[i % 4:], {"half": i * 0.5, "double": i * 2.0}, i))
    return {"found": found}


PROGRAMS = ((dicts, 9), (best_of_dicts, 11), (dicts_of_numbers, 9), (stack_machine, 11), (dicts_of_lists, 9),
            (copies_are_their_own, 9), (maybe_tensors, 13), (maybe_numbers, 11), (objects, 10), (words, 10), (ragged, 13),
            (beams, 13), (objects_written, 10), (dicts_written, 9))

# The number that decides: example, and what it is in the second input set.
NUMBERS = ((3, 1), (2, 5), (1, 4))


ROWS = [
    *[row for fn, since in PROGRAMS for row in counted(fn, NUMBERS, M, since=since)],
    *counted(maybe_of_one_size, NUMBERS, FIXED, since=10),
    *counted(grid, NUMBERS, since=13),
    *counted(grid_of_threes, NUMBERS),
    *[dataclasses.replace(row, by_field=True) for fn, since in ((given_dicts, 11), (given_pairs, 13))
      for row in counted(fn, NUMBERS, M, since=since)],
    *counted(mixed, NUMBERS[:1], M),
    *counted(mixed, NUMBERS[1:2], M, since=13),
]
