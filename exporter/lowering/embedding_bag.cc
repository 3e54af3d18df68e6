// embedding_bag: rows of a table summed, averaged or maximized over bags of indices.
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

enum Mode { kSum = 0, kMean = 1, kMax = 2 };

struct Bags {
  Val rows;     // [n, D], one for each index, weighted
  Val bag;      // [n] int64: the bag of each index
  Val counted;  // [n] bool: false for the padding index; null where there is none
  Val count;    // 0-d: the number of bags
};

// How many offsets are at or before each of n positions, less one.
Val BagOfEach(Builder& b, Val offsets, Val n) {
  if (b.opset() < 16) {
    const Val begun = b.LessOrEqual(b.Unsqueeze(offsets, {0}), b.Unsqueeze(Iota(b, n), {1}));
    const Val number = b.Reduce("ReduceSum", b.Cast(begun, DType::kInt64), {1}, false);
    return b.Sub(number, b.Int(1));
  }
  // Bags at the end may be empty: their offset is n.
  const Val none = Filled(b, b.Vector({b.Add(n, b.Int(1))}), b.Int(0));
  const Val ones = Filled(b, b.ShapeOf(offsets), b.Int(1));
  const Val begun = b.CumSum(ScatterAlong(b, none, 0, offsets, ones, "add"), 0);
  return b.Sub(b.Slice(begun, 0, b.Int(0), n), b.Int(1));
}

// The padding index in [0, rows of the table); null where there is none.
Val Padding(Op& op, Val table) {
  const auto given = op.Has("padding_idx") ? op.OptInt("padding_idx") : std::nullopt;
  const bool wraps = op.node.op == "aten::embedding_bag.padding_idx";
  if (!given || (*given < 0 && !wraps)) return {};
  return NonNegative(op.b, op.b.Int(*given), op.b.Size(table, 0));
}

Bags BagsOf(Op& op) {
  Builder& b = op.b;
  Bags bags;
  const Val table = op.Tensor("weight");
  const Val indices = op.Tensor("indices", DType::kInt64);
  Val offsets = op.Tensor("offsets", DType::kInt64);
  if (!table || !indices || !offsets) return bags;
  if (op.Bool("include_last_offset")) offsets = b.Slice(offsets, 0, b.Int(0), b.Int(-1));
  bags.count = b.Size(offsets, 0);
  bags.bag = BagOfEach(b, offsets, b.Size(indices, 0));
  bags.rows = b.Gather(table, indices, 0);
  if (op.Has("per_sample_weights")) {
    const Val weights = op.Tensor("per_sample_weights", table.dtype());
    bags.rows = b.Mul(bags.rows, b.Unsqueeze(weights, {1}));
  }
  if (const Val padding = Padding(op, table)) bags.counted = b.Not(b.Equal(indices, padding));
  return bags;
}

// Which index is counted in which bag: [bags, n].
Val Membership(Builder& b, const Bags& bags) {
  const Val member = b.Equal(b.Unsqueeze(Iota(b, bags.count), {1}), b.Unsqueeze(bags.bag, {0}));
  return bags.counted ? b.And(member, b.Unsqueeze(bags.counted, {0})) : member;
}

// Rows where they are members, `other` where not: [bags, n, D].
Val MemberRows(Builder& b, const Bags& bags, Val other) {
  return b.Where(b.Unsqueeze(Membership(b, bags), {2}), b.Unsqueeze(bags.rows, {0}), other);
}

// Scattered into one bag more, which takes what is not counted.
Val Scattered(Builder& b, const Bags& bags, Val start, absl::string_view reduction) {
  const Val place = bags.counted ? b.Where(bags.counted, bags.bag, bags.count) : bags.bag;
  const Val more = b.Add(bags.count, b.Int(1));
  const Val base = Filled(b, b.Vector({more, b.Size(bags.rows, 1)}), start);
  const Val all = ScatterSlices(b, base, 0, place, bags.rows, reduction);
  return b.Slice(all, 0, b.Int(0), bags.count);
}

Val Summed(Builder& b, const Bags& bags) {
  const Val zero = b.ScalarInt(0, bags.rows.dtype());
  if (b.opset() >= 16) return Scattered(b, bags, zero, "add");
  return b.Reduce("ReduceSum", MemberRows(b, bags, zero), {1}, false);
}

// Zero for an empty bag.
Val Largest(Builder& b, const Bags& bags, Val sizes) {
  const DType dtype = bags.rows.dtype();
  const Val lowest = Lowest(b, dtype);
  const Val largest = b.opset() >= 18
                          ? Scattered(b, bags, lowest, "max")
                          : b.Reduce("ReduceMax", MemberRows(b, bags, lowest), {1}, false);
  const Val empty = b.Equal(b.Unsqueeze(sizes, {1}), b.Int(0));
  return b.Where(empty, b.ScalarInt(0, dtype), largest);
}

// The index that gave each maximum; 0 for an empty bag.
Val LargestIndices(Op& op, const Bags& bags, Val sizes) {
  Builder& b = op.b;
  const Val place = b.ArgMax(MemberRows(b, bags, Lowest(b, bags.rows.dtype())), 1, false);
  const Val indices = b.Gather(op.Tensor("indices", DType::kInt64), place, 0);
  return b.Where(b.Equal(b.Unsqueeze(sizes, {1}), b.Int(0)), b.Int(0), indices);
}

// Outputs: the bags, the bag of each index, the sizes of bags, the indices of maxima.
void EmbeddingBag(Op& op) {
  Builder& b = op.b;
  const Bags bags = BagsOf(op);
  if (!bags.rows) return;
  const int64_t mode = op.Int("mode");
  const Val members = b.Cast(Membership(b, bags), DType::kInt64);
  const Val sizes = b.Reduce("ReduceSum", members, {1}, false);
  if (mode == kMax) {
    return op.Return(Vals{Largest(b, bags, sizes), bags.bag, sizes,
                          LargestIndices(op, bags, sizes)});
  }
  const Val sum = Summed(b, bags);
  if (mode == kMean) {
    const Val divisor = b.Cast(b.Max(sizes, b.Int(1)), sum.dtype());
    return op.Return(Vals{b.Div(sum, b.Unsqueeze(divisor, {1})), bags.bag, sizes, sizes});
  }
  // PyTorch leaves out what a plain sum does not need.
  const std::optional<Shape>& kept = op.OutShape(1);
  const bool plain = kept && kept->size() == 1 && (*kept)[0].Equals(Dim(0));
  const Val none = Filled(b, b.Vector({bags.count}), b.Int(0));
  op.Return(Vals{sum, plain ? b.Ints({}) : bags.bag, none, none});
}

}  // namespace

extern const Family kEmbeddingBag;
const Family kEmbeddingBag = {"embedding_bag", {
    {"aten::embedding_bag", EmbeddingBag},
    {"aten::_embedding_bag", EmbeddingBag},
    {"aten::_embedding_bag_forward_only", EmbeddingBag},
}};

}  // namespace rules_onnx::lowering
