// Convolutions.
#include <algorithm>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"
#include "exporter/lowering/windows.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

struct Convolution {
  Val x, weight, bias;             // bias may be null
  Ints stride, dilation, padding;  // one an axis, or one for all
  Ints output_padding;
  int64_t groups = 1;
  bool transposed = false;
  std::string auto_pad;            // "same" or "valid" instead of padding
};

void Fill(Ints* values, size_t count) {
  if (values->size() == 1) values->assign(count, values->front());
}

// PyTorch's "same" puts the odd one behind.
Ints SamePads(const Ints& kernel, const Ints& dilation) {
  Ints begins, ends;
  for (size_t i = 0; i < kernel.size(); ++i) {
    const int64_t total = dilation[i] * (kernel[i] - 1);
    begins.push_back(total / 2);
    ends.push_back(total - total / 2);
  }
  begins.insert(begins.end(), ends.begin(), ends.end());
  return begins;
}

std::optional<Ints> KernelShape(Val weight) {
  Ints kernel;
  for (int i = 2; i < weight.rank(); ++i) {
    if (!weight.dim(i).is_number()) return std::nullopt;
    kernel.push_back(weight.dim(i).value());
  }
  return kernel;
}

// What ONNX Runtime refuses, though ONNX allows it beside a larger dilation.
bool PadsBeyondStride(const Convolution& conv) {
  if (!conv.transposed) return false;
  for (size_t i = 0; i < conv.stride.size(); ++i) {
    if (conv.output_padding[i] >= conv.stride[i]) return true;
  }
  return false;
}

Val WithBias(Builder& b, Val y, const Convolution& conv) {
  if (!conv.bias) return y;
  Ints axes(conv.stride.size());
  std::iota(axes.begin(), axes.end(), 1);
  return b.Add(y, b.Unsqueeze(conv.bias, axes));
}

// The whole result of a transposed convolution without bias, cut by the padding at both ends and
// longer by the output's padding at the end.
Val CutTransposed(Builder& b, Val y, const Convolution& conv) {
  const int spatial = static_cast<int>(conv.stride.size());
  Ints begins(y.rank(), 0), ends(y.rank(), 0);
  for (int i = 0; i < spatial; ++i) {
    ends[2 + i] = std::max<int64_t>(conv.output_padding[i] - conv.padding[i], 0);
  }
  y = b.Pad(y, begins, ends);
  for (int i = 0; i < spatial; ++i) {
    const int64_t cut = std::max<int64_t>(conv.padding[i] - conv.output_padding[i], 0);
    const int64_t end = cut == 0 ? kEnd : -cut;
    y = b.Slice(y, 2 + i, conv.padding[i], end);
  }
  return WithBias(b, y, conv);
}

// A transposed convolution's weight [C, O / groups, k…] as that of the convolution it is of the
// input spread out: [O, C / groups, k…], the kernel turned round.
Val TurnedRound(Builder& b, const Convolution& conv) {
  const Val weight = conv.weight;
  Ints kernel_axes(conv.stride.size()), swapped(weight.rank() + 1);
  std::iota(kernel_axes.begin(), kernel_axes.end(), 2);
  std::iota(swapped.begin(), swapped.end(), 0);
  std::swap(swapped[1], swapped[2]);
  const Val groups = b.Int(conv.groups);
  const Val inputs = b.Div(b.Size(weight, 0), groups), outputs = b.Size(weight, 1);
  Vals split = {groups, inputs, outputs}, joined = {b.Mul(groups, outputs), inputs};
  for (const int64_t axis : kernel_axes) {
    split.push_back(b.Size(weight, axis));
    joined.push_back(split.back());
  }
  const Val turned = b.Reshape(Flip(b, weight, kernel_axes), b.Vector(split));
  return b.Reshape(b.Transpose(turned, swapped), b.Vector(joined));
}

// ONNX convolves floats only: integers, exactly, by their windows.
Val OfIntegers(Builder& b, Val x, const Convolution& conv, const Ints& kernel, Ints pads) {
  const size_t spatial = kernel.size();
  Sliding sliding = {kernel, conv.stride, conv.dilation};
  Val weight = conv.weight;
  if (conv.transposed) {
    x = SpreadOut(b, x, conv.stride);
    weight = TurnedRound(b, conv);
    sliding.stride = Ints(spatial, 1);
    for (size_t i = 0; i < spatial; ++i) {
      pads[i] = conv.dilation[i] * (kernel[i] - 1) - conv.padding[i];
      pads[spatial + i] = pads[i] + conv.output_padding[i];
    }
  }
  Ints begins(2, 0), ends(2, 0);
  begins.insert(begins.end(), pads.begin(), pads.begin() + spatial);
  ends.insert(ends.end(), pads.begin() + spatial, pads.end());
  const Val y = ConvolveWindows(b, b.Pad(x, begins, ends), weight, conv.groups, sliding);
  return WithBias(b, y, conv);
}

