// The captured program: one graph form for every front end.
//
// A Graph is a tree of blocks of nodes over values, in SSA form. A node is an operator under its
// schema name with overload (`aten::add.Tensor`, `prim::If`), its arguments bound by the schema's
// argument names with defaults filled in. What is known at build time is an argument constant;
// what the program computes is a Value. Arguments that mean nothing to ONNX (device, layout,
// pin_memory, memory_format, generator) are None.
//
// Operators that are no ATen operators:
//   prim::If(cond: bool|tensor)            two blocks without params; results = outputs. Where
//                                          outputs are optional, the first gives them, the second None
//   prim::Loop(max_trip_count: int, cond: bool, carried: list)
//                                          one block: params (iteration, carried…), results
//                                          (condition, carried…); outputs = carried
//   prim::Scan(init: list, xs: list)       one block, run for each index of the tensors' axis 0:
//                                          params (carried…, slices of xs…), results (carried…,
//                                          ys…); outputs = carried…, ys… stacked along axis 0
//   prim::Constant(value: literal)         a small constant tensor
//   prim::ListConstruct(items: list)       a list that is changed later or has values as items
//   prim::ListUnpack, prim::TupleUnpack(self), prim::TupleConstruct(items: list),
//   prim::TupleIndex(self, index: int), prim::DictConstruct(items: list of key, value, …)
//   prim::ListAppend(self, el), prim::ListInsert(self, idx, el), prim::ListSet(self, idx, el),
//   prim::ListExtend(self, other), prim::ListDelete(self, idx), prim::ListReverse(self)
//                                          the list after the change; after functionalize only
//   prim::ListPop(self, idx)               the item, the list without it; likewise
//   aten::* on ints, floats, lists         as TorchScript names them (`aten::add.int`, …)
// A list argument whose items are constants or values needs no ListConstruct: Arg::List.
//
// Lifetimes: a Graph owns its values and, through its blocks, its nodes; everything points freely
// inside one graph. Not thread-safe. Passes rebuild `Block::nodes` in one linear sweep.
#ifndef RULES_ONNX_EXPORTER_IR_GRAPH_H_
#define RULES_ONNX_EXPORTER_IR_GRAPH_H_

#include <complex>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "exporter/ir/type.h"

namespace rules_onnx::ir {

class Block;
class Graph;
struct Node;

struct Value {
  int32_t id = 0;      // unique in its graph, in order of creation
  std::string name;    // from the program where it has one; may be empty, need not be unique
  Type type;
};

// A small constant tensor: contiguous, row-major, little endian (bool: one byte).
struct TensorLiteral {
  DType dtype = DType::kUndefined;
  std::vector<int64_t> shape;
  std::string bytes;

  friend bool operator==(const TensorLiteral&, const TensorLiteral&) = default;
};

// An argument: None, a value, a constant, or a list of arguments.
class Arg {
 public:
  using List = std::vector<Arg>;
  using Literal = std::shared_ptr<const TensorLiteral>;

  Arg() = default;  // None
  Arg(Value* value) : data_(value) {}               // NOLINT
  Arg(bool value) : data_(value) {}                 // NOLINT
  Arg(int64_t value) : data_(value) {}              // NOLINT
  Arg(int value) : data_(int64_t{value}) {}         // NOLINT
  Arg(double value) : data_(value) {}               // NOLINT
  Arg(std::complex<double> value) : data_(value) {} // NOLINT
  Arg(std::string value) : data_(std::move(value)) {}  // NOLINT
  Arg(const char* value) : data_(std::string(value)) {}  // NOLINT
  Arg(DType value) : data_(value) {}                // NOLINT
  Arg(Literal value) : data_(std::move(value)) {}   // NOLINT
  Arg(List items) : data_(std::move(items)) {}      // NOLINT
  static Arg Ints(const std::vector<int64_t>& values);

  bool is_none() const { return std::holds_alternative<std::monostate>(data_); }
  bool is_value() const { return std::holds_alternative<Value*>(data_); }
  bool is_bool() const { return std::holds_alternative<bool>(data_); }
  bool is_int() const { return std::holds_alternative<int64_t>(data_); }
  bool is_float() const { return std::holds_alternative<double>(data_); }
  bool is_complex() const { return std::holds_alternative<std::complex<double>>(data_); }
  bool is_string() const { return std::holds_alternative<std::string>(data_); }
  bool is_dtype() const { return std::holds_alternative<DType>(data_); }
  bool is_literal() const { return std::holds_alternative<Literal>(data_); }
  bool is_list() const { return std::holds_alternative<List>(data_); }

