// Conversions between dtypes.
#include "exporter/lowering/complex.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// Floats are truncated to integers; what is not zero is true. A complex number becomes real by
// losing its imaginary part, a real one complex by an imaginary part of zero.
void Convert(Op& op) {
  const absl::string_view name = op.node.Find("self") != nullptr ? "self" : "data";
  const Item item = op.Arg(name);
  if (item.is_quantized()) return op.Fail("a quantized tensor must be dequantized first"), void();
  const DType out = op.OutDType();
  if (IsComplex(out)) return ReturnComplex(op, ReadComplex(op, name, PartType(op)));
  if (!IsComplexArgument(op, name)) return op.Return(op.b.Cast(item.val, out));
  const Complex complex = ReadComplex(op, name, DType::kFloat64);
  const Val real = op.b.Cast(complex.re.val(), out);
  op.Return(out == DType::kBool ? op.b.Or(real, op.b.Cast(complex.im.val(), out)) : real);
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
