#include "exporter/pt2/size_expression.h"

#include <string>

#include "absl/strings/string_view.h"
#include "gtest/gtest.h"

namespace rules_onnx::pt2 {
namespace {

std::string Parse(absl::string_view text) {
  const auto dim = ParseSizeExpression(text);
  return dim.ok() ? dim->ToString() : "error";
}

TEST(SizeExpressionTest, Numbers) {
  EXPECT_EQ(Parse("Integer(3)"), "3");
  EXPECT_EQ(Parse("Integer(-1)"), "-1");
  EXPECT_EQ(Parse("7"), "7");
}

TEST(SizeExpressionTest, Symbols) {
  EXPECT_EQ(Parse("Symbol('s53')"), "s53");
  EXPECT_EQ(Parse("Symbol('s77', positive=True, integer=True)"), "s77");
  EXPECT_EQ(Parse("Symbol('u0', integer=True)"), "u0");
}

TEST(SizeExpressionTest, SumsAndProducts) {
  EXPECT_EQ(Parse("Add(Symbol('s0'), Integer(-1))"), "s0 - 1");
  EXPECT_EQ(Parse("Mul(Integer(2), Symbol('s0'), Symbol('s1'))"), "2*s0*s1");
  EXPECT_EQ(Parse("Add(Mul(Integer(3), Symbol('s0')), Symbol('s1'), Integer(4))"), "3*s0 + s1 + 4");
  EXPECT_EQ(Parse("Pow(Symbol('s0'), Integer(2))"), "s0*s0");
}

TEST(SizeExpressionTest, Divisions) {
  EXPECT_EQ(Parse("Add(FloorDiv(Add(Symbol('s53'), Integer(-1)), Integer(2)), Integer(1))"),
            "floordiv(s53 - 1, 2) + 1");
  EXPECT_EQ(Parse("FloorDiv(Mul(Integer(4), Symbol('s0')), Integer(2))"), "2*s0");
  EXPECT_EQ(Parse("CleanDiv(Symbol('s0'), Symbol('s1'))"), "floordiv(s0, s1)");
  EXPECT_EQ(Parse("CeilToInt(IntTrueDiv(Symbol('s0'), Integer(3)))"), "-floordiv(-s0, 3)");
  EXPECT_EQ(Parse("FloorToInt(IntTrueDiv(Symbol('s0'), Integer(3)))"), "floordiv(s0, 3)");
  EXPECT_EQ(Parse("Mul(Rational(1, 2), Symbol('s0'))"), "floordiv(s0, 2)");
  EXPECT_EQ(Parse("Add(Mul(Rational(1, 2), Symbol('s0')), Rational(1, 2))"), "floordiv(s0 + 1, 2)");
  EXPECT_EQ(Parse("Mul(Symbol('s0'), Pow(Integer(4), Integer(-1)))"), "floordiv(s0, 4)");
}

TEST(SizeExpressionTest, RemaindersAndBounds) {
  EXPECT_EQ(Parse("Mod(Symbol('s0'), Integer(2))"), "mod(s0, 2)");
  EXPECT_EQ(Parse("PythonMod(Symbol('s0'), Integer(2))"), "mod(s0, 2)");
  EXPECT_EQ(Parse("ModularIndexing(Symbol('s0'), Integer(3), Integer(5))"),
            "mod(floordiv(s0, 3), 5)");
  EXPECT_EQ(Parse("Max(Integer(1), Symbol('s0'))"), "max(1, s0)");
  EXPECT_EQ(Parse("Min(Symbol('s0'), Symbol('s1'), Integer(9))"), "min(min(s0, s1), 9)");
}

TEST(SizeExpressionTest, WhatDimsCannotSayIsUnknown) {
  EXPECT_EQ(Parse("TruncToInt(FloatTrueDiv(Symbol('s0'), Float('2.5', precision=53)))"), "?");
  EXPECT_EQ(Parse("Add(Integer(1), SomeNewFunction(Symbol('s0')))"), "?");
  EXPECT_EQ(Parse("Pow(Symbol('s0'), Symbol('s1'))"), "?");
  EXPECT_EQ(Parse("Where(Eq(Symbol('s0'), Integer(1)), Integer(2), Integer(3))"), "?");
}

TEST(SizeExpressionTest, PlainText) {
  EXPECT_EQ(Parse("s0"), "s0");
  EXPECT_EQ(Parse("4*s0"), "4*s0");
  EXPECT_EQ(Parse("2*s0*s1 - s1 + 3"), "2*s0*s1 - s1 + 3");
  EXPECT_EQ(Parse("-s0 + 7"), "-s0 + 7");
  EXPECT_EQ(Parse("s0**2"), "s0*s0");
  EXPECT_EQ(Parse("((s0 - 1)//2) + 1"), "floordiv(s0 - 1, 2) + 1");
  EXPECT_EQ(Parse("floor(s0/3)"), "floordiv(s0, 3)");
  EXPECT_EQ(Parse("s0/2"), "floordiv(s0, 2)");
  EXPECT_EQ(Parse("s0 % 4"), "mod(s0, 4)");
  EXPECT_EQ(Parse("Max(1, s0)"), "max(1, s0)");
  EXPECT_EQ(Parse("8 - 2 - 1"), "5");
  EXPECT_EQ(Parse("oo"), "?");
  EXPECT_EQ(Parse("Integer(99999999999999999999)"), "?");
  EXPECT_EQ(Parse("2.5*s0"), "error");
}

TEST(SizeExpressionTest, Errors) {
  for (const char* text : {"4*", "*s0", "(s0", "s0 s1", "s0 +", "--", "", "Add(", "Add(Integer(1)",
                           "Add(Integer(1),)", "Integer(1) x", "Symbol(s0)", "Symbol('')",
                           "Symbol('s 0')", "Symbol('s0', positive=)", "'", "Add)"}) {
    EXPECT_EQ(Parse(text), "error") << text;
  }
}

TEST(SizeExpressionTest, DeepNestingIsAnError) {
  std::string deep;
  for (int i = 0; i < 100000; ++i) deep += "Add(";
  EXPECT_EQ(Parse(deep), "error");
}

}  // namespace
}  // namespace rules_onnx::pt2
