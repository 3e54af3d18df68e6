// Products of several tensors: einsum, tensordot, kron, powers, cross products, traces.
#include <algorithm>
#include <cmath>
#include <map>
#include <string>

#include "absl/strings/ascii.h"
#include "absl/strings/str_split.h"
#include "exporter/lowering/linear.h"
#include "exporter/lowering/loop.h"
#include "exporter/lowering/lu.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

using Ints = std::vector<int64_t>;

// ---------------------------------------------------------------- einsum

// Axes named by letters; those of an ellipsis by the characters 1, 2, … from the last one on.
struct Equation {
  std::vector<std::string> operands;
  std::string result;
};

std::string ExpandEllipsis(Op& op, std::string labels, int rank) {
  const size_t at = labels.find("...");
  if (at == std::string::npos) {
    op.Require(rank < 0 || static_cast<int>(labels.size()) == rank,
               "an operand's rank does not fit the equation");
    return labels;
  }
  const int count = rank - static_cast<int>(labels.size() - 3);
  if (!op.Require(count >= 0 && count <= 9, "an ellipsis of unknown or too many axes")) return "";
  std::string axes;
  for (int i = count; i > 0; --i) axes += static_cast<char>('0' + i);
  return labels.replace(at, 3, axes);
}

// Without an arrow: the ellipsis, then the letters that occur once, in order.
std::string ImplicitResult(const std::vector<std::string>& operands) {
  std::map<char, int> counts;
  for (const std::string& labels : operands) {
    for (const char label : labels) ++counts[label];
  }
  std::string digits, letters;
  for (const auto& [label, count] : counts) {
    if (absl::ascii_isdigit(label)) {
      digits.insert(digits.begin(), label);
    } else if (count == 1) {
      letters += label;
    }
  }
  return digits + letters;
}

Equation ReadEquation(Op& op, const Vals& operands) {
  std::string text = op.String("equation");
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  const std::vector<std::string> sides = absl::StrSplit(text, "->");
  const std::vector<std::string> lists = absl::StrSplit(sides[0], ',');
  Equation equation;
  if (!op.Require(lists.size() == operands.size() && sides.size() <= 2,
                  "the equation does not fit the operands")) {
    return equation;
  }
  std::string ellipsis;
  for (size_t i = 0; i < lists.size(); ++i) {
    equation.operands.push_back(ExpandEllipsis(op, lists[i], operands[i].rank()));
    std::string axes;
    for (const char label : equation.operands.back()) {
      if (absl::ascii_isdigit(label)) axes += label;
    }
    if (axes.size() > ellipsis.size()) ellipsis = axes;
  }
  if (sides.size() == 1) {
    equation.result = ImplicitResult(equation.operands);
  } else {
    equation.result = sides[1];
    const size_t at = equation.result.find("...");
    if (at != std::string::npos) equation.result.replace(at, 3, ellipsis);
  }
  return equation;
}

// x with every repeated label's axes reduced to their diagonal.
Val TakeDiagonals(Builder& b, Val x, std::string* labels) {
  for (size_t i = 0; i < labels->size(); ++i) {
    size_t j;
    while ((j = labels->find((*labels)[i], i + 1)) != std::string::npos) {
      const Val same = b.Equal(IotaLike(b, x, static_cast<int>(i)),
                               IotaLike(b, x, static_cast<int>(j)));
      const Val kept = b.Where(same, x, b.ScalarInt(0, x.dtype()));
      x = b.Reduce("ReduceSum", kept, {static_cast<int64_t>(j)}, /*keepdims=*/false);
      labels->erase(j, 1);
    }
  }
  return x;
}

// x with axes in the order of `all`, those it lacks of size 1.
Val Aligned(Builder& b, Val x, const std::string& labels, const std::string& all) {
  Ints order, missing;
  for (size_t i = 0; i < all.size(); ++i) {
    const size_t at = labels.find(all[i]);
    if (at == std::string::npos) {
      missing.push_back(i);
    } else {
      order.push_back(at);
    }
  }
  return b.Unsqueeze(b.Transpose(x, order), missing);
}

