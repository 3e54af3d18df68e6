// Loops that a lowering needs for itself.
#ifndef RULES_ONNX_EXPORTER_LOWERING_LOOP_H_
#define RULES_ONNX_EXPORTER_LOWERING_LOOP_H_

#include <functional>

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// What one run of a loop's body gives: the next carried values, and whether to go on (null: yes).
struct LoopStep {
  Vals carried;
  Val go_on;
};

// ONNX's Loop: `body` gets the iteration number (0-d int64) and the carried values. Runs `count`
// times (0-d int64; null: no limit), while `first` and each step's `go_on` hold (null: always).
// Carried values keep dtype and shape.
Vals Repeat(Builder& b, Val count, Val first, const Vals& initial,
            const std::function<LoopStep(Val iteration, const Vals& carried)>& body);

// Runs `combine(so far, next)` along the axis from the first element on; all the results, shaped
// like x (rank ≥ 1). ONNX's Scan.
Val Accumulate(Builder& b, Val x, int axis,
               const std::function<Val(Val so_far, Val next)>& combine);

// True if any element is: 0-d bool.
Val Any(Builder& b, Val mask);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_LOOP_H_
