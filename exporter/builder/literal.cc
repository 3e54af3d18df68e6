#include "exporter/builder/literal.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

namespace rules_onnx::builder {
namespace {

using ir::DType;

template <typename T>
void Append(std::string* bytes, T value) {
  char buffer[sizeof(T)];
  std::memcpy(buffer, &value, sizeof(T));
  bytes->append(buffer, sizeof(T));
}

template <typename T>
T Read(const std::string& bytes, size_t index) {
  T value;
  std::memcpy(&value, bytes.data() + index * sizeof(T), sizeof(T));
  return value;
}

// Rounds to a binary float with `mantissa` explicit bits and 15-mantissa exponent bits.
uint16_t ToHalf(double value, int mantissa) {
  const int exponent_bits = 15 - mantissa;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  const uint16_t infinity = static_cast<uint16_t>(((1 << exponent_bits) - 1) << mantissa);
  if (std::isnan(value)) return sign | infinity | (1 << (mantissa - 1));
  const double magnitude = std::fabs(value);
  if (magnitude == 0) return sign;
  if (std::isinf(magnitude)) return sign | infinity;
  int exponent = std::ilogb(magnitude);
  if (exponent < 1 - bias) exponent = 1 - bias;  // subnormal
  // Units in the last place at this exponent, rounded half to even.
  const double units = std::nearbyint(std::ldexp(magnitude, mantissa - exponent));
  const int64_t bits =
      static_cast<int64_t>(units) + (static_cast<int64_t>(exponent + bias - 1) << mantissa);
  return bits >= infinity ? sign | infinity : sign | static_cast<uint16_t>(bits);
}

double FromHalf(uint16_t bits, int mantissa) {
  const int exponent_bits = 15 - mantissa;
  const int bias = (1 << (exponent_bits - 1)) - 1;
  const double sign = bits & 0x8000 ? -1 : 1;
  const int exponent = (bits & 0x7fff) >> mantissa;
  const int fraction = bits & ((1 << mantissa) - 1);
  if (exponent == (1 << exponent_bits) - 1) {
    return fraction ? std::numeric_limits<double>::quiet_NaN()
                    : sign * std::numeric_limits<double>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(fraction, 1 - bias - mantissa);
  return sign * std::ldexp(fraction + (1 << mantissa), exponent - bias - mantissa);
}

void AppendInt(std::string* bytes, int64_t value, DType dtype) {
  switch (dtype) {
    case DType::kBool: return Append<uint8_t>(bytes, value != 0);
    case DType::kUInt8: case DType::kQUInt8: return Append<uint8_t>(bytes, value);
    case DType::kInt8: case DType::kQInt8: return Append<int8_t>(bytes, value);
    case DType::kUInt16: return Append<uint16_t>(bytes, value);
    case DType::kInt16: return Append<int16_t>(bytes, value);
    case DType::kUInt32: return Append<uint32_t>(bytes, value);
    case DType::kInt32: case DType::kQInt32: return Append<int32_t>(bytes, value);
    default: return Append<int64_t>(bytes, value);
  }
}

void AppendFloat(std::string* bytes, double value, DType dtype) {
  switch (dtype) {
    case DType::kFloat64: return Append<double>(bytes, value);
    case DType::kFloat16: return Append<uint16_t>(bytes, ToHalf(value, 10));
    case DType::kBFloat16: return Append<uint16_t>(bytes, ToHalf(value, 7));
    default: return Append<float>(bytes, static_cast<float>(value));
  }
}

int64_t ReadInt(const std::string& bytes, size_t i, DType dtype) {
  switch (dtype) {
    case DType::kBool: case DType::kUInt8: case DType::kQUInt8: return Read<uint8_t>(bytes, i);
    case DType::kInt8: case DType::kQInt8: return Read<int8_t>(bytes, i);
    case DType::kUInt16: return Read<uint16_t>(bytes, i);
    case DType::kInt16: return Read<int16_t>(bytes, i);
    case DType::kUInt32: return Read<uint32_t>(bytes, i);
    case DType::kInt32: case DType::kQInt32: return Read<int32_t>(bytes, i);
    default: return Read<int64_t>(bytes, i);
  }
}

bool IsIntLike(DType dtype) {
  return IsInteger(dtype) || dtype == DType::kBool || IsQuantized(dtype);
}

size_t Count(const ir::TensorLiteral& literal) {
  return literal.bytes.size() / ElementSize(literal.dtype);
}

}  // namespace

static_assert(std::endian::native == std::endian::little);

int64_t NumElements(const std::vector<int64_t>& shape) {
  int64_t product = 1;
  for (const int64_t size : shape) product *= size;
  return product;
}

LiteralPtr IntLiteral(const std::vector<int64_t>& values, std::vector<int64_t> shape,
                      DType dtype) {
  if (!IsIntLike(dtype)) {
    return FloatLiteral(std::vector<double>(values.begin(), values.end()), std::move(shape),
                        dtype);
  }
  auto literal = std::make_shared<ir::TensorLiteral>();
  literal->dtype = dtype;
  literal->shape = std::move(shape);
  for (const int64_t value : values) AppendInt(&literal->bytes, value, dtype);
  return literal;
}

LiteralPtr FloatLiteral(const std::vector<double>& values, std::vector<int64_t> shape,
                        DType dtype) {
  auto literal = std::make_shared<ir::TensorLiteral>();
  literal->dtype = dtype;
  literal->shape = std::move(shape);
  for (const double value : values) {
    if (dtype == DType::kBool) {
      AppendInt(&literal->bytes, value != 0, dtype);
    } else if (IsIntLike(dtype)) {
      AppendInt(&literal->bytes, static_cast<int64_t>(value), dtype);
    } else {
      AppendFloat(&literal->bytes, value, dtype);
    }
  }
  return literal;
}

std::optional<std::vector<int64_t>> LiteralInts(const ir::TensorLiteral& literal) {
  if (!IsIntLike(literal.dtype)) return std::nullopt;
  std::vector<int64_t> values(Count(literal));
  for (size_t i = 0; i < values.size(); ++i) values[i] = ReadInt(literal.bytes, i, literal.dtype);
  return values;
}

std::optional<std::vector<double>> LiteralFloats(const ir::TensorLiteral& literal) {
  if (const auto ints = LiteralInts(literal)) {
    return std::vector<double>(ints->begin(), ints->end());
  }
  const auto read = [&](size_t i) -> double {
    switch (literal.dtype) {
      case DType::kFloat64: return Read<double>(literal.bytes, i);
      case DType::kFloat16: return FromHalf(Read<uint16_t>(literal.bytes, i), 10);
      case DType::kBFloat16: return FromHalf(Read<uint16_t>(literal.bytes, i), 7);
      default: return Read<float>(literal.bytes, i);
    }
  };
  if (literal.dtype < DType::kFloat32 || literal.dtype > DType::kBFloat16) return std::nullopt;
  std::vector<double> values(Count(literal));
  for (size_t i = 0; i < values.size(); ++i) values[i] = read(i);
  return values;
}

}  // namespace rules_onnx::builder
