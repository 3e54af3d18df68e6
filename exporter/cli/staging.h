// A folder in which several output files are made, to appear together.
#ifndef RULES_ONNX_EXPORTER_CLI_STAGING_H_
#define RULES_ONNX_EXPORTER_CLI_STAGING_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/cli/interruption.h"

namespace rules_onnx::cli {

// Lies in the folder of the outputs under a temporary name; the destructor removes it with all
// that was not published, as a signal does that ends the program. Not thread-safe.
class Staging {
 public:
  // Errors: the folder is missing or not writable.
  static absl::StatusOr<Staging> Create(const std::string& folder);
  Staging(Staging&& other) noexcept;
  Staging& operator=(Staging&&) = delete;
  ~Staging();

  std::string File(const std::string& name) const;
  // The text with paths as they will be once published, for messages.
  std::string Published(absl::string_view text) const;
  bool Has(const std::string& name) const;

  // Moves files and folders of these names out into the folder of the outputs, in this order; what
  // stood there under their names is replaced. If one cannot be moved, those moved before are
  // removed, and what made way for a folder, or was one, is put back.
  absl::Status Publish(const std::vector<std::string>& names);

 private:
  struct Move;

  Staging(std::string folder, std::string temporary, GuardedFolder guard)
      : folder_(std::move(folder)), temporary_(std::move(temporary)), guard_(std::move(guard)) {}

  absl::Status Publish(Move* move) const;
  std::string Unused() const;

  std::string folder_;
  std::string temporary_;  // empty: moved from
  GuardedFolder guard_;
};

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_STAGING_H_
