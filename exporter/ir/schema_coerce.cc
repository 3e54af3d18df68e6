#include "exporter/ir/schema_coerce.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"

namespace rules_onnx::ir {
namespace {

enum class Base { kTensor, kScalar, kInt, kFloat, kBool, kComplex, kString, kDType, kDict, kAny };

Base ParseBase(absl::string_view name) {
  static constexpr struct {
    absl::string_view name;
    Base base;
  } kBases[] = {
      {"Tensor", Base::kTensor},   {"Scalar", Base::kScalar},   {"int", Base::kInt},
      {"SymInt", Base::kInt},      {"float", Base::kFloat},     {"SymFloat", Base::kFloat},
      {"bool", Base::kBool},       {"SymBool", Base::kBool},    {"complex", Base::kComplex},
      {"str", Base::kString},      {"ScalarType", Base::kDType},
  };
  for (const auto& entry : kBases) {
    if (entry.name == name) return entry.base;
  }
  return absl::StartsWith(name, "Dict(") ? Base::kDict : Base::kAny;
}

// The outermost form of a type text.
struct Form {
  enum class Kind { kBase, kOptional, kList } kind = Kind::kBase;
  absl::string_view element;  // kOptional, kList
  int length = 0;             // kList: `int[2]`; 0 if free
  Base base = Base::kAny;
};

Form ParseForm(absl::string_view type) {
  if (absl::EndsWith(type, "?")) {
    return Form{.kind = Form::Kind::kOptional, .element = type.substr(0, type.size() - 1)};
  }
  if (absl::EndsWith(type, "]")) {
    const size_t open = type.rfind('[');
    Form form{.kind = Form::Kind::kList, .element = type.substr(0, open)};
    if (!absl::SimpleAtoi(type.substr(open + 1, type.size() - open - 2), &form.length)) {
      form.length = 0;
    }
    return form;
  }
  return Form{.base = ParseBase(type)};
}

bool BaseTakesValue(Base base, Type::Kind kind) {
  const bool is_int = kind == Type::Kind::kInt || kind == Type::Kind::kBool;
  const bool is_real = is_int || kind == Type::Kind::kFloat;
  const bool is_number = is_real || kind == Type::Kind::kComplex;
  switch (base) {
    case Base::kTensor: return kind == Type::Kind::kTensor || is_number;
    case Base::kScalar:
    case Base::kComplex: return is_number;
    case Base::kInt: return is_int;
    case Base::kFloat: return is_real;
    case Base::kBool: return kind == Type::Kind::kBool;
    case Base::kString: return kind == Type::Kind::kString;
    case Base::kDType: return kind == Type::Kind::kInt;
    case Base::kDict: return kind == Type::Kind::kDict;
    case Base::kAny: return true;
  }
  return false;
}

bool TakesValue(absl::string_view type, const Type& value) {
  if (value.kind == Type::Kind::kUnknown) return true;
  const Form form = ParseForm(type);
  if (form.kind == Form::Kind::kOptional) {
    return value.kind == Type::Kind::kNone || TakesValue(form.element, value);
  }
  // A value that may be None is a tested one where the schema does not say so.
  if (value.kind == Type::Kind::kOptional) {
    return value.elements.empty() || TakesValue(type, value.elements.front());
  }
  if (form.kind == Form::Kind::kBase) return BaseTakesValue(form.base, value.kind);
  if (value.kind != Type::Kind::kList && value.kind != Type::Kind::kTuple) return false;
  return std::all_of(value.elements.begin(), value.elements.end(),
                     [&](const Type& element) { return TakesValue(form.element, element); });
}

bool CoerceConstant(Base base, Arg* arg) {
  const bool is_real = arg->is_bool() || arg->is_int() || arg->is_float();
  switch (base) {
    case Base::kTensor: return arg->is_literal() || is_real || arg->is_complex();
    case Base::kScalar:
    case Base::kComplex: return is_real || arg->is_complex();
    case Base::kInt:
      if (arg->is_bool()) *arg = Arg(int64_t{arg->as_bool()});
      return arg->is_int();
    case Base::kFloat:
      if (arg->is_bool()) *arg = Arg(arg->as_bool() ? 1.0 : 0.0);
      if (arg->is_int()) *arg = Arg(static_cast<double>(arg->as_int()));
      return arg->is_float();
    case Base::kBool: return arg->is_bool();
    case Base::kString: return arg->is_string();
    case Base::kDType:
      if (arg->is_int()) {
        const std::optional<DType> dtype = DTypeOfScalarType(arg->as_int());
        if (dtype) *arg = Arg(*dtype);
      }
      return arg->is_dtype();
    case Base::kDict: return false;
    case Base::kAny: return true;
  }
  return false;
}

bool Coerce(absl::string_view type, Arg* arg) {
  const Form form = ParseForm(type);
  if (form.kind == Form::Kind::kOptional && arg->is_none()) return true;
  if (form.kind == Form::Kind::kOptional) return Coerce(form.element, arg);
  if (form.kind == Form::Kind::kBase) {
    return arg->is_value() ? TakesValue(type, arg->value()->type) : CoerceConstant(form.base, arg);
  }
  if (arg->is_list()) {
    return std::all_of(arg->list().begin(), arg->list().end(),
                       [&](Arg& item) { return Coerce(form.element, &item); });
  }
  if (arg->is_value() && TakesValue(type, arg->value()->type)) return true;
  if (form.length == 0 || !Coerce(form.element, arg)) return false;
  *arg = Arg(Arg::List(form.length, *arg));
  return true;
}

}  // namespace

namespace {

// Of `MemoryFormat?` too.
absl::string_view TypeGiven(const SchemaArg& schema_arg) {
  absl::string_view type = schema_arg.type;
  if (absl::EndsWith(type, "?")) type.remove_suffix(1);
  return type;
}

}  // namespace

bool IsChannelsLast(const Arg& memory_format) {
  return memory_format.is_int() && (memory_format.as_int() == 2 || memory_format.as_int() == 3);
}

bool IsIgnored(const SchemaArg& schema_arg) {
  const absl::string_view type = TypeGiven(schema_arg);
  return type == "Device" || type == "Layout" || type == "MemoryFormat" || type == "Generator" ||
         schema_arg.name == "pin_memory";
}

bool CoerceArg(const SchemaArg& schema_arg, Arg* arg) {
  if (IsIgnored(schema_arg)) {
    const bool stays = TypeGiven(schema_arg) == "MemoryFormat" && IsChannelsLast(*arg);
    if (!stays) *arg = Arg();
    return true;
  }
  return Coerce(schema_arg.type, arg);
}

}  // namespace rules_onnx::ir
