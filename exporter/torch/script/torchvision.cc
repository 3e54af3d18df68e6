#include "exporter/torch/script/torchvision.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <tuple>
#include <vector>

namespace rules_onnx::script {
namespace {

// Boxes (x1, y1, x2, y2) that no better-scored kept box overlaps by more than the threshold, by
// falling score; equal scores keep their order.
at::Tensor Nms(const at::Tensor& boxes, const at::Tensor& scores, double iou_threshold) {
  const at::Tensor b = boxes.to(at::kFloat).contiguous();
  const auto box = b.accessor<float, 2>();
  const at::Tensor order = std::get<1>(scores.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  const int64_t* index = order.const_data_ptr<int64_t>();
  const int64_t count = boxes.size(0);
  const auto area = [&](int64_t i) {
    return (box[i][2] - box[i][0]) * (box[i][3] - box[i][1]);
  };
  std::vector<bool> dropped(static_cast<size_t>(count), false);
  std::vector<int64_t> kept;
  for (int64_t a = 0; a < count; ++a) {
    const int64_t i = index[a];
    if (dropped[static_cast<size_t>(i)]) continue;
    kept.push_back(i);
    for (int64_t c = a + 1; c < count; ++c) {
      const int64_t j = index[c];
      const float width =
          std::max(0.f, std::min(box[i][2], box[j][2]) - std::max(box[i][0], box[j][0]));
      const float height =
          std::max(0.f, std::min(box[i][3], box[j][3]) - std::max(box[i][1], box[j][1]));
      const float common = width * height;
      if (common / (area(i) + area(j) - common) > iou_threshold) {
        dropped[static_cast<size_t>(j)] = true;
      }
    }
  }
  return at::tensor(kept, at::dtype(at::kLong));
}

// Bilinear sample of a height x width plane; 0 farther than one pixel outside.
double Sample(const double* plane, int64_t height, int64_t width, double y, double x) {
  if (y < -1 || y > height || x < -1 || x > width) return 0;
  const auto taps = [](double at, int64_t size, int64_t* low, int64_t* high) {
    at = std::max(at, 0.0);
    *low = static_cast<int64_t>(at);
    if (*low >= size - 1) {
      *low = *high = size - 1;
      return 0.0;
    }
    *high = *low + 1;
    return at - static_cast<double>(*low);
  };
  int64_t y0, y1, x0, x1;
  const double fy = taps(y, height, &y0, &y1), fx = taps(x, width, &x0, &x1);
  return (1 - fy) * ((1 - fx) * plane[y0 * width + x0] + fx * plane[y0 * width + x1]) +
         fy * ((1 - fx) * plane[y1 * width + x0] + fx * plane[y1 * width + x1]);
}

// torchvision.ops.roi_align: rois are (batch index, x1, y1, x2, y2).
at::Tensor RoiAlign(const at::Tensor& input, const at::Tensor& rois, double scale,
                    int64_t pooled_height, int64_t pooled_width, int64_t sampling_ratio,
                    bool aligned) {
  const at::Tensor x = input.to(at::kDouble).contiguous();
  const at::Tensor r = rois.to(at::kDouble).contiguous();
  const int64_t channels = x.size(1), height = x.size(2), width = x.size(3);
  at::Tensor output =
      at::zeros({r.size(0), channels, pooled_height, pooled_width}, x.options());
  const auto roi = r.accessor<double, 2>();
  auto out = output.accessor<double, 4>();
  const double offset = aligned ? 0.5 : 0.0;
  for (int64_t n = 0; n < r.size(0); ++n) {
    const double left = roi[n][1] * scale - offset, top = roi[n][2] * scale - offset;
    double roi_width = roi[n][3] * scale - offset - left;
    double roi_height = roi[n][4] * scale - offset - top;
    if (!aligned) {
      roi_width = std::max(roi_width, 1.0);
      roi_height = std::max(roi_height, 1.0);
    }
    const double bin_height = roi_height / static_cast<double>(pooled_height);
    const double bin_width = roi_width / static_cast<double>(pooled_width);
    const int64_t rows = sampling_ratio > 0 ? sampling_ratio : std::ceil(bin_height);
    const int64_t columns = sampling_ratio > 0 ? sampling_ratio : std::ceil(bin_width);
    const double samples = static_cast<double>(std::max<int64_t>(rows * columns, 1));
    for (int64_t c = 0; c < channels; ++c) {
      const double* plane =
          x.const_data_ptr<double>() + (static_cast<int64_t>(roi[n][0]) * channels + c) * height * width;
      for (int64_t ph = 0; ph < pooled_height; ++ph) {
        for (int64_t pw = 0; pw < pooled_width; ++pw) {
          double sum = 0;
          for (int64_t iy = 0; iy < rows; ++iy) {
            const double y = top + (ph + (iy + 0.5) / rows) * bin_height;
            for (int64_t ix = 0; ix < columns; ++ix) {
              const double at_x = left + (pw + (ix + 0.5) / columns) * bin_width;
              sum += Sample(plane, height, width, y, at_x);
            }
          }
          out[n][c][ph][pw] = sum / samples;
        }
      }
    }
  }
  return output.to(input.scalar_type());
}

// torchvision.ops.roi_pool; the second result is the place of each maximum, -1 in empty bins.
std::tuple<at::Tensor, at::Tensor> RoiPool(const at::Tensor& input, const at::Tensor& rois,
                                           double scale, int64_t pooled_height,
                                           int64_t pooled_width) {
  const at::Tensor x = input.to(at::kDouble).contiguous();
  const at::Tensor r = rois.to(at::kDouble).contiguous();
  const int64_t channels = x.size(1), height = x.size(2), width = x.size(3);
  at::Tensor output = at::zeros({r.size(0), channels, pooled_height, pooled_width}, x.options());
  at::Tensor places = at::full_like(output, -1, at::kInt);
  const auto roi = r.accessor<double, 2>();
  const auto in = x.accessor<double, 4>();
  auto out = output.accessor<double, 4>();
  auto place = places.accessor<int32_t, 4>();
  for (int64_t n = 0; n < r.size(0); ++n) {
    const auto batch = static_cast<int64_t>(roi[n][0]);
    const int64_t left = std::lround(roi[n][1] * scale), top = std::lround(roi[n][2] * scale);
    const int64_t right = std::lround(roi[n][3] * scale), bottom = std::lround(roi[n][4] * scale);
    const double bin_height =
        static_cast<double>(std::max<int64_t>(bottom - top + 1, 1)) / pooled_height;
    const double bin_width =
        static_cast<double>(std::max<int64_t>(right - left + 1, 1)) / pooled_width;
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t ph = 0; ph < pooled_height; ++ph) {
        for (int64_t pw = 0; pw < pooled_width; ++pw) {
          const auto bound = [](double at, int64_t start, int64_t size) {
            return std::clamp<int64_t>(static_cast<int64_t>(at) + start, 0, size);
          };
          const int64_t y0 = bound(std::floor(ph * bin_height), top, height);
          const int64_t y1 = bound(std::ceil((ph + 1) * bin_height), top, height);
          const int64_t x0 = bound(std::floor(pw * bin_width), left, width);
          const int64_t x1 = bound(std::ceil((pw + 1) * bin_width), left, width);
          for (int64_t y = y0; y < y1; ++y) {
            for (int64_t xx = x0; xx < x1; ++xx) {
              if (place[n][c][ph][pw] < 0 || in[batch][c][y][xx] > out[n][c][ph][pw]) {
                out[n][c][ph][pw] = in[batch][c][y][xx];
                place[n][c][ph][pw] = static_cast<int32_t>(y * width + xx);
              }
            }
          }
        }
      }
    }
  }
  return {output.to(input.scalar_type()), places};
}

constexpr const char* kSchemas[] = {
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
    "int pooled_width, int sampling_ratio, bool aligned) -> Tensor",
    "roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
    "int pooled_width) -> (Tensor, Tensor)",
    "ps_roi_align(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
    "int pooled_width, int sampling_ratio) -> (Tensor, Tensor)",
    "ps_roi_pool(Tensor input, Tensor rois, float spatial_scale, int pooled_height, "
    "int pooled_width) -> (Tensor, Tensor)",
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "int stride_h, int stride_w, int pad_h, int pad_w, int dilation_h, int dilation_w, "
    "int groups, int offset_groups, bool use_mask) -> Tensor",
};

}  // namespace

void RegisterTorchvisionOperators() {
  static const bool registered = [] {
    if (c10::Dispatcher::singleton().findSchema({"torchvision::nms", ""})) return false;
    static torch::Library schemas(torch::Library::FRAGMENT, "torchvision", std::nullopt, __FILE__,
                                  __LINE__);
    static torch::Library kernels(torch::Library::IMPL, "torchvision", c10::DispatchKey::CPU,
                                  __FILE__, __LINE__);
    for (const char* schema : kSchemas) schemas.def(schema);
    kernels.impl("nms", Nms);
    kernels.impl("roi_align", RoiAlign);
    kernels.impl("roi_pool", RoiPool);
    return true;
  }();
  static_cast<void>(registered);
}

}  // namespace rules_onnx::script
