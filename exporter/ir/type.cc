#include "exporter/ir/type.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace rules_onnx::ir {
namespace {

std::string Join(const std::vector<Type>& types) {
  return absl::StrJoin(types, ", ", [](std::string* out, const Type& type) {
    out->append(type.ToString());
  });
}

}  // namespace

Type Type::Tensor(DType dtype, std::optional<Shape> shape) {
  return Type{.kind = Kind::kTensor, .dtype = dtype, .shape = std::move(shape)};
}

Type Type::List(Type element) {
  return Type{.kind = Kind::kList, .elements = {std::move(element)}};
}

Type Type::Tuple(std::vector<Type> elements) {
  return Type{.kind = Kind::kTuple, .elements = std::move(elements)};
}

DType Type::TensorDType() const {
  switch (kind) {
    case Kind::kTensor: return dtype;
    case Kind::kInt: return DType::kInt64;
    case Kind::kFloat: return DType::kFloat64;
    case Kind::kBool: return DType::kBool;
    case Kind::kComplex: return DType::kComplex128;
    case Kind::kString: return DType::kString;
    default: return DType::kUndefined;
  }
}

std::string Type::ToString() const {
  switch (kind) {
    case Kind::kUnknown: return "unknown";
    case Kind::kTensor:
      return absl::StrCat(DTypeName(dtype), shape ? ShapeToString(*shape) : "[...]");
    case Kind::kInt: return "int";
    case Kind::kFloat: return "float";
    case Kind::kBool: return "bool";
    case Kind::kComplex: return "complex";
    case Kind::kString: return "str";
    case Kind::kNone: return "None";
    case Kind::kList: return absl::StrCat("list[", Join(elements), "]");
    case Kind::kTuple: return absl::StrCat("(", Join(elements), ")");
    case Kind::kDict: return absl::StrCat("dict[", Join(elements), "]");
    case Kind::kOptional: return absl::StrCat("optional[", Join(elements), "]");
    case Kind::kObject: return absl::StrCat("object ", class_name);
  }
  return "";
}

}  // namespace rules_onnx::ir
