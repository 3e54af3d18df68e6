"""A library of operators that PyTorch does not have, and programs that use them."""

import torch

LIBRARY = torch.library.Library("mylib", "DEF")
LIBRARY.define("rotate(Tensor x, float angle, int[] axes) -> Tensor")
LIBRARY.define("scaled_softsign(Tensor x, Tensor scale) -> Tensor")


def _rotate(x, angle, axes):
    """The plane of two axes turned by an angle: the first pair of rows along them."""
    a, b = x.unbind(axes[0])
    cosine, sine = torch.cos(torch.tensor(angle)), torch.sin(torch.tensor(angle))
    return torch.stack([a * cosine - b * sine, a * sine + b * cosine], axes[0])


LIBRARY.impl("rotate", _rotate, "CPU")
LIBRARY.impl("scaled_softsign", lambda x, scale: scale * x / (1 + x.abs()), "CPU")
torch.library.register_fake("mylib::rotate", lambda x, angle, axes: torch.empty_like(x), lib=LIBRARY)
torch.library.register_fake("mylib::scaled_softsign", lambda x, scale: torch.empty_like(x), lib=LIBRARY)


class Gate(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.tensor([2.0, 0.5, 1.0]))

    def forward(self, x):
        return torch.nn.functional.gelu(torch.ops.mylib.scaled_softsign(x, self.scale))


class Rotation(torch.nn.Module):
    def forward(self, x):
        return torch.ops.mylib.rotate(torch.relu(x), 0.5, [0]) + 1


def build():
    """The program and its example inputs, for torch_model and add_torch_model."""
    return Gate().eval(), (torch.randn(2, 3),)
