// Emits ONNX nodes, and hides once and for all what differs between opsets.
//
// - A `Val` is a handle of a value, or null. Every function given a null Val gives null: after a
//   failure (see Fail) callers need no checks, and the failure is reported once.
// - Operators are checked against ONNX's schemas at the model's opset. An operator that the opset
//   lacks is a failure that names the opset it needs. An element type that the operator lacks is
//   computed in a wider one that holds every value of it, and cast back.
// - Equal pure nodes are emitted once. Operators on small constants are computed on the spot.
// - Axes are given as plain numbers, negative ones counted from the end where the rank is known.
#ifndef RULES_ONNX_EXPORTER_BUILDER_BUILDER_H_
#define RULES_ONNX_EXPORTER_BUILDER_BUILDER_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "exporter/builder/model.h"
#include "exporter/builder/op_schemas.h"
#include "exporter/ir/unique_names.h"

namespace rules_onnx::builder {

class Val {
 public:
  Val() = default;
  explicit Val(Value* value) : value_(value) {}

  explicit operator bool() const { return value_ != nullptr; }
  friend bool operator==(Val a, Val b) { return a.value_ == b.value_; }
  Value* get() const { return value_; }

  DType dtype() const { return value_ ? value_->type.dtype : DType::kUndefined; }
  bool is_sequence() const {
    return value_ && value_->type.kind == ValueType::Kind::kSequence;
  }
  // -1 where unknown.
  int rank() const { return has_shape() ? static_cast<int>(value_->type.shape->size()) : -1; }
  bool has_shape() const { return value_ && value_->type.shape.has_value(); }
  const Shape& shape() const { return *value_->type.shape; }  // requires has_shape()
  // The size of an axis; unknown where the rank is.
  Dim dim(int axis) const;
  // The number of elements as a constant, if it is one.
  std::optional<int64_t> numel() const;

  bool is_const() const { return value_ && value_->literal != nullptr; }
  const TensorLiteral& literal() const { return *value_->literal; }
  // Elements of a constant of any integer or bool type; nullopt otherwise.
  std::optional<std::vector<int64_t>> ints() const;
  // The one element of a constant with one element.
  std::optional<int64_t> int_value() const;
  std::optional<double> float_value() const;

 private:
  Value* value_ = nullptr;
};

using Vals = std::vector<Val>;

// Type of a node's output where ONNX's schema and the builder's own inference do not tell it.
struct OutputType {
  DType dtype = DType::kUndefined;
  std::optional<Shape> shape = std::nullopt;
  ValueType::Kind kind = ValueType::Kind::kTensor;
};

class Builder {
 public:
  // `schemas` outlives the builder.
  Builder(Model* model, const OpSchemas* schemas);
  ~Builder();
  Builder(const Builder&) = delete;
  Builder& operator=(const Builder&) = delete;

  int opset() const { return model_->opset; }
  Model* model() { return model_; }

  // ---- failures: the first one since the last TakeStatus counts
  Val Fail(absl::string_view message);
  bool failed() const { return !status_.ok(); }
  absl::Status TakeStatus();

  // ---- where new nodes belong
  // `scope` ("/features/0") is what names of new nodes start with; `source` is an ir node's id.
  void SetSource(std::string scope, int32_t source);

  // ---- any operator
  Val Op(absl::string_view op_type, const Vals& inputs, Attrs attrs = {}, OutputType type = {});
  // With several outputs; `types` may be empty.
  Vals OpN(absl::string_view op_type, const Vals& inputs, Attrs attrs, size_t num_outputs,
           const std::vector<OutputType>& types = {});
  // A node of another domain; `types` one for each output.
  Vals CustomOp(absl::string_view domain, int version, absl::string_view op_type,
                const Vals& inputs, Attrs attrs, const std::vector<ValueType>& types);

  // ---- constants and graph inputs
  Val Constant(std::shared_ptr<const TensorLiteral> literal);
  Val Int(int64_t value);                                  // 0-d int64
  Val Ints(const std::vector<int64_t>& values);            // 1-D int64
  Val Scalar(double value, DType dtype);                   // 0-d; exact for integers up to 2^53
  Val ScalarInt(int64_t value, DType dtype);               // 0-d
  Val Full(double value, DType dtype, const std::vector<int64_t>& shape);
  Val Input(std::string name, ValueType type);
  Val Weight(int index, std::string name, ValueType type);

  // ---- types and shapes
  // Whether tensors of that type can be cast at the model's opset.
  bool HasType(DType dtype) const;
  Val Cast(Val x, DType dtype);              // no node where x has it already
  Val CastLike(Val x, Val like) { return Cast(x, like.dtype()); }
  // 0-d int64; a constant where the dim is a number. The only way to read a size.
  Val Size(Val x, int axis);
  Val ShapeOf(Val x);                        // 1-D int64
  Val NumElements(Val x);                    // 0-d int64
  Val Rank(Val x);                           // 0-d int64
  // 1-D int64 of 0-d (or one-element) integers.
  Val Vector(const Vals& scalars);
  // The elements of a 1-D int64 with known length, each 0-d.
  Vals Elements(Val vector);
  Val Reshape(Val x, const std::vector<int64_t>& shape);   // one -1 allowed; 0 means 0
  Val Reshape(Val x, Val shape);                           // one -1 allowed; 0 means 0
  // `sizes` as many 0-d integers; numbers of `known` are used instead where there are any, and a
  // single unknown one becomes -1.
  Val Reshape(Val x, const Vals& sizes, const std::optional<Shape>& known);
  Val Flatten1D(Val x) { return Reshape(x, std::vector<int64_t>{-1}); }
  Val Squeeze(Val x, std::vector<int64_t> axes);
  Val Unsqueeze(Val x, std::vector<int64_t> axes);
  Val Transpose(Val x, const std::vector<int64_t>& perm);
  Val SwapAxes(Val x, int a, int b);
  Val Expand(Val x, Val shape);              // ONNX Expand: two-way broadcast
  Val Concat(const Vals& inputs, int axis);  // casts nothing; one input: no node
  // Start, end (exclusive), step per axis, as Slice has them; the Val forms 0-d or 1-element.
  Val Slice(Val x, int axis, int64_t start, int64_t end, int64_t step = 1);
  Val Slice(Val x, int axis, Val start, Val end, Val step = {});
  Vals Split(Val x, int axis, const std::vector<int64_t>& sizes);
  Val Gather(Val x, Val indices, int axis);  // indices may be negative
  Val GatherElements(Val x, Val indices, int axis);
  Val ConstantOfShape(Val shape, double value, DType dtype);
  Val ConstantOfShape(Val shape, Val value);  // value: a constant with one element
  Val Range(Val start, Val end, Val step);   // 0-d each, of one type
  Val Pad(Val x, const std::vector<int64_t>& begins, const std::vector<int64_t>& ends,
          absl::string_view mode = "constant", Val value = {});
  Val Pad(Val x, Val pads, absl::string_view mode = "constant", Val value = {});
  Val NonZero(Val x);                        // [rank, n] int64

