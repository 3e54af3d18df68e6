"""The programs of capture_test.py."""
import dataclasses
from typing import Callable, Dict, List, NamedTuple, Optional, Tuple

import torch
from torch import Tensor, nn

BOTH = ("trace", "script")
SCRIPT = ("script",)
TRACE = ("trace",)


@dataclasses.dataclass
class Case:
    name: str
    make: Callable            # gives the module or function
    inputs: tuple
    dynamic: Optional[dict] = None
    sizes: tuple = ()         # of the symbols, beside the example's
    forms: tuple = BOTH
    graph: tuple = ()         # texts that the printed graph holds
    refused: str = ""         # text of the error that is expected
    warned: str = ""
    keywords: bool = False    # the last input is a dict of keyword arguments


CASES: List[Case] = []


def case(inputs, dynamic=None, sizes=(), **more):
    """Adds the decorated module class or function."""
    def add(program):
        make = program if isinstance(program, type) else lambda: program
        CASES.append(Case(program.__name__, make, inputs, dynamic, tuple(sizes), **more))
        return program
    return add


X = torch.randn(4, 3)
IMAGE = torch.randn(2, 3, 32, 32)
N3 = ({"N": 5}, {"N": 9})


@case((IMAGE,), {"0": {"0": "N"}}, N3, graph=("features.0.weight", "float32[N, 8, 16, 16]",
                                              "ConvNet/Sequential[features]/Conv2d[0]"))
class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8),
                                      nn.ReLU(inplace=True), nn.MaxPool2d(2))
        self.drop = nn.Dropout()
        self.classifier = nn.Linear(8 * 8 * 8, 5)

    def forward(self, x):
        x = torch.flatten(self.features(x), 1)
        return self.classifier(self.drop(x.view(x.size(0), -1)))


@case((IMAGE,), {"0": {"0": "N", "2": "H", "3": "W"}},
      ({"H": 40, "W": 37}, {"N": 3, "H": 65, "W": 50}),
      graph=("float32[N, 8, floordiv(H - 1, 2) + 1, floordiv(W - 1, 2) + 1]",))
class FullyConvolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = nn.Conv2d(3, 8, 3, 2, 1)
        self.up = nn.ConvTranspose2d(8, 3, 2, 2)

    def forward(self, x):
        return self.up(torch.relu(self.down(x)))


@case((torch.randint(0, 50, (2, 7)),), {"0": {"0": "B", "1": "S"}},
      ({"B": 3}, {"S": 11}, {"B": 5, "S": 12}), graph=("float32[B, S, 50]",))
class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(50, 16)
        self.q, self.k, self.v = nn.Linear(16, 16), nn.Linear(16, 16), nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 50, bias=False)
        self.head.weight = self.embedding.weight

    def split(self, x):
        return x.view(x.size(0), x.size(1), 4, 4).transpose(1, 2)

    def forward(self, ids):
        x = self.embedding(ids)
        scores = self.split(self.q(x)) @ self.split(self.k(x)).transpose(-1, -2) / 2.0
        mask = torch.ones(x.size(1), x.size(1), dtype=torch.bool).tril()
        scores = scores.masked_fill(~mask, float("-inf"))
        y = scores.softmax(-1) @ self.split(self.v(x))
        y = y.transpose(1, 2).reshape(x.size(0), x.size(1), 16)
        return self.head(self.norm(x + y))


@case((X, 3), forms=SCRIPT, dynamic={"0": {"0": "N"}}, sizes=N3, graph=("prim::Loop",))
def loop_with_list(x: Tensor, n: int):
    rows: List[Tensor] = []
    for i in range(n):
        rows.append(x + i)
    return torch.stack(rows)


@case((X,), forms=SCRIPT, dynamic={"0": {"0": "N"}}, sizes=N3)
def constant_loop_with_list(x: Tensor):
    rows: List[Tensor] = []
    for i in range(3):
        rows += [x[i].sum(0, keepdim=False)]
    return torch.stack(rows)


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT, graph=("prim::If",))
def branch_on_data(x: Tensor):
    if x.sum() > 0:
        y = x * 2
    else:
        y = x - 1
    return y


