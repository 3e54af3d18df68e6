// From a captured graph to an ONNX model at one opset.
#ifndef RULES_ONNX_EXPORTER_LOWERING_LOWER_H_
#define RULES_ONNX_EXPORTER_LOWERING_LOWER_H_

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "exporter/builder/model.h"
#include "exporter/builder/op_schemas.h"
#include "exporter/diagnostics/diagnostics.h"
#include "exporter/ir/graph.h"
#include "exporter/ir/serialize.h"
#include "exporter/lowering/foreign.h"
#include "exporter/lowering/lowered_values.h"

namespace rules_onnx::lowering {

inline constexpr int kMinOpset = 9;
inline constexpr int kMaxOpset = 28;

// A lowering from outside of this program: of a plugin or a mapping file. It comes before the
// built-in one for the opsets from `since_opset` on; of several, that with the highest one that
// applies, and of equal ones the last.
struct UserLowering {
  std::string op;            // "mylib::twice", every overload, or "mylib::twice.Tensor"
  int since_opset = kMinOpset;
  std::function<void(Op&)> function;
};

struct LowerOptions {
  int opset = 18;
  std::vector<std::string> output_names;     // names of the first outputs
  bool export_params = true;                 // false: weights are inputs without values
  bool keep_initializers_as_inputs = false;
  const ir::DebugInfo* debug = nullptr;      // source lines for messages
  ExportType export_type = ExportType::kOnnx;
  std::map<std::string, int> custom_opsets;  // versions of other domains than ONNX's; default: 1
  std::vector<UserLowering> user_lowerings;
};

// Lowers every node. Operators that can't be lowered are all reported in `diagnostics`, and the
// status then is an error; a graph that lowers gives a model without unused nodes. `values`, if
// given, gets what became of each value.
absl::StatusOr<builder::Model> LowerGraph(const ir::Graph& graph, const LowerOptions& options,
                                          const builder::OpSchemas& schemas,
                                          diagnostics::Diagnostics* diagnostics,
                                          LoweredValues* values = nullptr);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_LOWER_H_
