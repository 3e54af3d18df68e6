#include "exporter/passes/functionalize.h"

#include <gtest/gtest.h>

#include "absl/strings/match.h"
#include "exporter/passes/dce.h"
#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

std::string Functional(Program* program) {
  Functionalize(program->context());
  EXPECT_EQ(program->Problems(), "");
  Dce(program->context());
  return program->Print(/*functional=*/true);
}

TEST(FunctionalizeTest, InPlaceOperatorBecomesItsTwin) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2, 3]");
  ir::Value* h = p.Op("aten::sin", {x}, "float32[2, 3]");
  p.Op("aten::relu_", {h}, "float32[2, 3]");
  p.Output(p.Op("aten::cos", {h}, "float32[2, 3]"));
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2, 3] = aten::sin(self=%x)
%4: float32[2, 3] = aten::relu(self=%1)
%3: float32[2, 3] = aten::cos(self=%4)
output y0 = %3
)");
}

TEST(FunctionalizeTest, WriteThroughSelect) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 3]");
  ir::Value* v = p.Op("aten::select.int", {x, 0, 0}, "float32[3]");
  p.Op("aten::add_.Tensor", {v, 1}, "float32[3]");
  ir::Value* w = p.Op("aten::select.int", {x, 1, 2}, "float32[N]");
  p.Output(w);
  p.Output(v);
  p.Output(x);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[3] = aten::select.int(self=%x, dim=0, index=0)
%4: float32[3] = aten::add.Tensor(self=%1, other=1, alpha=1)
%5: float32[N, 3] = aten::select_scatter(self=%x, src=%4, dim=0, index=0)
%3: float32[N] = aten::select.int(self=%5, dim=1, index=2)
output y0 = %3
output y1 = %4
output y2 = %5
)");
}

TEST(FunctionalizeTest, OtherViewsAreDerivedAnew) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[4, 3]")}, "float32[4, 3]");
  ir::Value* t = p.Op("aten::t", {x}, "float32[3, 4]");
  ir::Value* s = p.Op("aten::slice.Tensor", {t, 1, 1, ir::Arg(), 2}, "float32[3, 2]");
  p.Op("aten::zero_", {s}, "float32[3, 2]");
  p.Output(p.Op("aten::cos", {t}, "float32[3, 4]"));
  EXPECT_EQ(Functional(&p), R"(
%1: float32[4, 3] = aten::sin(self=%x)
%2: float32[3, 4] = aten::t(self=%1)
%3: float32[3, 2] = aten::slice.Tensor(self=%2, dim=1, start=1, end=None, step=2)
%6: float32[3, 2] = aten::zeros_like(self=%3, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None)
%7: float32[3, 4] = aten::slice_scatter(self=%2, src=%6, dim=1, start=1, end=None, step=2)
%5: float32[3, 4] = aten::cos(self=%7)
output y0 = %5
)");
}

TEST(FunctionalizeTest, BranchesDeliverTheNewestVersion) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  ir::Value* c = p.Input("c", "bool");
  ir::Value* h = p.Op("aten::sin", {x}, "float32[2]");
  p.If(
      c, {},
      [&] {
        p.Op("aten::add_.Tensor", {h, 1}, "float32[2]");
        return std::vector<ir::Arg>{};
      },
      [] { return std::vector<ir::Arg>{}; });
  p.Output(h);
  EXPECT_EQ(Functional(&p), R"(
%2: float32[2] = aten::sin(self=%x)
%5: float32[2] = prim::If(cond=%c)
  block():
    %4: float32[2] = aten::add.Tensor(self=%2, other=1, alpha=1)
    return (%4)
  block():
    return (%2)
output y0 = %5
)");
}

TEST(FunctionalizeTest, LoopsCarryWhatTheyWrite) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 2]");
  ir::Value* n = p.Input("n", "int");
  ir::Value* h = p.Op("aten::zeros_like", {x}, "float32[N, 2]");
  p.Loop(n, true, {}, {}, [&](std::vector<ir::Value*> params) {
    ir::Value* row = p.Op("aten::select.int", {h, 0, params[0]}, "float32[2]");
    ir::Value* source = p.Op("aten::select.int", {x, 0, params[0]}, "float32[2]");
    p.Op("aten::copy_", {row, source}, "float32[2]");
    return std::vector<ir::Arg>{true};
  });
  p.Output(h);
  EXPECT_EQ(Functional(&p), R"(
%2: float32[N, 2] = aten::zeros_like(self=%x, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None)
%8: float32[N, 2] = prim::Loop(max_trip_count=%n, cond=True, carried=[%2])
  block(%3: int, %7: float32[N, 2]):
    %5: float32[2] = aten::select.int(self=%x, dim=0, index=%3)
    %9: float32[N, 2] = aten::select_scatter(self=%7, src=%5, dim=0, index=%3)
    return (True, %9)
output y0 = %8
)");
}

