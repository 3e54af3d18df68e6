"""A program that uses an operator of torch_library.cc.

To trace it the operator is registered here in Python, under the same schema; the saved program holds
only its name, and whoever runs or captures it brings the operator: libmykernels.so.
"""

import torch

LIBRARY = torch.library.Library("mykernels", "DEF")
LIBRARY.define("leaky_square(Tensor x, float slope) -> Tensor")
LIBRARY.impl("leaky_square", lambda x, slope: x * torch.where(x > 0, x, slope), "CPU")


class Kernels(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(3, 4)

    def forward(self, x):
        return torch.ops.mykernels.leaky_square(self.linear(x), 0.25)


def build():
    """The program and its example inputs, for torch_model and add_torch_model."""
    return Kernels().eval(), (torch.randn(2, 3),)