@case((X,), {"0": {"0": "N"}}, ({"N": 2}, {"N": 9}), forms=SCRIPT)
def branch_on_size(x: Tensor):
    if x.size(0) > 3:
        return x[:3]
    return torch.cat([x, x])


@case((X,), {"0": {"1": "W"}}, ({"W": 8},), forms=SCRIPT)
def branch_on_static_size(x: Tensor):
    if x.size(0) == 4:
        return x + 1
    return x.view(-1)


@case((torch.tensor([1., -2, 3, -4, 5]),), {"0": {"0": "N"}}, N3, graph=("u0",))
def mask(x: Tensor):
    y = x[x > 0]
    return y * 2, y.size(0) * torch.ones(1)


@case((torch.tensor([[1., 0, 3], [0, 5, 0]]),), graph=("int64[u0, 2]",))
def nonzero(x: Tensor):
    return torch.nonzero(x), torch.nonzero(x).flatten()


@case((X, torch.tensor(3)), forms=SCRIPT)
def loop_on_value(x: Tensor, y: Tensor):
    for i in range(int(y)):
        x = x + i
    return x


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
def while_loop(x: Tensor):
    total = x.sum().abs()
    count = 0
    while bool(total < 100) and count < 20:
        total = total * 2 + 1
        count += 1
    return total, count


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
def growing(x: Tensor):
    y = x
    for i in range(x.size(0)):
        y = torch.cat([y, x[i:i + 1]])
    return y


@case((X, {"a": X, "b": X * 2}), {"0": {"0": "N"}, "1": {"0": "M"}, "2": {"0": "M"}}, forms=SCRIPT)
def dicts(x: Tensor, d: Dict[str, Tensor]):
    out = {"sum": d["a"] + d["b"]}
    if "c" in d:
        out["c"] = d["c"]
    out["x"] = x
    return out


class Point(NamedTuple):
    first: Tensor
    second: Tensor


@case((X,), forms=SCRIPT, graph=("output out.first", "output out.second"))
def named_tuple(x: Tensor):
    return Point(x + 1, x.t())


@case((X, None), forms=SCRIPT)
def optional(x: Tensor, y: Optional[Tensor] = None):
    if y is not None:
        x = x + y
    return x


@case((X, X), forms=SCRIPT)
def optional_given(x: Tensor, y: Optional[Tensor] = None):
    if y is not None:
        x = x + y
    return x


@case(([X, X + 1],), forms=SCRIPT)
def list_input(xs: List[Tensor]):
    total = torch.zeros_like(xs[0])
    for x in xs:
        total = total + x
    return total, len(xs)


@case(((X, (X, X * 3)),), forms=BOTH)
def nested_tuple(t: Tuple[Tensor, Tuple[Tensor, Tensor]]):
    return t[0] + t[1][1], (t[1][0], [t[0]])


@case((X,), forms=SCRIPT)
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(3))
        self.calls = 0

    def forward(self, x):
        self.state = self.state + x[0]
        self.calls += 1
        for row in range(2):
            self.state = self.state * 2
        return x + self.state, self.calls


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
class StateInLoop(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(3))

    def forward(self, x):
        for i in range(x.size(0)):
            self.state = self.state * 0.5 + x[i]
        return self.state


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
class ListInLoop(nn.Module):
    rows: List[Tensor]

    def __init__(self):
        super().__init__()
        self.rows = []

    def forward(self, x):
        self.rows = [x]
        for i in range(3):
            self.rows.append(x * i)
        if len(self.rows) != 4:
            raise ValueError("an iteration too many")
        return torch.cat(self.rows)


@case((X,), {"0": {"0": "N"}}, N3)
def views(x: Tensor):
    y = x.clone()
    y[:, 1:] += 1
    v = y[0]
    v.mul_(2)
    return y


@case((torch.randn(3, 4),), {"0": {"0": "N"}}, N3)
def shapes(x: Tensor):
    b, c = x.shape
    y = x.reshape(b * c)
    z = x.new_zeros((b, 2))
    return y, torch.cat([x, z], 1), x.expand(2, b, c), torch.arange(b)


