#include "exporter/inputs/spec.h"

#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "exporter/inputs/generate.h"

namespace rules_onnx::inputs {
namespace {

bool IsLetter(char c) { return absl::ascii_isalpha(c) || c == '_'; }
bool IsWord(char c) { return IsLetter(c) || absl::ascii_isdigit(c); }

// Recursive descent over the grammar in the header.
class Parser {
 public:
  Parser(absl::string_view text, uint64_t position)
      : text_(text), rest_(text), position_(position) {}

  absl::StatusOr<Argument> Parse() {
    Argument argument;
    absl::string_view word = Name();
    if (Take(':')) {
      if (word.empty()) return Error("a name is missing before ':'");
      argument.name = std::string(word);
      word = Name();
    }
    absl::StatusOr<Value> value = ParseValue(word);
    if (!value.ok()) return value.status();
    SkipSpace();
    if (!rest_.empty()) return Error("this is one part too many");
    argument.value = *std::move(value);
    return argument;
  }

 private:
  absl::Status Error(absl::string_view message) const {
    return absl::InvalidArgumentError(
        absl::StrCat("input '", text_, "': ", message,
                     rest_.empty() ? " at its end" : absl::StrCat(" at '", rest_, "'"),
                     "; the form is name:dtype[axes], as in x:float32[N=10,3,224,224]"));
  }
  absl::Status Error(const absl::Status& status) const {
    return absl::InvalidArgumentError(absl::StrCat("input '", text_, "': ", status.message()));
  }

  void SkipSpace() { rest_ = absl::StripLeadingAsciiWhitespace(rest_); }
  bool Take(absl::string_view token) {
    SkipSpace();
    return absl::ConsumePrefix(&rest_, token);
  }
  bool Take(char c) { return Take(absl::string_view(&c, 1)); }
  template <typename Accept>
  absl::string_view TakeWhile(Accept accept) {
    SkipSpace();
    size_t length = 0;
    while (length < rest_.size() && accept(rest_[length])) ++length;
    const absl::string_view token = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return token;
  }

  absl::string_view Name() {
    SkipSpace();
    if (rest_.empty() || !IsLetter(rest_[0])) return "";
    return TakeWhile([](char c) { return IsWord(c) || c == '.'; });
  }

  // False: no digits stand here, or `problem` says what is wrong with them.
  bool Size(int64_t* size, std::string* problem) {
    const absl::string_view digits = TakeWhile([](char c) { return absl::ascii_isdigit(c); });
    if (!digits.empty() && !absl::SimpleAtoi(digits, size)) {
      *problem = absl::StrCat("size ", digits, " is too large");
    }
    return !digits.empty() && problem->empty();
  }

  // A sign, digits, and at most the two dots that are no range.
  absl::string_view Number() {
    SkipSpace();
    size_t length = 0;
    for (; length < rest_.size(); ++length) {
      const char c = rest_[length];
      if (absl::StartsWith(rest_.substr(length), "..")) break;
      if (!absl::ascii_isalnum(c) && c != '-' && c != '+' && c != '.') break;
    }
    const absl::string_view token = rest_.substr(0, length);
    rest_.remove_prefix(length);
    return token;
  }

  absl::StatusOr<Value> ParseValue(absl::string_view word) {
    if (word == "None") return Value::None();
    if (word == "int" || word == "float" || word == "bool" || word == "str") {
      SkipSpace();
      if (!absl::StartsWith(rest_, "[")) return ParseScalar(word);
    }
    const std::optional<ir::DType> dtype = ir::ParseDType(word);
    if (!dtype || ir::ElementSize(*dtype) == 0 || ir::IsQuantized(*dtype)) {
      return Error(absl::StrCat("'", word, "' is no dtype"));
    }
    return ParseTensor(*dtype);
  }

  absl::StatusOr<Value> ParseScalar(absl::string_view type) {
    if (!Take('=')) return Error(absl::StrCat("'=' and a value are missing after ", type));
    if (type == "str") return Value::String(std::string(std::exchange(rest_, "")));
    const absl::string_view text = Number();
    int64_t integer;
    double number;
    if (type == "int" && absl::SimpleAtoi(text, &integer)) return Value::Int(integer);
    if (type == "float" && absl::SimpleAtod(text, &number)) return Value::Float(number);
    if (type == "bool" && (text == "true" || text == "false")) return Value::Bool(text == "true");
    return Error(absl::StrCat("'", text, "' is no ", type));
  }

