// Lowerings of one's own: the interface of plugins. Everything a plugin needs is in this file.
//
// A plugin is a shared object with lowerings of operators: of a library of one's own
// (`mylib::twice`), or of PyTorch's (`aten::gelu`), which then replace the built-in ones.
//
//   #include "exporter/plugin/plugin.h"
//
//   void Twice(rules_onnx::plugin::Op& op) {
//     const auto x = op.Tensor("x");
//     op.Return(op.Node("Add", {x, x}));
//   }
//
//   RULES_ONNX_PLUGIN({"mylib::twice", Twice})
//
// `onnx-export export --plugins libtwice.so …`, `plugins = [":twice"]` in Bazel (where
// `onnx_lowering_library` builds it), `PLUGINS twice` in CMake (`add_onnx_lowering`).
//
// A lowering reads arguments by their names in the operator's schema, emits nodes and ends with
// Return. As in the exporter itself, nothing needs checking on the way: the first failure counts, a
// null Value stays null in what is made of it, and exceptions become failures. ONNX operators are
// checked against ONNX's schema at the opset that is asked for; results against the dtype and rank
// that PyTorch gave.
//
// Binary interface: plain C, a table of functions that the exporter hands over. So a plugin can be
// built by any C++17 compiler, links nothing of the exporter, and works with every later exporter
// of interface 1: the table only ever grows at its end. A plugin made for a later form of the
// interface than the exporter has is refused by name.
#ifndef RULES_ONNX_EXPORTER_PLUGIN_PLUGIN_H_
#define RULES_ONNX_EXPORTER_PLUGIN_PLUGIN_H_

#include <cstddef>
#include <cstdint>
#include <exception>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

// ================================================================ the binary interface

// Grows when the table of functions does.
#define RULES_ONNX_PLUGIN_REVISION 1

extern "C" {

// The node being lowered. Handles and texts that the exporter gives live until the lowering ends.
typedef struct rules_onnx_op rules_onnx_op;
// A value of the ONNX graph; null after a failure.
typedef struct rules_onnx_value rules_onnx_value;

enum rules_onnx_attr_kind {
  RULES_ONNX_INT = 1,
  RULES_ONNX_FLOAT = 2,
  RULES_ONNX_STRING = 3,
  RULES_ONNX_INTS = 4,
  RULES_ONNX_FLOATS = 5,
  RULES_ONNX_STRINGS = 6,
};

// `count` items of the kind's array; one for the first three kinds.
typedef struct rules_onnx_attr {
  const char* name;
  int32_t kind;
  const int64_t* ints;
  const double* floats;
  const char* const* strings;
  size_t count;
} rules_onnx_attr;

// dtype: a number of ONNX's TensorProto.DataType, 0 if unknown. rank −1: unknown; dim −1: unknown.
typedef struct rules_onnx_type {
  int32_t dtype;
  int32_t rank;
  const int64_t* dims;
} rules_onnx_type;

typedef struct rules_onnx_node {
  const char* domain;  // "" is ai.onnx
  int32_t version;     // of another domain; 0: what the user's custom_opsets say, else 1
  const char* op_type;
  rules_onnx_value* const* inputs;  // null: left out
  size_t num_inputs;
  const rules_onnx_attr* attrs;
  size_t num_attrs;
  const rules_onnx_type* types;  // of the outputs; null where ONNX's schema tells them
  size_t num_outputs;
} rules_onnx_node;

typedef struct rules_onnx_host {
  uint32_t revision;
  int32_t (*opset)(rules_onnx_op*);
  const char* (*name)(rules_onnx_op*);
  size_t (*num_outputs)(rules_onnx_op*);
  // Type of a result as PyTorch gave it.
  void (*output_type)(rules_onnx_op*, size_t, rules_onnx_type*);
  // Arguments. 0 where the argument is None or absent; getters that fail give null, 0 or "".
  int32_t (*has)(rules_onnx_op*, const char* argument);
  rules_onnx_value* (*tensor)(rules_onnx_op*, const char* argument);
  size_t (*tensors)(rules_onnx_op*, const char* argument, rules_onnx_value*** items);
  int64_t (*get_int)(rules_onnx_op*, const char* argument);
  double (*get_float)(rules_onnx_op*, const char* argument);
  const char* (*get_string)(rules_onnx_op*, const char* argument);
  size_t (*get_ints)(rules_onnx_op*, const char* argument, const int64_t** items);
  // 1 and the number if it is known at build time.
  int32_t (*known_float)(rules_onnx_op*, const char* argument, double* number);
  // Values.
  void (*type)(rules_onnx_op*, rules_onnx_value*, rules_onnx_type*);
  rules_onnx_value* (*constant)(rules_onnx_op*, double number, int32_t dtype);
  rules_onnx_value* (*constant_ints)(rules_onnx_op*, const int64_t* items, size_t count);
  rules_onnx_value* (*cast)(rules_onnx_op*, rules_onnx_value*, int32_t dtype);
  rules_onnx_value* (*size)(rules_onnx_op*, rules_onnx_value*, int32_t axis);
  rules_onnx_value* (*shape)(rules_onnx_op*, rules_onnx_value*);
  void (*node)(rules_onnx_op*, const rules_onnx_node*, rules_onnx_value** outputs);
  // Outcome.
  void (*fail)(rules_onnx_op*, const char* message);
  void (*give)(rules_onnx_op*, rules_onnx_value* const* results, size_t count);
} rules_onnx_host;

typedef struct rules_onnx_lowering {
  const char* op;
  int32_t since_opset;
  void (*run)(const rules_onnx_host*, rules_onnx_op*, void (*function)(void));
  void (*function)(void);
} rules_onnx_lowering;

typedef struct rules_onnx_plugin {
  uint32_t revision;
  const rules_onnx_lowering* lowerings;
  size_t num_lowerings;
} rules_onnx_plugin;

// The one symbol of a plugin.
__attribute__((visibility("default"))) const rules_onnx_plugin* rules_onnx_plugin_1(void);

}  // extern "C"

