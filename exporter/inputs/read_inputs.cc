#include "exporter/inputs/read_inputs.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/inputs/npy.h"
#include "exporter/inputs/spec.h"
#include "exporter/inputs/tensor_pb.h"

namespace rules_onnx::inputs {
namespace {

absl::StatusOr<Inputs> ReadItem(const std::string& item, uint64_t position,
                                const PickleReader& read_pickle) {
  if (NamesFile(item)) {
    if (absl::EndsWith(item, ".npz")) return ReadNpz(item);
    if (absl::EndsWith(item, ".npy")) return ReadNpy(item);
    if (absl::EndsWith(item, ".pb")) return ReadTensorPb(item);
    if (read_pickle != nullptr) return read_pickle(item);
    return absl::UnimplementedError(absl::StrCat(
        "cannot read ", item, ": torch.save'd inputs are read with .pt programs only"));
  }
  absl::StatusOr<Argument> argument = ParseSpec(item, position);
  if (!argument.ok()) return argument.status();
  Inputs inputs;
  inputs.arguments.push_back(*std::move(argument));
  return inputs;
}

absl::Status CheckKeywords(const Inputs& inputs) {
  std::set<std::string> seen;
  for (const Argument& argument : inputs.arguments) {
    if (argument.by_name && !seen.insert(argument.name).second) {
      return absl::InvalidArgumentError(absl::StrCat("input ", argument.name, " is given twice"));
    }
  }
  return absl::OkStatus();
}

}  // namespace

bool NamesFile(absl::string_view item) {
  // The text of a string may look like a file's name.
  if (absl::StrContains(item, "str=")) return false;
  return absl::EndsWith(item, ".npz") || absl::EndsWith(item, ".npy") ||
         absl::EndsWith(item, ".pb") || absl::EndsWith(item, ".pt");
}

absl::StatusOr<Inputs> ReadInputs(const std::vector<std::string>& items,
                                  const PickleReader& read_pickle) {
  Inputs all;
  for (const std::string& item : items) {
    absl::StatusOr<Inputs> inputs = ReadItem(item, all.arguments.size(), read_pickle);
    if (!inputs.ok()) return inputs.status();
    std::move(inputs->arguments.begin(), inputs->arguments.end(),
              std::back_inserter(all.arguments));
  }
  std::stable_partition(all.arguments.begin(), all.arguments.end(),
                        [](const Argument& argument) { return !argument.by_name; });
  absl::Status status = CheckKeywords(all);
  if (status.ok()) status = CollectSymbols(all).status();
  if (!status.ok()) return status;
  return all;
}

}  // namespace rules_onnx::inputs
