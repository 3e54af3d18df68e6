"""Saves small programs with the torch that runs this: make_fixtures.py FOLDER.

FOLDER/<torch version>/ gets traced and scripted programs (.pt) and, from torch 2.1 on, exported ones
(.pt2), with cases.json: for each file the inputs and what this torch computes from them. Runs with
every torch from 1.6 on; fixtures are made once and stay as they are.
"""

import json
import os
import re
import sys
import zipfile
from typing import List

import torch

LARGEST = 20 * 1024  # bytes of a fixture


class Convolutions(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 4, 3, padding=1)
        self.norm = torch.nn.BatchNorm2d(4)
        self.pool = torch.nn.MaxPool2d(2)
        self.linear = torch.nn.Linear(16, 5)
        self.register_buffer("shift", torch.arange(5.0))

    def forward(self, x):
        x = self.pool(torch.relu(self.norm(self.conv(x))))
        return torch.log_softmax(self.linear(torch.flatten(x, 1)) + self.shift, dim=1)


class Recurrent(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(7, 3)
        self.lstm = torch.nn.LSTM(3, 4, batch_first=True, bidirectional=True)

    def forward(self, words):
        y, (h, c) = self.lstm(self.embedding(words))
        return y, h + c


class Attention(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = torch.nn.Embedding(7, 8)
        self.query = torch.nn.Linear(8, 8)
        self.value = torch.nn.Linear(8, 8)
        self.norm = torch.nn.LayerNorm(8)

    def forward(self, words):
        x = self.embedding(words)
        weights = torch.softmax(torch.matmul(self.query(x), x.transpose(1, 2)) / 8 ** 0.5, dim=-1)
        return self.norm(x + torch.nn.functional.gelu(torch.matmul(weights, self.value(x))))


class Views(torch.nn.Module):
    def forward(self, x, y):
        z = x.clone()
        z[:, 1:] += y[:, :-1]
        z[0] = 2.0
        index = torch.tensor([1, 0])
        return torch.cat([z, y[index]]), (x > y).sum(1), z.view(-1).half().float()


class Control(torch.nn.Module):
    def forward(self, x, n: int):
        parts: List[torch.Tensor] = []
        for i in range(n):
            if bool(x.sum() > 4.0):
                x = x - float(i)
            else:
                x = x * 2.0 + 1.0
            parts.append(x[:, i % 3])
        while bool(x.max() > 1.0):
            x = x * 0.5
        return torch.stack(parts), x


def example(name):
    """(module, inputs) of a program."""
    torch.manual_seed(0)
    words = torch.tensor([[0, 3, 6, 1], [2, 2, 5, 4]])
    if name == "convolutions":
        net = Convolutions()
        net(torch.randn(8, 2, 4, 4))  # so that the running statistics are not the initial ones
        return net.eval(), (torch.randn(3, 2, 4, 4),)
    if name == "recurrent":
        return Recurrent().eval(), (words,)
    if name == "attention":
        return Attention().eval(), (words,)
    if name == "views":
        return Views(), (torch.randn(2, 4), torch.randn(2, 4))
    return Control(), (torch.randn(2, 3), 3)


def export(net, inputs):
    """With axis 0 of the first input dynamic where this torch says it in the present way."""
    if hasattr(torch.export, "Dim"):
        size = torch.export.Dim("size", min=2, max=15)
        shapes = tuple({0: size} if isinstance(value, torch.Tensor) else None for value in inputs)
        return torch.export.export(net, inputs, dynamic_shapes=shapes)
    limit = torch.export.dynamic_dim(inputs[0], 0) <= 15
    return torch.export.export(net, inputs, constraints=[limit])


def compact(path):
    """Removes the folders of this machine, which only messages show; compresses a program's text where
    the file is larger than a fixture may be. torch reads such files as well."""
    with zipfile.ZipFile(path) as archive:
        entries = [(entry, archive.read(entry)) for entry in archive.infolist()]
    large = os.path.getsize(path) > LARGEST
    with zipfile.ZipFile(path, "w") as archive:
        for entry, content in entries:
            if entry.filename.endswith(".debug_pkl"):
                continue
            text = entry.filename.endswith("program.json")
            if text:
                content = re.sub(rb'(File \\")[^"\\]*/', rb"\1", content)
            archive.writestr(entry, content, zipfile.ZIP_DEFLATED if text and large else zipfile.ZIP_STORED)


def as_json(value):
    if isinstance(value, (tuple, list)):
        return [as_json(one) for one in value]
    if not isinstance(value, torch.Tensor):
        return value
    return {"dtype": str(value.dtype).replace("torch.", ""), "shape": list(value.shape),
            "data": value.reshape(-1).tolist()}


def main():
    version = torch.__version__.split("+")[0]
    folder = os.path.join(sys.argv[1], version)
    if not os.path.isdir(folder):
        os.makedirs(folder)
    cases = {}

    def save(name, net, inputs, write):
        with torch.no_grad():
            outputs = net(*inputs)
        write(os.path.join(folder, name))
        compact(os.path.join(folder, name))
        cases[name] = {"inputs": as_json(inputs), "outputs": as_json(outputs)}

    for name in ("convolutions", "recurrent", "views"):
        net, inputs = example(name)
        traced = torch.jit.trace(net, inputs)
        save(name + ".traced.pt", net, inputs, traced.save)
    for name in ("convolutions", "control"):
        net, inputs = example(name)
        scripted = torch.jit.script(net)
        save(name + ".scripted.pt", net, inputs, scripted.save)
    if hasattr(torch, "export"):
        for name in ("convolutions", "attention"):
            net, inputs = example(name)
            program = export(net, inputs)
            save(name + ".pt2", net, inputs, lambda path: torch.export.save(program, path))
    with open(os.path.join(folder, "cases.json"), "w") as file:
        json.dump(cases, file, indent=0, sort_keys=True)
        file.write("\n")


if __name__ == "__main__":
    main()
