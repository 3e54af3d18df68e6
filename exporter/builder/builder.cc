#include "exporter/builder/builder.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/builder/fold.h"
#include "exporter/builder/infer.h"
#include "exporter/builder/literal.h"

namespace rules_onnx::builder {

using ir::DTypeName;

Dim Val::dim(int axis) const {
  if (!has_shape()) return Dim::Unknown();
  if (axis < 0) axis += rank();
  return axis < 0 || axis >= rank() ? Dim::Unknown() : shape()[axis];
}

std::optional<int64_t> Val::numel() const {
  if (!has_shape()) return std::nullopt;
  const Dim count = ir::NumElements(shape());
  return count.is_number() ? std::optional(count.value()) : std::nullopt;
}

std::optional<std::vector<int64_t>> Val::ints() const {
  return is_const() ? LiteralInts(literal()) : std::nullopt;
}

std::optional<int64_t> Val::int_value() const {
  const auto values = ints();
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

std::optional<double> Val::float_value() const {
  const auto values = is_const() ? LiteralFloats(literal()) : std::nullopt;
  return values && values->size() == 1 ? std::optional(values->front()) : std::nullopt;
}

// One open graph: where nodes go, and which pure ones stand there already.
struct Builder::Scope {
  Graph* graph;
  std::map<std::string, std::vector<Value*>> nodes;
};

namespace {

// Operators whose equal nodes may not be merged.
bool IsRandom(absl::string_view op_type) {
  return absl::StartsWith(op_type, "Random") || op_type == "Multinomial" ||
         op_type == "Bernoulli" || op_type == "Dropout";
}

void AppendBytes(std::string* key, const void* data, size_t size) {
  absl::StrAppend(key, size, ":");
  key->append(static_cast<const char*>(data), size);
}

struct AttrKey {
  std::string* key;
  bool* pure;

  void operator()(int64_t value) const { absl::StrAppend(key, "i", value); }
  void operator()(float value) const { AppendBytes(key, &value, sizeof(value)); }
  void operator()(DType value) const { absl::StrAppend(key, "t", static_cast<int>(value)); }
  void operator()(const std::string& value) const {
    AppendBytes(key, value.data(), value.size());
  }
  template <typename T>
  void operator()(const std::vector<T>& values) const {
    absl::StrAppend(key, "[", values.size());
    for (const T& value : values) (*this)(value);
  }
  void operator()(const std::shared_ptr<const TensorLiteral>& value) const {
    absl::StrAppend(key, DTypeName(value->dtype).data(), "[", absl::StrJoin(value->shape, ","));
    AppendBytes(key, value->bytes.data(), value->bytes.size());
  }
  void operator()(const std::shared_ptr<Graph>&) const { *pure = false; }
  void operator()(const ValueType& value) const {
    const std::string shape = value.shape ? ir::ShapeToString(*value.shape) : "";
    absl::StrAppend(key, "k", static_cast<int>(value.kind), "/", static_cast<int>(value.dtype),
                    shape);
  }
};

// Text that equal pure nodes share; empty where the node must not be merged.
std::string NodeKey(absl::string_view domain, absl::string_view op_type, const Vals& inputs,
                    const Attrs& attrs, size_t num_outputs) {
  bool pure = !IsRandom(op_type) && domain.empty();
  std::string key = absl::StrCat(op_type, "/", num_outputs);
  for (const Val input : inputs) absl::StrAppend(&key, ",", input ? input.get()->id : -1);
  for (const Attr& attr : attrs) {
    absl::StrAppend(&key, ";", attr.name, "=");
    std::visit(AttrKey{&key, &pure}, attr.data);
  }
  return pure ? key : "";
}

}  // namespace

Builder::Builder(Model* model, const OpSchemas* schemas) : model_(model), schemas_(schemas) {
  scopes_.push_back(std::make_unique<Scope>(Scope{&model->graph, {}}));
}

Builder::~Builder() = default;

// ---------------------------------------------------------------- failures and names

Val Builder::Fail(absl::string_view message) {
  if (status_.ok()) status_ = absl::UnimplementedError(message);
  return {};
}

absl::Status Builder::TakeStatus() { return std::exchange(status_, absl::OkStatus()); }

void Builder::SetSource(std::string scope, int32_t source) {
  scope_ = std::move(scope);
  source_ = source;
}

Value* Builder::NewValue(std::string name, ValueType type) {
  auto value = std::make_unique<Value>();
  value->id = next_id_++;
  if (!name.empty()) value->name = names_.Make(name);
  value->type = std::move(type);
  model_->values.push_back(std::move(value));
  return model_->values.back().get();
}

// ---------------------------------------------------------------- nodes

Vals Builder::Emit(absl::string_view domain, absl::string_view op_type, const Vals& inputs,
                   Attrs attrs, const std::vector<ValueType>& types) {
  const std::string key = NodeKey(domain, op_type, inputs, attrs, types.size());
  Vals outputs;
  if (!key.empty()) {
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      const auto it = (*scope)->nodes.find(key);
      if (it == (*scope)->nodes.end()) continue;
      for (Value* value : it->second) outputs.push_back(Val(value));
      return outputs;
    }
  }
  const Node& node = Append(domain, op_type, inputs, std::move(attrs), types);
  if (!key.empty()) scopes_.back()->nodes[key] = node.outputs;
  for (Value* value : node.outputs) outputs.push_back(Val(value));
  return outputs;
}

const Node& Builder::Append(absl::string_view domain, absl::string_view op_type,
                            const Vals& inputs, Attrs attrs,
                            const std::vector<ValueType>& types) {
  auto node = std::make_unique<Node>();
  node->domain = std::string(domain);
  node->op_type = std::string(op_type);
  node->scope = scope_;
  node->source = source_;
  node->attrs = std::move(attrs);
  for (const Val input : inputs) node->inputs.push_back(input.get());
  while (!node->inputs.empty() && node->inputs.back() == nullptr) node->inputs.pop_back();
  for (const ValueType& type : types) node->outputs.push_back(NewValue("", type));
  Graph& graph = *scopes_.back()->graph;
  graph.nodes.push_back(std::move(node));
  return *graph.nodes.back();
}

Val Builder::Copy(Val x) {
  if (!x || failed()) return {};
  if (!x.is_sequence() || opset() >= 14) {
    return Val(Append("", "Identity", {x}, {}, {x.get()->type}).outputs.front());
  }
  // Identity takes no sequences yet: put an element in front and take it away again.
  const ValueType& type = x.get()->type;
  const Val longer(Append("", "SequenceInsert", {x, Scalar(0, type.dtype), Int(0)}, {},
                          {ValueType{type.kind, type.dtype, std::nullopt}})
                       .outputs.front());
  return Val(Append("", "SequenceErase", {longer, Int(0)}, {}, {type}).outputs.front());
}

Val Builder::Optional(Val x) {
  if (!x || failed()) return {};
  return OptionalOf(x.get()->type, {x}, {});
}

Val Builder::EmptyOptional(ValueType type) {
  if (failed()) return {};
  Attrs attrs;
  attrs.emplace_back("type", type);
  return OptionalOf(type, {}, std::move(attrs));
}

Val Builder::OptionalOf(const ValueType& type, const Vals& inputs, Attrs attrs) {
  const OpSchema* schema = schemas_->Find("Optional", opset());
  if (schema != nullptr && schema->inputs.front().dtypes.count(type.dtype) == 0) {
    return Fail(absl::StrCat("ONNX operator Optional does not take ", DTypeName(type.dtype).data(),
                             " at opset ", opset()));
  }
  using Kind = ValueType::Kind;
  const Kind kind = type.kind == Kind::kSequence ? Kind::kOptionalSequence : Kind::kOptional;
  return Op("Optional", inputs, std::move(attrs), {type.dtype, type.shape, kind});
}

Val Builder::Output(Val x, std::string name) {
  const std::vector<Value*>& inputs = model_->graph.inputs;
  const std::vector<Value*>& initializers = model_->initializers;
  const bool made = std::find(inputs.begin(), inputs.end(), x.get()) == inputs.end() &&
                    std::find(initializers.begin(), initializers.end(), x.get()) ==
                        initializers.end();
  if (!made || !outputs_.insert(x.get()).second) {
    x = Copy(x);
    if (x) outputs_.insert(x.get());
  }
  if (x) x.get()->name = names_.Make(name);
  return x;
}

Val Builder::Op(absl::string_view op_type, const Vals& inputs, Attrs attrs, OutputType type) {
  return OpN(op_type, inputs, std::move(attrs), 1, {std::move(type)}).front();
}

Vals Builder::OpN(absl::string_view op_type, const Vals& inputs, Attrs attrs, size_t num_outputs,
                  const std::vector<OutputType>& types) {
  const Vals nothing(num_outputs);
  if (failed()) return nothing;
  if (num_outputs == 1) {
    if (const auto folded = FoldNode(op_type, inputs, attrs)) return {Constant(folded)};
  }
  const OpSchema* schema = schemas_->Find(op_type, opset());
  if (schema == nullptr) {
    const int first = schemas_->FirstOpset(op_type);
    Fail(first > opset()
             ? absl::StrCat("ONNX operator ", op_type, " needs opset ", first, ", asked for ",
                            opset())
             : absl::StrCat("ONNX has no operator ", op_type, " at opset ", opset()));
    return nothing;
  }
  return EmitChecked(*schema, op_type, inputs, std::move(attrs), num_outputs, types);
}

namespace {

// The dtypes to try, narrowest first, for values of `dtype` where an operator does not take it:
// each holds every value exactly.
std::vector<DType> WiderTypes(DType dtype) {
  switch (dtype) {
    case DType::kBool:
      return {DType::kUInt8, DType::kInt32, DType::kInt64, DType::kFloat32};
    case DType::kUInt8:
    case DType::kInt8:
    case DType::kInt16:
    case DType::kUInt16:
      return {DType::kInt32, DType::kInt64, DType::kFloat32, DType::kFloat64};
    case DType::kUInt32:
    case DType::kInt32:
      return {DType::kInt64, DType::kFloat64};
    case DType::kFloat16:
    case DType::kBFloat16:
      return {DType::kFloat32, DType::kFloat64};
    case DType::kFloat32:
      return {DType::kFloat64};
    default:
      return {};
  }
}

const FormalParameter* Formal(const std::vector<FormalParameter>& formals, size_t index) {
  if (index < formals.size()) return &formals[index];
  if (!formals.empty() && formals.back().variadic) return &formals.back();
  return nullptr;
}

}  // namespace

std::optional<DType> Builder::ComputeType(const OpSchema& schema, absl::string_view op_type,
                                          DType dtype, size_t input) {
  const FormalParameter& formal = *Formal(schema.inputs, input);
  if (formal.dtypes.count(dtype) > 0) return dtype;
  for (const DType wider : WiderTypes(dtype)) {
    if (formal.dtypes.count(wider) > 0) return wider;
  }
  Fail(absl::StrCat("ONNX operator ", op_type, " does not take ", DTypeName(dtype).data(),
                    " at opset ", opset()));
  return std::nullopt;
}

Vals Builder::EmitChecked(const OpSchema& schema, absl::string_view op_type, Vals inputs,
                          Attrs attrs, size_t num_outputs,
                          const std::vector<OutputType>& types) {
  const Vals nothing(num_outputs);
  std::map<std::string, std::pair<DType, DType>> bound;  // type variable → given, computed in
  for (size_t i = 0; i < inputs.size(); ++i) {
    const FormalParameter* formal = Formal(schema.inputs, i);
    if (formal == nullptr) {
      Fail(absl::StrCat("ONNX operator ", op_type, " takes no input ", i, " at opset ", opset()));
      return nothing;
    }
    if (!inputs[i] && !formal->optional) return nothing;  // an operand failed earlier
    if (!inputs[i] || inputs[i].dtype() == DType::kUndefined) continue;
    const DType given = inputs[i].dtype();
    const std::string variable = formal->variadic && !formal->homogeneous
                                     ? absl::StrCat(formal->type_variable, "/", i)
                                     : formal->type_variable;
    const auto it = bound.find(variable);
    if (it != bound.end() && it->second.first != given) {
      Fail(absl::StrCat("operands of ONNX operator ", op_type, " have different types: ",
                        DTypeName(it->second.first).data(), " and ", DTypeName(given).data()));
      return nothing;
    }
    const auto computed = ComputeType(schema, op_type, given, i);
    if (!computed) return nothing;
    bound[variable] = {given, *computed};
    if (*computed != given) inputs[i] = Cast(inputs[i], *computed);
  }
  std::vector<ValueType> emitted;
  std::vector<DType> wanted;
  for (size_t i = 0; i < num_outputs; ++i) {
    const FormalParameter* formal = Formal(schema.outputs, i);
    ValueType type = InferOutput(op_type, inputs, attrs, i);
    DType want = type.dtype;
    if (formal != nullptr && want == DType::kUndefined) {
      const auto it = bound.find(formal->type_variable);
      if (it != bound.end()) {
        want = it->second.first;
        type.dtype = it->second.second;
      } else if (formal->dtypes.size() == 1) {
        want = type.dtype = *formal->dtypes.begin();
      }
    }
    if (i < types.size() && types[i].dtype != DType::kUndefined) want = types[i].dtype;
    if (type.dtype == DType::kUndefined) type.dtype = want;
    if (i < types.size() && types[i].shape) type.shape = types[i].shape;
    if (i < types.size()) type.kind = types[i].kind;
    if (type.dtype == DType::kUndefined) {
      Fail(absl::StrCat("no type known for output ", i, " of ONNX operator ", op_type));
      return nothing;
    }
    emitted.push_back(std::move(type));
    wanted.push_back(want);
  }
  Vals outputs = Emit("", op_type, inputs, std::move(attrs), emitted);
  for (size_t i = 0; i < outputs.size(); ++i) outputs[i] = Cast(outputs[i], wanted[i]);
  return outputs;
}

Vals Builder::CustomOp(absl::string_view domain, int version, absl::string_view op_type,
                       const Vals& inputs, Attrs attrs, const std::vector<ValueType>& types) {
  if (failed()) return Vals(types.size());
  model_->custom_opsets.emplace(domain, version);
  return Emit(domain, op_type, inputs, std::move(attrs), types);
}

// ---------------------------------------------------------------- constants and inputs

Val Builder::Constant(std::shared_ptr<const TensorLiteral> literal) {
  std::string key = absl::StrCat(DTypeName(literal->dtype).data(), "[",
                                 absl::StrJoin(literal->shape, ","), "]");
  key += literal->bytes;
  Value*& value = constants_[key];
  if (value == nullptr) {
    Shape shape(literal->shape.begin(), literal->shape.end());
    value = NewValue("", ValueType{.dtype = literal->dtype, .shape = std::move(shape)});
    value->literal = std::move(literal);
    model_->initializers.push_back(value);
  }
  return Val(value);
}

Val Builder::Int(int64_t value) { return ScalarInt(value, DType::kInt64); }
Val Builder::Ints(const std::vector<int64_t>& values) {
  return Constant(IntLiteral(values, {static_cast<int64_t>(values.size())}, DType::kInt64));
}
Val Builder::Scalar(double value, DType dtype) {
  return Constant(FloatLiteral({value}, {}, dtype));
}
Val Builder::ScalarInt(int64_t value, DType dtype) {
  return Constant(IntLiteral({value}, {}, dtype));
}
Val Builder::Full(double value, DType dtype, const std::vector<int64_t>& shape) {
  return ConstantOfShape(Ints(shape), value, dtype);
}

Val Builder::Input(std::string name, ValueType type) {
  Value* value = NewValue(std::move(name), std::move(type));
  model_->graph.inputs.push_back(value);
  return Val(value);
}

Val Builder::Weight(int index, std::string name, ValueType type) {
  Value* value = NewValue(std::move(name), std::move(type));
  value->weight = index;
  model_->initializers.push_back(value);
  return Val(value);
}

// ---------------------------------------------------------------- subgraphs

std::shared_ptr<Graph> Builder::Subgraph(std::string name,
                                         const std::function<void(Graph*)>& inputs,
                                         const std::function<Vals()>& body) {
  auto graph = std::make_shared<Graph>();
  graph->name = std::move(name);
  scopes_.push_back(std::make_unique<Scope>(Scope{graph.get(), {}}));
  if (inputs) inputs(graph.get());
  std::set<Value*> used(graph->inputs.begin(), graph->inputs.end());
  std::set<Value*> inside;
  const Vals results = body();
  for (const auto& node : graph->nodes) inside.insert(node->outputs.begin(), node->outputs.end());
  for (const Val result : results) {
    // A graph's outputs are distinct values made by its own nodes.
    const bool own = result && inside.count(result.get()) > 0 && used.insert(result.get()).second;
    graph->outputs.push_back((own ? result : Copy(result)).get());
  }
  scopes_.pop_back();
  return graph;
}

Val Builder::SubgraphInput(Graph* graph, std::string name, ValueType type) {
  Value* value = NewValue(std::move(name), std::move(type));
  graph->inputs.push_back(value);
  return Val(value);
}

int64_t Builder::NormalizeAxis(int64_t axis, int rank) {
  const int64_t extent = std::max(rank, 1);  // PyTorch takes axes 0 and -1 of a 0-d tensor
  if (rank < 0) {
    Fail("the rank of the operand is not known");
    return 0;
  }
  if (axis < -extent || axis >= extent) {
    Fail(absl::StrCat("axis ", axis, " is out of range for rank ", rank));
    return 0;
  }
  return axis < 0 ? axis + extent : axis;
}

}  // namespace rules_onnx::builder
