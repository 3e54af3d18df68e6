#include "exporter/torch/script/enums.h"

#include <ATen/core/jit_type.h>

#include <algorithm>

namespace rules_onnx::script {

c10::EnumTypePtr EnumOf(const c10::TypePtr& type) {
  if (const auto optional = type->cast<c10::OptionalType>()) {
    return EnumOf(optional->getElementType());
  }
  return type->cast<c10::EnumType>();
}

bool HoldsEnum(const c10::TypePtr& type) {
  if (type->kind() == c10::TypeKind::ClassType) return false;  // no output, and may contain itself
  const auto parts = type->containedTypes();
  return type->kind() == c10::TypeKind::EnumType ||
         std::any_of(parts.begin(), parts.end(), HoldsEnum);
}

int64_t PlaceOfMember(const c10::IValue& value) {
  const auto holder = value.toEnumHolder();
  const auto members = holder->type()->enumNamesValues();
  const auto at = std::find_if(
      members.begin(), members.end(),
      [&](const c10::EnumNameValue& member) { return member.first == holder->name(); });
  return at - members.begin();
}

c10::IValue MemberAt(const c10::EnumTypePtr& type, int64_t place) {
  const auto& [name, value] = type->enumNamesValues()[static_cast<size_t>(place)];
  return c10::IValue(c10::make_intrusive<c10::ivalue::EnumHolder>(type, name, value));
}

}  // namespace rules_onnx::script
