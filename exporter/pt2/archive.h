// The entries of a `.pt2` archive, as torch.export.save of torch 2.8 and later writes them.
//
//   archive = root "/" (
//       "archive_format"                               the text "pt2"
//     | "byteorder"                                    "little" or "big"
//     | "models/" model ".json"                        format.h
//     | "extra/dynamic_axes.json"                      ours: names of axes, which the format loses
//     | "data/weights/" model "_weights_config.json"   payloads by state-dict name
//     | "data/weights/weight_" number                  a storage's bytes
//     | "data/constants/" model "_constants_config.json", "data/constants/tensor_" number )
//
// Or, from torch 2.1 to 2.7:
//
//   archive = "serialized_exported_program.json"         format.h
//     | "serialized_state_dict.pt"                       a zip file of torch.save's (state_dict.h);
//                                                        of torch 2.1 with the ending .json
//     | "serialized_constants.pt"                        likewise; from torch 2.2 on
//     | "serialized_example_inputs.pt", "version"
//
// Source: torch/export/pt2_archive, torch/export/__init__.py of the older releases.
#ifndef RULES_ONNX_EXPORTER_PT2_ARCHIVE_H_
#define RULES_ONNX_EXPORTER_PT2_ARCHIVE_H_

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/weight_memory.h"
#include "exporter/pt2/format.h"
#include "exporter/weights/tensor_source.h"
#include "exporter/zip/zip_reader.h"

namespace rules_onnx::pt2 {

// An open archive of one model, or one of several of which `model` is chosen.
class Archive {
 public:
  // Refuses other zip files with what they are: TorchScript, a state dict, a compiled package. An
  // archive of the older form holds one model, without a name.
  static absl::StatusOr<Archive> Open(const std::string& path, const std::string& model);

  const std::string& path() const { return zip_->path(); }

  absl::StatusOr<ProgramDef> ReadProgram() const;

  // What torch.export.save(…, extra_files={"dynamic_axes.json": …}) was given; empty if nothing.
  absl::StatusOr<std::string> ReadAxisNames() const;

  // Where the bytes of a parameter, buffer or constant are. Fails where there is no such tensor
  // or its bytes do not lie in its entry.
  absl::StatusOr<std::unique_ptr<weights::TensorSource>> OpenTensor(absl::string_view name) const;
  // Where a tensor that can be opened lay in the program's memory.
  ir::WeightMemory MemoryOf(absl::string_view name) const;

 private:
  struct Place {
    const zip::ZipReader* zip;
    std::string entry;
    Payload payload;
    int storage;  // a number for each entry
  };
  Archive(std::unique_ptr<zip::ZipReader> zip, std::string program)
      : zip_(std::move(zip)), program_(std::move(program)) {}
  static absl::StatusOr<Archive> OpenNew(std::unique_ptr<zip::ZipReader> zip,
                                         const std::string& model);
  static absl::StatusOr<Archive> OpenOld(std::unique_ptr<zip::ZipReader> zip);
  absl::Status ReadPayloads(const std::string& folder, const std::string& config);
  absl::Status ReadStateDict(const zip::Entry& entry);
  void AddPayloads(const zip::ZipReader& zip, const std::string& folder,
                   std::map<std::string, Payload> payloads);

  std::unique_ptr<zip::ZipReader> zip_;
  std::string program_;                                 // entry
  std::string axis_names_;                              // entry
  std::vector<std::unique_ptr<zip::ZipReader>> inner_;  // archives in it
  std::map<std::string, Place, std::less<>> tensors_;
  std::map<std::pair<const zip::ZipReader*, std::string>, int> storages_;
};

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_ARCHIVE_H_