// Sums the axes of x that nothing else has.
Val SumAlone(Builder& b, Val x, std::string* labels, const std::string& wanted) {
  Ints axes;
  std::string kept;
  for (size_t i = 0; i < labels->size(); ++i) {
    if (wanted.find((*labels)[i]) == std::string::npos) {
      axes.push_back(i);
    } else {
      kept += (*labels)[i];
    }
  }
  *labels = kept;
  return axes.empty() ? x : b.Reduce("ReduceSum", x, axes, /*keepdims=*/false);
}

// Whether one matrix product does it: something is summed, and along every shared label the sizes
// are known to be the same, so that nothing broadcasts.
bool IsContraction(Val x, const std::string& x_labels, Val y, const std::string& y_labels,
                   const std::string& kept) {
  bool sums = false;
  for (size_t i = 0; i < x_labels.size(); ++i) {
    const size_t j = y_labels.find(x_labels[i]);
    if (j == std::string::npos) continue;
    if (!x.dim(static_cast<int>(i)).Equals(y.dim(static_cast<int>(j)))) return false;
    sums = sums || kept.find(x_labels[i]) == std::string::npos;
  }
  return sums;
}

// Two operands by one matrix product: [batch…, x's own…, summed…] · [batch…, summed…, y's own…].
// The result has the labels batch, own of x, own of y.
Val Contract(Builder& b, Val x, const std::string& x_labels, Val y, const std::string& y_labels,
             const std::string& kept, std::string* result) {
  std::string batch, summed, x_own, y_own;
  for (const char label : x_labels) {
    const bool shared = y_labels.find(label) != std::string::npos;
    if (!shared) x_own += label;
    else if (kept.find(label) != std::string::npos) batch += label;
    else summed += label;
  }
  for (const char label : y_labels) {
    if (x_labels.find(label) == std::string::npos) y_own += label;
  }
  const auto sizes = [&](Val v, const std::string& labels, const std::string& wanted) {
    Vals found;
    for (const char label : wanted) found.push_back(b.Size(v, labels.find(label)));
    return found;
  };
  const auto matrix = [&](Val v, const std::string& labels, const std::string& rows,
                          const std::string& columns) {
    Vals target = sizes(v, labels, batch);
    const Val moved = Aligned(b, v, labels, batch + rows + columns);
    target.push_back(Product(b, sizes(v, labels, rows)));
    target.push_back(Product(b, sizes(v, labels, columns)));
    return b.Reshape(moved, b.Vector(target));
  };
  const Val product = MatMul(b, matrix(x, x_labels, x_own, summed),
                             matrix(y, y_labels, summed, y_own));
  Vals target = sizes(x, x_labels, batch + x_own);
  for (const Val size : sizes(y, y_labels, y_own)) target.push_back(size);
  *result = batch + x_own + y_own;
  return b.Reshape(product, b.Vector(target));
}

// Multiplies from left to right; each step by a matrix product where that can be said, or element
// by element.
Val EinsumSteps(Builder& b, Vals operands, Equation equation) {
  for (size_t i = 0; i < operands.size(); ++i) {
    operands[i] = TakeDiagonals(b, operands[i], &equation.operands[i]);
  }
  const auto wanted_after = [&](size_t i) {
    std::string wanted = equation.result;
    for (size_t j = i; j < operands.size(); ++j) wanted += equation.operands[j];
    return wanted;
  };
  std::string labels = equation.operands[0];
  Val x = SumAlone(b, operands[0], &labels, wanted_after(1));
  for (size_t i = 1; i < operands.size(); ++i) {
    std::string other = equation.operands[i];
    const std::string kept = wanted_after(i + 1);
    const Val y = SumAlone(b, operands[i], &other, kept + labels);
    if (IsContraction(x, labels, y, other, kept)) {
      x = Contract(b, x, std::string(labels), y, other, kept, &labels);
      continue;
    }
    std::string all = labels;
    for (const char label : other) {
      if (all.find(label) == std::string::npos) all += label;
    }
    x = b.Mul(Aligned(b, x, labels, all), Aligned(b, y, other, all));
    labels = all;
    x = SumAlone(b, x, &labels, kept);
  }
  x = SumAlone(b, x, &labels, equation.result);
  return Aligned(b, x, labels, equation.result);
}

