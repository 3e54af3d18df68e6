#include "exporter/pt2/exported_program.h"

#include <cstring>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "exporter/ir/print.h"
#include "exporter/ir/verify.h"
#include "exporter/pt2/program_files_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace rules_onnx::pt2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

struct Read {
  capture::Program program;
  diagnostics::Diagnostics diagnostics;
};

Read ReadProgram(const std::string& name) {
  Read read;
  auto program = ReadExportedProgram(ProgramFile(name), {}, &read.diagnostics);
  EXPECT_TRUE(program.ok()) << program.status();
  if (!program.ok()) return read;
  const absl::Status verified = ir::VerifyGraph(program->graph);
  EXPECT_TRUE(verified.ok()) << verified;
  EXPECT_EQ(program->graph.weights.size(), program->sources.size());
  read.program = *std::move(program);
  return read;
}

// The printed graph, without the lines that begin with `without`.
std::string Print(const ir::Graph& graph, const std::vector<std::string>& without = {},
                  bool scopes = false) {
  ir::PrintOptions options;
  options.scopes = scopes;
  std::vector<std::string> lines;
  for (const absl::string_view line : absl::StrSplit(ir::PrintGraph(graph, options), '\n')) {
    bool keep = true;
    for (const std::string& prefix : without)
      keep = keep && line.substr(0, prefix.size()) != prefix;
    if (keep) lines.emplace_back(line);
  }
  return absl::StrJoin(lines, "\n");
}

template <typename T>
std::vector<T> Content(const capture::Program& program, absl::string_view weight) {
  for (size_t i = 0; i < program.graph.weights.size(); ++i) {
    if (program.graph.weights[i].name != weight) continue;
    std::string bytes;
    const absl::Status status = weights::ReadAll(*program.sources[i], &bytes);
    EXPECT_TRUE(status.ok()) << status;
    std::vector<T> values(bytes.size() / sizeof(T));
    std::memcpy(values.data(), bytes.data(), values.size() * sizeof(T));
    return values;
  }
  ADD_FAILURE() << "no weight " << weight;
  return {};
}

std::vector<std::string> Messages(const diagnostics::Diagnostics& diagnostics) {
  std::vector<std::string> messages;
  for (const auto& diagnostic : diagnostics.all()) messages.push_back(diagnostic.message);
  return messages;
}

