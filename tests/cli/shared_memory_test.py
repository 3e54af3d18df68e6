"""Buffers that share memory: what is written to one is read from the others. Buffers with strides of their own."""

import copy
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest
import warnings

import numpy
import onnxruntime
import torch

warnings.filterwarnings("ignore")
BIN = pathlib.Path(os.environ["RULES_ONNX_BIN"])


class Buffers(torch.nn.Module):
    def __init__(self, b, c):
        super().__init__()
        self.register_buffer("b", b)
        self.register_buffer("c", c)


class WriteC(Buffers):
    def forward(self, x):
        self.c.add_(x[: self.c.size(0)])
        return self.b * 1, self.c * 2


class WriteB(Buffers):
    def forward(self, x):
        self.b.add_(x[: self.b.size(-1)])
        return self.c * 1, self.b * 2


class WriteBoth(Buffers):
    def forward(self, x):
        self.c.add_(x[0])
        self.b[0].mul_(2)
        return self.b * 1, self.c * 2


class WriteInLoop(Buffers):
    def forward(self, x):
        for i in range(x.size(0)):
            self.c[i] += x[i]
            self.b *= 2
        return self.b * 1, self.c * 2


class WriteFirst(Buffers):
    def forward(self, x):
        self.b[0] = x[0]
        return self.b * 1


class ReshapedCopy(Buffers):
    def forward(self, x):
        y = self.c.reshape(-1)
        y.add_(1)
        return self.c * 1, y + x[0]


class StridesOfStorage(Buffers):
    def forward(self, x):
        return torch.as_strided(self.b, (2, 2), (1, 1), 1) + x[0], self.c * 1


class StridesOfRow(Buffers):
    def forward(self, x):
        return torch.as_strided(self.b, (2,), (1,), 3) + x[0], self.c * 1


class Read(Buffers):
    def forward(self, x):
        return self.b * x, self.c + x


def whole_and(part):
    whole = torch.arange(6.0).reshape(2, 3)
    return whole, part(whole)


def parts_of_a_row(b, c):
    row = torch.arange(7.0)
    return row[b], row[c]


class SharedMemoryTest(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        self.x = torch.tensor([1.0, 2.0, 0.5])

    def programs(self, net):
        """(file, its outputs) for each way to save it."""
        torch.jit.script(copy.deepcopy(net)).save(self.folder / "script.pt")
        torch.jit.trace(copy.deepcopy(net), (self.x,), check_trace=False).save(self.folder / "trace.pt")
        for name in ("script.pt", "trace.pt"):
            yield name, torch.jit.load(self.folder / name)(self.x)
        program = torch.export.export(copy.deepcopy(net), (self.x,))
        torch.export.save(program, self.folder / "program.pt2")
        yield "program.pt2", copy.deepcopy(net)(self.x)

    def export(self, program, opset):
        inputs = ["--inputs", "x:float32[3]"] if program.endswith(".pt") else []
        return subprocess.run(
            [BIN / "onnx-export", "export", "--model", program, *inputs, "--opset", str(opset), "--output", "m.onnx"],
            cwd=self.folder, capture_output=True, text=True)

    def check(self, net):
        for program, wanted in self.programs(net):
            for opset in (11, 18):
                with self.subTest(net=type(net).__name__, program=program, opset=opset):
                    done = self.export(program, opset)
                    self.assertEqual(done.returncode, 0, done.stderr)
                    session = onnxruntime.InferenceSession(self.folder / "m.onnx")
                    actual = session.run(None, {one.name: self.x.numpy() for one in session.get_inputs()})
                    for value, expected in zip(actual, wanted):
                        numpy.testing.assert_array_equal(value, expected.numpy())

    def test_part_of_another(self):
        for part in (lambda b: b[1], lambda b: b[:, 1], lambda b: b.view(-1)[2:5], lambda b: b[:, ::2]):
            for kind in (WriteC, WriteB, WriteBoth):
                self.check(kind(*whole_and(part)))

    def test_written_in_a_loop(self):
        self.check(WriteInLoop(*whole_and(lambda b: b.view(-1)[2:5])))

    def test_transpose_of_another(self):
        self.check(WriteC(*whole_and(lambda b: b[:, :2].t())))
        self.check(WriteBoth(*whole_and(lambda b: b.t())))
        self.check(WriteB(*reversed(whole_and(lambda b: b[:, :2].t()))))

    def test_all_of_another(self):
        self.check(WriteBoth(*whole_and(lambda b: b.view(2, 3))))
        self.check(WriteBoth(*whole_and(lambda b: b.view(-1))))

    def test_apart_in_one_storage(self):
        for b, c in ((slice(0, 3), slice(3, 6)), (slice(0, 5, 2), slice(1, 6, 2))):
            self.check(WriteC(*parts_of_a_row(b, c)))

    def test_strides(self):
        transposed = torch.arange(6.0).reshape(3, 2).t()
        self.check(ReshapedCopy(torch.zeros(3), transposed))
        self.check(ReshapedCopy(torch.zeros(3), transposed.contiguous()))
        self.check(StridesOfStorage(torch.arange(6.0).reshape(2, 3), transposed))

    def test_strides_of_a_storage_that_begins_before_the_weight(self):
        self.check(StridesOfRow(*parts_of_a_row(slice(2, 7), slice(0, 1))))
        self.check(WriteC(*parts_of_a_row(slice(1, 6), slice(2, 5))))

    def test_overlap_that_is_only_read(self):
        self.check(Read(*parts_of_a_row(slice(0, 3), slice(1, 4))))

    def test_refuses_what_none_holds(self):
        for program, _ in self.programs(WriteC(*parts_of_a_row(slice(0, 3), slice(1, 4)))):
            done = self.export(program, 18)
            self.assertEqual(done.returncode, 1, program)
            self.assertIn("the weights 'b', 'c' share memory", done.stderr)
            self.assertIn("shared_memory_test.py", done.stderr)
            self.assertFalse((self.folder / "m.onnx").exists())

    def test_refuses_elements_shown_twice(self):
        torch.jit.script(WriteFirst(torch.zeros(1).expand(3), torch.zeros(3))).save(self.folder / "script.pt")
        done = self.export("script.pt", 18)
        self.assertEqual(done.returncode, 1)
        self.assertIn("shows the same elements several times", done.stderr)

    def test_refuses_strides_of_a_storage_in_another_order(self):
        transposed = torch.arange(6.0).reshape(3, 2).t()
        for program, _ in self.programs(StridesOfStorage(transposed, torch.zeros(3))):
            done = self.export(program, 18)
            self.assertEqual(done.returncode, 1, program)
            self.assertIn("not known to be contiguous", done.stderr)


if __name__ == "__main__":
    unittest.main()
