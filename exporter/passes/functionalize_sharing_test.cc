// Writes to what may share memory with something that shares memory with something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "exporter/passes/dce.h"
#include "exporter/passes/functionalize.h"
#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

using ::testing::HasSubstr;

constexpr char kType[] = "float32[4]";

class SharingTest : public ::testing::Test {
 protected:
  ir::Value* Fresh() { return p_.Op("aten::sin", {x_}, kType); }
  // `value`, or a fresh tensor.
  ir::Value* Perhaps(ir::Value* value) {
    return p_.If(
        condition_, {kType}, [&] { return std::vector<ir::Arg>{value}; },
        [&] { return std::vector<ir::Arg>{Fresh()}; })[0];
  }
  void Write(ir::Value* value) { p_.Op("aten::add_.Tensor", {value, 1}, kType); }
  std::string Problems() {
    Functionalize(p_.context());
    return p_.Problems();
  }

  Program p_;
  ir::Value* x_ = p_.Input("x", kType);
  ir::Value* condition_ = p_.Input("c", "bool");
};

TEST_F(SharingTest, ReadOfTheFirstOfThree) {
  ir::Value* a = Fresh();
  Write(Perhaps(Perhaps(a)));
  p_.Output(a);
  EXPECT_EQ(Problems(), "");
  EXPECT_NE(p_.context()->graph->main.results[0].value(), a);
}

TEST_F(SharingTest, ReadOfTheLastOfThree) {
  ir::Value* a = Fresh();
  ir::Value* b = Perhaps(Perhaps(a));
  Write(a);
  p_.Output(b);
  EXPECT_EQ(Problems(), "");
  EXPECT_NE(p_.context()->graph->main.results[0].value(), b);
}

TEST_F(SharingTest, BranchInABranch) {
  ir::Value* a = Fresh();
  ir::Value* b = p_.If(
      condition_, {kType}, [&] { return std::vector<ir::Arg>{Perhaps(a)}; },
      [&] { return std::vector<ir::Arg>{Fresh()}; })[0];
  Write(b);
  p_.Output(a);
  EXPECT_EQ(Problems(), "");
  EXPECT_NE(p_.context()->graph->main.results[0].value(), a);
}

TEST_F(SharingTest, OtherReadsAreFree) {
  ir::Value* a = Fresh();
  ir::Value* other = Fresh();
  ir::Value* b = Perhaps(Perhaps(a));
  Write(b);
  p_.Output(b);
  p_.Output(other);
  EXPECT_EQ(Problems(), "");
}

TEST_F(SharingTest, TheNextIterationMayHaveAnotherName) {
  ir::Value* a = Fresh();
  p_.Loop(3, true, {Fresh()}, {kType}, [&](std::vector<ir::Value*> in) {
    Write(in[1]);
    return std::vector<ir::Arg>{true, Perhaps(a)};
  });
  p_.Output(a);
  EXPECT_EQ(Problems(), "");
  EXPECT_NE(p_.context()->graph->main.results[0].value(), a);
}

TEST_F(SharingTest, TheNextIterationHasTheSameNames) {
  ir::Value* out = p_.Loop(3, true, {Fresh()}, {kType}, [&](std::vector<ir::Value*> in) {
    Write(in[1]);
    return std::vector<ir::Arg>{true, Perhaps(in[1])};
  })[0];
  p_.Output(out);
  EXPECT_EQ(Problems(), "");
}

// ---- what a loop carries ----

class CarriedTest : public SharingTest {
 protected:
  using Values = std::vector<ir::Value*>;
  using Args = std::vector<ir::Arg>;
  static constexpr char kList[] = "list[float32[4]]";

  ir::Value* Count() { return p_.Input("n", "int"); }
  ir::Value* Doubled(ir::Value* value) { return p_.Op("aten::mul.Scalar", {value, 2}, kType); }
  ir::Value* NewList() {
    return p_.Add("prim::ListConstruct", {{"items", ir::Arg(ir::Arg::List{})}}, {kList})->output();
  }
  void Append(ir::Value* list, ir::Value* item) { p_.Op("aten::append.t", {list, item}, kList); }
  ir::Value* Stacked(ir::Value* list) { return p_.Op("aten::stack", {list, 0}, "float32[?, 4]"); }
};

