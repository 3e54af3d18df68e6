// The sizes at which a model is verified.
#ifndef RULES_ONNX_EXPORTER_VERIFY_CASES_H_
#define RULES_ONNX_EXPORTER_VERIFY_CASES_H_

#include <map>
#include <string>
#include <vector>

#include "exporter/inputs/coupled_sizes.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::verify {

using inputs::Sizes;

// One run of the program: `choices` in the order in which they are tried, as a program may take
// only some sizes. The first is empty for the example sizes.
struct Case {
  std::string name;  // "example", "N", "all", "smaller"
  std::vector<Sizes> choices;
  bool required = true;  // an error if the program runs at none of the choices; else left out
};

// What was run, for a table: "example", "N=11", "H=33 N=13".
std::string Label(const Sizes& sizes);

// The example sizes; each dynamic axis at another size, alone or, where the program does not take
// that, together with the axes of its size, or with one other axis by the same amount (the length of
// a cache and that of a mask over it) or in proportion, both doubled. Symbols that come from values
// have no size to choose.
std::vector<Case> ChooseCases(const std::map<std::string, ir::SymbolInfo>& symbols);

// With several axes, all of them at other sizes at once, moved by different odd amounts, those
// together that had to move together in `found`, the sizes that ChooseCases' cases ran at; all of
// them at smaller sizes, where what is frozen at a large size shows (x[:4]).
std::vector<Case> ChooseJointCases(const std::map<std::string, ir::SymbolInfo>& symbols,
                                   const std::vector<Sizes>& found);

}  // namespace rules_onnx::verify

#endif  // RULES_ONNX_EXPORTER_VERIFY_CASES_H_
