"""Random programs: the same seed gives the same program.

straight(seed)  views, reads and writes through views, indexing, dtype promotion, in one line of
                statements over two tensors of a moving size; every statement works at both sizes
control(seed)   scripted: loops, branches, lists, rebinding and writes, nested
"""

import random
import types

import torch

SIZES = (4, 5)          # of the axis that moves
LARGEST = 400           # elements of a value
MAGNITUDE = 1e4         # of a value: beyond that, float32 says little

# {n} and {m}: tensors; {a} and {b}: axes of {n}; {i}: an index; {s}: a number; {t}: a dtype.
VIEWS = """
{n}[{i}]|{n}[..., {i}]|{n}[1:]|{n}[..., 1:]|{n}[::2]|{n}[:, :-1]|{n}[-2:]|{n}.select({a}, {i})|{n}.narrow({a}, 1, 2)
{n}.t()|{n}.mT|{n}.transpose({a}, {b})|{n}.movedim({a}, {b})|{n}.permute(1, 0)|{n}.permute(2, 0, 1)
{n}.reshape({n}.shape[0], -1)|{n}.reshape(-1)|{n}.reshape(-1, 2)|{n}.view(-1, {n}.shape[-1])|{n}.view_as({n})
{n}.flatten()|{n}.flatten(1)|{n}.unflatten({a}, (-1, 1))|{n}.unsqueeze({a})|{n}.unsqueeze(-1)|{n}.squeeze()|{n}.squeeze({a})
{n}.diagonal()|{n}.diagonal(1, {a}, {b})|{n}.unfold({a}, 2, 2)|{n}.expand(2, *{n}.shape)|{n}.expand_as({n})
{n}.split(2, {a})[0]|{n}.split([1, {n}.shape[{a}] - 1], {a})[1]|{n}.chunk(2, {a})[-1]|{n}.unbind({a})[{i}]
{n}.tensor_split(2, {a})[0]|{n}.detach()|{n}.contiguous()|{n}.to({n}.dtype)|{n}.swapaxes({a}, {b})|torch.atleast_2d({n})
"""
VALUES = """
{n} * {s}|{n} + {m}|{n} - {m}|{n} / 2|{n} // 2|{n} % 3|-{n}|{n} * {m}|torch.sin({n})|{n}.clone()|{n}.abs()
{n}.to({t})|{n} > {s}|{n} == {m}|{n} + {s}|torch.add({n}, {m}, alpha=2)|torch.maximum({n}, {m})|torch.zeros_like({n})
torch.where({n} > 0, {n}, {m})|torch.where({m} != 0, {n}, {s})|torch.full_like({n}, 2)|torch.arange({n}.shape[0]) + {n}
torch.cat([{n}, {n}], {a})|torch.stack([{n}, {m}])|{n}.sum({a})|{n}.sum()|{n}.amax({a})|{n}.cumsum({a})|{n}.flip({a})
{n}.float().mean({a}, keepdim=True)|{n}.argmax({a})|{n}.any({a})|{n}.roll(1, {a})|{n}.clamp(min=0)|{n}.repeat_interleave(2, {a})
{n}[index]|{n}[:, index]|{n}[..., index]|{n}[index, index]|{n}[index[:, None], index]|{n}[index, None]|{n}[index, 1:, index]
{n}[[1, 0]]|{n}[None, index, ..., 0]|{n}.index_select({a}, index.abs())|{n}.gather({a}, torch.zeros_like({n}, dtype=torch.int64))
{n}[torch.tensor([True, False, True, True] + [False] * ({n}.shape[0] - 4))]|torch.tril({n})|{n}.masked_fill({n} > 1, {s})
"""
PLACES = """
{i}|1:|..., 0|::2|:, 1|..., -1|index|:, index|index, index|{n} > 0|None, ..., 1:|0, ..., 1|[1, 0]|-1:|index, 1:|..., index
"""
WRITES = """
{n}[{w}] = {s}|{n}[{w}] = {m}|{n}[{w}] += {s}|{n}[{w}] *= {m}|{n}[{w}] = {n}[{w}] * 3|{n}[{w}] -= {m}[{w}]
{n}.add_({s})|{n}.mul_({m})|{n}.add_({m}, alpha=2)|{n}.copy_({m})|{n}.fill_({s})|{n}.zero_()|{n}.relu_()|{n}.clamp_(-1, 1)
{n}.masked_fill_({n} > 0, {s})|{n}.index_fill_({a}, index.abs(), {s})|{n} += {m}|{n} *= 2|{n}.sub_({m}).abs_()|{n}.unsqueeze_({a})
{n}.t_()|{n}.squeeze_()|{n}.transpose_({a}, {b})|{n}.cumsum_({a})|torch.mul({n}, {n}, out={n})|{n}.fill_diagonal_({s})
{n}.scatter_({a}, torch.zeros_like({n}, dtype=torch.int64), {s})|{n}.index_add_({a}, index.abs()[:1], {n}.narrow({a}, 0, 1).clone())
{n}.masked_scatter_({n} > 0, {n} * 2)|{n}.index_put_((index,), {n}[0].clone(), accumulate=True)|{n}.eq_({m})|{n}.swapaxes_(0, -1)
"""
DTYPES = ("torch.float32", "torch.int64", "torch.int32", "torch.float64", "torch.bool", "torch.float16")