  absl::StatusOr<Value> ParseTensor(ir::DType dtype) {
    Tensor tensor;
    tensor.dtype = dtype;
    absl::Status status = ParseAxes(&tensor);
    if (!status.ok()) return status;
    const absl::StatusOr<uint64_t> bytes = TensorBytes(dtype, tensor.shape());
    if (!bytes.ok()) return Error(bytes.status());
    std::vector<int64_t> second;
    for (const Axis& axis : tensor.axes) second.push_back(axis.second.value_or(axis.size));
    if (auto large = TensorBytes(dtype, second); !large.ok()) return Error(large.status());
    absl::StatusOr<std::string> values = ParseValues(dtype, *bytes / ir::ElementSize(dtype));
    if (!values.ok()) return values.status();
    tensor.bytes = *std::move(values);
    return Value::OfTensor(std::move(tensor));
  }

  absl::Status ParseAxes(Tensor* tensor) {
    if (!Take('[')) return Error("'[' is missing");
    if (Take(']')) return absl::OkStatus();
    do {
      Axis axis;
      const absl::Status status = ParseAxis(&axis);
      if (!status.ok()) return status;
      tensor->axes.push_back(std::move(axis));
    } while (Take(','));
    return Take(']') ? absl::OkStatus() : Error("',' or ']' is missing");
  }

  absl::Status ParseAxis(Axis* axis) {
    const absl::string_view symbol = TakeWhile(IsWord);
    if (absl::SimpleAtoi(symbol, &axis->size)) return absl::OkStatus();
    if (!IsSymbolName(symbol)) return Error(absl::StrCat("'", symbol, "' is no axis"));
    axis->symbol = std::string(symbol);
    std::string problem;
    if (!Take('=') || !Size(&axis->size, &problem)) {
      if (!problem.empty()) return Error(problem);
      return Error(absl::StrCat("axis ", symbol, " needs an example size, as in ", symbol, "=10,"));
    }
    int64_t second;
    if (!Take('|')) return absl::OkStatus();
    if (!Size(&second, &problem)) {
      if (!problem.empty()) return Error(problem);
      return Error(absl::StrCat("the second size of axis ", symbol, " is missing"));
    }
    if (second == axis->size) {
      return Error(absl::StrCat("the second size of axis ", symbol, " equals the first"));
    }
    axis->second = second;
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> ParseValues(ir::DType dtype, uint64_t count) {
    absl::string_view min, max;
    if (Take('=')) {
      min = max = Number();
      if (Take("..")) max = Number();
      if (min.empty() || max.empty()) return Error("a number is missing");
    }
    absl::StatusOr<std::string> bytes;
    if (dtype == ir::DType::kBool) {
      if (!min.empty()) return Error("a bool tensor takes no range");
      bytes = GenerateBools(count, position_);
    } else if (ir::IsInteger(dtype)) {
      IntRange range;
      if (!min.empty() &&
          !(absl::SimpleAtoi(min, &range.min) && absl::SimpleAtoi(max, &range.max))) {
        return Error(absl::StrCat(min, "..", max, " are no integers"));
      }
      bytes = GenerateInts(dtype, count, range, position_);
    } else {
      FloatRange range;
      if (!min.empty() &&
          !(absl::SimpleAtod(min, &range.min) && absl::SimpleAtod(max, &range.max))) {
        return Error(absl::StrCat(min, "..", max, " are no numbers"));
      }
      bytes = GenerateFloats(dtype, count, range, position_);
    }
    return bytes.ok() ? bytes : Error(bytes.status());
  }

  absl::string_view text_, rest_;
  uint64_t position_;
};

}  // namespace

absl::StatusOr<Argument> ParseSpec(absl::string_view text, uint64_t position) {
  if (absl::StrContains(text, "/") && !absl::StrContains(text, "str=")) {
    return absl::InvalidArgumentError(absl::StrCat(
        "input '", text, "': neither a spec, as x:float32[N=10,3,224,224] is one, nor a file of "
        "inputs, whose name ends in .pt, .npz, .npy or .pb"));
  }
  return Parser(text, position).Parse();
}

bool IsSymbolName(absl::string_view name) {
  if (name.empty() || !IsLetter(name[0])) return false;
  for (const char c : name) {
    if (!IsWord(c)) return false;
  }
  return name != "floordiv" && name != "mod" && name != "min" && name != "max";
}

std::string AsSymbolName(absl::string_view name) {
  std::string symbol(name);
  for (char& c : symbol) {
    if (!IsWord(c)) c = '_';
  }
  return IsSymbolName(symbol) ? symbol : absl::StrCat("axis_", symbol);
}

}  // namespace rules_onnx::inputs
