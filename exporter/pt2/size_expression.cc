#include "exporter/pt2/size_expression.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"

namespace rules_onnx::pt2 {
namespace {

using ir::Dim;

// Deeper than any real expression; keeps recursion bounded.
constexpr int kMaxDepth = 400;
constexpr int64_t kMaxPower = 8;

bool IsIdentifier(absl::string_view name) {
  return !name.empty() && !std::isdigit(static_cast<unsigned char>(name.front())) &&
         std::all_of(name.begin(), name.end(),
                     [](unsigned char c) { return std::isalnum(c) || c == '_'; });
}

// s0, u12, not `true` or `oo`.
bool IsSymbol(absl::string_view name) {
  return IsIdentifier(name) && std::isdigit(static_cast<unsigned char>(name.back()));
}

// A rational: sympy writes halves of even sizes as Mul(Rational(1, 2), …).
struct Ratio {
  Dim numerator;
  Dim denominator = 1;
};

Ratio Unknown() { return {Dim::Unknown()}; }
bool IsKnown(const Ratio& ratio) {
  return !ratio.numerator.is_unknown() && !ratio.denominator.is_unknown();
}
bool IsWhole(const Ratio& ratio) { return ratio.denominator.Equals(1); }

// The integer that the ratio is known to be.
Dim ToDim(const Ratio& ratio) {
  return IsWhole(ratio) ? ratio.numerator : Dim::FloorDiv(ratio.numerator, ratio.denominator);
}

Ratio Add(const Ratio& a, const Ratio& b) {
  if (a.denominator.Equals(b.denominator)) return {a.numerator + b.numerator, a.denominator};
  return {a.numerator * b.denominator + b.numerator * a.denominator, a.denominator * b.denominator};
}

Ratio Multiply(const Ratio& a, const Ratio& b) {
  return {a.numerator * b.numerator, a.denominator * b.denominator};
}

Ratio Power(const Ratio& base, const Ratio& exponent) {
  if (!IsWhole(exponent) || !exponent.numerator.is_number()) return Unknown();
  const int64_t power = exponent.numerator.value();
  if (power < -kMaxPower || power > kMaxPower) return Unknown();
  Ratio result{1};
  for (int64_t i = 0; i < std::abs(power); ++i) result = Multiply(result, base);
  if (power < 0) std::swap(result.numerator, result.denominator);
  return result;
}

Ratio FloorOf(const Ratio& ratio) { return {ToDim(ratio)}; }

Ratio CeilOf(const Ratio& ratio) {
  return {Dim(-1) * Dim::FloorDiv(Dim(-1) * ratio.numerator, ratio.denominator)};
}

Ratio Quotient(const Ratio& a, const Ratio& b) {
  return {a.numerator * b.denominator, a.denominator * b.numerator};
}

Ratio Subtract(const Ratio& a, const Ratio& b) { return Add(a, Multiply({-1}, b)); }
Ratio FloorQuotient(const Ratio& a, const Ratio& b) { return FloorOf(Quotient(a, b)); }
Ratio Modulus(const Ratio& a, const Ratio& b) { return {Dim::Mod(ToDim(a), ToDim(b))}; }

template <typename Operation>
Ratio Fold(const std::vector<Ratio>& args, Operation operation) {
  Ratio result = args.front();
  for (size_t i = 1; i < args.size(); ++i) result = operation(result, args[i]);
  return result;
}

Ratio OneArgument(absl::string_view name, const Ratio& a) {
  if (name == "Integer" || name == "Identity" || name == "ToFloat") return a;
  if (name == "CeilToInt" || name == "ceiling") return CeilOf(a);
  if (name == "FloorToInt" || name == "floor") return FloorOf(a);
  if (name == "TruncToInt" && IsWhole(a)) return a;
  return Unknown();
}

Ratio TwoArguments(absl::string_view name, const Ratio& a, const Ratio& b) {
  if (name == "Rational" || name == "IntTrueDiv" || name == "FloatTrueDiv") return Quotient(a, b);
  if (name == "FloorDiv" || name == "CleanDiv") return FloorQuotient(a, b);
  if (name == "CeilDiv") return CeilOf(Quotient(a, b));
  if (name == "Mod" || name == "PythonMod") return Modulus(a, b);
  if (name == "Pow" || name == "PowByNatural") return Power(a, b);
  if (name == "LShift") return Multiply(a, Power({2}, b));
  return Unknown();
}

Ratio Apply(absl::string_view name, const std::vector<Ratio>& args) {
  for (const Ratio& arg : args) {
    if (!IsKnown(arg)) return Unknown();
  }
  if (args.empty()) return Unknown();
  if (name == "Add") return Fold(args, Add);
  if (name == "Mul") return Fold(args, Multiply);
  const auto fold_dims = [&](auto function) {
    return Fold(
        args, [&](const Ratio& a, const Ratio& b) { return Ratio{function(ToDim(a), ToDim(b))}; });
  };
  if (name == "Max") return fold_dims(Dim::Max);
  if (name == "Min") return fold_dims(Dim::Min);
  if (name == "ModularIndexing" && args.size() == 3) {
    return {Dim::Mod(ToDim(Quotient(args[0], args[1])), ToDim(args[2]))};
  }
  if (args.size() == 1) return OneArgument(name, args[0]);
  if (args.size() == 2) return TwoArguments(name, args[0], args[1]);
  return Unknown();
}

class Parser {
 public:
  explicit Parser(absl::string_view text) : text_(text) {}

  std::optional<Ratio> ParseAll() {
    auto result = ParseExpression(0);
    SkipSpace();
    if (pos_ != text_.size()) return std::nullopt;
    return result;
  }

