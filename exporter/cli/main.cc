#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <new>
#include <string>
#include <vector>

#include "exporter/cli/commands.h"
#include "exporter/cli/interruption.h"
#include "exporter/cli/output_check.h"
#include "exporter/cli/parse.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/files/standard_output.h"

namespace rules_onnx::cli {
namespace {

constexpr int kFailure = 1;
constexpr int kUsage = 2;

absl::Status Run(const CommandLine& line, diagnostics::Diagnostics* diagnostics) {
  if (auto status = CheckOutputs(line.command, line.options); !status.ok()) return status;
  switch (line.command) {
    case kExport: return RunExport(line.options, diagnostics);
    case kCapture: return RunCapture(line.options, diagnostics);
    case kLower: return RunLower(line.options, diagnostics);
    case kVerify: return RunVerify(line.options, diagnostics);
    case kPrint: return RunPrint(line.options, diagnostics);
    case kOps: return RunOps(line.options, diagnostics);
  }
  return absl::InternalError("no such command");
}

// Given back when memory runs out, so that what was begun can be cleared away.
std::atomic<char*> memory_reserve = nullptr;

void SpendReserve() {
  delete[] memory_reserve.exchange(nullptr);
  std::set_new_handler(nullptr);
  throw std::bad_alloc();
}

void KeepReserve() {
  constexpr size_t kReserve = 256 << 10;
  memory_reserve = new char[kReserve];
  std::set_new_handler(SpendReserve);
}

int Main(const std::vector<std::string>& arguments) {
  KeepReserve();
  const ParseResult parsed = ParseCommandLine(arguments);
  std::cout << parsed.text;
  for (const std::string& problem : parsed.problems) std::cerr << "error: " << problem << "\n";
  if (!parsed.problems.empty()) return kUsage;
  if (!parsed.command_line.has_value()) return 0;

  diagnostics::Diagnostics diagnostics;
  absl::Status status;
  try {
    status = Run(*parsed.command_line, &diagnostics);
  } catch (const std::bad_alloc&) {
    status = absl::ResourceExhaustedError("there is not enough memory");
  } catch (const std::exception& error) {
    status = absl::InternalError(error.what());
  }
  // Problems of operators say more than the status that sums them up.
  if (!diagnostics.has_errors() && !status.message().empty()) diagnostics.AddStatus(status);
  std::cerr << diagnostics.ToText(isatty(STDERR_FILENO) != 0);
  return status.ok() && !diagnostics.has_errors() ? 0 : kFailure;
}

}  // namespace
}  // namespace rules_onnx::cli

int main(int argc, char** argv) {
  namespace cli = rules_onnx::cli;
  // A limit on the size of files is then an error of the write, with a message.
  signal(SIGXFSZ, SIG_IGN);
  cli::WatchSignals();
  int status = cli::Main(std::vector<std::string>(argv + 1, argv + argc));
  const absl::Status written = rules_onnx::files::FlushStandardOutput();
  if (absl::IsCancelled(written)) cli::EndByBrokenPipe();
  if (!written.ok() && status == 0) {
    std::cerr << "error: " << written.message() << "\n";
    status = cli::kFailure;
  }
  // Without the destructors of onnx's and the lowerings' tables, which take longer than a lowering.
  std::_Exit(status);
}