@case((torch.randn(6, 4),), {"0": {"0": "N"}}, ({"N": 7}, {"N": 12}))
def strided(x: Tensor):
    return x[::2], x[1:], x[:-1], x.flip(0)


@case((torch.randn(4, 6),), {"0": {"0": "N"}}, N3)
def splits(x: Tensor):
    a, b = x.chunk(2, 1)
    c = torch.split(x, 2, 1)
    return a * b, torch.stack(c), torch.cat(x.unbind(1))


@case((torch.randn(4, 6),), {"0": {"0": "N"}}, ({"N": 5},), forms=SCRIPT)
def dynamic_split(x: Tensor):
    out: List[Tensor] = []
    for part in torch.split(x, 2, 0):
        out.append(part.sum(0))
    return torch.stack(out)


@case((X, torch.arange(4)), forms=TRACE)
def numbers_of_python(x: Tensor, n: Tensor):
    return x.sum() * 0.5, n + 2.5, n.sum() * 1.5 - 2, x.half().sum() / 3.0, torch.view_as_real(torch.complex(x, x) * (2 + 1j) - 1j)


@case((X,), {"0": {"0": "N"}}, forms=TRACE, refused="axis N is frozen at 4")
def one_of_the_rows(x: Tensor):
    return x.unbind(0)[1]


@case((X, torch.tensor(2)), forms=SCRIPT)
def written_list_of_a_branch(x: Tensor, n: Tensor):
    first = [x]
    second = [x * 2]
    if bool(n > 1):
        chosen = first
    else:
        chosen = second
    chosen[0] = x + 7
    return first[0], second[0]


@case((X, torch.tensor(2)), forms=SCRIPT)
def written_list_of_a_branch_alone(x: Tensor, n: Tensor):
    if bool(n > 1):
        chosen = [x]
    else:
        chosen = [x * 2]
    chosen.append(x + 7)
    return torch.cat(chosen)


@case((X, 1), forms=SCRIPT)
def written_list_of_a_dict(x: Tensor, n: int):
    first = [x]
    second = [x * 2]
    lists = {0: first, 1: second}
    lists[n].append(x + 1)
    return len(first), len(second)


@case((X, 2), forms=SCRIPT, refused="each iteration makes anew")
def written_list_of_a_loop(x: Tensor, n: int):
    first = [x]
    second = [x * 2]
    for i in range(n):
        first = [x * i]
        second = first
    second[0] = x * 5
    return first[0], second[0]


@case((X, 2), forms=SCRIPT, refused="into a list whose length only the run tells")
def written_list_in_a_dynamic_list(x: Tensor, n: int):
    row = [x]
    rows: List[List[Tensor]] = []
    for i in range(n):
        rows.append(row)
    row[0] = x + 5
    return rows[0][0]


@case((X, 2), forms=SCRIPT, refused="into a list whose length only the run tells")
def written_dict_in_a_dynamic_list(x: Tensor, n: int):
    found: List[Dict[str, Tensor]] = []
    each = {"a": x}
    for i in range(n):
        each["a"] = each["a"] + 1
        found.append(each)
    return found[0]["a"]


@case((X, 2), forms=SCRIPT, refused="that a list holds whose length only the run tells")
def dict_of_a_dynamic_list_written(x: Tensor, n: int):
    found: List[Dict[str, Tensor]] = []
    for i in range(n):
        found.append({"a": x + i})
    first = found[0]
    if n > 3:
        first = found[1]
    first["a"] = x * 7
    return found[0]["a"]


@case((X, 2), forms=SCRIPT)
def list_of_a_ragged_list_written(x: Tensor, n: int):
    rows: List[List[int]] = []
    for i in range(n):
        row: List[int] = []
        for j in range(i):
            row.append(j)
        rows.append(row)
    rows[0].append(7)
    return len(rows[0])


@case((X, 2), forms=SCRIPT, refused="whose dicts have other keys")
def dicts_of_other_keys(x: Tensor, n: int):
    found: List[Dict[str, Tensor]] = []
    for i in range(n):
        if i > 1:
            found.append({"a": x})
        else:
            found.append({"a": x, "b": x})
    return found[0]["a"]