def table(text):
    return [row.strip() for row in text.replace("\n", "|").split("|") if row.strip()]


VIEWS, VALUES, PLACES, WRITES = table(VIEWS), table(VALUES), table(PLACES), table(WRITES)


def straight_inputs(size, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return {"x": torch.randn(size, 6, generator=generator),
            "y": torch.randint(-4, 5, (3, size), generator=generator),
            "index": torch.tensor([1, -2])}


def run_lines(lines, inputs):
    """What the names stand for after the statements."""
    scope = {"torch": torch, **{name: value.clone() for name, value in inputs.items()}}
    exec("\n".join(lines), scope)
    return {name: value for name, value in scope.items() if isinstance(value, torch.Tensor)}


def sane(values):
    return all(0 < value.numel() <= LARGEST and value.dim() <= 5 and
               bool((value.double().abs() < MAGNITUDE).all()) for value in values.values())


def straight(seed, length=9):
    """The statements of a program over x, y and index, and the names that it gives."""
    rng = random.Random(seed)
    lines, names = [], ["x", "y"]
    shapes = {name: value.dim() for name, value in straight_inputs(SIZES[0]).items()}

    def statement(fresh):
        n = rng.choice(names[-5:] if rng.random() < 0.8 else names)
        axis = lambda: rng.randrange(-max(shapes[n], 1), max(shapes[n], 1))
        fill = {"n": n, "m": rng.choice(names), "a": axis(), "b": axis(), "i": rng.choice([0, 1, -1, 2]),
                "s": rng.choice(["0.5", "-1", "2", "True"]), "t": rng.choice(DTYPES)}
        kind = rng.random()
        if kind < 0.35:
            return f"{fresh} = " + rng.choice(VIEWS).format(**fill), fresh
        if kind < 0.6:
            return f"{fresh} = " + rng.choice(VALUES).format(**fill), fresh
        return rng.choice(WRITES).format(w=rng.choice(PLACES).format(**fill), **fill), None

    for _ in range(60):
        if len(lines) == length:
            break
        line, fresh = statement(f"v{len(lines)}")
        try:
            results = [run_lines(lines + [line], straight_inputs(size, 1)) for size in SIZES]
        except Exception:  # the statement does not fit the values that there are
            continue
        if all(sane(result) for result in results):
            lines.append(line)
            names += [fresh] if fresh else []
            shapes = {name: value.dim() for name, value in results[0].items()}
    return lines, names


def function(source):
    """What `def forward` in the text defines."""
    scope = {"torch": torch}
    exec(source, scope)
    return scope["forward"]


class Straight(torch.nn.Module):
    def __init__(self, lines, names):
        super().__init__()
        body = "".join(f"    {line}\n" for line in lines)
        results = ", ".join(f"{name}.clone()" for name in names)
        self.source = f"def forward(self, x, y, index):\n{body}    return {results}\n"
        self.forward = types.MethodType(function(self.source), self)


def control_inputs(seed=0):
    return torch.randn(4, 4, generator=torch.Generator().manual_seed(seed))


class Control:
    """The source of a scripted forward(self, x, n: int)."""

    VALUES = table("""
    {n}.t().t()|{n}[:, 0:4]|{n}.view(2, 8).view(4, 4)|{n}.reshape(16).reshape(4, 4)|{n}.transpose(0, 1)|{n} * 0.5|{n}.clone()
    {n}.detach()|torch.sin({n})|{n}.unsqueeze(0).squeeze(0)|{n}[{i} % 4].expand(4, 4)|{n}.flip(0)|{n} + {m}|{n}.contiguous()
    {n}.t().reshape(16).view(4, 4)|torch.where({n} > 0, {n}, {m})|{n}.masked_fill({n} > 1.0, 0.5)|{m}|{n} - {i}
    """)
    WRITES = table("""
    {n}[{w}] = {s}|{n}[{w}] += {s}|{n}[{w}].mul_(0.5)|{n}.add_({s})|{n}.mul_({m}.clone())|{n}[{i} % 4] = {m}[0].clone()|{n} += 1
    {n}.t()[{i} % 4].copy_({m}[1].clone())|{n}[{n} > 0.5] = 0.25|{n}.clamp_(-2.0, 2.0)|l[0][{w}] += {s}|l[-1].add_(1.0)
    {n}.view(-1)[{i}] = 1.0|{n}.fill_diagonal_(0.0)|l.append({n} * 1.0)|l.append({n})|l[0] = {n} * 2.0|{n}.copy_({m})
    """)
    PLACES = table("{i} % 4|:, {i} % 4|{i} % 4, 1:|1:3, ::2|..., -1|0")
    # Of a name for a row or column, {r}, which shows another one of another tensor as the program goes on.
    ROW_VALUES = table("""
    {n}[{i} % 4]|{n}[:, {i} % 4]|{n}[{i} % 4]|{n}.diagonal()|{n}.t()[0]|{n}.view(-1)[{i}:{i} + 4]|{q}|{q} * 2.0|{q}.clone()
    {n}.unbind(0)[{i} % 4]|{n}[0:4, {i} % 4]|{n}.reshape(16)[4:8]|{n}.sum(0)
    """)
    ROW_WRITES = table("""
    {r}.add_({s})|{r} += 1|{r}.mul_(0.5)|{r}[{i} % 4] = {s}|{r}.copy_({q}.clone())|{r}.zero_()|{n}[{i} % 4] = {r} * 0.5
    {n}.add_({r}.clone())|{r}[1:].sub_(0.5)|torch._foreach_add_(rows, 0.5)|l.append({n} + {r})|{n}[:, 0] += {r}.clone()
    """)
    CONDITIONS = table("{i} > 1|{i} % 2 == 0|n > 2|float({n}.sum()) > 0.0|len(l) > 2")
    COUNTS = table("n|2|n + 1|len(l)")

    def __init__(self, seed):
        self.rng = random.Random(seed)
        self.count = 0
        self.budget = self.rng.randrange(6, 16)
        self.has_rows = self.rng.random() < 0.6
        body = self.block(1, ["x", "a"], ["n"], ["r", "u"])
        rows = ["    r, u = a[0], a[:, 1]", "    rows = [a[2], x[1].clone()]"] if self.has_rows else []
        more = ", r * 1.0, u * 1.0, rows[0] * 1.0, rows[1] * 1.0" if self.has_rows else ""
        self.source = "\n".join([
            "def forward(self, x, n: int):", "    a = x * 2.0", "    l = [a, x * 3.0]", *rows, *body,
            f"    return x * 1.0, a * 1.0, torch.stack(l).sum(0), l[0] * 1.0{more}", ""])

    def fill(self, template, names, numbers, rows=("r",)):
        fill = {"n": self.rng.choice(names), "m": self.rng.choice(names), "i": self.rng.choice(numbers),
                "r": self.rng.choice(rows), "q": self.rng.choice(rows)}
        fill["s"] = self.rng.choice(["0.5", "-1.0", fill["i"]])
        fill["w"] = self.rng.choice(self.PLACES).format(**fill)
        return template.format(**fill)

    def fresh(self, letter):
        self.count += 1
        return f"{letter}{self.count}"

    def row(self, names, numbers, rows):
        """A statement about a row."""
        if self.rng.random() < 0.55:
            return self.fill(self.rng.choice(self.ROW_WRITES), names, numbers, rows)
        value = self.fill(self.rng.choice(self.ROW_VALUES), names, numbers, rows)
        return f"{self.rng.choice(rows)} = {value}"

    def block(self, depth, names, numbers, rows):
        indent, lines, names = "    " * depth, [], list(names)
        for _ in range(self.rng.randrange(2, 6)):
            if self.budget == 0:
                break
            self.budget -= 1
            kind = self.rng.random()
            if kind < 0.28 and depth < 4:
                lines += self.compound(kind < 0.14, depth, names, numbers, rows)
            elif self.has_rows and self.rng.random() < 0.5:
                lines.append(indent + self.row(names, numbers, rows))
            elif kind < 0.6:
                value = self.fill(self.rng.choice(self.VALUES), names, numbers)
                name = self.rng.choice(names) if kind < 0.36 else self.fresh("v")
                lines.append(f"{indent}{name} = {value}")
                names += [] if name in names else [name]
            else:
                lines.append(indent + self.fill(self.rng.choice(self.WRITES), names, numbers))
        return lines or [indent + "pass"]

    def compound(self, branch, depth, names, numbers, rows):
        indent = "    " * depth
        if branch:
            lines = [f"{indent}if {self.fill(self.rng.choice(self.CONDITIONS), names, numbers)}:"]
            lines += self.block(depth + 1, names, numbers, rows)
            if self.rng.random() < 0.7:
                lines += [f"{indent}else:", *self.block(depth + 1, names, numbers, rows)]
            return lines
        number = self.fresh("i")
        lines = [f"{indent}for {number} in range({self.rng.choice(self.COUNTS)}):"]
        lines += self.block(depth + 1, names, numbers + [number], rows)
        if self.rng.random() < 0.2:
            word = self.rng.choice(["break", "continue"])
            lines.append(f"{indent}    if {number} == 1: {word}")
        return lines
