// Changes of a program's form that leave what it computes, for values of a changing type, which neither
// If nor Loop of ONNX can give.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_RESTRUCTURE_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_RESTRUCTURE_H_

#include <torch/csrc/jit/ir/ir.h>

namespace rules_onnx::script {

// Copies what follows a branch and depends on its results to the end of both of its blocks, so that in
// each of them every value has one type. Where nothing follows, the branch around is taken. False
// where none has anything to follow it: the results are those of a loop's body or of the program.
bool SinkRest(torch::jit::Node* branch);

// Puts the first iteration of a loop before it, in a branch for its not being reached.
void PeelIteration(torch::jit::Node* loop);

// Nodes of a graph, those in blocks included.
int64_t CountNodes(const torch::jit::Block* block);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_RESTRUCTURE_H_
