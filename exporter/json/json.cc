#include "exporter/json/json.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/numbers.h"
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

bool IsDigit(char c) { return '0' <= c && c <= '9'; }

// Past the last character of the string that begins at `at`.
size_t EndOfString(absl::string_view text, size_t at) {
  for (++at; at < text.size() && text[at] != '"'; ++at) at += text[at] == '\\';
  return std::min(at + 1, text.size());
}

// The text with int64's largest and smallest in place of integers that not even 64 bits without a sign
// hold: Python's have no bounds.
std::string ClampIntegers(absl::string_view text) {
  constexpr absl::string_view kInNumbers = "0123456789.eE+-";
  std::string clamped;
  for (size_t at = 0; at < text.size();) {
    size_t end = at + 1;
    if (text[at] == '"') end = EndOfString(text, at);
    if (IsDigit(text[at])) end = std::min(text.find_first_not_of(kInNumbers, at), text.size());
    const absl::string_view token = text.substr(at, end - at);
    const bool negative = at > 0 && text[at - 1] == '-';
    int64_t value;
    uint64_t magnitude;
    if (std::all_of(token.begin(), token.end(), IsDigit) &&
        !absl::SimpleAtoi(absl::StrCat(negative ? "-" : "", token), &value) &&
        (negative || !absl::SimpleAtoi(token, &magnitude))) {
      absl::StrAppend(&clamped, negative ? "9223372036854775808" : "9223372036854775807");
    } else {
      absl::StrAppend(&clamped, token);
    }
    at = end;
  }
  return clamped;
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
  if (element_.get(value) == simdjson::SUCCESS) return value;
  Expected("an integer of 64 bits");
  return 0;
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
  auto error = state->parser.parse(text.data(), text.size()).get(root);
  if (error == simdjson::NUMBER_ERROR) {
    error = state->parser.parse(ClampIntegers(text)).get(root);
  }
  if (error != simdjson::SUCCESS) {
    return absl::InvalidArgumentError(
        absl::StrCat(state->name, ": not JSON: ", simdjson::error_message(error)));
  }
  state->root.element_ = root;
  state->root.key_ = state->name;
  return JsonDocument(std::move(state));
}

}  // namespace rules_onnx::json
