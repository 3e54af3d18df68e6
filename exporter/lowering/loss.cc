// Losses of elements and of pairs of vectors.
#include "exporter/lowering/loss.h"

#include <cmath>

#include "exporter/lowering/registry.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/norm.h"
#include "exporter/lowering/reduce.h"

namespace rules_onnx::lowering {

Reduction ReductionOf(Op& op) { return static_cast<Reduction>(op.Int("reduction")); }

Val Reduced(Op& op, Val losses) {
  switch (ReductionOf(op)) {
    case Reduction::kMean: return MeanOf(op.b, losses, {}, /*keepdims=*/false);
    case Reduction::kSum: return op.b.Reduce("ReduceSum", losses, {}, /*keepdims=*/false);
    default: return losses;
  }
}

Val Positive(Builder& b, Val x) { return b.Max(x, b.Scalar(0, x.dtype())); }

Val LastAxisNorm(Builder& b, Val x, double p, bool keepdims) {
  if (!x || b.failed()) return {};
  return VectorNorm(b, x, p, {x.rank() - 1}, keepdims);
}

namespace {

struct Pair {
  Val x, y;
};

Pair Operands(Op& op) {
  const DType dtype = op.OutDType();
  return {op.Tensor("self", dtype), op.Tensor("target", dtype)};
}

// x − y in the operands' own type, where PyTorch takes it: unsigned integers wrap round.
Val DifferenceOf(Op& op, absl::string_view x, absl::string_view y) {
  const DType dtype = op.ResultType({x, y});
  return op.b.Sub(op.Tensor(x, dtype), op.Tensor(y, dtype));
}

Val Weighted(Op& op, Val losses) {
  return op.Has("weight") ? op.b.Mul(losses, op.Tensor("weight", losses.dtype())) : losses;
}

// ---------------------------------------------------------------- distances of elements

void MseLoss(Op& op) {
  const auto [x, y] = Operands(op);
  const Val distance = op.b.Sub(x, y);
  op.Return(Reduced(op, op.b.Mul(distance, distance)));
}

void L1Loss(Op& op) {
  const auto [x, y] = Operands(op);
  op.Return(Reduced(op, op.b.Unary("Abs", op.b.Sub(x, y))));
}

// d² / (2 · beta) where |d| < beta, |d| − beta / 2 elsewhere.
void SmoothL1Loss(Op& op) {
  Builder& b = op.b;
  const double beta = op.Float("beta");
  if (beta == 0) return L1Loss(op);
  const auto [x, y] = Operands(op);
  const DType dtype = x.dtype();
  const Val distance = b.Unary("Abs", b.Sub(x, y));
  const Val square = b.Mul(b.Mul(distance, distance), b.Scalar(0.5 / beta, dtype));
  const Val line = b.Sub(distance, b.Scalar(beta / 2, dtype));
  op.Return(Reduced(op, b.Where(b.Less(distance, b.Scalar(beta, dtype)), square, line)));
}

// d² / 2 where |d| ≤ delta, delta · (|d| − delta / 2) elsewhere.
void HuberLoss(Op& op) {
  Builder& b = op.b;
  const auto [x, y] = Operands(op);
  const DType dtype = x.dtype();
  const double delta = op.Float("delta");
  const Val distance = b.Unary("Abs", b.Sub(x, y));
  const Val square = b.Mul(b.Mul(distance, distance), b.Scalar(0.5, dtype));
  const Val line = b.Mul(b.Sub(distance, b.Scalar(delta / 2, dtype)), b.Scalar(delta, dtype));
  op.Return(Reduced(op, b.Where(b.LessOrEqual(distance, b.Scalar(delta, dtype)), square, line)));
}

// ---------------------------------------------------------------- probabilities

// Logarithms are cut at −100, as PyTorch does.
void BinaryCrossEntropy(Op& op) {
  Builder& b = op.b;
  const auto [x, y] = Operands(op);
  const Val one = b.Scalar(1, x.dtype()), lowest = b.Scalar(-100, x.dtype());
  const Val log_x = b.Max(b.Unary("Log", x), lowest);
  const Val log_rest = b.Max(Log1p(b, b.Unary("Neg", x)), lowest);
  const Val losses = b.Sub(b.Mul(b.Sub(y, one), log_rest), b.Mul(y, log_x));
  op.Return(Reduced(op, Weighted(op, losses)));
}

// (1 − y) · x + softplus(−x), the second term times 1 + (pos_weight − 1) · y.
void BinaryCrossEntropyWithLogits(Op& op) {
  Builder& b = op.b;
  const auto [x, y] = Operands(op);
  const Val one = b.Scalar(1, x.dtype());
  Val soft = b.Unary("Softplus", b.Unary("Neg", x));
  if (op.Has("pos_weight")) {
    const Val extra = b.Sub(op.Tensor("pos_weight", x.dtype()), one);
    soft = b.Mul(soft, b.Add(one, b.Mul(extra, y)));
  }
  op.Return(Reduced(op, Weighted(op, b.Add(b.Mul(b.Sub(one, y), x), soft))));
}

// target · (log(target) − x), 0 where target is 0.
void KlDiv(Op& op) {
  Builder& b = op.b;
  const auto [x, y] = Operands(op);
  if (op.Bool("log_target")) {
    return op.Return(Reduced(op, b.Mul(b.Unary("Exp", y), b.Sub(y, x))));
  }
  const Val zero = b.Scalar(0, x.dtype());
  const Val entropy = b.Where(b.Equal(y, zero), zero, b.Mul(y, b.Unary("Log", y)));
  op.Return(Reduced(op, b.Sub(entropy, b.Mul(y, x))));
}

void PoissonNllLoss(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val x = op.Tensor("input", dtype), y = op.Tensor("target", dtype);
  const auto constant = [&](double value) { return b.Scalar(value, dtype); };
  Val losses;
  if (op.Bool("log_input")) {
    losses = b.Sub(b.Unary("Exp", x), b.Mul(y, x));
  } else {
    losses = b.Sub(x, b.Mul(y, b.Unary("Log", b.Add(x, op.Scalar("eps", dtype)))));
  }
  if (op.Bool("full")) {  // Stirling's approximation of log(y!)
    const Val half_log = b.Mul(constant(0.5), b.Unary("Log", b.Mul(constant(2 * M_PI), y)));
    const Val stirling = b.Add(b.Sub(b.Mul(y, b.Unary("Log", y)), y), half_log);
    const Val small = b.LessOrEqual(y, constant(1));
    losses = b.Add(losses, b.Where(small, constant(0), stirling));
  }
  op.Return(Reduced(op, losses));
}

// ---------------------------------------------------------------- labels of ±1

// log(1 + exp(−y · x)), infinite where the power is, as in PyTorch.
void SoftMarginLoss(Op& op) {
  Builder& b = op.b;
  const auto [x, y] = Operands(op);
  op.Return(Reduced(op, Log1p(b, b.Unary("Exp", b.Unary("Neg", b.Mul(y, x))))));
}

void HingeEmbeddingLoss(Op& op) {
  Builder& b = op.b;
  const auto [x, y] = Operands(op);
  const Val zero = b.Scalar(0, x.dtype());
  const Val margin = Positive(b, b.Sub(op.Scalar("margin", x.dtype()), x));
  const Val apart = b.Where(b.Equal(y, b.Scalar(1, y.dtype())), zero, margin);
  const Val together = b.Where(b.Equal(y, b.Scalar(-1, y.dtype())), zero, x);
  op.Return(Reduced(op, b.Add(apart, together)));
}

void MarginRankingLoss(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType(), own = op.ResultType({"input1", "input2", "target"});
  const Val sign = b.Cast(b.Unary("Neg", op.Tensor("target")), own);
  const Val distance = b.Mul(sign, b.Cast(DifferenceOf(op, "input1", "input2"), own));
  const Val margin = b.Add(b.Cast(distance, dtype), op.Scalar("margin", dtype));
  op.Return(Reduced(op, Positive(b, margin)));
}

// Products are taken in the type of their operands, those of integers summed in int64. Sizes are in
// PyTorch's default type then, which all of the loss is in where both operands are integers.
void CosineEmbeddingLoss(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType(), common = op.ResultType({"input1", "input2"});
  const Val x = op.Tensor("input1"), y = op.Tensor("input2");
  const Val target = op.Tensor("target", dtype);
  const DType of_integers = ir::IsFloat(common) ? DType::kFloat32 : dtype;
  const auto dot = [&](Val v, Val w) {
    const Val product = b.Mul(v, w);
    const bool exact = !ir::IsFloat(product.dtype());
    const Val terms = exact ? b.Cast(product, DType::kInt64) : product;
    const Val sum = b.Reduce("ReduceSum", terms, {target.rank()}, /*keepdims=*/false);
    return exact ? b.Cast(sum, of_integers) : sum;
  };
  const auto size = [&](Val v) {
    const Val square = dot(v, v);
    return b.Cast(b.Add(square, b.Scalar(1e-12, square.dtype())), dtype);
  };
  const Val one = b.Scalar(1, dtype), zero = b.Scalar(0, dtype);
  const Val together = b.Cast(dot(b.Cast(x, common), b.Cast(y, common)), dtype);
  const Val cosine = b.Div(together, b.Unary("Sqrt", b.Mul(size(x), size(y))));
  const Val apart = Positive(b, b.Sub(cosine, op.Scalar("margin", dtype)));
  const Val losses = b.Add(b.Where(b.Equal(target, one), b.Sub(one, cosine), zero),
                           b.Where(b.Equal(target, b.Scalar(-1, dtype)), apart, zero));
  op.Return(Reduced(op, losses));
}

// ---------------------------------------------------------------- pairs of vectors

Val PairDistance(Op& op, absl::string_view x, absl::string_view y, bool keepdims) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val difference =
      b.Add(b.Cast(DifferenceOf(op, x, y), dtype), op.Scalar("eps", dtype));
  return LastAxisNorm(b, difference, op.Float("p"), keepdims);
}

void PairwiseDistance(Op& op) { op.Return(PairDistance(op, "x1", "x2", op.Bool("keepdim"))); }

void TripletMarginLoss(Op& op) {
  Builder& b = op.b;
  const Val near = PairDistance(op, "anchor", "positive", /*keepdims=*/false);
  Val far = PairDistance(op, "anchor", "negative", /*keepdims=*/false);
  if (op.Bool("swap")) {
    far = b.Min(far, PairDistance(op, "positive", "negative", /*keepdims=*/false));
  }
  const Val margin = op.Scalar("margin", op.OutDType());
  op.Return(Reduced(op, Positive(b, b.Sub(b.Add(margin, near), far))));
}

}  // namespace

extern const Family kLoss;
const Family kLoss = {"loss", {
    {"aten::mse_loss", MseLoss},
    {"aten::l1_loss", L1Loss},
    {"aten::smooth_l1_loss", SmoothL1Loss},
    {"aten::huber_loss", HuberLoss},
    {"aten::binary_cross_entropy", BinaryCrossEntropy},
    {"aten::binary_cross_entropy_with_logits", BinaryCrossEntropyWithLogits},
    {"aten::kl_div", KlDiv},
    {"aten::poisson_nll_loss", PoissonNllLoss},
    {"aten::soft_margin_loss", SoftMarginLoss},
    {"aten::hinge_embedding_loss", HingeEmbeddingLoss},
    {"aten::margin_ranking_loss", MarginRankingLoss},
    {"aten::cosine_embedding_loss", CosineEmbeddingLoss},
    {"aten::pairwise_distance", PairwiseDistance},
    {"aten::triplet_margin_loss", TripletMarginLoss},
}};

}  // namespace rules_onnx::lowering
