#include "exporter/cli/program_kind.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/zip/zip_reader.h"

namespace rules_onnx::cli {
namespace {

constexpr char kWhatToSave[] =
    "save a program with torch.jit.trace(...).save(), torch.jit.script(...).save() or "
    "torch.export.save()";

}  // namespace

absl::StatusOr<ProgramKind> DetectProgram(const std::string& path) {
  const absl::StatusOr<zip::ZipReader> zip = zip::ZipReader::Open(path);
  if (!zip.ok()) return zip.status();
  bool code = false, constants = false, data = false, model = false;
  for (const zip::Entry& entry : zip->entries()) {
    const absl::string_view name = entry.name;
    // Everything lies in one folder, whose name is the file's.
    const absl::string_view inner = name.substr(name.find('/') + 1);
    code |= absl::StartsWith(inner, "code/");
    constants |= inner == "constants.pkl";
    data |= inner == "data.pkl";
    model |= absl::StartsWith(inner, "models/") && absl::EndsWith(inner, ".json");
    model |= name == "serialized_exported_program.json";
  }
  if (model) return ProgramKind::kExportedProgram;
  if (code && constants) return ProgramKind::kTorchScript;
  if (data) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, " holds saved tensors (a state dict or a pickled object), not a program; ",
                     kWhatToSave));
  }
  return absl::InvalidArgumentError(
      absl::StrCat(path, " is a zip file without a PyTorch program; ", kWhatToSave));
}

}  // namespace rules_onnx::cli