TEST(FunctionalizeTest, ListsGrowInLoops) {
  Program p;
  ir::Value* x = p.Input("x", "float32[N, 2]");
  ir::Value* n = p.Input("n", "int");
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{})}}, {"list[float32[2]]"})
          ->output();
  p.Op("aten::append.t", {list, p.Op("aten::select.int", {x, 0, 0}, "float32[2]")},
       "list[float32[2]]");
  p.Loop(n, true, {}, {}, [&](std::vector<ir::Value*> params) {
    ir::Value* row = p.Op("aten::select.int", {x, 0, params[0]}, "float32[2]");
    p.Op("aten::append.t", {list, row}, "list[float32[2]]");
    return std::vector<ir::Arg>{true};
  });
  p.Output(p.Op("aten::stack", {list, 0}, "float32[?, 2]"));
  EXPECT_EQ(Functional(&p), R"(
%3: float32[2] = aten::select.int(self=%x, dim=0, index=0)
%9: list[float32[2]] = prim::ListConstruct(items=[%3])
%11: list[float32[2]] = prim::Loop(max_trip_count=%n, cond=True, carried=[%9])
  block(%5: int, %10: list[float32[2]]):
    %6: float32[2] = aten::select.int(self=%x, dim=0, index=%5)
    %12: list[float32[2]] = prim::ListAppend(self=%10, el=%6)
    return (True, %12)
%8: float32[?, 2] = aten::stack(tensors=%11, dim=0)
output y0 = %8
)");
}

// What the program cannot say is refused, with the operator.
std::string Refused(Program* program) {
  Functionalize(program->context());
  return program->Problems();
}

TEST(FunctionalizeTest, ResultIsCastToTheWrittenDType) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float16[2]")}, "float16[2]");
  p.Op("aten::mul_.Tensor", {x, p.Input("y", "float32[2]")}, "float16[2]");
  p.Op("aten::lt_.Scalar", {x, 1}, "float16[2]");
  p.Output(x);
  EXPECT_EQ(Functional(&p), R"(
%1: float16[2] = aten::sin(self=%x)
%5: float32[2] = aten::mul.Tensor(self=%1, other=%y)
%6: float16[2] = aten::to.dtype(self=%5, dtype=float16, non_blocking=False, copy=False, memory_format=None)
%7: bool[2] = aten::lt.Scalar(self=%6, other=1)
%8: float16[2] = aten::to.dtype(self=%7, dtype=float16, non_blocking=False, copy=False, memory_format=None)
output y0 = %8
)");
}

TEST(FunctionalizeTest, CopyBroadcastsAndCasts) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[N, 3]")}, "float32[N, 3]");
  p.Op("aten::copy_", {x, p.Input("y", "int64[3]")}, "float32[N, 3]");
  p.Output(x);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[N, 3] = aten::sin(self=%x)
%4: int64[N, 3] = aten::expand_as(self=%y, other=%1)
%5: float32[N, 3] = aten::to.dtype(self=%4, dtype=float32, non_blocking=False, copy=False, memory_format=None)
output y0 = %5
)");
}

TEST(FunctionalizeTest, OutVariant) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  ir::Value* out = p.Op("aten::empty_like", {x}, "float32[2]");
  p.Add("aten::mul.out", {{"self", x}, {"other", x}, {"out", out}}, {"float32[2]"});
  p.Output(out);
  EXPECT_EQ(Functional(&p), R"(
%3: float32[2] = aten::mul.Tensor(self=%x, other=%x)
output y0 = %3
)");
}

TEST(FunctionalizeTest, GeometryChangedInPlace) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2, 3]")}, "float32[2, 3]");
  ir::Value* alias = p.Op("aten::detach", {x}, "float32[2, 3]");
  p.Op("aten::t_", {x}, "float32[3, 2]");
  p.Op("aten::zero_", {p.Op("aten::select.int", {x, 0, 1}, "float32[2]")}, "float32[2]");
  p.Output(x);
  p.Output(alias);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2, 3] = aten::sin(self=%x)
%6: float32[3, 2] = aten::t(self=%1)
%4: float32[2] = aten::select.int(self=%6, dim=0, index=1)
%7: float32[2] = aten::zeros_like(self=%4, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None)
%8: float32[3, 2] = aten::select_scatter(self=%6, src=%7, dim=0, index=1)
%9: float32[2, 3] = aten::t(self=%8)
output y0 = %8
output y1 = %9
)");
}

