#include "exporter/json/json.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace rules_onnx::json {
namespace {

namespace dom = simdjson::dom;

absl::string_view Describe(dom::element_type type) {
  switch (type) {
    case dom::element_type::ARRAY: return "a list";
    case dom::element_type::OBJECT: return "an object";
    case dom::element_type::INT64:
    case dom::element_type::UINT64:
    case dom::element_type::DOUBLE: return "a number";
    case dom::element_type::STRING: return "a string";
    case dom::element_type::BOOL: return "a truth value";
    case dom::element_type::NULL_VALUE: return "null";
  }
  return "an unknown value";
}

// The one null that absent members and reads after an error give.
dom::element Null() {
  static auto* const parser = new dom::parser;
  static const dom::element null = parser->parse(std::string("null")).value_unsafe();
  return null;
}

std::string_view Std(absl::string_view text) { return {text.data(), text.size()}; }
absl::string_view Absl(std::string_view text) { return {text.data(), text.size()}; }

}  // namespace

Json Json::Child(dom::element element, absl::string_view key, int64_t index) const {
  Json child(element, status_);
  child.parent_ = this;
  child.key_ = key;
  child.index_ = index;
  return child;
}

std::string Json::Path() const {
  if (parent_ == nullptr) return absl::StrCat(key_, ": ");
  std::string path = parent_->Path();
  if (index_ >= 0) return absl::StrCat(path, "[", index_, "]");
  return absl::StrCat(path, parent_->parent_ == nullptr ? "" : ".", key_);
}

void Json::Fail(absl::string_view message) const {
  if (failed()) return;
  *status_ =
      absl::InvalidArgumentError(absl::StrCat(Path(), parent_ == nullptr ? "" : ": ", message));
}

void Json::Expected(absl::string_view what) const {
  if (failed()) return;
  Fail(absl::StrCat("expected ", what, ", found ", Describe(element_.type())));
}

Json Json::Field(absl::string_view key) const& {
  const Json child = Optional(key);
  if (!failed() && child.element_.is_null()) {
    bool present = false;
    ForEachMember([&](absl::string_view name, const Json&) { present |= name == key; });
    if (!present) Fail(absl::StrCat("has no member '", key, "'"));
  }
  return child;
}

Json Json::Optional(absl::string_view key) const& {
  dom::object object;
  if (element_.get(object) != simdjson::SUCCESS) {
    Expected("an object");
    return Child(Null(), key, -1);
  }
  dom::element value;
  if (failed() || object.at_key(Std(key)).get(value) != simdjson::SUCCESS) value = Null();
  return Child(value, key, -1);
}

void Json::ForEachItem(absl::FunctionRef<void(const Json& item)> visit) const {
  dom::array array;
  if (element_.get(array) != simdjson::SUCCESS) return Expected("a list");
  int64_t index = 0;
  for (dom::element item : array) {
    if (failed()) return;
    visit(Child(item, "", index++));
  }
}

void Json::ForEachMember(
    absl::FunctionRef<void(absl::string_view key, const Json& value)> visit) const {
  dom::object object;
  if (element_.get(object) != simdjson::SUCCESS) return Expected("an object");
  for (const auto& [key, value] : object) {
    if (failed()) return;
    visit(Absl(key), Child(value, Absl(key), -1));
  }
}

std::string Json::String() const {
  std::string_view text;
  if (element_.get(text) != simdjson::SUCCESS) {
    Expected("a string");
    return "";
  }
  return std::string(text);
}

int64_t Json::Int() const {
  int64_t value = 0;
  if (element_.get(value) != simdjson::SUCCESS) Expected("an integer");
  return value;
}

bool Json::Bool() const {
  bool value = false;
  if (element_.get(value) != simdjson::SUCCESS) Expected("a truth value");
  return value;
}

double Json::Double() const {
  double value = 0;
  if (element_.get(value) == simdjson::SUCCESS) return value;
  std::string_view text;
  if (element_.get(text) == simdjson::SUCCESS) {
    if (text == "Infinity") return std::numeric_limits<double>::infinity();
    if (text == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
  }
  Expected("a number");
  return 0;
}

absl::StatusOr<JsonDocument> JsonDocument::Parse(std::string name, absl::string_view text) {
  auto state = std::make_unique<State>(std::move(name));
  dom::element root;
  const auto error = state->parser.parse(text.data(), text.size()).get(root);
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(state->name, ": not JSON: ", simdjson::error_message(error)));
  }
  state->root.element_ = root;
  state->root.key_ = state->name;
  return JsonDocument(std::move(state));
}

}  // namespace rules_onnx::json
