"""Rows of detection.cc and roi.cc.

The torchvision wheel's compiled operators need the torch that it was built for, so each is written
out here as its documentation and CPU kernel define it, element by element.
"""

import math

import torch

from case import Case, T

_LIBRARY = torch.library.Library("torchvision", "FRAGMENT")


def _operator(schema, kernel, fake):
    name = schema.split("(")[0]
    if not hasattr(torch.ops.torchvision, name):
        _LIBRARY.define(schema)
    if not torch._C._dispatch_has_kernel_for_dispatch_key(f"torchvision::{name}", "CPU"):
        _LIBRARY.impl(name, kernel, "CPU")
    torch.library.register_fake(f"torchvision::{name}", fake, lib=_LIBRARY, allow_override=True)
    return getattr(torch.ops.torchvision, name)


# ---------------------------------------------------------------- nms


def _nms(dets, scores, iou_threshold):
    order = torch.sort(scores, descending=True, stable=True).indices.tolist()
    x1, y1, x2, y2 = dets.unbind(1)
    area = (x2 - x1) * (y2 - y1)
    kept = []
    for i in order:
        for j in kept:
            width = (torch.minimum(x2[i], x2[j]) - torch.maximum(x1[i], x1[j])).clamp(min=0)
            height = (torch.minimum(y2[i], y2[j]) - torch.maximum(y1[i], y1[j])).clamp(min=0)
            both = width * height
            if float(both / (area[i] + area[j] - both)) > iou_threshold:
                break
        else:
            kept.append(i)
    return torch.tensor(kept, dtype=torch.int64)


def _nms_fake(dets, scores, iou_threshold):
    return dets.new_empty([torch.library.get_ctx().new_dynamic_size()], dtype=torch.int64)


nms = _operator("nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor", _nms, _nms_fake)

# ---------------------------------------------------------------- regions


def _bilinear(plane, y, x):
    height, width = plane.shape
    if not (-1 <= y <= height and -1 <= x <= width):
        return 0.0
    y, x = max(y, 0.0), max(x, 0.0)
    y0, x0 = min(int(y), height - 1), min(int(x), width - 1)
    y1, x1 = min(y0 + 1, height - 1), min(x0 + 1, width - 1)
    fy = y - y0 if y0 < height - 1 else 0.0
    fx = x - x0 if x0 < width - 1 else 0.0
    top = float(plane[y0, x0]) * (1 - fx) + float(plane[y0, x1]) * fx
    bottom = float(plane[y1, x0]) * (1 - fx) + float(plane[y1, x1]) * fx
    return top * (1 - fy) + bottom * fy


def _align(input, rois, scale, rows, columns, ratio, shift, smallest, empty, channel):
    """`channel(c, i, j)`: what output channel c reads in bin (i, j)."""
    output = input.new_zeros(len(rois), channel[0], rows, columns)
    for r, roi in enumerate(rois.tolist()):
        left, top, right, bottom = (value * scale - shift for value in roi[1:])
        tall, wide = max(bottom - top, smallest), max(right - left, smallest)
        height, width = tall / rows, wide / columns
        ys = ratio if ratio > 0 else math.ceil(height)
        xs = ratio if ratio > 0 else math.ceil(width)
        for c in range(channel[0]):
            for i in range(rows):
                for j in range(columns):
                    plane = input[int(roi[0]), channel[1](c, i, j)]
                    total = sum(_bilinear(plane, top + (i + (a + 0.5) / ys) * height,
                                          left + (j + (b + 0.5) / xs) * width)
                                for a in range(ys) for b in range(xs))
                    output[r, c, i, j] = total / empty(ys * xs)
    return output


def _roi_align(input, rois, scale, rows, columns, ratio, aligned):
    return _align(input, rois, scale, rows, columns, ratio, 0.5 if aligned else 0.0,
                  -math.inf if aligned else 1.0, lambda count: max(count, 1),
                  (input.shape[1], lambda c, i, j: c))


