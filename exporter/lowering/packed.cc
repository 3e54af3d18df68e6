#include "exporter/lowering/packed.h"

#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {
namespace {

Val Steps(Builder& b, Val count) { return b.Range(b.Int(0), count, b.Int(1)); }

// [T, B]: sequence b reaches step t.
Val Reached(Builder& b, const Packing& packing) {
  return b.Less(b.Unsqueeze(Steps(b, packing.steps), {1}), packing.lengths);
}

Packing WithPositions(Builder& b, Packing packing) {
  packing.positions = b.Transpose(b.NonZero(Reached(b, packing)), {1, 0});
  return packing;
}

void PackPadded(Op& op) {
  Builder& b = op.b;
  Val padded = op.Tensor("input");
  if (op.Bool("batch_first")) padded = b.SwapAxes(padded, 0, 1);
  const Packing packing = FromLengths(b, op.Tensor("lengths", DType::kInt64));
  op.Return(Vals{Pack(b, packing, padded), BatchSizes(b, packing)});
}

void PadPacked(Op& op) {
  Builder& b = op.b;
  const Val data = op.Tensor("data");
  const Packing packing = FromBatchSizes(b, op.Tensor("batch_sizes"));
  const Val fill = op.Scalar("padding_value", data.dtype());
  Val padded = Unpack(b, packing, data, fill);
  const auto total = op.KnownInt("total_length");
  if (!total || *total > 0) {
    Vals pads(2 * data.rank() + 2, b.Int(0));
    pads[data.rank() + 1] = b.Sub(op.IntVal("total_length"), packing.steps);
    padded = b.Pad(padded, b.Vector(pads), "constant", fill);
  }
  if (op.Bool("batch_first")) padded = b.SwapAxes(padded, 0, 1);
  op.Return(Vals{padded, packing.lengths});
}

}  // namespace

Packing FromBatchSizes(Builder& b, Val batch_sizes) {
  if (!batch_sizes || b.failed()) return {};
  Packing packing;
  packing.steps = b.Size(batch_sizes, 0);
  packing.sequences = b.Gather(batch_sizes, b.Int(0), 0);
  const Val sequence = Steps(b, packing.sequences);
  const Val reached = b.Less(sequence, b.Unsqueeze(batch_sizes, {1}));
  packing.lengths = b.Reduce("ReduceSum", b.Cast(reached, DType::kInt64), {0}, false);
  return WithPositions(b, packing);
}

Packing FromLengths(Builder& b, Val lengths) {
  if (!lengths || b.failed()) return {};
  Packing packing;
  packing.steps = b.Reduce("ReduceMax", lengths, {0}, false);
  packing.sequences = b.Size(lengths, 0);
  packing.lengths = lengths;
  return WithPositions(b, packing);
}

Val Unpack(Builder& b, const Packing& packing, Val data, Val padding) {
  if (!data || !packing.positions || b.failed()) return {};
  Vals sizes = {packing.steps, packing.sequences};
  for (int i = 1; i < data.rank(); ++i) sizes.push_back(b.Size(data, i));
  const Val empty = b.Expand(padding, b.Vector(sizes));
  return b.Op("ScatterND", {empty, packing.positions, data});
}

Val Pack(Builder& b, const Packing& packing, Val padded) {
  if (!padded || !packing.positions || b.failed()) return {};
  Shape shape(padded.rank() - 1);
  return b.Op("GatherND", {padded, packing.positions}, {}, {padded.dtype(), shape});
}

Val BatchSizes(Builder& b, const Packing& packing) {
  return b.Reduce("ReduceSum", b.Cast(Reached(b, packing), DType::kInt64), {1}, false);
}

extern const Family kPacked;
const Family kPacked = {"packed", {
    {"aten::_pack_padded_sequence", PackPadded, 11},
    {"aten::_pad_packed_sequence", PadPacked, 11},
}};

}  // namespace rules_onnx::lowering