TEST(ExportedProgramTest, ConvNet) {
  const Read read = ReadProgram("convnet");
  EXPECT_EQ(Print(read.program.graph, {"weight"}, true), R"(symbol s53 = 8, 2..
symbol s77 = 2, 2..
input %x: float32[s77, 3, s53, 10]
%conv2d: float32[s77, 4, floordiv(s53 - 1, 2) + 1, 5] = aten::conv2d(input=%x, weight=%features.0.weight, bias=%features.0.bias, stride=[2, 2], padding=[1, 1], dilation=[1, 1], groups=1)  # ConvNet/Sequential[features]/Conv2d[0]
%batch_norm: float32[s77, 4, floordiv(s53 - 1, 2) + 1, 5] = aten::batch_norm(input=%conv2d, weight=%features.1.weight, bias=%features.1.bias, running_mean=%features.1.running_mean, running_var=%features.1.running_var, training=False, momentum=0.1, eps=1e-05, cudnn_enabled=False)  # ConvNet/Sequential[features]/BatchNorm2d[1]
%relu: float32[s77, 4, floordiv(s53 - 1, 2) + 1, 5] = aten::relu(self=%batch_norm)  # ConvNet/Sequential[features]/ReLU[2]
%mean: float32[s77, 4] = aten::mean.dim(self=%relu, dim=[2, 3], keepdim=False, dtype=None)  # ConvNet
%linear: float32[s77, 2] = aten::linear(input=%mean, weight=%classifier.weight, bias=%classifier.bias)  # ConvNet/Linear[classifier]
output out = %linear
)");
  EXPECT_TRUE(read.diagnostics.all().empty());
  EXPECT_THAT(Content<float>(read.program, "classifier.weight"),
              ElementsAre(4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(Content<int64_t>(read.program, "features.1.num_batches_tracked"), ElementsAre(0));
}

TEST(ExportedProgramTest, SourceLines) {
  const Read read = ReadProgram("convnet");
  const ir::Node& conv = *read.program.graph.main.nodes.front();
  const auto it = read.program.debug.find(conv.id);
  ASSERT_NE(it, read.program.debug.end());
  EXPECT_EQ(it->second.file, "make_programs.py");
  EXPECT_EQ(it->second.text, "x = self.features(x)");
}

TEST(ExportedProgramTest, WeightsOfEveryKind) {
  const Read read = ReadProgram("tied");
  const std::vector<float> table = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
  EXPECT_EQ(Content<float>(read.program, "a"), table);
  EXPECT_EQ(Content<float>(read.program, "b"), table);
  EXPECT_THAT(Content<float>(read.program, "column"), ElementsAre(1, 5, 9));
  EXPECT_THAT(Content<float>(read.program, "transposed"),
              ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
  EXPECT_THAT(Content<float>(read.program, "expanded"), ElementsAre(7, 7, 7, 7));
  EXPECT_THAT(Content<float>(read.program, "scratch"), ElementsAre(1, 1));
  const std::vector<int64_t> large = Content<int64_t>(read.program, "large");
  ASSERT_EQ(large.size(), 400);
  EXPECT_EQ(large[399], 399);
  EXPECT_THAT(Print(read.program.graph), HasSubstr("prim::Constant(value=int16[3]{1, 2, 3})"));
  std::vector<bool> parameters;
  for (const ir::Weight& weight : read.program.graph.weights) {
    parameters.push_back(weight.is_parameter);
  }
  EXPECT_THAT(parameters, ElementsAre(true, true, false, false, false, false, false));
}

TEST(ExportedProgramTest, MutatedBuffersAreNoOutputs) {
  const Read core = ReadProgram("counter_core");
  EXPECT_THAT(core.program.graph.output_names, ElementsAre("out"));
  EXPECT_THAT(Messages(core.diagnostics),
              ElementsAre("the program changes buffer 'count'; its final state is not an output"));
  // Not decomposed, the program still holds the write.
  EXPECT_THAT(Print(ReadProgram("counter").program.graph),
              HasSubstr("aten::add_.Tensor(self=%count"));
}

TEST(ExportedProgramTest, ContainersAreFlattened) {
  const Read read = ReadProgram("containers");
  EXPECT_EQ(Print(read.program.graph, {"symbol", "%"}), R"(input %x: float32[s77]
input %state.h.0: float32[1]
input %state.h.1: float32[2]
input %boxes.boxes: float32[4]
input %boxes.label: float32[2]
output out.pair.first = %add
output out.pair.rest.0 = %state.h.0
output out.boxes.boxes = %mul
output out.size = %add_1
output out.three = 3
dropped output out.pair.rest.1: None
dropped output out.boxes.label: str
)");
}

TEST(ExportedProgramTest, Cond) {
  EXPECT_EQ(Print(ReadProgram("cond").program.graph, {"symbol"}), R"(input %args_0: float32[s33, 3]
%sum_1: float32[] = aten::sum(self=%args_0, dtype=None)
%gt: bool[] = aten::gt.Scalar(self=%sum_1, other=0)
%3: bool = aten::Bool.Tensor(a=%gt)
%getitem: float32[s33, 3], %getitem_1: float32[s33, 3] = prim::If(cond=%3)
  block():
    %add: float32[s33, 3] = aten::add.Tensor(self=%args_0, other=1, alpha=1)
    %mul: float32[s33, 3] = aten::mul.Tensor(self=%args_0, other=2)
    return (%add, %mul)
  block():
    %sub: float32[s33, 3] = aten::sub.Tensor(self=%args_0, other=1, alpha=1)
    %div: float32[s33, 3] = aten::div.Tensor(self=%args_0, other=2)
    return (%sub, %div)
output out.0 = %getitem
output out.1 = %getitem_1
)");
  EXPECT_THAT(Print(ReadProgram("cond_size").program.graph),
              HasSubstr("%gt: bool = aten::gt.int(a=%sym_size_int_1, b=4)\n"
                        "%getitem: float32[s33, 3] = prim::If(cond=%gt)"));
}

TEST(ExportedProgramTest, WhileLoop) {
  EXPECT_EQ(Print(ReadProgram("while_loop").program.graph, {"symbol", "input", "output"}),
            R"(%2: int64[] = aten::mul.Tensor(self=%args_0, other=0)
%3: bool[] = aten::lt.Tensor(self=%2, other=%args_0)
%4: bool = aten::Bool.Tensor(a=%3)
%getitem: int64[], %getitem_1: float32[s6, 3] = prim::Loop(max_trip_count=9223372036854775807, cond=%4, carried=[%2, %args_1])
  block(%5: int, %arg0_1: int64[], %arg1_1: float32[s6, 3]):
    %add: int64[] = aten::add.Tensor(self=%arg0_1, other=1, alpha=1)
    %9: float32[s6, 3] = aten::mul.Tensor(self=%arg1_1, other=2)
    %10: bool[] = aten::lt.Tensor(self=%add, other=%args_0)
    %11: bool = aten::Bool.Tensor(a=%10)
    return (%11, %add, %9)
)");
}

// The file gives them none.
TEST(ExportedProgramTest, NodesOfInnerGraphsHaveTheScopeOfTheCall) {
  const Read read = ReadProgram("while_loop");
  int nodes = 0;
  ir::ForEachNode(read.program.graph.main, [&](const ir::Node& node) {
    EXPECT_EQ(node.scope, "Function") << node.op;
    ++nodes;
  });
  EXPECT_EQ(nodes, 8);
}

TEST(ExportedProgramTest, ScanAndMap) {
  EXPECT_THAT(
      Print(ReadProgram("scan").program.graph),
      HasSubstr(
          R"(%getitem: float32[3], %getitem_1: float32[s33, 3] = prim::Scan(init=[%zeros], xs=[%args_0])
  block(%arg0_1: float32[3], %arg1_1: float32[3]):
    %add: float32[3] = aten::add.Tensor(self=%arg0_1, other=%arg1_1, alpha=1)
    %mul: float32[3] = aten::mul.Tensor(self=%arg0_1, other=%arg1_1)
    return (%add, %mul)
)"));
  EXPECT_THAT(Print(ReadProgram("map").program.graph),
              HasSubstr(
                  R"(%getitem: float32[s33, 3] = prim::Scan(init=[], xs=[%0])
  block(%2: float32[3]):
    %add: float32[3] = aten::add.Tensor(self=%2, other=%args_1, alpha=1)
    return (%add)
)"));
}

TEST(ExportedProgramTest, Vmap) {
  EXPECT_EQ(Print(ReadProgram("vmap").program.graph, {"symbol", "input", "output"}),
            R"(%sym_size_int_2: int = aten::size.int(self=%args_0, dim=0)
%_remove_batch_dim_1: float32[s33, 3], %_remove_batch_dim_2: float32[s33, 4] = prim::Scan(init=[], xs=[%args_0, %args_1])
  block(%_add_batch_dim: float32[3], %_add_batch_dim_1: float32[4]):
    %select: float32[] = aten::select.int(self=%_add_batch_dim_1, dim=0, index=0)
    %add: float32[3] = aten::add.Tensor(self=%_add_batch_dim, other=%select, alpha=1)
    %_remove_batch_dim: float32[4] = prim::Scan(init=[], xs=[%_add_batch_dim_1])
      block(%_add_batch_dim_2: float32[]):
        %sin: float32[] = aten::sin(self=%_add_batch_dim_2)
        return (%sin)
    return (%add, %_remove_batch_dim)
)");
}

TEST(ExportedProgramTest, GradAndAutocastModes) {
  EXPECT_EQ(Print(ReadProgram("modes").program.graph, {"symbol", "input", "output"}),
            R"(%mul: float32[s33, 3] = aten::mul.Tensor(self=%args_0, other=2)
%t: float32[3, s33] = aten::t(self=%mul)
%3: bfloat16[s33, 3] = aten::to.dtype(self=%args_0, dtype=bfloat16, non_blocking=False, copy=False, memory_format=None)
%4: bfloat16[3, s33] = aten::to.dtype(self=%t, dtype=bfloat16, non_blocking=False, copy=False, memory_format=None)
%matmul: bfloat16[s33, s33] = aten::matmul(self=%3, other=%4)
)");
}

TEST(ExportedProgramTest, ListsAndSeveralOutputs) {
  EXPECT_EQ(
      Print(ReadProgram("lists").program.graph, {"symbol", "input", "output"}),
      R"(%3: list[float32[s33, ?]] = aten::split_with_sizes(self=%args_0, split_sizes=[1, 3], dim=1)
%getitem: float32[s33, 1], %getitem_1: float32[s33, 3] = prim::ListUnpack(self=%3)
%cat: float32[2*s33, 4] = aten::cat(tensors=[%args_0, %args_0], dim=0)
%9: list[float32[s33]] = aten::unbind.int(self=%args_0, dim=1)
%getitem_2: float32[s33], %getitem_3: float32[s33], %getitem_4: float32[s33], %getitem_5: float32[s33] = prim::ListUnpack(self=%9)
)");
  EXPECT_THAT(Print(ReadProgram("several_outputs").program.graph),
              HasSubstr("%getitem: float32[s33, 2], %getitem_1: int64[s33, 2] = aten::topk("));
}

TEST(ExportedProgramTest, DTypes) {
  EXPECT_EQ(Print(ReadProgram("dtypes").program.graph, {"output"}),
            R"(input %args_0: float32[6, 4]
%to: float16[6, 4] = aten::to.dtype(self=%args_0, dtype=float16, non_blocking=False, copy=False, memory_format=None)
%zeros: uint8[2] = aten::zeros(size=[2], dtype=uint8, layout=None, device=None, pin_memory=None)
%to_1: float64[6, 4] = aten::to.dtype(self=%args_0, dtype=float64, non_blocking=False, copy=False, memory_format=None)
%gt: bool[6, 4] = aten::gt.Scalar(self=%args_0, other=0)
%to_2: complex64[6, 4] = aten::to.dtype(self=%args_0, dtype=complex64, non_blocking=False, copy=False, memory_format=None)
)");
}

TEST(ExportedProgramTest, OptionalTensorsInLists) {
  EXPECT_THAT(Print(ReadProgram("indexing").program.graph),
              HasSubstr("aten::index.Tensor(self=%slice_1, indices=[%args_1])"));
}

TEST(ExportedProgramTest, SizesAreScalars) {
  EXPECT_EQ(Print(ReadProgram("sizes").program.graph, {"output"}), R"(symbol s10 = 3, 0..
symbol s44 = 3, 2..50
input %args_0: float32[2*s44, 4]
input %args_1: int
%sym_size_int: int = aten::size.int(self=%args_0, dim=0)
%floordiv: int = aten::floordiv.int(a=%sym_size_int, b=2)
%view: float32[s44, 8] = aten::view(self=%args_0, size=[%floordiv, -1])
%mul: int = aten::mul.int(a=%sym_size_int, b=2)
%add: int = aten::add.int(a=%mul, b=%args_1)
%sym_max: int = prim::max.int(a=%sym_size_int, b=5)
%new_zeros: float32[s10 + 4*s44, max(5, 2*s44)] = aten::new_zeros(self=%args_0, size=[%add, %sym_max], dtype=None, layout=None, device=None, pin_memory=None)
%truediv: float = aten::div.int(a=%sym_size_int, b=2)
%mul_1: float32[2*s44, 4] = aten::mul.Tensor(self=%args_0, other=%truediv)
)");
}

TEST(ExportedProgramTest, DataDependentSizes) {
  const Read read = ReadProgram("data_dependent");
  const auto& symbols = read.program.graph.symbols;
  ASSERT_TRUE(symbols.contains("u0"));
  EXPECT_TRUE(symbols.at("u0").data_dependent);
  EXPECT_EQ(symbols.at("u0").min, 2);
  EXPECT_EQ(symbols.at("u0").max, 99);
  EXPECT_FALSE(symbols.at("u1").max.has_value());
  EXPECT_FALSE(symbols.at("s33").data_dependent);
  const std::string text = Print(read.program.graph);
  EXPECT_THAT(text, HasSubstr("%item: int = aten::item(self=%to)"));
  EXPECT_THAT(text, HasSubstr("%nonzero: int64[u1, 2] = aten::nonzero("));
  EXPECT_THAT(text, testing::Not(HasSubstr("assert")));
}

TEST(ExportedProgramTest, CustomOperators) {
  EXPECT_THAT(Print(ReadProgram("custom").program.graph),
              HasSubstr("%scale: float32[2] = test::scale(x=%x, factor=3.0)"));
}

TEST(ExportedProgramTest, NamesOfInputsOutputsAndWeightsDiffer) {
  EXPECT_EQ(Print(ReadProgram("names").program.graph, {"%"}),
            R"(weight %x.weight: float32[2, 2] = 'x.weight' parameter at 0 + 0
weight %y: float32[2] = 'y' buffer at 0 + 0
input %out: float32[2]
input %y_1: float32[2]
output output.y = %add_1
)");
}

TEST(ExportedProgramTest, SameProgramSameGraph) {
  Read first = ReadProgram("scan");
  Read second = ReadProgram("scan");
  EXPECT_EQ(ir::SerializeGraph(&first.program.graph), ir::SerializeGraph(&second.program.graph));
}

TEST(ExportedProgramTest, UnknownMembersAreIgnored) { ReadProgram("newer_minor"); }

}  // namespace
}  // namespace rules_onnx::pt2
