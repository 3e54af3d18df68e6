// Distances and similarities of vectors, covariance.
#include <cmath>
#include <limits>

#include "exporter/lowering/linear.h"
#include "exporter/lowering/loss.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// The p-norm of all elements of x − y.
void Dist(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val difference = b.Sub(op.Tensor("self", dtype), op.Tensor("other", dtype));
  op.Return(LastAxisNorm(b, b.Flatten1D(difference), op.Float("p"), /*keepdims=*/false));
}

// Distances between all rows of […, n, d] and [..., m, d]: [..., n, m].
Val AllDistances(Builder& b, Val x, Val y, double p) {
  return LastAxisNorm(b, b.Sub(b.Unsqueeze(x, {-2}), b.Unsqueeze(y, {-3})), p,
                      /*keepdims=*/false);
}

void Cdist(Op& op) {
  const DType dtype = op.OutDType();
  op.Return(AllDistances(op.b, op.Tensor("x1", dtype), op.Tensor("x2", dtype), op.Float("p")));
}

// Distances of all pairs i < j of rows, in order.
void Pdist(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!x) return;
  if (!op.Require(x.dim(0).is_number(), "pdist of an unknown number of rows")) return;
  const int64_t rows = x.dim(0).value();
  std::vector<int64_t> first, second;
  for (int64_t i = 0; i < rows; ++i) {
    for (int64_t j = i + 1; j < rows; ++j) {
      first.push_back(i);
      second.push_back(j);
    }
  }
  const Val difference = b.Sub(b.Gather(x, b.Ints(first), 0), b.Gather(x, b.Ints(second), 0));
  op.Return(LastAxisNorm(b, difference, op.Float("p"), /*keepdims=*/false));
}

// Σ x · y / (max(|x|, eps) · max(|y|, eps))
void CosineSimilarity(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Vals operands = Broadcast(b, {op.Tensor("x1", dtype), op.Tensor("x2", dtype)});
  const Val x = operands[0], y = operands[1];
  if (!x || !y) return;
  const int axis = op.Axis("dim", x);
  const Val eps = op.Scalar("eps", dtype);
  const auto unit = [&](Val v) {
    const Val norm = v.rank() == 0 ? b.Unary("Abs", v) : b.Reduce("ReduceL2", v, {axis}, true);
    return b.Div(v, b.Max(norm, eps));
  };
  const Val products = b.Mul(unit(x), unit(y));
  op.Return(x.rank() == 0 ? products : b.Reduce("ReduceSum", products, {axis}, false));
}

// Slices along `dim` whose p-norm is above maxnorm are scaled down to it.
void Renorm(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  const int axis = op.Axis("dim", x);
  if (!x) return;
  const DType dtype = x.dtype();
  const Val rows = MoveAxis(b, x, axis, 0);
  const Val flat = b.Reshape(rows, b.Vector({b.Size(x, axis), b.Int(-1)}));
  const Val norms = LastAxisNorm(b, flat, op.Float("p"), /*keepdims=*/false);
  const Val limit = op.Scalar("maxnorm", dtype);
  const Val scale = b.Div(limit, b.Add(norms, b.Scalar(1e-7, dtype)));
  const Val factor = b.Where(b.Greater(norms, limit), scale, b.Scalar(1, dtype));
  op.Return(b.Mul(x, AlongAxis(b, factor, axis, x.rank())));
}

// ---------------------------------------------------------------- covariance

// Rows are variables, columns observations: [n, m].
Val Observations(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self", op.OutDType());
  if (x.rank() == 0) return b.Reshape(x, std::vector<int64_t>{1, 1});
  return x.rank() == 1 ? b.Unsqueeze(x, {0}) : x;
}

Val Weights(Op& op, DType dtype) {
  Builder& b = op.b;
  Val weights;
  for (const char* name : {"fweights", "aweights"}) {
    if (op.node.Find(name) == nullptr || !op.Has(name)) continue;
    const Val more = op.Tensor(name, dtype);
    weights = weights ? b.Mul(weights, more) : more;
  }
  return weights;
}

// Weighted sums over the observations, divided by their count less the correction.
Val Covariance(Op& op, int64_t correction) {
  Builder& b = op.b;
  const Val x = Observations(op);
  if (!x) return {};
  const DType dtype = x.dtype();
  const Val weights = Weights(op, dtype);
  const auto sum = [&](Val v) { return b.Reduce("ReduceSum", v, {-1}, /*keepdims=*/true); };
  const Val count = weights ? b.Reduce("ReduceSum", weights, {}, false)
                            : b.Cast(b.Size(x, 1), dtype);
  const Val mean = b.Div(sum(weights ? b.Mul(x, weights) : x), count);
  const Val centred = b.Sub(x, mean);
  Val divisor = b.Sub(count, b.Scalar(correction, dtype));
  if (correction != 0 && op.node.Find("aweights") != nullptr && op.Has("aweights")) {
    const Val squares = b.Mul(weights, op.Tensor("aweights", dtype));
    const Val share = b.Div(b.Reduce("ReduceSum", squares, {}, false), count);
    divisor = b.Sub(count, b.Mul(b.Scalar(correction, dtype), share));
  }
  divisor = b.Max(divisor, b.Scalar(0, dtype));
  const Val weighted = weights ? b.Mul(centred, weights) : centred;
  return b.Div(MatMul(b, weighted, b.Transpose(centred, {1, 0})), divisor);
}

// PyTorch gives a number for one variable, a single row too.
bool GivesNumber(Op& op) { return op.OutShape() && op.OutShape()->empty(); }

void Cov(Op& op) {
  const Val matrix = Covariance(op, op.Int("correction"));
  op.Return(GivesNumber(op) ? op.b.Reshape(matrix, std::vector<int64_t>{}) : matrix);
}

// Covariances over the product of both deviations, cut to [−1, 1]; for one variable, c / c.
void Corrcoef(Op& op) {
  Builder& b = op.b;
  const Val c = Covariance(op, 1);
  if (!c) return;
  if (GivesNumber(op)) {
    return op.Return(b.Reshape(b.Div(c, c), std::vector<int64_t>{}));
  }
  const Val n = b.Size(c, 0);
  const Val places = Iota(b, n);
  const Val eye = b.Equal(b.Unsqueeze(places, {0}), b.Unsqueeze(places, {1}));
  const Val zero = b.Scalar(0, c.dtype());
  const Val variances = b.Reduce("ReduceSum", b.Where(eye, c, zero), {1}, /*keepdims=*/false);
  const Val deviation = b.Unary("Sqrt", variances);
  const Val scaled = b.Div(b.Div(c, b.Unsqueeze(deviation, {1})), b.Unsqueeze(deviation, {0}));
  op.Return(b.Clip(scaled, b.Scalar(-1, c.dtype()), b.Scalar(1, c.dtype())));
}

}  // namespace

extern const Family kDistance;
const Family kDistance = {"distance", {
    {"aten::dist", Dist},
    {"aten::cdist", Cdist},
    {"aten::_cdist_forward", Cdist},
    {"aten::_euclidean_dist", [](Op& op) {
       op.Return(AllDistances(op.b, op.Tensor("x1"), op.Tensor("x2"), 2));
     }},
    {"aten::pdist", Pdist},
    {"aten::_pdist_forward", Pdist},
    {"aten::cosine_similarity", CosineSimilarity},
    {"aten::renorm", Renorm},
    {"aten::cov", Cov},
    {"aten::corrcoef", Corrcoef},
}};

}  // namespace rules_onnx::lowering
