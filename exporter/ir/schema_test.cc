#include "exporter/ir/schema.h"

#include <complex>
#include <string>
#include <thread>
#include <vector>

#include "exporter/ir/aten_schemas.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rules_onnx::ir {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Schema Parse(absl::string_view text) {
  absl::StatusOr<Schema> schema = ParseSchema(text);
  EXPECT_TRUE(schema.ok()) << schema.status();
  return schema.ok() ? *std::move(schema) : Schema();
}

Arg DefaultOf(absl::string_view arg) {
  const Schema schema = Parse(absl::StrCat("a::b(", std::string(arg), ") -> ()"));
  return schema.args.at(0).default_value.value();
}

TEST(ParseSchemaTest, ReadsAnInPlaceOperator) {
  const Schema schema = Parse(
      "aten::add_.Tensor(Tensor(a!) self, Tensor other, *, Scalar alpha=1) -> Tensor(a!)");
  EXPECT_EQ(schema.op, "aten::add_.Tensor");
  ASSERT_EQ(schema.args.size(), 3);
  EXPECT_EQ(schema.args[0].name, "self");
  EXPECT_EQ(schema.args[0].type, "Tensor");
  EXPECT_EQ(schema.args[0].alias, "a");
  EXPECT_TRUE(schema.args[0].is_write);
  EXPECT_FALSE(schema.args[1].keyword_only);
  EXPECT_FALSE(schema.args[1].default_value.has_value());
  EXPECT_TRUE(schema.args[2].keyword_only);
  EXPECT_TRUE(schema.args[2].default_value == Arg(1));
  ASSERT_EQ(schema.returns.size(), 1);
  EXPECT_EQ(schema.returns[0].alias, "a");
  EXPECT_TRUE(schema.writes());
  EXPECT_FALSE(schema.is_view());
}

TEST(ParseSchemaTest, ReadsAliasSets) {
  EXPECT_TRUE(Parse("a::v(Tensor(a) self) -> Tensor(a)").is_view());
  EXPECT_FALSE(Parse("a::v(Tensor(a) self) -> Tensor").is_view());
  EXPECT_FALSE(Parse("a::v(Tensor(a) self) -> Tensor(*)").is_view());

  const Schema to = Parse("a::to(Tensor(a) self, bool copy) -> Tensor(b|a)");
  EXPECT_EQ(to.returns[0].alias, "b|a");
  EXPECT_TRUE(to.is_view());

  const Schema split = Parse("a::split(Tensor(a -> *) self, int n) -> Tensor(a)[]");
  EXPECT_EQ(split.args[0].alias, "a");
  EXPECT_FALSE(split.args[0].is_write);
  EXPECT_EQ(split.returns[0].type, "Tensor[]");
  EXPECT_EQ(split.returns[0].alias, "a");
  EXPECT_TRUE(split.is_view());

  const Schema foreach = Parse("a::foreach_(Tensor(a!)[] self, t[](b!) list) -> ()");
  EXPECT_EQ(foreach.args[0].type, "Tensor[]");
  EXPECT_TRUE(foreach.args[0].is_write);
  EXPECT_EQ(foreach.args[1].type, "t[]");
  EXPECT_EQ(foreach.args[1].alias, "b");
  EXPECT_TRUE(foreach.args[1].is_write);
}

TEST(ParseSchemaTest, ReadsTypes) {
  const Schema schema = Parse(
      "a::b(Tensor?[] x, SymInt[2]? s, Dict(str, t)(a!) d, (Tensor, t)[] p, "
      "__torch__.torch.classes.quantized.Conv2dPackedParamsBase w, Future(t) f, ...) -> ...");
  std::vector<std::string> types;
  for (const SchemaArg& arg : schema.args) types.push_back(arg.type);
  EXPECT_THAT(types, ElementsAre("Tensor?[]", "SymInt[2]?", "Dict(str, t)", "(Tensor, t)[]",
                                 "__torch__.torch.classes.quantized.Conv2dPackedParamsBase",
                                 "Future(t)"));
  EXPECT_EQ(schema.args[2].alias, "a");
  EXPECT_TRUE(schema.has_vararg_args);
  EXPECT_TRUE(schema.has_vararg_returns);
  EXPECT_TRUE(schema.returns.empty());
}

TEST(ParseSchemaTest, ReadsReturns) {
  EXPECT_TRUE(Parse("a::b() -> ()").returns.empty());
  const Schema named = Parse("a::b() -> (Tensor values, Tensor indices)");
  ASSERT_EQ(named.returns.size(), 2);
  EXPECT_EQ(named.returns[1].name, "indices");
  const Schema tuple = Parse("a::b() -> ((str, t)[])");
  ASSERT_EQ(tuple.returns.size(), 1);
  EXPECT_EQ(tuple.returns[0].type, "(str, t)[]");
}

