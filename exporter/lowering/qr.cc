// QR by Householder reflections, as LAPACK's geqrf and orgqr make them.
#include "exporter/lowering/qr.h"

#include "exporter/lowering/linear.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/lu.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

struct Reflections {
  Val packed;  // [..., m, n]: R on and above the diagonal, the vectors below it
  Val tau;     // [..., min(m, n)]
};

// v of reflection k: column k below the diagonal, 1 on it, 0 above. [B, m]
Val ReflectionVector(Builder& b, Val packed, Val rows, Val k) {
  const DType dtype = packed.dtype();
  const Val below = b.Where(b.Greater(rows, k), b.Gather(packed, k, 2), b.Scalar(0, dtype));
  return b.Where(b.Equal(rows, k), b.Scalar(1, dtype), below);
}

// x − tau · v · (vᵀ · x)
Val Reflect(Builder& b, Val x, Val v, Val tau) {
  const Val product = MatMul(b, b.Unsqueeze(v, {1}), x);  // [B, 1, n]
  return b.Sub(x, b.Mul(b.Mul(b.Unsqueeze(v, {2}), product), b.Unsqueeze(tau, {2})));
}

Reflections ReflectionsOf(Builder& b, Val a) {
  if (!a || b.failed()) return {};
  const Val x = AsBatch(b, a);
  const DType dtype = x.dtype();
  const Val zero = b.Scalar(0, dtype), one = b.Scalar(1, dtype);
  const Val count = b.Min(b.Size(x, 1), b.Size(x, 2));
  const Val rows = b.Unsqueeze(Iota(b, b.Size(x, 1)), {0});
  const Val columns = b.Unsqueeze(Iota(b, b.Size(x, 2)), {0});
  const Val steps = b.Unsqueeze(Iota(b, count), {0});
  const Val taus = b.Expand(b.Cast(b.Mul(steps, b.Int(0)), dtype),
                            b.Vector({b.Size(x, 0), b.Int(1)}));
  const Vals result = Repeat(b, count, {}, {x, taus}, [&](Val k, const Vals& carried) {
    const Val column = b.Gather(carried[0], k, 2);                // [B, m]
    const Val alpha = b.Unsqueeze(b.Gather(column, k, 1), {1});   // [B, 1]
    const Val below = b.Where(b.Greater(rows, k), column, zero);
    const Val squares = b.Reduce("ReduceSum", b.Mul(below, below), {1}, /*keepdims=*/true);
    const Val nothing = b.Equal(squares, zero);
    const Val norm = b.Unary("Sqrt", b.Add(b.Mul(alpha, alpha), squares));
    const Val beta = b.Where(b.Less(alpha, zero), norm, b.Unary("Neg", norm));
    const Val safe = b.Where(nothing, one, beta);
    const Val tau = b.Where(nothing, zero, b.Div(b.Sub(beta, alpha), safe));
    const Val scale = b.Where(nothing, one, b.Sub(alpha, beta));
    const Val v = b.Where(b.Equal(rows, k), one, b.Div(below, scale));
    const Val reflected = Reflect(b, carried[0], v, tau);
    // Column k: R above, the diagonal β, the vector below.
    const Val head = b.Where(b.Equal(rows, k), b.Where(nothing, alpha, beta), column);
    const Val own = b.Where(b.Greater(rows, k), v, head);
    const Val left = b.Unsqueeze(b.Less(columns, k), {1});
    const Val here = b.Unsqueeze(b.Equal(columns, k), {1});
    const Val next = b.Where(here, b.Unsqueeze(own, {2}), b.Where(left, carried[0], reflected));
    return LoopStep{{next, b.Where(b.Equal(steps, k), tau, carried[1])}, {}};
  });
  return {FromBatch(b, result[0], a),
          b.Squeeze(FromBatch(b, b.Unsqueeze(result[1], {2}), a), {-1})};
}

// H₀ · H₁ · … · x, or in the other order, for reflections packed in [B, m, k].
Val ApplyReflections(Builder& b, Val packed, Val tau, Val x, bool last_first) {
  const Val rows = b.Unsqueeze(Iota(b, b.Size(packed, 1)), {0});
  const Val count = b.Size(tau, 1);
  return Repeat(b, count, {}, {x}, [&](Val step, const Vals& carried) {
    const Val k = last_first ? b.Sub(b.Sub(count, b.Int(1)), step) : step;
    const Val v = ReflectionVector(b, packed, rows, k);
    return LoopStep{{Reflect(b, carried[0], v, b.Unsqueeze(b.Gather(tau, k, 1), {1}))}, {}};
  })[0];
}