void Einsum(Op& op) {
  Builder& b = op.b;
  Vals operands;
  for (const Val operand : op.Tensors("tensors")) {
    operands.push_back(b.Cast(operand, op.OutDType()));
  }
  const Equation equation = ReadEquation(op, operands);
  if (op.failed() || operands.empty()) return;
  op.Return(EinsumSteps(b, operands, equation));
}

// ---------------------------------------------------------------- tensordot, kron

// Sums axes of size 1 against whatever size the other operand has there.
void Tensordot(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  Val x = op.Tensor("self", dtype), y = op.Tensor("other", dtype);
  if (!x || !y) return;
  Ints dims_x = op.Ints("dims_self"), dims_y = op.Ints("dims_other");
  std::string labels_x, labels_y;
  for (int i = 0; i < x.rank(); ++i) labels_x += static_cast<char>('a' + i);
  for (int i = 0; i < y.rank(); ++i) labels_y += static_cast<char>('A' + i);
  for (size_t i = 0; i < dims_x.size() && i < dims_y.size(); ++i) {
    labels_y[b.NormalizeAxis(dims_y[i], y.rank())] =
        labels_x[b.NormalizeAxis(dims_x[i], x.rank())];
  }
  Equation equation{{labels_x, labels_y}, ""};
  for (const char label : labels_x) {
    if (labels_y.find(label) == std::string::npos) equation.result += label;
  }
  for (const char label : labels_y) {
    if (labels_x.find(label) == std::string::npos) equation.result += label;
  }
  op.Return(EinsumSteps(b, {x, y}, equation));
}

// Every element of x times the whole of y.
void Kron(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  Val x = op.Tensor("self", dtype), y = op.Tensor("other", dtype);
  if (!x || !y) return;
  const int rank = std::max(x.rank(), y.rank());
  const auto raised = [&](Val v) {
    Ints axes;
    for (int i = v.rank(); i < rank; ++i) axes.push_back(i - v.rank());
    return b.Unsqueeze(v, axes);
  };
  x = raised(x);
  y = raised(y);
  Vals sizes;
  Ints after, before;
  for (int i = 0; i < rank; ++i) {
    sizes.push_back(b.Mul(b.Size(x, i), b.Size(y, i)));
    after.push_back(2 * i + 1);
    before.push_back(2 * i);
  }
  const Val left = b.Unsqueeze(x, after), right = b.Unsqueeze(y, before);
  const Val products = dtype == DType::kBool ? b.And(left, right) : b.Mul(left, right);
  op.Return(b.Reshape(products, sizes, op.OutShape()));
}

// ---------------------------------------------------------------- matrices

// Vectors at both ends are rows and columns.
void MultiDot(Op& op) {
  Builder& b = op.b;
  const Vals matrices = op.Tensors(op.node.Find("tensors") ? "tensors" : "matrices");
  if (matrices.empty()) return;
  Val product = matrices[0];
  for (size_t i = 1; i < matrices.size(); ++i) product = MatMul(b, product, matrices[i]);
  op.Return(product);
}

void MatrixPower(Op& op) {
  Builder& b = op.b;
  Val base = op.Tensor("self");
  int64_t n = op.Int("n");
  if (!base) return;
  if (n == 0) {
    return op.Return(b.Expand(Identity(b, b.Size(base, -1), base.dtype()), b.ShapeOf(base)));
  }
  if (n < 0) {
    base = InverseOf(b, base);
    n = -n;
  }
  Val power;
  for (; n > 0; n /= 2) {
    if (n % 2 == 1) power = power ? MatMul(b, power, base) : base;
    if (n > 1) base = MatMul(b, base, base);
  }
  op.Return(power);
}