TEST(ParseSchemaTest, ReadsDefaults) {
  EXPECT_TRUE(DefaultOf("Tensor? x=None").is_none());
  EXPECT_TRUE(DefaultOf("bool x=True") == Arg(true));
  EXPECT_TRUE(DefaultOf("int x=-100") == Arg(-100));
  EXPECT_TRUE(DefaultOf("float x=1.0000000000000001e-05") == Arg(1e-5));
  EXPECT_TRUE(DefaultOf("float x=0") == Arg(0.0));
  EXPECT_TRUE(DefaultOf("float? x=-inf") == Arg(-std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(DefaultOf("Scalar x=1") == Arg(1));
  EXPECT_TRUE(DefaultOf("Scalar x=0.5") == Arg(0.5));
  EXPECT_TRUE(DefaultOf("complex x=2.j") == Arg(std::complex<double>(0, 2)));
  EXPECT_TRUE(DefaultOf("Scalar x=1e-3-2.5j") == Arg(std::complex<double>(1e-3, -2.5)));
  EXPECT_TRUE(DefaultOf("int[2] x=1") == Arg::Ints({1, 1}));
  EXPECT_TRUE(DefaultOf("SymInt[2] x=[0, 1]") == Arg::Ints({0, 1}));
  EXPECT_TRUE(DefaultOf("bool[3] x=True") == Arg(Arg::List{true, true, true}));
  EXPECT_TRUE(DefaultOf("float[] x=[]") == Arg(Arg::List{}));
  EXPECT_TRUE(DefaultOf("str x=\"a\\n\\\"b\"") == Arg("a\n\"b"));
  EXPECT_TRUE(DefaultOf("str x='none'") == Arg("none"));
  EXPECT_TRUE(DefaultOf("ScalarType x=6") == Arg(DType::kFloat32));
  EXPECT_TRUE(DefaultOf("ScalarType? x=long") == Arg(DType::kInt64));
  EXPECT_TRUE(DefaultOf("int reduction=Mean") == Arg(1));
  EXPECT_TRUE(DefaultOf("Device x=\"cpu\"").is_none());
  EXPECT_TRUE(DefaultOf("Layout? x=strided").is_none());
  EXPECT_TRUE(DefaultOf("MemoryFormat x=contiguous_format").is_none());
  EXPECT_TRUE(DefaultOf("bool? pin_memory=False").is_none());
}

TEST(ParseSchemaTest, RefusesWhatIsNoSchema) {
  for (const char* text :
       {"", "add(Tensor x) -> Tensor", "a::b", "a::b(", "a::b()", "a::b() ->", "a::b(Tensor) -> ()",
        "a::b(Tensor x,) -> ()", "a::b(Tensor x) -> Tensor)", "a::b(Tensor x, int x) -> ()",
        "a::b(Tensor( x) -> ()", "a::b(int x=) -> ()", "a::b(int x=foo) -> ()",
        "a::b(int x=\"1\") -> ()", "a::b(str x=\"1) -> ()", "a::b(int[9999999999] x) -> ()",
        "a::b(int[2 x) -> ()", "a::b(bool x=1) -> ()", "a::b(..., int x) -> ()",
        "a::b(ScalarType x=8) -> ()"}) {
    const absl::StatusOr<Schema> schema = ParseSchema(text);
    EXPECT_FALSE(schema.ok()) << text;
    EXPECT_THAT(std::string(schema.status().message()), HasSubstr(text));
  }
  EXPECT_FALSE(ParseSchema(std::string(100000, '(')).ok());
  EXPECT_FALSE(ParseSchema("a::b(Tensor" + std::string(100000, '?') + " x) -> ()").ok());
  EXPECT_FALSE(ParseSchema("a::b(" + std::string(100000, '(')).ok());
  EXPECT_FALSE(ParseSchema("a::b(int[] x=" + std::string(100000, '[')).ok());
}

TEST(FindSchemaTest, WholeBuiltinTableIsSortedAndParses) {
  ASSERT_GT(kNumBuiltinSchemas, 4000);
  std::string previous;
  for (size_t i = 0; i < kNumBuiltinSchemas; ++i) {
    const absl::StatusOr<Schema> schema = ParseSchema(kBuiltinSchemas[i]);
    ASSERT_TRUE(schema.ok()) << schema.status();
    ASSERT_LT(previous, schema->op);
    previous = schema->op;
    const Schema* found = FindSchema(schema->op);
    ASSERT_NE(found, nullptr) << schema->op;
    ASSERT_EQ(found->op, schema->op);
    ASSERT_EQ(FindSchema(schema->op), found);
  }
}

TEST(FindSchemaTest, FindsByNameWithOverload) {
  ASSERT_NE(FindSchema("aten::relu"), nullptr);
  ASSERT_NE(FindSchema("aten::add.Tensor"), nullptr);
  EXPECT_NE(FindSchema("prims::convert_element_type"), nullptr);
  EXPECT_NE(FindSchema("quantized::linear"), nullptr);
  EXPECT_NE(FindSchema("torchvision::roi_align"), nullptr);
  EXPECT_NE(FindSchema("aten::sym_size.int"), nullptr);
  EXPECT_EQ(FindSchema("aten::add.Nothing"), nullptr);
  EXPECT_EQ(FindSchema(""), nullptr);
  EXPECT_EQ(FindSchema("zzz::z"), nullptr);

  const Schema& to = *FindSchema("aten::to.prim_dtype");
  EXPECT_EQ(to.Find("dtype")->type, "ScalarType?");
  EXPECT_TRUE(FindSchema("aten::select.int")->is_view());
  EXPECT_TRUE(FindSchema("aten::relu_")->writes());
}

TEST(FindSchemaTest, IsThreadSafe) {
  std::vector<const Schema*> found(4);
  std::vector<std::thread> threads;
  for (const Schema*& slot : found) {
    threads.emplace_back([&slot] { slot = FindSchema("aten::conv3d"); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_THAT(found, ::testing::Each(found[0]));
  EXPECT_NE(found[0], nullptr);
}

class BindTest : public ::testing::Test {
 protected:
  Node* Make(absl::string_view op, std::vector<NamedArg> args) {
    node_ = graph_.NewNode(std::string(op), std::move(args));
    return node_.get();
  }
  absl::Status Bind(absl::string_view op, std::vector<NamedArg> args) {
    return BindToSchema(*FindSchema(op), Make(op, std::move(args)));
  }
  void ExpectError(absl::string_view op, std::vector<NamedArg> args, const std::string& message) {
    EXPECT_EQ(std::string(Bind(op, std::move(args)).message()), message);
  }
  const Arg& Bound(absl::string_view name) { return *node_->Find(name); }

  Graph graph_;
  std::unique_ptr<Node> node_;
  Value* x_ = graph_.NewValue(Type::Tensor(DType::kFloat32, Shape{2, 3}), "x");
  Value* n_ = graph_.NewValue(Type::Scalar(Type::Kind::kInt), "n");
};

TEST_F(BindTest, OrdersAndFillsIn) {
  ASSERT_TRUE(Bind("aten::add.Tensor", {{"other", 2}, {"self", x_}}).ok());
  ASSERT_EQ(node_->args.size(), 3);
  EXPECT_EQ(node_->args[0].name, "self");
  EXPECT_TRUE(node_->args[0].value == Arg(x_));
  EXPECT_EQ(node_->args[1].name, "other");
  EXPECT_TRUE(node_->args[1].value == Arg(2));
  EXPECT_EQ(node_->args[2].name, "alpha");
  EXPECT_TRUE(node_->args[2].value == Arg(1));
}

TEST_F(BindTest, TakesPositionalArguments) {
  ASSERT_TRUE(Bind("aten::softmax.int", {{"", x_}, {"", 1}, {"dtype", 7}}).ok());
  EXPECT_TRUE(Bound("dim") == Arg(1));
  EXPECT_TRUE(Bound("dtype") == Arg(DType::kFloat64));
}

TEST_F(BindTest, Converts) {
  ASSERT_TRUE(Bind("aten::max_pool2d",
                   {{"self", x_}, {"kernel_size", 3}, {"stride", Arg::Ints({2})}, {"ceil_mode", true}})
                  .ok());
  EXPECT_TRUE(Bound("kernel_size") == Arg::Ints({3, 3}));
  EXPECT_TRUE(Bound("stride") == Arg::Ints({2}));
  EXPECT_TRUE(Bound("dilation") == Arg::Ints({1, 1}));

  ASSERT_TRUE(Bind("aten::max_pool2d", {{"self", x_}, {"kernel_size", n_}}).ok());
  EXPECT_TRUE(Bound("kernel_size") == Arg(Arg::List{n_, n_}));

  ASSERT_TRUE(Bind("aten::dropout", {{"input", x_}, {"p", 0}, {"train", false}}).ok());
  EXPECT_TRUE(Bound("p") == Arg(0.0));

  ASSERT_TRUE(Bind("aten::cat", {{"tensors", Arg::List{x_, x_}}, {"dim", true}}).ok());
  EXPECT_TRUE(Bound("dim") == Arg(1));
}

TEST_F(BindTest, ForgetsWhereAndHowTensorsAreKept) {
  ASSERT_TRUE(Bind("aten::zeros", {{"size", Arg::List{n_, 3}},
                                   {"dtype", DType::kInt64},
                                   {"layout", 0},
                                   {"device", "cpu"},
                                   {"pin_memory", false}})
                  .ok());
  EXPECT_TRUE(Bound("dtype") == Arg(DType::kInt64));
  EXPECT_TRUE(Bound("layout").is_none());
  EXPECT_TRUE(Bound("device").is_none());
  EXPECT_TRUE(Bound("pin_memory").is_none());

  ASSERT_TRUE(Bind("aten::clone", {{"self", x_}, {"memory_format", 1}}).ok());
  EXPECT_TRUE(Bound("memory_format").is_none());
  ASSERT_TRUE(Bind("aten::clone", {{"self", x_}, {"memory_format", 2}}).ok());
  EXPECT_TRUE(Bound("memory_format").is_int());  // channels_last
}

TEST_F(BindTest, TakesNoneAndOptionalValues) {
  Value* maybe = graph_.NewValue(
      Type{.kind = Type::Kind::kOptional, .elements = {Type::Tensor(DType::kFloat32, {})}});
  EXPECT_TRUE(Bind("aten::linear", {{"input", x_}, {"weight", x_}, {"bias", maybe}}).ok());
  EXPECT_TRUE(Bind("aten::linear", {{"input", x_}, {"weight", x_}, {"bias", Arg()}}).ok());
  EXPECT_TRUE(Bind("aten::index.Tensor", {{"self", x_}, {"indices", Arg::List{Arg(), x_}}}).ok());
  Value* unknown = graph_.NewValue(Type());
  EXPECT_TRUE(Bind("aten::relu", {{"self", unknown}}).ok());
}

TEST_F(BindTest, KeepsExtraArgumentsOfVarargs) {
  ASSERT_TRUE(Bind("aten::format", {{"", "{} {}"}, {"", 1}, {"", x_}}).ok());
  ASSERT_EQ(node_->args.size(), 3);
  EXPECT_EQ(node_->args[0].name, "self");
  EXPECT_TRUE(node_->args[2].value == Arg(x_));
}

TEST_F(BindTest, NamesTheArgumentInErrors) {
  ExpectError("aten::relu", {}, "aten::relu: argument 'self' is missing");
  ExpectError("aten::relu", {{"self", x_}, {"foo", 1}},
              "aten::relu: argument 'foo' is not in its schema");
  ExpectError("aten::relu", {{"", x_}, {"", x_}},
              "aten::relu: more arguments than the 1 of its schema");
  ExpectError("aten::relu", {{"", x_}, {"self", x_}}, "aten::relu: argument 'self' is given twice");
  ExpectError("aten::relu", {{"self", "x"}},
              "aten::relu: argument 'self' is str 'x'; its schema takes Tensor");
  ExpectError("aten::select.int", {{"self", x_}, {"dim", 1.5}, {"index", 0}},
              "aten::select.int: argument 'dim' is float 1.5; its schema takes int");
  ExpectError("aten::select.int", {{"self", x_}, {"dim", x_}, {"index", 0}},
              "aten::select.int: argument 'dim' is a value of type float32[2, 3]; its schema takes "
              "int");
  ExpectError("aten::view", {{"self", x_}, {"size", Arg::List{1, 2.0}}},
              "aten::view: argument 'size' is [int 1, float 2]; its schema takes SymInt[]");
  ExpectError("aten::view", {{"self", x_}, {"size", 1}},
              "aten::view: argument 'size' is int 1; its schema takes SymInt[]");
  ExpectError("aten::to.dtype", {{"self", x_}, {"dtype", 8}},
              "aten::to.dtype: argument 'dtype' is int 8; its schema takes ScalarType");
  ExpectError("aten::relu", {{"self", Arg()}},
              "aten::relu: argument 'self' is None; its schema takes Tensor");
}

TEST_F(BindTest, LeavesTheNodeAloneOnError) {
  ASSERT_FALSE(Bind("aten::dropout", {{"train", 1}, {"p", 0}, {"input", x_}}).ok());
  EXPECT_EQ(node_->args[0].name, "train");
  EXPECT_TRUE(node_->args[1].value == Arg(0));
}

TEST(ArgFitsTest, IsTrueForBoundArgumentsOnly) {
  const SchemaArg p{.name = "p", .type = "float"};
  EXPECT_TRUE(ArgFits(p, Arg(0.5)));
  EXPECT_FALSE(ArgFits(p, Arg(1)));
  EXPECT_FALSE(ArgFits(p, Arg()));
  const SchemaArg device{.name = "device", .type = "Device?"};
  EXPECT_TRUE(ArgFits(device, Arg()));
  EXPECT_FALSE(ArgFits(device, Arg("cpu")));
}

}  // namespace
}  // namespace rules_onnx::ir
