#include "exporter/ir/dim.h"

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace rules_onnx::ir {

// A symbol (func empty) or a function of two dims; ordered and compared by its text.
struct Dim::Atom {
  std::string text;
  std::string func;
  std::shared_ptr<const std::pair<Dim, Dim>> operands;

  bool operator<(const Atom& other) const { return text < other.text; }
  bool operator==(const Atom& other) const { return text == other.text; }
};

// A sum: product of atoms (sorted; empty for the constant) → coefficient, never zero.
struct Dim::Rep {
  bool unknown = false;
  std::map<std::vector<Atom>, int64_t> terms;
};

namespace {

// Larger sums say nothing to a reader; their products would take all memory.
constexpr size_t kMaxTerms = 256;
constexpr int kMaxParseDepth = 200;

int64_t FloorDivide(int64_t a, int64_t b) {
  const int64_t q = a / b;
  return (a % b != 0 && ((a < 0) != (b < 0))) ? q - 1 : q;
}

std::optional<int64_t> Apply(absl::string_view func, int64_t a, int64_t b) {
  if (func == "min") return std::min(a, b);
  if (func == "max") return std::max(a, b);
  if (b == 0 || (a == INT64_MIN && b == -1)) return std::nullopt;
  if (func == "floordiv") return FloorDivide(a, b);
  const int64_t rest = a % b;
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

}  // namespace

Dim::Dim(int64_t value) {
  auto rep = std::make_shared<Rep>();
  if (value != 0) rep->terms[{}] = value;
  rep_ = std::move(rep);
}

Dim Dim::Symbol(absl::string_view name) {
  auto rep = std::make_shared<Rep>();
  rep->terms[{Atom{std::string(name), "", nullptr}}] = 1;
  return Dim(std::move(rep));
}

Dim Dim::Unknown() {
  static const auto* const kUnknown = new std::shared_ptr<const Rep>([] {
    auto rep = std::make_shared<Rep>();
    rep->unknown = true;
    return rep;
  }());
  return Dim(*kUnknown);
}

bool Dim::is_unknown() const { return rep_->unknown; }

bool Dim::is_number() const {
  if (rep_->unknown || rep_->terms.size() > 1) return false;
  return rep_->terms.empty() || rep_->terms.begin()->first.empty();
}

int64_t Dim::value() const { return rep_->terms.empty() ? 0 : rep_->terms.begin()->second; }

bool Dim::Equals(const Dim& other) const {
  return !is_unknown() && !other.is_unknown() && rep_->terms == other.rep_->terms;
}

Dim Dim::FromTerms(std::map<std::vector<Atom>, int64_t> terms) {
  std::erase_if(terms, [](const auto& term) { return term.second == 0; });
  if (terms.size() > kMaxTerms) return Unknown();
  auto rep = std::make_shared<Rep>();
  rep->terms = std::move(terms);
  return Dim(std::move(rep));
}

Dim operator+(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::Unknown();
  auto terms = a.rep_->terms;
  for (const auto& [atoms, coefficient] : b.rep_->terms) {
    int64_t& sum = terms[atoms];
    if (__builtin_add_overflow(sum, coefficient, &sum)) return Dim::Unknown();
  }
  return Dim::FromTerms(std::move(terms));
}

Dim operator-(const Dim& a, const Dim& b) { return a + Dim(-1) * b; }

Dim operator*(const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Dim::Unknown();
  std::map<std::vector<Dim::Atom>, int64_t> terms;
  for (const auto& [atoms_a, ca] : a.rep_->terms) {
    for (const auto& [atoms_b, cb] : b.rep_->terms) {
      std::vector<Dim::Atom> atoms = atoms_a;
      atoms.insert(atoms.end(), atoms_b.begin(), atoms_b.end());
      std::sort(atoms.begin(), atoms.end());
      int64_t product;
      int64_t& sum = terms[std::move(atoms)];
      if (__builtin_mul_overflow(ca, cb, &product) || __builtin_add_overflow(sum, product, &sum)) {
        return Dim::Unknown();
      }
    }
  }
  return Dim::FromTerms(std::move(terms));
}

Dim Dim::Function(absl::string_view name, const Dim& a, const Dim& b) {
  if (a.is_unknown() || b.is_unknown()) return Unknown();
  if (a.is_number() && b.is_number()) {
    const auto value = Apply(name, a.value(), b.value());
    return value ? Dim(*value) : Unknown();
  }
  Atom atom{absl::StrCat(name, "(", a.ToString(), ", ", b.ToString(), ")"), std::string(name),
            std::make_shared<const std::pair<Dim, Dim>>(a, b)};
  return FromTerms({{{std::move(atom)}, 1}});
}

Dim Dim::FloorDiv(const Dim& a, const Dim& b) {
  if (!a.is_unknown() && b.is_number() && b.value() != 0) {
    const int64_t divisor = b.value();
    const auto divides = [&](const auto& term) { return Apply("mod", term.second, divisor) == 0; };
    if (std::all_of(a.rep_->terms.begin(), a.rep_->terms.end(), divides)) {
      auto terms = a.rep_->terms;
      for (auto& [atoms, coefficient] : terms) coefficient /= divisor;
      return FromTerms(std::move(terms));
    }
  }
  return Function("floordiv", a, b);
}

Dim Dim::Mod(const Dim& a, const Dim& b) { return Function("mod", a, b); }
Dim Dim::Min(const Dim& a, const Dim& b) { return a.Equals(b) ? a : Function("min", a, b); }
Dim Dim::Max(const Dim& a, const Dim& b) { return a.Equals(b) ? a : Function("max", a, b); }

std::optional<int64_t> Dim::Evaluate(const std::map<std::string, int64_t>& bindings) const {
  if (is_unknown()) return std::nullopt;
  int64_t sum = 0;
  for (const auto& [atoms, coefficient] : rep_->terms) {
    int64_t product = coefficient;
    for (const Atom& atom : atoms) {
      std::optional<int64_t> value;
      if (atom.operands == nullptr) {
        const auto it = bindings.find(atom.text);
        if (it != bindings.end()) value = it->second;
      } else {
        const auto a = atom.operands->first.Evaluate(bindings);
        const auto b = atom.operands->second.Evaluate(bindings);
        if (a && b) value = Apply(atom.func, *a, *b);
      }
      if (!value || __builtin_mul_overflow(product, *value, &product)) return std::nullopt;
    }
    if (__builtin_add_overflow(sum, product, &sum)) return std::nullopt;
  }
  return sum;
}

void Dim::CollectSymbols(std::set<std::string>* symbols) const {
  for (const auto& [atoms, coefficient] : rep_->terms) {
    for (const Atom& atom : atoms) {
      if (atom.operands == nullptr) {
        symbols->insert(atom.text);
      } else {
        atom.operands->first.CollectSymbols(symbols);
        atom.operands->second.CollectSymbols(symbols);
      }
    }
  }
}

std::string Dim::ToString() const {
  if (is_unknown()) return "?";
  std::string text;
  int64_t constant = 0;
  const auto append = [&](int64_t coefficient, std::string product) {
    if (!text.empty()) {
      absl::StrAppend(&text, coefficient < 0 ? " - " : " + ");
    } else if (coefficient < 0) {
      text = "-";
    }
    absl::StrAppend(&text, product);
  };
  const auto magnitude = [](int64_t value) { return value < 0 ? 0 - static_cast<uint64_t>(value) : value; };
  for (const auto& [atoms, coefficient] : rep_->terms) {
    if (atoms.empty()) {
      constant = coefficient;
      continue;
    }
    std::string product = absl::StrJoin(
        atoms, "*", [](std::string* out, const Atom& atom) { out->append(atom.text); });
    if (magnitude(coefficient) != 1) product = absl::StrCat(magnitude(coefficient), "*", product);
    append(coefficient, std::move(product));
  }
  if (constant != 0 || text.empty()) append(constant, absl::StrCat(magnitude(constant)));
  return text;
}

namespace {

// Recursive descent over the grammar in the header.
class Parser {
 public:
  explicit Parser(absl::string_view text) : rest_(text) {}

  absl::StatusOr<Dim> Parse() {
    absl::StatusOr<Dim> dim = Sum();
    SkipSpace();
    if (dim.ok() && !rest_.empty()) return Error();
    return dim;
  }

 private:
  absl::Status Error() const {
    return absl::InvalidArgumentError(absl::StrCat("not a size expression at '", rest_, "'"));
  }
  void SkipSpace() {
    while (!rest_.empty() && rest_.front() == ' ') rest_.remove_prefix(1);
  }
  bool Take(char c) {
    SkipSpace();
    if (rest_.empty() || rest_.front() != c) return false;
    rest_.remove_prefix(1);
    return true;
  }
  template <typename Accept>
  absl::string_view TakeWhile(Accept accept) {
    size_t n = 0;
    while (n < rest_.size() && accept(rest_[n])) ++n;
    const absl::string_view token = rest_.substr(0, n);
    rest_.remove_prefix(n);
    return token;
  }

  absl::StatusOr<Dim> Sum() {
    Dim sum(0);
    bool negative = Take('-');
    while (true) {
      absl::StatusOr<Dim> term = Term();
      if (!term.ok()) return term;
      sum = negative ? sum - *term : sum + *term;
      if (Take('+')) {
        negative = false;
      } else if (Take('-')) {
        negative = true;
      } else {
        return sum;
      }
    }
  }

  absl::StatusOr<Dim> Term() {
    absl::StatusOr<Dim> product = Factor();
    while (product.ok() && Take('*')) {
      const absl::StatusOr<Dim> factor = Factor();
      if (!factor.ok()) return factor;
      product = *product * *factor;
    }
    return product;
  }

  absl::StatusOr<Dim> Factor() {
    if (depth_ == kMaxParseDepth) return Error();
    ++depth_;
    absl::StatusOr<Dim> factor = DeeperFactor();
    --depth_;
    return factor;
  }

  absl::StatusOr<Dim> DeeperFactor() {
    SkipSpace();
    if (Take('?')) return Dim::Unknown();
    if (Take('(')) {
      const absl::StatusOr<Dim> sum = Sum();
      if (sum.ok() && !Take(')')) return Error();
      return sum;
    }
    if (!rest_.empty() && std::isdigit(static_cast<unsigned char>(rest_.front()))) {
      int64_t value;
      const auto digits =
          TakeWhile([](char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; });
      if (!absl::SimpleAtoi(digits, &value)) return Error();
      return Dim(value);
    }
    const auto name = TakeWhile([](char c) {
      return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.';
    });
    if (name.empty()) return Error();
    if (!Take('(')) return Dim::Symbol(name);
    return Call(name);
  }

  absl::StatusOr<Dim> Call(absl::string_view name) {
    const absl::StatusOr<Dim> a = Sum();
    if (!a.ok()) return a;
    if (!Take(',')) return Error();
    const absl::StatusOr<Dim> b = Sum();
    if (!b.ok()) return b;
    if (!Take(')')) return Error();
    if (name == "floordiv") return Dim::FloorDiv(*a, *b);
    if (name == "mod") return Dim::Mod(*a, *b);
    if (name == "min") return Dim::Min(*a, *b);
    if (name == "max") return Dim::Max(*a, *b);
    return Error();
  }

  absl::string_view rest_;
  int depth_ = 0;
};

}  // namespace

absl::StatusOr<Dim> Dim::Parse(absl::string_view text) { return Parser(text).Parse(); }

Dim NumElements(const Shape& shape) {
  Dim product(1);
  for (const Dim& dim : shape) product = product * dim;
  return product;
}

std::string ShapeToString(const Shape& shape) {
  return absl::StrCat("[", absl::StrJoin(shape, ", ", [](std::string* out, const Dim& dim) {
                        out->append(dim.ToString());
                      }), "]");
}

}  // namespace rules_onnx::ir
