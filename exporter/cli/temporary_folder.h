// A folder that goes when the program is done with it, or ended by a signal.
#ifndef RULES_ONNX_EXPORTER_CLI_TEMPORARY_FOLDER_H_
#define RULES_ONNX_EXPORTER_CLI_TEMPORARY_FOLDER_H_

#include <optional>
#include <string>

#include "absl/status/status.h"
#include "exporter/cli/interruption.h"

namespace rules_onnx::cli {

// A folder of its own under the system's one for temporary files.
class TemporaryFolder {
 public:
  TemporaryFolder();
  ~TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  // An error if it could not be made.
  absl::Status status() const;
  const std::string& path() const { return path_; }
  std::string File(const std::string& name) const { return path_ + "/" + name; }

 private:
  std::string path_;
  std::optional<GuardedFolder> guard_;
};

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_TEMPORARY_FOLDER_H_
