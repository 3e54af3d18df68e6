// Lists whose length is known at run time only: ONNX sequences (opset 11 and later).
#ifndef RULES_ONNX_EXPORTER_LOWERING_SEQUENCE_H_
#define RULES_ONNX_EXPORTER_LOWERING_SEQUENCE_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// A list as a sequence. `type` is the captured list type: it gives the element type of an empty
// list. A failure for lists of lists and of values that no tensor carries.
Val AsSequence(Builder& b, const Item& list, const ir::Type& type);

// The element at a 0-d index, from the end if negative; `element` is its captured type.
Val SequenceAt(Builder& b, Val sequence, Val index, const ir::Type& element);
Val SequenceLength(Builder& b, Val sequence);  // 0-d int64
// Pieces of that size (a 0-d integer) along an axis, the last one smaller; where `size` is null,
// single slices without the axis.
Val SplitToSequence(Builder& b, Val x, Val size, int axis);
// All elements joined along an axis, or stacked along a new one.
Val ConcatSequence(Builder& b, Val sequence, int axis, bool new_axis);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_SEQUENCE_H_