// ================================================================ C++

namespace rules_onnx::plugin {

// ONNX's TensorProto.DataType.
enum class DType : int32_t {
  kUndefined = 0,
  kFloat32 = 1,
  kUInt8 = 2,
  kInt8 = 3,
  kUInt16 = 4,
  kInt16 = 5,
  kInt32 = 6,
  kInt64 = 7,
  kBool = 9,
  kFloat16 = 10,
  kFloat64 = 11,
  kUInt32 = 12,
  kUInt64 = 13,
  kBFloat16 = 16,
};

class Value {
 public:
  Value() = default;
  explicit Value(rules_onnx_value* handle) : handle_(handle) {}
  explicit operator bool() const { return handle_ != nullptr; }
  rules_onnx_value* handle() const { return handle_; }

 private:
  rules_onnx_value* handle_ = nullptr;
};

// What is known of a tensor: rank −1 and sizes −1 are unknown at build time.
struct Type {
  DType dtype = DType::kUndefined;
  int rank = -1;
  std::vector<int64_t> dims;
};

class Attr {
 public:
  Attr(std::string name, int value) : Attr(std::move(name), int64_t{value}) {}
  Attr(std::string name, int64_t value)
      : name_(std::move(name)), kind_(RULES_ONNX_INT), ints_{value} {}
  Attr(std::string name, bool value) : Attr(std::move(name), int64_t{value}) {}
  Attr(std::string name, double value)
      : name_(std::move(name)), kind_(RULES_ONNX_FLOAT), floats_{value} {}
  Attr(std::string name, std::string value)
      : name_(std::move(name)), kind_(RULES_ONNX_STRING), strings_{std::move(value)} {}
  Attr(std::string name, const char* value) : Attr(std::move(name), std::string(value)) {}
  Attr(std::string name, std::vector<int64_t> values)
      : name_(std::move(name)), kind_(RULES_ONNX_INTS), ints_(std::move(values)) {}
  Attr(std::string name, std::vector<double> values)
      : name_(std::move(name)), kind_(RULES_ONNX_FLOATS), floats_(std::move(values)) {}
  Attr(std::string name, std::vector<std::string> values)
      : name_(std::move(name)), kind_(RULES_ONNX_STRINGS), strings_(std::move(values)) {}

