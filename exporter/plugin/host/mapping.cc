#include "exporter/plugin/host/mapping.h"

#include <simdjson.h>

#include <optional>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporter/files/input_file.h"
#include "exporter/ir/overloads.h"
#include "exporter/ir/schema.h"
#include "exporter/lowering/foreign.h"
#include "exporter/lowering/lowering.h"
#include "exporter/lowering/op.h"

namespace rules_onnx::plugin {
namespace {

using builder::Attr;
using builder::Val;
using builder::Vals;
using simdjson::dom::element;

struct Mapping {
  std::string op, domain, op_type;
  int version = 0;  // 0: as custom_opsets say
  int since_opset = lowering::kMinOpset;
  std::vector<std::string> inputs;                              // "": left out
  std::vector<std::pair<std::string, std::string>> attributes;  // ONNX's name, argument
  std::vector<Attr> constants;
};

std::string Text(std::string_view text) { return std::string(text); }

// Reads one mapping; `problem` is the first thing that is wrong.
class Reader {
 public:
  std::optional<Mapping> Read(element json);
  const std::string& problem() const { return problem_; }

 private:
  void Problem(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }
  std::string String(element json, absl::string_view what) {
    std::string_view text;
    if (json.get(text) != simdjson::SUCCESS) Problem(absl::StrCat(what, " must be a text"));
    return Text(text);
  }
  int Integer(element json, absl::string_view what) {
    int64_t value = 0;
    if (json.get(value) != simdjson::SUCCESS) Problem(absl::StrCat(what, " must be an integer"));
    return static_cast<int>(value);
  }
  void Entry(const std::string& key, element json);
  void Inputs(element json);
  void Attributes(element json);
  void Constants(element json);
  template <typename T, typename Stored>
  bool ConstantList(const std::string& name, simdjson::dom::array list);

