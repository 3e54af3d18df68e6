// Convolutions.
#include <algorithm>
#include <limits>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"

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
    const int64_t end = cut == 0 ? std::numeric_limits<int64_t>::max() : -cut;
    y = b.Slice(y, 2 + i, conv.padding[i], end);
  }
  if (!conv.bias) return y;
  Ints axes(spatial);
  std::iota(axes.begin(), axes.end(), 1);
  return b.Add(y, b.Unsqueeze(conv.bias, axes));
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
  const bool cut_after = PadsBeyondStride(conv);
  if (conv.auto_pad == "valid" || cut_after) pads = Ints(2 * spatial, 0);
  Attrs attrs = {{"dilations", conv.dilation},
                 {"group", conv.groups},
                 {"kernel_shape", *kernel},
                 {"pads", pads},
                 {"strides", conv.stride}};
  if (conv.transposed && !cut_after) attrs.emplace_back("output_padding", conv.output_padding);
  const Val x = unbatched ? b.Unsqueeze(conv.x, {0}) : conv.x;
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

}  // namespace

extern const Family kConv;
const Family kConv = {"conv", {
    {"aten::conv1d", Conv},
    {"aten::conv2d", Conv},
    {"aten::conv3d", Conv},
    {"aten::_convolution_mode", Conv},
    {"aten::conv_transpose1d", ConvTranspose},
    {"aten::conv_transpose2d", ConvTranspose},
    {"aten::conv_transpose3d", ConvTranspose},
    {"aten::convolution", General},
    {"aten::_convolution", General},
    {"aten::convolution_overrideable", General},
    {"aten::conv_tbc", ConvTbc},
}};

}  // namespace rules_onnx::lowering
