// Tensors of a run, in files: inputs, outputs and the values of a block.
#ifndef RULES_ONNX_EXPORTER_TORCH_VALUE_WRITER_H_
#define RULES_ONNX_EXPORTER_TORCH_VALUE_WRITER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "exporter/ir/graph.h"
#include "exporter/torch/reference/evaluator.h"
#include "exporter/torch/values/flatten.h"

namespace rules_onnx::torch_command {

// Writes `folder`/`kind`_0.pb, `kind`_1.pb, ….
absl::Status WriteTensors(const std::string& folder, const std::string& kind,
                          const std::vector<torch_values::NamedTensor>& tensors);

// "5:2/14:3", as in RunFlags::values_of.
absl::StatusOr<reference::Place> ParsePlace(const std::string& text);

// Writes the values of one block as RunFlags::values_dir and values_of say; the first failure counts.
class ValueWriter {
 public:
  ValueWriter(reference::Place from, std::string folder);

  // For an Observer: throws to end the run when enough is written.
  void Write(const reference::Place& place, const ir::Value& value, const c10::IValue& what);

  bool has_ended_run() const { return has_ended_run_; }
  const absl::Status& status() const { return status_; }

 private:
  bool IsWanted(const reference::Place& place) const;

  const reference::Place from_;
  const std::string folder_;
  int64_t last_iteration_ = -1;
  size_t bytes_ = 0;
  bool has_ended_run_ = false;
  absl::Status status_;
};

}  // namespace rules_onnx::torch_command

#endif  // RULES_ONNX_EXPORTER_TORCH_VALUE_WRITER_H_
