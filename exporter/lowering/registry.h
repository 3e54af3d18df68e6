// The table of lowerings.
//
// A family of operators is one file that ends with its rows:
//
//   extern const Family kActivation;
//   const Family kActivation = {"activation", {
//       {"aten::relu", Relu},
//       {"aten::gelu", Gelu},
//   }};
//
// and a line each in families.h and registry.cc. A row's name matches every overload (`aten::add`),
// or one (`aten::add.Tensor`), which wins.
#ifndef RULES_ONNX_EXPORTER_LOWERING_REGISTRY_H_
#define RULES_ONNX_EXPORTER_LOWERING_REGISTRY_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "exporter/lowering/op.h"

namespace rules_onnx::lowering {

struct Row {
  std::string op;
  LoweringFunction function;
  int since_opset = 9;      // the first opset that can express it
  std::string note = {};    // for the support table: forms that are refused or need a later opset
};

struct Family {
  std::string name;
  std::vector<Row> rows;
};

// All families, in the order of the documentation.
const std::vector<const Family*>& Families();

// The row for "aten::add.Tensor": that overload's own, else `aten::add`'s; nullptr if none.
const Row* FindRow(absl::string_view op);

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_REGISTRY_H_
