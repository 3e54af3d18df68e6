// Joins the types of a model with those that ONNX infers for it. Internal to exporter/onnx.
#ifndef RULES_ONNX_EXPORTER_ONNX_MERGE_TYPES_H_
#define RULES_ONNX_EXPORTER_ONNX_MERGE_TYPES_H_

#include <string>
#include <vector>

#include "onnx/onnx_pb.h"

namespace rules_onnx::onnx_format {

struct TypeConflict {
  std::string value;
  std::string node;     // the one that makes it; empty for an input
  std::string message;  // "axis 0 is N, but ONNX infers 2"
};

// Dims that `model` names by a symbol and `inferred`, a copy of it after inference, as a number.
std::vector<TypeConflict> FindConflicts(const onnx::GraphProto& model,
                                        const onnx::GraphProto& inferred);

// Adds to `model` what only `inferred` knows. Symbols that inference made up are left out; after
// this, value_info is in the order of the nodes.
void FillTypes(const onnx::GraphProto& inferred, onnx::GraphProto* model);

}  // namespace rules_onnx::onnx_format

#endif  // RULES_ONNX_EXPORTER_ONNX_MERGE_TYPES_H_
