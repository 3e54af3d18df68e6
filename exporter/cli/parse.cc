#include "exporter/cli/parse.h"

#include <CLI/CLI.hpp>
#include <simdjson.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "exporter/lowering/lower.h"
#include "exporter/onnx/writer.h"

namespace rules_onnx::cli {
namespace {

struct Subcommand {
  Command command;
  const char* name;
  const char* doc;
  const char* examples;
};

constexpr Subcommand kSubcommands[] = {
    {kExport, "export", "Turns a saved PyTorch program into ONNX models.",
     "Examples:\n"
     "  onnx-export export --model net.pt --inputs 'x:float32[N=10,3,224,224]' --opset 18 "
     "--output net.onnx\n"
     "  onnx-export export --model net.pt --inputs inputs.pt --dynamic-axes '{\"0\": {\"0\": "
     "\"N\"}}' --output net.onnx\n"
     "  onnx-export export --model net.pt2 --opsets 13,18 --external-data shared "
     "--output 'net.opset{opset}.onnx'\n"},
    {kCapture, "capture", "Reads a program once: its graph, its weights and its source locations.",
     "Example:\n"
     "  onnx-export capture --model net.pt --inputs 'x:float32[N=10,3]' --graph net.graph "
     "--weights net.weights --debug net.debug\n"},
    {kLower, "lower", "Makes an ONNX model of a captured graph.",
     "Example:\n"
     "  onnx-export lower --graph net.graph --debug net.debug --opset 18 --external-data shared "
     "--weights-name net.weights --output net.onnx\n"},
    {kVerify, "verify", "Compares ONNX models, in ONNX Runtime, with the program.",
     "Example:\n"
     "  onnx-export verify --model net.pt --inputs 'x:float32[N=10,3]' --onnx net.onnx\n"},
    {kPrint, "print", "Prints the graph at a station of its way, for a person.",
     "Example:\n"
     "  onnx-export print --model net.pt --inputs 'x:float32[N=10,3]' --stage onnx --opset 18\n"
     "  onnx-export print --model net.pt2 --stage captured\n"
     "  onnx-export print --graph net.graph --debug net.debug\n"},
    {kOps, "ops", "Lists the operators that can be exported.",
     "Examples:\n"
     "  onnx-export ops\n"
     "  onnx-export ops --json\n"},
};

// One option of one subcommand: its row and what the command line gives for it.
struct Given {
  const OptionRow* row;
  CLI::Option* option;
};

class Converter {
 public:
  Converter(Options* options, std::vector<std::string>* problems)
      : options_(options), problems_(problems) {}

  void Convert(const OptionRow& row, const Texts& values) {
    row_ = &row;
    if (std::holds_alternative<Texts Options::*>(row.field) ||
        std::holds_alternative<Map Options::*>(row.field)) {
      for (const std::string& value : values) {
        if (!simdjson::validate_utf8(value)) return Problem("is not UTF-8, as ONNX's texts are");
      }
    }
    std::visit([&](auto member) { Set(values, &(options_->*member)); }, row.field);
  }

 private:
  void Problem(absl::string_view message) {
    problems_->push_back(absl::StrCat(FlagName(row_->name), ": ", message));
  }

  void Set(const Texts& values, bool* out) {
    if (values.size() > 1) return Problem("is given twice");
    if (values[0] != "true" && values[0] != "false") {
      return Problem(absl::StrCat("'", values[0], "' is neither true nor false"));
    }
    *out = values[0] == "true";
  }

  void Set(const Texts& values, std::string* out) {
    if (values.size() > 1) return Problem("is given twice");
    const Texts& choices = row_->choices;
    if (!choices.empty() && std::find(choices.begin(), choices.end(), values[0]) == choices.end()) {
      return Problem(
          absl::StrCat("'", values[0], "' is none of ", absl::StrJoin(choices, ", ")));
    }
    *out = values[0];
  }

  void Set(const Texts& values, Texts* out) {
    out->clear();
    for (const std::string& value : values) {
      for (const absl::string_view item : absl::StrSplit(value, ',')) {
        if (item.empty()) return Problem(absl::StrCat("'", value, "' has an empty item"));
        out->emplace_back(item);
      }
    }
  }

