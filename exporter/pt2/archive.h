// The entries of a `.pt2` archive, as torch.export.save of torch 2.8 and later writes them.
//
//   archive = root "/" (
//       "archive_format"                               the text "pt2"
//     | "byteorder"                                    "little" or "big"
//     | "models/" model ".json"                        format.h
//     | "data/weights/" model "_weights_config.json"   payloads by state-dict name
//     | "data/weights/weight_" number                  a storage's bytes
//     | "data/constants/" model "_constants_config.json", "data/constants/tensor_" number )
//
// Source: torch/export/pt2_archive.
#ifndef RULES_ONNX_EXPORTER_PT2_ARCHIVE_H_
#define RULES_ONNX_EXPORTER_PT2_ARCHIVE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/pt2/format.h"
#include "exporter/weights/tensor_source.h"
#include "exporter/zip/zip_reader.h"

namespace rules_onnx::pt2 {

// An open archive of one model, or one of several of which `model` is chosen.
class Archive {
 public:
  // Refuses other zip files with what they are: TorchScript, a state dict, a compiled package.
  static absl::StatusOr<Archive> Open(const std::string& path, const std::string& model);

  const std::string& path() const { return zip_.path(); }

  absl::StatusOr<ProgramDef> ReadProgram() const;

  // Where the bytes of a parameter, buffer or constant are. Fails where there is no such tensor
  // or its bytes do not lie in its entry.
  absl::StatusOr<std::unique_ptr<weights::TensorSource>> OpenTensor(absl::string_view name) const;

 private:
  struct Place {
    std::string folder;
    Payload payload;
  };
  Archive(zip::ZipReader zip, std::string root, std::string model)
      : zip_(std::move(zip)), root_(std::move(root)), model_(std::move(model)) {}
  absl::Status ReadPayloads(absl::string_view folder, absl::string_view config_suffix);

  zip::ZipReader zip_;
  std::string root_;  // "name/"
  std::string model_;
  std::map<std::string, Place, std::less<>> tensors_;
};

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_ARCHIVE_H_
