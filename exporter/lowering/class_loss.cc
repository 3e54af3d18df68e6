// Losses of class scores.
#include <string>
#include <utility>

#include "exporter/lowering/call.h"
#include "exporter/lowering/linear.h"
#include "exporter/lowering/loss.h"
#include "exporter/lowering/norm.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// Scores [N, C, …] or [C]; targets are class numbers, of the same shape without C.
int ClassAxis(Val scores) { return scores.rank() == 1 ? 0 : 1; }

// [C] → [C, 1, …] along the class axis of the scores.
Val AlongClasses(Builder& b, Val weight, Val scores) {
  return AlongAxis(b, weight, ClassAxis(scores), scores.rank());
}

// scores[n, target[n, …], …]
Val ScoreOf(Builder& b, Val scores, Val target) {
  const int axis = ClassAxis(scores);
  return b.Squeeze(GatherAlong(b, scores, axis, b.Unsqueeze(target, {axis})), {axis});
}

struct Targets {
  Val index;    // ignored ones are class 0
  Val ignored;  // bool
  Val weight;   // of the class, 0 where ignored
};

Targets ReadTargets(Op& op, DType dtype) {
  Builder& b = op.b;
  const Val target = op.Tensor("target", DType::kInt64);
  const Val ignored = b.Equal(target, op.IntVal("ignore_index"));
  const Val index = b.Where(ignored, b.Int(0), target);
  const Val weight = op.Has("weight") ? b.Gather(op.Tensor("weight", dtype), index, 0)
                                      : b.Scalar(1, dtype);
  return {index, ignored, b.Where(ignored, b.Scalar(0, dtype), weight)};
}

Val Sum(Builder& b, Val x) { return b.Reduce("ReduceSum", x, {}, /*keepdims=*/false); }

// The mean is over the weights of the targets.
Val ReducedBy(Op& op, Val losses, Val weight) {
  if (ReductionOf(op) != Reduction::kMean) return Reduced(op, losses);
  return op.b.Div(Sum(op.b, losses), Sum(op.b, weight));
}

Val NegativeLogLikelihood(Op& op, Val log_probabilities, const Targets& targets) {
  Builder& b = op.b;
  const Val score = ScoreOf(b, log_probabilities, targets.index);
  const Val losses = b.Mul(b.Unary("Neg", score), targets.weight);
  return b.Where(targets.ignored, b.Scalar(0, score.dtype()), losses);
}

void NllLoss(Op& op) {
  const Val x = op.Tensor("self");
  const Targets targets = ReadTargets(op, x.dtype());
  op.Return(ReducedBy(op, NegativeLogLikelihood(op, x, targets), targets.weight));
}

// The second result, the total weight, is 0 without reduction.
void NllLossForward(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const Targets targets = ReadTargets(op, x.dtype());
  const Val losses = ReducedBy(op, NegativeLogLikelihood(op, x, targets), targets.weight);
  const bool none = ReductionOf(op) == Reduction::kNone && x.rank() > 1;
  op.Return(Vals{losses, none ? b.Scalar(0, x.dtype()) : Sum(b, targets.weight)});
}

// ---------------------------------------------------------------- cross entropy

Val NumClasses(Builder& b, Val scores) {
  return b.Cast(b.Size(scores, ClassAxis(scores)), scores.dtype());
}

// Targets are a probability for each class.
Val WithProbabilities(Op& op, Val log_probabilities) {
  Builder& b = op.b;
  const DType dtype = log_probabilities.dtype();
  const double smoothing = op.Float("label_smoothing");
  Val target = op.Tensor("target", dtype);
  if (smoothing > 0) {
    const Val share = b.Div(b.Scalar(smoothing, dtype), NumClasses(b, log_probabilities));
    target = b.Add(b.Mul(target, b.Scalar(1 - smoothing, dtype)), share);
  }
  Val products = b.Mul(log_probabilities, target);
  if (op.Has("weight")) {
    products = b.Mul(products, AlongClasses(b, op.Tensor("weight", dtype), log_probabilities));
  }
  const Val losses = b.Unary("Neg", b.Reduce("ReduceSum", products,
                                             {ClassAxis(log_probabilities)}, false));
  return Reduced(op, losses);
}

