// Packed sequences: the steps of several sequences, longest first, without padding.
//
// PyTorch keeps them as `data` [Σ lengths, features…] in time-major order and `batch_sizes`, the
// number of sequences that reach each step. Both are real tensors in the graph, so that whatever a
// program does to `data` stays right; recurrent operators unpack, run, and pack again.
#ifndef RULES_ONNX_EXPORTER_LOWERING_PACKED_H_
#define RULES_ONNX_EXPORTER_LOWERING_PACKED_H_

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

struct Packing {
  Val steps, sequences;  // 0-d: T and B
  Val lengths;           // [B] int64
  Val positions;         // [Σ lengths, 2]: (t, b) of each row of the data
};

Packing FromBatchSizes(Builder& b, Val batch_sizes);
Packing FromLengths(Builder& b, Val lengths);

Val Unpack(Builder& b, const Packing& packing, Val data, Val padding);  // [T, B, features…]
Val Pack(Builder& b, const Packing& packing, Val padded);
Val BatchSizes(Builder& b, const Packing& packing);                     // [T] int64

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_PACKED_H_
