// What the search for a first difference must know of a program and its model.
#ifndef RULES_ONNX_EXPORTER_CLI_SEARCH_PLAN_H_
#define RULES_ONNX_EXPORTER_CLI_SEARCH_PLAN_H_

#include <string>
#include <vector>

#include "exporter/builder/model.h"
#include "exporter/cli/lower_stage.h"
#include "exporter/lowering/lowered_values.h"

namespace rules_onnx::cli {

// JSON:
//   {"command": [program, argument, …], "blocks": {"": [step, …], "12": [step, …], …}}
// `command` runs the captured graph in LibTorch. The steps of "" are those of the main block, those
// of "12" of all inner blocks of node 12. A step is a value that a node of the block gives, or a
// parameter of the block, in order:
//   {"node": 12        that gives it; of a parameter the node that the block belongs to
//    "value": 34
//    "op", "scope", "location"                 of the node
//    "nodes": ["/Loop", …]                     the ONNX nodes that the node has become
//    "parts": [["/Add", 0] | "carried" | null] the ONNX values that the value has become: output of
//                                              a node; input of an inner graph; what else there is.
//                                              None where no plain tensors carry it
//    "is_list": false}                         the one part is a list of unknown length
// Values that no plain tensors carry have a step only where their node has inner blocks.
std::string SearchPlan(const Captured& captured, const builder::Model& model,
                       const lowering::LoweredValues& values,
                       const std::vector<std::string>& command);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_SEARCH_PLAN_H_