Val Emit(Op& op, Convolution conv) {
  Builder& b = op.b;
  if (!conv.x || !conv.weight || op.failed()) return {};
  const int spatial = conv.weight.rank() - 2;
  const bool unbatched = conv.x.rank() == spatial + 1;
  for (Ints* values : {&conv.stride, &conv.dilation, &conv.padding, &conv.output_padding}) {
    Fill(values, spatial);
  }
  const auto kernel = KernelShape(conv.weight);
  if (!op.Require(kernel.has_value(), "the size of the kernel must be known at build time")) {
    return {};
  }
  Ints pads = conv.padding;
  pads.insert(pads.end(), conv.padding.begin(), conv.padding.end());
  if (conv.auto_pad == "same") pads = SamePads(*kernel, conv.dilation);
  if (conv.auto_pad == "valid") pads = Ints(2 * spatial, 0);
  const Val x = unbatched ? b.Unsqueeze(conv.x, {0}) : conv.x;
  if (!ir::IsFloat(x.dtype())) {
    const Val y = OfIntegers(b, x, conv, *kernel, std::move(pads));
    return unbatched ? b.Squeeze(y, {0}) : y;
  }
  const bool cut_after = PadsBeyondStride(conv);
  if (cut_after) pads = Ints(2 * spatial, 0);
  Attrs attrs = {{"dilations", conv.dilation},
                 {"group", conv.groups},
                 {"kernel_shape", *kernel},
                 {"pads", pads},
                 {"strides", conv.stride}};
  if (conv.transposed && !cut_after) attrs.emplace_back("output_padding", conv.output_padding);
  Val y = b.Op(conv.transposed ? "ConvTranspose" : "Conv",
               {x, conv.weight, cut_after ? Val() : conv.bias}, std::move(attrs));
  if (cut_after) y = CutTransposed(b, y, conv);
  return unbatched ? b.Squeeze(y, {0}) : y;
}

Convolution Common(Op& op) {
  Convolution conv;
  conv.x = op.Tensor("input");
  conv.weight = op.Tensor("weight");
  if (op.Has("bias")) conv.bias = op.Tensor("bias");
  conv.stride = op.Ints("stride");
  conv.dilation = op.Ints("dilation");
  conv.groups = op.Int("groups");
  if (op.Arg("padding").is_list()) {
    conv.padding = op.Ints("padding");
  } else {
    conv.auto_pad = op.String("padding");
  }
  return conv;
}

void Conv(Op& op) { op.Return(Emit(op, Common(op))); }

void ConvTranspose(Op& op) {
  Convolution conv = Common(op);
  conv.transposed = true;
  conv.output_padding = op.Ints("output_padding");
  op.Return(Emit(op, std::move(conv)));
}

void General(Op& op) {
  Convolution conv = Common(op);
  conv.transposed = op.Bool("transposed");
  conv.output_padding = op.Ints("output_padding");
  op.Return(Emit(op, std::move(conv)));
}

// [time, batch, channels], weight [width, in, out], bias [out].
void ConvTbc(Op& op) {
  Builder& b = op.b;
  Convolution conv;
  conv.x = b.Transpose(op.Tensor("self"), {1, 2, 0});
  conv.weight = b.Transpose(op.Tensor("weight"), {2, 1, 0});
  conv.bias = op.Tensor("bias");
  conv.stride = conv.dilation = {1};
  conv.padding = {op.Int("pad")};
  op.Return(b.Transpose(Emit(op, std::move(conv)), {2, 0, 1}));
}

constexpr char kIntegers[] = "integers with padding, and transposed: opset 11";

}  // namespace

extern const Family kConv;
const Family kConv = {"conv", {
    {"aten::conv1d", Conv, 9, kIntegers},
    {"aten::conv2d", Conv, 9, kIntegers},
    {"aten::conv3d", Conv, 9, kIntegers},
    {"aten::_convolution_mode", Conv, 9, kIntegers},
    {"aten::conv_transpose1d", ConvTranspose, 9, kIntegers},
    {"aten::conv_transpose2d", ConvTranspose, 9, kIntegers},
    {"aten::conv_transpose3d", ConvTranspose, 9, kIntegers},
    {"aten::convolution", General, 9, kIntegers},
    {"aten::_convolution", General, 9, kIntegers},
    {"aten::convolution_overrideable", General, 9, kIntegers},
    {"aten::conv_tbc", ConvTbc},
}};

}  // namespace rules_onnx::lowering
