#include "exporter/torch/script/observed.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>
#include <utility>
#include <vector>

namespace rules_onnx::script {
namespace {

using ir::Dim;

// The example, each axis alone, both moved, both moved far.
const std::vector<Bindings> kRuns = {{{"H", 16}, {"N", 4}}, {{"H", 17}, {"N", 4}},
                                     {{"H", 16}, {"N", 5}}, {{"H", 19}, {"N", 9}},
                                     {{"H", 83}, {"N", 73}}};

std::vector<int64_t> Sizes(const std::function<int64_t(int64_t h, int64_t n)>& of) {
  std::vector<int64_t> sizes;
  for (const Bindings& run : kRuns) sizes.push_back(of(run.at("H"), run.at("N")));
  return sizes;
}

std::string Fit(const std::function<int64_t(int64_t h, int64_t n)>& of, const DimHints& hints = {}) {
  return FitDim(kRuns, Sizes(of), hints).ToString();
}

TEST(FitDim, FindsNumbersSymbolsAndLinearForms) {
  EXPECT_EQ(Fit([](int64_t, int64_t) { return 7; }), "7");
  EXPECT_EQ(Fit([](int64_t, int64_t n) { return n; }), "N");
  EXPECT_EQ(Fit([](int64_t h, int64_t) { return 2 * h - 3; }), "2*H - 3");
  EXPECT_EQ(Fit([](int64_t h, int64_t n) { return h + 3 * n + 1; }), "H + 3*N + 1");
}

TEST(FitDim, FindsProducts) {
  EXPECT_EQ(Fit([](int64_t h, int64_t n) { return h * n; }), "H*N");
  EXPECT_TRUE(FitDim(kRuns, Sizes([](int64_t h, int64_t n) { return 2 * (h + 1) * n; }), {})
                  .Equals(Dim(2) * (Dim::Symbol("H") + Dim(1)) * Dim::Symbol("N")));
}

TEST(FitDim, KeepsOnlyWhatHoldsInEveryRun) {
  EXPECT_EQ(Fit([](int64_t h, int64_t n) { return h == 83 ? 1 : h + n; }), "?");
  EXPECT_EQ(Fit([](int64_t h, int64_t) { return h / 2; }), "?");
  EXPECT_EQ(FitDim(kRuns, {1, 2, Observed::kVaries, 1, 1}, {}).ToString(), "?");
}

TEST(FitDim, TakesAShapeRuleBeforeANumber) {
  const Dim coarse = Dim::FloorDiv(Dim::Symbol("H"), Dim(100));
  EXPECT_EQ(Fit([](int64_t h, int64_t) { return h / 100; }), "0");
  EXPECT_TRUE(FitDim(kRuns, Sizes([](int64_t h, int64_t) { return h / 100; }), {.derived = {coarse}})
                  .Equals(coarse));
  EXPECT_EQ(Fit([](int64_t, int64_t) { return 3; }, {.derived = {coarse}}), "3");
}

TEST(FitDim, NeedsARunThatTheFitDidNotUse) {
  const std::vector<Bindings> two = {{{"N", 4}}, {{"N", 5}}};
  EXPECT_EQ(FitDim(two, {8, 10}, {}).ToString(), "?");
  EXPECT_EQ(FitDim(two, {4, 5}, {}).ToString(), "N");
}

Observed Tensor(std::vector<int64_t> sizes) {
  return {.kind = ir::Type::Kind::kTensor, .dtype = ir::DType::kFloat32, .sizes = std::move(sizes)};
}

TEST(ObservedJoin, MarksSizesThatVary) {
  Observed seen = Tensor({2, 3});
  seen.Join(Tensor({2, 4}));
  EXPECT_EQ(seen.sizes, (std::vector<int64_t>{2, Observed::kVaries}));
  seen.Join(Tensor({2}));
  EXPECT_FALSE(seen.sizes.has_value());
}

TEST(ObservedJoin, NoneAndAValueAreOptional) {
  Observed seen{.kind = ir::Type::Kind::kNone};
  seen.Join(Tensor({2}));
  ASSERT_EQ(seen.kind, ir::Type::Kind::kOptional);
  EXPECT_EQ(seen.elements[0].sizes, (std::vector<int64_t>{2}));
}

TEST(ObservedJoin, ListsOfDifferentLengthKeepOneItem) {
  Observed a{.kind = ir::Type::Kind::kList, .elements = {Tensor({2})}};
  a.Join({.kind = ir::Type::Kind::kList, .elements = {Tensor({2}), Tensor({3})}});
  EXPECT_TRUE(a.length_varies);
  ASSERT_EQ(a.elements.size(), 1u);
  EXPECT_EQ(a.elements[0].sizes, (std::vector<int64_t>{Observed::kVaries}));
}

TEST(JoinTypes, KeepsEqualDims) {
  const ir::Type a = ir::Type::Tensor(ir::DType::kFloat32, ir::Shape{Dim::Symbol("N"), Dim(3)});
  const ir::Type b = ir::Type::Tensor(ir::DType::kFloat32, ir::Shape{Dim::Symbol("N"), Dim(4)});
  EXPECT_EQ(JoinTypes(a, b).ToString(), "float32[N, ?]");
}

TEST(JoinTypes, ListsOfNumbersAmongTensorsAreTensors) {
  const ir::Type tensor = ir::Type::Tensor(ir::DType::kInt64, ir::Shape{Dim::Unknown()});
  const ir::Type number = ir::Type::Scalar(ir::Type::Kind::kInt);
  EXPECT_EQ(JoinTypes(tensor, ir::Type::List(number)).ToString(), "int64[?]");
  EXPECT_EQ(JoinTypes(ir::Type::Tuple({number, number}), tensor).ToString(), "int64[?]");
  const ir::Type other = ir::Type::Scalar(ir::Type::Kind::kFloat);
  EXPECT_EQ(JoinTypes(tensor, ir::Type::List(other)).kind, ir::Type::Kind::kUnknown);
}

}  // namespace
}  // namespace rules_onnx::script
