// Members of an enum: the converted graph holds their places in the class, which are ints.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_ENUMS_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_ENUMS_H_

#include <ATen/core/enum_type.h>
#include <ATen/core/ivalue.h>

#include <cstdint>

namespace rules_onnx::script {

// The enum that a type is, also as an optional; null for other types.
c10::EnumTypePtr EnumOf(const c10::TypePtr& type);
// True for a type with an enum in it.
bool HoldsEnum(const c10::TypePtr& type);

// The place of a member, which `value` must be.
int64_t PlaceOfMember(const c10::IValue& value);
// The member at a place.
c10::IValue MemberAt(const c10::EnumTypePtr& type, int64_t place);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_ENUMS_H_
