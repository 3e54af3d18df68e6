// Parts of `.pt2` JSON that both model.json and the payload configs hold.
#ifndef RULES_ONNX_EXPORTER_PT2_DECODE_ARGUMENT_H_
#define RULES_ONNX_EXPORTER_PT2_DECODE_ARGUMENT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "exporter/ir/dim.h"
#include "exporter/pt2/format.h"
#include "exporter/json/json.h"

namespace rules_onnx::pt2 {

// The file's own numbering of dtypes, which is not that of c10.
ir::DType DecodeDType(const json::Json& json);

// Decodes arguments and types of one document; keeps the hints of its sizes.
class Decoder {
 public:
  Argument DecodeArgument(const json::Json& json);
  GraphDef DecodeGraph(const json::Json& json);
  std::vector<std::pair<ir::Dim, int64_t>> TakeHints() { return std::move(hints_); }

 private:
  ir::Dim DecodeExpression(const json::Json& json);
  ir::Dim DecodeSize(const json::Json& json);
  ir::Type DecodeTensorType(const json::Json& json);
  NodeDef DecodeNode(const json::Json& json);
  void DecodeValues(const json::Json& graph, GraphDef* out);
  std::vector<Argument> DecodeArguments(const json::Json& json);

  absl::flat_hash_map<std::string, ir::Dim> expressions_;
  std::vector<std::pair<ir::Dim, int64_t>> hints_;
};

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_DECODE_ARGUMENT_H_
