#include "exporter/inputs/generate.h"

#include <cfloat>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/str_cat.h"

namespace rules_onnx::inputs {
namespace {

using ir::DType;

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

class Stream {
 public:
  explicit Stream(uint64_t position) : state_(Mix(position)) {}
  uint64_t Next() { return Mix(state_ += 0x9e3779b97f4a7c15); }

 private:
  uint64_t state_;
};

// An IEEE-like format of at most 32 bits.
struct Format {
  int fraction_bits;
  int bias;
  double max;
};

Format FormatOf(DType dtype) {
  switch (dtype) {
    case DType::kFloat16:
      return {10, 15, 65504};
    case DType::kBFloat16:
      return {7, 127, 0x1.fep127};
    case DType::kFloat8E4M3FN:
      return {3, 7, 448};
    case DType::kFloat8E4M3FNUZ:
      return {3, 8, 240};
    case DType::kFloat8E5M2:
      return {2, 15, 57344};
    case DType::kFloat8E5M2FNUZ:
      return {2, 16, 57344};
    case DType::kFloat64:
      return {52, 1023, DBL_MAX};
    default:
      return {23, 127, FLT_MAX};
  }
}

// The code of a value of at most format.max, rounded to nearest even. Zero has no sign: the FNUZ
// formats have no negative one.
uint32_t Encode(double value, const Format& format, int sign_bit) {
  int exponent;
  std::frexp(value, &exponent);
  exponent = std::max(exponent - 1, 1 - format.bias);  // below: subnormal
  const double scaled = std::ldexp(std::fabs(value), format.fraction_bits - exponent);
  const uint32_t significand = static_cast<uint32_t>(std::nearbyint(scaled));
  if (significand == 0) return 0;
  // A normal number's leading bit adds 1 to the exponent.
  const uint32_t code = ((exponent + format.bias - 1) << format.fraction_bits) + significand;
  return code | (value < 0 ? 1u << sign_bit : 0);
}

template <typename T>
void Append(T value, std::string* bytes) {
  bytes->append(reinterpret_cast<const char*>(&value), sizeof(T));
}

void AppendFloat(double value, DType dtype, const Format& format, std::string* bytes) {
  switch (ir::ElementSize(dtype)) {
    case 8:
      return Append(value, bytes);
    case 4:
      return Append(static_cast<float>(value), bytes);
    case 2:
      return Append(static_cast<uint16_t>(Encode(value, format, 15)), bytes);
    default:
      return Append(static_cast<uint8_t>(Encode(value, format, 7)), bytes);
  }
}

IntRange LimitsOf(DType dtype) {
  if (dtype == DType::kUInt64) return {0, INT64_MAX};
  const int bits = 8 * ir::ElementSize(dtype);
  if (ir::IsUnsigned(dtype)) return {0, (int64_t{1} << bits) - 1};
  const int64_t max = static_cast<int64_t>(UINT64_MAX >> (65 - bits));
  return {-max - 1, max};
}

absl::Status RangeError(absl::string_view range, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("range ", range, " ", what));
}

}  // namespace

absl::StatusOr<std::string> GenerateInts(DType dtype, uint64_t count, const IntRange& range,
                                         uint64_t position) {
  const std::string text = absl::StrCat(range.min, "..", range.max);
  if (!ir::IsInteger(dtype)) {
    return RangeError(text, absl::StrCat("of integers cannot fill ", ir::DTypeName(dtype)));
  }
  if (range.min > range.max) return RangeError(text, "is empty");
  const IntRange limits = LimitsOf(dtype);
  if (range.min < limits.min || range.max > limits.max) {
    return RangeError(text, absl::StrCat("does not fit into ", ir::DTypeName(dtype)));
  }
  const uint64_t values = static_cast<uint64_t>(range.max) - range.min + 1;  // 0: all 2^64
  std::string bytes;
  bytes.reserve(count * ir::ElementSize(dtype));
  Stream stream(position);
  for (uint64_t i = 0; i < count; ++i) {
    const uint64_t random = stream.Next();
    const uint64_t value = range.min + (values == 0 ? random : random % values);
    // Little endian: the low bytes come first.
    bytes.append(reinterpret_cast<const char*>(&value), ir::ElementSize(dtype));
  }
  return bytes;
}

absl::StatusOr<std::string> GenerateFloats(DType dtype, uint64_t count, const FloatRange& range,
                                           uint64_t position) {
  const std::string text = absl::StrCat(range.min, "..", range.max);
  if (!ir::IsFloat(dtype) && !ir::IsComplex(dtype)) {
    return RangeError(text, absl::StrCat("of floats cannot fill ", ir::DTypeName(dtype)));
  }
  if (ir::IsComplex(dtype)) return GenerateFloats(ir::RealOf(dtype), 2 * count, range, position);
  if (!(range.min <= range.max)) return RangeError(text, "is empty");
  const Format format = FormatOf(dtype);
  // Half of the limit: the length of the range is finite then.
  if (range.min < -format.max / 2 || range.max > format.max / 2) {
    return RangeError(text, absl::StrCat("is too large for ", ir::DTypeName(dtype)));
  }
  const int bits = format.fraction_bits + 1;
  std::string bytes;
  bytes.reserve(count * ir::ElementSize(dtype));
  Stream stream(position);
  for (uint64_t i = 0; i < count; ++i) {
    const double unit = std::ldexp(static_cast<double>(stream.Next() >> (64 - bits)), -bits);
    AppendFloat(range.min + (range.max - range.min) * unit, dtype, format, &bytes);
  }
  return bytes;
}

std::string GenerateBools(uint64_t count, uint64_t position) {
  std::string bytes(count, '\0');
  Stream stream(position);
  for (char& byte : bytes) byte = stream.Next() & 1;
  return bytes;
}

}  // namespace rules_onnx::inputs
