// Names of what an export makes.
#ifndef RULES_ONNX_EXPORTER_CLI_EXPORT_FILES_H_
#define RULES_ONNX_EXPORTER_CLI_EXPORT_FILES_H_

#include <string>

#include "exporter/cli/options.h"

namespace rules_onnx::cli {

class ExportFiles {
 public:
  explicit ExportFiles(const Options& options);

  // The folder of all outputs; "" for the current one.
  const std::string& folder() const { return folder_; }
  // Names in it.
  std::string Model(int opset) const;
  std::string Data(int opset) const { return Model(opset) + ".data"; }
  // Where it is no output, a name that none can have.
  const std::string& weights() const { return weights_; }
  // True where the weights file is an output.
  bool shares_weights() const { return shares_weights_; }

 private:
  std::string folder_;
  std::string name_;
  std::string weights_;
  bool shares_weights_;
};

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_EXPORT_FILES_H_
