#include "exporter/ir/dtype.h"

#include <sstream>
#include <string>
#include <vector>

#include "gtest/gtest.h"

namespace rules_onnx::ir {
namespace {

TEST(DTypeTest, NamesRoundTrip) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    EXPECT_EQ(ParseDType(DTypeName(dtype)), dtype);
  }
  EXPECT_EQ(ParseDType("undefined"), std::nullopt);
  EXPECT_EQ(ParseDType("float"), std::nullopt);
}

TEST(DTypeTest, ScalarTypeCodesRoundTrip) {
  int codes = 0;
  for (int code = -1; code < 64; ++code) {
    const std::optional<DType> dtype = DTypeOfScalarType(code);
    if (!dtype) continue;
    ++codes;
    EXPECT_EQ(ScalarTypeCode(*dtype), code);
  }
  EXPECT_EQ(codes, kNumDTypes - 2);  // all but kUndefined and kString
  EXPECT_EQ(DTypeOfScalarType(6), DType::kFloat32);
  EXPECT_EQ(DTypeOfScalarType(15), DType::kBFloat16);
  EXPECT_EQ(DTypeOfScalarType(29), DType::kUInt64);
  EXPECT_EQ(ScalarTypeCode(DType::kUndefined), std::nullopt);
  EXPECT_EQ(ScalarTypeCode(DType::kString), std::nullopt);
}

// torch.promote_types of PyTorch 2.13; "-": it refuses.
constexpr char kPromotion[] = R"(
              float32    float64    float16    bfloat16   uint8      int8       uint16     int16      uint32     int32      uint64     int64      bool       complex64  complex128 float8_e4m3fn float8_e5m2
float32       float32    float64    float32    float32    float32    float32    float32    float32    float32    float32    float32    float32    float32    complex64  complex128 -          -
float64       float64    float64    float64    float64    float64    float64    float64    float64    float64    float64    float64    float64    float64    complex128 complex128 -          -
float16       float32    float64    float16    float32    float16    float16    float16    float16    float16    float16    float16    float16    float16    complex64  complex128 -          -
bfloat16      float32    float64    float32    bfloat16   bfloat16   bfloat16   bfloat16   bfloat16   bfloat16   bfloat16   bfloat16   bfloat16   bfloat16   complex64  complex128 -          -
uint8         float32    float64    float16    bfloat16   uint8      int16      -          int16      -          int32      -          int64      uint8      complex64  complex128 -          -
int8          float32    float64    float16    bfloat16   int16      int8       -          int16      -          int32      -          int64      int8       complex64  complex128 -          -
uint16        float32    float64    float16    bfloat16   -          -          uint16     -          -          -          -          -          -          -          -          -          -
int16         float32    float64    float16    bfloat16   int16      int16      -          int16      -          int32      -          int64      int16      complex64  complex128 -          -
uint32        float32    float64    float16    bfloat16   -          -          -          -          uint32     -          -          -          -          -          -          -          -
int32         float32    float64    float16    bfloat16   int32      int32      -          int32      -          int32      -          int64      int32      complex64  complex128 -          -
uint64        float32    float64    float16    bfloat16   -          -          -          -          -          -          uint64     -          -          -          -          -          -
int64         float32    float64    float16    bfloat16   int64      int64      -          int64      -          int64      -          int64      int64      complex64  complex128 -          -
bool          float32    float64    float16    bfloat16   uint8      int8       -          int16      -          int32      -          int64      bool       complex64  complex128 -          -
complex64     complex64  complex128 complex64  complex64  complex64  complex64  -          complex64  -          complex64  -          complex64  complex64  complex64  complex128 -          -
complex128    complex128 complex128 complex128 complex128 complex128 complex128 -          complex128 -          complex128 -          complex128 complex128 complex128 complex128 -          -
float8_e4m3fn -          -          -          -          -          -          -          -          -          -          -          -          -          -          -          float8_e4m3fn -
float8_e5m2   -          -          -          -          -          -          -          -          -          -          -          -          -          -          -          -          float8_e5m2
)";

std::vector<std::string> Words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

TEST(DTypeTest, PromotesAsPyTorch) {
  std::istringstream lines(kPromotion);
  std::vector<std::string> columns;
  int checked = 0;
  for (std::string line; std::getline(lines, line);) {
    const std::vector<std::string> words = Words(line);
    if (words.empty()) continue;
    if (columns.empty()) {
      columns = words;
      continue;
    }
    ASSERT_EQ(words.size(), columns.size() + 1);
    for (size_t i = 0; i < columns.size(); ++i) {
      if (words[i + 1] == "-") continue;
      ++checked;
      EXPECT_EQ(DTypeName(PromoteTypes(*ParseDType(words[0]), *ParseDType(columns[i]))),
                words[i + 1])
          << words[0] << " with " << columns[i];
    }
  }
  EXPECT_GT(checked, 100);
}

TEST(DTypeTest, UndefinedIsNeutralToPromotion) {
  EXPECT_EQ(PromoteTypes(DType::kUndefined, DType::kInt8), DType::kInt8);
  EXPECT_EQ(PromoteTypes(DType::kInt8, DType::kUndefined), DType::kInt8);
}

TEST(DTypeTest, EveryDTypeIsInOneCategory) {
  for (int i = 1; i < kNumDTypes; ++i) {
    const DType dtype = static_cast<DType>(i);
    if (dtype == DType::kBool || dtype == DType::kString) continue;
    EXPECT_EQ(IsFloat(dtype) + IsComplex(dtype) + IsInteger(dtype) + IsQuantized(dtype), 1)
        << DTypeName(dtype);
  }
}

}  // namespace
}  // namespace rules_onnx::ir
