// Building and reading small constant tensors.
#ifndef RULES_ONNX_EXPORTER_BUILDER_LITERAL_H_
#define RULES_ONNX_EXPORTER_BUILDER_LITERAL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "exporter/ir/graph.h"

namespace rules_onnx::builder {

using LiteralPtr = std::shared_ptr<const ir::TensorLiteral>;

int64_t NumElements(const std::vector<int64_t>& shape);

// Integer, bool and float types; floats are rounded to nearest even, integers wrap.
LiteralPtr IntLiteral(const std::vector<int64_t>& values, std::vector<int64_t> shape,
                      ir::DType dtype);
LiteralPtr FloatLiteral(const std::vector<double>& values, std::vector<int64_t> shape,
                        ir::DType dtype);

// Elements of an integer or bool literal; nullopt for other types.
std::optional<std::vector<int64_t>> LiteralInts(const ir::TensorLiteral& literal);
// Elements of any integer, bool, float16, bfloat16, float32 or float64 literal.
std::optional<std::vector<double>> LiteralFloats(const ir::TensorLiteral& literal);

}  // namespace rules_onnx::builder

#endif  // RULES_ONNX_EXPORTER_BUILDER_LITERAL_H_
