#include <algorithm>

#include "absl/strings/str_cat.h"
#include "exporter/inputs/input.h"

namespace rules_onnx::inputs {
namespace {

absl::Status Merge(const Axis& axis, const std::string& path,
                   std::map<std::string, SymbolSizes>* symbols) {
  const auto [found, is_new] = symbols->try_emplace(axis.symbol, SymbolSizes{axis.size, {}});
  SymbolSizes& sizes = found->second;
  if (sizes.example != axis.size) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis.symbol, " has size ", axis.size,
                                                   " in input ", path, ", but ", sizes.example,
                                                   " before; one name means one size"));
  }
  if (sizes.second && axis.second && *sizes.second != *axis.second) {
    return absl::InvalidArgumentError(absl::StrCat("axis ", axis.symbol, " has second size ",
                                                   *axis.second, " in input ", path, ", but ",
                                                   *sizes.second, " before"));
  }
  if (axis.second) sizes.second = axis.second;
  return absl::OkStatus();
}

// `bytes` seen as [outer, old_size, inner] with axis 1 at new_size.
std::string ResizedAxis(const std::string& bytes, uint64_t outer, int64_t old_size,
                        int64_t new_size, uint64_t inner) {
  std::string result;
  result.reserve(outer * new_size * inner);
  if (old_size == 0) {
    result.resize(outer * new_size * inner);
    return result;
  }
  for (uint64_t block = 0; block < outer; ++block) {
    const uint64_t begin = block * old_size * inner;
    for (int64_t done = 0; done < new_size; done += old_size) {
      result.append(bytes, begin, std::min(old_size, new_size - done) * inner);
    }
  }
  return result;
}

void Resize(const std::map<std::string, int64_t>& sizes, Tensor* tensor) {
  uint64_t outer = 1;
  for (size_t i = 0; i < tensor->axes.size(); outer *= tensor->axes[i++].size) {
    Axis& axis = tensor->axes[i];
    const auto found = sizes.find(axis.symbol);
    if (axis.symbol.empty() || found == sizes.end() || found->second == axis.size) continue;
    uint64_t inner = ir::ElementSize(tensor->dtype);
    for (size_t j = i + 1; j < tensor->axes.size(); ++j) inner *= tensor->axes[j].size;
    tensor->bytes = ResizedAxis(tensor->bytes, outer, axis.size, found->second, inner);
    axis.size = found->second;
  }
}

}  // namespace

absl::StatusOr<std::map<std::string, SymbolSizes>> CollectSymbols(const Inputs& inputs) {
  std::map<std::string, SymbolSizes> symbols;
  for (const Leaf& leaf : TensorLeaves(inputs)) {
    for (const Axis& axis : leaf.value->tensor.axes) {
      if (axis.symbol.empty()) continue;
      const absl::Status status = Merge(axis, leaf.path, &symbols);
      if (!status.ok()) return status;
    }
  }
  return symbols;
}

Inputs WithSizes(const Inputs& inputs, const std::map<std::string, int64_t>& sizes) {
  Inputs result = inputs;
  for (Tensor* tensor : MutableTensors(&result)) Resize(sizes, tensor);
  return result;
}

Inputs WithSizesAlone(Inputs inputs, const std::map<std::string, int64_t>& sizes) {
  for (Tensor* tensor : MutableTensors(&inputs)) {
    tensor->bytes.clear();
    for (Axis& axis : tensor->axes) {
      if (const auto found = sizes.find(axis.symbol); found != sizes.end()) {
        axis.size = found->second;
      }
    }
  }
  return inputs;
}

}  // namespace rules_onnx::inputs
