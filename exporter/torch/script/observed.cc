#include "exporter/torch/script/observed.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>
#include <utility>

namespace rules_onnx::script {
namespace {

using ir::Dim;
using Kind = ir::Type::Kind;

bool Holds(const Dim& dim, const std::vector<Bindings>& runs, const std::vector<int64_t>& sizes) {
  for (size_t r = 0; r < runs.size(); ++r) {
    if (dim.Evaluate(runs[r]) != sizes[r]) return false;
  }
  return true;
}

// Symbols bound in every run that take more than one value.
std::vector<std::string> MovingSymbols(const std::vector<Bindings>& runs) {
  std::vector<std::string> moving;
  for (const auto& [name, first] : runs.front()) {
    bool bound = true, moves = false;
    for (const Bindings& run : runs) {
      const auto at = run.find(name);
      bound = bound && at != run.end();
      moves = moves || (bound && at->second != first);
    }
    if (bound && moves) moving.push_back(name);
  }
  return moving;
}

// Solves rows * unknowns = right by elimination with pivoting; free unknowns are 0.
std::vector<double> Solve(std::vector<std::vector<double>> rows) {
  const size_t unknowns = rows.front().size() - 1;
  std::vector<std::optional<size_t>> pivot_row(unknowns);
  size_t next = 0;
  for (size_t column = 0; column < unknowns && next < rows.size(); ++column) {
    size_t best = next;
    for (size_t r = next; r < rows.size(); ++r) {
      if (std::abs(rows[r][column]) > std::abs(rows[best][column])) best = r;
    }
    if (std::abs(rows[best][column]) < 1e-9) continue;
    std::swap(rows[next], rows[best]);
    for (size_t r = 0; r < rows.size(); ++r) {
      if (r == next) continue;
      const double factor = rows[r][column] / rows[next][column];
      for (size_t c = column; c <= unknowns; ++c) rows[r][c] -= factor * rows[next][c];
    }
    pivot_row[column] = next++;
  }
  std::vector<double> solution(unknowns, 0);
  for (size_t column = 0; column < unknowns; ++column) {
    if (pivot_row[column]) {
      solution[column] = rows[*pivot_row[column]][unknowns] / rows[*pivot_row[column]][column];
    }
  }
  return solution;
}

std::optional<Dim> FitLinear(const std::vector<Bindings>& runs, const std::vector<int64_t>& sizes,
                             const std::vector<std::string>& symbols) {
  // One run more than there are unknowns, so that the fit is checked by a run it did not use.
  if (runs.size() < symbols.size() + 2) return std::nullopt;
  std::vector<std::vector<double>> rows;
  for (size_t r = 0; r < runs.size(); ++r) {
    std::vector<double> row = {1};
    for (const std::string& symbol : symbols) {
      row.push_back(static_cast<double>(runs[r].at(symbol)));
    }
    row.push_back(static_cast<double>(sizes[r]));
    rows.push_back(std::move(row));
  }
  const std::vector<double> solution = Solve(std::move(rows));
  const auto whole = [](double value) { return static_cast<int64_t>(std::llround(value)); };
  Dim dim(whole(solution[0]));
  for (size_t s = 0; s < symbols.size(); ++s) {
    dim = dim + Dim(whole(solution[s + 1])) * Dim::Symbol(symbols[s]);
  }
  return Holds(dim, runs, sizes) ? std::optional<Dim>(dim) : std::nullopt;
}

// (a + p) * (b + q) * k, from the runs in which one of the two symbols moves alone.
std::optional<Dim> FitProduct(const std::vector<Bindings>& runs, const std::vector<int64_t>& sizes,
                              const std::string& a, const std::string& b) {
  const auto slope = [&](const std::string& symbol) -> std::optional<double> {
    for (size_t r = 1; r < runs.size(); ++r) {
      Bindings moved = runs[r];
      const int64_t step = moved.at(symbol) - runs[0].at(symbol);
      moved[symbol] = runs[0].at(symbol);
      if (step != 0 && moved == runs[0]) {
        return static_cast<double>(sizes[r] - sizes[0]) / static_cast<double>(step);
      }
    }
    return std::nullopt;
  };
  const auto slope_a = slope(a), slope_b = slope(b);
  if (!slope_a || !slope_b || *slope_a == 0 || *slope_b == 0) return std::nullopt;
  const double p = static_cast<double>(sizes[0]) / *slope_a - static_cast<double>(runs[0].at(a));
  const double q = static_cast<double>(sizes[0]) / *slope_b - static_cast<double>(runs[0].at(b));
  const int64_t wp = std::llround(p), wq = std::llround(q);
  const int64_t base = (runs[0].at(a) + wp) * (runs[0].at(b) + wq);
  if (base == 0 || sizes[0] % base != 0) return std::nullopt;
  const Dim dim =
      Dim(sizes[0] / base) * (Dim::Symbol(a) + Dim(wp)) * (Dim::Symbol(b) + Dim(wq));
  return Holds(dim, runs, sizes) ? std::optional<Dim>(dim) : std::nullopt;
}

bool IsSymbolic(const Dim& dim) {
  std::set<std::string> symbols;
  dim.CollectSymbols(&symbols);
  return !symbols.empty();
}

void JoinLists(Observed* a, const Observed& b) {
  if (!a->length_varies && !b.length_varies && a->elements.size() == b.elements.size()) {
    for (size_t i = 0; i < a->elements.size(); ++i) a->elements[i].Join(b.elements[i]);
    return;
  }
  std::vector<Observed> all = std::move(a->elements);
  all.insert(all.end(), b.elements.begin(), b.elements.end());
  a->elements.clear();
  a->length_varies = true;
  if (all.empty()) return;
  for (size_t i = 1; i < all.size(); ++i) all[0].Join(all[i]);
  a->elements.push_back(std::move(all[0]));
}

}  // namespace

void Observed::Join(const Observed& other) {
  if (kind == Kind::kUnknown) {
    *this = other;
    return;
  }
  if (other.kind == Kind::kUnknown) return;
  if (kind != other.kind) {
    if (kind == Kind::kOptional || other.kind == Kind::kOptional || kind == Kind::kNone ||
        other.kind == Kind::kNone) {
      const auto inner = [](const Observed& o) {
        if (o.kind == Kind::kNone) return Observed();
        return o.kind == Kind::kOptional ? o.elements[0] : o;
      };
      Observed joined = inner(*this);
      joined.Join(inner(other));
      *this = Observed{.kind = Kind::kOptional, .elements = {std::move(joined)}};
      return;
    }
    *this = Observed();
    return;
  }
  if (number != other.number) number.reset();
  switch (kind) {
    case Kind::kTensor:
      if (dtype != other.dtype) dtype = ir::DType::kUndefined;
      if (!sizes || !other.sizes || sizes->size() != other.sizes->size()) {
        sizes.reset();
        return;
      }
      for (size_t i = 0; i < sizes->size(); ++i) {
        if ((*sizes)[i] != (*other.sizes)[i]) (*sizes)[i] = kVaries;
      }
      return;
    case Kind::kList:
      JoinLists(this, other);
      return;
    default:
      if (field_names != other.field_names) {
        field_names.clear();
        fields.clear();
      }
      for (size_t i = 0; i < std::min(fields.size(), other.fields.size()); ++i) {
        fields[i].Join(other.fields[i]);
      }
      for (size_t i = 0; i < std::min(elements.size(), other.elements.size()); ++i) {
        elements[i].Join(other.elements[i]);
      }
  }
}

ir::Dim FitDim(const std::vector<Bindings>& runs, const std::vector<int64_t>& sizes,
               const DimHints& hints) {
  const bool varies =
      std::any_of(sizes.begin(), sizes.end(), [](int64_t s) { return s == Observed::kVaries; });
  if (varies || sizes.empty()) return Dim::Unknown();
  for (const Dim& dim : hints.derived) {
    if (IsSymbolic(dim) && Holds(dim, runs, sizes)) return dim;
  }
  if (std::all_of(sizes.begin(), sizes.end(), [&](int64_t s) { return s == sizes[0]; })) {
    return Dim(sizes[0]);
  }
  const std::vector<std::string> symbols = MovingSymbols(runs);
  for (const std::string& symbol : symbols) {
    if (Holds(Dim::Symbol(symbol), runs, sizes)) return Dim::Symbol(symbol);
  }
  for (const Dim& dim : hints.possible) {
    if (IsSymbolic(dim) && Holds(dim, runs, sizes)) return dim;
  }
  for (const std::string& symbol : symbols) {
    if (auto dim = FitLinear(runs, sizes, {symbol})) return *dim;
  }
  if (auto dim = FitLinear(runs, sizes, symbols)) return *dim;
  for (size_t i = 0; i < symbols.size(); ++i) {
    for (size_t j = i + 1; j < symbols.size(); ++j) {
      if (auto dim = FitProduct(runs, sizes, symbols[i], symbols[j])) return *dim;
    }
  }
  return Dim::Unknown();
}

namespace {

// Whether the tensor may be that of a list of numbers: the form of those that differ in length.
bool IsTensorOf(const ir::Type& tensor, const ir::Type& list) {
  if (!tensor.is_tensor() || !tensor.shape || tensor.shape->size() != 1) return false;
  if (list.kind != Kind::kList && list.kind != Kind::kTuple) return false;
  return std::all_of(list.elements.begin(), list.elements.end(), [&](const ir::Type& element) {
    const bool unknown = list.kind == Kind::kList && element.kind == Kind::kUnknown;
    return unknown || (element.is_number() && element.TensorDType() == tensor.dtype);
  });
}

}  // namespace

ir::Type JoinTypes(const ir::Type& a, const ir::Type& b) {
  if (a.kind == Kind::kUnknown) return b;
  if (b.kind == Kind::kUnknown) return a;
  if (IsTensorOf(a, b)) return a;
  if (IsTensorOf(b, a)) return b;
  if (a.kind == Kind::kTuple && b.kind == Kind::kList) return JoinTypes(b, a);
  if (a.kind == Kind::kList && b.kind == Kind::kTuple) {
    // Lists of a known length, in the one type by it.
    ir::Type joined = b;
    for (ir::Type& element : joined.elements) element = JoinTypes(element, a.elements[0]);
    return joined;
  }
  if (a.kind != b.kind) {
    if (a.kind == Kind::kOptional || b.kind == Kind::kOptional || a.kind == Kind::kNone ||
        b.kind == Kind::kNone) {
      const auto inner = [](const ir::Type& type) {
        if (type.kind == Kind::kNone) return ir::Type();
        return type.kind == Kind::kOptional ? type.elements[0] : type;
      };
      return ir::Type{.kind = Kind::kOptional, .elements = {JoinTypes(inner(a), inner(b))}};
    }
    return ir::Type();
  }
  ir::Type joined = a;
  if (a.is_tensor()) {
    if (a.dtype != b.dtype) joined.dtype = ir::DType::kUndefined;
    if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) {
      joined.shape.reset();
      return joined;
    }
    for (size_t i = 0; i < a.shape->size(); ++i) {
      if (!(*a.shape)[i].Equals((*b.shape)[i])) (*joined.shape)[i] = Dim::Unknown();
    }
    return joined;
  }
  for (size_t i = 0; i < std::min(a.elements.size(), b.elements.size()); ++i) {
    joined.elements[i] = JoinTypes(a.elements[i], b.elements[i]);
  }
  return joined;
}

}  // namespace rules_onnx::script
