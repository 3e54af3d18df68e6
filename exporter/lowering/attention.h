// Scaled dot-product attention, for other families to build on.
#ifndef RULES_ONNX_EXPORTER_LOWERING_ATTENTION_H_
#define RULES_ONNX_EXPORTER_LOWERING_ATTENTION_H_

#include <optional>

#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

struct Attention {
  Val query, key, value;   // [..., length, width]
  Val mask;                // may be null; bool: true takes part; otherwise added to the scores
  bool causal = false;
  std::optional<double> scale;
  double dropout = 0;      // of weights, with this probability
  bool grouped = false;    // key and value have fewer heads, each serving several of the query's
};

struct Attended {
  Val output, weights;     // [..., length, width], [..., length, keys]
};

// Written out.
Attended Attend(Builder& b, Attention attention);
// The output only: one node where ONNX has it.
Val AttentionOf(Builder& b, const Attention& attention);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_ATTENTION_H_
