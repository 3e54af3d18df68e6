#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/ir/schema.h"
#include "exporter/ir/schema_coerce.h"

namespace rules_onnx::ir {
namespace {

std::string Describe(const Arg& arg) {
  if (arg.is_none()) return "None";
  if (arg.is_value()) return absl::StrCat("a value of type ", arg.value()->type.ToString());
  if (arg.is_bool()) return absl::StrCat("bool ", arg.as_bool() ? "True" : "False");
  if (arg.is_int()) return absl::StrCat("int ", arg.as_int());
  if (arg.is_float()) return absl::StrCat("float ", arg.as_float());
  if (arg.is_complex()) return "a complex number";
  if (arg.is_string()) return absl::StrCat("str '", arg.as_string(), "'");
  if (arg.is_dtype()) return absl::StrCat("dtype ", DTypeName(arg.as_dtype()));
  if (arg.is_literal()) return absl::StrCat("a ", DTypeName(arg.literal().dtype), " tensor");
  std::string text = "[";
  for (const Arg& item : arg.list()) {
    absl::StrAppend(&text, text.size() == 1 ? "" : ", ", Describe(item));
  }
  return text + "]";
}

class Binder {
 public:
  Binder(const Schema& schema, Node* node) : schema_(schema), node_(node) {}

  absl::Status Bind() {
    if (absl::Status status = Distribute(); !status.ok()) return status;
    std::vector<NamedArg> bound;
    for (size_t i = 0; i < schema_.args.size(); ++i) {
      const SchemaArg& wanted = schema_.args[i];
      absl::StatusOr<Arg> value = Take(wanted, std::move(given_[i]));
      if (!value.ok()) return value.status();
      bound.push_back({wanted.name, *std::move(value)});
    }
    for (NamedArg& arg : extra_) bound.push_back(std::move(arg));
    node_->args = std::move(bound);
    return absl::OkStatus();
  }

 private:
  absl::Status Error(absl::string_view arg, absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat(schema_.op, ": argument '", arg, "' ", what));
  }

  // The node's arguments → given_, by the index that the schema has them at, and extra_.
  absl::Status Distribute() {
    given_.resize(schema_.args.size());
    size_t position = 0;
    for (const NamedArg& arg : node_->args) {
      const SchemaArg* wanted = nullptr;
      if (!arg.name.empty()) {
        wanted = schema_.Find(arg.name);
      } else if (position < schema_.args.size()) {
        wanted = &schema_.args[position++];
      }
      if (wanted == nullptr && schema_.has_vararg_args) {
        extra_.push_back(arg);
      } else if (wanted == nullptr && arg.name.empty()) {
        return absl::InvalidArgumentError(absl::StrCat(
            schema_.op, ": more arguments than the ", schema_.args.size(), " of its schema"));
      } else if (wanted == nullptr) {
        return Error(arg.name, "is not in its schema");
      } else if (auto& slot = given_[wanted - schema_.args.data()]; slot.has_value()) {
        return Error(wanted->name, "is given twice");
      } else {
        slot = arg.value;
      }
    }
    return absl::OkStatus();
  }

  absl::StatusOr<Arg> Take(const SchemaArg& wanted, std::optional<Arg> given) const {
    if (!given.has_value()) {
      if (wanted.default_value.has_value()) return *wanted.default_value;
      if (IsIgnored(wanted)) return Arg();
      return Error(wanted.name, "is missing");
    }
    if (!CoerceArg(wanted, &*given)) {
      return Error(wanted.name, absl::StrCat("is ", Describe(*given), "; its schema takes ",
                                             wanted.type));
    }
    return *std::move(given);
  }

  const Schema& schema_;
  Node* node_;
  std::vector<std::optional<Arg>> given_;
  std::vector<NamedArg> extra_;
};

}  // namespace

absl::Status BindToSchema(const Schema& schema, Node* node) { return Binder(schema, node).Bind(); }

bool ArgFits(const SchemaArg& schema_arg, const Arg& arg) {
  Arg copy = arg;
  return CoerceArg(schema_arg, &copy) && copy == arg;
}

}  // namespace rules_onnx::ir
