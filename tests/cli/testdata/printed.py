"""The programs of print_test.py: their printed graphs, which name these lines, are beside them."""

import torch
from torch._higher_order_ops.while_loop import while_loop


class Gate(torch.nn.Module):
    def forward(self, x, y):
        return torch.sigmoid(x - y) * x


class Scripted(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()
        self.fc = torch.nn.Linear(4, 4)

    def forward(self, x, n: int):
        y = self.fc(x)
        for i in range(n):
            y[:, 0] += i
            if bool(y.sum() > 3):
                y = self.gate(y, y.sin())
            else:
                y = torch.cat([y, x])
        return torch.relu(y)


class Steps(torch.nn.Module):
    def forward(self, x):
        def body(i, x):
            return i + 1, torch.cond(i > 2, lambda x: x.sin(), lambda x: x.cos() * i, (x,))

        return while_loop(lambda i, x: i < 5, body, (torch.tensor(0), x))[1]


class Exported(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.gate = Gate()
        self.steps = Steps()

    def forward(self, x):
        y = self.gate(x, x * 2)
        y.add_(1)
        return self.steps(y)
