#!/usr/bin/env python3
"""The network tests turn red when an artifact is wrong in one place.

Exports small networks, changes one node of the ONNX graph at a time, and requires that the
comparison with eager PyTorch at three sizes fails for every one of them:

- swap the operands of a node that is not commutative
- drop a node: its first input takes the output's place
- change an axis, a permutation, a stride, a pad or an epsilon
- freeze a size: a computed size becomes the constant it has at the example size
"""

import os
import pathlib
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import numpy as np
import onnx
import onnxruntime as ort
import torch

import networks
import run

EXPORT = os.path.join(os.environ.get("RULES_ONNX_BIN", "build/bin"), "onnx-export")
ORDERED = {"Sub", "Div", "Pow", "MatMul", "Gemm", "Less", "Greater", "LessOrEqual", "Where"}
DROPPED = {"Relu", "Softmax", "Erf", "Tanh", "Sqrt", "Transpose", "Neg", "Reciprocal", "Add", "Mul"}


def swap_operands(node):
    if node.op_type in ORDERED and len(node.input) >= 2:
        first = 1 if node.op_type == "Where" else 0
        node.input[first], node.input[first + 1] = node.input[first + 1], node.input[first]
        return True
    return False


def drop_node(node):
    if node.op_type not in DROPPED:
        return False
    kept = node.input[0]
    del node.input[:], node.attribute[:]
    node.op_type, node.domain = "Identity", ""
    node.input.append(kept)
    return True


def change_attribute(node):
    for attribute in node.attribute:
        values = list(attribute.ints)
        if attribute.name == "perm" and len(values) > 1:
            attribute.ints[0], attribute.ints[-1] = values[-1], values[0]
            return True
        if attribute.name in ("strides", "pads") and values:
            attribute.ints[0] = values[0] + 1
            return True
        if attribute.name == "epsilon":
            attribute.f = 1.0
            return True
        if attribute.name == "axis" and node.op_type in ("Softmax", "Concat"):
            attribute.i = attribute.i - 1 if attribute.i > 0 else attribute.i + 1
            return True
    return False


MUTATIONS = (swap_operands, drop_node, change_attribute)


def mutants(model):
    """(description, changed copy) for each mutation of each node that it applies to."""
    for index, node in enumerate(model.graph.node):
        for mutate in MUTATIONS:
            copy = onnx.ModelProto()
            copy.CopyFrom(model)
            if mutate(copy.graph.node[index]):
                yield f"{mutate.__name__} of {node.name}", copy


def frozen_sizes(model, inputs):
    """Each size that the graph computes from Shape becomes its value at the example size."""
    shapes = {node.output[0] for node in model.graph.node if node.op_type == "Shape"}
    for index, node in enumerate(model.graph.node):
        one_size = node.op_type == "Gather" and node.input[0] in shapes
        if not one_size and not (node.op_type == "Shape" and node.attribute):
            continue
        probe = onnx.ModelProto()
        probe.CopyFrom(model)
        probe.graph.output.append(onnx.ValueInfoProto(name=node.output[0]))
        names = [value.name for value in model.graph.input]
        feeds = {name: tensor.numpy() for name, tensor in zip(names, inputs)}
        value = ort.InferenceSession(probe.SerializeToString()).run([node.output[0]], feeds)[0]
        copy = onnx.ModelProto()
        copy.CopyFrom(model)
        changed = copy.graph.node[index]
        del changed.input[:], changed.attribute[:]
        changed.op_type = "Constant"
        changed.attribute.append(
            onnx.helper.make_attribute("value", onnx.numpy_helper.from_array(np.asarray(value)))
        )
        yield f"freeze {node.name}", copy


ort.set_default_logger_severity(4)  # wrong graphs are what this is about


class MutationTest(unittest.TestCase):
    """No mutant survives: there is none in these networks that computes the same."""

    def survivors(self, network, opset=17):
        torch.manual_seed(0)
        module = network.build().eval()
        found, count = [], 0
        with torch.no_grad(), tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            cases = []
            for sizes in run.sizes_to_try(network):
                inputs = network.inputs(sizes)
                cases.append((inputs, run.flat(module(*inputs))))
            program = run.save_program(network, module, cases[0][0], "pt2", folder)
            torch.save(cases[0][0], folder / "inputs.pt")
            run.run_export(EXPORT, program, network, [opset], folder)
            path = folder / f"out.opset{opset}.onnx"
            run.compare(path, network, cases)
            model = onnx.load(path)
            for what, mutant in [*mutants(model), *frozen_sizes(model, cases[0][0])]:
                count += 1
                onnx.save(mutant, folder / "mutant.onnx")
                try:
                    run.compare(folder / "mutant.onnx", network, cases)
                except Exception:  # noqa: BLE001  (any failure: the mutant was noticed)
                    continue
                found.append(what)
        self.assertGreater(count, 10)
        return found

    def check(self, name):
        network = next(n for n in networks.own_nets() if n.name == name)
        self.assertEqual(self.survivors(network), [])

    def test_convolutions_and_skips(self):
        self.check("unet")

    def test_encoder(self):
        self.check("bert")

    def test_decoder(self):
        self.check("gpt")


if __name__ == "__main__":
    unittest.main()
