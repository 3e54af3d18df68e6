"""Running statistics that normalization in training moves, and that are read later (exporter/passes)."""

import torch
import torch.nn.functional as F
from torch import Tensor

from case import Case, T

IMAGES = T("f32", 4, 3, 5, 6, N=0, H=2)
LINES = T("f32", 4, 3, 7, N=0, L=2)
MEAN, VARIANCE = T("f32", 3), T("f32", 3, low=0.5, high=2)


def batch(x: Tensor, mean: Tensor, variance: Tensor):
    m, v = mean.clone(), variance.clone()
    y = F.batch_norm(x, m, v, training=True, momentum=0.3)
    return y, m, v, F.batch_norm(x, m, v)


def instances(x: Tensor, mean: Tensor, variance: Tensor):
    m, v = mean.clone(), variance.clone()
    y = F.instance_norm(x, m, v, use_input_stats=True, momentum=0.3)
    return y, m * 2, v


def instances_with_weights(x: Tensor, mean: Tensor, variance: Tensor):
    m, v = mean.clone(), variance.clone()
    y = F.instance_norm(x, m, v, mean, variance, True, 0.1, 1e-3)
    return y, m, F.instance_norm(x, m, v, use_input_stats=False)


def twice(x: Tensor, mean: Tensor, variance: Tensor):
    m, v = mean.clone(), variance.clone()
    y = F.instance_norm(F.instance_norm(x, m, v), m, v)
    z = F.batch_norm(F.batch_norm(y, m, v, training=True), m, v, training=True)
    return z, m, v


def of_parts(x: Tensor, mean: Tensor, variance: Tensor):
    both = torch.stack([mean, variance])
    y = F.batch_norm(x, both[0], both[1], training=True, momentum=0.3)
    return F.batch_norm(y, both[0], both[1]), both * 1


def natively(x: Tensor, mean: Tensor, variance: Tensor):
    m, v = mean.clone(), variance.clone()
    y, of_batch, _ = torch.native_batch_norm(x, None, None, m, v, True, 0.3, 1e-5)
    return y, of_batch, m * 2, v


def in_a_loop(x: Tensor, mean: Tensor, variance: Tensor):
    m, v = mean.clone(), variance.clone()
    y = x
    for i in range(x.size(0)):
        y = F.instance_norm(y + i, m, v, use_input_stats=True, momentum=0.5)
    return y, m, v


ROWS = [
    *[Case(f"{fn.__name__}_{name}", fn, [x, MEAN, VARIANCE], tol=(1e-4, 1e-5))
      for name, x in (("images", IMAGES), ("lines", LINES)) for fn in (batch, instances, instances_with_weights, twice, of_parts)],
    Case("natively", natively, [IMAGES, MEAN, VARIANCE], modes=("export", "dynamic", "trace"), tol=(1e-4, 1e-5)),
    Case("in_a_loop", in_a_loop, [LINES, MEAN, VARIANCE], modes=("script",), tol=(1e-4, 1e-5)),
]
