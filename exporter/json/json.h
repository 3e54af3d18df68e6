// Checked reading of a JSON document.
//
// A document keeps the first error, with the place of the value that it is about; after it every
// read gives zero values, so that readers need no check after each step, only one at the end.
#ifndef RULES_ONNX_EXPORTER_JSON_JSON_H_
#define RULES_ONNX_EXPORTER_JSON_JSON_H_

#include <simdjson.h>

#include <cstdint>
#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rules_onnx::json {

// One value and its place. A Json must not outlive the one that it was taken from (the overloads
// for temporaries are deleted for that).
class Json {
 public:
  bool is_null() const { return element_.is_null(); }
  bool is_number() const { return element_.is_int64() || element_.is_double(); }

  // A member of this object, which must have it. With Optional, absent reads as null.
  Json Field(absl::string_view key) const&;
  Json Field(absl::string_view key) && = delete;
  Json Optional(absl::string_view key) const&;
  Json Optional(absl::string_view key) && = delete;

  void ForEachItem(absl::FunctionRef<void(const Json& item)> visit) const;
  void ForEachMember(absl::FunctionRef<void(absl::string_view key, const Json& value)> visit) const;

  std::string String() const;
  // The nearest where it is an integer that 64 bits do not hold at all; one beyond int64 is an error.
  int64_t Int() const;
  bool Bool() const;
  // Also "Infinity", "-Infinity" and "NaN", which torch writes as strings.
  double Double() const;

  // Records an error about this value: "model.json: graph.nodes[3].target: <message>".
  void Fail(absl::string_view message) const;
  bool failed() const { return !status_->ok(); }

 private:
  friend class JsonDocument;
  Json(simdjson::dom::element element, absl::Status* status) : element_(element), status_(status) {}
  Json Child(simdjson::dom::element element, absl::string_view key, int64_t index) const;
  std::string Path() const;
  void Expected(absl::string_view what) const;

  simdjson::dom::element element_;
  absl::Status* status_;
  const Json* parent_ = nullptr;
  absl::string_view key_;  // of a member; the document's name at the root
  int64_t index_ = -1;     // of an item
};

class JsonDocument {
 public:
  // `name` is what messages call the document.
  static absl::StatusOr<JsonDocument> Parse(std::string name, absl::string_view text);

  const Json& root() const { return state_->root; }
  const absl::Status& status() const { return state_->status; }

 private:
  struct State {
    explicit State(std::string document_name) : name(std::move(document_name)) {}
    std::string name;
    simdjson::dom::parser parser;
    absl::Status status;
    Json root{simdjson::dom::element(), &status};
  };
  explicit JsonDocument(std::unique_ptr<State> state) : state_(std::move(state)) {}

  std::unique_ptr<State> state_;
};

}  // namespace rules_onnx::json

#endif  // RULES_ONNX_EXPORTER_JSON_JSON_H_
