#include "exporter/torch/value_writer.h"

#include <ATen/ATen.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "exporter/inputs/tensor_pb.h"

namespace rules_onnx::torch_command {
namespace {

constexpr size_t kEnoughBytes = size_t{256} << 20;

}  // namespace

absl::Status WriteTensors(const std::string& folder, const std::string& kind,
                          const std::vector<torch_values::NamedTensor>& tensors) {
  for (size_t i = 0; i < tensors.size(); ++i) {
    const absl::Status status =
        inputs::WriteTensorPb(absl::StrCat(folder, "/", kind, "_", i, ".pb"), tensors[i].name,
                              torch_values::ToInput(tensors[i].tensor));
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<reference::Place> ParsePlace(const std::string& text) {
  reference::Place place;
  for (const absl::string_view part : absl::StrSplit(text, '/', absl::SkipEmpty())) {
    const std::vector<absl::string_view> numbers = absl::StrSplit(part, ':');
    reference::Enclosing& one = place.emplace_back();
    if (numbers.size() != 2 || !absl::SimpleAtoi(numbers[0], &one.node) ||
        !absl::SimpleAtoi(numbers[1], &one.iteration)) {
      return absl::InvalidArgumentError(absl::StrCat("--values-of ", text, ": wants 5:2/14:3"));
    }
  }
  return place;
}

ValueWriter::ValueWriter(reference::Place from, std::string folder)
    : from_(std::move(from)), folder_(std::move(folder)) {}

void ValueWriter::Write(const reference::Place& place, const ir::Value& value,
                        const c10::IValue& what) {
  if (!status_.ok() || !IsWanted(place)) return;
  const int64_t iteration = place.empty() ? 0 : place.back().iteration;
  if (iteration != last_iteration_ && bytes_ >= kEnoughBytes) {
    has_ended_run_ = true;
    throw std::runtime_error("enough is written");
  }
  last_iteration_ = iteration;
  std::vector<torch_values::NamedTensor> tensors;
  torch_values::Flatten(what, absl::StrCat(value.id), &tensors);
  for (torch_values::NamedTensor& tensor : tensors) {
    if (tensor.tensor.is_complex()) {
      tensor.tensor = at::view_as_real(tensor.tensor.resolve_conj());
    }
    bytes_ += tensor.tensor.nbytes();
  }
  status_ = WriteTensors(folder_, absl::StrCat(iteration, "_", value.id), tensors);
}

// The block is run in the same place, in that iteration or a later one.
bool ValueWriter::IsWanted(const reference::Place& place) const {
  if (place.size() != from_.size()) return false;
  if (place.empty()) return true;
  return place.back().node == from_.back().node &&
         place.back().iteration >= from_.back().iteration &&
         std::equal(place.begin(), place.end() - 1, from_.begin());
}

}  // namespace rules_onnx::torch_command
