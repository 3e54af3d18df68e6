#include "exporter/lowering/registry.h"

#include <map>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/families.h"

namespace rules_onnx::lowering {

const std::vector<const Family*>& Families() {
  static const auto* const kFamilies = new std::vector<const Family*>{
      &kActivation,
      &kArithmetic,
      &kMath,
      &kCompare,
      &kLinear,
      &kConv,
      &kNorm,
      &kReduce,
      &kAttention,
      &kPool,
      &kAdaptivePool,
      &kControlFlow,
      &kListChanges,
      &kResize,
      &kDropout,
      &kView,
      &kPermute,
      &kJoin,
      &kSplit,
      &kDiagonal,
      &kCast,
      &kIndex,
      &kGather,
      &kScatter,
      &kSegment,
      &kMask,
      &kRnn,
      &kPacked,
      &kSort,
      &kUnique,
      &kHistogram,
      &kRunning,
      &kCreation,
      &kRange,
      &kSize,
      &kScalar,
      &kContainer,
      &kDetection,
      &kRoi,
      &kQuantize,
      &kQuantized,
      &kNumeric,
      &kDifferences,
      &kLoss,
      &kClassLoss,
      &kCtc,
      &kGamma,
      &kErrorFunction,
      &kBessel,
      &kPolynomials,
      &kEmbeddingBag,
      &kEncoder,
      &kCumulative,
      &kDistance,
      &kPad,
      &kFold,
      &kProducts,
      &kLinalg,
      &kQr,
      &kGrid,
      &kSvd,
      &kSingularVectors,
      &kLstsq,
      &kLdl,
      &kLdlFactor,
      &kComplex,
      &kFft,
      &kRandom,
      &kRandomGamma,
      &kStft,
      &kPrims,
  };
  return *kFamilies;
}

const Row* FindRow(absl::string_view op) {
  static const auto* const kRows = [] {
    auto* rows = new std::map<std::string, const Row*, std::less<>>;
    for (const Family* family : Families()) {
      for (const Row& row : family->rows) rows->emplace(row.op, &row);
    }
    return rows;
  }();
  const bool named = op.find('.') != absl::string_view::npos;
  auto it = kRows->find(absl::StrCat(op, named ? "" : "."));
  if (it == kRows->end()) it = kRows->find(std::string(op.substr(0, op.find('.'))));
  return it == kRows->end() ? nullptr : it->second;
}

}  // namespace rules_onnx::lowering