// dropout outside training gives its argument itself, detach another tensor on its memory.
TEST(FunctionalizeTest, SameTensorUnderTwoNamesChangesGeometryUnderBoth) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2, 3]")}, "float32[2, 3]");
  ir::Value* same = p.Op("aten::dropout", {x, 0.5, false}, "float32[2, 3]");
  ir::Value* other = p.Op("aten::detach", {x}, "float32[2, 3]");
  p.Op("aten::t_", {x}, "float32[3, 2]");
  p.Output(same);
  p.Output(other);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2, 3] = aten::sin(self=%x)
%5: float32[3, 2] = aten::t(self=%1)
output y0 = %5
output y1 = %1
)");
}

// reshape of a transposed matrix copies: the write does not reach x.
TEST(FunctionalizeTest, ReshapeIsAViewWhereTheLayoutAllowsIt) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2, 3]")}, "float32[2, 3]");
  ir::Value* flat = p.Op("aten::reshape", {x, ir::Arg::Ints({6})}, "float32[6]");
  p.Op("aten::relu_", {flat}, "float32[6]");
  ir::Value* t = p.Op("aten::t", {x}, "float32[3, 2]");
  ir::Value* copy = p.Op("aten::reshape", {t, ir::Arg::Ints({6})}, "float32[6]");
  p.Op("aten::zero_", {copy}, "float32[6]");
  p.Output(x);
  p.Output(copy);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2, 3] = aten::sin(self=%x)
%2: float32[6] = aten::reshape(self=%1, shape=[6])
%7: float32[6] = aten::relu(self=%2)
%8: float32[2, 3] = aten::reshape(self=%7, shape=[2, 3])
%4: float32[3, 2] = aten::t(self=%8)
%5: float32[6] = aten::reshape(self=%4, shape=[6])
%9: float32[6] = aten::zeros_like(self=%5, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None)
output y0 = %8
output y1 = %9
)");
}

TEST(FunctionalizeTest, SplitPartsAreViews) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[N, 4]")}, "float32[N, 4]");
  ir::Value* list = p.Op("aten::chunk", {x, 2, 0}, "list[float32[?, 4]]");
  ir::Node* parts = p.Add("prim::ListUnpack", {{"self", list}}, {"float32[?, 4]", "float32[?, 4]"});
  p.Op("aten::neg_", {parts->outputs[1]}, "float32[?, 4]");
  p.Output(x);
  p.Output(p.Op("aten::cat", {list, 0}, "float32[N, 4]"));
  EXPECT_EQ(Functional(&p), R"(
%1: float32[N, 4] = aten::sin(self=%x)
%12: int = aten::size.int(self=%1, dim=0)
%13: int = aten::add.int(a=%12, b=1)
%14: int = aten::floordiv.int(a=%13, b=2)
%15: int = aten::mul.int(a=%14, b=2)
%16: int = aten::mul.int(a=%14, b=1)
%17: float32[?, 4] = aten::slice.Tensor(self=%1, dim=0, start=%16, end=%15, step=1)
%18: float32[?, 4] = aten::neg(self=%17)
%19: float32[N, 4] = aten::slice_scatter(self=%1, src=%18, dim=0, start=%16, end=%15, step=1)
%20: list[float32[?, 4]] = aten::chunk(self=%19, chunks=2, dim=0)
%6: float32[N, 4] = aten::cat(tensors=%20, dim=0)
output y0 = %19
output y1 = %6
)");
}

TEST(FunctionalizeTest, UnsafeChunkGivesTheSameViews) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[4]")}, "float32[4]");
  ir::Value* list = p.Op("aten::unsafe_chunk", {x, 2, 0}, "list[float32[2]]");
  ir::Node* parts = p.Add("prim::ListUnpack", {{"self", list}}, {"float32[2]", "float32[2]"});
  p.Op("aten::neg_", {parts->outputs[0]}, "float32[2]");
  p.Output(parts->outputs[1]);
  const std::string printed = Functional(&p);
  EXPECT_NE(printed.find("aten::neg("), std::string::npos) << printed;
  EXPECT_NE(printed.find("start=2"), std::string::npos) << printed;
}

// True if a write through the view is refused.
bool RefusesWriteThrough(const char* view, std::vector<ir::Arg> args, const char* type) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[6]")}, "float32[6]");
  args.insert(args.begin(), ir::Arg(x));
  p.Op("aten::neg_", {p.Op(view, args, type)}, type);
  p.Output(x);
  Functionalize(p.context());
  return p.diagnostics().has_errors();
}

