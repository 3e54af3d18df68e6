#include "exporter/torch/script/torchvision.h"

#include <ATen/ATen.h>
#include <torch/library.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <tuple>
#include <utility>
#include <vector>

namespace rules_onnx::script {
namespace {

// Boxes (x1, y1, x2, y2) that no better-scored kept box overlaps by more than the threshold, by
// falling score; equal scores keep their order.
at::Tensor Nms(const at::Tensor& boxes, const at::Tensor& scores, double iou_threshold) {
  const at::Tensor b = boxes.to(at::kFloat).contiguous();
  const auto box = b.accessor<float, 2>();
  const at::Tensor order =
      std::get<1>(scores.sort(/*stable=*/true, /*dim=*/0, /*descending=*/true));
  const int64_t* index = order.const_data_ptr<int64_t>();
  const int64_t count = boxes.size(0);
  const auto area = [&](int64_t i) { return (box[i][2] - box[i][0]) * (box[i][3] - box[i][1]); };
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

// One bin's samples of a plane. `extent`: height and width of a bin; `grid`: samples along each.
double SumOfSamples(const double* plane, int64_t height, int64_t width, double top, double left,
                    const double extent[2], const int64_t grid[2]) {
  double sum = 0;
  for (int64_t iy = 0; iy < grid[0]; ++iy) {
    const double y =
        top + (static_cast<double>(iy) + 0.5) / static_cast<double>(grid[0]) * extent[0];
    for (int64_t ix = 0; ix < grid[1]; ++ix) {
      const double x =
          left + (static_cast<double>(ix) + 0.5) / static_cast<double>(grid[1]) * extent[1];
      sum += Sample(plane, height, width, y, x);
    }
  }
  return sum;
}

// How roi_align and ps_roi_align differ.
struct AlignForm {
  double offset;            // subtracted from coordinates
  double smallest;          // of a region's height and width
  bool own_channels;        // each bin reads channels of its own
  bool count_at_least_one;  // of samples, to divide by
};

at::Tensor Align(const at::Tensor& input, const at::Tensor& rois, double scale, int64_t rows,
                 int64_t columns, int64_t ratio, const AlignForm& form) {
  const at::Tensor x = input.to(at::kDouble).contiguous();
  const at::Tensor r = rois.to(at::kDouble).contiguous();
  const int64_t channels = x.size(1), height = x.size(2), width = x.size(3);
  const int64_t depth = form.own_channels ? channels / (rows * columns) : channels;
  at::Tensor output = at::zeros({r.size(0), depth, rows, columns}, x.options());
  const auto roi = r.accessor<double, 2>();
  auto out = output.accessor<double, 4>();
  for (int64_t n = 0; n < r.size(0); ++n) {
    const double left = roi[n][1] * scale - form.offset, top = roi[n][2] * scale - form.offset;
    const double tall = std::max(roi[n][4] * scale - form.offset - top, form.smallest);
    const double wide = std::max(roi[n][3] * scale - form.offset - left, form.smallest);
    const double extent[2] = {tall / static_cast<double>(rows),
                              wide / static_cast<double>(columns)};
    int64_t grid[2] = {ratio, ratio};
    for (const int i : {0, 1}) {
      if (ratio <= 0) grid[i] = static_cast<int64_t>(std::ceil(extent[i]));
    }
    const int64_t count = grid[0] * grid[1];
    const double divisor =
        static_cast<double>(form.count_at_least_one ? std::max<int64_t>(count, 1) : count);
    for (int64_t c = 0; c < depth; ++c) {
      for (int64_t i = 0; i < rows; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
          const int64_t channel = form.own_channels ? (c * rows + i) * columns + j : c;
          const double* plane =
              x.const_data_ptr<double>() +
              (static_cast<int64_t>(roi[n][0]) * channels + channel) * height * width;
          out[n][c][i][j] =
              SumOfSamples(plane, height, width, top + static_cast<double>(i) * extent[0],
                           left + static_cast<double>(j) * extent[1], extent, grid) /
              divisor;
        }
      }
    }
  }
  return output.to(input.scalar_type());
}

// torchvision.ops.roi_align: rois are (batch index, x1, y1, x2, y2).
at::Tensor RoiAlign(const at::Tensor& input, const at::Tensor& rois, double scale, int64_t rows,
                    int64_t columns, int64_t ratio, bool aligned) {
  const double none = -std::numeric_limits<double>::infinity();
  return Align(input, rois, scale, rows, columns, ratio,
               {aligned ? 0.5 : 0.0, aligned ? none : 1.0, false, true});
}

// The input channel of each output of the position-sensitive forms.
at::Tensor ChannelMapping(const at::Tensor& output) {
  const at::Tensor channels =
      at::arange(output.numel() / std::max<int64_t>(output.size(0), 1), at::kInt);
  return output.size(0) == 0
             ? at::empty_like(output, at::kInt)
             : channels.view(output.sizes().slice(1)).expand(output.sizes()).contiguous();
}

std::tuple<at::Tensor, at::Tensor> PsRoiAlign(const at::Tensor& input, const at::Tensor& rois,
                                              double scale, int64_t rows, int64_t columns,
                                              int64_t ratio) {
  const double none = -std::numeric_limits<double>::infinity();
  at::Tensor output = Align(input, rois, scale, rows, columns, ratio, {0.5, none, true, false});
  return {output, ChannelMapping(output)};
}

// The pixels of bin `index` along one axis, first and past the last, within [0, limit].
std::pair<int64_t, int64_t> BinSpan(double low, double high, int64_t bins, int64_t index,
                                    int64_t extra, int64_t limit) {
  const int64_t start = std::lround(low);
  const int64_t extent = std::max<int64_t>(std::lround(high) - start + extra, 1);
  const double bin = static_cast<double>(extent) / static_cast<double>(bins);
  const auto bound = [&](double at) {
    return std::clamp<int64_t>(static_cast<int64_t>(at) + start, 0, limit);
  };
  return {bound(std::floor(static_cast<double>(index) * bin)),
          bound(std::ceil(static_cast<double>(index + 1) * bin))};
}

// torchvision.ops.ps_roi_pool: the mean of each bin in channels of its own; the last row and column
// are never read.
std::tuple<at::Tensor, at::Tensor> PsRoiPool(const at::Tensor& input, const at::Tensor& rois,
                                             double scale, int64_t rows, int64_t columns) {
  const at::Tensor x = input.to(at::kDouble).contiguous();
  const at::Tensor r = rois.to(at::kDouble).contiguous();
  const int64_t depth = x.size(1) / (rows * columns);
  at::Tensor output = at::zeros({r.size(0), depth, rows, columns}, x.options());
  const auto roi = r.accessor<double, 2>();
  for (int64_t n = 0; n < r.size(0); ++n) {
    for (int64_t i = 0; i < rows; ++i) {
      const auto [y0, y1] =
          BinSpan(roi[n][2] * scale, roi[n][4] * scale, rows, i, 0, x.size(2) - 1);
      for (int64_t j = 0; j < columns; ++j) {
        const auto [x0, x1] =
            BinSpan(roi[n][1] * scale, roi[n][3] * scale, columns, j, 0, x.size(3) - 1);
        if (y1 <= y0 || x1 <= x0) continue;
        const at::Tensor means =
            x[static_cast<int64_t>(roi[n][0])].slice(1, y0, y1).slice(2, x0, x1).mean({1, 2}).view(
                {depth, rows, columns});
        output[n].select(1, i).select(1, j).copy_(means.select(1, i).select(1, j));
      }
    }
  }
  output = output.to(input.scalar_type());
  return {output, ChannelMapping(output)};
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
    for (int64_t c = 0; c < channels; ++c) {
      for (int64_t ph = 0; ph < pooled_height; ++ph) {
        const auto [y0, y1] =
            BinSpan(roi[n][2] * scale, roi[n][4] * scale, pooled_height, ph, 1, height);
        for (int64_t pw = 0; pw < pooled_width; ++pw) {
          const auto [x0, x1] =
              BinSpan(roi[n][1] * scale, roi[n][3] * scale, pooled_width, pw, 1, width);
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

// x at fractional points (two axes of the point in front), 0 outside: [channels, points].
at::Tensor ReadPoints(const at::Tensor& planes, const at::Tensor& points) {
  const int64_t height = planes.size(1), width = planes.size(2);
  const at::Tensor flat = planes.reshape({planes.size(0), -1});
  at::Tensor sum = at::zeros({planes.size(0), points.size(1)}, planes.options());
  const at::Tensor floor = points.floor();
  for (const int dy : {0, 1}) {
    for (const int dx : {0, 1}) {
      const at::Tensor y = floor[0] + dy, x = floor[1] + dx;
      const at::Tensor inside = (y >= 0) & (y < height) & (x >= 0) & (x < width);
      const at::Tensor weight = (1 - (points[0] - y).abs()) * (1 - (points[1] - x).abs()) * inside;
      const at::Tensor index = (y * width + x).mul(inside).to(at::kLong);
      sum += flat.index_select(1, index) * weight;
    }
  }
  return sum;
}

// torchvision.ops.deform_conv2d: offsets are (height, width) for each tap of each offset group.
at::Tensor DeformConv2d(const at::Tensor& input, const at::Tensor& weight, const at::Tensor& offset,
                        const at::Tensor& mask, const at::Tensor& bias, int64_t stride_h,
                        int64_t stride_w, int64_t pad_h, int64_t pad_w, int64_t dilation_h,
                        int64_t dilation_w, int64_t groups, int64_t offset_groups, bool use_mask) {
  const at::Tensor x = input.to(at::kDouble), w = weight.to(at::kDouble);
  const int64_t batch = x.size(0), channels = x.size(1), kh = w.size(2), kw = w.size(3);
  const int64_t oh = offset.size(2), ow = offset.size(3), depth = channels / offset_groups;
  const at::Tensor offsets =
      offset.to(at::kDouble).reshape({batch, offset_groups, kh * kw, 2, oh * ow});
  const at::Tensor masks =
      use_mask ? mask.to(at::kDouble).reshape({batch, offset_groups, kh * kw, oh * ow})
               : at::Tensor();
  const at::Tensor rows =
      (at::arange(oh, x.options()) * stride_h - pad_h).view({oh, 1}).expand({oh, ow});
  const at::Tensor columns = (at::arange(ow, x.options()) * stride_w - pad_w).expand({oh, ow});
  const at::Tensor grid = at::stack({rows.reshape(-1), columns.reshape(-1)});
  at::Tensor samples = at::zeros({batch, channels, kh * kw, oh * ow}, x.options());
  for (int64_t n = 0; n < batch; ++n) {
    for (int64_t g = 0; g < offset_groups; ++g) {
      const at::Tensor planes = x[n].slice(0, g * depth, (g + 1) * depth);
      for (int64_t k = 0; k < kh * kw; ++k) {
        const at::Tensor tap =
            at::tensor({k / kw * dilation_h, k % kw * dilation_w}, x.options()).view({2, 1});
        at::Tensor read = ReadPoints(planes, grid + tap + offsets[n][g][k]);
        if (use_mask) read = read * masks[n][g][k];
        samples[n].slice(0, g * depth, (g + 1) * depth).select(1, k).copy_(read);
      }
    }
  }
  const at::Tensor grouped = samples.reshape({batch, groups, channels / groups * kh * kw, oh * ow});
  const at::Tensor y = at::matmul(w.reshape({groups, w.size(0) / groups, -1}), grouped);
  const at::Tensor sum =
      y.reshape({batch, w.size(0), oh, ow}) + bias.to(at::kDouble).view({-1, 1, 1});
  return sum.to(input.scalar_type());
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
    kernels.impl("ps_roi_align", PsRoiAlign);
    kernels.impl("ps_roi_pool", PsRoiPool);
    kernels.impl("deform_conv2d", DeformConv2d);
    return true;
  }();
  static_cast<void>(registered);
}

}  // namespace rules_onnx::script