TEST_F(CarriedTest, ListHoldsWhatTheNextIterationWritesTo) {
  ir::Value* y = Fresh();
  ir::Value* list = NewList();
  p_.Loop(Count(), true, {}, {}, [&](Values) -> Args {
    Write(y);
    Append(list, y);
    return {true};
  });
  p_.Output(Stacked(list));
  EXPECT_THAT(Problems(), HasSubstr("error ambiguous-alias aten::add_.Tensor"));
}

TEST_F(CarriedTest, ListHoldsWhatTheNextIterationCarries) {
  ir::Value* list = NewList();
  p_.Loop(Count(), true, {Fresh()}, {kType}, [&](Values in) -> Args {
    Write(in[1]);
    ir::Value* next = Doubled(in[1]);
    Append(list, next);
    return {true, next};
  });
  p_.Output(Stacked(list));
  EXPECT_THAT(Problems(), HasSubstr("error ambiguous-alias"));
}

TEST_F(CarriedTest, ListHoldsFreshTensors) {
  ir::Value* list = NewList();
  p_.Loop(Count(), true, {Fresh()}, {kType}, [&](Values in) -> Args {
    ir::Value* next = Doubled(in[1]);
    Write(next);
    Append(list, next);
    return {true, next};
  });
  p_.Output(Stacked(list));
  EXPECT_EQ(Problems(), "");
}

TEST_F(CarriedTest, ListHoldsATensorThatIsWrittenToAfterTheLoop) {
  ir::Value* list = NewList();
  ir::Value* y = p_.Loop(Count(), true, {Fresh()}, {kType}, [&](Values in) -> Args {
    ir::Value* next = Doubled(in[1]);
    Append(list, next);
    return {true, next};
  })[0];
  Write(y);
  p_.Output(Stacked(list));
  EXPECT_THAT(Problems(), HasSubstr("error ambiguous-alias aten::add_.Tensor"));
}

TEST_F(CarriedTest, ListOfABranchHoldsATensorOfTheBranch) {
  ir::Value* list = NewList();
  p_.Loop(Count(), true, {}, {}, [&](Values) -> Args {
    Append(list, Fresh());
    return {true};
  });
  ir::Value* y = p_.If(
      condition_, {kType},
      [&]() -> Args {
        ir::Value* own = Fresh();
        Append(list, own);
        return {own};
      },
      [&]() -> Args { return {Fresh()}; })[0];
  Write(y);
  p_.Output(Stacked(list));
  EXPECT_THAT(Problems(), HasSubstr("error ambiguous-alias aten::add_.Tensor"));
}

TEST_F(CarriedTest, TwoResultsAreOneTensor) {
  const Values out =
      p_.Loop(Count(), true, {Fresh(), Fresh()}, {kType, kType}, [&](Values in) -> Args {
        ir::Value* next = Doubled(in[1]);
        return {true, next, next};
      });
  Write(out[0]);
  p_.Output(out[1]);
  EXPECT_EQ(Problems(), "");
  EXPECT_NE(p_.context()->graph->main.results[0].value(), out[1]);
}

// previous, current = current, next
TEST_F(CarriedTest, FreshTensorsMoveOn) {
  const Values out =
      p_.Loop(Count(), true, {Fresh(), Fresh()}, {kType, kType}, [&](Values in) -> Args {
        ir::Value* next = p_.Op("aten::mul.Tensor", {in[1], in[2]}, kType);
        Write(next);
        return {true, in[2], next};
      });
  p_.Output(out[0]);
  p_.Output(out[1]);
  EXPECT_EQ(Problems(), "");
}

TEST_F(CarriedTest, WriteToWhatMovesOn) {
  const Values out =
      p_.Loop(Count(), true, {Fresh(), Fresh()}, {kType, kType}, [&](Values in) -> Args {
        Write(in[1]);
        return {true, in[2], Doubled(in[2])};
      });
  p_.Output(out[0]);
  EXPECT_EQ(Problems(), "");
}

// for …: y += 1; if c: return y
TEST_F(CarriedTest, LoopEndsWithTheOtherName) {
  ir::Value* y = Fresh();
  ir::Value* out = p_.Loop(Count(), true, {Fresh()}, {kType}, [&](Values in) -> Args {
    Write(y);
    const Values ends = p_.If(
        condition_, {"bool", kType},
        [&]() -> Args {
          return {false, y};
        },
        [&]() -> Args {
          return {true, in[1]};
        });
    return {ends[0], ends[1]};
  })[0];
  p_.Output(out);
  p_.Output(y);
  EXPECT_EQ(Problems(), "");
}