  void Set(const Texts& values, Map* out) {
    for (const std::string& value : values) {
      const size_t equals = value.find('=');
      if (equals == std::string::npos || equals == 0) {
        Problem(absl::StrCat("'", value, "' is not key=value"));
      } else if (!out->emplace(value.substr(0, equals), value.substr(equals + 1)).second) {
        Problem(absl::StrCat("'", value.substr(0, equals), "' is given twice"));
      }
    }
  }

  void Set(const Texts& values, Repeated* out) { out->items = values; }

  void Set(const Texts& values, std::vector<int>* out) {
    Texts items;
    Set(values, &items);
    out->clear();
    for (const std::string& item : items) {
      int number;
      if (!absl::SimpleAtoi(item, &number)) {
        Problem(absl::StrCat("'", item, "' is no number"));
      } else if (std::find(out->begin(), out->end(), number) != out->end()) {
        Problem(absl::StrCat(number, " is given twice"));
      } else {
        out->push_back(number);
      }
    }
  }

  Options* options_;
  std::vector<std::string>* problems_;
  const OptionRow* row_ = nullptr;
};

// What the values must be beyond their types.
void CheckValues(Command command, const Options& options, std::vector<std::string>* problems) {
  for (const int opset : options.opsets) {
    if (opset < lowering::kMinOpset || opset > lowering::kMaxOpset) {
      problems->push_back(absl::StrCat("--opset: ", opset, " is not within ",
                                       lowering::kMinOpset, "..", lowering::kMaxOpset));
    }
  }
  const bool field = absl::StrContains(options.output, "{opset}");
  if (options.opsets.size() > 1 && !options.output.empty() && command == kExport && !field) {
    problems->push_back("--output: with several opsets the name must hold {opset}");
  }
  if (field && options.output.find("{opset}") < options.output.rfind('/') + 1) {
    problems->push_back("--output: {opset} must stand in the file's name, not in its folder's");
  }
  if (command == kLower && options.opsets.size() > 1) {
    problems->push_back("--opset: lower makes one model; give it one opset");
  }
  if (options.external_data == "shared" && command == kLower && options.weights_name.empty()) {
    problems->push_back("--weights-name: needed with --external-data shared");
  }
  if (options.external_data != "shared" && !options.weights_name.empty()) {
    problems->push_back("--weights-name: goes with --external-data shared only");
  }
  if (!options.weights_name.empty()) {
    if (auto status = onnx_format::CheckWeightsName(options.weights_name); !status.ok()) {
      problems->push_back(absl::StrCat("--weights-name: ", status.message()));
    }
  }
  if (options.external_data != "shared" && command == kLower && options.weights.empty()) {
    problems->push_back("--weights: needed unless --external-data is shared");
  }
  const std::set<std::string> outputs(options.output_names.begin(), options.output_names.end());
  if (outputs.size() < options.output_names.size()) {
    problems->push_back("--output-names: a name is given twice");
  }
  for (const auto& [domain, version] : options.custom_opsets) {
    if (domain == "ai.onnx") {
      problems->push_back("--custom-opsets: the version of ai.onnx is what --opset says");
    }
    int number;
    if (!absl::SimpleAtoi(version, &number) || number < 1) {
      problems->push_back(absl::StrCat("--custom-opsets: '", version, "' is no version of ", domain));
    }
  }
  double number;
  for (const auto& [flag, text] : {std::pair("--rtol", options.rtol), {"--atol", options.atol}}) {
    if (!absl::SimpleAtod(text, &number) || !(number >= 0)) {
      problems->push_back(absl::StrCat(flag, ": '", text, "' is no tolerance"));
    }
  }
}

class Parser {
 public:
  Parser();
  ParseResult Parse(std::vector<std::string> arguments);

 private:
  void AddSubcommand(const Subcommand& subcommand);
  void AddOptions(Command command, CLI::App* app);
  void ConvertAll(const Subcommand& subcommand, const CLI::App& app, ParseResult* result);