  Mapping mapping_;
  std::string problem_;
};

std::pair<std::string, std::string> SplitName(const std::string& name) {
  const size_t colons = name.find("::");
  if (colons == std::string::npos) return {"", name};
  return {name.substr(0, colons), name.substr(colons + 2)};
}

void Reader::Inputs(element json) {
  simdjson::dom::array items;
  if (json.get(items) != simdjson::SUCCESS) return Problem("inputs must be a list");
  for (const element item : items) {
    mapping_.inputs.push_back(item.is_null() ? "" : String(item, "an item of inputs"));
  }
}

void Reader::Attributes(element json) {
  simdjson::dom::object items;
  if (json.get(items) != simdjson::SUCCESS) return Problem("attributes must be an object");
  for (const auto [key, value] : items) {
    mapping_.attributes.emplace_back(Text(key),
                                     String(value, absl::StrCat("attribute ", Text(key))));
  }
}

template <typename T, typename Stored>
bool Reader::ConstantList(const std::string& name, simdjson::dom::array list) {
  std::vector<Stored> values;
  for (const element item : list) {
    T value;
    if (item.get(value) != simdjson::SUCCESS) return false;
    values.push_back(Stored(value));
  }
  mapping_.constants.emplace_back(name, Attr::Data(std::move(values)));
  return true;
}

void Reader::Constants(element json) {
  simdjson::dom::object items;
  if (json.get(items) != simdjson::SUCCESS) return Problem("constants must be an object");
  for (const auto [key, value] : items) {
    const std::string name = Text(key);
    int64_t integer;
    double number;
    bool truth;
    std::string_view text;
    simdjson::dom::array list;
    if (value.get(integer) == simdjson::SUCCESS) {
      mapping_.constants.emplace_back(name, integer);
    } else if (value.get(number) == simdjson::SUCCESS) {
      mapping_.constants.emplace_back(name, number);
    } else if (value.get(truth) == simdjson::SUCCESS) {
      mapping_.constants.emplace_back(name, truth);
    } else if (value.get(text) == simdjson::SUCCESS) {
      mapping_.constants.emplace_back(name, Attr::Data(Text(text)));
    } else if (value.get(list) != simdjson::SUCCESS ||
               !(ConstantList<int64_t, int64_t>(name, list) ||
                 ConstantList<double, float>(name, list) ||
                 ConstantList<std::string_view, std::string>(name, list))) {
      Problem(absl::StrCat("constant ", name, " is no number, text, or list of one of these"));
    }
  }
}

void Reader::Entry(const std::string& key, element json) {
  if (key == "op") {
    mapping_.op = String(json, "op");
    if (SplitName(mapping_.op).first.empty()) Problem("op must be \"namespace::name\"");
    if (absl::StartsWith(mapping_.op, "aten::") && ir::FindSchema(mapping_.op) == nullptr &&
        ir::OverloadsOf(mapping_.op).empty()) {
      Problem(absl::StrCat("there is no operator ", mapping_.op));
    }
  } else if (key == "to") {
    std::tie(mapping_.domain, mapping_.op_type) = SplitName(String(json, "to"));
    if (mapping_.domain.empty()) Problem("to must be \"domain::OpType\"");
  } else if (key == "version") {
    mapping_.version = Integer(json, key);
    if (mapping_.version < 1) Problem("version must be 1 or more");
  } else if (key == "since_opset") {
    mapping_.since_opset = Integer(json, key);
  } else if (key == "inputs") {
    Inputs(json);
  } else if (key == "attributes") {
    Attributes(json);
  } else if (key == "constants") {
    Constants(json);
  } else {
    Problem(absl::StrCat("'", key,
                         "' is none of op, to, version, since_opset, inputs, attributes, "
                         "constants"));
  }
}

std::optional<Mapping> Reader::Read(element json) {
  simdjson::dom::object object;
  if (json.get(object) != simdjson::SUCCESS) Problem("is no object");
  if (problem_.empty()) {
    for (const auto [key, value] : object) Entry(Text(key), value);
  }
  if (mapping_.op.empty()) Problem("op is missing");
  if (mapping_.op_type.empty()) Problem("to is missing");
  if (!problem_.empty()) return std::nullopt;
  return std::move(mapping_);
}

// ---------------------------------------------------------------- lowering

void AddInput(lowering::Op& op, const std::string& name, Vals* inputs) {
  if (name.empty() || !op.Has(name)) {
    op.Require(name.empty() || op.node.Find(name) != nullptr,
               absl::StrCat("the mapping names argument ", name, ", which the operator has not"));
    inputs->push_back(Val());
  } else if (op.Arg(name).is_list()) {
    for (const Val val : op.Tensors(name)) inputs->push_back(val);
  } else {
    inputs->push_back(op.Tensor(name));
  }
}

void Apply(const Mapping& mapping, lowering::Op& op) {
  Vals inputs;
  for (const std::string& name : mapping.inputs) AddInput(op, name, &inputs);
  builder::Attrs attrs;
  for (const auto& [name, argument] : mapping.attributes) {
    const ir::Arg* const arg = op.node.Find(argument);
    if (!op.Require(arg != nullptr, absl::StrCat("the mapping names argument ", argument,
                                                 ", which the operator has not"))) {
      return;
    }
    if (arg->is_none()) continue;
    const auto attr = lowering::AttributeOf(name, *arg);
    if (!op.Require(attr.has_value(), absl::StrCat("argument ", argument,
                                                   " must be known at build time, as it becomes an "
                                                   "attribute"))) {
      return;
    }
    attrs.push_back(*attr);
  }
  attrs.insert(attrs.end(), mapping.constants.begin(), mapping.constants.end());
  const auto types = lowering::ForeignTypes(op);
  if (!types || op.failed()) return;
  if (mapping.domain == "ai.onnx") {
    std::vector<builder::OutputType> outputs;
    for (const auto& type : *types) outputs.push_back({type.dtype, type.shape, type.kind});
    return op.Return(op.b.OpN(mapping.op_type, inputs, std::move(attrs), outputs.size(), outputs));
  }
  const int version =
      mapping.version > 0 ? mapping.version : lowering::DomainVersion(op, mapping.domain);
  op.Return(
      op.b.CustomOp(mapping.domain, version, mapping.op_type, inputs, std::move(attrs), *types));
}

}  // namespace

absl::StatusOr<std::vector<lowering::UserLowering>> ReadMapping(const std::string& path) {
  const absl::StatusOr<std::string> text = files::ReadFile(path);
  if (!text.ok()) return text.status();
  simdjson::dom::parser parser;
  simdjson::dom::array list;
  const simdjson::error_code error = parser.parse(*text).get(list);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is no JSON list of mappings: ", simdjson::error_message(error)));
  }
  std::vector<lowering::UserLowering> lowerings;
  size_t index = 0;
  for (const element item : list) {
    Reader reader;
    const std::optional<Mapping> mapping = reader.Read(item);
    if (!mapping) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": mapping ", index, ": ", reader.problem()));
    }
    lowerings.push_back({mapping->op, mapping->since_opset,
                         [mapping = *mapping](lowering::Op& op) { Apply(mapping, op); }});
    ++index;
  }
  return lowerings;
}

}  // namespace rules_onnx::plugin
