// What a value of the captured graph has become.
#ifndef RULES_ONNX_EXPORTER_LOWERING_ITEM_H_
#define RULES_ONNX_EXPORTER_LOWERING_ITEM_H_

#include <utility>
#include <vector>

#include "exporter/builder/builder.h"
#include "exporter/ir/graph.h"

namespace rules_onnx::lowering {

using builder::Val;
using builder::Vals;

// A tensor or number (numbers are 0-d: int64, float64, bool), a list or tuple of known length, a
// constant that no tensor carries (None, a string, a dtype), or nothing after a failure.
// A list whose length is known at run time only is a Val or columns (dynamic_list.h).
// A quantized tensor has its integers in `val`, and scale and zero point beside it.
struct Item {
  enum class Kind { kFailed, kVal, kList, kColumns, kConstant };
  Kind kind = Kind::kFailed;
  Val val;
  std::vector<Item> items;
  ir::Arg constant;
  Val scale, zero_point;  // of a quantized tensor: 0-d, or 1-D along `quantized_axis`
  int quantized_axis = -1;

  Item() = default;
  Item(Val val)  // NOLINT
      : kind(val ? Kind::kVal : Kind::kFailed), val(val) {}
  static Item List(std::vector<Item> items) {
    Item item;
    item.kind = Kind::kList;
    item.items = std::move(items);
    return item;
  }
  static Item List(const Vals& vals) {
    return List(std::vector<Item>(vals.begin(), vals.end()));
  }
  static Item Constant(ir::Arg constant) {
    Item item;
    item.kind = Kind::kConstant;
    item.constant = std::move(constant);
    return item;
  }

  bool failed() const { return kind == Kind::kFailed; }
  bool is_val() const { return kind == Kind::kVal; }
  bool is_list() const { return kind == Kind::kList; }
  bool is_none() const { return kind == Kind::kConstant && constant.is_none(); }
  bool is_quantized() const { return static_cast<bool>(scale); }
};

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_ITEM_H_
