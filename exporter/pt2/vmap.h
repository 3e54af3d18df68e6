// torch.vmap in programs that were not decomposed. torch.export records it as functions without an
// operator, between which operators see one slice of each batched tensor:
//
//   _vmap_increment_nesting(size, randomness)
//   t = _add_batch_dim(x, dim, level)           a slice of x along dim
//   …
//   y = _remove_batch_dim(t, level, size, dim)  the results of all slices, along dim
//   _vmap_decrement_nesting()
//
// They become a prim::Scan (ir/graph.h). Source: torch/_functorch/{predispatch,vmap}.py.
#ifndef RULES_ONNX_EXPORTER_PT2_VMAP_H_
#define RULES_ONNX_EXPORTER_PT2_VMAP_H_

#include <cstddef>

#include "absl/types/span.h"
#include "exporter/pt2/format.h"

namespace rules_onnx::pt2 {

bool BeginsVmap(const NodeDef& node);

// How many nodes, both ends among them, the region has that nodes.front() begins; 0 where none of
// the nodes ends it.
size_t VmapLength(absl::Span<const NodeDef> nodes);

bool IsVmapSlice(const NodeDef& node);
bool IsVmapResult(const NodeDef& node);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_VMAP_H_
