// Connectionist temporal classification: the probability of a target over all its alignments.
#include "exporter/lowering/expr.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/loss.h"
#include "exporter/lowering/norm.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

struct Batch {
  Val log_probs;                      // [T, N, C]
  Val input_lengths, target_lengths;  // [N] int64
  Val labels;    // [N, 2S + 1]: the targets, a blank before each and after the last
  Val can_skip;  // [N, 2S + 1] bool: a label that differs from the one before it
};

// A list of integers, or a tensor of them.
Val Lengths(Op& op, absl::string_view name) {
  const Item item = op.Arg(name);
  if (item.is_val()) return op.b.Flatten1D(op.Tensor(name, DType::kInt64));
  return op.b.Vector(op.IntVals(name));
}

// [N, S]: rows as they are, or one after the other in one vector. Blank behind a target's end.
Val Targets(Op& op, Val lengths, int64_t blank) {
  Builder& b = op.b;
  const Val targets = op.Tensor("targets", DType::kInt64);
  const Val wide = b.Unsqueeze(lengths, {1});
  if (targets.rank() == 2) {
    const Val places = b.Unsqueeze(Iota(b, b.Size(targets, 1)), {0});
    return b.Where(b.Less(places, wide), targets, b.Int(blank));
  }
  const Val longest = b.Reduce("ReduceMax", lengths, {}, /*keepdims=*/false);
  const Val places = b.Unsqueeze(Iota(b, longest), {0});
  const Val starts = b.Unsqueeze(b.CumSum(lengths, 0, /*exclusive=*/true), {1});
  const Val inside = b.Less(places, wide);
  const Val index = b.Where(inside, b.Add(starts, places), b.Int(0));
  return b.Where(inside, b.Gather(targets, index, 0), b.Int(blank));
}

// Each label between blanks.
Val BetweenBlanks(Builder& b, Val targets, int64_t blank) {
  const Val blanks = b.Expand(b.Int(blank), b.ShapeOf(targets));
  const Val pairs = b.Concat({b.Unsqueeze(blanks, {2}), b.Unsqueeze(targets, {2})}, 2);
  const Val count = b.Size(targets, 0);
  const Val width = b.Mul(b.Size(targets, 1), b.Int(2));
  const Val joined = b.Reshape(pairs, b.Vector({count, width}));
  const Val last = b.Expand(b.Int(blank), b.Vector({count, b.Int(1)}));
  return b.Concat({joined, last}, 1);
}

Batch ReadBatch(Op& op) {
  Builder& b = op.b;
  const int64_t blank = op.Int("blank");
  Batch batch;
  batch.log_probs = op.Tensor("log_probs");
  if (batch.log_probs.rank() == 2) batch.log_probs = b.Unsqueeze(batch.log_probs, {1});
  batch.input_lengths = Lengths(op, "input_lengths");
  batch.target_lengths = Lengths(op, "target_lengths");
  if (!batch.log_probs || !batch.input_lengths || !batch.target_lengths) return batch;
  batch.labels = BetweenBlanks(b, Targets(op, batch.target_lengths, blank), blank);
  const Val before = b.Slice(batch.labels, 1, 0, -2);
  const Val differs = b.Not(b.Equal(b.Slice(batch.labels, 1, 2, kEnd), before));
  const Val none = b.Expand(b.ScalarInt(0, DType::kBool), b.Vector({b.Size(before, 0), b.Int(2)}));
  batch.can_skip = b.Slice(b.Concat({none, differs}, 1), 1, b.Int(0), b.Size(batch.labels, 1));
  return batch;
}

// x[:, s − by], with log 0 before the start.
Expr Shifted(Builder& b, Val x, int64_t by) {
  const Val wide = b.Pad(x, {0, by}, {0, 0}, "constant", Lowest(b, x.dtype()));
  return {b, b.Slice(wide, 1, b.Int(0), b.Size(x, 1))};
}

