"""Rows of quantize.cc, quantized.cc and quantized_ops.cc.

Results are dequantized or given as integers; `steps(n, scale)` allows n steps of a scale, where
PyTorch's integer kernels and floats may round to different sides.
"""

import torch
import torch.ao.nn.quantized
import torch.ao.nn.quantized.dynamic

from case import Case, T

nnq, nnqd = torch.ao.nn.quantized, torch.ao.nn.quantized.dynamic
aten = torch.ops.aten
pt2e = torch.ops.quantized_decomposed
quantized = torch.ops.quantized

try:
    import torch.ao.quantization.fx._decomposed  # noqa: F401: defines the operators
except ImportError:
    pass

X = T("f32", 4, 6, N=0)
IMAGE = T("f32", 2, 4, 7, 6, N=0)
TRACE = ("trace",)
EXPORTED = ("export", "dynamic", "core")  # TorchScript does not know the operators
FIXED = ("export", "trace")  # PyTorch has no meta kernel of fake quantization


def steps(count, scale):
    return (0, count * scale * 1.001)


def q(x, scale=0.05, zero_point=3, dtype=torch.qint8):
    return torch.quantize_per_tensor(x, scale, zero_point, dtype)


def unary(name, *args, scale=0.03, zero_point=5):
    """A `quantized::` operator of one operand, dequantized."""
    def run(x):
        return getattr(quantized, name)(q(x, dtype=torch.quint8, zero_point=120), *args, scale, zero_point).dequantize()
    return run


def weight(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(1))


def by_channel(w):
    count = w.shape[0]
    return torch.quantize_per_channel(w, torch.linspace(0.02, 0.04, count), torch.zeros(count, dtype=torch.int64),
                                      0, torch.qint8)


def linear(op, *args, dynamic=False):
    w, bias = weight(5, 6), torch.linspace(-1, 1, 5)

    def run(x):
        packed = quantized.linear_prepack(by_channel(w), bias)
        if dynamic:
            return getattr(quantized, op)(x, packed, *args)
        x = q(x, 0.04, 100, torch.quint8)
        return getattr(quantized, op)(x, packed, 0.1, 120, *args).dequantize()
    return run