// The mean over all classes that label smoothing mixes in.
Val SmoothLoss(Op& op, Val log_probabilities, const Targets& targets) {
  Builder& b = op.b;
  Val scores = log_probabilities;
  if (op.Has("weight")) {
    scores = b.Mul(scores, AlongClasses(b, op.Tensor("weight", scores.dtype()), scores));
  }
  const Val sums = b.Reduce("ReduceSum", scores, {ClassAxis(scores)}, /*keepdims=*/false);
  return b.Where(targets.ignored, b.Scalar(0, sums.dtype()), b.Unary("Neg", sums));
}

void CrossEntropyLoss(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!x) return;
  const Val log_probabilities = b.LogSoftmax(x, ClassAxis(x));
  if (ir::IsFloat(op.Tensor("target").dtype())) {
    return op.Return(WithProbabilities(op, log_probabilities));
  }
  const DType dtype = x.dtype();
  const Targets targets = ReadTargets(op, dtype);
  const double smoothing = op.Float("label_smoothing");
  const Val likelihood = ReducedBy(op, NegativeLogLikelihood(op, log_probabilities, targets),
                                   targets.weight);
  if (smoothing == 0) return op.Return(likelihood);
  const Val smooth = ReducedBy(op, SmoothLoss(op, log_probabilities, targets), targets.weight);
  const Val share = b.Div(b.Scalar(smoothing, dtype), NumClasses(b, x));
  op.Return(b.Add(b.Mul(likelihood, b.Scalar(1 - smoothing, dtype)), b.Mul(smooth, share)));
}

// The loss of the scores input · linear_weightᵀ + linear_bias, which PyTorch computes in chunks
// (torch.nn.functional.linear_cross_entropy). Beside it stand gradients, which only training reads.
void LinearCrossEntropy(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("input");
  if (!x) return;
  const DType dtype = Wide(x.dtype());
  const auto operand = [&](const char* name) {
    return op.Has(name) ? op.Tensor(name, dtype) : Val();
  };
  const Val scores =
      Linear(b, b.Cast(x, dtype), operand("linear_weight"), operand("linear_bias"));
  const bool is_reduced = op.node.Find("reduction") != nullptr;
  const std::string reduction = is_reduced ? op.String("reduction") : "none";
  const int64_t code = reduction == "mean" ? 1 : reduction == "sum" ? 2 : 0;
  const double smoothing = is_reduced ? op.Float("label_smoothing") : 0;
  const Item loss = Call(op, "aten::cross_entropy_loss",
                         {{"self", scores},
                          {"target", op.Tensor("target")},
                          {"weight", operand("weight")},
                          {"reduction", ir::Arg(code)},
                          {"ignore_index", ir::Arg(op.Int("ignore_index"))},
                          {"label_smoothing", ir::Arg(smoothing)}},
                         {ir::Type::Tensor(dtype, op.OutShape())})[0];
  std::vector<Item> results(op.num_outputs());
  results[0] = b.Cast(loss.val, x.dtype());
  op.Return(std::move(results));
}

// ---------------------------------------------------------------- margins between classes

// Scores as [N, C] and targets as [N] or [N, C].
struct Batch {
  Val x, target;
  bool single;  // no batch axis in the program
};

Batch ReadBatch(Op& op, int target_rank) {
  Builder& b = op.b;
  Batch batch{op.Tensor("self"), op.Tensor("target", DType::kInt64), false};
  if (!batch.x || !batch.target) return batch;
  if (batch.x.rank() == 0) batch.x = b.Unsqueeze(batch.x, {0});
  batch.single = batch.x.rank() == 1;
  if (batch.single) batch.x = b.Unsqueeze(batch.x, {0});
  while (batch.target.rank() < target_rank) batch.target = b.Unsqueeze(batch.target, {0});
  return batch;
}

Val BatchLoss(Op& op, const Batch& batch, Val losses) {
  const bool scalar = op.OutShape() && op.OutShape()->empty();
  if (ReductionOf(op) == Reduction::kNone && batch.single && scalar) {
    return op.b.Squeeze(losses, {0});
  }
  return Reduced(op, losses);
}

