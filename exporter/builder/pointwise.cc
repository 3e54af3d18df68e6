// Pointwise operators of the builder, and what older opsets need for them.
#include <limits>

#include "absl/strings/str_cat.h"
#include "exporter/builder/builder.h"

namespace rules_onnx::builder {

Val Builder::Add(Val a, Val b) { return Op("Add", {a, b}); }
Val Builder::Sub(Val a, Val b) { return Op("Sub", {a, b}); }
Val Builder::Mul(Val a, Val b) { return Op("Mul", {a, b}); }
Val Builder::Div(Val a, Val b) { return Op("Div", {a, b}); }

Val Builder::Pow(Val a, Val b) {
  if (a.dtype() == b.dtype()) return Op("Pow", {a, b});
  return Op("Pow", {a, opset() >= 12 ? b : Cast(b, a.dtype())});
}

Val Builder::Mod(Val a, Val b, bool fmod) {
  return fmod ? Op("Mod", {a, b}, {{"fmod", 1}}) : Op("Mod", {a, b});
}

// Min and Max take integers from opset 12 on only: a comparison does it before.
Val Builder::Min(Val a, Val b) {
  if (opset() < 12 && !ir::IsFloat(a.dtype())) return Where(Less(a, b), a, b);
  return Op("Min", {a, b});
}
Val Builder::Max(Val a, Val b) {
  if (opset() < 12 && !ir::IsFloat(a.dtype())) return Where(Greater(a, b), a, b);
  return Op("Max", {a, b});
}

// Equal takes floats from opset 11 on only.
Val Builder::Equal(Val a, Val b) {
  if (opset() < 11 && ir::IsFloat(a.dtype())) {
    return Not(Or(Or(Less(a, b), Greater(a, b)), Or(Unary("IsNaN", a), Unary("IsNaN", b))));
  }
  return Op("Equal", {a, b});
}
Val Builder::Less(Val a, Val b) { return Op("Less", {a, b}); }
Val Builder::Greater(Val a, Val b) { return Op("Greater", {a, b}); }

// The forms with equality come with opset 12; they are false for NaN as well.
Val Builder::LessOrEqual(Val a, Val b) {
  if (opset() >= 12) return Op("LessOrEqual", {a, b});
  return ir::IsFloat(a.dtype()) ? Or(Less(a, b), Equal(a, b)) : Not(Greater(a, b));
}
Val Builder::GreaterOrEqual(Val a, Val b) { return LessOrEqual(b, a); }

Val Builder::And(Val a, Val b) { return Op("And", {a, b}); }
Val Builder::Or(Val a, Val b) { return Op("Or", {a, b}); }
Val Builder::Xor(Val a, Val b) { return Op("Xor", {a, b}); }
Val Builder::Not(Val a) { return Op("Not", {a}); }

Val Builder::Where(Val condition, Val a, Val b) {
  if (a && a == b && condition && condition.rank() == 0) return a;
  if (a.dtype() == DType::kBool && b.dtype() == DType::kBool) {
    return Or(And(condition, a), And(Not(condition), b));
  }
  return Op("Where", {condition, a, b});
}

Val Builder::Clip(Val x, Val low, Val high) {
  if (!low && !high) return x;
  if (opset() >= 11 && x.rank() >= 0 && (!low || low.rank() == 0) && (!high || high.rank() == 0) &&
      (opset() >= 12 || ir::IsFloat(x.dtype()))) {
    // A bound that is left out is the largest number: it would cut infinities off.
    if (ir::IsFloat(x.dtype())) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      if (!low) low = Scalar(-kInfinity, x.dtype());
      if (!high) high = Scalar(kInfinity, x.dtype());
    }
    return Op("Clip", {x, low, high});
  }
  if (low) x = Max(x, low);
  return high ? Min(x, high) : x;
}

Val Builder::Unary(absl::string_view op_type, Val x) { return Op(op_type, {x}); }

bool Builder::HasType(DType dtype) const {
  return schemas_->Find("Cast", opset())->inputs[0].dtypes.count(dtype) > 0;
}

Val Builder::Cast(Val x, DType dtype) {
  if (!x || failed()) return {};
  if (x.dtype() == dtype || dtype == DType::kUndefined) return x;
  for (const DType type : {x.dtype(), dtype}) {
    if (HasType(type)) continue;
    return Fail(absl::StrCat("ONNX has no ", ir::DTypeName(type).data(), " at opset ", opset()));
  }
  return Op("Cast", {x}, {{"to", dtype}}, {dtype, x.get()->type.shape});
}

Val Builder::MatMul(Val a, Val b) { return Op("MatMul", {a, b}); }

}  // namespace rules_onnx::builder