  // `texts` keeps the pointers alive.
  rules_onnx_attr ToC(std::vector<const char*>* texts) const {
    texts->clear();
    for (const std::string& text : strings_) texts->push_back(text.c_str());
    const size_t count = ints_.size() + floats_.size() + strings_.size();
    return {name_.c_str(), kind_, ints_.data(), floats_.data(), texts->data(), count};
  }

 private:
  std::string name_;
  int32_t kind_;
  std::vector<int64_t> ints_;
  std::vector<double> floats_;
  std::vector<std::string> strings_;
};

class Op {
 public:
  Op(const rules_onnx_host* host, rules_onnx_op* op) : host_(host), op_(op) {}

  // "mylib::twice.Tensor"
  std::string name() const { return host_->name(op_); }
  int opset() const { return host_->opset(op_); }
  size_t num_outputs() const { return host_->num_outputs(op_); }
  Type OutputType(size_t i = 0) const {
    rules_onnx_type type;
    host_->output_type(op_, i, &type);
    return FromC(type);
  }

  // ---- arguments, by their names in the schema
  bool Has(const char* name) const { return host_->has(op_, name) != 0; }
  Value Tensor(const char* name) { return Value(host_->tensor(op_, name)); }  // numbers are 0-d
  std::vector<Value> Tensors(const char* name) {
    rules_onnx_value** items = nullptr;
    const size_t count = host_->tensors(op_, name, &items);
    std::vector<Value> values;
    for (size_t i = 0; i < count; ++i) values.push_back(Value(items[i]));
    return values;
  }
  // Failures where the program computes the number.
  int64_t Int(const char* name) { return host_->get_int(op_, name); }
  bool Bool(const char* name) { return Int(name) != 0; }
  double Float(const char* name) { return host_->get_float(op_, name); }
  std::string String(const char* name) { return host_->get_string(op_, name); }
  std::vector<int64_t> Ints(const char* name) {
    const int64_t* items = nullptr;
    const size_t count = host_->get_ints(op_, name, &items);
    return std::vector<int64_t>(items, items + count);
  }
  std::optional<double> KnownFloat(const char* name) {
    double number = 0;
    return host_->known_float(op_, name, &number) ? std::optional<double>(number) : std::nullopt;
  }

  // ---- values
  Type TypeOf(Value x) const {
    rules_onnx_type type;
    host_->type(op_, x.handle(), &type);
    return FromC(type);
  }
  DType DTypeOf(Value x) const { return TypeOf(x).dtype; }
  int RankOf(Value x) const { return TypeOf(x).rank; }
  // 0-d.
  Value Constant(double number, DType dtype) {
    return Value(host_->constant(op_, number, static_cast<int32_t>(dtype)));
  }
  // 1-D int64.
  Value Constant(const std::vector<int64_t>& items) {
    return Value(host_->constant_ints(op_, items.data(), items.size()));
  }
  Value Cast(Value x, DType dtype) {
    return Value(host_->cast(op_, x.handle(), static_cast<int32_t>(dtype)));
  }
  // 0-d int64 and 1-D int64: constants where the sizes are known. Not otherwise, so that dynamic
  // axes stay dynamic: compute with these, not with TypeOf's sizes.
  Value Size(Value x, int axis) { return Value(host_->size(op_, x.handle(), axis)); }
  Value Shape(Value x) { return Value(host_->shape(op_, x.handle())); }

  // ---- nodes
  // An operator of ONNX; `types` only where its schema does not tell the outputs' types.
  Value Node(const std::string& op_type, const std::vector<Value>& inputs,
             const std::vector<Attr>& attrs = {}) {
    return Nodes(op_type, inputs, attrs, 1)[0];
  }
  std::vector<Value> Nodes(const std::string& op_type, const std::vector<Value>& inputs,
                           const std::vector<Attr>& attrs, size_t num_outputs,
                           const std::vector<Type>& types = {}) {
    return Emit("", 0, op_type, inputs, attrs, num_outputs, types);
  }
  // An operator of another domain, with outputs of these types. Version 0: what the export's
  // custom_opsets say, else 1.
  std::vector<Value> Custom(const std::string& domain, const std::string& op_type,
                            const std::vector<Value>& inputs, const std::vector<Attr>& attrs,
                            const std::vector<Type>& types, int version = 0) {
    return Emit(domain, version, op_type, inputs, attrs, types.size(), types);
  }

