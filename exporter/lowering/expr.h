// Formulas in C++ operators: `Exp(-x * x) / (x + 1)` emits the nodes.
//
// All operands of a formula have one float dtype, which plain numbers take. Comparisons give bool
// values for Select. As with Builder, everything of a null value is null.
#ifndef RULES_ONNX_EXPORTER_LOWERING_EXPR_H_
#define RULES_ONNX_EXPORTER_LOWERING_EXPR_H_

#include <vector>

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

class Expr {
 public:
  Expr(Builder& b, Val val) : b_(&b), val_(val) {}

  Val val() const { return val_; }
  Builder& b() const { return *b_; }
  // A number of the same dtype.
  Expr Number(double value) const { return {*b_, b_->Scalar(value, val_.dtype())}; }
  Expr Unary(absl::string_view op_type) const { return {*b_, b_->Unary(op_type, val_)}; }

  friend Expr operator+(Expr x, Expr y) { return {x.b(), x.b().Add(x.val_, y.val_)}; }
  friend Expr operator-(Expr x, Expr y) { return {x.b(), x.b().Sub(x.val_, y.val_)}; }
  friend Expr operator*(Expr x, Expr y) { return {x.b(), x.b().Mul(x.val_, y.val_)}; }
  friend Expr operator/(Expr x, Expr y) { return {x.b(), x.b().Div(x.val_, y.val_)}; }
  friend Expr operator+(Expr x, double y) { return x + x.Number(y); }
  friend Expr operator-(Expr x, double y) { return x - x.Number(y); }
  friend Expr operator*(Expr x, double y) { return x * x.Number(y); }
  friend Expr operator/(Expr x, double y) { return x / x.Number(y); }
  friend Expr operator+(double x, Expr y) { return y.Number(x) + y; }
  friend Expr operator-(double x, Expr y) { return y.Number(x) - y; }
  friend Expr operator*(double x, Expr y) { return y.Number(x) * y; }
  friend Expr operator/(double x, Expr y) { return y.Number(x) / y; }
  Expr operator-() const { return Unary("Neg"); }

  friend Val operator<(Expr x, Expr y) { return x.b().Less(x.val_, y.val_); }
  friend Val operator>(Expr x, Expr y) { return x.b().Greater(x.val_, y.val_); }
  friend Val operator<=(Expr x, Expr y) { return x.b().LessOrEqual(x.val_, y.val_); }
  friend Val operator>=(Expr x, Expr y) { return x.b().GreaterOrEqual(x.val_, y.val_); }
  friend Val operator==(Expr x, Expr y) { return x.b().Equal(x.val_, y.val_); }
  friend Val operator<(Expr x, double y) { return x < x.Number(y); }
  friend Val operator>(Expr x, double y) { return x > x.Number(y); }
  friend Val operator<=(Expr x, double y) { return x <= x.Number(y); }
  friend Val operator>=(Expr x, double y) { return x >= x.Number(y); }
  friend Val operator==(Expr x, double y) { return x == x.Number(y); }

 private:
  Builder* b_;
  Val val_;
};

inline Expr Exp(Expr x) { return x.Unary("Exp"); }
inline Expr Log(Expr x) { return x.Unary("Log"); }
inline Expr Sqrt(Expr x) { return x.Unary("Sqrt"); }
inline Expr Sin(Expr x) { return x.Unary("Sin"); }
inline Expr Cos(Expr x) { return x.Unary("Cos"); }
inline Expr Abs(Expr x) { return x.Unary("Abs"); }
inline Expr Sign(Expr x) { return x.Unary("Sign"); }
inline Expr Floor(Expr x) { return x.Unary("Floor"); }
inline Expr Pow(Expr x, Expr y) { return {x.b(), x.b().Pow(x.val(), y.val())}; }
inline Expr Max(Expr x, double y) { return {x.b(), x.b().Max(x.val(), x.Number(y).val())}; }
inline Expr Min(Expr x, double y) { return {x.b(), x.b().Min(x.val(), x.Number(y).val())}; }
inline Expr Select(Val condition, Expr x, Expr y) {
  return {x.b(), x.b().Where(condition, x.val(), y.val())};
}
inline Expr Select(Val condition, double x, Expr y) { return Select(condition, y.Number(x), y); }
inline Expr Select(Val condition, Expr x, double y) { return Select(condition, x, x.Number(y)); }

// c[0] + c[1] · x + c[2] · x² + …, by Horner's rule.
inline Expr Polynomial(Expr x, const std::vector<double>& c) {
  Expr sum = x.Number(c.back());
  for (size_t i = c.size() - 1; i-- > 0;) sum = sum * x + c[i];
  return sum;
}

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_EXPR_H_
