// Short-time Fourier transforms and their inverse.
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

// ---------------------------------------------------------------- the inverse

// Frames [B, F, n], a frame every `hop` places, added up: [B, (F − 1) · hop + n]. The frames are cut
// into parts of length `hop`, which lie side by side for all frames.
Val Overlapped(Builder& b, Val frames, int64_t n, int64_t hop) {
  const int64_t parts = (n + hop - 1) / hop;
  const Val wide = b.Pad(frames, {0, 0, 0}, {0, 0, parts * hop - n});
  const Val count = b.Size(frames, 1), batch = b.Size(frames, 0);
  Val sum;
  for (int64_t i = 0; i < parts; ++i) {
    const Val part = b.Slice(wide, 2, i * hop, (i + 1) * hop);
    const Val line = b.Reshape(part, b.Vector({batch, b.Mul(count, b.Int(hop))}));
    const Val placed = b.Pad(line, {0, i * hop}, {0, (parts - 1 - i) * hop});
    sum = sum ? b.Add(sum, placed) : placed;
  }
  const Val length = b.Add(b.Mul(b.Sub(count, b.Int(1)), b.Int(hop)), b.Int(n));
  return b.Slice(sum, 1, b.Int(0), length);
}

// The part of a signal that the program asks for, filled up with zeros behind its end.
Val Trimmed(Op& op, Val x, int64_t n_fft) {
  Builder& b = op.b;
  const int64_t start = op.Bool("center") ? n_fft / 2 : 0;
  if (!op.Has("length")) return start == 0 ? x : b.Slice(x, 1, start, -start);
  const int64_t length = op.Int("length");
  return b.Slice(x, 1, start, start + length);
}

Val Filled(Op& op, Val x) {
  Builder& b = op.b;
  if (!op.Has("length")) return x;
  const Val missing = b.Sub(op.IntVal("length"), b.Size(x, 1));
  if (missing.int_value() == 0) return x;
  return b.Pad(x, b.Vector({b.Int(0), b.Int(0), b.Int(0), missing}));
}

// [.., frequencies, frames] of pairs → [.., L]: the frames overlapped, over the overlapped squares of
// the window.
void Istft(Op& op) {
  Builder& b = op.b;
  const int64_t n_fft = op.Int("n_fft");
  const int64_t hop = op.OptInt("hop_length").value_or(n_fft / 4);
  Val pair = op.Arg("self").val;
  if (!pair || op.failed() || !op.Require(hop > 0, "hop_length must be positive")) return;
  if (!op.Require((n_fft + hop - 1) / hop <= 256, "a frame has more than 256 hops")) return;
  const bool single = pair.rank() == 3;
  if (single) pair = b.Unsqueeze(pair, {0});
  Complex x = Unpacked(b, b.Transpose(pair, {0, 2, 1, 3}));
  const bool complex = op.Bool("return_complex");
  if (!complex) x = Mirrored(x, 2, b.Int(n_fft));
  const Complex frames = FourierTransform(x, 2, /*forward=*/false);
  const double whole = static_cast<double>(n_fft);
  const double scale = op.Bool("normalized") ? std::sqrt(whole) : whole;
  const DType dtype = frames.re.val().dtype();
  const Expr window(b, Window(op, n_fft, dtype));
  const Val squares = b.Expand(b.Unsqueeze((window * window).val(), {0, 1}),
                               b.Vector({b.Int(1), b.Size(frames.re.val(), 1), b.Int(1)}));
  const Expr envelope(b, Trimmed(op, Overlapped(b, squares, n_fft, hop), n_fft));
  const auto signal = [&](Expr part) {
    const Val sum = Overlapped(b, (part / scale * window).val(), n_fft, hop);
    const Val y = Filled(op, (Expr(b, Trimmed(op, sum, n_fft)) / envelope).val());
    return single ? b.Squeeze(y, {0}) : y;
  };
  op.Return(complex ? Packed({{b, signal(frames.re)}, {b, signal(frames.im)}})
                    : signal(frames.re));
}

}  // namespace

extern const Family kStft;
const Family kStft = {"stft", {
    {"aten::stft", Stft, 11},
    {"aten::istft", Istft, 9, "length: opset 11"},
}};

}  // namespace rules_onnx::lowering
