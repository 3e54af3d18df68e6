// Symbolic sizes: a number, an integer expression over named symbols, or unknown.
//
// Expressions only annotate a graph (types, dim_param); sizes at run time are always computed
// from Shape. Dims are immutable values, kept in one canonical form, so that equal expressions
// compare and print equal: a sum of products of atoms with integer coefficients, where an atom is
// a symbol or one of floordiv, mod, min, max of two dims. What overflows int64 or has more than 256
// terms is unknown.
//
// Text form (ToString, Parse), written and read here only:
//   dim    = "?" | sum
//   sum    = ["-"] term { ("+" | "-") term }
//   term   = factor { "*" factor }
//   factor = integer | symbol | func "(" sum "," sum ")" | "(" sum ")"
//   func   = "floordiv" | "mod" | "min" | "max"
#ifndef RULES_ONNX_EXPORTER_IR_DIM_H_
#define RULES_ONNX_EXPORTER_IR_DIM_H_

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rules_onnx::ir {

class Dim {
 public:
  Dim() : Dim(Unknown()) {}
  Dim(int64_t value);  // NOLINT: a number is a dim
  static Dim Symbol(absl::string_view name);
  static Dim Unknown();

  bool is_number() const;
  bool is_unknown() const;
  // Requires is_number().
  int64_t value() const;

  // True where both are known and the same expression. Two unknown dims are never equal.
  bool Equals(const Dim& other) const;

  // The value under the given bindings; nullopt where a symbol is unbound, the dim is unknown, or
  // a division by zero occurs.
  std::optional<int64_t> Evaluate(const std::map<std::string, int64_t>& bindings) const;
  void CollectSymbols(std::set<std::string>* symbols) const;

  std::string ToString() const;
  static absl::StatusOr<Dim> Parse(absl::string_view text);

  friend Dim operator+(const Dim& a, const Dim& b);
  friend Dim operator-(const Dim& a, const Dim& b);
  friend Dim operator*(const Dim& a, const Dim& b);
  static Dim FloorDiv(const Dim& a, const Dim& b);
  static Dim Mod(const Dim& a, const Dim& b);
  static Dim Min(const Dim& a, const Dim& b);
  static Dim Max(const Dim& a, const Dim& b);

 private:
  struct Rep;
  struct Term;
  struct Atom;
  explicit Dim(std::shared_ptr<const Rep> rep) : rep_(std::move(rep)) {}
  static Dim Function(absl::string_view name, const Dim& a, const Dim& b);
  static Dim FromTerms(std::map<std::vector<Atom>, int64_t> terms);

  std::shared_ptr<const Rep> rep_;
};

using Shape = std::vector<Dim>;

// Product of all dims; 1 for rank 0.
Dim NumElements(const Shape& shape);
// "[N, 3, 2*H]".
std::string ShapeToString(const Shape& shape);

}  // namespace rules_onnx::ir

#endif  // RULES_ONNX_EXPORTER_IR_DIM_H_
