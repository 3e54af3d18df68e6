"""Writes the .pt2 files that exported_program_test reads into the folder given as argument."""

import collections
import dataclasses
import json
import os
import sys
import warnings
import zipfile

import torch
from torch import nn
from torch.export import Dim, export, save

warnings.filterwarnings("ignore")
DYNAMIC = Dim.DYNAMIC

Pair = collections.namedtuple("Pair", ["first", "rest"])
torch.utils._pytree._register_namedtuple(Pair, serialized_type_name="test.Pair")


@dataclasses.dataclass
class Boxes:
    boxes: torch.Tensor
    label: object


torch.export.register_dataclass(Boxes, serialized_type_name="test.Boxes")


def module(function):
    class Function(nn.Module):
        def forward(self, *args):
            return function(*args)

    return Function()


class ConvNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(nn.Conv2d(3, 4, 3, stride=2, padding=1), nn.BatchNorm2d(4), nn.ReLU())
        self.classifier = nn.Linear(4, 2)

    def forward(self, x):
        x = self.features(x)
        return self.classifier(x.mean((2, 3)))


class Tied(nn.Module):
    """Weights of every kind: tied, a view into another's storage, expanded, lifted constants."""

    def __init__(self):
        super().__init__()
        table = torch.arange(12, dtype=torch.float32).reshape(3, 4)
        self.a = nn.Parameter(table)
        self.b = self.a
        self.register_buffer("column", table[:, 1])
        self.register_buffer("transposed", table.t())
        self.register_buffer("expanded", torch.tensor([7.0]).expand(4))
        self.register_buffer("scratch", torch.ones(2), persistent=False)
        self.large = torch.arange(400, dtype=torch.int64)
        self.small = torch.tensor([1, 2, 3], dtype=torch.int16)

    def forward(self, x):
        y = x @ self.b + self.expanded
        return (y @ self.transposed * self.column, self.scratch, self.large + 1, self.small + x.shape[0])


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


class Containers(nn.Module):
    def forward(self, x, state, scale=2.0, *, mask=None, boxes):
        pair = Pair(x + scale, [state["h"][0], None])
        return {"pair": pair, "boxes": Boxes(boxes.boxes * 2, "text"), "size": x.shape[0] + 1, "three": 3}


def control_flow():
    from torch._higher_order_ops.map import map as torch_map
    from torch._higher_order_ops.scan import scan
    from torch._higher_order_ops.while_loop import while_loop

    x = torch.randn(5, 3)
    dynamic = ({0: DYNAMIC},)
    yield "cond", module(
        lambda x: torch.cond(x.sum() > 0, lambda x: (x + 1, x * 2), lambda x: (x - 1, x / 2), (x,))
    ), (x,), (dynamic,)
    yield "cond_size", module(
        lambda x: torch.cond(x.shape[0] > 4, lambda x: x.sin(), lambda x: x.cos(), (x,))
    ), (x,), (dynamic,)
    yield "while_loop", module(
        lambda n, x: while_loop(lambda i, x: i < n, lambda i, x: (i + 1, x * 2), (n * 0, x))
    ), (torch.tensor(3), x), ((None, {0: DYNAMIC}),)
    yield "scan", module(
        lambda x: scan(lambda carry, row: (carry + row, carry * row), torch.zeros(3), x, dim=0)
    ), (x,), (dynamic,)
    yield "map", module(lambda x, y: torch_map(lambda row, y: row + y, x, y)), (x, torch.ones(3)), (
        ({0: DYNAMIC}, None),
    )

    yield "vmap", module(
        lambda x, y: torch.vmap(lambda a, b: (a + b[0], torch.vmap(torch.sin)(b)))(x, y)
    ), (x, torch.ones(5, 4)), (({0: DYNAMIC}, {0: DYNAMIC}),)

    def modes(x):
        with torch.no_grad():
            y = x * 2
        with torch.autocast("cpu", dtype=torch.bfloat16):
            z = x @ y.t()
        return z

    yield "modes", module(modes), (x,), (dynamic,)