@case((X, torch.tensor(2)), forms=SCRIPT, refused="order of keys")
def order_of_a_nested_branch(x: Tensor, n: Tensor):
    d: Dict[str, Tensor] = {}
    if bool(n > 1):
        d["a"] = x
        d["b"] = x + 1
    else:
        if bool(n > 0):
            d["a"] = x * 5
            d["b"] = x * 6
        else:
            d["b"] = x * 2
            d["a"] = x * 3
    return torch.stack(list(d.values()))


@case((X, torch.tensor(2)), forms=SCRIPT, refused="order of keys")
def order_of_an_output(x: Tensor, n: Tensor):
    d: Dict[str, Tensor] = {}
    if bool(n > 1):
        d["a"] = x
        d["b"] = x + 1
    else:
        d["b"] = x * 2
        d["a"] = x * 3
    return d


@case((torch.zeros(0, 2), X), [{"0": "N"}, {"0": "M"}], refused="axis N is frozen at 0")
def frozen_at_nothing(x: Tensor, y: Tensor):
    return x.view(0, 2), y + 1


@case((X,), {"0": {"0": "N"}}, ({"N": 8},), warned="the number 4 stands where axis N ends")
def reshaped_to_the_example(x: Tensor):
    return x.reshape(4, -1) + 1


@case((torch.randn(3, 4, 2, 5), torch.tensor([-1, -2]), torch.tensor([[0], [1]])), {"1": {"0": "K"}}, forms=TRACE,
      refused="axis K is frozen at 2")
def beside_indices_of_a_fixed_number(x: Tensor, i: Tensor, t: Tensor):
    return x[:, i, t, [0, 1]]


@case((X,), {"0": {"0": "N"}}, forms=TRACE, refused="aten::view")
def frozen(x):
    return x.view(4, -1).view(4, 3)


@case((X,), forms=SCRIPT, warned="dropped")
def dropped(x: Tensor):
    return x, "name", None


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT, warned="check")
def checked(x: Tensor):
    if x.sum() > 1e9:
        raise ValueError("too large")
    assert x.size(1) == 3
    return x + 1


@torch.jit.script
def _helper(x: Tensor):
    for i in range(x.size(0)):
        x = x + i
    return x


@case((X,), {"0": {"0": "N"}}, N3, forms=TRACE, graph=("prim::Loop",))
class MixedTraceScript(nn.Module):
    def forward(self, x):
        return _helper(x)


@case((torch.randn(5, 2, 3),), {"0": {"0": "T", "1": "B"}}, ({"T": 7}, {"T": 4, "B": 3}))
class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(3, 4)

    def forward(self, x):
        y, (h, c) = self.lstm(x)
        return y, h, c


@case((torch.tensor([[1, 2, 2], [3, 1, 1]]),))
def unique(x: Tensor):
    values, counts = torch.unique(x, return_counts=True)
    return values, counts, values * 2


@case((X, torch.tensor([1, 0, 2, 3])), {"0": {"0": "N"}, "1": {"0": "N"}}, N3)
def repeats(x: Tensor, n: Tensor):
    return torch.repeat_interleave(x, n, dim=0)


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
def nested_control(x: Tensor):
    y = x
    for i in range(x.size(0)):
        if i % 2 == 0:
            y = y + x[i]
        else:
            if y.sum() > 0:
                y = y - 1
    return y


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
def early_return(x: Tensor):
    for i in range(x.size(0)):
        if x[i].sum() > 0:
            return x[i]
    return x.sum(0)


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
def break_continue(x: Tensor):
    total = torch.zeros(3)
    for i in range(x.size(0)):
        if i == 1:
            continue
        total = total + x[i]
        if total.sum() > 2:
            break
    return total


@case((X, torch.randn(4, 3)), {"0": {"0": "N"}, "1": {"0": "M"}}, ({"N": 7, "M": 7},))
def coupled_axes(x: Tensor, y: Tensor):
    return x + y


@case((torch.randn(2, 3, 4), torch.randn(6, 4)), {"0": {"0": "A"}, "1": {"0": "B"}},
      ({"A": 4, "B": 12},))
def axes_in_proportion(x: Tensor, like: Tensor):
    return x.view(like.size(0), like.size(1))