TEST(FunctionalizeTest, WritesThroughOverlappingViewsAreRefused) {
  const auto ints = [](std::vector<int64_t> values) { return ir::Arg::Ints(values); };
  EXPECT_TRUE(RefusesWriteThrough("aten::unfold", {0, 3, 1}, "float32[4, 3]"));
  EXPECT_FALSE(RefusesWriteThrough("aten::unfold", {0, 2, 3}, "float32[2, 2]"));
  EXPECT_TRUE(RefusesWriteThrough("aten::as_strided", {ints({3, 3}), ints({1, 1}), 0},
                                  "float32[3, 3]"));
  EXPECT_TRUE(RefusesWriteThrough("aten::as_strided", {ints({2, 3}), ints({2, 1}), 0},
                                  "float32[2, 3]"));
  EXPECT_FALSE(RefusesWriteThrough("aten::as_strided", {ints({2, 3}), ints({3, 1}), 0},
                                   "float32[2, 3]"));
  EXPECT_FALSE(RefusesWriteThrough("aten::as_strided", {ints({3, 2}), ints({1, 3}), 0},
                                   "float32[3, 2]"));
}

// What einsum of one operand gives may be its transpose.
TEST(FunctionalizeTest, OneOperandMayBeTheResult) {
  for (const bool two : {false, true}) {
    Program p;
    ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[3, 3]")}, "float32[3, 3]");
    ir::Arg::List operands{x};
    if (two) operands.push_back(p.Input("y", "float32[3, 3]"));
    ir::Value* result =
        p.Op("aten::einsum", {two ? "ij,jk->ik" : "ij->ji", operands}, "float32[3, 3]");
    p.Op("aten::zero_", {result}, "float32[3, 3]");
    p.Output(x);
    Functionalize(p.context());
    EXPECT_EQ(p.Problems(), two ? "" : "error ambiguous-alias aten::zero_\n");
  }
}

TEST(FunctionalizeTest, ViewAtSizeOneOnlyIsACopyWithAWarning) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[N, 3]")}, "float32[N, 3]");
  ir::Value* flat = p.Op("aten::flatten.using_ints", {p.Op("aten::t", {x}, "float32[3, N]"), 0, -1},
                         "float32[3*N]");
  p.Op("aten::zero_", {flat}, "float32[3*N]");
  p.Output(x);
  Functionalize(p.context());
  EXPECT_EQ(p.Problems(), "warning view-at-size-one aten::flatten.using_ints\n");
}

TEST(FunctionalizeTest, ViewWithoutAnInverseOfItsOwnGoesByNumbers) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[4]")}, "float32[4]");
  ir::Value* windows = p.Op("aten::unfold", {x, 0, 2, 2}, "float32[2, 2]");
  p.Op("aten::zero_", {p.Op("aten::select.int", {windows, 1, 0}, "float32[2]")}, "float32[2]");
  p.Output(x);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[4] = aten::sin(self=%x)
%2: float32[2, 2] = aten::unfold(self=%1, dimension=0, size=2, step=2)
%3: float32[2] = aten::select.int(self=%2, dim=1, index=0)
%5: float32[2] = aten::zeros_like(self=%3, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None)
%6: float32[2, 2] = aten::select_scatter(self=%2, src=%5, dim=1, index=0)
%7: int64[4] = aten::arange(end=4, dtype=int64, layout=None, device=None, pin_memory=None)
%8: int64[4] = aten::reshape(self=%7, shape=[4])
%9: int64[2, 2] = aten::unfold(self=%8, dimension=0, size=2, step=2)
%10: float32[4] = aten::reshape(self=%1, shape=[-1])
%11: int64[4] = aten::reshape(self=%9, shape=[-1])
%12: float32[4] = aten::reshape(self=%6, shape=[-1])
%13: float32[4] = aten::scatter.src(self=%10, dim=0, index=%11, src=%12)
%14: float32[4] = aten::reshape(self=%13, shape=[4])
output y0 = %14
)");
}

TEST(FunctionalizeTest, ItemsOfAListAreTheTensorsThemselves) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2]")}, "float32[2]");
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{x, x})}}, {"list[float32[2]]"})
          ->output();
  ir::Value* item = p.Op("aten::__getitem__.t", {list, 1}, "float32[2]");
  p.Op("aten::relu_", {item}, "float32[2]");
  p.Output(p.Op("aten::stack", {list, 0}, "float32[2, 2]"));
  p.Output(x);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2] = aten::sin(self=%x)
%6: float32[2] = aten::relu(self=%1)
%5: float32[2, 2] = aten::stack(tensors=[%6, %6], dim=0)
output y0 = %5
output y1 = %6
)");
}

