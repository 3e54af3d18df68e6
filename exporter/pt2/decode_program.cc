#include <algorithm>
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/pt2/decode_argument.h"
#include "exporter/pt2/format.h"
#include "exporter/json/json.h"

namespace rules_onnx::pt2 {
namespace {

using json::Json;
using json::JsonDocument;

void CheckVersion(const Json& version, const std::string& torch_version) {
  if (version.is_number()) return;  // schema 1
  const int64_t major = version.Field("major").Int();
  const int64_t minor = version.Field("minor").Int();
  if (major <= kSchemaMajor) return;
  version.Fail(absl::StrCat("the file was written with schema ", major, ".", minor, " (torch ",
                            torch_version, "), newer than the schema ", kSchemaMajor,
                            ".x that this exporter reads"));
}

std::string OptionalString(const Json& json, absl::string_view key) {
  const Json value = json.Optional(key);
  return value.is_null() ? "" : value.String();
}

// {"parameter": {"arg": {"name": …}, "parameter_name": …}} and its like.
InputSpec DecodeInputSpec(const Json& json, Decoder* decoder) {
  InputSpec spec;
  json.ForEachMember([&](absl::string_view kind, const Json& value) {
    const auto decode_named = [&](InputSpec::Kind spec_kind, absl::string_view target) {
      spec.kind = spec_kind;
      const Json arg = value.Field("arg");
      spec.name = arg.Field("name").String();
      if (!target.empty()) spec.target = value.Field(target).String();
    };
    if (kind == "user_input") {
      spec.name = decoder->DecodeArgument(value.Field("arg")).name;
    } else if (kind == "parameter") {
      decode_named(InputSpec::Kind::kParameter, "parameter_name");
    } else if (kind == "buffer") {
      decode_named(InputSpec::Kind::kBuffer, "buffer_name");
      const Json persistent = value.Optional("persistent");
      if (!persistent.is_null()) spec.persistent = persistent.Bool();
    } else if (kind == "tensor_constant") {
      decode_named(InputSpec::Kind::kTensorConstant, "tensor_constant_name");
    } else if (kind == "custom_obj") {
      decode_named(InputSpec::Kind::kCustomObject, "custom_obj_name");
    } else if (kind == "token") {
      decode_named(InputSpec::Kind::kToken, "");
    } else if (kind == "constant_input") {
      spec.kind = InputSpec::Kind::kConstant;
      spec.name = value.Field("name").String();
    } else {
      value.Fail("unknown kind of input");
    }
  });
  return spec;
}

OutputSpec DecodeOutputSpec(const Json& json) {
  OutputSpec spec;
  json.ForEachMember([&](absl::string_view kind, const Json& value) {
    const auto decode_mutation = [&](absl::string_view what, absl::string_view target) {
      spec.kind = OutputSpec::Kind::kMutation;
      const std::string name = value.Field(target).String();
      spec.target = absl::StrCat(what, " '", name, "'");
      if (what == "buffer") spec.buffer = name;
    };
    if (kind == "user_output") {
      spec.kind = OutputSpec::Kind::kUser;
    } else if (kind == "buffer_mutation") {
      decode_mutation("buffer", "buffer_name");
    } else if (kind == "parameter_mutation") {
      decode_mutation("parameter", "parameter_name");
    } else if (kind == "user_input_mutation") {
      decode_mutation("input", "user_input_name");
    } else if (kind == "token") {
      spec.kind = OutputSpec::Kind::kToken;
    } else if (kind == "loss_output" || kind == "gradient_to_parameter" ||
               kind == "gradient_to_user_input") {
      value.Fail("a training graph with gradients cannot be exported");
    } else {
      value.Fail("unknown kind of output");
    }
  });
  return spec;
}

// The signature of schema 1: names by kind. Inputs of the graph that it does not name are the
// program's own, constants of the graph aside, which it cannot hold.
void DecodeFirstSignature(const Json& signature, ProgramDef* program) {
  std::map<std::string, InputSpec> weights;
  const auto decode_weights = [&](absl::string_view member, InputSpec::Kind kind) {
    signature.Field(member).ForEachMember([&](absl::string_view name, const Json& target) {
      weights[std::string(name)] = {
          .kind = kind, .name = std::string(name), .target = target.String()};
    });
  };
  decode_weights("inputs_to_parameters", InputSpec::Kind::kParameter);
  decode_weights("inputs_to_buffers", InputSpec::Kind::kBuffer);
  for (const Argument& input : program->graph.inputs) {
    const auto it = weights.find(input.name);
    program->inputs.push_back(it != weights.end() ? it->second : InputSpec{.name = input.name});
  }
  std::map<std::string, std::string> mutated;
  const Json mutations = signature.Field("buffers_to_mutate");
  mutations.ForEachMember([&](absl::string_view name, const Json& buffer) {
        mutated[std::string(name)] = buffer.String();
      });
  for (const Argument& output : program->graph.outputs) {
    const auto it = mutated.find(output.name);
    if (it == mutated.end()) {
      program->outputs.push_back({});
    } else {
      program->outputs.push_back({.kind = OutputSpec::Kind::kMutation,
                                  .target = absl::StrCat("buffer '", it->second, "'"),
                                  .buffer = it->second});
    }
  }
}

void DecodeSignature(const Json& signature, Decoder* decoder, ProgramDef* program) {
  if (!signature.Optional("inputs_to_parameters").is_null()) {
    return DecodeFirstSignature(signature, program);
  }
  signature.Field("input_specs").ForEachItem([&](const Json& spec) {
    program->inputs.push_back(DecodeInputSpec(spec, decoder));
  });
  signature.Field("output_specs").ForEachItem([&](const Json& spec) {
    program->outputs.push_back(DecodeOutputSpec(spec));
  });
  if (program->inputs.size() != program->graph.inputs.size()) {
    signature.Fail(absl::StrCat(program->inputs.size(), " input_specs for ",
                                program->graph.inputs.size(), " graph inputs"));
  }
  if (program->outputs.size() != program->graph.outputs.size()) {
    signature.Fail(absl::StrCat(program->outputs.size(), " output_specs for ",
                                program->graph.outputs.size(), " graph outputs"));
  }
}

// The tree specs stand in the entry of the root module.
void DecodeCallGraph(const Json& entries, ProgramDef* program) {
  entries.ForEachItem([&](const Json& entry) {
    if (!entry.Field("fqn").String().empty()) return;
    const Json signature = entry.Optional("signature");
    if (signature.is_null()) return;
    program->in_spec = OptionalString(signature, "in_spec");
    program->out_spec = OptionalString(signature, "out_spec");
    const Json names = signature.Optional("forward_arg_names");
    if (names.is_null()) return;
    names.ForEachItem([&](const Json& name) { program->argument_names.push_back(name.String()); });
  });
}

// Schema 1 has the tree specs beside the graph.
void DecodeCallSpec(const Json& spec, ProgramDef* program) {
  if (spec.is_null()) return;
  program->in_spec = OptionalString(spec, "in_spec");
  program->out_spec = OptionalString(spec, "out_spec");
}

void DecodeRanges(const Json& ranges, ProgramDef* program) {
  ranges.ForEachMember([&](absl::string_view symbol, const Json& range) {
    RangeConstraint& constraint = program->ranges[std::string(symbol)];
    const Json min = range.Optional("min_val");
    if (!min.is_null()) constraint.min = min.Int();
    const Json max = range.Optional("max_val");
    if (!max.is_null()) constraint.max = max.Int();
  });
}

void DecodeNamedTuples(const Json& definitions, ProgramDef* program) {
  if (definitions.is_null()) return;
  definitions.ForEachMember([&](absl::string_view type, const Json& definition) {
    auto& fields = program->namedtuple_fields[std::string(type)];
    definition.Field("field_names").ForEachItem([&](const Json& field) {
      fields.push_back(field.String());
    });
  });
}

Payload DecodePayload(const Json& json) {
  Payload payload;
  payload.path_name = json.Field("path_name").String();
  payload.use_pickle = json.Field("use_pickle").Bool();
  const Json meta = json.Optional("tensor_meta");
  payload.has_tensor = !meta.is_null();
  if (!payload.has_tensor) return payload;
  payload.dtype = DecodeDType(meta.Field("dtype"));
  const auto decode_ints = [&](absl::string_view member, std::vector<int64_t>* out) {
    meta.Field(member).ForEachItem(
        [&](const Json& item) { out->push_back(item.Field("as_int").Int()); });
  };
  decode_ints("sizes", &payload.sizes);
  decode_ints("strides", &payload.strides);
  const Json offset = meta.Field("storage_offset");
  payload.storage_offset = offset.Field("as_int").Int();
  const auto is_negative = [](int64_t value) { return value < 0; };
  if (payload.sizes.size() != payload.strides.size()) {
    meta.Fail("sizes and strides differ in length");
  } else if (std::any_of(payload.sizes.begin(), payload.sizes.end(), is_negative) ||
             std::any_of(payload.strides.begin(), payload.strides.end(), is_negative)) {
    meta.Fail("negative size or stride");
  }
  if (payload.storage_offset < 0) meta.Fail("negative storage offset");
  return payload;
}

}  // namespace

absl::StatusOr<ProgramDef> DecodeProgram(const std::string& document, absl::string_view text) {
  auto json = JsonDocument::Parse(document, text);
  if (!json.ok()) return json.status();
  const Json& root = json->root();
  ProgramDef program;
  program.torch_version = OptionalString(root, "torch_version");
  CheckVersion(root.Field("schema_version"), program.torch_version);
  if (!json->status().ok()) return json->status();

  Decoder decoder;
  const Json graph_module = root.Field("graph_module");
  program.graph = decoder.DecodeGraph(graph_module.Field("graph"));
  DecodeSignature(graph_module.Field("signature"), &decoder, &program);
  DecodeCallSpec(graph_module.Optional("call_spec"), &program);
  DecodeCallGraph(graph_module.Field("module_call_graph"), &program);
  DecodeNamedTuples(graph_module.Optional("treespec_namedtuple_fields"), &program);
  DecodeRanges(root.Field("range_constraints"), &program);
  program.hints = decoder.TakeHints();
  if (!json->status().ok()) return json->status();
  return program;
}

absl::StatusOr<std::map<std::string, Payload>> DecodePayloads(const std::string& document,
                                                              absl::string_view text) {
  auto json = JsonDocument::Parse(document, text);
  if (!json.ok()) return json.status();
  std::map<std::string, Payload> payloads;
  json->root().Field("config").ForEachMember([&](absl::string_view name, const Json& payload) {
    payloads[std::string(name)] = DecodePayload(payload);
  });
  if (!json->status().ok()) return json->status();
  return payloads;
}

}  // namespace rules_onnx::pt2
