#include "exporter/torch/script/loader.h"

#include <sys/stat.h>
#include <torch/csrc/jit/serialization/import.h>

#include <cerrno>
#include <cstring>
#include <fstream>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/torch/script/torchvision.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
namespace {

constexpr char kWhatToSave[] =
    "save a program with torch.jit.trace(...).save(), torch.jit.script(...).save() or "
    "torch.export.save()";

enum class FileKind { kZip, kPickle, kText, kEmpty, kOther };

FileKind KindOf(absl::string_view head) {
  if (head.empty()) return FileKind::kEmpty;
  if (absl::StartsWith(head, "PK\x03\x04")) return FileKind::kZip;
  if (head.size() > 1 && head[0] == '\x80' && head[1] >= 2 && head[1] <= 5) {
    return FileKind::kPickle;
  }
  for (const char c : head) {
    if (!absl::ascii_isprint(c) && !absl::ascii_isspace(c)) return FileKind::kOther;
  }
  return FileKind::kText;
}

absl::Status CheckFile(const std::string& path) {
  struct stat info;
  if (stat(path.c_str(), &info) != 0) {
    const std::string message = absl::StrCat(path, ": ", std::strerror(errno));
    return errno == ENOENT ? absl::NotFoundError(message) : absl::UnavailableError(message);
  }
  if (S_ISDIR(info.st_mode)) {
    return absl::InvalidArgumentError(absl::StrCat(path, ": is a directory, not a .pt file"));
  }
  std::ifstream file(path, std::ios::binary);
  std::string head(64, '\0');
  if (!file) return absl::PermissionDeniedError(absl::StrCat(path, ": cannot be read"));
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<size_t>(file.gcount()));
  switch (KindOf(head)) {
    case FileKind::kZip:
      return absl::OkStatus();
    case FileKind::kEmpty:
      return absl::InvalidArgumentError(absl::StrCat(path, ": is empty"));
    case FileKind::kText:
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": is a text file, not a TorchScript program"));
    case FileKind::kPickle:
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": is a pickle (a state dict or a whole module), not a program; ", kWhatToSave));
    case FileKind::kOther:
      break;
  }
  return absl::InvalidArgumentError(absl::StrCat(path, ": is not a TorchScript program"));
}

// A zip's local headers name its entries, the first ones within the first bytes.
absl::Status ExplainLoadFailure(const std::string& path, const std::string& message) {
  if (absl::StrContains(message, "constants.pkl") ||
      absl::StrContains(message, "file not found")) {
    std::ifstream file(path, std::ios::binary);
    std::string content(1 << 16, '\0');
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<size_t>(file.gcount()));
    if (absl::StrContains(content, "archive_format") ||
        absl::StrContains(content, "serialized_exported_program") ||
        absl::StrContains(content, "models/")) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": is an ExportedProgram (.pt2), not TorchScript; name it with the suffix .pt2"));
    }
    if (absl::StrContains(content, "data.pkl")) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": holds saved tensors (a state dict or a pickled object), not a program; ",
          kWhatToSave));
    }
  }
  if (absl::StrContains(message, "PytorchStreamReader")) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": is damaged or incomplete: ", message));
  }
  return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be loaded: ", message));
}

}  // namespace

absl::StatusOr<torch::jit::Module> LoadProgram(const std::string& path) {
  if (absl::Status status = CheckFile(path); !status.ok()) return status;
  RegisterTorchvisionOperators();
  try {
    return torch::jit::load(path, at::kCPU);
  } catch (const std::exception& exception) {
    std::string text = torch_values::ExceptionText(exception);
    if (absl::StrContains(text, "Unknown builtin op")) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": uses an operator that is not registered here: ", text,
          "; name the library that defines it with --torch-library"));
    }
    return ExplainLoadFailure(path, text);
  }
}

}  // namespace rules_onnx::script