TEST(FunctionalizeTest, ListChangedInABranch) {
  Program p;
  ir::Value* x = p.Input("x", "float32[2]");
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{x})}}, {"list[float32[2]]"})
          ->output();
  p.If(
      p.Input("c", "bool"), {},
      [&]() -> std::vector<ir::Arg> {
        p.Op("aten::append.t", {list, x}, "list[float32[2]]");
        return {};
      },
      []() -> std::vector<ir::Arg> { return {}; });
  p.Output(p.Op("aten::stack", {list, 0}, "float32[?, 2]"));
  EXPECT_EQ(Functional(&p), R"(
%7: list[float32[2]] = prim::If(cond=%c)
  block():
    %5: list[float32[2]] = prim::ListConstruct(items=[%x, %x])
    return (%5)
  block():
    %6: list[float32[2]] = prim::ListConstruct(items=[%x])
    return (%6)
%4: float32[?, 2] = aten::stack(tensors=%7, dim=0)
output y0 = %4
)");
}

// The other branch writes to an item: its list holds the new value.
TEST(FunctionalizeTest, ListChangedInOneBranchItemInTheOther) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2]")}, "float32[2]");
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{x})}}, {"list[float32[2]]"})
          ->output();
  p.If(
      p.Input("c", "bool"), {},
      [&]() -> std::vector<ir::Arg> {
        p.Op("aten::append.t", {list, x}, "list[float32[2]]");
        return {};
      },
      [&]() -> std::vector<ir::Arg> {
        p.Op("aten::relu_", {x}, "float32[2]");
        return {};
      });
  p.Output(p.Op("aten::stack", {list, 0}, "float32[?, 2]"));
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2] = aten::sin(self=%x)
%11: list[float32[2]] = prim::If(cond=%c)
  block():
    %7: list[float32[2]] = prim::ListConstruct(items=[%1, %1])
    return (%7)
  block():
    %8: float32[2] = aten::relu(self=%1)
    %9: list[float32[2]] = prim::ListConstruct(items=[%8])
    return (%9)
%6: float32[?, 2] = aten::stack(tensors=%11, dim=0)
output y0 = %6
)");
}

TEST(FunctionalizeTest, ItemOfAListOfUnknownLengthIsWrittenInIt) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2]")}, "float32[2]");
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{x})}}, {"list[float32[2]]"})
          ->output();
  p.Loop(p.Input("n", "int"), true, {}, {},
         [&](std::vector<ir::Value*>) -> std::vector<ir::Arg> {
           p.Op("aten::append.t", {list, p.Op("aten::cos", {x}, "float32[2]")},
                "list[float32[2]]");
           p.Op("aten::relu_", {x}, "float32[2]");
           return {true};
         });
  p.Output(p.Op("aten::stack", {list, 0}, "float32[?, 2]"));
  p.Output(x);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2] = aten::sin(self=%x)
%11: list[float32[2]] = prim::ListConstruct(items=[%1])
%13: list[float32[2]] = prim::Loop(max_trip_count=%n, cond=True, carried=[%11])
  block(%4: int, %12: list[float32[2]]):
    %14: float32[2] = aten::__getitem__.t(list=%12, idx=0)
    %5: float32[2] = aten::cos(self=%14)
    %15: list[float32[2]] = prim::ListAppend(self=%12, el=%5)
    %17: float32[2] = aten::relu(self=%14)
    %18: list[float32[2]] = prim::ListSet(self=%15, idx=0, el=%17)
    return (True, %18)
%8: float32[?, 2] = aten::stack(tensors=%13, dim=0)
%19: float32[2] = aten::__getitem__.t(list=%13, idx=0)
output y0 = %8
output y1 = %19
)");
}

TEST(FunctionalizeTest, CastListIsTheListItself) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2]")}, "float32[2]");
  ir::Value* list = p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{})}},
                          {"list[float32[2]]"})->output();
  p.Loop(p.Input("n", "int"), true, {}, {},
         [&](std::vector<ir::Value*>) -> std::vector<ir::Arg> {
           p.Op("aten::append.t", {list, p.Op("aten::cos", {x}, "float32[2]")},
                "list[float32[2]]");
           return {true};
         });
  ir::Value* cast = p.Op("prim::unchecked_cast", {list}, "list[float32[2]]");
  p.Op("aten::append.t", {cast, x}, "list[float32[2]]");
  p.Output(p.Op("aten::len.t", {list}, "int"));
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2] = aten::sin(self=%x)
%10: list[float32[2]] = prim::ListConstruct(items=[])
%12: list[float32[2]] = prim::Loop(max_trip_count=%n, cond=True, carried=[%10])
  block(%4: int, %11: list[float32[2]]):
    %5: float32[2] = aten::cos(self=%1)
    %13: list[float32[2]] = prim::ListAppend(self=%11, el=%5)
    return (True, %13)
