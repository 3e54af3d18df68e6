#include "exporter/cli/interruption.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <set>
#include <system_error>
#include <utility>

namespace rules_onnx::cli {
namespace {

// The watching thread takes the mutex for good: who changes anything then waits for the end.
struct Guarded {
  std::mutex mutex;
  std::set<std::string> folders;
  pid_t child = 0;
};

Guarded& TheGuarded() {
  static auto* guarded = new Guarded;
  return *guarded;
}

sigset_t CurrentMask() {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return mask;
}

bool IsIgnored(int signal) {
  struct sigaction action;
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

[[noreturn]] void EndBy(int signal) {
  ::signal(signal, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, signal);
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  raise(signal);
  std::_Exit(128 + signal);
}

// The other threads still run and may write into a folder while it is emptied.
void Remove(const std::string& folder) {
  for (int tries = 0; tries < 100; ++tries) {
    std::error_code error;
    std::filesystem::remove_all(folder, error);
    if (!error) return;
  }
}

void* Watch(void* signals) {
  int signal = 0;
  if (sigwait(static_cast<const sigset_t*>(signals), &signal) != 0) return nullptr;
  Guarded& guarded = TheGuarded();
  guarded.mutex.lock();
  if (guarded.child != 0) {
    kill(guarded.child, SIGKILL);
    siginfo_t info;
    waitid(P_PID, guarded.child, &info, WEXITED | WNOWAIT);
  }
  for (const std::string& folder : guarded.folders) Remove(folder);
  EndBy(signal);
}

// False where there is no memory for a thread. A std::thread would take the stack that the limits
// say, megabytes.
bool StartWatching(sigset_t* signals) {
  constexpr size_t kStack = 256 << 10;
  pthread_attr_t attributes;
  if (pthread_attr_init(&attributes) != 0) return false;
  pthread_attr_setstacksize(&attributes, kStack);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_t thread;
  const bool started = pthread_create(&thread, &attributes, Watch, signals) == 0;
  pthread_attr_destroy(&attributes);
  return started;
}

}  // namespace

const sigset_t& OriginalSignalMask() {
  static const sigset_t mask = CurrentMask();
  return mask;
}

void WatchSignals() {
  OriginalSignalMask();
  static sigset_t watched;  // as long as the thread
  sigemptyset(&watched);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) {
    if (!IsIgnored(signal)) sigaddset(&watched, signal);
  }
  sigset_t blocked = watched;
  sigaddset(&blocked, SIGPIPE);
  pthread_sigmask(SIG_BLOCK, &blocked, nullptr);
  if (!StartWatching(&watched)) pthread_sigmask(SIG_UNBLOCK, &watched, nullptr);
}

void EndByBrokenPipe() {
  if (!IsIgnored(SIGPIPE)) EndBy(SIGPIPE);
}

GuardedFolder::GuardedFolder(std::string path) : path_(std::move(path)) {
  const std::lock_guard<std::mutex> lock(TheGuarded().mutex);
  TheGuarded().folders.insert(path_);
}

GuardedFolder::GuardedFolder(GuardedFolder&& other) noexcept
    : path_(std::exchange(other.path_, "")) {}

GuardedFolder::~GuardedFolder() {
  if (path_.empty()) return;
  const std::lock_guard<std::mutex> lock(TheGuarded().mutex);
  TheGuarded().folders.erase(path_);
}

GuardedChild::GuardedChild(pid_t pid) {
  const std::lock_guard<std::mutex> lock(TheGuarded().mutex);
  TheGuarded().child = pid;
}

GuardedChild::~GuardedChild() {
  const std::lock_guard<std::mutex> lock(TheGuarded().mutex);
  TheGuarded().child = 0;
}

SignalsWait::SignalsWait() { TheGuarded().mutex.lock(); }
SignalsWait::~SignalsWait() { TheGuarded().mutex.unlock(); }

}  // namespace rules_onnx::cli
