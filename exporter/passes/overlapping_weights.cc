#include "exporter/passes/overlapping_weights.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "exporter/passes/alias_classes.h"
#include "exporter/passes/layout.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

// A weight of static shape and its place in a storage.
struct Area {
  const ir::Weight* weight;
  const ir::WeightMemory* memory;
  std::vector<int64_t> sizes;
  int64_t element_size;  // in bytes

  int64_t begin() const { return memory->offset * element_size; }
  // Past the last element; `begin()` if there is none.
  int64_t end() const {
    int64_t last = memory->offset;
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] == 0) return begin();
      last += (sizes[i] - 1) * memory->strides[i];
    }
    return (last + 1) * element_size;
  }
  // Its elements are fewer than its sizes say: an axis was expanded.
  bool ShowsElementsTwice() const {
    for (size_t i = 0; i < sizes.size(); ++i) {
      if (sizes[i] > 1 && memory->strides[i] == 0) return true;
    }
    return false;
  }
  bool IsContiguous() const {
    const ir::Type& type = weight->value->type;
    return Layout::Strided(memory->strides, type).IsContiguous(type) == Answer::kYes;
  }
};
using Areas = std::vector<Area>;

// The weights that have elements, by their storage.
std::vector<Areas> Storages(const Context& context) {
  std::map<int, Areas> by_storage;
  for (size_t i = 0; i < context.weight_memory.size(); ++i) {
    const ir::Weight& weight = context.graph->weights[i];
    Area area{&weight, &context.weight_memory[i], {}, 0};
    for (const ir::Dim& dim : *weight.value->type.shape) area.sizes.push_back(dim.value());
    area.element_size = static_cast<int64_t>(ir::ElementSize(weight.value->type.dtype));
    if (area.begin() < area.end()) by_storage[area.memory->storage].push_back(std::move(area));
  }
  std::vector<Areas> storages;
  for (auto& [storage, areas] : by_storage) storages.push_back(std::move(areas));
  return storages;
}

// Areas whose ranges of bytes meet, directly or by way of others: those of the same storage that may
// have elements in common.
std::vector<Areas> MeetingRanges(Areas areas) {
  std::stable_sort(areas.begin(), areas.end(),
                   [](const Area& a, const Area& b) { return a.begin() < b.begin(); });
  std::vector<Areas> meeting;
  int64_t end = std::numeric_limits<int64_t>::min();
  for (Area& area : areas) {
    if (area.begin() >= end) meeting.emplace_back();
    end = std::max(end, area.end());
    meeting.back().push_back(std::move(area));
  }
  return meeting;
}

// Calls `visit` with the offset of each element, in elements of the storage.
template <typename Visit>
void ForEachOffset(const Area& area, const Visit& visit, size_t axis = 0, int64_t offset = 0) {
  if (axis == area.sizes.size()) return visit(area.memory->offset + offset);
  for (int64_t i = 0; i < area.sizes[axis]; ++i) {
    ForEachOffset(area, visit, axis + 1, offset + i * area.memory->strides[axis]);
  }
}

// Areas that have elements in common, directly or by way of others. Takes them in order of where
// they begin.
std::vector<Areas> Overlapping(const Areas& areas) {
  constexpr int kNobody = -1;
  const int64_t begin = areas[0].begin();
  int64_t end = begin;
  for (const Area& area : areas) end = std::max(end, area.end());
  std::vector<int> owners(static_cast<size_t>(end - begin), kNobody);  // of each byte
  std::vector<int> groups(areas.size());                               // of each area
  std::iota(groups.begin(), groups.end(), 0);
  for (size_t i = 0; i < areas.size(); ++i) {
    const int64_t size = areas[i].element_size;
    ForEachOffset(areas[i], [&](int64_t offset) {
      for (int64_t byte = offset * size; byte < (offset + 1) * size; ++byte) {
        int& owner = owners[static_cast<size_t>(byte - begin)];
        if (owner != kNobody && groups[owner] != groups[i]) {
          const int from = groups[i], to = groups[owner];
          std::replace(groups.begin(), groups.end(), from, to);
        }
        owner = static_cast<int>(i);
      }
    });
  }
  std::map<int, Areas> by_group;
  for (size_t i = 0; i < areas.size(); ++i) by_group[groups[i]].push_back(areas[i]);
  std::vector<Areas> overlapping;
  for (auto& [group, members] : by_group) {
    if (members.size() > 1 || members[0].ShowsElementsTwice()) {
      overlapping.push_back(std::move(members));
    }
  }
  return overlapping;
}

