#include "exporter/ir/dim.h"

#include <cstdint>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rules_onnx::ir {
namespace {

const Dim n = Dim::Symbol("N");
const Dim h = Dim::Symbol("H");

TEST(DimTest, NumbersFold) {
  EXPECT_TRUE((Dim(3) + Dim(4)).is_number());
  EXPECT_EQ((Dim(3) + Dim(4)).value(), 7);
  EXPECT_EQ((Dim(3) - Dim(4)).value(), -1);
  EXPECT_EQ((Dim(3) * Dim(0)).value(), 0);
  EXPECT_EQ(Dim::FloorDiv(Dim(-7), Dim(2)).value(), -4);
  EXPECT_EQ(Dim::FloorDiv(Dim(7), Dim(-2)).value(), -4);
  EXPECT_EQ(Dim::Mod(Dim(-7), Dim(4)).value(), 1);
  EXPECT_EQ(Dim::Mod(Dim(7), Dim(-4)).value(), -1);
  EXPECT_EQ(Dim::Min(Dim(2), Dim(5)).value(), 2);
  EXPECT_EQ(Dim::Max(Dim(2), Dim(5)).value(), 5);
}

TEST(DimTest, EqualExpressionsAreEqualAndPrintEqual) {
  EXPECT_TRUE((n + h).Equals(h + n));
  EXPECT_TRUE((n * h).Equals(h * n));
  EXPECT_TRUE(((n + Dim(1)) * (n - Dim(1))).Equals(n * n - Dim(1)));
  EXPECT_TRUE((n - n).Equals(Dim(0)));
  EXPECT_TRUE((n + n).Equals(Dim(2) * n));
  EXPECT_TRUE(Dim::FloorDiv(Dim(4) * n + Dim(6), Dim(2)).Equals(Dim(2) * n + Dim(3)));
  EXPECT_TRUE(Dim::Min(n, n).Equals(n));
  EXPECT_FALSE(n.Equals(h));
  EXPECT_FALSE(Dim::FloorDiv(n, Dim(2)).Equals(Dim::FloorDiv(n, Dim(3))));
  EXPECT_EQ((n + h).ToString(), (h + n).ToString());
}

TEST(DimTest, PrintsCanonically) {
  EXPECT_EQ(Dim(0).ToString(), "0");
  EXPECT_EQ(Dim(-3).ToString(), "-3");
  EXPECT_EQ((Dim(2) * n - Dim(1)).ToString(), "2*N - 1");
  EXPECT_EQ((Dim(1) - n).ToString(), "-N + 1");
  EXPECT_EQ((h * n + n * n).ToString(), "H*N + N*N");
  EXPECT_EQ(Dim::FloorDiv(n - Dim(1), Dim(2)).ToString(), "floordiv(N - 1, 2)");
  EXPECT_EQ(Dim::Unknown().ToString(), "?");
  EXPECT_EQ(ShapeToString({n, 3, Dim::Unknown()}), "[N, 3, ?]");
  EXPECT_EQ(ShapeToString({}), "[]");
}

TEST(DimTest, UnknownIsNeverEqualAndSpreads) {
  EXPECT_FALSE(Dim().Equals(Dim()));
  EXPECT_TRUE((n + Dim()).is_unknown());
  EXPECT_TRUE((Dim() * Dim(0)).is_unknown());
  EXPECT_TRUE(Dim::Max(n, Dim()).is_unknown());
  EXPECT_TRUE(Dim::FloorDiv(Dim(), Dim(2)).is_unknown());
  EXPECT_TRUE(Dim::FloorDiv(Dim(1), Dim(0)).is_unknown());
  EXPECT_FALSE(Dim().is_number());
}

TEST(DimTest, Evaluates) {
  const Dim dim = Dim::FloorDiv(n + Dim(2), Dim(3)) * h + Dim::Mod(n, Dim(2));
  EXPECT_EQ(dim.Evaluate({{"N", 7}, {"H", 5}}), 16);
  EXPECT_EQ(dim.Evaluate({{"N", 7}}), std::nullopt);
  EXPECT_EQ(Dim::FloorDiv(n, h).Evaluate({{"N", 7}, {"H", 0}}), std::nullopt);
  EXPECT_EQ((n * n).Evaluate({{"N", INT64_MAX}}), std::nullopt);
  EXPECT_EQ((n + h).Evaluate({{"N", INT64_MAX}, {"H", 1}}), std::nullopt);
  EXPECT_EQ(Dim::FloorDiv(n, h).Evaluate({{"N", INT64_MIN}, {"H", -1}}), std::nullopt);
  EXPECT_EQ(Dim::Mod(n, Dim(7)).Evaluate({{"N", INT64_MIN}}), 6);
}

TEST(DimTest, OverflowIsUnknown) {
  EXPECT_TRUE((Dim(INT64_MAX) + Dim(1)).is_unknown());
  EXPECT_TRUE((Dim(INT64_MAX) * n * Dim(2)).is_unknown());
  Dim wide(1);
  for (int i = 0; i < 40; ++i) wide = wide * (Dim::Symbol("a" + std::to_string(i)) + Dim(1));
  EXPECT_TRUE(wide.is_unknown());
}

TEST(DimTest, CollectsSymbolsOfFunctionsToo) {
  std::set<std::string> symbols;
  (Dim::Max(Dim::FloorDiv(n, h), Dim(1)) + Dim::Symbol("s0")).CollectSymbols(&symbols);
  EXPECT_THAT(symbols, ::testing::ElementsAre("H", "N", "s0"));
}

TEST(DimTest, TextRoundTrips) {
  for (const Dim& dim :
       {Dim(0), Dim(-12), n, Dim(-1) * n, Dim(2) * n * h - Dim(7), n * n * n - h,
        Dim::FloorDiv(n - Dim(1), Dim(2)) + Dim(1), Dim::Mod(Dim(-1) * n - Dim(3), h + Dim(1)),
        Dim::Max(Dim::Min(n, h), Dim(4)) * Dim(3), Dim::FloorDiv(Dim::FloorDiv(n, Dim(2)), h)}) {
    const absl::StatusOr<Dim> parsed = Dim::Parse(dim.ToString());
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_TRUE(parsed->Equals(dim)) << dim.ToString() << " became " << parsed->ToString();
    EXPECT_EQ(parsed->ToString(), dim.ToString());
  }
  EXPECT_TRUE(Dim::Parse("?")->is_unknown());
  EXPECT_TRUE(Dim::Parse(" ( N+1 )*2 ")->Equals(Dim(2) * n + Dim(2)));
}

TEST(DimTest, ParsesLongSumsButNoBottomlessNesting) {
  std::string sum = "N";
  for (int i = 0; i < 1000; ++i) sum += " + 2*N";
  EXPECT_TRUE(Dim::Parse(sum)->Equals(Dim(2001) * n));
  EXPECT_FALSE(Dim::Parse(std::string(100000, '(')).ok());
}

TEST(DimTest, RefusesWhatIsNoExpression) {
  for (const char* text : {"", "N +", "N N", "(N", "N)", "foo(N, 1)", "min(N)", "min(N, 1, 2)",
                           "N * ", "99999999999999999999", "N/2", "+N"}) {
    EXPECT_FALSE(Dim::Parse(text).ok()) << text;
  }
}

TEST(DimTest, NumElementsIsTheProduct) {
  EXPECT_EQ(NumElements({}).value(), 1);
  EXPECT_TRUE(NumElements({n, 3, h}).Equals(Dim(3) * n * h));
}

}  // namespace
}  // namespace rules_onnx::ir
