// Writes to what may share memory with something that shares memory with something else.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

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
    return p_.If(condition_, {kType}, [&] { return std::vector<ir::Arg>{value}; },
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
  ir::Value* b = p_.If(condition_, {kType}, [&] { return std::vector<ir::Arg>{Perhaps(a)}; },
                       [&] { return std::vector<ir::Arg>{Fresh()}; })[0];
  Write(b);
  p_.Output(a);
  EXPECT_THAT(Problems(), HasSubstr("error ambiguous-alias aten::add_.Tensor"));
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
  ir::Value* Stacked(ir::Value* list) {
    return p_.Op("aten::stack", {list, 0}, "float32[?, 4]");
  }
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
  ir::Value* y = p_.If(condition_, {kType}, [&]() -> Args {
    ir::Value* own = Fresh();
    Append(list, own);
    return {own};
  }, [&]() -> Args { return {Fresh()}; })[0];
  Write(y);
  p_.Output(Stacked(list));
  EXPECT_THAT(Problems(), HasSubstr("error ambiguous-alias aten::add_.Tensor"));
}

TEST_F(CarriedTest, TwoResultsAreOneTensor) {
  const Values out = p_.Loop(Count(), true, {Fresh(), Fresh()}, {kType, kType},
                             [&](Values in) -> Args {
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
  const Values out = p_.Loop(Count(), true, {Fresh(), Fresh()}, {kType, kType},
                             [&](Values in) -> Args {
                               ir::Value* next = p_.Op("aten::mul.Tensor", {in[1], in[2]}, kType);
                               Write(next);
                               return {true, in[2], next};
                             });
  p_.Output(out[0]);
  p_.Output(out[1]);
  EXPECT_EQ(Problems(), "");
}

TEST_F(CarriedTest, WriteToWhatMovesOn) {
  const Values out = p_.Loop(Count(), true, {Fresh(), Fresh()}, {kType, kType},
                             [&](Values in) -> Args {
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
    const Values ends = p_.If(condition_, {"bool", kType}, [&]() -> Args { return {false, y}; },
                              [&]() -> Args { return {true, in[1]}; });
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
    const Values ends = p_.If(condition_, {"bool", kType}, [&]() -> Args { return {true, y}; },
                              [&]() -> Args { return {false, in[1]}; });
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
    const Values ended = p_.If(condition_, {"bool", kType}, [&]() -> Args { return {true, y}; },
                               [&]() -> Args {
      const Values inner = p_.If(second, {kType}, [&]() -> Args { return {y}; },
                                 [&]() -> Args { return {in[1]}; });
      return {second, inner[0]};
    });
    const Values go_on = p_.If(ended[0], {"bool"}, [&]() -> Args { return {false}; },
                               [&]() -> Args { return {true}; });
    return {go_on[0], ended[1]};
  })[0];
  p_.Output(out);
  EXPECT_EQ(Problems(), "");
}

}  // namespace
}  // namespace rules_onnx::passes
