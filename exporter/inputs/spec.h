// Example inputs written inline: "x:float32[N=10,3,224,224]".
//
//   spec    = [ name ":" ] value
//   value   = tensor | scalar | "None"
//   tensor  = dtype "[" [ axis { "," axis } ] "]" [ "=" range ]
//   axis    = size | symbol "=" size [ "|" second ]
//   range   = number [ ".." number ]                 both ends belong to it; one number: all equal
//   scalar  = "int" "=" integer | "float" "=" decimal | "bool" "=" ( "true" | "false" )
//           | "str" "=" text
//   name    = letter { letter | digit | "." }        "_" is a letter
//   symbol  = letter { letter | digit }
//   dtype   = float32, int64, bool, …: PyTorch's names; none of the quantized ones
//   size, second = decimal digits
//
//   x:float32[N=10,3,224,224]     a dynamic axis N, 10 long in the example
//   x:float32[N=10|7,3]           and the program is run with 7 of them too
//   ids:int64[N=2,S=16]=0..99     integers from 0 to 99
//   mask:bool[N=2,S=16]           n:int=3           None
//
// Spaces may stand between all parts. Without a range floats lie in -1..1 and integers in 0..9; a
// bool tensor takes no range. Values come from a fixed seed (generate.h).
#ifndef RULES_ONNX_EXPORTER_INPUTS_SPEC_H_
#define RULES_ONNX_EXPORTER_INPUTS_SPEC_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/inputs/input.h"

namespace rules_onnx::inputs {

// `position` is the input's place among all inputs; its values depend on it. Errors name the spec
// and the place in it.
absl::StatusOr<Argument> ParseSpec(absl::string_view text, uint64_t position);

// A name for a dynamic axis: the symbol of the grammar, and none of the functions of ir::Dim.
bool IsSymbolName(absl::string_view name);

// The name itself where it is one, else one like it: "batch-size" → "batch_size", "0" → "axis_0".
std::string AsSymbolName(absl::string_view name);

}  // namespace rules_onnx::inputs

#endif  // RULES_ONNX_EXPORTER_INPUTS_SPEC_H_