%15: list[float32[2]] = prim::ListAppend(self=%12, el=%1)
%9: int = aten::len.t(a=%15)
output y0 = %9
)");
}

// An item of a list whose length only the run tells, and then a change of the list.
std::string ItemThenPop(const std::string& item_type, const std::string& written) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2]")}, "float32[2]");
  ir::Value* inner = p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{3})}},
                           {"list[int]"})->output();
  const bool of_lists = absl::StrContains(item_type, "list");
  const ir::Arg::List item = {x, of_lists ? ir::Arg(inner) : ir::Arg(3)};
  const std::string list_type = "list[" + item_type + "]";
  ir::Value* list = p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{})}},
                          {list_type})->output();
  p.Loop(p.Input("n", "int"), true, {}, {},
         [&](std::vector<ir::Value*>) -> std::vector<ir::Arg> {
           ir::Value* made =
               p.Add("prim::TupleConstruct", {{"items", ir::Arg(item)}}, {item_type})->output();
           p.Op("aten::append.t", {list, made}, list_type);
           return {true};
         });
  ir::Value* read = p.Op("aten::__getitem__.t", {list, 0}, item_type);
  p.Op("aten::pop.t", {list, -1}, item_type);
  if (written == "tensor") p.Op("aten::relu_", {x}, "float32[2]");
  if (written == "list") p.Op("aten::append.t", {inner, 4}, "list[int]");
  p.Output(p.Op("prim::TupleIndex", {read, 0}, "float32[2]"));
  return Refused(&p);
}

TEST(FunctionalizeTest, TuplesOutlastAChangeOfTheListThatHoldsThem) {
  EXPECT_EQ(ItemThenPop("tuple(float32[2];int)", ""), "");
  EXPECT_EQ(ItemThenPop("tuple(float32[2];int)", "tensor"), "error ambiguous-alias aten::relu_\n");
  EXPECT_NE(ItemThenPop("tuple(float32[2];list[int])", "list"), "");
}

// x += 1 on the carried name: every iteration writes to the one tensor that h names, too.
TEST(FunctionalizeTest, CarriedNameOfOneTensor) {
  Program p;
  ir::Value* h = p.Op("aten::sin", {p.Input("x", "float32[2]")}, "float32[2]");
  const auto carried =
      p.Loop(p.Input("n", "int"), true, {h}, {"float32[2]"},
             [&](std::vector<ir::Value*> params) -> std::vector<ir::Arg> {
               return {true, p.Op("aten::add_.Tensor", {params[1], params[0]}, "float32[2]")};
             });
  p.Output(carried[0]);
  p.Output(h);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2] = aten::sin(self=%x)
%8: float32[2] = prim::Loop(max_trip_count=%n, cond=True, carried=[%1])
  block(%4: int, %7: float32[2]):
    %9: float32[2] = aten::add.Tensor(self=%7, other=%4, alpha=1)
    return (True, %9)
output y0 = %8
output y1 = %8
)");
}

TEST(FunctionalizeTest, BufferThatEveryCallFillsAnewIsNotWarnedAbout) {
  Program p;
  ir::Value* scratch = p.Weight("scratch", "float32[3]");
  p.Op("aten::copy_", {scratch, p.Input("x", "float32[3]")}, "float32[3]");
  p.Output(p.Op("aten::mul.Tensor", {scratch, 2}, "float32[3]"));
  EXPECT_EQ(Functional(&p), R"(
%3: float32[3] = aten::mul.Tensor(self=%x, other=2)
output y0 = %3
)");
}

TEST(FunctionalizeTest, ChangedBufferIsSeenLaterAndWarnedAbout) {
  Program p;
  ir::Value* steps = p.Weight("steps", "int64[]");
  p.Op("aten::add_.Tensor", {steps, 1}, "int64[]");
  p.Output(p.Op("aten::mul.Tensor", {steps, 2}, "int64[]"));
  Functionalize(p.context());
  EXPECT_EQ(p.Problems(), "warning buffer-changed aten::add_.Tensor\n");
  EXPECT_EQ(p.Print(/*functional=*/true), R"(
%3: int64[] = aten::add.Tensor(self=%steps, other=1, alpha=1)
%2: int64[] = aten::mul.Tensor(self=%3, other=2)
output y0 = %2
)");
}

