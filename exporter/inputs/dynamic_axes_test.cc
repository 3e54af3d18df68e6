#include "exporter/inputs/dynamic_axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "exporter/inputs/read_inputs.h"

namespace rules_onnx::inputs {
namespace {

using ::testing::HasSubstr;

Inputs Example() {
  return *ReadInputs({"x:float32[2,3]", "n:int=1", "int64[2]", "y:float32[M=4,2]"}, nullptr);
}

// All axes' names, "N,|-|M,N" for three tensors.
std::string Named(absl::string_view json) {
  Inputs inputs = Example();
  const absl::Status status = ApplyDynamicAxes(json, {"out"}, &inputs);
  if (!status.ok()) return std::string(status.message());
  return absl::StrJoin(MutableTensors(&inputs), "|", [](std::string* out, const Tensor* tensor) {
    out->append(absl::StrJoin(tensor->axes, ",", [](std::string* text, const Axis& axis) {
      text->append(axis.symbol.empty() ? "-" : axis.symbol);
    }));
  });
}

TEST(DynamicAxes, ByNameAndByPosition) {
  EXPECT_EQ(Named(R"({"x": {"0": "N"}})"), "N,-|-|M,-");
  EXPECT_EQ(Named(R"({"0": {"0": "N", "1": "C"}, "1": {"0": "N"}})"), "N,C|N|M,-");
  EXPECT_EQ(Named(R"({"2": {"1": "N"}})"), "-,-|-|M,N");
  EXPECT_EQ(Named("{}"), "-,-|-|M,-");
}

TEST(DynamicAxes, AsAList) {
  EXPECT_EQ(Named(R"([{"0": "N"}, null, {"1": "N"}])"), "N,-|-|M,N");
  EXPECT_EQ(Named(R"([null, {"0": "K"}])"), "-,-|K|M,-");
  EXPECT_EQ(Named("[]"), "-,-|-|M,-");
}

TEST(DynamicAxes, AxesAsStringsAndFromTheEnd) {
  EXPECT_EQ(Named(R"({"x": ["0:N", "-1:C"], "y": ["-2:M"]})"), "N,C|-|M,-");
}

TEST(DynamicAxes, OutputsMeanNothing) {
  EXPECT_EQ(Named(R"({"x": {"0": "N"}, "out": {"0": "N"}})"), "N,-|-|M,-");
}

TEST(DynamicAxes, NamesThatNoExpressionCanHold) {
  EXPECT_EQ(Named(R"({"x": {"0": "batch-size", "1": "0"}})"), "batch_size,axis_0|-|M,-");
  EXPECT_EQ(Named(R"({"x": {"0": "min"}})"), "axis_min,-|-|M,-");
}

TEST(DynamicAxes, Errors) {
  EXPECT_EQ(Named(R"({"z": {"0": "N"}})"),
            "dynamic_axes: there is no input 'z'; the tensors are x, 1, y");
  EXPECT_THAT(Named(R"({"n": {"0": "N"}})"), HasSubstr("there is no input 'n'"));
  EXPECT_EQ(Named(R"({"x": {"2": "N"}})"), "dynamic_axes: input x has 2 axes and no axis 2");
  EXPECT_THAT(Named(R"({"x": {"-3": "N"}})"), HasSubstr("no axis -3"));
  EXPECT_THAT(Named(R"({"x": {"first": "N"}})"), HasSubstr("'first' is no axis of input x"));
  EXPECT_THAT(Named(R"({"x": {"0": ""}})"), HasSubstr("axis 0 of input x has an empty name"));
  EXPECT_THAT(Named(R"({"x": {"0": "a-b", "1": "a_b"}})"),
              HasSubstr("the axes 'a-b' and 'a_b' would both be a_b"));
  EXPECT_THAT(Named(R"({"x": {"0": 3}})"), HasSubstr("entry for input x must be like"));
  EXPECT_THAT(Named(R"({"x": ["0"]})"), HasSubstr("entry for input x must be like"));
  EXPECT_THAT(Named(R"({"x": "N"})"), HasSubstr("entry for input x must be like"));
  EXPECT_THAT(Named(R"({"y": {"0": "N"}})"), HasSubstr("axis 0 of input y is named both M and N"));
  EXPECT_THAT(Named(R"({"x": {"1": "N"}, "y": {"0": "M", "1": "N"}})"),
              HasSubstr("axis N has size 2 in input y, but 3 before"));
  EXPECT_THAT(Named("[null, null, null, null]"), HasSubstr("the list has 4 entries"));
  EXPECT_THAT(Named("{x: 1}"), HasSubstr("is not JSON"));
  EXPECT_THAT(Named("3"), HasSubstr("neither an object nor a list"));
}

}  // namespace
}  // namespace rules_onnx::inputs