def operators():
    x = torch.randn(6, 4)
    dynamic = (({0: DYNAMIC},),)
    yield "lists", module(lambda x: (x.split([1, 3], 1), torch.cat([x, x]), x.unbind(1)[2])), (x,), dynamic
    yield "several_outputs", module(lambda x: tuple(torch.topk(x, 2)) + tuple(x.max(1))), (x,), dynamic
    yield "dtypes", module(
        lambda x: (x.to(torch.float16), torch.zeros(2, dtype=torch.uint8), x.double(), x > 0, x.to(torch.complex64))
    ), (x,), None
    yield "indexing", module(lambda x, i: x[i, None, 1:]), (x, torch.tensor([0, 1])), (({0: DYNAMIC}, None),)
    yield "in_place", module(lambda x: x.clone().add_(1).view(-1).mul_(2)), (x,), dynamic
    yield "sizes", module(
        lambda x, n: (
            x.view(x.shape[0] // 2, -1),
            x.new_zeros(x.shape[0] * 2 + n, max(x.shape[0], 5)),
            x * (x.shape[0] / 2),
        )
    ), (x, 3), (({0: 2 * Dim("half", min=2, max=50)}, DYNAMIC),)

    def data_dependent(x):
        n = x.sum().to(torch.int64).item()
        torch._check(n >= 2)
        torch._check(n < 100)
        return x.nonzero(), torch.zeros(n)

    yield "data_dependent", module(data_dependent), (torch.ones(5, 3),), dynamic


@torch.library.custom_op("test::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float = 2.0, mode: str = "a") -> torch.Tensor:
    return x * factor


@scale.register_fake
def _(x, factor=2.0, mode="a"):
    return torch.empty_like(x)


@torch.library.custom_op("test::increase", mutates_args=("x",))
def increase(x: torch.Tensor) -> None:
    x.add_(1)


class Custom(nn.Module):
    def forward(self, x):
        return scale(x, 3.0)


class CustomWrite(nn.Module):
    def forward(self, x):
        y = x * 2
        increase(y)
        return y


class Names(nn.Module):
    """Inputs that are called as a buffer and as the output."""

    def __init__(self):
        super().__init__()
        self.x = nn.Linear(2, 2, bias=False)
        self.register_buffer("y", torch.ones(2))

    def forward(self, out, y):
        return {"y": self.x(out) + self.y + y}


def write(folder, name, program):
    save(program, os.path.join(folder, name + ".pt2"))


def entries(path):
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def write_zip(path, contents, compression=zipfile.ZIP_STORED):
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in contents.items():
            archive.writestr(name, content)


def write_damaged(folder):
    """Variants of convnet.pt2 that must be refused."""
    good = entries(os.path.join(folder, "convnet.pt2"))
    model = "convnet/models/model.json"
    weights = "convnet/data/weights/model_weights_config.json"

    def variant(name, changes, compression=zipfile.ZIP_STORED):
        contents = {key: value for key, value in {**good, **changes}.items() if value is not None}
        write_zip(os.path.join(folder, name + ".pt2"), contents, compression)

    def edited(entry, edit):
        value = json.loads(good[entry])
        edit(value)
        return {entry: json.dumps(value)}

    variant("newer", edited(model, lambda m: m["schema_version"].update(major=9, minor=1)))
    variant("newer_minor", edited(model, lambda m: (m["schema_version"].update(minor=99), m.update(new_member=[1]))))
    variant("no_config", {weights: None})
    variant("no_data", {"convnet/data/weights/weight_0": None})
    variant("short_data", {"convnet/data/weights/weight_0": b"1234"})
    variant("no_tensor", edited(weights, lambda w: w["config"].pop("classifier.bias")))
    variant("wrong_type", edited(weights, lambda w: w["config"]["classifier.bias"]["tensor_meta"].update(dtype=4)))
    variant("pickled", edited(weights, lambda w: w["config"]["classifier.bias"].update(use_pickle=True)))
    variant("not_json", {model: b"\x80\x04 no json"})
    variant("deep", {model: b"[" * 100000})
    variant("wrong_json", edited(model, lambda m: m["graph_module"]["graph"].update(nodes={})))
    variant("unknown_value", edited(model, lambda m: m["graph_module"]["graph"]["nodes"].pop(0)))
    variant("bad_argument", edited(model, lambda m: m["graph_module"]["graph"]["nodes"][0]["inputs"].pop(1)))
    variant("big_endian", {"convnet/byteorder": b"big"})
    variant("compressed", {}, zipfile.ZIP_DEFLATED)
    variant("two_models", {"convnet/models/other.json": b"{}"})


def write_foreign(folder):
    """Files of other kinds under the name .pt2."""
    linear = nn.Linear(2, 2)
    torch.save(linear.state_dict(), os.path.join(folder, "state_dict.pt2"))
    torch.jit.trace(linear, torch.ones(1, 2)).save(os.path.join(folder, "torchscript.pt2"))
    write_zip(os.path.join(folder, "old.pt2"), {"serialized_exported_program.json": "{}", "version": "5.1"})
    write_zip(os.path.join(folder, "zip.pt2"), {"a.txt": "a"})


def main(folder):
    torch.manual_seed(0)
    convnet = ConvNet().eval()
    with torch.no_grad():
        for i, parameter in enumerate(convnet.parameters()):
            parameter.copy_(torch.arange(parameter.numel()).reshape(parameter.shape) + i)
    image = torch.randn(2, 3, 8, 10)
    write(folder, "convnet", export(convnet, (image,), dynamic_shapes=({0: DYNAMIC, 2: DYNAMIC},)))
    write(folder, "tied", export(Tied(), (torch.ones(2, 3),)))
    counter = export(Counter(), (torch.ones(2),))
    write(folder, "counter", counter)
    write(folder, "counter_core", counter.run_decompositions())
    write(
        folder,
        "containers",
        export(
            Containers(),
            (torch.ones(3), {"h": (torch.ones(1), torch.ones(2))}),
            {"mask": None, "boxes": Boxes(torch.ones(4), torch.ones(2))},
            dynamic_shapes={"x": {0: DYNAMIC}, "state": {"h": (None, None)}, "mask": None, "boxes": [None, None]},
        ),
    )
    write(folder, "custom", export(Custom(), (torch.ones(2),)))
    custom_write = export(CustomWrite(), (torch.ones(2),))
    write(folder, "custom_write", custom_write)
    write(folder, "custom_write_core", custom_write.run_decompositions())
    write(folder, "names", export(Names(), (torch.ones(2), torch.ones(2))))
    for name, program, args, dynamic in [*control_flow(), *operators()]:
        write(folder, name, export(program, args, dynamic_shapes=dynamic))
    write_damaged(folder)
    write_foreign(folder)


if __name__ == "__main__":
    main(sys.argv[1])