// Strides count in the storage, which is the argument's own order only where that is contiguous.
TEST(FunctionalizeTest, StridesOfATransposedTensorAreRefused) {
  for (const char* op : {"aten::as_strided", "aten::as_strided_copy"}) {
    Program p;
    ir::Value* x = p.Op("aten::t", {p.Input("x", "float32[4, 6]")}, "float32[6, 4]");
    p.Output(p.Op(op, {x, ir::Arg::Ints({2, 3}), ir::Arg::Ints({6, 2})}, "float32[2, 3]"));
    EXPECT_EQ(Refused(&p), std::string("error unsupported-form ") + op + "\n");
  }
}

TEST(FunctionalizeTest, StridesOfAContiguousTensorStay) {
  Program p;
  ir::Value* x = p.Op("aten::t", {p.Input("x", "float32[4, 6]")}, "float32[6, 4]");
  x = p.Op("aten::contiguous", {x}, "float32[6, 4]");
  p.Output(p.Op("aten::as_strided", {x, ir::Arg::Ints({2, 3}), ir::Arg::Ints({6, 2})},
                "float32[2, 3]"));
  EXPECT_EQ(Refused(&p), "");
}

TEST(FunctionalizeTest, GivenOffsetCountsFromTheStartOfTheStorage) {
  Program p;
  ir::Value* x = p.Input("x", "float32[4, 6]");
  ir::Value* row = p.Op("aten::select.int", {x, 0, 1}, "float32[6]");
  p.Output(p.Op("aten::as_strided", {row, ir::Arg::Ints({2}), ir::Arg::Ints({1}), 1}, "float32[2]"));
  EXPECT_EQ(Functional(&p), R"(
%2: float32[2] = aten::as_strided(self=%x, size=[2], stride=[1], storage_offset=1)
output y0 = %2
)");
}

TEST(FunctionalizeTest, UsersWritingOperatorIsRefused) {
  Program p;
  p.graph()->custom_schemas["my::fill_"] = "my::fill_(Tensor(a!) self) -> Tensor(a!)";
  Context context(p.graph(), p.context()->debug, p.context()->diagnostics);
  ir::Value* x = p.Input("x", "float32[2]");
  ir::Node* node = p.Add("my::fill_", {{"self", x}}, {"float32[2]"});
  p.Output(node->output());
  Functionalize(&context);
  EXPECT_EQ(p.Problems(), "error write-not-expressible my::fill_\n");
}

// y is x or a new tensor; x is read after y was written to.
TEST(FunctionalizeTest, TensorThatABranchDecides) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2]")}, "float32[2]");
  ir::Value* y = p.If(
      p.Input("c", "bool"), {"float32[2]"},
      [&]() -> std::vector<ir::Arg> { return {x}; },
      [&]() -> std::vector<ir::Arg> { return {p.Op("aten::cos", {x}, "float32[2]")}; })[0];
  p.Op("aten::relu_", {y}, "float32[2]");
  p.Output(x);
  p.Output(y);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2] = aten::sin(self=%x)
%3: float32[2] = prim::If(cond=%c)
  block():
    return (%1)
  block():
    %4: float32[2] = aten::cos(self=%1)
    return (%4)
%7: float32[2] = aten::relu(self=%3)
%8: float32[2] = prim::If(cond=%c)
  block():
    return (%7)
  block():
    return (%1)
output y0 = %8
output y1 = %7
)");
}

// A write to an item at a place that only the run tells, and to the item under its own name.
TEST(FunctionalizeTest, ItemAtAComputedPlace) {
  Program p;
  ir::Value* input = p.Input("x", "float32[2]");
  ir::Value* x = p.Op("aten::sin", {input}, "float32[2]");
  ir::Value* y = p.Op("aten::cos", {input}, "float32[2]");
  ir::Value* list =
      p.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{x, y})}}, {"list[float32[2]]"})
          ->output();
  ir::Value* item = p.Op("aten::__getitem__.t", {list, p.Input("i", "int")}, "float32[2]");
  p.Op("aten::relu_", {item}, "float32[2]");
  p.Op("aten::neg_", {x}, "float32[2]");
  p.Output(p.Op("aten::add.Tensor", {item, y}, "float32[2]"));
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2] = aten::sin(self=%x)
%2: float32[2] = aten::cos(self=%x)
%5: float32[2] = aten::__getitem__.t(list=[%1, %2], idx=%i)
%9: bool = aten::eq.int(a=%i, b=0)
%10: bool = aten::eq.int(a=%i, b=-2)
%11: bool = aten::__or__.bool(a=%9, b=%10)
%12: bool = aten::eq.int(a=%i, b=1)
%13: bool = aten::eq.int(a=%i, b=-1)
%14: bool = aten::__or__.bool(a=%12, b=%13)
%15: float32[2] = aten::relu(self=%5)
%16: float32[2] = prim::If(cond=%11)
  block():
    return (%15)
  block():
    return (%1)
