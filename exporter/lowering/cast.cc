// Conversions between dtypes.
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// Floats are truncated to integers; what is not zero is true. A complex number becomes real by
// losing its imaginary part, a real one complex by an imaginary part of zero.
void Convert(Op& op) {
  const absl::string_view name = op.node.Find("self") != nullptr ? "self" : "data";
  const ir::Arg* arg = op.node.Find(name);
  const Item item = op.Arg(name);
  if (item.is_quantized()) return op.Fail("a quantized tensor must be dequantized first"), void();
  const bool from_complex =
      arg != nullptr && arg->is_value() && IsComplex(arg->value()->type.TensorDType());
  const DType out = op.OutDType();
  if (IsComplex(out) == from_complex) {
    return op.Return(op.b.Cast(item.val, from_complex ? ir::RealOf(out) : out));
  }
  if (from_complex) {
    return op.Return(op.b.Cast(Select(op.b, item.val, item.val.rank() - 1, op.b.Int(0)), out));
  }
  const Val real = op.b.Unsqueeze(op.b.Cast(item.val, ir::RealOf(out)), {-1});
  const Val zero = Filled(op.b, op.b.ShapeOf(real), op.b.Scalar(0, real.dtype()));
  op.Return(op.b.Concat({real, zero}, -1));
}

// src in the dtype and shape of self.
void Copy(Op& op) {
  const Val self = op.Tensor("self"), source = op.Tensor("src", op.OutDType());
  if (!self || !source) return;
  op.Return(ExpandTo(op.b, source, SizesOf(op.b, self)));
}

}  // namespace

extern const Family kCast;
const Family kCast = {"cast", {
    {"aten::to", Convert},
    {"aten::type_as", Convert},
    {"aten::_to_copy", Convert},
    {"aten::copy", Copy},
    {"aten::as_tensor", Convert, 9, "of a tensor"},
    {"aten::_cast_Byte", Convert},
    {"aten::_cast_Char", Convert},
    {"aten::_cast_Double", Convert},
    {"aten::_cast_Float", Convert},
    {"aten::_cast_Half", Convert},
    {"aten::_cast_Int", Convert},
    {"aten::_cast_Long", Convert},
    {"aten::_cast_Short", Convert},
    {"aten::_autocast_to_reduced_precision", Convert},
    {"aten::_autocast_to_full_precision", Convert},
}};

}  // namespace rules_onnx::lowering