  CLI::App app_{"Turns saved PyTorch programs into ONNX models."};
  std::map<Command, std::vector<Given>> given_;
};

Parser::Parser() {
  app_.name("onnx-export");
  app_.require_subcommand(1);
  app_.set_version_flag("--version", "onnx-export 0.1.0");
  app_.footer("`onnx-export COMMAND --help` has the options and examples of a command.");
  for (const Subcommand& subcommand : kSubcommands) AddSubcommand(subcommand);
  app_.add_subcommand("options", "Prints the table of all options as JSON.");
}

void Parser::AddSubcommand(const Subcommand& subcommand) {
  CLI::App* app = app_.add_subcommand(subcommand.name, subcommand.doc);
  app->footer(subcommand.examples);
  app->allow_extras();
  AddOptions(subcommand.command, app);
}

void Parser::AddOptions(Command command, CLI::App* app) {
  for (const OptionRow& row : OptionTable()) {
    if (!(row.commands & command)) continue;
    std::string doc = row.doc;
    const std::string default_text = DefaultText(row);
    if (!default_text.empty()) absl::StrAppend(&doc, " Default: ", default_text, ".");
    std::string names = FlagName(row.name);
    if (!row.alias.empty()) absl::StrAppend(&names, ",", FlagName(row.alias));
    CLI::Option* option =
        app->add_option(names, [](const CLI::results_t&) { return true; }, doc);
    const bool flag = std::holds_alternative<bool Options::*>(row.field);
    option->type_name(row.choices.empty() ? std::string(TypeName(row.field))
                                          : absl::StrCat("{", absl::StrJoin(row.choices, ","), "}"));
    option->expected(flag ? 0 : 1, 1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
    option->allow_extra_args(false);
    given_[command].push_back({&row, option});
  }
}

void Parser::ConvertAll(const Subcommand& subcommand, const CLI::App& app, ParseResult* result) {
  bool after_unknown = false;
  for (const std::string& extra : app.remaining()) {
    const bool option = absl::StartsWith(extra, "-");
    if (option) {
      result->problems.push_back(absl::StrCat("unknown option ", extra, "; `onnx-export ",
                                              subcommand.name, " --help` lists them"));
    } else if (!after_unknown) {
      result->problems.push_back(absl::StrCat("unexpected argument '", extra,
                                              "'; the items of a list are parted by commas, a,b"));
    }
    after_unknown = option;
  }
  CommandLine line{subcommand.command, {}};
  Converter converter(&line.options, &result->problems);
  for (const Given& given : given_[subcommand.command]) {
    if (given.option->count() > 0) {
      Texts values = given.option->results();
      const bool flag = std::holds_alternative<bool Options::*>(given.row->field);
      if (flag && (values.empty() || values == Texts{""})) values = {"true"};
      const bool required = given.row->required & subcommand.command;
      if (required && values == Texts{""}) {
        result->problems.push_back(absl::StrCat(FlagName(given.row->name), ": is empty"));
      }
      converter.Convert(*given.row, values);
    } else if (given.row->required & subcommand.command) {
      result->problems.push_back(absl::StrCat(FlagName(given.row->name), " is missing"));
    }
  }
  CheckValues(subcommand.command, line.options, &result->problems);
  if (result->problems.empty()) result->command_line = std::move(line);
}

std::string NoCommand(const std::vector<std::string>& arguments) {
  const std::string what = arguments.empty() ? "a command is missing"
                                             : absl::StrCat("'", arguments[0], "' is no command");
  return absl::StrCat(what, "; `onnx-export --help` lists the commands");
}

ParseResult Parser::Parse(std::vector<std::string> arguments) {
  ParseResult result;
  const std::string no_command = NoCommand(arguments);
  std::reverse(arguments.begin(), arguments.end());
  try {
    app_.parse(std::move(arguments));
  } catch (const CLI::CallForHelp&) {
    const auto subcommands = app_.get_subcommands();
    result.text = (subcommands.empty() ? &app_ : subcommands.front())->help();
    return result;
  } catch (const CLI::CallForVersion& version) {
    result.text = absl::StrCat(version.what(), "\n");
    return result;
  } catch (const CLI::RequiredError&) {
    result.problems.push_back(no_command);
    return result;
  } catch (const CLI::ParseError& error) {
    result.problems.push_back(error.what());
    return result;
  }
  const CLI::App* chosen = app_.get_subcommands().front();
  for (const Subcommand& subcommand : kSubcommands) {
    if (chosen->get_name() == subcommand.name) ConvertAll(subcommand, *chosen, &result);
  }
  if (chosen->get_name() == "options") result.text = OptionsJson();
  return result;
}

}  // namespace

ParseResult ParseCommandLine(const std::vector<std::string>& arguments) {
  return Parser().Parse(arguments);
}

}  // namespace rules_onnx::cli