%17: float32[2] = prim::If(cond=%14)
  block():
    return (%15)
  block():
    return (%2)
%18: float32[2] = aten::neg(self=%16)
%19: float32[2] = aten::__getitem__.t(list=[%18, %17], idx=%i)
%8: float32[2] = aten::add.Tensor(self=%19, other=%17, alpha=1)
output y0 = %8
)");
}

TEST(FunctionalizeTest, FinalStatesOfBuffersAreOutputsWhereAskedFor) {
  const auto functional = [](bool asked) {
    Program p;
    ir::Value* count = p.Weight("count", "float32[2]");
    p.Weight("other", "float32[2]");
    p.Op("aten::relu_", {count}, "float32[2]");
    p.Output(p.Op("aten::neg", {count}, "float32[2]"));
    p.Op("aten::sin_", {count}, "float32[2]");
    p.context()->state_outputs = asked;
    Functionalize(p.context());
    return p.Print(/*functional=*/true) + p.Problems();
  };
  const std::string nodes = R"(
%5: float32[2] = aten::relu(self=%count)
%3: float32[2] = aten::neg(self=%5)
%6: float32[2] = aten::sin(self=%5)
output y0 = %3
)";
  EXPECT_EQ(functional(false), nodes + "warning buffer-changed aten::relu_\n");
  EXPECT_EQ(functional(true), nodes + "output final_state.count = %6\n");
}

TEST(FunctionalizeTest, ScanWritesToWhatItMakesOnly) {
  const auto problems = [](bool to_slice) {
    Program p;
    const auto stacked = p.Scan({}, {p.Input("x", "float32[N, 2]")}, {"float32[2]"},
                                {"float32[N, 2]"}, [&](auto params) -> std::vector<ir::Arg> {
                                  ir::Value* made = p.Op("aten::sin", {params[0]}, "float32[2]");
                                  p.Op("aten::relu_", {to_slice ? params[0] : made}, "float32[2]");
                                  return {made};
                                });
    p.Output(stacked[0]);
    Functionalize(p.context());
    return p.Problems();
  };
  EXPECT_EQ(problems(false), "");
  EXPECT_EQ(problems(true), "error write-not-expressible prim::Scan\n");
}

TEST(FunctionalizeTest, FlagsTellWhichTensorALoopCarries) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2]")}, "float32[2]");
  p.Loop(p.Input("n", "int"), true, {p.Op("aten::cos", {x}, "float32[2]")}, {"float32[2]"},
         [&](std::vector<ir::Value*> params) -> std::vector<ir::Arg> {
           p.Op("aten::relu_", {params[1]}, "float32[2]");
           return {true, x};
         });
  p.Output(x);
  EXPECT_EQ(Functional(&p), R"(
%1: float32[2] = aten::sin(self=%x)
%2: float32[2] = aten::cos(self=%1)
%4: float32[2], %9: float32[2], %15: bool = prim::Loop(max_trip_count=%n, cond=True, carried=[%2, %1, False])
  block(%5: int, %6: float32[2], %8: float32[2], %14: bool):
    %18: float32[2] = aten::relu(self=%6)
    %20: float32[2] = prim::If(cond=%14)
      block():
        return (%18)
      block():
        return (%8)
    return (True, %20, %20, True)
output y0 = %9
)");
}

TEST(FunctionalizeTest, TensorCarriedWithAViewOfItIsRefused) {
  Program p;
  ir::Value* x = p.Op("aten::sin", {p.Input("x", "float32[2]")}, "float32[2]");
  ir::Value* y = p.Op("aten::cos", {x}, "float32[2]");
  const auto carried =
      p.Loop(p.Input("n", "int"), true, {x, y}, {"float32[2]", "float32[2]"},
             [&](std::vector<ir::Value*> params) -> std::vector<ir::Arg> {
               p.Op("aten::relu_", {params[1]}, "float32[2]");
               ir::Value* next = p.Op("aten::add.Tensor", {params[1], params[2]}, "float32[2]");
               return {true, next,
                       p.Op("aten::slice.Tensor", {next, 0, 0, 2, 1}, "float32[2]")};
             });
  p.Output(carried[1]);
  EXPECT_NE(Refused(&p), "");
}

}  // namespace
}  // namespace rules_onnx::passes