TEST_F(CarriedTest, LoopGoesOnWithTheOtherName) {
  ir::Value* y = Fresh();
  ir::Value* out = p_.Loop(Count(), true, {Fresh()}, {kType}, [&](Values in) -> Args {
    Write(y);
    const Values ends = p_.If(
        condition_, {"bool", kType},
        [&]() -> Args {
          return {true, y};
        },
        [&]() -> Args {
          return {false, in[1]};
        });
    return {ends[0], ends[1]};
  })[0];
  p_.Output(out);
  EXPECT_EQ(Problems(), "");
}

// if c: ended = True, z = y; else: ended = d, z = (y if d else z). The loop goes on if not ended.
TEST_F(CarriedTest, LoopEndsWithTheOtherNameInABranchOfABranch) {
  ir::Value* y = Fresh();
  ir::Value* second = p_.Input("d", "bool");
  ir::Value* out = p_.Loop(Count(), true, {Fresh()}, {kType}, [&](Values in) -> Args {
    Write(y);
    const Values ended = p_.If(
        condition_, {"bool", kType},
        [&]() -> Args {
          return {true, y};
        },
        [&]() -> Args {
          const Values inner = p_.If(
              second, {kType}, [&]() -> Args { return {y}; }, [&]() -> Args { return {in[1]}; });
          return {second, inner[0]};
        });
    const Values go_on = p_.If(
        ended[0], {"bool"}, [&]() -> Args { return {false}; }, [&]() -> Args { return {true}; });
    return {go_on[0], ended[1]};
  })[0];
  p_.Output(out);
  EXPECT_EQ(Problems(), "");
}

// ---- views that move ----

class MovingTest : public CarriedTest {
 protected:
  static constexpr char kMatrix[] = "float32[4, 4]";

  ir::Value* Matrix() { return p_.Op("aten::stack", {Args{x_, x_, x_, x_}}, kMatrix); }
  ir::Value* Row(ir::Value* matrix, ir::Arg index) {
    return p_.Op("aten::select.int", {matrix, 0, index}, kType);
  }
  std::string Functional() {
    EXPECT_EQ(Problems(), "");
    Dce(p_.context());
    return p_.Print(/*functional=*/true);
  }
};

TEST_F(MovingTest, NumbersTellWhichRowALoopCarries) {
  ir::Value* y = p_.Input("y", kMatrix);
  p_.Loop(Count(), true, {Row(y, 0)}, {kType}, [&](Values in) -> Args {
    Write(in[1]);
    return {true, Row(y, in[0])};
  });
  p_.Output(y);
  EXPECT_EQ(Functional(), R"(
%3: float32[4] = aten::select.int(self=%y, dim=0, index=0)
%12: int64[16] = aten::arange(end=16, dtype=int64, layout=None, device=None, pin_memory=None)
%13: int64[4, 4] = aten::reshape(self=%12, shape=[4, 4])
%14: int64[4] = aten::select.int(self=%13, dim=0, index=0)
%5: float32[4], %11: float32[4, 4], %16: int64[4] = prim::Loop(max_trip_count=%n, cond=True, carried=[%3, %y, %14])
  block(%6: int, %7: float32[4], %10: float32[4, 4], %15: int64[4]):
    %17: float32[4] = aten::add.Tensor(self=%7, other=1, alpha=1)
    %18: float32[4, 4] = aten::put(self=%10, index=%15, source=%17, accumulate=False)
    %9: float32[4] = aten::select.int(self=%18, dim=0, index=%6)
    %19: int64[16] = aten::arange(end=16, dtype=int64, layout=None, device=None, pin_memory=None)
    %20: int64[4, 4] = aten::reshape(self=%19, shape=[4, 4])
    %21: int64[4] = aten::select.int(self=%20, dim=0, index=%6)
    return (True, %9, %18, %21)
output y0 = %11
)");
}

TEST_F(MovingTest, RowOfWhatTheLoopMakesAnew) {
  ir::Value* y = Matrix();
  const Values out =
      p_.Loop(Count(), true, {y, Row(y, 0)}, {kMatrix, kType}, [&](Values in) -> Args {
        Write(in[2]);
        ir::Value* next = p_.Op("aten::mul.Scalar", {in[1], 2}, kMatrix);
        return {true, next, Row(next, 1)};
      });
  Write(out[1]);
  p_.Output(out[0]);
  EXPECT_EQ(Problems(), "");
  EXPECT_NE(p_.context()->graph->main.results[0].value(), out[0]);
}

