// Padding of the last axes: constant, reflect, replicate, circular; negative amounts cut.
#include "absl/strings/str_cat.h"
#include "exporter/lowering/registry.h"
#include "exporter/lowering/values.h"

namespace rules_onnx::lowering {
namespace {

// Amounts for each axis of x; PyTorch lists pairs from the last axis on.
struct Amounts {
  Vals begins, ends;
};

Amounts ReadAmounts(Op& op, absl::string_view name, Val x) {
  Builder& b = op.b;
  const Vals pairs = op.IntVals(name);
  Amounts amounts{Vals(x.rank(), b.Int(0)), Vals(x.rank(), b.Int(0))};
  for (size_t i = 0; 2 * i + 1 < pairs.size() && static_cast<int>(i) < x.rank(); ++i) {
    amounts.begins[x.rank() - 1 - i] = pairs[2 * i];
    amounts.ends[x.rank() - 1 - i] = pairs[2 * i + 1];
  }
  return amounts;
}

// max(amount, 0)
Val Grown(Builder& b, Val amount) {
  const auto known = amount.int_value();
  return known ? b.Int(std::max<int64_t>(*known, 0)) : b.Max(amount, b.Int(0));
}

// Blocks of `fill` put around x, axis by axis; pads are the begins of all axes, then the ends.
Val PadByConcat(Builder& b, Val x, const Vals& pads, Val fill) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto block = [&](Val amount) {
      Vals sizes = SizesOf(b, x);
      sizes[axis] = amount;
      return Filled(b, b.Vector(sizes), fill);
    };
    const Val begin = pads[axis], end = pads[x.rank() + axis];
    Vals parts;
    if (begin.int_value() != 0) parts.push_back(block(begin));
    parts.push_back(x);
    if (end.int_value() != 0) parts.push_back(block(end));
    x = b.Concat(parts, axis);
  }
  return x;
}

Val PadPositive(Builder& b, Val x, const Amounts& amounts, absl::string_view mode, Val fill) {
  Vals pads;
  for (const Val amount : amounts.begins) pads.push_back(Grown(b, amount));
  for (const Val amount : amounts.ends) pads.push_back(Grown(b, amount));
  const Val vector = b.Vector(pads);
  const auto numbers = vector.ints();
  const bool nothing = numbers && std::all_of(numbers->begin(), numbers->end(),
                                              [](int64_t pad) { return pad == 0; });
  if (nothing) return x;
  // Before opset 11 Pad takes known amounts and floats only.
  const bool native = b.opset() >= 11 || (numbers && ir::IsFloat(x.dtype()));
  return native || mode != "constant" ? b.Pad(x, vector, mode, fill)
                                      : PadByConcat(b, x, pads, fill);
}

// The end of the axis comes before its start, its start after its end.
Val PadCircular(Builder& b, Val x, const Amounts& amounts) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    const Val begin = Grown(b, amounts.begins[axis]), end = Grown(b, amounts.ends[axis]);
    const Val size = b.Size(x, axis);
    Vals parts;
    if (begin.int_value() != 0) parts.push_back(b.Slice(x, axis, b.Sub(size, begin), size));
    parts.push_back(x);
    if (end.int_value() != 0) parts.push_back(b.Slice(x, axis, b.Int(0), end));
    x = b.Concat(parts, axis);
  }
  return x;
}

// Cuts what negative amounts take away.
Val Cut(Builder& b, Val x, const Amounts& amounts) {
  for (int axis = 0; axis < x.rank(); ++axis) {
    const auto begin = amounts.begins[axis].int_value(), end = amounts.ends[axis].int_value();
    if (begin && end) {
      if (*begin < 0) x = b.Slice(x, axis, -*begin, kEnd);
      if (*end < 0) x = b.Slice(x, axis, 0, *end);
      continue;
    }
    const auto cut = [&](Val amount) { return Grown(b, b.Sub(b.Int(0), amount)); };
    const Val last = b.Sub(b.Size(x, axis), cut(amounts.ends[axis]));
    x = b.Slice(x, axis, cut(amounts.begins[axis]), last);
  }
  return x;
}

void PadWith(Op& op, absl::string_view amounts_name, absl::string_view mode, Val fill = {}) {
  Builder& b = op.b;
  const Val x = op.Tensor("self");
  if (!x || !op.Require(x.rank() >= 0, "the rank of the operand is not known")) return;
  const Amounts amounts = ReadAmounts(op, amounts_name, x);
  // What is cut away is not wrapped round.
  if (mode == "circular") return op.Return(PadCircular(b, Cut(b, x, amounts), amounts));
  Val padded;
  if (mode == "constant") {
    padded = PadPositive(b, x, amounts, "constant", fill);
  } else if (mode == "reflect") {
    padded = PadPositive(b, x, amounts, "reflect", {});
  } else if (mode == "replicate") {
    padded = PadPositive(b, x, amounts, "edge", {});
  } else {
    op.Fail(absl::StrCat("pad mode ", mode, " is unknown"));
  }
  op.Return(Cut(b, padded, amounts));
}

Val Fill(Op& op) {
  const DType dtype = op.OutDType();
  return op.Has("value") ? op.Tensor("value", dtype) : op.b.ScalarInt(0, dtype);
}

void Pad(Op& op) { PadWith(op, "pad", op.String("mode"), Fill(op)); }
void ConstantPad(Op& op) { PadWith(op, "pad", "constant", Fill(op)); }
void CircularPad(Op& op) { PadWith(op, "pad", "circular"); }
void ReflectionPad(Op& op) { PadWith(op, "padding", "reflect"); }
void ReplicationPad(Op& op) { PadWith(op, "padding", "replicate"); }

void PadEnum(Op& op) {
  const char* modes[] = {"reflect", "replicate", "circular", "constant"};
  const int64_t mode = op.Int("mode");
  if (!op.Require(mode >= 0 && mode < 4, "unknown pad mode")) return;
  PadWith(op, "pad", modes[mode], Fill(op));
}

}  // namespace

extern const Family kPad;
const Family kPad = {"pad", {
    {"aten::pad", Pad},
    {"aten::_pad_enum", PadEnum},
    {"aten::constant_pad_nd", ConstantPad},
    {"aten::_pad_circular", CircularPad},
    {"aten::reflection_pad1d", ReflectionPad},
    {"aten::reflection_pad2d", ReflectionPad},
    {"aten::reflection_pad3d", ReflectionPad},
    {"aten::replication_pad1d", ReplicationPad},
    {"aten::replication_pad2d", ReplicationPad},
    {"aten::replication_pad3d", ReplicationPad},
}};

}  // namespace rules_onnx::lowering
