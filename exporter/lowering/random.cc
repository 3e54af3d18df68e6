// Random numbers, by ONNX's generators: distributed as PyTorch's, other numbers. No seed is
// written, as PyTorch's is no part of a program; who wants the same numbers in each run seeds the
// runtime (onnxruntime.set_seed).
#include <cmath>
#include <limits>
#include <utility>

#include "exporter/lowering/expr.h"
#include "exporter/lowering/random.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// The dtype that a generator draws in.
DType Drawn(DType dtype) { return ir::IsFloat(dtype) ? dtype : DType::kFloat32; }

Val Draw(Builder& b, const char* generator, Val shape, DType dtype, Attrs attrs = {}) {
  if (!shape || b.failed()) return {};
  const DType drawn = dtype == DType::kBFloat16 ? DType::kFloat32 : dtype;
  const Val like = b.ConstantOfShape(shape, 0, drawn);
  const builder::OutputType type{drawn, like ? like.get()->type.shape : std::nullopt};
  attrs.emplace_back("dtype", drawn);
  return b.Cast(b.Op(generator, {like}, std::move(attrs), type), dtype);
}

}  // namespace

Val Normal(Builder& b, Val shape, DType dtype) { return Draw(b, "RandomNormalLike", shape, dtype); }

namespace {

// The shape of the result: `size`, or that of self.
Val ResultShape(Op& op) {
  if (op.node.Find("size") != nullptr) return SizeVector(op, "size", op.OutShape());
  return op.b.ShapeOf(op.Tensor("self"));
}

void Rand(Op& op) { op.Return(Uniform(op.b, ResultShape(op), op.OutDType())); }
void Randn(Op& op) { op.Return(Normal(op.b, ResultShape(op), op.OutDType())); }

// Whole numbers in [low, high), drawn in float64.
Val Whole(Op& op, Val shape, Val low, Val high) {
  Builder& b = op.b;
  const Expr first(b, b.Cast(low, DType::kFloat64)), end(b, b.Cast(high, DType::kFloat64));
  const Expr share(b, Uniform(b, shape, DType::kFloat64));
  const Expr drawn = first + Floor(share * (end - first));
  return b.Cast(b.Min(drawn.val(), (end - 1).val()), op.OutDType());
}

void Randint(Op& op) {
  const Val low = op.node.Find("low") != nullptr ? op.IntVal("low") : op.b.Int(0);
  op.Return(Whole(op, ResultShape(op), low, op.IntVal("high")));
}

// The order of random numbers.
void Randperm(Op& op) {
  Builder& b = op.b;
  const Val n = op.IntVal("n");
  const Val keys = Uniform(b, b.Vector({n}), DType::kFloat32);
  op.Return(b.Cast(b.TopK(keys, n, 0, /*largest=*/true)[1], op.OutDType()));
}

void UniformOp(Op& op) {
  Builder& b = op.b;
  const DType dtype = Drawn(op.OutDType());
  const Val low = op.Scalar("from", dtype), high = op.Scalar("to", dtype);
  const Val share = Uniform(b, ResultShape(op), dtype);
  op.Return(b.Add(low, b.Mul(share, b.Sub(high, low))));
}

// mean and std are tensors or numbers.
void NormalOp(Op& op) {
  Builder& b = op.b;
  const DType dtype = Drawn(op.OutDType());
  const Val mean = op.Tensor("mean", dtype), deviation = op.Tensor("std", dtype);
  const bool own_shape = op.node.Find("size") != nullptr || op.node.Find("self") != nullptr;
  const Val shape = own_shape ? ResultShape(op) : b.ShapeOf(b.Add(mean, deviation));
  op.Return(b.Add(mean, b.Mul(Normal(b, shape, dtype), deviation)));
}

// True with probability p.
void Bernoulli(Op& op) {
  Builder& b = op.b;
  const Val self = op.Tensor("self");
  const DType dtype = DType::kFloat32;
  const Val p = op.node.Find("p") != nullptr ? op.Tensor("p", dtype) : b.Cast(self, dtype);
  op.Return(b.Cast(b.Less(Uniform(b, b.ShapeOf(self), dtype), p), op.OutDType()));
}

// −log(1 − u) / lambd
void Exponential(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Expr share(b, Uniform(b, ResultShape(op), dtype));
  op.Return((-Log(1 - share) / Expr(b, op.Scalar("lambd", dtype))).val());
}

// median + sigma · tan(π · (u − 1/2))
void Cauchy(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Expr share(b, Uniform(b, ResultShape(op), dtype));
  const Expr angle = (share - 0.5) * std::acos(-1.0);
  op.Return((Expr(b, op.Scalar("median", dtype)) +
             Expr(b, op.Scalar("sigma", dtype)) * angle.Unary("Tan")).val());
}

// exp of a normal number.
void LogNormal(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Expr normal(b, Normal(b, ResultShape(op), dtype));
  const Expr mean(b, op.Scalar("mean", dtype)), deviation(b, op.Scalar("std", dtype));
  op.Return(Exp(mean + deviation * normal).val());
}

// How many trials until the first success, from 1: ⌈log(1 − u) / log(1 − p)⌉.
void Geometric(Op& op) {
  Builder& b = op.b;
  const DType dtype = Drawn(op.OutDType());
  const Expr share(b, Uniform(b, ResultShape(op), dtype));
  const Expr p(b, op.Scalar("p", dtype));
  const Expr trials = (Log(1 - share) / Log(1 - p)).Unary("Ceil");
  op.Return(b.Cast(Max(trials, 1).val(), op.OutDType()));
}

// Without replacement: the largest of log p + Gumbel noise.
void Multinomial(Op& op) {
  Builder& b = op.b;
  const Val self = op.Tensor("self", DType::kFloat32);
  if (!self) return;
  const bool single = self.rank() == 1;
  const Val weights = single ? b.Unsqueeze(self, {0}) : self;
  const Val logits = b.Unary("Log", weights);
  Val drawn;
  if (op.Bool("replacement")) {
    const Shape shape = {weights.dim(0), Dim(op.Int("num_samples"))};
    drawn = b.Op("Multinomial", {logits},
                 {{"dtype", DType::kInt64}, {"sample_size", op.Int("num_samples")}},
                 {DType::kInt64, shape});
  } else {
    const Expr share(b, Uniform(b, b.ShapeOf(weights), DType::kFloat32));
    const Expr noise = -Log(-Log(share));
    drawn = b.TopK((Expr(b, logits) + noise).val(), op.IntVal("num_samples"), 1, true)[1];
  }
  op.Return(single ? b.Squeeze(drawn, {0}) : drawn);
}

}  // namespace

