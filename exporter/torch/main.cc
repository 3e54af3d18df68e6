// onnx-capture-torch: what needs LibTorch. `capture` makes x.graph, x.weights and x.debug of a
// TorchScript program; `run` gives the program's outputs for the example inputs.
#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <map>
#include <new>
#include <utility>

#include "exporter/files/standard_output.h"
#include "exporter/torch/command.h"

namespace {

using rules_onnx::capture::Training;
namespace command = rules_onnx::torch_command;

const std::map<std::string, Training> kTraining = {
    {"eval", Training::kEval}, {"preserve", Training::kPreserve}, {"train", Training::kTrain}};

void AddLibraries(CLI::App* command, std::vector<std::string>* libraries) {
  command->add_option("--torch-library", *libraries,
                      "Shared objects that register operators; repeats.")
      ->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

CLI::App* AddCapture(CLI::App* app, command::CaptureFlags* flags, std::string* stage) {
  CLI::App* capture = app->add_subcommand("capture", "Captures a TorchScript program.");
  capture->add_option("--model", flags->model, "The .pt file.")->required();
  capture->add_option("--inputs", flags->inputs, "Specs or files of example inputs; repeats.")
      ->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  capture->add_option("--dynamic-axes", flags->dynamic_axes, "JSON.");
  capture->add_option("--input-names", flags->options.input_names, "a,b")->delimiter(',');
  capture->add_option("--training", flags->options.training, "eval, preserve or train.")
      ->transform(CLI::CheckedTransformer(kTraining));
  capture->add_option("--do-constant-folding", flags->options.do_constant_folding);
  capture->add_option("--allow-frozen-shapes", flags->options.allow_frozen_shapes);
  capture->add_option("--state-outputs", flags->options.state_outputs);
  AddLibraries(capture, &flags->torch_libraries);
  capture->add_option("--graph", flags->paths.graph, "Output.");
  capture->add_option("--weights", flags->paths.weights, "Output.");
  capture->add_option("--debug", flags->paths.debug, "Output.");
  capture->add_option("--graph-stage", *stage,
                      "raw prints the graph before passes and writes no file; final writes files.")
      ->check(CLI::IsMember({"raw", "final"}));
  return capture;
}

CLI::App* AddRun(CLI::App* app, command::RunFlags* flags) {
  CLI::App* run = app->add_subcommand("run", "Runs a program on its example inputs.");
  run->add_option("--model", flags->model, "The .pt file.");
  run->add_option("--graph", flags->graph, "A captured graph, in the place of --model.");
  run->add_option("--weights", flags->weights, "Its weights.");
  run->add_option("--inputs", flags->inputs, "Specs or files of example inputs; repeats.")
      ->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  run->add_option("--dynamic-axes", flags->dynamic_axes, "JSON.");
  run->add_option_function<std::vector<std::string>>(
         "--sizes",
         [flags](const std::vector<std::string>& items) {
           for (const std::string& item : items) {
             const size_t equals = item.find('=');
             if (equals == std::string::npos) throw CLI::ValidationError("--sizes", "wants N=7");
             flags->sizes[item.substr(0, equals)] = std::stoll(item.substr(equals + 1));
           }
         },
         "symbol=size; repeats.")
      ->expected(1)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  run->add_option("--output-dir", flags->output_dir, "Gets input_0.pb, output_0.pb, ….")
      ->required();
  run->add_option("--values-dir", flags->values_dir,
                  "With --graph: gets the values of a block, 0_12_0.pb for value 12.");
  run->add_option("--values-of", flags->values_of,
                  "The block: that of node 14 from iteration 3 on, in iteration 2 of node 5, is "
                  "5:2/14:3. By default the main block.");
  AddLibraries(run, &flags->torch_libraries);
  run->add_option("--training", flags->training, "eval, preserve or train.")
      ->transform(CLI::CheckedTransformer(kTraining));
  return run;
}

int Report(const absl::Status& status) {
  if (status.ok()) return 0;
  if (!status.message().empty()) std::cerr << "error: " << status.message() << "\n";
  return 1;
}

int Main(int argc, char** argv) {
  CLI::App app("Reads TorchScript programs for onnx-export.");
  app.require_subcommand(1);
  command::CaptureFlags capture_flags;
  command::RunFlags run_flags;
  std::string stage = "final";
  const CLI::App* capture = AddCapture(&app, &capture_flags, &stage);
  AddRun(&app, &run_flags);
  CLI11_PARSE(app, argc, argv);
  try {
    if (!capture->parsed()) return Report(command::RunProgram(run_flags));
    capture_flags.print_raw = stage == "raw";
    const auto& paths = capture_flags.paths;
    if (!capture_flags.print_raw &&
        (paths.graph.empty() || paths.weights.empty() || paths.debug.empty())) {
      std::cerr << "error: --graph, --weights and --debug are needed\n";
      return 1;
    }
    return Report(command::RunCapture(capture_flags));
  } catch (const std::bad_alloc&) {
    std::cerr << "error: there is not enough memory\n";
    return 1;
  } catch (const std::exception& exception) {
    const std::string text = exception.what();
    std::cerr << "error: " << text.substr(0, text.find('\n')) << "\n";
    return 1;
  }
}

}  // namespace

int main(int argc, char** argv) {
  int status = Main(argc, argv);
  if (status == 0) status = Report(rules_onnx::files::FlushStandardOutput());
  // Without the destructors of LibTorch's registries, which take longer than a small capture.
  std::_Exit(status);
}