// The contiguous area that holds all others, or nullptr.
const Area* WholeOf(const Areas& areas) {
  const auto holds_all = [&](const Area& whole) {
    return whole.IsContiguous() && std::all_of(areas.begin(), areas.end(), [&](const Area& area) {
             return area.weight->value->type.dtype == whole.weight->value->type.dtype &&
                    area.begin() >= whole.begin() && area.end() <= whole.end();
           });
  };
  const auto whole = std::find_if(areas.begin(), areas.end(), holds_all);
  return whole == areas.end() ? nullptr : &*whole;
}

// The first node that writes to one of the areas; nullptr where none does.
const ir::Node* WriterOf(const Areas& areas, const AliasClasses& classes) {
  std::vector<const ir::Value*> values;
  for (const Area& area : areas) values.push_back(area.weight->value);
  return classes.FirstWriter(values);
}

// Why writes to them cannot be said.
std::string Describe(const Areas& areas) {
  if (areas.size() == 1) {
    return absl::StrCat("the weight '", areas[0].weight->name,
                        "', which it writes to, shows the same elements several times");
  }
  std::vector<std::string> names;
  for (const Area& area : areas) names.push_back(absl::StrCat("'", area.weight->name, "'"));
  return absl::StrCat("the weights ", absl::StrJoin(names, ", "),
                      " share memory that it writes to, and none of them holds the others");
}

// Makes views of `whole` out of the other areas.
void MakeViews(const Area& whole, const Areas& areas, Emitter* emitter, Replacements* views) {
  for (const Area& area : areas) {
    if (&area == &whole) continue;
    ir::Value* view =
        emitter->Emit("aten::as_strided",
                      {{"self", whole.weight->value},
                       {"size", ir::Arg::Ints(area.sizes)},
                       {"stride", ir::Arg::Ints(area.memory->strides)},
                       {"storage_offset", area.memory->offset}},
                      area.weight->value->type);
    view->name = area.weight->name;
    views->Set(area.weight->value, view);
  }
}

}  // namespace

void ViewOverlappingWeights(Context* context) {
  std::vector<Areas> ranges;
  for (Areas& storage : Storages(*context)) {
    for (Areas& range : MeetingRanges(std::move(storage))) {
      if (range.size() > 1 || range[0].ShowsElementsTwice()) ranges.push_back(std::move(range));
    }
  }
  if (ranges.empty()) return;
  const AliasClasses classes(*context->graph, context->schemas);
  NodeList made;
  Replacements views;
  for (const Areas& range : ranges) {
    if (WriterOf(range, classes) == nullptr) continue;
    for (const Areas& areas : Overlapping(range)) {
      const ir::Node* writer = WriterOf(areas, classes);
      if (writer == nullptr) continue;
      if (const Area* whole = WholeOf(areas)) {
        Emitter emitter(context, *writer, &made);
        MakeViews(*whole, areas, &emitter, &views);
        continue;
      }
      context->Report(diagnostics::Severity::kError, "ambiguous-alias", *writer, Describe(areas),
                      "clone() it before it is registered");
    }
  }
  if (made.empty()) return;
  NodeList& nodes = context->graph->main.nodes;
  views.ApplyToAll(&context->graph->main);
  nodes.insert(nodes.begin(), std::make_move_iterator(made.begin()),
               std::make_move_iterator(made.end()));
}

}  // namespace rules_onnx::passes