  // Each requires the matching is_…().
  Value* value() const { return std::get<Value*>(data_); }
  bool as_bool() const { return std::get<bool>(data_); }
  int64_t as_int() const { return std::get<int64_t>(data_); }
  double as_float() const { return std::get<double>(data_); }
  std::complex<double> as_complex() const { return std::get<std::complex<double>>(data_); }
  const std::string& as_string() const { return std::get<std::string>(data_); }
  DType as_dtype() const { return std::get<DType>(data_); }
  const TensorLiteral& literal() const { return *std::get<Literal>(data_); }
  const Literal& shared_literal() const { return std::get<Literal>(data_); }
  const List& list() const { return std::get<List>(data_); }
  List& list() { return std::get<List>(data_); }

  // All ints of a list of int constants; nullopt if it is anything else.
  std::optional<std::vector<int64_t>> ints() const;

  // Calls `visit` for every value in this argument, lists included, in order.
  void ForEachValue(const std::function<void(Value*)>& visit) const;
  // Replaces every value by `map(value)`.
  void MapValues(const std::function<Value*(Value*)>& map);

  // Equal constants and the same values; literals by content; floats by bits.
  friend bool operator==(const Arg& a, const Arg& b);

 private:
  std::variant<std::monostate, Value*, bool, int64_t, double, std::complex<double>, std::string,
               DType, Literal, List>
      data_;
};

struct NamedArg {
  std::string name;
  Arg value;
};

struct Node {
  std::string op;               // "aten::add.Tensor"
  std::vector<NamedArg> args;   // in schema order
  std::vector<Value*> outputs;
  std::vector<std::unique_ptr<Block>> blocks;
  int32_t id = 0;               // unique in its graph; the key into x.debug
  std::string scope;            // "AlexNet/Sequential[features]/Conv2d[0]"; may be empty

  // The argument, or nullptr where the node has none of that name.
  const Arg* Find(absl::string_view name) const;
  Arg* Find(absl::string_view name);
  void Set(absl::string_view name, Arg value);

  // "aten::add" of "aten::add.Tensor".
  absl::string_view base_op() const;
  Value* output() const { return outputs.front(); }
  void ForEachInput(const std::function<void(Value*)>& visit) const;
};

class Block {
 public:
  std::vector<Value*> params;
  std::vector<std::unique_ptr<Node>> nodes;
  std::vector<Arg> results;
};

// A tensor of the weights file.
struct Weight {
  Value* value = nullptr;
  std::string name;        // state-dict name, "features.0.weight"
  bool is_parameter = true;  // false: a buffer or a constant tensor
  uint64_t offset = 0;     // in x.weights; contiguous, row-major, little endian
  uint64_t bytes = 0;
};

// What is known of a symbol: the sizes the program was captured at, and its bounds.
struct SymbolInfo {
  int64_t example = 0;
  int64_t second = 0;      // a second size at which the program was run; 0: none
  int64_t min = 0;
  std::optional<int64_t> max;
  bool data_dependent = false;  // comes from values (nonzero, item), from no input axis
};

// An output that carries no tensor; dropped with a warning.
struct DroppedOutput {
  std::string path;
  std::string reason;      // "None", "str"
};

class Graph {
 public:
  Graph() = default;
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  Graph(Graph&&) = default;
  Graph& operator=(Graph&&) = default;

  // Main block: params are the flattened inputs (names in Value::name, unique), results the
  // flattened outputs, in `output_names` order. A result may be a constant.
  Block main;
  std::vector<std::string> output_names;
  std::vector<DroppedOutput> dropped_outputs;
  std::vector<Weight> weights;              // in file order
  std::map<std::string, SymbolInfo> symbols;
  // Schemas of operators outside `aten` and `prim` (a user's TORCH_LIBRARY), by op name.
  std::map<std::string, std::string> custom_schemas;

  Value* NewValue(Type type, std::string name = "");
  // A new node with a fresh id, owned by the caller until it is put into a block.
  std::unique_ptr<Node> NewNode(std::string op, std::vector<NamedArg> args);
  // For the deserializer: ids as stored.
  Value* NewValueWithId(int32_t id, Type type, std::string name);
  std::unique_ptr<Node> NewNodeWithId(int32_t id, std::string op);

  // Gives values and nodes the ids 0, 1, … in order of appearance: weights, inputs, then node by
  // node its outputs and blocks. Values that nothing defines any more come last. Returns the
  // nodes' earlier ids, by new id.
  std::vector<int32_t> Renumber();

  const std::vector<std::unique_ptr<Value>>& values() const { return values_; }
  int32_t num_node_ids() const { return next_node_id_; }

 private:
  std::vector<std::unique_ptr<Value>> values_;
  int32_t next_value_id_ = 0;
  int32_t next_node_id_ = 0;
};

// Visits every node of the block and of the blocks below it, outer before inner, in order.
void ForEachNode(const Block& block, const std::function<void(const Node&)>& visit);

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_GRAPH_H_