// log Σ exp, of numbers that may all be log 0.
Expr LogSum(const std::vector<Expr>& terms) {
  Builder& b = terms.front().b();
  Val largest = terms.front().val();
  for (const Expr& term : terms) largest = b.Max(largest, term.val());
  const Expr peak(b, largest);
  const Expr shift = Select(peak == Expr(b, Lowest(b, largest.dtype())), 0.0, peak);
  Expr sum = Exp(terms[0] - shift);
  for (size_t i = 1; i < terms.size(); ++i) sum = sum + Exp(terms[i] - shift);
  return Log(sum) + shift;
}

// log p of all alignments of the first t inputs that end at a label, [N, 2S + 1], after each
// sample's last input. Before the first one: at the first blank's place.
Val Forward(Builder& b, const Batch& batch) {
  const DType dtype = batch.log_probs.dtype();
  const Val places = b.Unsqueeze(Iota(b, b.Size(batch.labels, 1)), {0});
  const Val start = b.Where(b.Equal(places, b.Int(0)), b.Scalar(0, dtype), Lowest(b, dtype));
  const Val first = b.Expand(start, b.ShapeOf(batch.labels));
  const Val lengths = b.Unsqueeze(batch.input_lengths, {1});
  return Repeat(b, b.Size(batch.log_probs, 0), {}, {first}, [&](Val t, const Vals& carried) {
    const Val now = GatherAlong(b, b.Gather(batch.log_probs, t, 0), 1, batch.labels);
    const Expr stays(b, carried[0]);
    const Expr moves = Shifted(b, carried[0], 1);
    const Expr skips = Select(batch.can_skip, Shifted(b, carried[0], 2), Expr(b, Lowest(b, dtype)));
    const Expr next = LogSum({stays, moves, skips}) + Expr(b, now);
    return LoopStep{{b.Where(b.Less(t, lengths), next.val(), carried[0])}, {}};
  })[0];
}

// [N]: −log p of the targets, which end at their last label or the blank behind it.
Val NegativeLogLikelihood(Builder& b, const Batch& batch) {
  if (!batch.labels) return {};
  const Val alpha = Forward(b, batch);
  const Val end = b.Unsqueeze(b.Mul(batch.target_lengths, b.Int(2)), {1});
  const Val before = b.Sub(end, b.Int(1));
  const auto at = [&](Val index) { return b.Squeeze(GatherAlong(b, alpha, 1, index), {1}); };
  const Val is_empty = b.Equal(batch.target_lengths, b.Int(0));
  const Expr last(b, at(end));
  const Expr none(b, Lowest(b, alpha.dtype()));
  const Expr label = Select(is_empty, none, Expr(b, at(b.Max(before, b.Int(0)))));
  return (-LogSum({last, label})).val();
}

// The mean is over the samples' losses, each divided by the length of its target.
void CtcLoss(Op& op) {
  Builder& b = op.b;
  const Batch batch = ReadBatch(op);
  Val losses = NegativeLogLikelihood(b, batch);
  if (!losses) return;
  if (op.Bool("zero_infinity")) {
    const Expr infinity(b, Highest(b, losses.dtype()));
    losses = Select(Expr(b, losses) == infinity, 0.0, Expr(b, losses)).val();
  }
  if (ReductionOf(op) == Reduction::kMean) {
    const Val lengths = b.Cast(b.Max(batch.target_lengths, b.Int(1)), losses.dtype());
    return op.Return(MeanOf(b, b.Div(losses, lengths), {}, /*keepdims=*/false));
  }
  const bool single = op.Tensor("log_probs").rank() == 2;
  const bool keeps = ReductionOf(op) == Reduction::kNone;
  op.Return(keeps && single ? b.Squeeze(losses, {0}) : Reduced(op, losses));
}

// The second result is read by gradients only, and so is zero_infinity.
void CtcLossForward(Op& op) {
  std::vector<Item> results(op.num_outputs());
  results[0] = NegativeLogLikelihood(op.b, ReadBatch(op));
  op.Return(std::move(results));
}

}  // namespace

extern const Family kCtc;
const Family kCtc = {"ctc",
                     {
                         {"aten::ctc_loss", CtcLoss},
                         {"aten::_ctc_loss", CtcLossForward},
                     }};

}  // namespace rules_onnx::lowering
