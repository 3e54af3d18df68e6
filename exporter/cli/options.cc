#include "exporter/cli/options.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "exporter/diagnostics/json_text.h"

namespace rules_onnx::cli {
namespace {

constexpr std::pair<Command, const char*> kCommands[] = {
    {kExport, "export"}, {kCapture, "capture"}, {kLower, "lower"},
    {kVerify, "verify"}, {kPrint, "print"},     {kOps, "ops"},
};

std::vector<OptionRow> MakeTable() {
  using enum Stage;
  const unsigned capture = kExport | kCapture;
  const unsigned lower = kExport | kLower;
  const unsigned program = capture | kVerify | kPrint;  // what reads one
  const unsigned lowered = lower | kPrint;              // what makes a model of it
  return {
      {"model", &Options::model, kInputStage, program, capture | kVerify,
       "Program: TorchScript (.pt) or ExportedProgram (.pt2). Which of them, its content tells."},
      {"inputs", &Options::inputs, kInputStage, program, 0,
       "Example inputs: a spec such as x:float32[N=10,3,224,224], or a file (.pt, .npz, .npy, "
       ".pb). Repeats. An ExportedProgram needs none: specs are checked against it and name its axes, "
       "and export reads no file."},
      {"dynamic_axes", &Options::dynamic_axes, kCaptureStage, program, 0,
       "Axes of unknown size, as JSON: {\"x\": {\"0\": \"N\"}} by name or position of the input, "
       "or [{\"0\": \"N\"}, null] with an entry for each tensor. Equal names mean equal sizes."},
      {"input_names", &Options::input_names, kCaptureStage, capture | kPrint, 0,
       "Names of the graph's inputs, then of its parameters, in order; a shorter list names the "
       "first ones."},
      {"training", &Options::training, kCaptureStage, program, 0,
       "Whether Dropout and BatchNormalization are exported as in training; preserve takes each "
       "module's own mode.",
       {"eval", "preserve", "train"}},
      {"do_constant_folding", &Options::do_constant_folding, kCaptureStage, program, 0,
       "Computes constant parts of the graph, and folds batch normalization into convolutions."},
      {"allow_frozen_shapes", &Options::allow_frozen_shapes, kCaptureStage, program, 0,
       "Sizes that the program froze are warnings instead of errors."},
      {"state_outputs", &Options::state_outputs, kCaptureStage, capture | kPrint, 0,
       "True: what each buffer is after the call, where the program changes it, is an output too, "
       "final_state.NAME."},
      {"torch_libraries", &Options::torch_libraries, kInputStage, program, 0,
       "Shared objects that register operators with PyTorch, for a TorchScript program that uses "
       "them, and to run a program of either kind. Repeats.", {}, "torch_library"},
      {"opsets", &Options::opsets, kInputStage, lowered, 0,
       "ONNX opsets, 9 to 28, each a model of its own.", {}, "opset"},
      {"external_data", &Options::external_data, kInputStage, lower, 0,
       "Where tensors of 1 kB and more lie: in the model (none), in one file beside it (single), "
       "in a file each (per_tensor), or in the weights file that capture wrote, for all opsets "
       "together (shared).",
       {"none", "single", "per_tensor", "shared"}},
      {"output_names", &Options::output_names, kLowerStage, lowered, 0,
       "Names of the graph's outputs, in order; a shorter list names the first ones."},
      {"operator_export_type", &Options::operator_export_type, kLowerStage, lowered | kVerify, 0,
       "What becomes of an operator without an ONNX form: refused (onnx), an ATen node "
       "(aten_fallback), a custom operator (fallthrough); aten and raw write every operator as "
       "captured.",
       {"onnx", "aten", "aten_fallback", "raw", "fallthrough"}},
      {"custom_opsets", &Options::custom_opsets, kLowerStage, lowered, 0,
       "Versions of custom operator domains: domain=version."},
      {"plugins", &Options::plugins, kInputStage, lowered | kVerify, 0,
       "Shared objects with lowerings, which come before the built-in ones "
       "(exporter/plugin/plugin.h). Repeats.", {}, "plugin"},
      {"op_mapping", &Options::op_mapping, kInputStage, lowered | kVerify, 0,
       "Files that map operators to nodes of custom domains, in JSON (exporter/plugin/host/mapping.h). "
       "Repeats."},
      {"export_params", &Options::export_params, kLowerStage, lowered, 0,
       "False: parameters become graph inputs without values."},
      {"keep_initializers_as_inputs", &Options::keep_initializers_as_inputs, kLowerStage, lowered, 0,
       "True: initializers are graph inputs as well."},
      {"check", &Options::check, kLowerStage, lower, 0,
       "Runs the ONNX checker with full type and shape inference; a model that fails is an error."},
      {"strip_doc_string", &Options::strip_doc_string, kLowerStage, lower, 0,
       "False: each node's doc_string tells its source line."},
      {"metadata", &Options::metadata, kLowerStage, lower, 0,
       "Entries of ModelProto.metadata_props: key=value. Bounds that a .pt2 states of an axis N stand there "
       "as axis.N=2..100."},
      {"verbose", &Options::verbose, kLowerStage, lower, 0, "Prints the graph for a person."},
      {"output", &Options::output, kFileStage, lower, lower,
       "The ONNX file. With several opsets its name holds {opset}."},
      {"graph", &Options::graph, kFileStage, kCapture | kLower | kPrint,
       kCapture | kLower, "The captured graph; print takes a --model instead, too."},
      {"weights", &Options::weights, kFileStage, kCapture | kLower, kCapture,
       "The captured weights. To lower with external data shared they are not needed."},
      {"debug", &Options::debug, kFileStage, kCapture | kLower | kPrint, kCapture,
       "Source locations of the captured graph, for messages, doc strings and print."},
      {"stage", &Options::stage, kFileStage, kPrint, 0,
       "Which graph: as the program has it (captured), with writes made plain and constants folded "
       "(functionalized), or the ONNX graph at --opset (onnx).",
       {"captured", "functionalized", "onnx"}},
      {"weights_name", &Options::weights_name, kFileStage, lower, 0,
       "With external data shared: the weights file's name beside the model. Default for export: "
       "the output's, with the ending .weights."},
      {"unused_inputs", &Options::unused_inputs, kFileStage, kLower, 0,
       "A file to which to write the paths of the files given that had no effect on the output, "
       "one a line (Bazel's unused_inputs_list)."},
      {"torch_capture", &Options::torch_capture, kFileStage, program, 0,
       "The program onnx-capture-torch, which reads TorchScript. Default: beside this program."},
      {"cache_dir", &Options::cache_dir, kFileStage, capture, 0,
       "A folder to keep results in and to take them from. Default: $RULES_ONNX_CACHE_DIR; none "
       "if that is not set."},
      {"onnx", &Options::onnx, kVerifyStage, kVerify, kVerify, "The ONNX file to verify. Repeats."},
      {"python", &Options::python, kVerifyStage, kVerify, 0,
       "A Python with onnxruntime, onnx and numpy."},
      {"test_data_dir", &Options::test_data_dir, kVerifyStage, kVerify, 0,
       "A folder for inputs and expected outputs, in the form of ONNX's test_data_set_0."},
      {"rtol", &Options::rtol, kVerifyStage, kVerify, 0, "Relative tolerance."},
      {"atol", &Options::atol, kVerifyStage, kVerify, 0, "Absolute tolerance."},
      {"json", &Options::json, kVerifyStage, kVerify | kOps, 0, "Prints JSON."},
  };
}

absl::string_view StageName(Stage stage) {
  switch (stage) {
    case Stage::kCaptureStage: return "capture";
    case Stage::kLowerStage: return "lower";
    case Stage::kInputStage: return "input";
    case Stage::kFileStage: return "file";
    case Stage::kVerifyStage: return "verify";
  }
  return "";
}

std::string JsonTexts(const Texts& texts) {
  return absl::StrCat("[", absl::StrJoin(texts, ", ",
                                         [](std::string* out, const std::string& text) {
                                           out->append(diagnostics::JsonText(text));
                                         }),
                      "]");
}

std::string MapText(const Map& map) { return absl::StrJoin(map, ",", absl::PairFormatter("=")); }

}  // namespace

const std::vector<OptionRow>& OptionTable() {
  static const auto* table = new std::vector<OptionRow>(MakeTable());
  return *table;
}

std::string FlagName(absl::string_view name) {
  return absl::StrCat("--", absl::StrReplaceAll(name, {{"_", "-"}}));
}

absl::string_view TypeName(const Field& field) {
  constexpr absl::string_view kNames[] = {"bool", "text", "list", "map", "repeated", "numbers"};
  static_assert(std::size(kNames) == std::variant_size_v<Field>);
  return kNames[field.index()];
}

std::string DefaultText(const OptionRow& row) {
  const Options defaults;
  return std::visit(
      [&](auto member) -> std::string {
        const auto& value = defaults.*member;
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, bool>) return value ? "true" : "false";
        if constexpr (std::is_same_v<T, std::string>) return value;
        if constexpr (std::is_same_v<T, Map>) return MapText(value);
        if constexpr (std::is_same_v<T, Texts> || std::is_same_v<T, std::vector<int>>) {
          return absl::StrJoin(value, ",");
        }
        return "";
      },
      row.field);
}