TEST_F(MovingTest, TwoRowsOfWhatNoNameIsLeftOf) {
  ir::Value* y = Matrix();
  const Values out =
      p_.Loop(Count(), true, {Row(y, 0), Row(y, 0)}, {kType, kType}, [&](Values in) -> Args {
        Write(in[1]);
        ir::Value* next = p_.Op("aten::mul.Scalar", {y, 2}, kMatrix);
        return {true, Row(next, 0), Row(next, 1)};
      });
  p_.Output(out[1]);
  EXPECT_THAT(Problems(), HasSubstr("error ambiguous-alias prim::Loop"));
}

TEST_F(MovingTest, ViewsThatMayBeCopiesAreNotFollowed) {
  ir::Value* y =
      p_.Op("aten::transpose.int", {p_.Input("y", "float32[N, 4]"), 0, 1}, "float32[4, N]");
  ir::Value* row = p_.Op("aten::select.int", {y, 1, 0}, kType);
  p_.Loop(Count(), true, {row}, {kType}, [&](Values in) -> Args {
    Write(in[1]);
    ir::Value* flat = p_.Op("aten::reshape", {y, Args{-1}}, "float32[?]");
    return {true, p_.Op("aten::slice.Tensor", {flat, 0, 0, 4, 1}, kType)};
  });
  p_.Output(y);
  EXPECT_THAT(Problems(), HasSubstr("error ambiguous-alias prim::Loop"));
}

// a, b = b, y[i]: both are rows of `y` and never anything else, so numbers tell all.
TEST_F(MovingTest, TwoRowsThatChangePlaces) {
  ir::Value* y = p_.Input("y", kMatrix);
  p_.Loop(Count(), true, {Row(y, 0), Row(y, 1)}, {kType, kType}, [&](Values in) -> Args {
    Write(in[1]);
    Write(in[2]);
    return {true, in[2], Row(y, in[0])};
  });
  p_.Output(y);
  EXPECT_EQ(Problems(), "");
  Dce(p_.context());
  const auto& nodes = p_.context()->graph->main.nodes;
  const auto loop = std::find_if(nodes.begin(), nodes.end(),
                                 [](const auto& node) { return node->op == "prim::Loop"; });
  // The first row, `y` and the numbers of both: what the second row is, the write to the first decides.
  EXPECT_EQ((*loop)->outputs.size(), 4u);
}

TEST_F(MovingTest, NoFlagsForAFirstValueWithoutAnotherName) {
  ir::Value* out = p_.Loop(Count(), true, {Fresh()}, {kType}, [&](Values in) -> Args {
    ir::Value* next = Doubled(in[1]);
    Write(next);
    return {true, next};
  })[0];
  Write(out);
  p_.Output(out);
  EXPECT_EQ(Problems(), "");
  Dce(p_.context());
  const auto& nodes = p_.context()->graph->main.nodes;
  const auto loop = std::find_if(nodes.begin(), nodes.end(),
                                 [](const auto& node) { return node->op == "prim::Loop"; });
  EXPECT_EQ((*loop)->outputs.size(), 1u);
}

TEST_F(MovingTest, FirstValueWithAnotherName) {
  ir::Value* a = Fresh();
  ir::Value* out = p_.Loop(Count(), true, {a}, {kType}, [&](Values in) -> Args {
    return {true, Doubled(in[1])};
  })[0];
  Write(out);
  p_.Output(a);
  EXPECT_EQ(Problems(), "");
  EXPECT_NE(p_.context()->graph->main.results[0].value(), a);
}

// The next iteration of the outer loop starts with `a` again.
TEST_F(MovingTest, FirstValueThatAnOuterLoopComesBackTo) {
  ir::Value* a = Fresh();
  p_.Loop(Count(), true, {}, {}, [&](Values) -> Args {
    ir::Value* out = p_.Loop(Count(), true, {a}, {kType}, [&](Values in) -> Args {
      Write(in[1]);
      return {true, Doubled(in[1])};
    })[0];
    p_.Op("aten::add_.Tensor", {out, 1}, kType);
    return {true};
  });
  EXPECT_EQ(Problems(), "");
  const auto& nodes = p_.context()->graph->main.nodes;
  const auto loop = std::find_if(nodes.begin(), nodes.end(),
                                 [](const auto& node) { return node->op == "prim::Loop"; });
  EXPECT_EQ((*loop)->outputs.size(), 1u);  // `a`
}

}  // namespace
}  // namespace rules_onnx::passes
