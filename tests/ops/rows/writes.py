"""Rows of writes to tensors under every name that they have, `out=` variants, buffers."""

import torch
from torch import Tensor, nn

from case import Case, T

M = T("f32", 4, 6, N=0)
B = T("f32", 2, 4, 6, B=0, N=1)
MODES = ("export", "dynamic", "core", "trace")
WRITTEN = ("export", "dynamic", "trace")


# ---------------------------------------------------------------- parts


def halves(x: Tensor):
    y = x.clone()
    left, right = torch.hsplit(y, 2)
    left.add_(1)
    right.mul_(2)
    return y, left


def parts_at(x: Tensor):
    y = x.clone()
    a, b, c = torch.hsplit(y, [1, 4])
    a += 1
    c.mul_(b[:, :2])
    top, rest = torch.vsplit(y, [2])
    top += 1
    rest.mul_(3)
    return y


def deep_halves(x: Tensor):
    y = x.clone()
    a, b = torch.dsplit(y, 2)
    a += 1
    b.mul_(3)
    return y, a


def row_parts(x: Tensor):
    y = x[0].clone()
    a, b = torch.hsplit(y, [2])
    a += 1
    b.mul_(3)
    return y


def sections_of_unknown_size(x: Tensor):
    y = torch.cat([x, x])
    a, b, c = torch.tensor_split(y, 3)
    a.add_(1)
    b.mul_(2)
    c.zero_()
    return y