Texts ChangedValues(const OptionRow& row, const Options& options) {
  const Options defaults;
  return std::visit(
      [&](auto member) -> Texts {
        const auto& value = options.*member;
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, Repeated>) {
          return value.items;
        } else {
          if (value == defaults.*member) return {};
          Texts values;
          if constexpr (std::is_same_v<T, bool>) values = {value ? "true" : "false"};
          if constexpr (std::is_same_v<T, std::string>) values = {value};
          if constexpr (std::is_same_v<T, Texts> || std::is_same_v<T, std::vector<int>>) {
            values = {absl::StrJoin(value, ",")};
          }
          if constexpr (std::is_same_v<T, Map>) {
            for (const auto& [key, text] : value) values.push_back(absl::StrCat(key, "=", text));
          }
          return values;
        }
      },
      row.field);
}

std::string OptionsJson() {
  std::string json = "[";
  for (const OptionRow& row : OptionTable()) {
    Texts commands;
    for (const auto& [command, name] : kCommands) {
      if (row.commands & command) commands.push_back(name);
    }
    absl::StrAppend(&json, json.size() > 1 ? "," : "", "\n  {\"name\": ", diagnostics::JsonText(row.name),
                    ", \"type\": ", diagnostics::JsonText(TypeName(row.field)),
                    ", \"default\": ", diagnostics::JsonText(DefaultText(row)),
                    ", \"stage\": ", diagnostics::JsonText(StageName(row.stage)),
                    ", \"commands\": ", JsonTexts(commands),
                    ", \"choices\": ", JsonTexts(row.choices), ", \"doc\": ", diagnostics::JsonText(row.doc),
                    "}");
  }
  absl::StrAppend(&json, "\n]\n");
  return json;
}

}  // namespace rules_onnx::cli