Val Uniform(Builder& b, Val shape, DType dtype, double low, double high) {
  Attrs range;
  if (low != 0 || high != 1) range = {{"low", low}, {"high", high}};
  return Draw(b, "RandomUniformLike", shape, dtype, std::move(range));
}

extern const Family kRandom;
const Family kRandom = {"random", {
    {"aten::rand", Rand, 9, kRandomNote},
    {"aten::rand_like", Rand, 9, kRandomNote},
    {"aten::randn", Randn, 9, kRandomNote},
    {"aten::randn_like", Randn, 9, kRandomNote},
    {"aten::randint", Randint, 9, kRandomNote},
    {"aten::randint_like", Randint, 9, kRandomNote},
    {"aten::randperm", Randperm, 9, kRandomNote},
    {"aten::uniform", UniformOp, 9, kRandomNote},
    {"aten::normal", NormalOp, 9, kRandomNote},
    {"aten::normal_functional", NormalOp, 9, kRandomNote},
    {"aten::bernoulli", Bernoulli, 9, kRandomNote},
    {"aten::exponential", Exponential, 9, kRandomNote},
    {"aten::cauchy", Cauchy, 9, kRandomNote},
    {"aten::log_normal", LogNormal, 9, kRandomNote},
    {"aten::geometric", Geometric, 9, kRandomNote},
    {"aten::multinomial", Multinomial, 9, kRandomNote},
}};

}  // namespace rules_onnx::lowering