 private:
  void SkipSpace() {
    while (pos_ < text_.size() && text_[pos_] == ' ') ++pos_;
  }
  bool Take(char c) {
    SkipSpace();
    if (pos_ == text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }
  template <typename Predicate>
  absl::string_view TakeWhile(Predicate predicate) {
    SkipSpace();
    const size_t begin = pos_;
    while (pos_ < text_.size() && predicate(text_[pos_])) ++pos_;
    return text_.substr(begin, pos_ - begin);
  }
  absl::string_view TakeName() {
    return TakeWhile([](unsigned char c) { return std::isalnum(c) || c == '_' || c == '.'; });
  }

  std::optional<std::string> ParseString() {
    if (!Take('\'')) return std::nullopt;
    const size_t end = text_.find('\'', pos_);
    if (end == absl::string_view::npos) return std::nullopt;
    const absl::string_view value = text_.substr(pos_, end - pos_);
    pos_ = end + 1;
    return std::string(value);
  }

  std::optional<Ratio> ParseInteger() {
    const absl::string_view digits = TakeWhile([](unsigned char c) { return std::isdigit(c); });
    int64_t value = 0;
    return absl::SimpleAtoi(digits, &value) ? Ratio{value} : Unknown();  // torch's has no bounds
  }

  // Symbol('s0', positive=True, integer=True), after the opening parenthesis.
  std::optional<Ratio> ParseSymbol() {
    const auto name = ParseString();
    if (!name || !IsIdentifier(*name)) return std::nullopt;
    while (Take(',')) {
      if (TakeName().empty() || !Take('=') || TakeName().empty()) return std::nullopt;
    }
    if (!Take(')')) return std::nullopt;
    return Ratio{Dim::Symbol(*name)};
  }

  // The next operator, if it is the given one and no longer one.
  bool TakeOperator(absl::string_view symbol) {
    SkipSpace();
    const absl::string_view rest = text_.substr(pos_);
    if (rest.substr(0, symbol.size()) != symbol) return false;
    if (symbol.size() == 1 && rest.size() > 1 && rest[1] == symbol[0] && symbol != "-") return false;
    pos_ += symbol.size();
    return true;
  }

  // Operands with operators of one level between them.
  template <typename Operand>
  std::optional<Ratio> ParseLevel(
      const std::vector<std::pair<const char*, Ratio (*)(const Ratio&, const Ratio&)>>& operators,
      Operand operand) {
    std::optional<Ratio> result = operand();
    while (result) {
      const auto found =
          std::find_if(operators.begin(), operators.end(),
                       [&](const auto& candidate) { return TakeOperator(candidate.first); });
      if (found == operators.end()) break;
      const std::optional<Ratio> next = operand();
      if (!next) return std::nullopt;
      result = IsKnown(*result) && IsKnown(*next) ? found->second(*result, *next) : Unknown();
    }
    return result;
  }

  std::optional<Ratio> ParseExpression(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    return ParseLevel({{"+", Add}, {"-", Subtract}}, [&] {
      return ParseLevel({{"*", Multiply}, {"//", FloorQuotient}, {"/", Quotient}, {"%", Modulus}},
                        [&] { return ParseFactor(depth + 1); });
    });
  }

  std::optional<Ratio> ParseFactor(int depth) {
    if (depth > kMaxDepth) return std::nullopt;
    if (TakeOperator("-")) {
      const auto factor = ParseFactor(depth + 1);
      if (!factor) return std::nullopt;
      return IsKnown(*factor) ? Multiply({-1}, *factor) : Unknown();
    }
    const auto base = ParsePrimary(depth);
    if (!base || !TakeOperator("**")) return base;
    const auto exponent = ParseFactor(depth + 1);
    if (!exponent) return std::nullopt;
    return IsKnown(*base) && IsKnown(*exponent) ? Power(*base, *exponent) : Unknown();
  }

  std::optional<Ratio> ParsePrimary(int depth) {
    SkipSpace();
    if (pos_ == text_.size()) return std::nullopt;
    if (std::isdigit(static_cast<unsigned char>(text_[pos_]))) return ParseInteger();
    if (Take('(')) {
      const auto inner = ParseExpression(depth + 1);
      return Take(')') ? inner : std::nullopt;
    }
    if (text_[pos_] == '\'') return ParseString() ? std::optional(Unknown()) : std::nullopt;
    const absl::string_view name = TakeName();
    if (name.empty()) return std::nullopt;
    if (!Take('(')) {  // precision=53, or a constant such as `true`
      if (Take('=')) return TakeName().empty() ? std::nullopt : std::optional(Unknown());
      return IsSymbol(name) ? Ratio{Dim::Symbol(std::string(name))} : Unknown();
    }
    if (name == "Symbol") return ParseSymbol();
    std::vector<Ratio> args;
    if (!Take(')')) {
      do {
        auto arg = ParseExpression(depth + 1);
        if (!arg) return std::nullopt;
        args.push_back(*std::move(arg));
      } while (Take(','));
      if (!Take(')')) return std::nullopt;
    }
    return Apply(name, args);
  }

  absl::string_view text_;
  size_t pos_ = 0;
};

}  // namespace

absl::StatusOr<ir::Dim> ParseSizeExpression(absl::string_view text) {
  const auto ratio = Parser(text).ParseAll();
  if (!ratio) {
    return absl::InvalidArgumentError(
        absl::StrCat("not an expression of sizes: '", text.substr(0, 200), "'"));
  }
  return ToDim(*ratio);
}

}  // namespace rules_onnx::pt2
