// The content of a `.pt2` file's model.json, as plain values.
//
// Source of the format: torch/_export/serde/schema.py, schema major 8 (torch 2.7 … 2.13), which older
// files differ from in members that are missing. A union is an object with one member, whose name
// tells the kind: {"as_int": 3}.
//
//   program   = { schema_version: {major, minor}, graph_module: { graph, signature,
//                 module_call_graph, treespec_namedtuple_fields }, range_constraints, … }
//   graph     = { inputs: [argument], outputs: [argument], nodes: [node],
//                 tensor_values, sym_int_values, sym_float_values, sym_bool_values: by name }
//   node      = { target, inputs: [{name, arg}], outputs: [argument], metadata }
//   signature = { input_specs: [one for each graph input], output_specs: [one for each output] }
//
// Schema 1 (torch 2.1) says some things otherwise: the version is a number; a union has all members,
// the others null; tensor_values are {meta: …}; hints are numbers; in_spec and out_spec stand in
// graph_module.call_spec; and
//
//   signature = { inputs_to_parameters, inputs_to_buffers, buffers_to_mutate: {name: target} }
#ifndef RULES_ONNX_EXPORTER_PT2_FORMAT_H_
#define RULES_ONNX_EXPORTER_PT2_FORMAT_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::pt2 {

// The schema major that this reader is written for.
inline constexpr int64_t kSchemaMajor = 8;

struct GraphDef;

struct Argument {
  enum class Kind {
    kConstant,      // `constant`
    kValue,         // `name` of a tensor, int, float or bool that the program computes
    kList,          // `items`
    kGraph,         // `name`, `graph`
    kToken,         // `name`; orders side effects, carries nothing
    kCustomObject,  // `name`; its class in `detail`
    kOther,         // of a kind that this reader does not know, in `detail`
  };
  Kind kind = Kind::kConstant;
  ir::Arg constant;
  std::string name;
  std::string detail;
  std::vector<Argument> items;
  std::shared_ptr<const GraphDef> graph;
};

struct NamedArgument {
  std::string name;  // of the operator's schema; empty in higher-order operators
  Argument value;
};

struct NodeDef {
  std::string target;  // "torch.ops.aten.add.Tensor", "_operator.mul"
  std::vector<NamedArgument> inputs;
  std::vector<Argument> outputs;
  std::string module_stack;
  std::string stack_trace;
};

// A value's type; where the program knows an int, float or bool, its constant.
struct ValueInfo {
  ir::Type type;
  ir::Arg known;
};

struct GraphDef {
  std::vector<Argument> inputs;
  std::vector<Argument> outputs;
  std::vector<NodeDef> nodes;
  absl::flat_hash_map<std::string, ValueInfo> values;
};

struct InputSpec {
  enum class Kind { kUser, kParameter, kBuffer, kTensorConstant, kConstant, kCustomObject, kToken };
  Kind kind = Kind::kUser;
  std::string name;    // of the graph input; empty for a user input that is a constant
  std::string target;  // state-dict name of a parameter or buffer, name of a constant
  bool persistent = true;
};

struct OutputSpec {
  enum class Kind { kUser, kMutation, kToken };
  Kind kind = Kind::kUser;
  std::string target;  // kMutation: "buffer 'cnt'", "input 'x'"
  std::string buffer;  // kMutation of a buffer: "cnt"
};

struct RangeConstraint {
  std::optional<int64_t> min;
  std::optional<int64_t> max;
};

struct ProgramDef {
  std::string torch_version;
  GraphDef graph;
  std::vector<InputSpec> inputs;    // beside graph.inputs
  std::vector<OutputSpec> outputs;  // beside graph.outputs
  std::string in_spec;              // tree specs of the call, as JSON text; may be empty
  std::string out_spec;
  std::vector<std::string> argument_names;                            // of the positional arguments
  std::map<std::string, std::vector<std::string>> namedtuple_fields;  // by registered type name
  std::map<std::string, RangeConstraint> ranges;                      // by symbol
  // Example values of sizes: of a symbol, or of an expression from which one can be found.
  std::vector<std::pair<ir::Dim, int64_t>> hints;
};

// Decodes model.json. Members that it does not know are ignored. Errors name `document` and the
// place in it; a schema newer than kSchemaMajor is refused with both versions.
absl::StatusOr<ProgramDef> DecodeProgram(const std::string& document, absl::string_view text);

// A tensor's bytes in the archive, from a *_weights_config.json or *_constants_config.json.
struct Payload {
  std::string path_name;  // entry, beside the config
  bool use_pickle = false;
  bool has_tensor = false;  // false: a custom object
  ir::DType dtype = ir::DType::kUndefined;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;  // in elements
  int64_t storage_offset = 0;    // in elements
};

// Payloads by state-dict name or constant's name.
absl::StatusOr<std::map<std::string, Payload>> DecodePayloads(const std::string& document,
                                                              absl::string_view text);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_FORMAT_H_
