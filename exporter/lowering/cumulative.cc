// Running products and log-sums along an axis.
#include <limits>

#include "exporter/lowering/loop.h"
#include "exporter/lowering/math.h"
#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

void Cumprod(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self", op.OutDType());
  if (x.rank() == 0) return op.Return(x);
  op.Return(Accumulate(b, x, op.Axis("dim", x), [&](Val so_far, Val next) {
    return b.Mul(so_far, next);
  }));
}

// log(exp(x) + exp(y)) of operands that may be infinite.
Val LogAdd(Builder& b, Val x, Val y) {
  const Val larger = b.Max(x, y), smaller = b.Min(x, y);
  const Val same = b.And(b.Equal(x, y), IsInfinity(b, x));
  const Val distance = b.Where(same, b.Scalar(0, x.dtype()), b.Sub(smaller, larger));
  return b.Where(same, x, b.Add(larger, Log1p(b, b.Unary("Exp", distance))));
}

void Logcumsumexp(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self", op.OutDType());
  if (x.rank() == 0) return op.Return(x);
  op.Return(Accumulate(b, x, op.Axis("dim", x), [&](Val so_far, Val next) {
    return LogAdd(b, so_far, next);
  }));
}

}  // namespace

extern const Family kCumulative;
const Family kCumulative = {"cumulative", {
    {"aten::cumprod", Cumprod},
    {"aten::logcumsumexp", Logcumsumexp},
    {"aten::_logcumsumexp", Logcumsumexp},
}};

}  // namespace rules_onnx::lowering
