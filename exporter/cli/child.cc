#include "exporter/cli/child.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "exporter/cli/interruption.h"
#include "exporter/files/descriptor.h"

namespace rules_onnx::cli {
namespace {

std::string ReadAll(int descriptor) {
  std::string text;
  char buffer[4096];
  while (true) {
    const ssize_t count = read(descriptor, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return text;
    text.append(buffer, count);
  }
}

// Two ends of a pipe; not valid where it cannot be made.
struct Pipe {
  Pipe() {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return;
    read_end = files::Descriptor(ends[0]);
    write_end = files::Descriptor(ends[1]);
  }
  files::Descriptor read_end, write_end;
};

// In the child, where other threads' locks may be held: system calls only. Gives errno.
int Become(const char* program, char* const* argv, pid_t parent, int errors) {
  // The child ends with the parent, be it killed; it may be dead already.
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return errno;
  if (getppid() != parent) _exit(1);
  const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) return errno;
  if (dup2(errors, STDERR_FILENO) < 0) return errno;
  sigprocmask(SIG_SETMASK, &OriginalSignalMask(), nullptr);
  execvp(program, argv);
  return errno;
}

// The number that the child sent before it gave up; 0 if its program runs.
int ReadStartError(int descriptor) {
  int number = 0;
  const std::string text = ReadAll(descriptor);
  if (text.size() == sizeof number) memcpy(&number, text.data(), sizeof number);
  return number;
}

absl::Status CannotStart(const std::string& program, int error) {
  return absl::NotFoundError(absl::StrCat("cannot start ", program, ": ", strerror(error)));
}

}  // namespace

absl::StatusOr<ChildResult> RunChild(const std::string& program,
                                     const std::vector<std::string>& arguments) {
  Pipe errors, start;
  if (!errors.write_end.valid() || !start.write_end.valid()) return CannotStart(program, errno);
  std::vector<char*> argv = {const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  OriginalSignalMask();  // known before the child asks for it

  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid < 0) return CannotStart(program, errno);
  if (pid == 0) {
    const int error = Become(program.c_str(), argv.data(), parent, errors.write_end.get());
    const ssize_t told = write(start.write_end.get(), &error, sizeof error);
    _exit(told < 0 ? 126 : 127);
  }
  errors.write_end.Close();
  start.write_end.Close();
  ChildResult result;
  int start_error;
  {
    const GuardedChild guarded(pid);
    start_error = ReadStartError(start.read_end.get());
    result.errors = ReadAll(errors.read_end.get());
    siginfo_t info;
    while (waitid(P_PID, pid, &info, WEXITED | WNOWAIT) < 0 && errno == EINTR) {
    }
  }
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (start_error != 0) return CannotStart(program, start_error);
  if (WIFSIGNALED(status)) result.signal = WTERMSIG(status);
  if (WIFEXITED(status)) result.exit_status = WEXITSTATUS(status);
  return result;
}

std::string BesideThisProgram(const std::string& name) {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  return (self.parent_path() / name).string();
}

}  // namespace rules_onnx::cli
