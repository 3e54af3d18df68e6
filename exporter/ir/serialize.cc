#include "exporter/ir/serialize.h"

#include <complex>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "exporter/ir/graph.pb.h"
#include "exporter/ir/seal.h"
#include "exporter/ir/verify.h"
#include "google/protobuf/io/coded_stream.h"
#include "google/protobuf/io/zero_copy_stream_impl_lite.h"

namespace rules_onnx::ir {
namespace {

constexpr char kGraphFormat[] = "rules_onnx graph 1";
constexpr char kDebugFormat[] = "rules_onnx debug 1";
// Levels of messages in messages: a block in a block is two, a list in a list is two.
constexpr int kMaxDepth = 300;

void SaveDim(const Dim& dim, proto::Dim* out) {
  if (dim.is_number()) {
    out->set_number(dim.value());
  } else if (!dim.is_unknown()) {
    out->set_expression(dim.ToString());
  }
}

void SaveType(const Type& type, proto::Type* out) {
  out->set_kind(static_cast<uint32_t>(type.kind));
  out->set_dtype(static_cast<uint32_t>(type.dtype));
  out->set_has_shape(type.shape.has_value());
  if (type.shape) {
    for (const Dim& dim : *type.shape) SaveDim(dim, out->add_dims());
  }
  for (const Type& element : type.elements) SaveType(element, out->add_elements());
  for (const std::string& name : type.field_names) out->add_field_names(name);
  out->set_class_name(type.class_name);
}

void SaveValue(const Value& value, proto::Value* out) {
  out->set_name(value.name);
  SaveType(value.type, out->mutable_type());
}

void SaveLiteral(const TensorLiteral& literal, proto::Literal* out) {
  out->set_dtype(static_cast<uint32_t>(literal.dtype));
  for (const int64_t size : literal.shape) out->add_shape(size);
  out->set_data(literal.bytes);
}

void SaveArg(const Arg& arg, proto::Arg* out) {
  if (arg.is_value()) {
    out->set_value(static_cast<uint32_t>(arg.value()->id));
  } else if (arg.is_bool()) {
    out->set_boolean(arg.as_bool());
  } else if (arg.is_int()) {
    out->set_integer(arg.as_int());
  } else if (arg.is_float()) {
    out->set_real(arg.as_float());
  } else if (arg.is_complex()) {
    out->mutable_complex()->set_real(arg.as_complex().real());
    out->mutable_complex()->set_imaginary(arg.as_complex().imag());
  } else if (arg.is_string()) {
    out->set_text(arg.as_string());
  } else if (arg.is_dtype()) {
    out->set_dtype(static_cast<uint32_t>(arg.as_dtype()));
  } else if (arg.is_literal()) {
    SaveLiteral(arg.literal(), out->mutable_literal());
  } else if (arg.is_list()) {
    out->mutable_list();
    for (const Arg& item : arg.list()) SaveArg(item, out->mutable_list()->add_items());
  }
}

void SaveBlock(const Block& block, bool with_classes, proto::Block* out);

// "AlexNet/Sequential[features]/Conv2d[0]" → "/[features]/[0]".
std::string WithoutClasses(absl::string_view scope) {
  std::string path;
  for (const absl::string_view part : absl::StrSplit(scope, '/', absl::SkipEmpty())) {
    const size_t open = part.find('[');
    if (open != absl::string_view::npos) absl::StrAppend(&path, "/", part.substr(open));
  }
  return path;
}

void SaveNode(const Node& node, bool with_classes, proto::Node* out) {
  out->set_op(node.op);
  for (const NamedArg& arg : node.args) {
    proto::NamedArg* const saved = out->add_args();
    saved->set_name(arg.name);
    SaveArg(arg.value, saved->mutable_value());
  }
  for (const Value* output : node.outputs) SaveValue(*output, out->add_outputs());
  for (const auto& block : node.blocks) SaveBlock(*block, with_classes, out->add_blocks());
  out->set_scope(with_classes ? node.scope : WithoutClasses(node.scope));
}

void SaveBlock(const Block& block, bool with_classes, proto::Block* out) {
  for (const Value* param : block.params) SaveValue(*param, out->add_params());
  for (const auto& node : block.nodes) SaveNode(*node, with_classes, out->add_nodes());
  for (const Arg& result : block.results) SaveArg(result, out->add_results());
}

void SaveWeight(const Weight& weight, proto::Weight* out) {
  SaveValue(*weight.value, out->mutable_value());
  out->set_name(weight.name);
  out->set_is_parameter(weight.is_parameter);
  out->set_offset(weight.offset);
  out->set_bytes(weight.bytes);
}

void SaveSymbol(const std::string& name, const SymbolInfo& info, proto::Symbol* out) {
  out->set_name(name);
  out->set_example(info.example);
  out->set_second(info.second);
  out->set_min(info.min);
  if (info.max) out->set_max(*info.max);
  out->set_data_dependent(info.data_dependent);
}

// Moves the locations to the nodes' new ids and the scopes to the locations.
void RenumberDebug(const Graph& graph, const std::vector<int32_t>& old_node_ids,
                   DebugInfo* debug) {
  DebugInfo renumbered;
  ForEachNode(graph.main, [&](const Node& node) {
    const auto it = debug->find(old_node_ids[node.id]);
    if (it != debug->end()) renumbered[node.id] = it->second;
    if (!node.scope.empty()) renumbered[node.id].scope = node.scope;
  });
  *debug = std::move(renumbered);
}

absl::Status Damaged(absl::string_view what) {
  return absl::DataLossError(
      absl::StrCat("not a graph that this version wrote, or damaged: ", what));
}

bool ParseMessage(absl::string_view bytes, google::protobuf::MessageLite* message) {
  const std::optional<absl::string_view> content = Unseal(bytes);
  if (!content || content->size() > INT32_MAX) return false;
  google::protobuf::io::ArrayInputStream stream(content->data(),
                                                static_cast<int>(content->size()));
  google::protobuf::io::CodedInputStream coded(&stream);
  coded.SetRecursionLimit(kMaxDepth);
  return message->ParseFromCodedStream(&coded) && coded.ConsumedEntireMessage();
}

class Loader {
 public:
  explicit Loader(Graph* graph) : graph_(graph) {}