  // ---- outcome
  void Fail(const std::string& message) { host_->fail(op_, message.c_str()); }
  void Return(Value result) { Return(std::vector<Value>{result}); }
  void Return(const std::vector<Value>& results) {
    const std::vector<rules_onnx_value*> handles = Handles(results);
    host_->give(op_, handles.data(), handles.size());
  }

 private:
  static Type FromC(const rules_onnx_type& type) {
    Type result{static_cast<DType>(type.dtype), type.rank, {}};
    if (type.rank > 0) result.dims.assign(type.dims, type.dims + type.rank);
    return result;
  }
  static std::vector<rules_onnx_value*> Handles(const std::vector<Value>& values) {
    std::vector<rules_onnx_value*> handles;
    for (const Value value : values) handles.push_back(value.handle());
    return handles;
  }
  std::vector<Value> Emit(const std::string& domain, int version, const std::string& op_type,
                          const std::vector<Value>& inputs, const std::vector<Attr>& attrs,
                          size_t num_outputs, const std::vector<Type>& types) {
    const std::vector<rules_onnx_value*> handles = Handles(inputs);
    std::vector<std::vector<const char*>> texts(attrs.size());
    std::vector<rules_onnx_attr> c_attrs;
    for (size_t i = 0; i < attrs.size(); ++i) c_attrs.push_back(attrs[i].ToC(&texts[i]));
    std::vector<rules_onnx_type> c_types;
    for (const Type& type : types) {
      c_types.push_back({static_cast<int32_t>(type.dtype), type.rank, type.dims.data()});
    }
    const rules_onnx_node node = {
        domain.c_str(), version,        op_type.c_str(), handles.data(),
        handles.size(), c_attrs.data(), c_attrs.size(),  types.empty() ? nullptr : c_types.data(),
        num_outputs};
    std::vector<rules_onnx_value*> outputs(num_outputs);
    host_->node(op_, &node, outputs.data());
    std::vector<Value> values;
    for (rules_onnx_value* output : outputs) values.push_back(Value(output));
    return values;
  }

  const rules_onnx_host* host_;
  rules_onnx_op* op_;
};

// A row of a plugin. `op` without an overload means all of them; the lowering counts from
// `since_opset` on, and below it the built-in one, or a row of a smaller opset.
struct Lowering {
  Lowering(const char* op, void (*function)(Op&), int since_opset = 9)
      : row{op, since_opset, &Run, reinterpret_cast<void (*)(void)>(function)} {}

  static void Run(const rules_onnx_host* host, rules_onnx_op* c_op, void (*function)(void)) {
    Op op(host, c_op);
    try {
      reinterpret_cast<void (*)(Op&)>(function)(op);
    } catch (const std::exception& error) {
      op.Fail(error.what());
    } catch (...) {
      op.Fail("the plugin threw an exception");
    }
  }

  rules_onnx_lowering row;
};

}  // namespace rules_onnx::plugin

// Once in a plugin, at namespace scope: its rows.
#define RULES_ONNX_PLUGIN(...)                                                                     \
  extern "C" __attribute__((visibility("default"))) const rules_onnx_plugin* rules_onnx_plugin_1(  \
      void) {                                                                                      \
    static const std::initializer_list<::rules_onnx::plugin::Lowering> kLowerings = {__VA_ARGS__}; \
    static const auto* const kRows = [] {                                                          \
      auto* rows = new std::vector<rules_onnx_lowering>;                                           \
      for (const auto& lowering : kLowerings) rows->push_back(lowering.row);                       \
      return rows;                                                                                 \
    }();                                                                                           \
    static const rules_onnx_plugin kPlugin = {RULES_ONNX_PLUGIN_REVISION, kRows->data(),           \
                                              kRows->size()};                                      \
    return &kPlugin;                                                                               \
  }

#endif  // RULES_ONNX_EXPORTER_PLUGIN_PLUGIN_H_
