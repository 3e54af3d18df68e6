// Lowering one operator through others.
#ifndef RULES_ONNX_EXPORTER_LOWERING_CALL_H_
#define RULES_ONNX_EXPORTER_LOWERING_CALL_H_

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

// An argument of a call: a value of the ONNX graph, or a constant.
struct CallArg {
  std::string name;
  Item item;         // of a value or a list of values
  ir::Arg constant;  // where `item` has failed (is empty)

  CallArg(std::string name, Val val) : name(std::move(name)), item(val), constant() {}
  CallArg(std::string name, Item item) : name(std::move(name)), item(std::move(item)) {}
  CallArg(std::string name, ir::Arg constant)
      : name(std::move(name)), constant(std::move(constant)) {}
};

// The results of PyTorch operator `name` ("aten::conv2d") on these arguments, by that operator's
// own lowering; arguments that are left out have the schema's defaults, null values are None.
// `outputs` are the types that PyTorch gives.
std::vector<Item> Call(Op& op, absl::string_view name, std::vector<CallArg> args,
                       std::vector<ir::Type> outputs);

// Runs `function` on the node of `op`, with each value that it takes replaced by `map(item)` (types
// too), and outputs of these types.
std::vector<Item> CallOn(Op& op, LoweringFunction function,
                         const std::function<Item(const Item&)>& map,
                         std::vector<ir::Type> outputs);

// Runs `function` on the node of `op`, with the arguments in place of which `replace` gives another.
std::vector<Item> CallReplaced(
    Op& op, LoweringFunction function,
    const std::function<std::optional<Item>(const ir::NamedArg&)>& replace,
    std::vector<ir::Type> outputs);

// CallOn with the captured type of each value.
std::vector<Item> CallOnTyped(Op& op, LoweringFunction function,
                              const std::function<Item(const Item&, const ir::Type&)>& map,
                              std::vector<ir::Type> outputs);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_CALL_H_
