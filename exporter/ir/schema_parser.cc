// Recursive descent over the grammar in schema.h.
#include <complex>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "exporter/ir/schema.h"
#include "exporter/ir/schema_coerce.h"

namespace rules_onnx::ir {
namespace {

// Bounds for texts that a user's library gives: nothing real comes near them.
constexpr int kMaxTypeParts = 16;
constexpr int kMaxListLength = 1024;
constexpr int kMaxDefaultDepth = 8;

// Types that take types, not alias sets, in parentheses.
bool IsGeneric(absl::string_view name) {
  return name == "Dict" || name == "Future" || name == "RRef" || name == "Await" ||
         name == "Union" || name == "Optional" || name == "Tuple";
}

std::optional<DType> DTypeOfDefaultName(absl::string_view name) {
  if (name == "float") return DType::kFloat32;
  if (name == "double") return DType::kFloat64;
  if (name == "half") return DType::kFloat16;
  if (name == "int") return DType::kInt32;
  if (name == "long") return DType::kInt64;
  return ParseDType(name);
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text), rest_(text) {}

  absl::StatusOr<Schema> Parse() {
    Schema schema;
    absl::Status status = ParseOp(&schema.op);
    if (status.ok()) status = ParseArgs(&schema);
    if (status.ok() && !Take("->")) status = Error("'->' expected");
    if (status.ok()) status = ParseReturns(&schema);
    SkipSpace();
    if (status.ok() && !rest_.empty()) status = Error("end of text expected");
    if (!status.ok()) return status;
    return schema;
  }

 private:
  absl::Status Error(absl::string_view what) const {
    return absl::InvalidArgumentError(
        absl::StrCat("operator schema '", text_, "': ", what, " at '", rest_, "'"));
  }