def _mapping(input, rois, rows, columns):
    channels = torch.arange(input.shape[1] // (rows * columns) * rows * columns, dtype=torch.int32)
    return channels.view(1, -1, rows, columns).repeat(rois.shape[0], 1, 1, 1)


def _ps_roi_align(input, rois, scale, rows, columns, ratio):
    output = _align(input, rois, scale, rows, columns, ratio, 0.5, -math.inf, lambda count: count,
                    (input.shape[1] // (rows * columns),
                     lambda c, i, j: (c * rows + i) * columns + j))
    return output, _mapping(input, rois, rows, columns)


def _span(low, high, bins, index, extra, limit):
    def rounded(value):
        return int(math.copysign(math.floor(abs(value) + 0.5), value))

    extent = max(rounded(high) - rounded(low) + extra, 1) / bins
    begin, end = math.floor(index * extent) + rounded(low), math.ceil((index + 1) * extent) + rounded(low)
    return min(max(begin, 0), limit), min(max(end, 0), limit)


def _pool(input, rois, scale, rows, columns, extra, inside, depth, visit):
    for r, roi in enumerate(rois.tolist()):
        left, top, right, bottom = (value * scale for value in roi[1:])
        for i in range(rows):
            y0, y1 = _span(top, bottom, rows, i, extra, input.shape[2] - inside)
            for j in range(columns):
                x0, x1 = _span(left, right, columns, j, extra, input.shape[3] - inside)
                if y1 > y0 and x1 > x0:
                    for c in range(depth):
                        visit(r, c, i, j, int(roi[0]), y0, y1, x0, x1)


def _roi_pool(input, rois, scale, rows, columns):
    output = input.new_zeros(len(rois), input.shape[1], rows, columns)
    places = torch.full_like(output, -1, dtype=torch.int32)

    def visit(r, c, i, j, batch, y0, y1, x0, x1):
        window = input[batch, c, y0:y1, x0:x1]
        output[r, c, i, j] = window.max()
        place = int(window.flatten().argmax())
        places[r, c, i, j] = (y0 + place // (x1 - x0)) * input.shape[3] + x0 + place % (x1 - x0)

    _pool(input, rois, scale, rows, columns, 1, 0, input.shape[1], visit)
    return output, places


def _ps_roi_pool(input, rois, scale, rows, columns):
    depth = input.shape[1] // (rows * columns)
    output = input.new_zeros(len(rois), depth, rows, columns)

    def visit(r, c, i, j, batch, y0, y1, x0, x1):
        output[r, c, i, j] = input[batch, (c * rows + i) * columns + j, y0:y1, x0:x1].mean()

    _pool(input, rois, scale, rows, columns, 0, 1, depth, visit)
    return output, _mapping(input, rois, rows, columns)


def _pooled(input, rois, scale, rows, columns, *rest):
    return input.new_empty(rois.shape[0], input.shape[1], rows, columns)


def _with_places(*args):
    output = _pooled(*args)
    return output, output.new_empty(output.shape, dtype=torch.int32)


def _ps_pooled(input, rois, scale, rows, columns, *rest):
    shape = (rois.shape[0], input.shape[1] // (rows * columns), rows, columns)
    return input.new_empty(shape), input.new_empty(shape, dtype=torch.int32)


_SIZES = "Tensor input, Tensor rois, float spatial_scale, SymInt pooled_height, SymInt pooled_width"
roi_align = _operator(f"roi_align({_SIZES}, int sampling_ratio, bool aligned) -> Tensor",
                      _roi_align, _pooled)
roi_pool = _operator(f"roi_pool({_SIZES}) -> (Tensor, Tensor)", _roi_pool, _with_places)
ps_roi_align = _operator(f"ps_roi_align({_SIZES}, int sampling_ratio) -> (Tensor, Tensor)",
                         _ps_roi_align, _ps_pooled)
ps_roi_pool = _operator(f"ps_roi_pool({_SIZES}) -> (Tensor, Tensor)", _ps_roi_pool, _ps_pooled)

# ---------------------------------------------------------------- deform_conv2d


def _out(size, kernel, stride, pad, dilation):
    return (size + 2 * pad - dilation * (kernel - 1) - 1) // stride + 1


def _deform(input, weight, offset, mask, bias, stride_h, stride_w, pad_h, pad_w, dilation_h,
            dilation_w, groups, offset_groups, use_mask):
    def read(plane, y, x):
        total = 0.0
        for row in (math.floor(y), math.floor(y) + 1):
            for column in (math.floor(x), math.floor(x) + 1):
                if 0 <= row < plane.shape[0] and 0 <= column < plane.shape[1]:
                    total += (1 - abs(y - row)) * (1 - abs(x - column)) * float(plane[row, column])
        return total

    batch, channels = input.shape[:2]
    kernel_h, kernel_w = weight.shape[2:]
    oh, ow = offset.shape[2:]
    offsets = offset.view(batch, offset_groups, kernel_h * kernel_w, 2, oh, ow)
    output = input.new_zeros(batch, weight.shape[0], oh, ow)
    for n in range(batch):
        columns = input.new_zeros(channels, kernel_h * kernel_w, oh, ow)
        for c in range(channels):
            group = c // (channels // offset_groups)
            for k in range(kernel_h * kernel_w):
                for i in range(oh):
                    for j in range(ow):
                        dy, dx = offsets[n, group, k, :, i, j].tolist()
                        y = i * stride_h - pad_h + k // kernel_w * dilation_h + dy
                        x = j * stride_w - pad_w + k % kernel_w * dilation_w + dx
                        value = read(input[n, c], y, x)
                        if use_mask:
                            value *= float(mask.view(batch, offset_groups, -1, oh, ow)[n, group, k, i, j])
                        columns[c, k, i, j] = value
        grouped = columns.view(groups, channels // groups, -1, oh, ow)
        weights = weight.view(groups, weight.shape[0] // groups, channels // groups, -1)
        output[n] = torch.einsum("gick,gckhw->gihw", weights, grouped).reshape(-1, oh, ow)
    return output + bias.view(1, -1, 1, 1)


def _deform_fake(input, weight, offset, *rest):
    return input.new_empty(input.shape[0], weight.shape[0], offset.shape[2], offset.shape[3])


deform_conv2d = _operator(
    "deform_conv2d(Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, "
    "SymInt stride_h, SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, "
    "SymInt dilation_w, SymInt groups, SymInt offset_groups, bool use_mask) -> Tensor",
    _deform, _deform_fake)

# ---------------------------------------------------------------- rows


def _boxes(dtype):
    """The second half of the columns made into corners right of and below the first."""
    return lambda x: torch.cat([x[:, :2], x[:, :2] + x[:, 2:].abs() + 0.5], 1).to(dtype)


def _rois(x):
    return torch.cat([torch.zeros_like(x[:, :1]), x[:, :2], x[:, :2] + x[:, 2:].abs()], 1)


def _suppress(threshold, dtype=torch.float32):
    def run(boxes, scores):
        return nms(_boxes(dtype)(boxes), scores.to(dtype), threshold)
    return run


BOXES = T("f32", 9, 4, N=0)
SCORES = T("f32", 9, N=0)
MAP = T("f32", 2, 3, 8, 7, B=0)
ROIS = T("f32", 4, 4, low=-2, high=9, R=0)
GROUPED = T("f32", 2, 12, 8, 7, B=0)


def deform(stride, pad, dilation, groups, offset_groups, use_mask=True):
    def run(x, weight, offset, mask, bias):
        return deform_conv2d(x, weight, offset, mask, bias, *stride, *pad, *dilation, groups,
                             offset_groups, use_mask)
    return run


def deform_inputs(channels, out, kernel, groups, offset_groups, oh, ow, dtype="f32"):
    taps = kernel[0] * kernel[1]
    return [T(dtype, 2, channels, 6, 5, B=0), T(dtype, out, channels // groups, *kernel),
            T(dtype, 2, 2 * offset_groups * taps, oh, ow, low=-2, high=2, B=0),
            T(dtype, 2, offset_groups * taps, oh, ow, B=0), T(dtype, out)]


CLOSE = (1e-4, 1e-4)
ROWS = [
    Case("nms", _suppress(0.3), [BOXES, SCORES], since=10),
    Case("nms_all", _suppress(1.0), [BOXES, SCORES], since=10),
    Case("nms_above_one", _suppress(1.5), [BOXES, SCORES], since=10),
    Case("nms_double", _suppress(0.2, torch.float64), [BOXES, SCORES], since=10),
    Case("nms_equal_scores", lambda x: nms(_boxes(torch.float32)(x), torch.ones(x.shape[0]), 0.1), [BOXES], since=10),
    Case("nms_none", _suppress(0.5), [T("f32", 0, 4), T("f32", 0)], since=10),
    # 3/5 as float32 is above 3/5 itself: kept by a float32 threshold, dropped by PyTorch's.
    Case("nms_at_threshold", lambda x: nms(x, torch.tensor([2.0, 1.0]), 0.6),
         [torch.tensor([[0.0, 0, 5, 1], [0, 0, 3, 1]])], since=10),
    Case("nms_selects", lambda x, s: x[nms(_boxes(torch.float32)(x), s, 0.3)], [BOXES, SCORES], since=10),
    Case("roi_align", lambda x, r: roi_align(x, _rois(r), 0.5, 2, 3, 2, False), [MAP, ROIS], tol=CLOSE),
    Case("roi_align_aligned", lambda x, r: roi_align(x, _rois(r), 0.75, 2, 2, 2, True), [MAP, ROIS], tol=CLOSE),
    Case("roi_align_adaptive", lambda x, r: roi_align(x, _rois(r), 0.8, 2, 2, -1, False), [MAP, ROIS], tol=CLOSE),
    Case("roi_align_aligned_adaptive", lambda x, r: roi_align(x, _rois(r), 0.8, 2, 2, 0, True),
         [MAP, ROIS], tol=CLOSE),
    Case("roi_align_double", lambda x, r: roi_align(x, _rois(r), 1.0, 3, 2, 1, True),
         [T("f64", 1, 2, 5, 6), T("f64", 3, 4, low=-2, high=7)], tol=CLOSE),
    Case("roi_align_none", lambda x, r: roi_align(x, r, 1.0, 2, 2, -1, True), [MAP, T("f32", 0, 5)]),
    Case("roi_align_batches", lambda x: roi_align(
        x, torch.tensor([[1.0, 0, 0, 4, 5], [0, 1, 2, 6, 6]]), 1.0, 2, 2, 2, False), [MAP], tol=CLOSE),
    Case("roi_pool", lambda x, r: roi_pool(x, _rois(r), 0.5, 2, 3)[0], [MAP, ROIS]),
    Case("roi_pool_places", lambda x, r: roi_pool(x, _rois(r), 0.7, 3, 2), [MAP, ROIS]),
    Case("ps_roi_align", lambda x, r: ps_roi_align(x, _rois(r), 0.7, 2, 3, 2), [GROUPED, ROIS], tol=CLOSE),
    Case("ps_roi_align_adaptive", lambda x, r: ps_roi_align(x, _rois(r), 1.0, 2, 2, -1)[0],
         [GROUPED, T("f32", 3, 4, low=1, high=5)], tol=CLOSE),
    Case("ps_roi_pool", lambda x, r: ps_roi_pool(x, _rois(r), 0.7, 2, 3), [GROUPED, ROIS], tol=CLOSE),
    Case("ps_roi_pool_none", lambda x, r: ps_roi_pool(x, r, 0.7, 2, 3)[0], [GROUPED, T("f32", 0, 5)]),
    Case("deform_conv2d", deform((1, 1), (1, 1), (1, 1), 1, 1), deform_inputs(4, 3, (3, 3), 1, 1, 6, 5), tol=CLOSE),
    Case("deform_conv2d_groups", deform((2, 1), (0, 1), (1, 2), 2, 2),
         deform_inputs(4, 6, (3, 2), 2, 2, _out(6, 3, 2, 0, 1), _out(5, 2, 1, 1, 2)), tol=CLOSE),
    Case("deform_conv2d_offset_groups", deform((1, 1), (0, 0), (1, 1), 1, 4, False),
         deform_inputs(4, 2, (2, 2), 1, 4, 5, 4), tol=CLOSE),
    Case("roi_align_double_scale", lambda x, r: roi_align(x, _rois(r), 0.3, 3, 2, 1, True),
         [T("f64", 1, 2, 5, 6), T("f64", 3, 4, low=-2, high=17)]),
    Case("deform_conv2d_double", deform((1, 1), (1, 1), (1, 1), 1, 1),
         deform_inputs(2, 3, (3, 3), 1, 1, 6, 5, "f64"), tol=CLOSE),
]
