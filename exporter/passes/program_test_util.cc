#include "exporter/passes/program_test_util.h"

#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "exporter/ir/print.h"
#include "exporter/ir/schema.h"
#include "exporter/ir/verify.h"

namespace rules_onnx::passes {

ir::Type ParseType(absl::string_view text) {
  using Kind = ir::Type::Kind;
  if (text == "int") return ir::Type::Scalar(Kind::kInt);
  if (text == "float") return ir::Type::Scalar(Kind::kFloat);
  if (text == "bool") return ir::Type::Scalar(Kind::kBool);
  if (absl::StartsWith(text, "list[")) {
    return ir::Type::List(ParseType(text.substr(5, text.size() - 6)));
  }
  if (absl::StartsWith(text, "tuple(")) {
    std::vector<ir::Type> elements;
    for (absl::string_view item : absl::StrSplit(text.substr(6, text.size() - 7), ';')) {
      elements.push_back(ParseType(item));
    }
    return ir::Type::Tuple(std::move(elements));
  }
  const size_t bracket = text.find('[');
  const ir::DType dtype = *ir::ParseDType(text.substr(0, bracket));
  const absl::string_view dims = text.substr(bracket + 1, text.size() - bracket - 2);
  if (dims == "...") return ir::Type::Tensor(dtype, std::nullopt);
  ir::Shape shape;
  if (!dims.empty()) {
    for (absl::string_view dim : absl::StrSplit(dims, ", ")) {
      shape.push_back(*ir::Dim::Parse(dim));
    }
  }
  return ir::Type::Tensor(dtype, std::move(shape));
}

ir::Value* Program::Input(absl::string_view name, absl::string_view type) {
  graph_.main.params.push_back(graph_.NewValue(ParseType(type), std::string(name)));
  return graph_.main.params.back();
}

ir::Value* Program::Weight(absl::string_view name, absl::string_view type, bool is_parameter) {
  ir::Value* value = graph_.NewValue(ParseType(type), std::string(name));
  graph_.weights.push_back(
      {.value = value, .name = std::string(name), .is_parameter = is_parameter});
  return value;
}

ir::Node* Program::Add(absl::string_view op, std::vector<ir::NamedArg> args,
                       std::vector<std::string> types) {
  auto node = graph_.NewNode(std::string(op), std::move(args));
  if (const ir::Schema* schema = context_.schemas.Find(op)) {
    const absl::Status status = ir::BindToSchema(*schema, node.get());
    EXPECT_TRUE(status.ok()) << status;
  }
  for (const std::string& type : types) node->outputs.push_back(graph_.NewValue(ParseType(type)));
  block_->nodes.push_back(std::move(node));
  return block_->nodes.back().get();
}

ir::Value* Program::Op(absl::string_view op, std::vector<ir::Arg> args, absl::string_view type,
                       absl::string_view name) {
  std::vector<ir::NamedArg> named;
  for (ir::Arg& arg : args) named.push_back({"", std::move(arg)});
  ir::Value* output = Add(op, std::move(named), {std::string(type)})->output();
  output->name = std::string(name);
  return output;
}

std::vector<ir::Value*> Program::If(ir::Arg condition, std::vector<std::string> types, Body then,
                                    Body otherwise) {
  ir::Node* node = Add("prim::If", {{"cond", std::move(condition)}}, std::move(types));
  ir::Block* outer = block_;
  for (const Body& body : {then, otherwise}) {
    node->blocks.push_back(std::make_unique<ir::Block>());
    block_ = node->blocks.back().get();
    block_->results = body();
  }
  block_ = outer;
  return node->outputs;
}

std::vector<ir::Value*> Program::Loop(ir::Arg count, ir::Arg condition,
                                      std::vector<ir::Arg> carried,
                                      std::vector<std::string> types, const LoopBody& body) {
  ir::Node* node = Add("prim::Loop",
                       {{"max_trip_count", std::move(count)},
                        {"cond", std::move(condition)},
                        {"carried", ir::Arg(ir::Arg::List(std::move(carried)))}},
                       types);
  node->blocks.push_back(std::make_unique<ir::Block>());
  ir::Block* outer = std::exchange(block_, node->blocks.back().get());
  block_->params.push_back(graph_.NewValue(ParseType("int")));
  for (const std::string& type : types) {
    block_->params.push_back(graph_.NewValue(ParseType(type)));
  }
  block_->results = body(block_->params);
  block_ = outer;
  return node->outputs;
}

std::vector<ir::Value*> Program::Scan(std::vector<ir::Arg> init, std::vector<ir::Arg> xs,
                                      std::vector<std::string> params,
                                      std::vector<std::string> types, const LoopBody& body) {
  ir::Node* node =
      Add("prim::Scan", {{"init", ir::Arg(std::move(init))}, {"xs", ir::Arg(std::move(xs))}},
          std::move(types));
  node->blocks.push_back(std::make_unique<ir::Block>());
  ir::Block* outer = std::exchange(block_, node->blocks.back().get());
  for (const std::string& type : params) {
    block_->params.push_back(graph_.NewValue(ParseType(type)));
  }
  block_->results = body(block_->params);
  block_ = outer;
  return node->outputs;
}

void Program::Output(ir::Arg value) {
  graph_.output_names.push_back(absl::StrCat("y", graph_.main.results.size()));
  graph_.main.results.push_back(std::move(value));
}

std::string Program::Print(bool functional) const {
  const absl::Status status = ir::VerifyGraph(graph_, {.functional = functional});
  EXPECT_TRUE(status.ok()) << status;
  std::string text = "\n";
  for (absl::string_view line : absl::StrSplit(ir::PrintGraph(graph_), '\n')) {
    if (absl::StartsWith(line, "input ") || absl::StartsWith(line, "weight ") || line.empty()) {
      continue;
    }
    absl::StrAppend(&text, line, "\n");
  }
  return text;
}

std::string Program::Problems() const {
  std::string text;
  for (const diagnostics::Diagnostic& problem : diagnostics_.all()) {
    absl::StrAppend(
        &text, problem.severity == diagnostics::Severity::kError ? "error " : "warning ",
        problem.id, " ", problem.op, "\n");
  }
  return text;
}

}  // namespace rules_onnx::passes
