// Higher-order operators: operators whose arguments hold graphs.
//
//   cond(pred, true graph, false graph, operands)       prim::If
//   while_loop(cond graph, body graph, carried, extra)  prim::Loop
//   scan(graph, init, xs, extra), map_impl(graph, xs, extra)
//                                                       prim::Scan, see ir/graph.h
//   wrap_with_set_grad_enabled, wrap_with_autocast, strict_mode, invoke_subgraph, wrap,
//   tag_activation_checkpoint                           their graph, inlined
//
// A graph's inputs are the operands: blocks use values from outside and have no params for them.
#ifndef RULES_ONNX_EXPORTER_PT2_HIGHER_ORDER_H_
#define RULES_ONNX_EXPORTER_PT2_HIGHER_ORDER_H_

#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/graph.h"
#include "exporter/pt2/format.h"

namespace rules_onnx::pt2 {

class Importer;

struct HigherOrderCall {
  std::vector<ir::Arg> args;  // None in the places of graphs
  std::vector<std::shared_ptr<const GraphDef>> graphs;
  std::vector<ir::Type> types;  // of the results, flattened
  std::vector<std::string> names;
};

// The results of calling `op` ("cond"), flattened.
absl::StatusOr<std::vector<ir::Arg>> ImportHigherOrderCall(absl::string_view op,
                                                           const HigherOrderCall& call,
                                                           Importer* importer);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_HIGHER_ORDER_H_
