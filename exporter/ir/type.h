// Types of values in the captured graph.
#ifndef RULES_ONNX_EXPORTER_IR_TYPE_H_
#define RULES_ONNX_EXPORTER_IR_TYPE_H_

#include <optional>
#include <string>
#include <vector>

#include "exporter/ir/dim.h"
#include "exporter/ir/dtype.h"

namespace rules_onnx::ir {

// What a value can be. Integers, floats and bools that the program computes with (`x.size(0)`,
// `.item()`) are scalars, not tensors; lowering carries them as 0-d tensors.
struct Type {
  enum class Kind {
    kUnknown,   // never seen at run time (an untaken branch that threw)
    kTensor,
    kInt,       // int and SymInt
    kFloat,
    kBool,
    kComplex,
    kString,
    kNone,
    kList,      // elements[0]: the element's type
    kTuple,     // elements: one per field; field_names for a NamedTuple
    kDict,      // elements[0], [1]: key and value
    kOptional,  // elements[0]; only where both None and a value occur
    kObject,    // an instance of a script class, `class_name`
  };

  Kind kind = Kind::kUnknown;
  DType dtype = DType::kUndefined;  // kTensor only
  std::optional<Shape> shape = std::nullopt;  // kTensor only; nullopt: rank unknown
  std::vector<Type> elements = {};
  std::vector<std::string> field_names = {};
  std::string class_name = {};

  static Type Tensor(DType dtype, std::optional<Shape> shape);
  static Type Scalar(Kind kind) { return Type{.kind = kind}; }
  static Type List(Type element);
  static Type Tuple(std::vector<Type> elements);

  bool is_tensor() const { return kind == Kind::kTensor; }
  // An int, float or bool.
  bool is_number() const {
    return kind == Kind::kInt || kind == Kind::kFloat || kind == Kind::kBool;
  }
  bool is_list() const { return kind == Kind::kList; }

  // The dtype that a scalar has as a 0-d tensor (int64, float64, bool), a tensor's own otherwise.
  DType TensorDType() const;

  // "float32[N, 3]", "int", "(float32[2], int)", "list[float32[?]]".
  std::string ToString() const;
};

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_TYPE_H_