  void SkipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  bool Peek(absl::string_view token) {
    SkipSpace();
    return absl::StartsWith(rest_, token);
  }
  bool Take(absl::string_view token) {
    if (!Peek(token)) return false;
    rest_.remove_prefix(token.size());
    return true;
  }
  template <typename Accept>
  absl::string_view TakeWhile(Accept accept) {
    SkipSpace();
    size_t n = 0;
    while (n < rest_.size() && accept(rest_[n])) ++n;
    const absl::string_view token = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return token;
  }
  absl::string_view TakeName() {
    return TakeWhile([](char c) { return absl::ascii_isalnum(c) || c == '_'; });
  }
  absl::string_view TakeDottedName() {
    return TakeWhile([](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.'; });
  }

  absl::Status ParseOp(std::string* op) {
    const absl::string_view name = TakeWhile([](char c) {
      return absl::ascii_isalnum(c) || c == '_' || c == '.' || c == ':' || c == '-';
    });
    const size_t colons = name.find("::");
    if (colons == absl::string_view::npos || colons == 0 || colons + 2 == name.size()) {
      return Error("'namespace::name' expected");
    }
    *op = std::string(name);
    return absl::OkStatus();
  }

  absl::Status ParseArgs(Schema* schema) {
    if (!Take("(")) return Error("'(' expected");
    if (Take(")")) return absl::OkStatus();
    bool keyword_only = false;
    do {
      if (schema->has_vararg_args) return Error("nothing may follow '...'");
      if (Take("...")) {
        schema->has_vararg_args = true;
      } else if (Take("*")) {
        keyword_only = true;
      } else {
        SchemaArg arg{.keyword_only = keyword_only};
        if (absl::Status status = ParseArg(&arg); !status.ok()) return status;
        if (schema->Find(arg.name) != nullptr) return Error("two arguments of one name");
        schema->args.push_back(std::move(arg));
      }
    } while (Take(","));
    return Take(")") ? absl::OkStatus() : Error("')' expected");
  }

  absl::Status ParseArg(SchemaArg* arg) {
    int parts = 0;
    if (absl::Status status = ParseType(arg, &parts); !status.ok()) return status;
    arg->name = std::string(TakeName());
    if (arg->name.empty()) return Error("name of an argument expected");
    if (!Take("=")) return absl::OkStatus();
    Arg value;
    if (absl::Status status = ParseDefault(*arg, 0, &value); !status.ok()) return status;
    if (!CoerceArg(*arg, &value)) {
      return Error(absl::StrCat("default of '", arg->name, "' does not fit its type"));
    }
    arg->default_value = std::move(value);
    return absl::OkStatus();
  }

  absl::Status ParseReturns(Schema* schema) {
    if (!Take("(")) return ParseReturn(schema);
    if (Take(")")) return absl::OkStatus();
    do {
      if (schema->has_vararg_returns) return Error("nothing may follow '...'");
      if (absl::Status status = ParseReturn(schema); !status.ok()) return status;
    } while (Take(","));
    return Take(")") ? absl::OkStatus() : Error("')' expected");
  }

  absl::Status ParseReturn(Schema* schema) {
    if (Take("...")) {
      schema->has_vararg_returns = true;
      return absl::OkStatus();
    }
    SchemaArg result;
    int parts = 0;
    if (absl::Status status = ParseType(&result, &parts); !status.ok()) return status;
    result.name = std::string(TakeName());
    schema->returns.push_back(std::move(result));
    return absl::OkStatus();
  }

  // Fills in type, alias and is_write.
  absl::Status ParseType(SchemaArg* arg, int* parts) {
    if (++*parts > kMaxTypeParts) return Error("type is too long");
    if (Peek("(")) {
      if (absl::Status status = ParseTypeList(&arg->type, parts); !status.ok()) return status;
    } else {
      arg->type = std::string(TakeDottedName());
      if (arg->type.empty()) return Error("type expected");
      if (IsGeneric(arg->type) && Peek("(")) {
        if (absl::Status status = ParseTypeList(&arg->type, parts); !status.ok()) return status;
      }
    }
    while (true) {
      if (++*parts > kMaxTypeParts) return Error("type is too long");
      absl::Status status;
      if (Take("?")) {
        arg->type += "?";
      } else if (Take("[")) {
        status = ParseListSuffix(&arg->type);
      } else if (Take("(")) {
        status = ParseAlias(arg);
      } else {
        return absl::OkStatus();
      }
      if (!status.ok()) return status;
    }
  }

  // "(Tensor, t)" after a generic type's name or alone, as a tuple.
  absl::Status ParseTypeList(std::string* type, int* parts) {
    Take("(");
    const char* separator = "(";
    do {
      SchemaArg element;
      if (absl::Status status = ParseType(&element, parts); !status.ok()) return status;
      absl::StrAppend(type, separator, element.type);
      separator = ", ";
    } while (Take(","));
    *type += ")";
    return Take(")") ? absl::OkStatus() : Error("')' expected");
  }

  absl::Status ParseListSuffix(std::string* type) {
    const absl::string_view digits = TakeWhile(absl::ascii_isdigit);
    int length = 0;
    if (!digits.empty() && (!absl::SimpleAtoi(digits, &length) || length > kMaxListLength)) {
      return Error("length of a list expected");
    }
    absl::StrAppend(type, "[", digits, "]");
    return Take("]") ? absl::OkStatus() : Error("']' expected");
  }

  absl::Status ParseAlias(SchemaArg* arg) {
    arg->alias = TakeAliasSet();
    if (arg->alias.empty()) return Error("alias set expected");
    arg->is_write = Take("!");
    if (Take("->") && TakeAliasSet().empty()) return Error("alias set expected");
    return Take(")") ? absl::OkStatus() : Error("')' expected");
  }

  std::string TakeAliasSet() {
    if (Take("*")) return "*";
    std::string set(TakeName());
    while (Take("|")) absl::StrAppend(&set, "|", TakeName());
    return set;
  }

  absl::Status ParseDefault(const SchemaArg& arg, int depth, Arg* value) {
    if (depth > kMaxDefaultDepth) return Error("default is nested too deeply");
    if (Take("[")) return ParseListDefault(arg, depth, value);
    if (Peek("\"") || Peek("'")) return ParseStringDefault(value);
    const absl::string_view token =
        TakeWhile([](char c) { return absl::ascii_isalnum(c) || c == '_' || c == '.' ||
                                      c == '+' || c == '-' || c == ':'; });
    if (token.empty()) return Error("default expected");
    if (ParseWordDefault(arg, token, value) || ParseNumberDefault(token, value)) {
      return absl::OkStatus();
    }
    return Error(absl::StrCat("unknown default '", token, "'"));
  }

  static bool ParseWordDefault(const SchemaArg& arg, absl::string_view token, Arg* value) {
    if (token == "None" || IsIgnored(arg)) {
      *value = Arg();
    } else if (token == "True" || token == "true") {
      *value = Arg(true);
    } else if (token == "False" || token == "false") {
      *value = Arg(false);
    } else if (token == "Mean") {  // at::Reduction, as native_functions.yaml names it
      *value = Arg(1);
    } else if (absl::StartsWith(arg.type, "ScalarType") && DTypeOfDefaultName(token)) {
      *value = Arg(*DTypeOfDefaultName(token));
    } else {
      return false;
    }
    return true;
  }

  // An integer, a float ("1.", "inf"), or a complex number ("2.j", "1.+2.j").
  static bool ParseNumberDefault(absl::string_view token, Arg* value) {
    int64_t integer;
    if (absl::SimpleAtoi(token, &integer)) {
      *value = Arg(integer);
      return true;
    }
    double real = 0;
    if (absl::SimpleAtod(token, &real)) {
      *value = Arg(real);
      return true;
    }
    if (!absl::EndsWith(token, "j")) return false;
    token.remove_suffix(1);
    real = 0;
    size_t sign = token.find_last_of("+-");
    if (sign != absl::string_view::npos && sign > 0 && token[sign - 1] == 'e') {
      sign = token.find_last_of("+-", sign - 1);
    }
    if (sign == absl::string_view::npos) sign = 0;
    double imaginary;
    if (!absl::SimpleAtod(token.substr(sign), &imaginary)) return false;
    if (sign > 0 && !absl::SimpleAtod(token.substr(0, sign), &real)) return false;
    *value = Arg(std::complex<double>(real, imaginary));
    return true;
  }

  absl::Status ParseListDefault(const SchemaArg& arg, int depth, Arg* value) {
    Arg::List items;
    if (!Take("]")) {
      do {
        Arg item;
        absl::Status status = ParseDefault(arg, depth + 1, &item);
        if (!status.ok()) return status;
        items.push_back(std::move(item));
      } while (Take(","));
      if (!Take("]")) return Error("']' expected");
    }
    *value = Arg(std::move(items));
    return absl::OkStatus();
  }

  absl::Status ParseStringDefault(Arg* value) {
    const char quote = rest_.front();
    rest_.remove_prefix(1);
    std::string text;
    while (!rest_.empty() && rest_.front() != quote) {
      char c = rest_.front();
      rest_.remove_prefix(1);
      if (c == '\\' && !rest_.empty()) {
        c = Unescape(rest_.front());
        rest_.remove_prefix(1);
      }
      text.push_back(c);
    }
    if (rest_.empty()) return Error("end of string expected");
    rest_.remove_prefix(1);
    *value = Arg(std::move(text));
    return absl::OkStatus();
  }

  static char Unescape(char c) {
    switch (c) {
      case 'n': return '\n';
      case 't': return '\t';
      case 'f': return '\f';
      case 'v': return '\v';
      case 'r': return '\r';
      default: return c;
    }
  }

  absl::string_view text_;
  absl::string_view rest_;
};

}  // namespace

absl::StatusOr<Schema> ParseSchema(absl::string_view text) { return Parser(text).Parse(); }

}  // namespace rules_onnx::ir
