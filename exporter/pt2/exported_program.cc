#include "exporter/pt2/exported_program.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/ir/unique_names.h"
#include "exporter/pt2/archive.h"
#include "exporter/pt2/importer.h"
#include "exporter/pt2/symbols.h"
#include "exporter/pt2/tree_spec.h"

namespace rules_onnx::pt2 {
namespace {

using ir::Arg;

constexpr uint64_t kLargestLiteral = 1024;

class ProgramReader {
 public:
  ProgramReader(const Archive& archive, const ProgramDef& def, bool state_outputs,
                diagnostics::Diagnostics* diagnostics)
      : archive_(archive),
        def_(def),
        state_outputs_(state_outputs),
        diagnostics_(diagnostics),
        emitter_(&program_.graph, &program_.debug) {}

  absl::StatusOr<capture::Program> Read() {
    std::vector<Arg> inputs(def_.inputs.size());
    if (absl::Status status = ReadTensors(&inputs); !status.ok()) return status;
    ReadInputs(&inputs);
    Importer importer(archive_.path(), &emitter_);
    auto outputs = importer.ImportGraph(def_.graph, std::move(inputs));
    if (!outputs.ok()) return outputs.status();
    ReadOutputs(*outputs);
    DescribeSymbols(def_.ranges, def_.hints, &program_.graph);
    return std::move(program_);
  }

 private:
  absl::Status Error(absl::string_view message) const {
    return absl::InvalidArgumentError(absl::StrCat(archive_.path(), ": ", message));
  }

  // Parameters, buffers and constants; weights take their names before inputs do.
  absl::Status ReadTensors(std::vector<Arg>* inputs) {
    for (size_t i = 0; i < def_.inputs.size(); ++i) {
      const InputSpec& spec = def_.inputs[i];
      if (spec.kind != InputSpec::Kind::kParameter && spec.kind != InputSpec::Kind::kBuffer &&
          spec.kind != InputSpec::Kind::kTensorConstant) {
        continue;
      }
      auto source = archive_.OpenTensor(spec.target);
      if (!source.ok()) return source.status();
      if (absl::Status status = CheckType(spec, **source); !status.ok()) return status;
      if (spec.kind == InputSpec::Kind::kTensorConstant && (*source)->bytes() <= kLargestLiteral) {
        auto literal = ReadLiteral(**source);
        if (!literal.ok()) return literal.status();
        (*inputs)[i] = EmitConstant(spec, *std::move(literal));
      } else {
        (*inputs)[i] = AddWeight(spec, *std::move(source));
      }
    }
    return absl::OkStatus();
  }

  // The graph's type of a tensor must be that of its data.
  absl::Status CheckType(const InputSpec& spec, const weights::TensorSource& source) const {
    const auto info = def_.graph.values.find(spec.name);
    if (info == def_.graph.values.end()) {
      return Error(absl::StrCat("the type of '", spec.target, "' is missing"));
    }
    const ir::Type& type = info->second.type;
    bool fits = type.is_tensor() && type.dtype == source.dtype() && type.shape &&
                type.shape->size() == source.shape().size();
    for (size_t i = 0; fits && i < source.shape().size(); ++i) {
      fits = (*type.shape)[i].Equals(source.shape()[i]);
    }
    if (fits) return absl::OkStatus();
    return Error(absl::StrCat("'", spec.target, "' is ", type.ToString(),
                              " in the graph, and its data has another type"));
  }

  absl::StatusOr<Arg::Literal> ReadLiteral(const weights::TensorSource& source) const {
    auto literal = std::make_shared<ir::TensorLiteral>();
    literal->dtype = source.dtype();
    literal->shape = source.shape();
    if (absl::Status status = weights::ReadAll(source, &literal->bytes); !status.ok()) {
      return status;
    }
    return Arg::Literal(std::move(literal));
  }

  ir::Type TypeOfInput(const InputSpec& spec) const { return def_.graph.values.at(spec.name).type; }

  ir::Value* EmitConstant(const InputSpec& spec, Arg::Literal literal) {
    return emitter_.Emit("prim::Constant", {{"value", std::move(literal)}}, TypeOfInput(spec),
                         spec.target);
  }

  ir::Value* AddWeight(const InputSpec& spec, std::unique_ptr<weights::TensorSource> source) {
    const std::string name = names_.Make(spec.target);
    ir::Value* const value = program_.graph.NewValue(TypeOfInput(spec), name);
    program_.graph.weights.push_back(
        {.value = value, .name = name, .is_parameter = spec.kind == InputSpec::Kind::kParameter});
    program_.sources.push_back(std::move(source));
    program_.weight_memory.push_back(archive_.MemoryOf(spec.target));
    return value;
  }

