// What a signal that ends the program must find in order.
//
// After WatchSignals, SIGINT, SIGTERM and SIGHUP end the child that runs, remove the folders of
// temporary files, and only then the program, with the signal's own exit status. Without it (in
// tests) the guards below do nothing. Signals that the caller ignores stay ignored.
#ifndef RULES_ONNX_EXPORTER_CLI_INTERRUPTION_H_
#define RULES_ONNX_EXPORTER_CLI_INTERRUPTION_H_

#include <signal.h>
#include <sys/types.h>

#include <string>

namespace rules_onnx::cli {

// Once, before the program has other threads. A write to a pipe that nobody reads is an error from
// then on, no signal.
void WatchSignals();

// The mask of signals that the program was started with, for children.
const sigset_t& OriginalSignalMask();

// Ends the program as SIGPIPE does; returns where the caller ignores that.
void EndByBrokenPipe();

// A folder to be removed while this lives.
class GuardedFolder {
 public:
  explicit GuardedFolder(std::string path);
  GuardedFolder(GuardedFolder&& other) noexcept;
  GuardedFolder& operator=(GuardedFolder&&) = delete;
  ~GuardedFolder();

 private:
  std::string path_;  // empty: moved from
};

// A child to be ended while this lives. It must not be reaped before.
class GuardedChild {
 public:
  explicit GuardedChild(pid_t pid);
  GuardedChild(const GuardedChild&) = delete;
  GuardedChild& operator=(const GuardedChild&) = delete;
  ~GuardedChild();
};

// Signals wait while this lives: for files that must appear together.
class SignalsWait {
 public:
  SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  SignalsWait& operator=(const SignalsWait&) = delete;
  ~SignalsWait();
};

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_INTERRUPTION_H_
