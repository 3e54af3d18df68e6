#include "exporter/ir/dtype.h"

#include <algorithm>
#include <array>

namespace rules_onnx::ir {
namespace {

struct Info {
  absl::string_view name;
  size_t size;
};

constexpr std::array<Info, kNumDTypes> kInfo = {{
    {"undefined", 0},      {"float32", 4},           {"float64", 8},     {"float16", 2},
    {"bfloat16", 2},       {"uint8", 1},             {"int8", 1},        {"uint16", 2},
    {"int16", 2},          {"uint32", 4},            {"int32", 4},       {"uint64", 8},
    {"int64", 8},          {"bool", 1},              {"complex64", 8},   {"complex128", 16},
    {"float8_e4m3fn", 1},  {"float8_e4m3fnuz", 1},   {"float8_e5m2", 1}, {"float8_e5m2fnuz", 1},
    {"string", 0},         {"qint8", 1},             {"quint8", 1},      {"qint32", 4},
}};

// By ScalarType code. Undefined: complex of halves (8), and the sub-byte and untyped bits (16–22).
constexpr std::array<DType, 30> kScalarTypes = {
    DType::kUInt8,        DType::kInt8,           DType::kInt16,         DType::kInt32,
    DType::kInt64,        DType::kFloat16,        DType::kFloat32,       DType::kFloat64,
    DType::kUndefined,    DType::kComplex64,      DType::kComplex128,    DType::kBool,
    DType::kQInt8,        DType::kQUInt8,         DType::kQInt32,        DType::kBFloat16,
    DType::kUndefined,    DType::kUndefined,      DType::kUndefined,     DType::kUndefined,
    DType::kUndefined,    DType::kUndefined,      DType::kUndefined,     DType::kFloat8E5M2,
    DType::kFloat8E4M3FN, DType::kFloat8E5M2FNUZ, DType::kFloat8E4M3FNUZ, DType::kUInt16,
    DType::kUInt32,       DType::kUInt64,
};

bool IsFloat8(DType dtype) {
  return dtype >= DType::kFloat8E4M3FN && dtype <= DType::kFloat8E5M2FNUZ;
}

int Category(DType dtype) {
  if (IsComplex(dtype)) return 3;
  if (IsFloat(dtype)) return 2;
  return dtype == DType::kBool ? 0 : 1;
}

DType PromoteIntegers(DType a, DType b) {
  if (IsUnsigned(a) == IsUnsigned(b)) return ElementSize(a) >= ElementSize(b) ? a : b;
  const DType with_sign = IsUnsigned(a) ? b : a;
  const DType without = IsUnsigned(a) ? a : b;
  if (ElementSize(with_sign) > ElementSize(without)) return with_sign;
  switch (ElementSize(without)) {
    case 1: return DType::kInt16;
    case 2: return DType::kInt32;
    default: return DType::kInt64;
  }
}

DType PromoteFloats(DType a, DType b) {
  if (ElementSize(a) != ElementSize(b)) return ElementSize(a) > ElementSize(b) ? a : b;
  return DType::kFloat32;  // float16 with bfloat16
}

}  // namespace

absl::string_view DTypeName(DType dtype) { return kInfo[static_cast<size_t>(dtype)].name; }

std::optional<DType> ParseDType(absl::string_view name) {
  for (int i = 1; i < kNumDTypes; ++i) {
    if (kInfo[i].name == name) return static_cast<DType>(i);
  }
  return std::nullopt;
}

size_t ElementSize(DType dtype) { return kInfo[static_cast<size_t>(dtype)].size; }

bool IsFloat(DType dtype) {
  return (dtype >= DType::kFloat32 && dtype <= DType::kBFloat16) || IsFloat8(dtype);
}
bool IsComplex(DType dtype) {
  return dtype == DType::kComplex64 || dtype == DType::kComplex128;
}
bool IsInteger(DType dtype) { return dtype >= DType::kUInt8 && dtype <= DType::kInt64; }
bool IsUnsigned(DType dtype) {
  return dtype == DType::kUInt8 || dtype == DType::kUInt16 || dtype == DType::kUInt32 ||
         dtype == DType::kUInt64;
}
bool IsQuantized(DType dtype) { return dtype >= DType::kQInt8; }

DType RealOf(DType complex) {
  return complex == DType::kComplex128 ? DType::kFloat64 : DType::kFloat32;
}
DType ComplexOf(DType real) {
  return real == DType::kFloat64 ? DType::kComplex128 : DType::kComplex64;
}

std::optional<int> ScalarTypeCode(DType dtype) {
  const auto it = std::find(kScalarTypes.begin(), kScalarTypes.end(), dtype);
  if (it == kScalarTypes.end() || dtype == DType::kUndefined) return std::nullopt;
  return static_cast<int>(it - kScalarTypes.begin());
}

std::optional<DType> DTypeOfScalarType(int64_t code) {
  if (code < 0 || code >= static_cast<int64_t>(kScalarTypes.size())) return std::nullopt;
  const DType dtype = kScalarTypes[code];
  if (dtype == DType::kUndefined) return std::nullopt;
  return dtype;
}

DType PromoteTypes(DType a, DType b) {
  if (a == b || b == DType::kUndefined) return a;
  if (a == DType::kUndefined) return b;
  const int ca = Category(a), cb = Category(b);
  if (ca == 3 || cb == 3) {
    const DType ra = IsComplex(a) ? RealOf(a) : a, rb = IsComplex(b) ? RealOf(b) : b;
    return ComplexOf(PromoteTypes(ra, rb));
  }
  if (ca != cb) return ca > cb ? a : b;
  return ca == 2 ? PromoteFloats(a, b) : PromoteIntegers(a, b);
}

}  // namespace rules_onnx::ir
