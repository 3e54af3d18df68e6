#include "exporter/passes/sharing.h"

#include <gtest/gtest.h>

#include "exporter/passes/program_test_util.h"

namespace rules_onnx::passes {
namespace {

class SharingOfPlacesTest : public ::testing::Test {
 protected:
  Place* Root(const ir::Type& type, int alias_class = 1) {
    ir::Value* value = p_.graph()->NewValue(type);
    Place* place = memory_.NewRoot(value->type, value, alias_class, Layout());
    memory_.Bind(value, place);
    return place;
  }
  Place* Tensor(int alias_class = 1) { return Root(ParseType("float32[4]"), alias_class); }
  Place* List() { return Root(ParseType("list[float32[4]]")); }
  Place* View(Place* viewed) {
    return memory_.NewView(viewed, p_.graph()->NewNode("aten::alias", {{"self", ir::Arg()}}),
                           ParseType("float32[4]"));
  }
  // One of both, as the run decides.
  Place* OneOf(Place* a, Place* b) {
    Place* place = Tensor();
    place->choices = {{a, true}, {b, false}};
    return place;
  }
  void Write(Place* place) { sharing_.WroteTensor(place->root(), writer_); }
  void Read(Place* place) { sharing_.RequireReadable(place, reader_); }
  int Problems() {
    int count = 0;
    for (const auto& problem : p_.diagnostics().all()) count += problem.count;
    return count;
  }
  bool IsReadable(Place* place) {
    const int before = Problems();
    Read(place);
    return Problems() == before;
  }

