#include "exporter/cli/progress.h"

#include <unistd.h>

#include <chrono>
#include <iostream>
#include <utility>

namespace rules_onnx::cli {
namespace {

constexpr char kClearLine[] = "\r\033[K";

}  // namespace

Progress::Progress(std::string text) {
  if (!isatty(STDERR_FILENO)) return;
  thread_ = std::thread([this, text = std::move(text)] { Show(text); });
}

void Progress::Show(const std::string& text) {
  std::unique_lock lock(mutex_);
  const auto is_done = [this] { return done_; };
  if (done_changed_.wait_for(lock, std::chrono::seconds(1), is_done)) return;
  std::cerr << kClearLine << text << " …" << std::flush;
  done_changed_.wait(lock, is_done);
  std::cerr << kClearLine << std::flush;
}

Progress::~Progress() {
  {
    const std::lock_guard lock(mutex_);
    done_ = true;
  }
  done_changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

}  // namespace rules_onnx::cli
