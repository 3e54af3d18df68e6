"""Writes the files of this folder with numpy and onnx themselves: python make.py."""

import os

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

os.chdir(os.path.dirname(os.path.abspath(__file__)))
x = np.arange(6, dtype=np.float32).reshape(2, 3)

np.savez("mixed.npz", x, np.array(7), flag=np.array([True, False]), half=x.astype(np.float16))
np.savez_compressed("compressed.npz", mask=np.ones((2, 300), np.int64))
np.save("fortran.npy", np.asfortranarray(np.arange(24, dtype=np.int32).reshape(2, 3, 4)))
np.save("big_endian.npy", x.astype(">f4"))
np.save("structured.npy", np.zeros(2, [("a", "<f4"), ("b", "<i4")]))
np.save("text.npy", np.array(["a", "bc"]))
np.save("empty.npy", np.zeros((2, 0, 3), np.uint8))


def save(name, tensor):
    with open(name, "wb") as file:
        file.write(tensor.SerializeToString())


save("raw.pb", numpy_helper.from_array(x, "x"))
save("float_data.pb", helper.make_tensor("x", TensorProto.FLOAT, [2, 3], x.flatten()))
save("int8_data.pb", helper.make_tensor("q", TensorProto.INT8, [3], [-1, 0, 127]))
save("half_data.pb", helper.make_tensor("h", TensorProto.FLOAT16, [2], [1.0, -2.5]))
save("uint32_data.pb", helper.make_tensor("u", TensorProto.UINT32, [2], [1, 2**32 - 1]))
save("double_data.pb", helper.make_tensor("d", TensorProto.DOUBLE, [], [0.1]))
save("complex_data.pb", helper.make_tensor("c", TensorProto.COMPLEX64, [1], [1 + 2j]))
save("string.pb", helper.make_tensor("s", TensorProto.STRING, [1], [b"text"]))
short = numpy_helper.from_array(x, "x")
short.dims[0] = 3
save("short.pb", short)
external = TensorProto(name="e", data_type=TensorProto.FLOAT, dims=[2])
external.data_location = TensorProto.EXTERNAL
save("external.pb", external)
