// A library of operators in C++, for PyTorch. TorchScript programs that use it (mykernels.py) are
// captured with `--torch-library libmykernels.so`, and its operators lowered by a plugin: mylib.cc.
#include <ATen/core/Tensor.h>
#include <torch/library.h>

namespace {

at::Tensor LeakySquare(const at::Tensor& x, double slope) {
  at::Tensor y = x.contiguous().clone();
  float* values = y.mutable_data_ptr<float>();
  for (int64_t i = 0; i < y.numel(); ++i) {
    values[i] *= values[i] > 0 ? values[i] : static_cast<float>(slope);
  }
  return y;
}

}  // namespace

TORCH_LIBRARY(mykernels, library) { library.def("leaky_square(Tensor x, float slope) -> Tensor"); }

TORCH_LIBRARY_IMPL(mykernels, CPU, library) { library.impl("leaky_square", &LeakySquare); }
