// Example inputs of a program: values of any nesting, with the names of dynamic axes.
#ifndef RULES_ONNX_EXPORTER_INPUTS_INPUT_H_
#define RULES_ONNX_EXPORTER_INPUTS_INPUT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "exporter/ir/dtype.h"

namespace rules_onnx::inputs {

struct Axis {
  int64_t size = 0;
  std::string symbol;             // empty: a static axis
  std::optional<int64_t> second;  // the second size to run at, if the user names one
};

// Of PyTorch's quantized types, per tensor.
struct Quantization {
  double scale = 1;
  int64_t zero_point = 0;
};

struct Tensor {
  ir::DType dtype = ir::DType::kUndefined;
  std::vector<Axis> axes;
  std::string bytes;  // contiguous, row-major, little endian
  std::optional<Quantization> quantization;

  std::vector<int64_t> shape() const;
};

// One value as PyTorch passes it.
struct Value {
  enum class Kind { kNone, kTensor, kInt, kFloat, kBool, kString, kTuple, kList, kDict };

  Kind kind = Kind::kNone;
  Tensor tensor;
  int64_t integer = 0;  // kInt
  double number = 0;    // kFloat
  bool boolean = false;
  std::string text;
  std::vector<Value> elements;  // of a tuple or list; a dict's values
  std::vector<Value> keys;      // of a dict, beside elements: strings or integers

  bool is_container() const {
    return kind == Kind::kTuple || kind == Kind::kList || kind == Kind::kDict;
  }
  static Value None() { return Value(); }
  static Value OfTensor(Tensor tensor);
  static Value Int(int64_t integer);
  static Value Float(double number);
  static Value Bool(bool boolean);
  static Value String(std::string text);
  static Value Tuple(std::vector<Value> elements);
  static Value List(std::vector<Value> elements);
};

struct Argument {
  // What to call the input; may be empty.
  std::string name;
  // True: a keyword argument, for the parameter of that name. False: for the next parameter.
  bool by_name = false;
  Value value;
};

struct Inputs {
  std::vector<Argument> arguments;  // positional ones first
};

// A value that is no container, and the path to it: the argument's name, or its position where it
// has none, then a list's positions and a dict's keys: "x", "0", "state.0.h".
struct Leaf {
  std::string path;
  const Value* value = nullptr;
};

// All leaves in the order in which they become graph inputs: arguments, then elements, in order.
std::vector<Leaf> Leaves(const Inputs& inputs);
// Only the tensors among them.
std::vector<Leaf> TensorLeaves(const Inputs& inputs);
// The tensors of TensorLeaves, to be changed.
std::vector<Tensor*> MutableTensors(Inputs* inputs);

// A `torch.save`d tuple: each element is a positional argument. Any other value is the only one.
Inputs FromArguments(Value arguments);

// torch.onnx's rule for a dict that comes last: its entries are keyword arguments, and an empty
// one only says that there are none. Nothing changes if the last argument is no dict with strings
// for keys. A caller that knows the last parameter to be a dict must not apply the rule.
void SplitLastDict(Inputs* inputs);

// Bytes of a tensor; an error for negative sizes and for more than an example input can have
// (16 GiB).
absl::StatusOr<uint64_t> TensorBytes(ir::DType dtype, absl::Span<const int64_t> shape);

// The sizes of one dynamic axis.
struct SymbolSizes {
  int64_t example = 0;
  std::optional<int64_t> second;
};

// All symbols of the inputs. An error where a symbol has two example sizes or two second sizes.
absl::StatusOr<std::map<std::string, SymbolSizes>> CollectSymbols(const Inputs& inputs);

// The same inputs with the axes of the given symbols at other sizes: values are repeated or cropped
// along the axis (entry i is the old entry i mod old size), so that indices stay valid. An axis of
// size 0 grows by zeros.
Inputs WithSizes(const Inputs& inputs, const std::map<std::string, int64_t>& sizes);

// The same inputs with those sizes, their tensors without bytes.
Inputs WithSizesAlone(Inputs inputs, const std::map<std::string, int64_t>& sizes);

}  // namespace rules_onnx::inputs

#endif  // RULES_ONNX_EXPORTER_INPUTS_INPUT_H_