@case((torch.randn(1, 1, 400),), {"0": {"2": "S"}}, ({"S": 800}, {"S": 1111}))
class CoarseSteps(nn.Module):
    """Half of the example is too small for it, and a few more samples change no size but that of the input."""

    def __init__(self):
        super().__init__()
        self.first = nn.Conv1d(1, 2, 200, 100)
        self.second = nn.Conv1d(2, 2, 3, 2)

    def forward(self, x):
        y = torch.relu(self.second(torch.relu(self.first(x)))).transpose(1, 2)
        return y + torch.arange(y.size(1)).unsqueeze(1)


@case((torch.randn(2, 3), torch.randn(2, 5), torch.randn(2, 8)),
      {"0": {"1": "S"}, "1": {"1": "P"}, "2": {"1": "M"}}, ({"S": 4, "P": 9, "M": 13},))
def axis_that_is_a_sum(x: Tensor, past: Tensor, mask: Tensor):
    keys = torch.cat([past, x], 1)
    return torch.softmax(x.unsqueeze(2) * keys.unsqueeze(1) + mask.unsqueeze(1), -1) @ keys.t()


@case((torch.randn(2, 1), torch.randn(2, 5), torch.randn(2, 6)),
      {"1": {"1": "P"}, "2": {"1": "M"}}, ({"P": 9, "M": 10},))
def axis_one_larger(x: Tensor, past: Tensor, mask: Tensor):
    return (torch.cat([past, x], 1) + mask)[:, 1:].sum(1)


@case((X, X), forms=SCRIPT, refused="takes 1 inputs")
def too_many_inputs(x: Tensor):
    return x


@case((), forms=SCRIPT, refused="no value for input x")
def missing_input(x: Tensor):
    return x


@case((3,), forms=SCRIPT, refused="the program takes a Tensor, not an int")
def wrong_type(x: Tensor):
    return x


