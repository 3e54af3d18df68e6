// The families that registry.cc lists, one file each.
#ifndef RULES_ONNX_EXPORTER_LOWERING_FAMILIES_H_
#define RULES_ONNX_EXPORTER_LOWERING_FAMILIES_H_

#include "exporter/lowering/registry.h"

namespace rules_onnx::lowering {

extern const Family kActivation;
extern const Family kArithmetic;

}  // namespace rules_onnx::lowering

#endif  // RULES_ONNX_EXPORTER_LOWERING_FAMILIES_H_
