// The options of onnx-export: one table for all subcommands, for `--help`, for `onnx-export options`
// (which the option lists of Bazel, CMake and the documentation are tested against) and for parsing.
//
// An option some_name is the flag --some-name. On the command line
//   a bool is --flag true, --flag false, or --flag alone for true
//   a list is comma-separated, and may repeat
//   a map repeats --flag key=value
//   a repeated text repeats --flag text
#ifndef RULES_ONNX_EXPORTER_CLI_OPTIONS_H_
#define RULES_ONNX_EXPORTER_CLI_OPTIONS_H_

#include <map>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"

namespace rules_onnx::cli {

enum Command : unsigned {
  kExport = 1,
  kCapture = 2,
  kLower = 4,
  kVerify = 8,
  kPrint = 16,
  kOps = 32,
};

using Texts = std::vector<std::string>;
using Map = std::map<std::string, std::string>;

// A list whose items may hold commas: one item for each time that the flag is given.
struct Repeated {
  Texts items;
};

// Values as given, or the defaults.
struct Options {
  // What the captured graph depends on.
  std::string model;
  Repeated inputs;
  std::string dynamic_axes;
  Texts input_names;
  std::string training = "eval";
  bool do_constant_folding = true;
  bool allow_frozen_shapes = false;
  bool state_outputs = false;
  Repeated torch_libraries;

  // What only the ONNX model depends on.
  std::vector<int> opsets = {18};
  std::string external_data = "none";
  Texts output_names;
  std::string operator_export_type = "onnx";
  Map custom_opsets;
  Repeated plugins;
  Repeated op_mapping;
  bool export_params = true;
  bool keep_initializers_as_inputs = false;
  bool check = true;
  bool strip_doc_string = true;
  Map metadata;
  bool verbose = false;

  // Files and programs.
  std::string output;
  std::string graph;
  std::string weights;
  std::string debug;
  std::string weights_name;
  std::string unused_inputs;
  std::string torch_capture;
  std::string cache_dir;

  // verify
  Repeated onnx;
  std::string python = "python3";
  std::string test_data_dir;
  std::string rtol = "1e-4";
  std::string atol = "1e-5";

  std::string stage = "functionalized";  // print

  bool json = false;  // verify, ops
};

// Which part of the way an option is for. kCaptureStage and kLowerStage are those that Bazel and
// CMake offer under the same names.
enum class Stage { kCaptureStage, kLowerStage, kInputStage, kFileStage, kVerifyStage };

using Field = std::variant<bool Options::*, std::string Options::*, Texts Options::*,
                           Map Options::*, Repeated Options::*, std::vector<int> Options::*>;

struct OptionRow {
  std::string name;
  Field field;
  Stage stage;
  unsigned commands;        // a set of Command
  unsigned required;        // the commands that need it
  std::string doc;
  Texts choices = {};       // allowed values of a text; empty: any
  std::string alias = {};   // a second name
};

const std::vector<OptionRow>& OptionTable();

// "--some-name" of "some_name".
std::string FlagName(absl::string_view name);
// "bool", "text", "list", "map", "repeated" or "numbers".
absl::string_view TypeName(const Field& field);
// The default as it is written on the command line; "" where there is none.
std::string DefaultText(const OptionRow& row);
// What the flag must be given, each value once, for a command line that says the same; none where
// the option has its default.
Texts ChangedValues(const OptionRow& row, const Options& options);
// The table as a JSON array of {name, type, default, stage, commands, choices, doc}.
std::string OptionsJson();

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_OPTIONS_H_