def sizes_of_unknown_size(x: Tensor):
    n = x.shape[0]
    y = x.clone()
    a, b = torch.split(y, [n // 2, n - n // 2])
    a += 1
    b *= 3
    return y


# ---------------------------------------------------------------- strides


def strided_part(x: Tensor):
    y = x.clone()
    v = torch.as_strided(y, (2, 3), (6, 1), 1)
    v.add_(10)
    return y, v


def strided_rows(x: Tensor):
    n = x.shape[0]
    y = x.clone()
    v = y.as_strided((n, 3), (6, 2))
    v.mul_(2)
    torch.as_strided(y, (6, n), (1, 6))[0] = 5
    return y, v


def windows(x: Tensor):
    y = x.clone()
    v = y.unfold(1, 2, 2)
    v.mul_(3)
    v[:, 0] = 1
    return y


def reordered(x: Tensor):
    y = x.clone()
    v = y.view(x.shape[0], -1, 2, 3).permute(2, 0, 1, 3)
    v[0] = 1
    copied = v.reshape(2, -1)
    copied.add_(1)
    return y, copied


def diagonals(x: Tensor):
    y = x.clone()
    y.diagonal().fill_(9)
    y.diagonal(1)[1:].mul_(2)
    y.t().diagonal(-1).copy_(torch.tensor(3.0))
    return y


def filled_diagonal(x: Tensor):
    y, z = torch.cat([x, x, x]), x[:3, :3].reshape(3, 3, 1).expand(3, 3, 3).clone()
    y.fill_diagonal_(1.5, wrap=True)
    z.fill_diagonal_(7)
    return y, z


# ---------------------------------------------------------------- names


def one_tensor_of_two_names(x: Tensor):
    a = x.clone()
    b = a
    b.add_(1)
    a[:, 0] = 2
    items = [a[:, i] for i in range(3)]
    items[0] += 1
    items.append(a[0])
    items[-1] *= 2
    return a, b, torch.stack(items[:3])


def inputs_of_each_other(x: Tensor, y: Tensor):
    x += y
    y -= x
    v = x.view(-1)
    v[1] = 3
    return x, y, v


def outputs_given(x: Tensor):
    y = torch.zeros(3, x.shape[0], 6)
    torch.mul(x, 2, out=y[0])
    torch.sub(x, 1, out=y[1])
    best, place = torch.empty(0), torch.empty(0, dtype=torch.int64)
    torch.max(x, 1, out=(best, place))
    total = torch.zeros(x.shape, dtype=torch.float64)
    torch.add(x, x, out=total)
    return y, best, place, total


def product_given(x: Tensor):
    product = torch.empty(0)
    torch.mm(x, x.t(), out=product)
    return product


def raveled_column(x: Tensor):
    y = x.clone()
    copied = y[:, 1].ravel()  # reshape would give a view
    copied += 10
    shown = y[1].ravel()
    shown *= 2
    return y, copied


def parts_of_a_diagonal(x: Tensor):
    y = torch.cat([x, x], 1)[:, :4].clone()
    y.diagonal().reshape(2, -1).add_(1)
    return y


def every_second(x: Tensor):
    y = torch.cat([x, x]).clone()
    y.view(-1)[::2].reshape(-1, 3).mul_(2)
    return y


def channels_last(x: Tensor):
    y = x * 1
    z = y.contiguous(memory_format=torch.channels_last)
    z.relu_()
    v = y.to(memory_format=torch.channels_last)
    v.neg_()
    return y, z, v


def channels_last_convolution(x: Tensor, w: Tensor):
    y = nn.functional.conv2d(x, w.contiguous(memory_format=torch.channels_last))
    y.relu_()
    return y.flatten(1) * 2, y


class State(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("rows", torch.zeros(12, 6))
        self.register_buffer("mean", torch.zeros(6))

    def forward(self, x: Tensor):
        rows, mean = self.rows.clone(), self.mean.clone()
        rows[: x.shape[0]] = x
        rows[x.shape[0] :] -= 1
        mean.lerp_(x.mean(0), 0.1)
        mean.clamp_(min=-1)
        return rows.sum(1), x - mean


class Statistics(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(6))
        self.register_buffer("variance", torch.ones(6))

    def forward(self, x: Tensor):
        mean, variance = self.mean * 1, self.variance * 1
        y = nn.functional.batch_norm(x, mean, variance, training=True, momentum=0.3)
        return y, mean, variance


ROWS = [
    Case("halves", halves, [M], modes=MODES),
    Case("parts_at", parts_at, [M], modes=MODES),
    Case("deep_halves", deep_halves, [B], modes=MODES),
    Case("row_parts", row_parts, [M], modes=MODES),
    Case("sections_of_unknown_size", sections_of_unknown_size, [M], dynamic_since=10, modes=("export", "trace")),
    Case("sizes_of_unknown_size", sizes_of_unknown_size, [M], modes=("export", "trace")),
    Case("strided_part", strided_part, [T("f32", 4, 6)], modes=WRITTEN),
    Case("strided_part_decomposed", strided_part, [T("f32", 4, 6)], since=11, modes=("core",)),
    Case("strided_rows", strided_rows, [M], modes=WRITTEN),
    Case("strided_rows_decomposed", strided_rows, [M], since=11, modes=("core",)),
    Case("windows", windows, [M], modes=WRITTEN),
    Case("windows_decomposed", windows, [M], since=11, modes=("core",)),
    Case("reordered", reordered, [M], modes=MODES),
    Case("diagonals", diagonals, [M], since=11, modes=MODES),
    Case("filled_diagonal", filled_diagonal, [T("f32", 5, 6)], since=11, modes=("export", "trace")),
    Case("one_tensor_of_two_names", one_tensor_of_two_names, [M], modes=MODES),
    Case("inputs_of_each_other", inputs_of_each_other, [M, M], modes=MODES),
    Case("outputs_given", outputs_given, [M], modes=("export", "core", "trace")),
    Case("product_given", product_given, [T("f32", 4, 6)], modes=("export", "core", "trace")),
    Case("resized", lambda x: (torch.ops.aten.resize(x, [2, 2]), torch.ops.aten.resize(x, [8, 3])), [T("f32", 4, 6)],
         modes=("trace",)),
    Case("raveled_column", raveled_column, [M], modes=WRITTEN),
    Case("parts_of_a_diagonal", parts_of_a_diagonal, [T("f32", 4, 6)], since=11, modes=WRITTEN),
    Case("every_second", every_second, [M], since=11, modes=WRITTEN),
    Case("channels_last", channels_last, [T("f32", 2, 3, 4, 5, B=0)], modes=WRITTEN),
    Case("channels_last_convolution", channels_last_convolution, [T("f32", 2, 3, 4, 5, B=0), T("f32", 2, 3, 2, 2)],
         modes=WRITTEN),
    Case("statistics", Statistics(), [M], modes=MODES),
    Case("state", State(), [M], modes=("trace",)),
]
