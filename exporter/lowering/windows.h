// Sliding windows as axes of their own: unfolding, and what pooling and convolution are made of in
// dtypes that ONNX's operators for them do not take.
#ifndef RULES_ONNX_EXPORTER_LOWERING_WINDOWS_H_
#define RULES_ONNX_EXPORTER_LOWERING_WINDOWS_H_

#include <cstdint>
#include <vector>

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// Numbers of the spatial axes, one each.
struct Sliding {
  std::vector<int64_t> kernel, stride, dilation;
};

// x [N, C, s…], padded already → [N, C, n…, k], k counting through a window's elements in order.
Val SlidingWindows(Builder& b, Val x, const Sliding& sliding);

// The same as columns, [N, C · k, n]: n counts through the windows in order.
Val WindowColumns(Builder& b, Val x, const Sliding& sliding);

// The convolution of x [N, C, s…], padded already, with weight [O, C / groups, k…] → [N, O, n…], by
// a matrix product. The sizes of weight but for the first two are those of the kernel.
Val ConvolveWindows(Builder& b, Val x, Val weight, int64_t groups, const Sliding& sliding);

// x with `step` − 1 zeros between neighbours along each axis from 2 on.
Val SpreadOut(Builder& b, Val x, const std::vector<int64_t>& steps);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_WINDOWS_H_
