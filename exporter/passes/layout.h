// Where a tensor's elements lie in its storage, as far as that decides whether an operator gives
// a view or a copy (reshape, contiguous, flatten).
#ifndef RULES_ONNX_EXPORTER_PASSES_LAYOUT_H_
#define RULES_ONNX_EXPORTER_PASSES_LAYOUT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "exporter/ir/graph.h"
#include "exporter/ir/type.h"

namespace rules_onnx::passes {

enum class Answer {
  kNo,
  kYes,
  kUnknown,
  kAtSizeOne,  // no, but where a dynamic axis has size 1: its stride means nothing then
};

// The operator gives channels_last or channels_last_3d (c10::MemoryFormat): its argument
// memory_format, of which front ends keep nothing else.
bool WantsChannelsLast(const ir::Node& node);

// Element strides, symbolic where the shape is.
class Layout {
 public:
  // Nothing is known.
  Layout() = default;
  // Row-major, of whatever shape.
  static Layout Contiguous(const ir::Type& type);
  // In elements, one for each axis of the type.
  static Layout Strided(const std::vector<int64_t>& strides, const ir::Type& type);

  // `type` is the tensor's own.
  Answer IsContiguous(const ir::Type& type) const;
  // Whether PyTorch's reshape from `from` to `to` is a view.
  Answer ReshapeIsView(const ir::Type& from, const ir::Type& to) const;

  // The layout of the result of a view operator on a tensor of this layout; `node`'s first
  // argument has type `from`, its output type `to`.
  Layout AfterView(const ir::Node& node, const ir::Type& from, const ir::Type& to) const;

 private:
  using Strides = std::vector<ir::Dim>;

  bool contiguous_ = false;          // known to be, even where strides_ is not known
  std::optional<Strides> strides_;
};

}  // namespace rules_onnx::passes

#endif  // RULES_ONNX_EXPORTER_PASSES_LAYOUT_H_