  Program p_;
  Memory memory_;
  Sharing sharing_{p_.context(), &memory_};
  ir::Node writer_, reader_;
};

TEST_F(SharingOfPlacesTest, AWriteTellsOfBothNames) {
  Place *a = Tensor(), *b = Tensor(), *other = Tensor();
  sharing_.Link(b, a);
  EXPECT_TRUE(IsReadable(a) && IsReadable(b));
  Write(a);
  EXPECT_FALSE(IsReadable(b));
  EXPECT_TRUE(IsReadable(a) && IsReadable(other));
  Write(b);
  EXPECT_FALSE(IsReadable(a));
}

TEST_F(SharingOfPlacesTest, ThirdNames) {
  Place *a = Tensor(), *b = Tensor(), *c = Tensor();
  sharing_.Link(b, a);
  sharing_.Link(c, b);
  EXPECT_TRUE(sharing_.MayMeet(a, c));
  Write(a);
  EXPECT_FALSE(IsReadable(c));
}

TEST_F(SharingOfPlacesTest, ViewsStandForTheirRoots) {
  Place *a = Tensor(), *b = Tensor();
  sharing_.Link(View(b), View(a));
  Write(View(a));
  EXPECT_FALSE(IsReadable(View(b)));
  EXPECT_TRUE(sharing_.MayMeet(View(a), b));
}

TEST_F(SharingOfPlacesTest, ChoicesStandForEachOfTheirPlaces) {
  Place *a = Tensor(), *b = Tensor(), *made = Tensor(), *other = Tensor();
  Place* one = OneOf(a, b);
  sharing_.Link(made, one);
  EXPECT_TRUE(sharing_.MayMeet(one, b));
  EXPECT_FALSE(sharing_.MayMeet(one, other));
  Write(b);
  EXPECT_FALSE(IsReadable(made));
  Write(made);
  EXPECT_FALSE(IsReadable(a));
  EXPECT_FALSE(IsReadable(one));
}

TEST_F(SharingOfPlacesTest, RootsOfChoicesOfChoices) {
  Place *a = Tensor(), *b = Tensor(), *c = Tensor();
  EXPECT_EQ(View(OneOf(OneOf(a, View(b)), OneOf(b, c)))->roots(), (std::vector<Place*>{a, b, c}));
}

TEST_F(SharingOfPlacesTest, ListsHoldTensors) {
  Place *list = List(), *item = Tensor(), *other = Tensor();
  sharing_.LinkItem(item, list);
  Write(other);
  EXPECT_TRUE(IsReadable(list));
  Write(item);
  EXPECT_FALSE(IsReadable(list));
}

TEST_F(SharingOfPlacesTest, AWriteToAnItemTellsOfWhatTheListHolds) {
  Place *list = List(), *item = Tensor();
  sharing_.LinkItem(item, list);
  Write(list);
  EXPECT_FALSE(IsReadable(item));
}

TEST_F(SharingOfPlacesTest, AChangeOfAListLeavesItsTensorsAlone) {
  Place *list = List(), *item = Tensor(), *same = List();
  sharing_.LinkItem(item, list);
  sharing_.Link(same, list);
  sharing_.ChangedContainer(list, writer_);
  EXPECT_TRUE(IsReadable(item));
  EXPECT_FALSE(IsReadable(same));
}

TEST_F(SharingOfPlacesTest, ListsThatHoldOneTensorAreTwoLists) {
  Place *a = List(), *b = List();
  sharing_.LinkHolders(a, b);
  sharing_.ChangedContainer(a, writer_);
  EXPECT_TRUE(IsReadable(b));
  Write(a);
  EXPECT_FALSE(IsReadable(b));
}

TEST_F(SharingOfPlacesTest, AnOptionalTensorIsWrittenTo) {
  ir::Type optional = ir::Type::Scalar(ir::Type::Kind::kOptional);
  optional.elements.push_back(ParseType("float32[4]"));
  Place *tensor = Tensor(), *perhaps = Root(optional);
  sharing_.Link(perhaps, tensor);
  Write(perhaps);
  EXPECT_FALSE(IsReadable(tensor));
}

TEST_F(SharingOfPlacesTest, NewContainersHoldWhatTheyAreMadeOf) {
  Place *list = List(), *item = Tensor(), *copy = List();
  sharing_.LinkItem(item, list);
  sharing_.LinkToItemsOf(copy, list);
  Write(item);
  EXPECT_FALSE(IsReadable(copy));
}

TEST_F(SharingOfPlacesTest, KnownItemsMeet) {
  Place *list = List(), *item = Tensor();
  list->state.knows_items = true;
  list->state.items = {item->state.current};
  EXPECT_TRUE(sharing_.MayMeet(list, item));
  EXPECT_FALSE(sharing_.MayMeet(list, Tensor()));
  EXPECT_FALSE(sharing_.MayMeet(list, nullptr));
}

TEST_F(SharingOfPlacesTest, AnyOfItsClass) {
  Place *same = Tensor(1), *other = Tensor(2), *empty = List(), *made = Tensor(1);
  empty->owns_items = true;
  sharing_.LinkToClass(made);
  EXPECT_TRUE(sharing_.MayMeet(made, same));
  EXPECT_FALSE(sharing_.MayMeet(made, other));
  EXPECT_FALSE(sharing_.MayMeet(made, empty));
}

TEST_F(SharingOfPlacesTest, WhatABranchMadeMayBeAnOuterTensor) {
  Place *a = Tensor(), *b = Tensor();
  memory_.EnterScope(/*is_loop=*/false);
  Place* own = Tensor();
  sharing_.Link(own, a);
  memory_.LeaveScope();
  Place* result = Tensor();
  sharing_.LinkToOuter(result, own);
  EXPECT_TRUE(sharing_.MayMeet(result, a));
  EXPECT_FALSE(sharing_.MayMeet(result, b));
  sharing_.LinkToOuter(result, b);
  EXPECT_TRUE(sharing_.MayMeet(result, b));
}

TEST_F(SharingOfPlacesTest, TheNextIterationReadsWhatThisOneWrites) {
  Place *a = Tensor(), *b = Tensor();
  sharing_.Link(b, a);
  Read(b);
  memory_.EnterScope(/*is_loop=*/true);
  Write(a);
  EXPECT_EQ(Problems(), 0);  // it was read before the loop
  memory_.LeaveScope();
  Place *c = Tensor(), *d = Tensor();
  sharing_.Link(d, c);
  memory_.EnterScope(/*is_loop=*/true);
  Read(d);
  Write(c);
  EXPECT_EQ(Problems(), 1);
}

TEST_F(SharingOfPlacesTest, LinksOfALoopStandBeforeItsWrites) {
  Place *a = Tensor(), *b = Tensor();
  memory_.EnterScope(/*is_loop=*/true);
  Write(a);
  sharing_.Link(b, a);
  EXPECT_FALSE(IsReadable(b));
}

TEST_F(SharingOfPlacesTest, LinksAfterAWriteOutsideOfLoops) {
  Place *a = Tensor(), *b = Tensor();
  Write(a);
  sharing_.Link(b, a);
  EXPECT_TRUE(IsReadable(b));
}

TEST_F(SharingOfPlacesTest, PoppedItemsMayHaveNames) {
  Place* list = List();
  list->owns_items = true;
  Place *item = View(list), *popped = Tensor();
  sharing_.LinkPopped(list, popped);
  Write(popped);
  EXPECT_FALSE(IsReadable(item));
}

TEST_F(SharingOfPlacesTest, MovesIntoAListOfItsOwn) {
  Place *list = List(), *item = Tensor(), *alias = Tensor(), *held = Tensor();
  EXPECT_TRUE(sharing_.CanMoveInto(*item, *list, 0));
  EXPECT_FALSE(sharing_.CanMoveInto(*item, *list, 1));
  EXPECT_FALSE(sharing_.CanMoveInto(*View(item), *list, 0));
  EXPECT_FALSE(sharing_.CanMoveInto(*OneOf(item, alias), *list, 0));
  sharing_.Link(alias, item);
  EXPECT_TRUE(sharing_.CanMoveInto(*item, *list, 0));
  sharing_.LinkItem(held, List());
  EXPECT_FALSE(sharing_.CanMoveInto(*held, *list, 0));
  Write(alias);
  EXPECT_FALSE(sharing_.CanMoveInto(*item, *list, 0));
}

TEST_F(SharingOfPlacesTest, IsMadeHere) {
  Place* outer = Tensor();
  memory_.EnterScope(/*is_loop=*/true);
  Place *own = Tensor(), *alias = Tensor(), *carried = Tensor();
  carried->carried = true;
  sharing_.Link(alias, outer);
  EXPECT_TRUE(sharing_.IsMadeHere(*own));
  EXPECT_FALSE(sharing_.IsMadeHere(*outer));
  EXPECT_FALSE(sharing_.IsMadeHere(*alias));
  EXPECT_FALSE(sharing_.IsMadeHere(*carried));
}

TEST_F(SharingOfPlacesTest, MayHoldTwice) {
  Place *list = List(), *item = Tensor(), *fresh = Tensor();
  EXPECT_FALSE(sharing_.MayHoldTwice(*list, item->state.current));
  sharing_.LinkItem(item, list);
  EXPECT_TRUE(sharing_.MayHoldTwice(*list, item->state.current));
  EXPECT_TRUE(sharing_.MayHoldTwice(*list, OneOf(item, fresh)->state.current));
  EXPECT_FALSE(sharing_.MayHoldTwice(*list, fresh->state.current));
  memory_.EnterScope(/*is_loop=*/true);
  EXPECT_TRUE(sharing_.MayHoldTwice(*list, fresh->state.current));  // once in each iteration
}

}  // namespace
}  // namespace rules_onnx::passes
