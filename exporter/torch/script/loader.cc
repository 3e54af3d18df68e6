#include "exporter/torch/script/loader.h"

#include <torch/csrc/jit/serialization/import.h>

#include <algorithm>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/torch/script/mapped_archive.h"
#include "exporter/torch/script/torchvision.h"
#include "exporter/torch/values/tensors.h"
#include "exporter/zip/zip_reader.h"

namespace rules_onnx::script {
namespace {

constexpr char kWhatToSave[] =
    "save a program with torch.jit.trace(...).save(), torch.jit.script(...).save() or "
    "torch.export.save()";

bool Holds(const zip::ZipReader& archive, absl::string_view part_of_name) {
  return std::any_of(archive.entries().begin(), archive.entries().end(),
                     [&](const zip::Entry& entry) {
                       return absl::StrContains(entry.name, part_of_name);
                     });
}

absl::StatusOr<zip::ZipReader> OpenProgram(const std::string& path) {
  auto archive = zip::ZipReader::Open(path);
  if (absl::IsInvalidArgument(archive.status())) {
    return absl::InvalidArgumentError(
        absl::StrCat(archive.status().message(), "; ", kWhatToSave));
  }
  if (!archive.ok() || Holds(*archive, "/constants.pkl")) return archive;
  if (Holds(*archive, "archive_format") || Holds(*archive, "serialized_exported_program") ||
      Holds(*archive, "models/")) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": is an ExportedProgram (.pt2), not TorchScript; name it with the suffix .pt2"));
  }
  if (Holds(*archive, "/data.pkl")) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": holds saved tensors (a state dict or a pickled object), not a program; ",
        kWhatToSave));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": is a zip file, but not a TorchScript program; ", kWhatToSave));
}

absl::Status ExplainLoadFailure(const std::string& path, const std::string& message) {
  if (absl::StrContains(message, "Unknown builtin op")) {
    return absl::InvalidArgumentError(absl::StrCat(
        path, ": uses an operator that is not registered here: ", message,
        "; name the library that defines it with --torch-library"));
  }
  const bool damaged = absl::StrContains(message, "PytorchStreamReader");
  return absl::InvalidArgumentError(
      absl::StrCat(path, damaged ? ": is damaged: " : ": cannot be loaded: ", message));
}

}  // namespace

absl::StatusOr<torch::jit::Module> LoadProgram(const std::string& path) {
  const auto program = OpenProgram(path);
  if (!program.ok()) return program.status();
  auto archive = MappedArchive::Open(*program);
  if (!archive.ok()) return archive.status();
  RegisterTorchvisionOperators();
  try {
    return torch::jit::load(*std::move(archive), at::kCPU);
  } catch (const std::exception& exception) {
    return ExplainLoadFailure(path, torch_values::ExceptionText(exception));
  }
}

}  // namespace rules_onnx::script