def conv(op, dims, groups=1, transposed=False, per_tensor=False):
    """stride 2 and padding 1 on each axis."""
    twos, ones, bias = [2] * dims, [1] * dims, torch.linspace(-1, 1, 6)
    w = weight(*((4, 6 // groups) if transposed else (6, 4 // groups)), *([3] * dims))

    def run(x):
        if transposed:
            prepack = getattr(quantized, f"conv_transpose{dims}d_prepack")
            packed = prepack(q(w, 0.03, 0), bias, twos, ones, ones, ones, groups)
        else:
            prepack = getattr(quantized, f"conv{dims}d_prepack")
            packed = prepack(q(w, 0.03, 0) if per_tensor else by_channel(w), bias, twos, ones, ones, groups)
        x = q(x, 0.04, 100, torch.quint8)
        return getattr(quantized, op)(x, packed, 0.2, 128).dequantize()
    return run


class Quantized(torch.nn.Module):
    """A quantized module, whose parameters LibTorch packs into an object, between floats."""

    def __init__(self, module, dynamic=False):
        super().__init__()
        generator = torch.Generator().manual_seed(2)
        w = torch.randn(module.weight().shape, generator=generator)
        channels = module.bias().shape[0]
        packed = q(w, 0.03, 0) if "Transpose" in type(module).__name__ else by_channel(w)
        module.set_weight_bias(packed, torch.linspace(-1, 1, channels))
        module.scale, module.zero_point = 0.1, 120
        self.module, self.dynamic = module, dynamic

    def forward(self, x):
        if self.dynamic:
            return self.module(x)
        return self.module(q(x, 0.04, 100, torch.quint8)).dequantize()


def moved(fn):
    """What a tensor's own operator makes of a quantized one: integers and floats."""
    def run(x):
        y = fn(q(x))
        return y.int_repr(), y.dequantize()
    return run


def binary(name):
    return lambda x, y: getattr(quantized, name)(q(x), q(y, 0.04, -2), 0.08, 1).dequantize()


def per_channel(x):
    return torch.quantize_per_channel(x, torch.tensor([0.02, 0.05, 0.1]), torch.tensor([0, 5, -3]), 1, torch.qint8)


# Below opset 13, ONNX has no dequantization per channel, and ONNX Runtime quantizes the weights of a
# convolution between integers once more.
REQUANTIZED = 5
SCALES = torch.tensor([0.1, 0.02, 0.3])
ZEROS = torch.tensor([0, 4, -2], dtype=torch.int32)

ROWS = [
    # ---- to and from integers
    Case("quantize_int8", lambda x: q(x).int_repr(), [X], since=10, modes=TRACE, tol=(0, 1)),
    Case("quantize_uint8", lambda x: q(x, 0.02, 100, torch.quint8).int_repr(), [X], since=10, modes=TRACE, tol=(0, 1)),
    Case("quantize_int32", lambda x: q(x, 1e-4, 7, torch.qint32).int_repr(), [X], since=11, modes=TRACE, tol=(0, 1)),
    Case("dequantize", lambda x: q(x).dequantize(), [X], since=10, modes=TRACE, tol=steps(1, 0.05)),
    Case("per_channel", lambda x: per_channel(x).dequantize(), [T("f32", 2, 3, 4, N=0)], since=11, modes=TRACE,
         tol=steps(1, 0.1)),
    # ---- fake quantization
    Case("fake_tensor", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.05, 3, -128, 127), [X], since=11,
         tol=steps(1, 0.05), modes=FIXED),
    Case("fake_narrow", lambda x: torch.fake_quantize_per_tensor_affine(x, 0.3, 2, 0, 15), [X], since=11,
         tol=steps(1, 0.3), modes=FIXED),
    Case("fake_tensor_qparams", lambda x: torch.fake_quantize_per_tensor_affine(
        x, torch.tensor([0.1]), torch.tensor([-3], dtype=torch.int32), -127, 127), [X], since=11, tol=steps(1, 0.1), modes=FIXED),
    Case("fake_cachemask", lambda x: aten.fake_quantize_per_tensor_affine_cachemask(x, 0.05, 3, -20, 20), [X],
         since=11, tol=steps(1, 0.05), modes=FIXED),
    Case("fake_channel", lambda x: torch.fake_quantize_per_channel_affine(x, SCALES, ZEROS, 1, -128, 127),
         [T("f32", 2, 3, 4, N=0)], since=11, tol=steps(1, 0.3), modes=FIXED),
    Case("fake_channel_float_zero", lambda x: torch.fake_quantize_per_channel_affine(
        x, SCALES, torch.tensor([0.0, 1.5, -2.25]), 1, 0, 255), [T("f32", 2, 3, N=0)], since=11, tol=steps(1, 0.3), modes=FIXED),
    Case("fake_channel_mask", lambda x: aten.fake_quantize_per_channel_affine_cachemask(x, SCALES, ZEROS, 1, -8, 7),
         [T("f32", 2, 3, N=0)], since=11, tol=steps(1, 0.3), modes=FIXED),
    # ---- PT2E
    Case("pt2e_int8", lambda x: pt2e.dequantize_per_tensor(
        pt2e.quantize_per_tensor(x, 0.05, 3, -128, 127, torch.int8), 0.05, 3, -128, 127, torch.int8), [X], since=10,
         tol=steps(1, 0.05), modes=EXPORTED),
    Case("pt2e_narrow", lambda x: pt2e.quantize_per_tensor(x, 0.05, 0, -127, 127, torch.int8), [X], since=10, tol=(0, 1), modes=EXPORTED),
    Case("pt2e_uint8", lambda x: pt2e.quantize_per_tensor(x, 0.03, 128, 0, 255, torch.uint8), [X], since=10, tol=(0, 1), modes=EXPORTED),
    Case("pt2e_int16", lambda x: pt2e.quantize_per_tensor(x, 1e-4, 0, -32768, 32767, torch.int16), [X], since=11, tol=(0, 1), modes=EXPORTED),
    Case("pt2e_int32_bias", lambda x: pt2e.dequantize_per_tensor(
        pt2e.quantize_per_tensor(x, 1e-4, 0, -2**31, 2**31 - 1, torch.int32), 1e-4, 0, -2**31, 2**31 - 1, torch.int32),
         [X], since=11, tol=steps(1, 1e-4), modes=EXPORTED),
    Case("pt2e_channel", lambda x: pt2e.dequantize_per_channel(
        pt2e.quantize_per_channel(x, SCALES, ZEROS, 1, -128, 127, torch.int8), SCALES, ZEROS, 1, -128, 127, torch.int8),
         [T("f32", 2, 3, 4, N=0)], since=11, tol=steps(1, 0.3), modes=EXPORTED),
    Case("pt2e_tensor_params", lambda x, s: pt2e.quantize_per_tensor(
        x, s.abs() + 0.05, torch.tensor(2), -128, 127, torch.int8), [X, T("f32")], since=10, tol=(0, 1), modes=EXPORTED),
    Case("pt2e_symmetric", lambda x: (pt2e.choose_qparams_symmetric(x, -128, 127, 1e-6, torch.int8), pt2e.choose_qparams_symmetric(x, 0, 255, 1e-6, torch.uint8)),
         [X], tol=(1e-6, 0), modes=EXPORTED),
    Case("pt2e_symmetric_f16", lambda x: pt2e.choose_qparams_symmetric(x, -128, 127, 1e-6, torch.int8), [T("f16", 3, 4)], tol=(5e-4, 0), modes=EXPORTED),
    Case("pt2e_token_not_finite", lambda x: pt2e.choose_qparams_per_token(torch.cat([x, x / 0]), torch.int8)[1].float(), [X], modes=EXPORTED),
    Case("pt2e_token_symmetric", lambda x: [part.float() for part in pt2e.choose_qparams_per_token(x, torch.int8)], [X], tol=(1e-6, 0), modes=EXPORTED),
    Case("pt2e_dynamic", lambda x: pt2e.choose_qparams(x, -128, 127, 1e-6, torch.int8), [X], since=11, tol=(1e-6, 0), modes=EXPORTED),
    Case("pt2e_token", lambda x: pt2e.quantize_per_token(
        x, torch.linspace(0.02, 0.3, 4)[:, None], torch.tensor([[0], [1], [2], [3]]), -128, 127, torch.int8),
         [T("f32", 4, 6)], since=11, tol=(0, 1), modes=EXPORTED),
    Case("pt2e_group", lambda x: pt2e.dequantize_per_channel_group(
        pt2e.quantize_per_channel_group(x, torch.full((4, 2), 0.1), torch.zeros(4, 2), -8, 7, torch.int8, 3),
        torch.full((4, 2), 0.1), torch.zeros(4, 2), -8, 7, torch.int8, 3, torch.float32), [T("f32", 4, 6)], since=11,
         tol=steps(1, 0.1), modes=EXPORTED),
    # ---- operators for any tensor
    Case("view", moved(lambda x: x.view(-1, 2)), [T("f32", 4, 6)], since=10, modes=TRACE, tol=(0, 1)),
    Case("reshape_dynamic", moved(lambda x: x.reshape(x.shape[0], 2, -1)), [X], since=10, modes=TRACE, tol=(0, 1)),
    Case("permute", moved(lambda x: x.permute(1, 0)), [X], since=10, modes=TRACE, tol=(0, 1)),
    Case("flatten", moved(lambda x: torch.flatten(x, 1)), [IMAGE], since=10, modes=TRACE, tol=(0, 1)),
    Case("slice", moved(lambda x: x[:, 1:4]), [X], since=10, modes=TRACE, tol=(0, 1)),
    Case("max_pool", moved(lambda x: torch.max_pool2d(x, 3, 2, 1)), [IMAGE], since=10, modes=TRACE, tol=(0, 1)),
    Case("relu", moved(torch.relu), [X], since=10, modes=TRACE, tol=(0, 1)),
    Case("clamp", moved(lambda x: torch.clamp(x, -1, 2)), [X], since=10, modes=TRACE, tol=(0, 1)),
    Case("avg_pool", moved(lambda x: torch.nn.functional.avg_pool2d(x, 2)), [IMAGE], since=10, modes=TRACE, tol=(0, 1)),
    Case("adaptive_pool", moved(lambda x: torch.nn.functional.adaptive_avg_pool2d(x, 1)), [IMAGE], since=10,
         modes=TRACE, tol=(0, 1)),
    Case("cat_same", moved(lambda x: torch.cat([x, x], 1)), [X], since=10, modes=TRACE, tol=(0, 1)),
    Case("sigmoid", moved(torch.sigmoid), [X], since=10, modes=TRACE, tol=(0, 1)),
    Case("tanh", moved(torch.tanh), [X], since=10, modes=TRACE, tol=(0, 1)),
    Case("upsample", moved(lambda x: torch.nn.functional.interpolate(x, scale_factor=2)), [IMAGE], since=10,
         modes=TRACE, tol=(0, 1)),
    # Integers without a scale: positions are floats all the same.
    Case("upsample_uint8", lambda x: torch.nn.functional.interpolate(x, scale_factor=2), [T("u8", 2, 4, 7, 6, high=200, N=0)]),
    # ---- quantized::
    Case("quantized_sigmoid", unary("sigmoid", scale=1 / 256, zero_point=0), [X], since=10, modes=TRACE, tol=steps(1, 1 / 256)),
    Case("quantized_hardswish", unary("hardswish"), [X], since=10, modes=TRACE, tol=steps(1, 0.03)),
    Case("quantized_leaky_relu", lambda x: quantized.leaky_relu(q(x), 0.1, False, 0.04, 2).dequantize(), [X], since=10,
         modes=TRACE, tol=steps(1, 0.04)),
    Case("quantized_elu", lambda x: quantized.elu(q(x), 0.04, 2).dequantize(), [X], since=10, modes=TRACE, tol=steps(1, 0.04)),
    Case("quantized_layer_norm", lambda x: quantized.layer_norm(
        q(x), [6], torch.linspace(0.5, 1, 6), torch.linspace(-1, 1, 6), 1e-5, 0.05, 1).dequantize(), [X], since=10,
         modes=TRACE, tol=steps(1, 0.05)),
    Case("quantized_group_norm", lambda x: quantized.group_norm(
        q(x), 2, torch.linspace(0.5, 1, 4), torch.linspace(-1, 1, 4), 1e-5, 0.05, 1).dequantize(), [IMAGE], since=10,
         modes=TRACE, tol=steps(1, 0.05)),
    Case("quantized_instance_norm", lambda x: quantized.instance_norm(
        q(x), torch.linspace(0.5, 1, 4), torch.linspace(-1, 1, 4), 1e-5, 0.05, 1).dequantize(), [IMAGE], since=10,
         modes=TRACE, tol=steps(1, 0.05)),
    Case("quantized_batch_norm", lambda x: quantized.batch_norm2d(
        q(x), torch.linspace(0.5, 1, 4), torch.linspace(-1, 1, 4), torch.zeros(4), torch.ones(4), 1e-5, 0.05, 1).dequantize(),
         [IMAGE], since=10, modes=TRACE, tol=steps(1, 0.05)),
    Case("quantized_add", binary("add"), [X, X], since=10, modes=TRACE, tol=steps(1, 0.08)),
    Case("quantized_add_relu", binary("add_relu"), [X, X], since=10, modes=TRACE, tol=steps(1, 0.08)),
    Case("quantized_mul", binary("mul"), [X, X], since=10, modes=TRACE, tol=steps(1, 0.08)),
    Case("quantized_mul_relu", binary("mul_relu"), [X, X], since=10, modes=TRACE, tol=steps(1, 0.08)),
    Case("quantized_add_scalar", lambda x: quantized.add(q(x), 1.5).dequantize(), [X], since=10, modes=TRACE,
         tol=steps(1, 0.05)),
    Case("quantized_add_scalar_wide", lambda x: quantized.add(q(x), 11.5).dequantize(), [X], since=10, modes=TRACE,
         tol=steps(1, 0.1)),
    Case("quantized_mul_scalar", lambda x: (quantized.mul(q(x), -1.5).dequantize(), quantized.mul(q(x), 2.5).dequantize()),
         [X], since=10, modes=TRACE, tol=steps(1, 0.13)),
    Case("quantized_cat", lambda x, y: quantized.cat([q(x), q(y, 0.1, 0)], 1, 0.06, 2).dequantize(), [X, X], since=10,
         modes=TRACE, tol=steps(1, 0.06)),
    Case("quantized_linear", linear("linear"), [X], since=11, modes=TRACE, tol=steps(1, 0.1)),
    Case("quantized_linear_relu", linear("linear_relu"), [X], since=11, modes=TRACE, tol=steps(1, 0.1)),
    Case("quantized_linear_dynamic", linear("linear_dynamic", False, dynamic=True), [X], since=11, modes=TRACE,
         tol=(0, 0.1)),
    Case("quantized_conv1d", conv("conv1d", 1), [T("f32", 2, 4, 9, N=0)], since=11, modes=TRACE, tol=steps(REQUANTIZED, 0.2)),
    Case("quantized_conv2d", conv("conv2d", 2), [IMAGE], since=11, modes=TRACE, tol=steps(REQUANTIZED, 0.2)),
    Case("quantized_conv2d_per_tensor", conv("conv2d", 2, per_tensor=True), [IMAGE], since=10, modes=TRACE,
         tol=steps(1, 0.2)),
    Case("quantized_conv2d_relu", conv("conv2d_relu", 2, groups=2), [IMAGE], since=11, modes=TRACE, tol=steps(REQUANTIZED, 0.2)),
    Case("quantized_conv3d", conv("conv3d", 3), [T("f32", 1, 4, 5, 6, 5)], since=11, modes=TRACE, tol=steps(REQUANTIZED, 0.2)),
    Case("module_linear", Quantized(nnq.Linear(6, 5)), [X], since=10, modes=TRACE, tol=steps(REQUANTIZED, 0.1)),
    Case("module_linear_dynamic", Quantized(nnqd.Linear(6, 5), dynamic=True), [X], since=11, modes=TRACE, tol=(0, 0.1)),
    Case("module_conv1d", Quantized(nnq.Conv1d(4, 6, 3, 2, 1)), [T("f32", 2, 4, 9, N=0)], since=10, modes=TRACE,
         tol=steps(REQUANTIZED, 0.1)),
    Case("module_conv2d", Quantized(nnq.Conv2d(4, 6, 3, 2, 1, groups=2)), [IMAGE], since=10, modes=TRACE, tol=steps(REQUANTIZED, 0.1)),
    Case("module_conv3d", Quantized(nnq.Conv3d(4, 6, 3, 2, 1)), [T("f32", 1, 4, 5, 6, 5)], since=10, modes=TRACE,
         tol=steps(REQUANTIZED, 0.1)),
    Case("module_conv_transpose2d", Quantized(nnq.ConvTranspose2d(4, 6, 3, 2, 1, 1)), [IMAGE], since=10, modes=TRACE,
         tol=steps(REQUANTIZED, 0.1)),
    Case("quantized_conv_transpose2d", conv("conv_transpose2d", 2, transposed=True), [IMAGE], since=10, modes=TRACE,
         tol=steps(1, 0.2)),
]
