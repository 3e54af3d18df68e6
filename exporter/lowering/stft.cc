// Short-time Fourier transforms.
#include <cmath>

#include "exporter/lowering/fft.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// The window in the middle of n_fft places; ones where the program gives none.
Val Window(Op& op, int64_t n_fft, DType dtype) {
  Builder& b = op.b;
  const int64_t length = op.OptInt("win_length").value_or(n_fft);
  const Val window = op.Has("window") ? op.Tensor("window", dtype)
                                      : b.Full(1, dtype, {length});
  const int64_t left = (n_fft - length) / 2;
  return b.Pad(window, {left}, {n_fft - length - left});
}

// [B, L] padded by n_fft / 2 on both sides.
Val Centred(Op& op, Val x, int64_t n_fft) {
  if (op.node.Find("center") == nullptr || !op.Bool("center")) return x;
  const std::string mode = op.String("pad_mode");
  const std::vector<int64_t> pads = {0, n_fft / 2};
  return op.b.Pad(x, pads, pads, mode == "replicate" ? "edge" : mode);
}

// [B, frames, n_fft], a frame every `hop` places.
Val Frames(Builder& b, Val x, int64_t n_fft, int64_t hop) {
  const Val count = b.Add(b.Div(b.Sub(b.Size(x, 1), b.Int(n_fft)), b.Int(hop)), b.Int(1));
  const Val starts = b.Mul(Iota(b, count), b.Int(hop));
  const Val places = b.Add(b.Unsqueeze(starts, {1}), b.Unsqueeze(Iota(b, b.Int(n_fft)), {0}));
  return b.Gather(x, places, 1);
}

// [.., frequencies, frames] of pairs.
void Stft(Op& op) {
  Builder& b = op.b;
  if (!op.Require(!IsComplexArgument(op, "self"), "stft of complex signals is not supported")) {
    return;
  }
  Val x = op.Tensor("self");
  const int64_t n_fft = op.Int("n_fft");
  const int64_t hop = op.OptInt("hop_length").value_or(n_fft / 4);
  if (!x || op.failed()) return;
  const bool single = x.rank() == 1;
  if (single) x = b.Unsqueeze(x, {0});
  const Val frames = Frames(b, Centred(op, x, n_fft), n_fft, hop);
  const Val weighted = b.Mul(frames, Window(op, n_fft, x.dtype()));
  Complex y = FourierTransform({{b, weighted}, {b, b.Scalar(0, x.dtype())}}, 2, true);
  const bool onesided = !op.Has("onesided") || op.Bool("onesided");
  const auto part = [&](Expr v) {
    const Val kept = onesided ? b.Slice(v.val(), 2, 0, n_fft / 2 + 1) : v.val();
    const Expr moved(b, b.Transpose(kept, {0, 2, 1}));
    return op.Bool("normalized") ? moved / std::sqrt(static_cast<double>(n_fft)) : moved;
  };
  const Val pair = Packed({part(y.re), part(y.im)});
  op.Return(single ? b.Squeeze(pair, {0}) : pair);
}

}  // namespace

extern const Family kStft;
const Family kStft = {"stft", {
    {"aten::stft", Stft, 11},
}};

}  // namespace rules_onnx::lowering
