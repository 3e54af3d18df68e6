// Changes of a program's form that leave what it computes: for values of a changing type, which neither
// If nor Loop of ONNX can give, and for arguments that operators of ONNX take as attributes.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_RESTRUCTURE_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_RESTRUCTURE_H_

#include <torch/csrc/jit/ir/ir.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace rules_onnx::script {

// An argument that an operator needs to be known and that the run decides: an axis or a truth value.
struct UndecidedArgument {
  size_t input = 0;
  std::optional<size_t> item;     // of a list of ints: which of them
  size_t length = 0;              // of that list
  int64_t axes = 0;               // how many there are to choose from; 0: it is a truth value
  std::vector<int64_t> possible;  // axes, or 1 and 0; the last one where it is none of the others
};

// What keeps a program from having a graph: a branch or loop whose results change their type, or an
// operator with such an argument.
struct FormChange {
  const torch::jit::Node* node = nullptr;
  std::optional<UndecidedArgument> argument;
};

// Copies what follows a branch and depends on its results to the end of both of its blocks, so that in
// each of them every value has one type. Where nothing follows, the branch around is taken. False
// where none has anything to follow it: the results are those of a loop's body or of the program.
bool SinkRest(torch::jit::Node* branch);

// Puts the first iteration of a loop before it, in a branch for its not being reached.
void PeelIteration(torch::jit::Node* loop);

// Puts the operator into branches, one for each that the argument may be.
void ChooseArgument(torch::jit::Node* node, const UndecidedArgument& argument);

// Nodes of a graph, those in blocks included.
int64_t CountNodes(const torch::jit::Block* block);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_RESTRUCTURE_H_
