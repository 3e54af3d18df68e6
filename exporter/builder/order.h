// The order of nodes and the names that the program does not give.
#ifndef RULES_ONNX_EXPORTER_BUILDER_ORDER_H_
#define RULES_ONNX_EXPORTER_BUILDER_ORDER_H_

#include "exporter/builder/model.h"

namespace rules_onnx::builder {

// Makes the model independent of the order in which a lowering happened to emit its nodes: in
// f(b.Exp(x), b.Neg(x)) the compiler chooses which node comes first.
//
// The nodes of one ir node stay together, in an order that follows from how they and later nodes
// use each other; constants come in the order of their first use, behind the weights. Nodes get
// the name `<scope>/<operator>`, their outputs `<node>_output`, with `_1`, … where names repeat;
// values that have a name keep it. Requires that every node is used (see RemoveUnused).
void OrderAndName(Model* model);

}  // namespace rules_onnx::builder

#endif  // RULES_ONNX_EXPORTER_BUILDER_ORDER_H_