Val AsVectors(Builder& b, Val tau) {
  return b.Squeeze(AsBatch(b, b.Unsqueeze(tau, {-1})), {2});
}

// The first `columns` columns of Q.
Val QOf(Builder& b, Val packed, Val tau, Val columns) {
  if (!packed || !tau || b.failed()) return {};
  const Val flat = AsBatch(b, packed);
  const Val rows = b.Unsqueeze(Iota(b, b.Size(flat, 1)), {1});
  const Val unit = b.Cast(b.Equal(rows, b.Unsqueeze(Iota(b, columns), {0})), packed.dtype());
  const Val start = b.Expand(unit, b.Vector({b.Size(flat, 0), b.Int(1), b.Int(1)}));
  return FromBatch(b, ApplyReflections(b, flat, AsVectors(b, tau), start, true), packed);
}

}  // namespace

// The reflections give the columns of x up to the sign.
Val OrthonormalColumns(Builder& b, Val x, Val count) {
  const Reflections reflections = ReflectionsOf(b, x);
  const Val q = QOf(b, reflections.packed, reflections.tau, count);
  if (!q) return {};
  const Val given = b.Size(x, 2), zero = b.Scalar(0, x.dtype());
  const Val first = b.Slice(q, 2, b.Int(0), given);
  const Val cosine = b.Reduce("ReduceSum", b.Mul(first, x), {1}, /*keepdims=*/true);
  const Val own = b.Where(b.Less(cosine, zero), b.Unary("Neg", first), first);
  return b.Concat({own, b.Slice(q, 2, given, count)}, 2);
}

namespace {

void Geqrf(Op& op) {
  const Reflections result = ReflectionsOf(op.b, op.Tensor("self"));
  op.Return(Vals{result.packed, result.tau});
}

void HouseholderProduct(Op& op) {
  const bool linalg = op.node.Find("tau") != nullptr;
  const Val packed = op.Tensor(linalg ? "input" : "self");
  const Val tau = op.Tensor(linalg ? "tau" : "input2");
  if (!packed || !tau) return;
  op.Return(QOf(op.b, packed, tau, op.b.Size(packed, -1)));
}

// Q or Qᵀ times the third argument, from either side.
void Ormqr(Op& op) {
  Builder& b = op.b;
  const Val packed = op.Tensor("self"), tau = op.Tensor("input2"), other = op.Tensor("input3");
  if (!packed || !tau || !other) return;
  const bool left = op.Bool("left"), transpose = op.Bool("transpose");
  const Val target = AsBatch(b, left ? other : Transposed(b, other));
  // Q·x applies the last reflection first; (x·Q)ᵀ = Qᵀ·xᵀ.
  const Val result = ApplyReflections(b, AsBatch(b, packed), AsVectors(b, tau), target,
                                      /*last_first=*/left != transpose);
  const Val shaped = FromBatch(b, result, other);
  op.Return(left ? shaped : Transposed(b, shaped));
}

void QrWith(Op& op, Val a, bool complete, bool only_r) {
  Builder& b = op.b;
  const Reflections reflections = ReflectionsOf(b, a);
  if (!reflections.packed) return;
  const Val rows = b.Size(a, -2);
  const Val count = complete ? rows : b.Min(rows, b.Size(a, -1));
  Val r = UpperPart(b, reflections.packed, 0);
  if (count != rows) r = b.Slice(r, -2, b.Int(0), count);
  if (only_r) return op.Return(Vals{b.Full(0, a.dtype(), {0}), r});
  op.Return(Vals{QOf(b, reflections.packed, reflections.tau, count), r});
}

void LinalgQr(Op& op) {
  const std::string mode = op.String("mode");
  QrWith(op, op.Tensor("A"), mode == "complete", mode == "r");
}

void Qr(Op& op) { QrWith(op, op.Tensor("self"), !op.Bool("some"), false); }

}  // namespace

extern const Family kQr;
const Family kQr = {"qr", {
    {"aten::geqrf", Geqrf},
    {"aten::linalg_householder_product", HouseholderProduct},
    {"aten::orgqr", HouseholderProduct},
    {"aten::ormqr", Ormqr},
    {"aten::linalg_qr", LinalgQr},
    {"aten::qr", Qr},
}};

}  // namespace rules_onnx::lowering