// exp(A) in float64: Taylor's series of A / 2^s, whose norm is at most 1, squared s times.
void MatrixExp(Op& op) {
  Builder& b = op.b;
  const Val self = op.Tensor("self");
  if (!self) return;
  const Val a = b.Cast(AsBatch(b, self), DType::kFloat64);
  const auto constant = [&](double value) { return b.Scalar(value, DType::kFloat64); };
  const Val sums = b.Reduce("ReduceSum", b.Unary("Abs", a), {1}, /*keepdims=*/true);
  const Val norm = b.Max(b.Reduce("ReduceMax", sums, {2}, /*keepdims=*/true), constant(1));
  const Val squarings =
      b.Unary("Ceil", b.Div(b.Unary("Log", norm), constant(std::log(2.0))));
  const Val scaled = b.Div(a, b.Pow(constant(2), squarings));
  const Val unit = Identity(b, b.Size(a, 1), DType::kFloat64);
  constexpr int kTerms = 18;  // 1 / 19! is below float64's precision
  Val series = b.Add(unit, b.Div(scaled, constant(kTerms)));
  for (int k = kTerms - 1; k > 0; --k) {
    series = b.Add(unit, b.Div(MatMul(b, scaled, series), constant(k)));
  }
  const Val count = b.Cast(b.Reduce("ReduceMax", squarings, {}, /*keepdims=*/false),
                           DType::kInt64);
  const Val power = Repeat(b, count, {}, {series}, [&](Val step, const Vals& carried) {
    const Val active = b.Less(b.Cast(step, DType::kFloat64), squarings);
    return LoopStep{{b.Where(active, MatMul(b, carried[0], carried[0]), carried[0])}, {}};
  })[0];
  op.Return(b.Cast(FromBatch(b, power, self), self.dtype()));
}

void Trace(Op& op) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!x) return;
  const Val same = b.Equal(IotaLike(b, x, 0), IotaLike(b, x, 1));
  const DType dtype = op.OutDType();
  const Val diagonal = b.Where(same, b.Cast(x, dtype), b.ScalarInt(0, dtype));
  op.Return(b.Reduce("ReduceSum", diagonal, {}, /*keepdims=*/false));
}

// ---------------------------------------------------------------- vectors

void Vecdot(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Val products = b.Mul(op.Tensor("x", dtype), op.Tensor("y", dtype));
  op.Return(b.Reduce("ReduceSum", products, {op.Axis("dim", products)}, /*keepdims=*/false));
}

// Without `dim`: the first axis of size 3.
void Cross(Op& op) {
  Builder& b = op.b;
  const DType dtype = op.OutDType();
  const Vals operands = Broadcast(b, {op.Tensor("self", dtype), op.Tensor("other", dtype)});
  const Val x = operands[0], y = operands[1];
  if (!x || !y) return;
  int axis = 0;
  if (op.Has("dim")) {
    axis = op.Axis("dim", x);
  } else {
    while (axis + 1 < x.rank() && !(x.dim(axis).is_number() && x.dim(axis).value() == 3)) ++axis;
  }
  const Val next = b.Ints({1, 2, 0}), after = b.Ints({2, 0, 1});
  op.Return(b.Sub(b.Mul(b.Gather(x, next, axis), b.Gather(y, after, axis)),
                  b.Mul(b.Gather(x, after, axis), b.Gather(y, next, axis))));
}

}  // namespace

extern const Family kProducts;
const Family kProducts = {"products", {
    {"aten::einsum", Einsum},
    {"aten::tensordot", Tensordot},
    {"aten::kron", Kron},
    {"aten::chain_matmul", MultiDot},
    {"aten::linalg_multi_dot", MultiDot},
    {"aten::matrix_power", MatrixPower, 9, "negative powers: opset 11"},
    {"aten::linalg_matrix_power", MatrixPower, 9, "negative powers: opset 11"},
    {"aten::matrix_exp", MatrixExp},
    {"aten::linalg_matrix_exp", MatrixExp},
    {"aten::trace", Trace},
    {"aten::linalg_vecdot", Vecdot},
    {"aten::cross", Cross},
    {"aten::linalg_cross", Cross},
}};

}  // namespace rules_onnx::lowering