  absl::Status Load(const proto::Graph& in) {
    for (const proto::Weight& weight : in.weights()) LoadWeight(weight);
    LoadBlock(in.main(), &graph_->main);
    for (const std::string& name : in.output_names()) graph_->output_names.push_back(name);
    for (const proto::DroppedOutput& output : in.dropped_outputs()) {
      graph_->dropped_outputs.push_back({output.path(), output.reason()});
    }
    for (const proto::Symbol& symbol : in.symbols()) {
      graph_->symbols[symbol.name()] = LoadSymbol(symbol);
    }
    for (const proto::CustomSchema& schema : in.custom_schemas()) {
      graph_->custom_schemas[schema.op()] = schema.schema();
    }
    return status_;
  }

 private:
  void Fail(absl::string_view what) {
    if (status_.ok()) status_ = Damaged(what);
  }

  DType LoadDType(uint32_t code) {
    if (code < kNumDTypes) return static_cast<DType>(code);
    Fail("unknown dtype");
    return DType::kUndefined;
  }

  Dim LoadDim(const proto::Dim& in) {
    if (in.has_number()) return Dim(in.number());
    if (!in.has_expression()) return Dim::Unknown();
    absl::StatusOr<Dim> dim = Dim::Parse(in.expression());
    if (dim.ok()) return *std::move(dim);
    Fail(dim.status().message());
    return Dim::Unknown();
  }

  Type LoadType(const proto::Type& in) {
    Type type;
    if (in.kind() > static_cast<uint32_t>(Type::Kind::kObject)) Fail("unknown type");
    type.kind = static_cast<Type::Kind>(in.kind());
    type.dtype = LoadDType(in.dtype());
    if (in.has_shape()) {
      type.shape.emplace();
      for (const proto::Dim& dim : in.dims()) type.shape->push_back(LoadDim(dim));
    }
    for (const proto::Type& element : in.elements()) type.elements.push_back(LoadType(element));
    for (const std::string& name : in.field_names()) type.field_names.push_back(name);
    type.class_name = in.class_name();
    return type;
  }

  Value* LoadValue(const proto::Value& in) {
    return graph_->NewValue(LoadType(in.type()), in.name());
  }

  Arg::Literal LoadLiteral(const proto::Literal& in) {
    auto literal = std::make_shared<TensorLiteral>();
    literal->dtype = LoadDType(in.dtype());
    literal->shape.assign(in.shape().begin(), in.shape().end());
    literal->bytes = in.data();
    return literal;
  }

  Arg LoadArg(const proto::Arg& in) {
    switch (in.kind_case()) {
      case proto::Arg::kValue:
        if (in.value() < graph_->values().size()) return Arg(graph_->values()[in.value()].get());
        Fail("a value is used before it is defined");
        return Arg();
      case proto::Arg::kBoolean: return Arg(in.boolean());
      case proto::Arg::kInteger: return Arg(int64_t{in.integer()});
      case proto::Arg::kReal: return Arg(in.real());
      case proto::Arg::kComplex:
        return Arg(std::complex<double>(in.complex().real(), in.complex().imaginary()));
      case proto::Arg::kText: return Arg(in.text());
      case proto::Arg::kDtype: return Arg(LoadDType(in.dtype()));
      case proto::Arg::kLiteral: return Arg(LoadLiteral(in.literal()));
      case proto::Arg::kList: {
        Arg::List items;
        for (const proto::Arg& item : in.list().items()) items.push_back(LoadArg(item));
        return Arg(std::move(items));
      }
      case proto::Arg::KIND_NOT_SET: return Arg();
    }
    return Arg();
  }

