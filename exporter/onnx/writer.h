// Writes a model as .onnx, with its weights in one of four layouts.
//
//   none        all in the .onnx file; at most 2 GB, which is protobuf's limit
//   single      x.onnx and x.onnx.data
//   per_tensor  x.onnx and the folder x.onnx.data, a file a tensor
//   shared      x.onnx, which points into the weights file that capture wrote
//
// External are tensors of 1 kB and more; in layout shared all but empty ones, as the weights file
// is not read then. Weights are copied from file to file and never held in memory. Constants that
// lowering made are always in the .onnx file. Equal models give equal bytes.
#ifndef RULES_ONNX_EXPORTER_ONNX_WRITER_H_
#define RULES_ONNX_EXPORTER_ONNX_WRITER_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "exporter/builder/model.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::onnx_format {

enum class ExternalData { kNone, kSingle, kPerTensor, kShared };

// "none", "single", "per_tensor", "shared".
std::optional<ExternalData> ParseExternalData(absl::string_view name);

// An error unless the name is a path below the model's folder: relative, without "..".
absl::Status CheckWeightsName(const std::string& name);

struct WriteOptions {
  ExternalData external_data = ExternalData::kNone;
  // x.weights. In layout shared it may be empty; if given, only its size is looked at.
  std::string weights_path;
  // Layout shared: the weights file's name, relative to the model's folder, without "..".
  std::string weights_name;
  bool check = true;                           // ONNX's checker and full inference
  std::map<std::string, std::string> metadata;
  std::map<int32_t, std::string> doc_strings;  // of nodes, by builder::Node::source
  std::map<int32_t, std::string> sources;      // for messages, by builder::Node::source
};

// Files of a failed call do not appear; data of an earlier run is replaced by the new one.
// Errors: the model does not pass the check (see check.h); a weight lies outside its file; the
// model is too large for layout none; a file cannot be written.
absl::Status WriteModel(const builder::Model& model, const std::vector<ir::Weight>& weights,
                        const WriteOptions& options, const std::string& output);

}  // namespace rules_onnx::onnx_format

#endif  // RULES_ONNX_EXPORTER_ONNX_WRITER_H_
