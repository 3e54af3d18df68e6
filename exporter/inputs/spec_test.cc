#include "exporter/inputs/spec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "exporter/inputs/generate.h"

namespace rules_onnx::inputs {
namespace {

using ir::DType;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

Argument Parse(absl::string_view text, uint64_t position = 0) {
  absl::StatusOr<Argument> argument = ParseSpec(text, position);
  EXPECT_TRUE(argument.ok()) << argument.status();
  return argument.ok() ? *std::move(argument) : Argument();
}

std::string Message(absl::string_view text) {
  return std::string(ParseSpec(text, 0).status().message());
}

template <typename T>
std::vector<T> Elements(const Argument& argument) {
  const std::string& bytes = argument.value.tensor.bytes;
  std::vector<T> elements(bytes.size() / sizeof(T));
  std::memcpy(elements.data(), bytes.data(), bytes.size());
  return elements;
}

TEST(ParseSpec, TensorWithDynamicAxes) {
  const Argument argument = Parse("x:float32[N=10, 3 ,H = 8|6,224]");
  EXPECT_EQ(argument.name, "x");
  EXPECT_FALSE(argument.by_name);
  const Tensor& tensor = argument.value.tensor;
  EXPECT_EQ(tensor.dtype, DType::kFloat32);
  EXPECT_THAT(tensor.shape(), ElementsAre(10, 3, 8, 224));
  EXPECT_EQ(tensor.axes[0].symbol, "N");
  EXPECT_EQ(tensor.axes[0].second, std::nullopt);
  EXPECT_EQ(tensor.axes[1].symbol, "");
  EXPECT_EQ(tensor.axes[2].second, 6);
  EXPECT_EQ(tensor.bytes.size(), 10 * 3 * 8 * 224 * 4);
}

TEST(ParseSpec, NamesAreOptionalAndMayHavePoints) {
  EXPECT_EQ(Parse("float32[2]").name, "");
  EXPECT_EQ(Parse("state.h_0:float32[2]").name, "state.h_0");
}

TEST(ParseSpec, ScalarTensorAndEmptyTensor) {
  EXPECT_THAT(Parse("x:float64[]").value.tensor.axes, ::testing::IsEmpty());
  EXPECT_EQ(Parse("x:float64[]").value.tensor.bytes.size(), 8);
  EXPECT_EQ(Parse("x:float64[0,3]").value.tensor.bytes.size(), 0);
}

TEST(ParseSpec, Scalars) {
  EXPECT_EQ(Parse("n:int=-3").value.integer, -3);
  EXPECT_EQ(Parse("f:float=1.5e-3").value.number, 1.5e-3);
  EXPECT_TRUE(Parse("bool=true").value.boolean);
  EXPECT_EQ(Parse("mode:str=a b=,:c").value.text, "a b=,:c");
  EXPECT_EQ(Parse("y:None").value.kind, Value::Kind::kNone);
  EXPECT_EQ(Parse("n:int=3").value.kind, Value::Kind::kInt);
}

TEST(ParseSpec, IntegerRanges) {
  const std::vector<int64_t> ids = Elements<int64_t>(Parse("ids:int64[500]=-2..3"));
  EXPECT_EQ(*std::min_element(ids.begin(), ids.end()), -2);
  EXPECT_EQ(*std::max_element(ids.begin(), ids.end()), 3);
  EXPECT_THAT(Elements<uint8_t>(Parse("uint8[9]=255")), Each(255));
  const std::vector<int16_t> plain = Elements<int16_t>(Parse("int16[500]"));
  EXPECT_EQ(*std::min_element(plain.begin(), plain.end()), 0);
  EXPECT_EQ(*std::max_element(plain.begin(), plain.end()), 9);
}

TEST(ParseSpec, FloatRanges) {
  const std::vector<float> values = Elements<float>(Parse("x:float32[500]=0.25..0.5"));
  EXPECT_GE(*std::min_element(values.begin(), values.end()), 0.25);
  EXPECT_LE(*std::max_element(values.begin(), values.end()), 0.5);
  EXPECT_THAT(Elements<double>(Parse("float64[3]=2")), Each(2.0));
  EXPECT_THAT(Elements<float>(Parse("float32[3]=1e-3..1e-3")), Each(1e-3f));
  EXPECT_THAT(Elements<float>(Parse("float32[2]=-.5")), Each(-0.5f));
}

TEST(ParseSpec, ValuesDependOnThePositionOnly) {
  EXPECT_EQ(Elements<float>(Parse("x:float32[8]", 1)), Elements<float>(Parse("y:float32[2,4]", 1)));
  EXPECT_NE(Elements<float>(Parse("x:float32[8]", 1)), Elements<float>(Parse("x:float32[8]", 2)));
}

TEST(ParseSpec, ErrorsNameTheSpecAndThePlace) {
  EXPECT_THAT(Message("x:floaty[3]"),
              HasSubstr("input 'x:floaty[3]': 'floaty' is no dtype at '[3]'"));
  EXPECT_THAT(Message("x:qint8[3]"), HasSubstr("'qint8' is no dtype"));
  EXPECT_THAT(Message("x"), HasSubstr("'x' is no dtype at its end"));
  EXPECT_THAT(Message(""), HasSubstr("is no dtype"));
  EXPECT_THAT(Message(":float32[3]"), HasSubstr("a name is missing"));
  EXPECT_THAT(Message("x:float32"), HasSubstr("'[' is missing at its end"));
  EXPECT_THAT(Message("x:float32[3"), HasSubstr("',' or ']' is missing"));
  EXPECT_THAT(Message("x:float32[3,]"), HasSubstr("'' is no axis at ']'"));
  EXPECT_THAT(Message("x:float32[-1]"), HasSubstr("is no axis at '-1]'"));
  EXPECT_THAT(Message("x:float32[N]"), HasSubstr("axis N needs an example size, as in N=10"));
  EXPECT_THAT(Message("x:float32[N=4|]"), HasSubstr("the second size of axis N is missing"));
  EXPECT_THAT(Message("x:float32[N=4|4]"), HasSubstr("equals the first"));
  EXPECT_THAT(Message("x:float32[min=4]"), HasSubstr("'min' is no axis"));
  EXPECT_THAT(Message("x:float32[3] y"), HasSubstr("one part too many at 'y'"));
  EXPECT_THAT(Message("x:float32[99999999999]"), HasSubstr("more than 16 GiB"));
  EXPECT_THAT(Message("x:float32[99999999999999999999]"), HasSubstr("is no axis"));
  EXPECT_THAT(Message("x:float32[N=99999999999999999999]"),
              HasSubstr("size 99999999999999999999 is too large"));
  EXPECT_THAT(Message("x:float32[N=2|99999999999999999999]"), HasSubstr("is too large"));
  EXPECT_THAT(Message("x:float32[N=2|1000000000000,8]"), HasSubstr("more than 16 GiB"));
  EXPECT_THAT(Message("/etc/inputs"), HasSubstr("neither a spec"));
  EXPECT_THAT(Message("x:int64[3]=5..2"), HasSubstr("range 5..2 is empty"));
  EXPECT_THAT(Message("x:int64[3]=0.5..2"), HasSubstr("0.5..2 are no integers"));
  EXPECT_THAT(Message("x:int8[3]=0..300"), HasSubstr("range 0..300 does not fit into int8"));
  EXPECT_THAT(Message("x:float16[3]=0..1e6"), HasSubstr("is too large for float16"));
  EXPECT_THAT(Message("x:float32[3]=nan"), HasSubstr("is empty"));
  EXPECT_THAT(Message("x:int64[3]="), HasSubstr("a number is missing"));
  EXPECT_THAT(Message("x:bool[3]=1"), HasSubstr("takes no range"));
  EXPECT_THAT(Message("n:int"), HasSubstr("'=' and a value are missing after int"));
  EXPECT_THAT(Message("n:int=3.5"), HasSubstr("'3.5' is no int"));
  EXPECT_THAT(Message("b:bool=yes"), HasSubstr("'yes' is no bool"));
}

// Frozen: a change would change every user's example inputs. The integers were computed from the
// formula of generate.h by a program in another language (testdata/generate.py).
TEST(Generate, ValuesAreFrozen) {
  EXPECT_THAT(Elements<int64_t>(Parse("int64[6]=0..99", 3)), ElementsAre(58, 37, 4, 70, 34, 31));
  EXPECT_THAT(Elements<float>(Parse("float32[3]", 0)),
              ElementsAre(0x1.8882ap-1f, -0x1.18762p-3f, -0x1.e4ee8cp-1f));
  EXPECT_THAT(Elements<uint16_t>(Parse("float16[3]=0..3", 0)), ElementsAre(0x414d, 0x3d2c, 0x2d10));
  EXPECT_THAT(Elements<uint8_t>(Parse("bool[6]", 1)), ElementsAre(0, 1, 1, 0, 1, 0));
}

TEST(Generate, ALongerTensorBeginsWithTheShorter) {
  const std::string longer = *GenerateFloats(DType::kFloat32, 100, {}, 4);
  EXPECT_EQ(*GenerateFloats(DType::kFloat32, 10, {}, 4), longer.substr(0, 40));
}

TEST(Generate, EndsOfIntegerTypes) {
  EXPECT_TRUE(GenerateInts(DType::kInt64, 4, {INT64_MIN, INT64_MAX}, 0).ok());
  EXPECT_TRUE(GenerateInts(DType::kInt32, 4, {INT32_MIN, INT32_MAX}, 0).ok());
  EXPECT_FALSE(GenerateInts(DType::kInt32, 4, {0, int64_t{INT32_MAX} + 1}, 0).ok());
  EXPECT_FALSE(GenerateInts(DType::kUInt8, 4, {-1, 3}, 0).ok());
  EXPECT_FALSE(GenerateInts(DType::kFloat32, 4, {}, 0).ok());
}

// One value in each small format, in codes that the formats' papers and numpy give.
TEST(Generate, SmallFloatsAreRoundedToNearestEven) {
  const auto code = [](DType dtype, double value) {
    const std::string bytes = *GenerateFloats(dtype, 1, {value, value}, 0);
    uint32_t code = 0;
    std::memcpy(&code, bytes.data(), bytes.size());
    return code;
  };
  EXPECT_EQ(code(DType::kFloat16, 1.0), 0x3c00);
  EXPECT_EQ(code(DType::kFloat16, -2.5), 0xc100);
  EXPECT_EQ(code(DType::kFloat16, 1 + 0x1p-11), 0x3c00);  // a tie
  EXPECT_EQ(code(DType::kFloat16, 1 + 0x3p-11), 0x3c02);  // a tie
  EXPECT_EQ(code(DType::kFloat16, 0x1p-24), 0x0001);      // the smallest subnormal
  EXPECT_EQ(code(DType::kFloat16, 0x1p-14), 0x0400);      // the smallest normal
  EXPECT_EQ(code(DType::kFloat16, 2 - 0x1p-12), 0x4000);  // carries into the exponent
  EXPECT_EQ(code(DType::kBFloat16, -1.5), 0xbfc0);
  EXPECT_EQ(code(DType::kFloat8E4M3FN, 1.0), 0x38);
  EXPECT_EQ(code(DType::kFloat8E4M3FNUZ, 1.0), 0x40);
  EXPECT_EQ(code(DType::kFloat8E5M2, -1.0), 0xbc);
  EXPECT_EQ(code(DType::kFloat8E5M2FNUZ, 1.0), 0x40);
  EXPECT_EQ(code(DType::kFloat8E5M2FNUZ, -0x1p-40), 0x00);
}

TEST(Generate, ComplexHasTwoFloats) {
  EXPECT_EQ(*GenerateFloats(DType::kComplex64, 5, {}, 2),
            *GenerateFloats(DType::kFloat32, 10, {}, 2));
}

}  // namespace
}  // namespace rules_onnx::inputs
