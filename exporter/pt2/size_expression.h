// Sizes as `.pt2` files write them: the text of a sympy expression, its srepr or, before torch 2.7,
// its str.
//
//   expression = product { ( "+" | "-" ) product }
//   product    = factor { ( "*" | "/" | "//" | "%" ) factor }
//   factor     = "-" factor | primary [ "**" factor ]
//   primary    = "(" expression ")" | integer | string | symbol
//              | name "(" [ argument { "," argument } ] ")"
//   argument   = expression | name "=" name
//
// e.g. Add(FloorDiv(Symbol('s53', positive=True, integer=True), Integer(2)), Integer(1)), or
// (s53//2) + 1. A symbol is letters and a number.
// Names are sympy's (Add, Mul, Pow, Mod, Max, Min, Integer, Rational, Symbol) and those of
// torch.utils._sympy.functions (FloorDiv, CleanDiv, PythonMod, CeilToInt, …).
#ifndef RULES_ONNX_EXPORTER_PT2_SIZE_EXPRESSION_H_
#define RULES_ONNX_EXPORTER_PT2_SIZE_EXPRESSION_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/dim.h"

namespace rules_onnx::pt2 {

// The dim that the text stands for; unknown where the expression uses a function that dims do not
// have. An error where the text is not of the grammar above.
absl::StatusOr<ir::Dim> ParseSizeExpression(absl::string_view text);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_SIZE_EXPRESSION_H_