  std::unique_ptr<Node> LoadNode(const proto::Node& in) {
    std::unique_ptr<Node> node = graph_->NewNode(in.op(), {});
    for (const proto::NamedArg& arg : in.args()) {
      node->args.push_back({arg.name(), LoadArg(arg.value())});
    }
    for (const proto::Value& output : in.outputs()) node->outputs.push_back(LoadValue(output));
    for (const proto::Block& block : in.blocks()) {
      node->blocks.push_back(std::make_unique<Block>());
      LoadBlock(block, node->blocks.back().get());
    }
    node->scope = in.scope();
    return node;
  }

  void LoadBlock(const proto::Block& in, Block* block) {
    for (const proto::Value& param : in.params()) block->params.push_back(LoadValue(param));
    for (const proto::Node& node : in.nodes()) block->nodes.push_back(LoadNode(node));
    for (const proto::Arg& result : in.results()) block->results.push_back(LoadArg(result));
  }

  void LoadWeight(const proto::Weight& in) {
    graph_->weights.push_back({LoadValue(in.value()), in.name(), in.is_parameter(), in.offset(),
                               in.bytes()});
  }

  static SymbolInfo LoadSymbol(const proto::Symbol& in) {
    SymbolInfo info{in.example(), in.second(), in.min(), std::nullopt, in.data_dependent()};
    if (in.has_max()) info.max = in.max();
    return info;
  }

  Graph* graph_;
  absl::Status status_;
};

}  // namespace

std::string SerializeGraph(Graph* graph, DebugInfo* debug) {
  const std::vector<int32_t> old_node_ids = graph->Renumber();
  if (debug != nullptr) RenumberDebug(*graph, old_node_ids, debug);

  proto::Graph out;
  out.set_format(kGraphFormat);
  for (const Weight& weight : graph->weights) SaveWeight(weight, out.add_weights());
  SaveBlock(graph->main, /*with_classes=*/debug == nullptr, out.mutable_main());
  for (const std::string& name : graph->output_names) out.add_output_names(name);
  for (const DroppedOutput& output : graph->dropped_outputs) {
    proto::DroppedOutput* const saved = out.add_dropped_outputs();
    saved->set_path(output.path);
    saved->set_reason(output.reason);
  }
  for (const auto& [name, info] : graph->symbols) SaveSymbol(name, info, out.add_symbols());
  for (const auto& [op, schema] : graph->custom_schemas) {
    proto::CustomSchema* const saved = out.add_custom_schemas();
    saved->set_op(op);
    saved->set_schema(schema);
  }
  return Seal(out.SerializeAsString());
}

absl::StatusOr<Graph> ParseGraph(absl::string_view bytes) {
  proto::Graph in;
  if (!ParseMessage(bytes, &in) || in.format() != kGraphFormat) return Damaged("wrong format");
  Graph graph;
  if (absl::Status status = Loader(&graph).Load(in); !status.ok()) return status;
  if (absl::Status status = VerifyGraph(graph); !status.ok()) return Damaged(status.message());
  return graph;
}

void RestoreScopes(const DebugInfo& debug, Graph* graph) {
  const std::function<void(Block&)> restore = [&](Block& block) {
    for (const auto& node : block.nodes) {
      const auto it = debug.find(node->id);
      if (it != debug.end()) node->scope = it->second.scope;
      for (const auto& inner : node->blocks) restore(*inner);
    }
  };
  restore(graph->main);
}

std::string LocationText(const SourceLocation& location) {
  return location.file.empty() ? "" : absl::StrCat(location.file, ":", location.line);
}

std::string SerializeDebug(const DebugInfo& debug) {
  proto::Debug out;
  out.set_format(kDebugFormat);
  for (const auto& [node, location] : debug) {
    proto::Location* const saved = out.add_locations();
    saved->set_node(static_cast<uint32_t>(node));
    saved->set_file(location.file);
    saved->set_line(static_cast<uint32_t>(location.line));
    saved->set_text(location.text);
    saved->set_scope(location.scope);
  }
  return Seal(out.SerializeAsString());
}

absl::StatusOr<DebugInfo> ParseDebug(absl::string_view bytes) {
  proto::Debug in;
  if (!ParseMessage(bytes, &in) || in.format() != kDebugFormat) {
    return absl::DataLossError("not source locations that this version wrote, or damaged");
  }
  DebugInfo debug;
  for (const proto::Location& location : in.locations()) {
    debug[static_cast<int32_t>(location.node())] = {
        location.file(), static_cast<int>(location.line()), location.text(), location.scope()};
  }
  return debug;
}

}  // namespace rules_onnx::ir
