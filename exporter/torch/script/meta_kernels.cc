#include "exporter/torch/script/meta_kernels.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <optional>
#include <tuple>
#include <vector>

namespace rules_onnx::script {
namespace {

using at::Scalar;
using at::Tensor;
using MaybeTensor = std::optional<Tensor>;

// aten::convolution_overrideable, all ranks, forwards and transposed.
Tensor Convolution(const Tensor& input, const Tensor& weight, const MaybeTensor& /*bias*/,
                   at::IntArrayRef stride, at::IntArrayRef padding, at::IntArrayRef dilation,
                   bool transposed, at::IntArrayRef output_padding, int64_t groups) {
  std::vector<int64_t> sizes = {input.size(0),
                                transposed ? weight.size(1) * groups : weight.size(0)};
  for (int64_t axis = 2; axis < input.dim(); ++axis) {
    const auto i = static_cast<size_t>(axis - 2);
    const int64_t window = dilation[i] * (weight.size(axis) - 1) + 1;
    const int64_t size =
        transposed
            ? (input.size(axis) - 1) * stride[i] - 2 * padding[i] + window + output_padding[i]
            : (input.size(axis) + 2 * padding[i] - window) / stride[i] + 1;
    TORCH_CHECK(size > 0, "the window is larger than the padded input");
    sizes.push_back(size);
  }
  TORCH_CHECK(transposed || input.size(1) == weight.size(1) * groups, "expected ",
              weight.size(1) * groups, " input channels, got ", input.size(1));
  return at::empty(sizes, input.options());
}

std::tuple<Tensor, Tensor, Tensor> BatchNorm(const Tensor& input, const MaybeTensor& /*weight*/,
                                             const MaybeTensor& /*bias*/,
                                             const MaybeTensor& running_mean,
                                             const MaybeTensor& /*running_var*/, bool training,
                                             double /*momentum*/, double /*eps*/) {
  TORCH_CHECK(!running_mean || !running_mean->defined() || running_mean->size(0) == input.size(1),
              "expected ", running_mean ? running_mean->size(0) : 0, " channels, got ",
              input.size(1));
  const Tensor saved = at::empty({training ? input.size(1) : 0}, input.options());
  return {at::empty_like(input), saved, saved.clone()};
}

Tensor IndexSelect(const Tensor& self, int64_t dim, const Tensor& index) {
  std::vector<int64_t> sizes = self.sizes().vec();
  if (!sizes.empty()) sizes[static_cast<size_t>(dim < 0 ? dim + self.dim() : dim)] = index.numel();
  return at::empty(sizes, self.options());
}

Tensor HardTanh(const Tensor& self, const Scalar& /*min*/, const Scalar& /*max*/) {
  return at::empty_like(self);
}
Tensor& HardTanhInPlace(Tensor& self, const Scalar& /*min*/, const Scalar& /*max*/) {
  return self;
}
Tensor HardSwish(const Tensor& self) { return at::empty_like(self); }
Tensor& HardSwishInPlace(Tensor& self) { return self; }

}  // namespace

void RegisterMetaKernels() {
  static torch::Library* const library = [] {
    static torch::Library kernels(torch::Library::IMPL, "aten", c10::DispatchKey::Meta, __FILE__,
                                  __LINE__);
    kernels.impl("convolution_overrideable", Convolution);
    kernels.impl("native_batch_norm", BatchNorm);
    kernels.impl("index_select", IndexSelect);
    kernels.impl("hardtanh", HardTanh);
    kernels.impl("hardtanh_", HardTanhInPlace);
    kernels.impl("hardswish", HardSwish);
    kernels.impl("hardswish_", HardSwishInPlace);
    return &kernels;
  }();
  static_cast<void>(library);
}

}  // namespace rules_onnx::script