  // The path of each user input, beside def_.inputs; "" for the others.
  std::vector<std::string> InputPaths() const {
    std::vector<std::string> paths(def_.inputs.size());
    std::vector<size_t> places;
    for (size_t i = 0; i < def_.inputs.size(); ++i) {
      const auto kind = def_.inputs[i].kind;
      if (kind != InputSpec::Kind::kUser && kind != InputSpec::Kind::kConstant) continue;
      paths[i] = def_.inputs[i].name;
      places.push_back(i);
    }
    const auto names = InputNames(def_.in_spec, def_.argument_names, def_.namedtuple_fields);
    if (!names.ok() || names->size() != places.size()) return paths;
    for (size_t i = 0; i < places.size(); ++i) paths[places[i]] = (*names)[i];
    return paths;
  }

  void ReadInputs(std::vector<Arg>* inputs) {
    const std::vector<std::string> paths = InputPaths();
    for (size_t i = 0; i < def_.inputs.size(); ++i) {
      const InputSpec& spec = def_.inputs[i];
      if (spec.kind != InputSpec::Kind::kUser) continue;
      const auto info = def_.graph.values.find(spec.name);
      if (info == def_.graph.values.end()) continue;  // a number or None that the export fixed
      ir::Value* const value = program_.graph.NewValue(info->second.type, names_.Make(paths[i]));
      program_.graph.main.params.push_back(value);
      const Arg& known = info->second.known;
      (*inputs)[i] = known.is_none() ? Arg(value) : known;
    }
  }

  // Named as the other front end does: "out", or "output" where an input has that name.
  std::string OutputRoot() const {
    const auto& inputs = program_.graph.main.params;
    const bool is_taken = std::any_of(inputs.begin(), inputs.end(), [](const ir::Value* input) {
      return input->name == "out" || absl::StartsWith(input->name, "out.");
    });
    return is_taken ? "output" : "out";
  }

  std::vector<std::string> OutputPaths(size_t count) const {
    const std::string root = OutputRoot();
    auto names = OutputNames(def_.out_spec, root, def_.namedtuple_fields);
    if (names.ok() && names->size() == count) return *std::move(names);
    std::vector<std::string> paths;
    for (size_t i = 0; i < count; ++i) paths.push_back(absl::StrCat(root, ".", i));
    return paths;
  }

  void ReadOutputs(const std::vector<Arg>& outputs) {
    std::vector<Arg> results;
    for (size_t i = 0; i < outputs.size(); ++i) {
      const OutputSpec& spec = def_.outputs[i];
      if (spec.kind == OutputSpec::Kind::kUser) results.push_back(outputs[i]);
      if (spec.kind == OutputSpec::Kind::kMutation && !ReturnsState(spec)) {
        WarnOfMutation(spec.target);
      }
    }
    const std::vector<std::string> paths = OutputPaths(results.size());
    ir::Graph& graph = program_.graph;
    for (size_t i = 0; i < results.size(); ++i) {
      if (results[i].is_none() || results[i].is_string()) {
        graph.dropped_outputs.push_back({paths[i], results[i].is_none() ? "None" : "str"});
        continue;
      }
      graph.main.results.push_back(results[i]);
      graph.output_names.push_back(names_.Make(paths[i]));
    }
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (!ReturnsState(def_.outputs[i])) continue;
      graph.main.results.push_back(outputs[i]);
      graph.output_names.push_back(
          names_.Make(absl::StrCat("final_state.", def_.outputs[i].buffer)));
    }
  }

  // The output is the final state of a buffer, and asked for.
  bool ReturnsState(const OutputSpec& spec) const { return state_outputs_ && !spec.buffer.empty(); }

  void WarnOfMutation(const std::string& target) {
    diagnostics_->Add({.severity = diagnostics::Severity::kWarning,
                       .id = "dropped-mutation",
                       .message = absl::StrCat("the program changes ", target,
                                               "; its final state is not an output")});
  }

  const Archive& archive_;
  const ProgramDef& def_;
  const bool state_outputs_;
  diagnostics::Diagnostics* diagnostics_;
  capture::Program program_;
  Emitter emitter_;
  ir::UniqueNames names_;  // of inputs, outputs and weights
};

}  // namespace

absl::StatusOr<capture::Program> ReadExportedProgram(const std::string& path,
                                                     const ReadOptions& options,
                                                     diagnostics::Diagnostics* diagnostics) {
  const auto archive = Archive::Open(path, options.model);
  if (!archive.ok()) return archive.status();
  const auto def = archive->ReadProgram();
  if (!def.ok()) return def.status();
  auto axis_names = archive->ReadAxisNames();
  if (!axis_names.ok()) return axis_names.status();
  auto program = ProgramReader(*archive, *def, options.state_outputs, diagnostics).Read();
  if (program.ok()) program->axis_names = *std::move(axis_names);
  return program;
}

}  // namespace rules_onnx::pt2
