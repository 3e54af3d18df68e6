// A word on a terminal about what takes its time.
#ifndef RULES_ONNX_EXPORTER_CLI_PROGRESS_H_
#define RULES_ONNX_EXPORTER_CLI_PROGRESS_H_

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

namespace rules_onnx::cli {

// Shows a text as the last line of a terminal from one second after it is made until it is
// destroyed. Nothing where standard error is no terminal.
class Progress {
 public:
  explicit Progress(std::string text);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

 private:
  void Show(const std::string& text);

  std::mutex mutex_;
  std::condition_variable done_changed_;
  bool done_ = false;
  std::thread thread_;
};

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_PROGRESS_H_