  // ---- pointwise; operands of one type, broadcast
  Val Add(Val a, Val b);
  Val Sub(Val a, Val b);
  Val Mul(Val a, Val b);
  Val Div(Val a, Val b);      // integers truncate
  Val Pow(Val a, Val b);
  Val Mod(Val a, Val b, bool fmod);   // fmod=false: integers, sign of the divisor
  Val Min(Val a, Val b);
  Val Max(Val a, Val b);
  Val Equal(Val a, Val b);
  Val Less(Val a, Val b);
  Val Greater(Val a, Val b);
  Val LessOrEqual(Val a, Val b);
  Val GreaterOrEqual(Val a, Val b);
  Val And(Val a, Val b);
  Val Or(Val a, Val b);
  Val Xor(Val a, Val b);
  Val Not(Val a);
  Val Where(Val condition, Val a, Val b);
  Val Clip(Val x, Val low, Val high);  // either may be null; NaN stays NaN
  // One-input operators by ONNX name: "Neg", "Abs", "Exp", "Sqrt", …
  Val Unary(absl::string_view op_type, Val x);

  // ---- reductions: "ReduceSum", "ReduceMean", "ReduceMax", …; empty axes: all of them
  Val Reduce(absl::string_view op_type, Val x, std::vector<int64_t> axes, bool keepdims);
  Val ArgMax(Val x, int axis, bool keepdims);  // first of equals
  Val ArgMin(Val x, int axis, bool keepdims);
  // Values and int64 indices along axis.
  Vals TopK(Val x, Val k, int axis, bool largest, bool sorted = true);
  Val CumSum(Val x, int axis, bool exclusive = false, bool reverse = false);
  Val Softmax(Val x, int axis);
  Val LogSoftmax(Val x, int axis);
  Val MatMul(Val a, Val b);
  // A new value equal to x, by an Identity of its own; for graph outputs.
  Val Copy(Val x);
  // An optional value (opset 15) that is x, a tensor or a sequence; one that is empty, where `type`
  // is what it would be. A failure for types that ONNX's Optional does not take.
  Val Optional(Val x);
  Val EmptyOptional(ValueType type);
  // x under this name, for the main graph's outputs: x itself where a node makes it and no other
  // output has it, a copy otherwise.
  Val Output(Val x, std::string name);

  // ---- subgraphs
  // Emits into a new inner graph while `body` runs; its result become the graph's outputs (each
  // made a value of that graph). Inner graphs see outer values. Nothing that is made inside is
  // reused outside.
  std::shared_ptr<Graph> Subgraph(std::string name, const std::function<void(Graph*)>& inputs,
                                  const std::function<Vals()>& body);
  // A formal input of the innermost open graph. Names of inputs, weights and formal inputs are made
  // unique by a suffix; nodes and other values are named by OrderAndName.
  Val SubgraphInput(Graph* graph, std::string name, ValueType type);

  // Axis in [0, rank): a failure otherwise.
  int64_t NormalizeAxis(int64_t axis, int rank);

 private:
  struct Scope;  // equal nodes of one open graph

  Value* NewValue(std::string name, ValueType type);
  Vals Emit(absl::string_view domain, absl::string_view op_type, const Vals& inputs, Attrs attrs,
            const std::vector<ValueType>& types);
  const Node& Append(absl::string_view domain, absl::string_view op_type, const Vals& inputs,
                     Attrs attrs, const std::vector<ValueType>& types);
  Vals EmitChecked(const OpSchema& schema, absl::string_view op_type, Vals inputs, Attrs attrs,
                   size_t num_outputs, const std::vector<OutputType>& types);
  Val OptionalOf(const ValueType& type, const Vals& inputs, Attrs attrs);
  Val SliceByGather(Val x, int axis, Val start, Val end, Val step);
  std::optional<DType> ComputeType(const OpSchema& schema, absl::string_view op_type,
                                   DType dtype, size_t input);

  Model* model_;
  const OpSchemas* schemas_;
  absl::Status status_;
  std::string scope_;
  int32_t source_ = -1;
  int32_t next_id_ = 0;
  ir::UniqueNames names_;                           // of the values that the program names
  std::set<Value*> outputs_;                        // named by Output
  std::map<std::string, Value*> constants_;         // content → initializer
  std::vector<std::unique_ptr<Scope>> scopes_;      // open graphs, outermost first
};

}  // namespace rules_onnx::builder

#endif  // RULES_ONNX_EXPORTER_BUILDER_BUILDER_H_
