// Sliding blocks as columns and back, unpooling.
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"
#include "exporter/lowering/windows.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

struct Blocks {
  Ints kernel, dilation, padding, stride;  // of height and width
};

Blocks ReadBlocks(Op& op) {
  const auto read = [&](absl::string_view name) {
    Ints values = op.Ints(name);
    if (values.size() == 1) values.push_back(values[0]);
    values.resize(2);
    return values;
  };
  return {read("kernel_size"), read("dilation"), read("padding"), read("stride")};
}

int64_t Extent(const Blocks& blocks, int i) {
  return blocks.dilation[i] * (blocks.kernel[i] - 1) + 1;
}

// [N, C, H, W] → [N, C · kh · kw, blocks]
void Im2col(Op& op) {
  Builder& b = op.b;
  Val x = op.Tensor("self");
  if (!x) return;
  const Blocks blocks = ReadBlocks(op);
  const bool single = x.rank() == 3;
  if (single) x = b.Unsqueeze(x, {0});
  const Ints pads = {0, 0, blocks.padding[0], blocks.padding[1]};
  const Val columns =
      WindowColumns(b, b.Pad(x, pads, pads), {blocks.kernel, blocks.stride, blocks.dilation});
  op.Return(single ? b.Squeeze(columns, {0}) : columns);
}

// Before opset 18: a transposed convolution whose kernels put each element of a block in its
// place.
Val FoldByConvolution(Builder& b, Val columns, const Blocks& blocks, const Ints& size) {
  const int64_t area = blocks.kernel[0] * blocks.kernel[1];
  Ints counts, output_padding;
  for (int i = 0; i < 2; ++i) {
    const int64_t room = size[i] + 2 * blocks.padding[i] - Extent(blocks, i);
    counts.push_back(room / blocks.stride[i] + 1);
    output_padding.push_back(room % blocks.stride[i]);
  }
  if (!columns.dim(1).is_number()) return b.Fail("col2im of an unknown number of channels");
  const int64_t channels = columns.dim(1).value() / area;
  const Val image = b.Reshape(columns, b.Vector({b.Size(columns, 0), b.Size(columns, 1),
                                                 b.Int(counts[0]), b.Int(counts[1])}));
  const Val places = Iota(b, b.Int(area));
  const Val unit = b.Cast(b.Equal(b.Unsqueeze(places, {1}), b.Unsqueeze(places, {0})),
                          columns.dtype());
  const Val kernels = b.Reshape(unit, Ints{1, area, 1, blocks.kernel[0], blocks.kernel[1]});
  const Val all = b.Expand(kernels, b.Ints({channels, 1, 1, 1, 1}));
  const Val weight = b.Reshape(all, Ints{channels * area, 1, blocks.kernel[0], blocks.kernel[1]});
  const Ints pads = {blocks.padding[0], blocks.padding[1], blocks.padding[0], blocks.padding[1]};
  return b.Op("ConvTranspose", {image, weight},
              {{"group", channels}, {"dilations", blocks.dilation}, {"strides", blocks.stride},
               {"pads", pads}, {"output_padding", output_padding},
               {"kernel_shape", blocks.kernel}},
              {DType::kUndefined,
               Shape{columns.dim(0), Dim(channels), Dim(size[0]), Dim(size[1])}});
}

// [N, C · kh · kw, blocks] → [N, C, H, W], overlapping elements added.
void Col2im(Op& op) {
  Builder& b = op.b;
  Val x = op.Tensor("self");
  if (!x) return;
  const Blocks blocks = ReadBlocks(op);
  const Ints size = op.Ints("output_size");
  if (op.failed()) return;
  const bool single = x.rank() == 2;
  if (single) x = b.Unsqueeze(x, {0});
  Val image;
  if (b.opset() >= 18) {
    const Ints pads = {blocks.padding[0], blocks.padding[1], blocks.padding[0],
                       blocks.padding[1]};
    const Dim channels = Dim::FloorDiv(x.dim(1), Dim(blocks.kernel[0] * blocks.kernel[1]));
    image = b.Op("Col2Im", {x, b.Ints(size), b.Ints(blocks.kernel)},
                 {{"dilations", blocks.dilation}, {"pads", pads}, {"strides", blocks.stride}},
                 {DType::kUndefined, Shape{x.dim(0), channels, Dim(size[0]), Dim(size[1])}});
  } else {
    image = FoldByConvolution(b, x, blocks, size);
  }
  op.Return(single ? b.Squeeze(image, {0}) : image);
}

// Puts the elements of x at indices into zero planes of these sizes, by the reduction.
Val ToPlanes(Builder& b, Val x, Val indices, const Vals& plane, absl::string_view reduction) {
  const int lead = x.rank() - static_cast<int>(plane.size());
  Vals sizes = SizesOf(b, x);
  const Val count = Product(b, Vals(sizes.begin() + lead, sizes.end()));
  sizes.resize(lead);
  Vals flat = sizes, zeros = sizes;
  flat.push_back(count);
  zeros.push_back(Product(b, plane));
  const Val target = b.Vector(flat);
  const Val filled = ScatterAlong(b, b.ConstantOfShape(b.Vector(zeros), 0, x.dtype()), lead,
                                  b.Reshape(indices, target), b.Reshape(x, target), reduction);
  sizes.insert(sizes.end(), plane.begin(), plane.end());
  return b.Reshape(filled, b.Vector(sizes));
}

// Puts the elements where their maxima stood in planes of `output_size`.
void MaxUnpool(Op& op) {
  const Val x = op.Tensor("self"), indices = op.Tensor("indices", DType::kInt64);
  const Vals output_size = op.IntVals("output_size");
  if (!x || !indices || op.failed()) return;
  op.Return(ToPlanes(op.b, x, indices, output_size, "none"));
}

// Each gradient goes to the maximum of its window.
template <int kSpatial>
void MaxPoolBackward(Op& op) {
  const Val grad = op.Tensor("grad_output"), indices = op.Tensor("indices", DType::kInt64);
  const Val x = op.Tensor("self");
  if (!x || !grad || !indices) return;
  const Vals sizes = SizesOf(op.b, x);
  op.Return(ToPlanes(op.b, grad, indices, Vals(sizes.end() - kSpatial, sizes.end()), "add"));
}

}  // namespace

extern const Family kFold;
const Family kFold = {"fold", {
    {"aten::im2col", Im2col},
    {"aten::col2im", Col2im},
    {"aten::max_unpool2d", MaxUnpool},
    {"aten::max_unpool3d", MaxUnpool},
    {"aten::max_pool2d_with_indices_backward", MaxPoolBackward<2>},
    {"aten::max_pool3d_with_indices_backward", MaxPoolBackward<3>},
}};

}  // namespace rules_onnx::lowering