// Σ over other classes of max(0, margin − x[target] + x[c])^p · weight[target], over C.
void MultiMarginLoss(Op& op) {
  Builder& b = op.b;
  const Batch batch = ReadBatch(op, 1);
  if (!batch.x || !batch.target) return;
  const DType dtype = batch.x.dtype();
  const Val index = b.Unsqueeze(batch.target, {1});
  const Val own = GatherAlong(b, batch.x, 1, index);
  Val loss = Positive(b, b.Add(b.Sub(op.Scalar("margin", dtype), own), batch.x));
  if (op.Float("p") == 2) loss = b.Mul(loss, loss);
  if (op.Has("weight")) {
    loss = b.Mul(loss, b.Gather(op.Tensor("weight", dtype), index, 0));
  }
  const Val is_own = b.Equal(IotaLike(b, batch.x, 1), index);
  loss = b.Where(is_own, b.Scalar(0, dtype), loss);
  const Val losses = b.Div(b.Reduce("ReduceSum", loss, {1}, /*keepdims=*/false),
                           NumClasses(b, batch.x));
  op.Return(BatchLoss(op, batch, losses));
}

struct Multilabel {
  Val losses;     // [N]
  Val is_target;  // [N, C] bool
};

// Targets are class numbers up to the first −1: Σ over targets t and other classes c of
// max(0, 1 − x[t] + x[c]), over C.
Multilabel MultilabelMargin(Op& op, const Batch& batch) {
  Builder& b = op.b;
  const DType dtype = batch.x.dtype();
  const Val one = b.Scalar(1, dtype), zero = b.Scalar(0, dtype);
  const Val ends = b.CumSum(b.Cast(b.Less(batch.target, b.Int(0)), DType::kInt64), 1);
  const Val valid = b.Equal(ends, b.Int(0));
  const Val index = b.Where(valid, batch.target, b.Int(0));
  const Val classes = AlongAxis(b, Iota(b, b.Size(batch.x, 1)), 2, 3);
  const Val hits = b.And(b.Unsqueeze(valid, {2}), b.Equal(b.Unsqueeze(index, {2}), classes));
  const Val is_target = b.Greater(
      b.Reduce("ReduceSum", b.Cast(hits, DType::kInt32), {1}, /*keepdims=*/false),
      b.ScalarInt(0, DType::kInt32));
  const Val own = b.Unsqueeze(GatherAlong(b, batch.x, 1, index), {2});
  const Val margins = Positive(b, b.Add(b.Sub(one, own), b.Unsqueeze(batch.x, {1})));
  const Val counts = b.And(b.Unsqueeze(valid, {2}), b.Not(b.Unsqueeze(is_target, {1})));
  const Val kept = b.Where(counts, margins, zero);
  const Val sums = b.Reduce("ReduceSum", kept, {1, 2}, /*keepdims=*/false);
  return {b.Div(sums, NumClasses(b, batch.x)), is_target};
}

void MultilabelMarginLoss(Op& op) {
  const Batch batch = ReadBatch(op, 2);
  if (!batch.x || !batch.target) return;
  op.Return(BatchLoss(op, batch, MultilabelMargin(op, batch).losses));
}

void MultilabelMarginLossForward(Op& op) {
  const Batch batch = ReadBatch(op, 2);
  if (!batch.x || !batch.target) return;
  const Multilabel result = MultilabelMargin(op, batch);
  const Val is_target = ReshapeLike(op.b, result.is_target, op.Tensor("target"));
  op.Return(Vals{BatchLoss(op, batch, result.losses),
                 op.b.Cast(is_target, op.OutDType(1))});
}

}  // namespace

extern const Family kClassLoss;
const Family kClassLoss = {"class_loss", {
    {"aten::nll_loss", NllLoss},
    {"aten::nll_loss2d", NllLoss},
    {"aten::nll_loss_nd", NllLoss},
    {"aten::nll_loss_forward", NllLossForward},
    {"aten::nll_loss2d_forward", NllLossForward},
    {"aten::cross_entropy_loss", CrossEntropyLoss},
    {"torch_nn::_linear_cross_entropy_batch_chunked", LinearCrossEntropy},
    {"torch_nn::_linear_cross_entropy_batch_chunked_no_reduction", LinearCrossEntropy},
    {"aten::multi_margin_loss", MultiMarginLoss},
    {"aten::multilabel_margin_loss", MultilabelMarginLoss, 11},
    {"aten::multilabel_margin_loss_forward", MultilabelMarginLossForward, 11},
}};

}  // namespace rules_onnx::lowering