@case((torch.randn(2, 5),), forms=SCRIPT, refused="fails on the given inputs: aten::linear")
class WrongShape(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(3, 2)

    def forward(self, x):
        return self.layer(x)


@case((X,), {"0": {"0": "N"}}, forms=SCRIPT, warned="axis N can only be 4, as weights have that size")
class WeightOfThatSize(nn.Module):
    def __init__(self):
        super().__init__()
        self.position = nn.Parameter(torch.randn(4, 3))

    def forward(self, x):
        return x + self.position


@case((X, torch.tensor([1, 2, 0, 3])), [None, {"0": "r"}], warned="axis r can only be 4, as another input has that size")
def repeats_of_each(x: Tensor, repeats: Tensor):
    return x.repeat_interleave(repeats, 0)


@case((X, {"y": None, "z": X}), forms=SCRIPT, keywords=True)
def keywords(x: Tensor, y: Optional[Tensor] = None, z: Optional[Tensor] = None):
    if y is not None:
        x = x + y
    if z is not None:
        x = x * z
    return x


@case((X, 2.5, True, 3), forms=SCRIPT, dynamic={"0": {"0": "N"}}, sizes=N3)
def numbers(x: Tensor, scale: float, flag: bool, n: int):
    if flag:
        x = x * scale
    return x.repeat(1, n), n + 1, scale * 2


@case((X,), {"0": {"0": "N"}}, N3, warned="equals its example size")
def cut_at_example_size(x: Tensor):
    return x.repeat(2, 1)[:4]


@case((torch.randn(6),), refused="may show an element twice")
def write_to_overlapping_windows(x: Tensor):
    y = x.clone()
    y.unfold(0, 3, 1).index_add_(1, torch.tensor([0, 1]), torch.ones(4, 2))
    return y


@case((torch.randn(9),), refused="may show an element twice")
def write_to_overlapping_strides(x: Tensor):
    y = x.clone()
    y.as_strided([3, 3], [1, 1]).scatter_(0, torch.zeros(1, 3, dtype=torch.int64), 2.0)
    return y


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
class GrowingState(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("state", torch.zeros(1, 3))

    def forward(self, x):
        self.state = x[:1]
        rows = 0
        for i in range(x.size(0)):
            rows += self.state.size(0) + self.state.numel()
            self.state = torch.cat([self.state, x[i:i + 1]])
        return self.state, rows


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
def growing_in_a_dict(x: Tensor):
    parts = {"rows": x[:1]}
    rows = 0
    for i in range(x.size(0)):
        rows += parts["rows"].size(0)
        parts["rows"] = torch.cat([parts["rows"], x[i:i + 1]])
    return parts["rows"], rows


@case((X, 3), forms=SCRIPT, graph=("float32[?, 4, 3] = aten::stack",))
def half_of_a_list(x: Tensor, n: int):
    rows: List[Tensor] = []
    for i in range(n):
        rows.append(x + i)
    return torch.stack(rows[::2])


@case((X,), {"0": {"0": "N"}}, N3, warned="PyTorch's result has a rank less")
def squeezed(x: Tensor):
    return x.sum(1).squeeze(), x.squeeze(0)


# A list that one branch changes and the other replaces, in a loop: it can't be carried item by item.
@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
def appended_or_replaced_from_nothing(x: Tensor):
    a: List[int] = []
    for i in range(x.size(0)):
        if i % 2 == 0:
            a.append(i)
        else:
            a = a + [i * 3]
    return torch.tensor(a), len(a)


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
def appended_or_replaced_from_one(x: Tensor):
    a = [x]
    t = torch.zeros_like(x)
    for i in range(x.size(0)):
        t = t + a[-1]
        if i % 2 == 0:
            a.append(x * i)
        else:
            a = a + [x * 2]
    return torch.stack(a), t


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
def appended_or_replaced_from_two(x: Tensor):
    a = [x, x * 3]
    t = torch.zeros_like(x)
    for i in range(x.size(0)):
        t = t + a[-1]
        if i % 2 == 0:
            a.append(x * i)
        else:
            a = [x * 2] + a
    return torch.stack(a), t


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
def appended_then_replaced(x: Tensor):
    a = [x]
    for i in range(x.size(0)):
        a.append(a[0] * 2)
        a = [a[-1], a[0] + i]
    return torch.stack(a)


@case((X,), {"0": {"0": "N"}}, N3, forms=SCRIPT)
def appended_or_replaced_in_a_dict(x: Tensor):
    parts = {"rows": [x, x * 3]}
    for i in range(x.size(0)):
        if i % 2 == 0:
            parts["rows"].append(x * i)
        else:
            parts["rows"] = parts["rows"] + [x * 2]
    return torch.stack(parts["rows"])


@case((X, X), {"0": {"0": "N"}, "1": {"0": "M"}}, ({"N": 5, "M": 5}, {"N": 5, "M": 1}, {"N": 1, "M": 6}),
      graph=("float32[?, 3] = aten::sub", "float32[N, 3] = aten::relu"))
def axes_of_one_size_or_one(x: Tensor, y: Tensor):
    return x - y, torch.relu(x)


def rows_with(x, first):
    rows: List[Tensor] = [first]
    for i in range(x.size(0)):
        rows.append(x[i] * i)
    return rows


@case((X,), {"0": {"0": "N"}}, forms=SCRIPT, refused="reads afterwards under another name")
def item_of_two_lists(x: Tensor):
    a = x[0] * 2
    rows = rows_with(x, a)
    part = rows[:2]
    a += 1
    return torch.stack(part)


@case((X,), {"0": {"0": "N"}}, forms=SCRIPT, refused="reads afterwards under another name")
def item_that_each_branch_makes(x: Tensor):
    rows = rows_with(x, x[0] * 1)
    if x.size(0) > 4:
        y = x[0] * 2
        rows.append(y)
    else:
        y = x[1] * 3
        rows.append(y)
    y += 1
    return torch.stack(rows)


@case((X,), {"0": {"0": "N"}}, forms=SCRIPT, refused="reads afterwards under another name")
def one_tensor_in_each_iteration(x: Tensor):
    rows: List[Tensor] = []
    h = x[0] * 1
    for i in range(x.size(0)):
        h += x[i]
        rows.append(h)
    return torch.stack(rows)


@case((X,), {"0": {"0": "N"}}, forms=SCRIPT, refused="reads afterwards under another name")
def last_item_that_a_loop_carries(x: Tensor):
    rows: List[Tensor] = []
    h = x[0] * 1
    for i in range(x.size(0)):
        h = h * 0.5 + x[i]
        rows.append(h)
    h += 1
    return torch.stack(rows), h


@case((X,), {"0": {"0": "N"}}, forms=SCRIPT, refused="reads afterwards under another name")
def item_that_lies_in_a_list_twice(x: Tensor):
    y = x[0].clone()
    rows = rows_with(x, y)
    for i in range(x.size(0)):
        rows.append(y)
    rows[0] += 1
    return torch.stack(rows)


@case((torch.randn(3, 3), torch.tensor(3)), forms=SCRIPT, refused="under two names")
def view_of_what_another_name_carries(x: Tensor, n: Tensor):
    cur, prev, s = x.clone(), x * 2, torch.zeros_like(x)
    for i in range(int(n)):
        prev.add_(1.0)
        s = s + cur
        prev = cur
        cur = cur.t()
    return s


@case((torch.randn(3, 3), torch.tensor(3)), forms=SCRIPT)
def view_of_what_is_carried_as_well(x: Tensor, n: Tensor):
    a, b, s = x.clone(), x * 0, torch.zeros_like(x)
    for i in range(int(n)):
        a.add_(1.0)
        s = s + b
        t = x * 2.0
        a = t
        b = t if i % 2 == 0 else t.t()
    return s


@case((torch.randn(3, 3), torch.tensor(3)), forms=SCRIPT)
def view_of_one_of_several(x: Tensor, n: Tensor):
    a, b, s = x.clone(), x * 0, torch.zeros_like(x)
    for i in range(int(n)):
        a.add_(1.0)
        s = s + b
        b = (a if i % 2 == 0 else x * 3).t()
    return s


@case((X,), {"0": {"0": "N"}}, forms=SCRIPT, refused="under two names")
def carried_tensor_in_a_list_of_shared_ones(x: Tensor):
    rows = [x, x]
    b = x.clone()
    for i in range(x.size(0)):
        b.add_(1.0)
        b = x * i
        rows.append(b)
    return torch.stack(rows), b


@case((torch.randn(3, 3),), {"0": {"0": "N"}}, forms=SCRIPT, refused="reads afterwards under another name")
def perhaps_a_view_that_a_branch_appends(x: Tensor):
    w = x.t() + 1
    rows = [x * 2]
    if bool(x.sum() > 0):
        rows.append(w.reshape(w.shape))
    w.add_(1.0)
    return rows[-1]


@case((X,), {"0": {"0": "N"}}, forms=SCRIPT, refused="after other items left the list")
def item_of_a_list_that_moved(x: Tensor):
    rows = rows_with(x, x[0] * 1)
    second = rows[1]
    rows.insert(0, x[2] * 2)
    rows[2] += 5
    return torch.stack(rows), second


@case((X, torch.tensor(3)), forms=SCRIPT, refused="asks whether two values are one, which only the run tells")
def tensor_that_is_one_of_two(x: Tensor, n: Tensor):
    y = x
    if bool(n > 1):
        y = x * 2
    return x + int(y.contiguous() is x)


@case((X, torch.tensor(3)), forms=SCRIPT, refused="gives tensors of different dtypes in its two branches")
def dtype_of_the_result(x: Tensor, n: Tensor):
    y = x
    if bool(n > 1):
        y = x.int()
    return y


@case((X, torch.tensor(3)), forms=SCRIPT, graph=("optional[float32[4, 3]] = prim::If(cond=%",
                                                 "output out.b = %"))
def keys_of_the_result(x: Tensor, n: Tensor):
    d = {"a": x}
    if bool(n > 1):
        d["b"] = x * 2
    return d


@case((X, torch.tensor(3)), forms=SCRIPT, refused="goes through a dict whose keys depend on the inputs")
def keys_gone_through(x: Tensor, n: Tensor):
    d = {"a": x}
    if bool(n > 1):
        d["b"] = x * 2
    total = x
    for value in d.values():
        total = total + value
    return total
