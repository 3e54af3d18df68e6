#include "exporter/pt2/archive.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "exporter/pt2/state_dict.h"

namespace rules_onnx::pt2 {
namespace {

constexpr char kOldProgram[] = "serialized_exported_program.json";

// "name/" of the folder that torch puts every entry into.
std::string RootOf(const zip::ZipReader& zip) {
  if (zip.entries().empty()) return "";
  const std::string& name = zip.entries().front().name;
  return name.substr(0, name.find('/') + 1);
}

// "a" of every "root/models/a.json".
std::vector<std::string> ModelNames(const zip::ZipReader& zip, const std::string& root) {
  std::vector<std::string> names;
  for (const zip::Entry& entry : zip.entries()) {
    absl::string_view name = entry.name;
    if (absl::ConsumePrefix(&name, absl::StrCat(root, "models/")) &&
        absl::ConsumeSuffix(&name, ".json")) {
      names.emplace_back(name);
    }
  }
  std::sort(names.begin(), names.end());
  return names;
}

// Why a zip file without a model is none.
std::string DescribeForeign(const zip::ZipReader& zip, const std::string& root) {
  const auto has = [&](absl::string_view entry) { return zip.Find(absl::StrCat(root, entry)); };
  if (has("constants.pkl")) return "it is a TorchScript program; give it the name .pt";
  if (has("data.pkl")) {
    return "it was written by torch.save and holds no program; save one with torch.export.save";
  }
  for (const zip::Entry& entry : zip.entries()) {
    if (absl::StrContains(entry.name, "data/aotinductor/")) {
      return "it is a package compiled by AOTInductor, which holds no graph; save the exported "
             "program with torch.export.save";
    }
  }
  return "it is a zip file without an exported program";
}

absl::StatusOr<std::string> ChooseModel(const zip::ZipReader& zip, const std::string& root,
                                        const std::string& model) {
  const std::vector<std::string> names = ModelNames(zip, root);
  if (names.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(zip.path(), " is no .pt2 program: ", DescribeForeign(zip, root)));
  }
  if (model.empty() && names.size() == 1) return names.front();
  if (std::find(names.begin(), names.end(), model) != names.end()) return model;
  return absl::InvalidArgumentError(absl::StrCat(
      zip.path(),
      model.empty() ? " holds several models" : absl::StrCat(" holds no model '", model, "'"),
      "; choose one of ", absl::StrJoin(names, ", ")));
}

// The bytes from the start of the storage up to the last one that the view touches.
__int128 EndOfView(const Payload& payload) {
  __int128 last = payload.storage_offset;
  for (size_t i = 0; i < payload.sizes.size(); ++i) {
    if (payload.sizes[i] == 0) return 0;
    last += static_cast<__int128>(payload.sizes[i] - 1) * payload.strides[i];
  }
  return (last + 1) * static_cast<__int128>(ir::ElementSize(payload.dtype));
}

// Its elements can be counted, and none lies before the start of the storage.
bool IsCountable(const Payload& payload) {
  constexpr __int128 kMax = INT64_MAX;
  const auto is_negative = [](int64_t number) { return number < 0; };
  if (payload.storage_offset < 0 ||
      std::any_of(payload.strides.begin(), payload.strides.end(), is_negative)) {
    return false;
  }
  __int128 bytes = ir::ElementSize(payload.dtype);
  for (const int64_t size : payload.sizes) {
    bytes *= size;
    if (bytes > kMax) return false;
  }
  return true;
}

}  // namespace

absl::StatusOr<Archive> Archive::Open(const std::string& path, const std::string& model) {
  auto opened = zip::ZipReader::Open(path);
  if (!opened.ok()) return opened.status();
  auto zip = std::make_unique<zip::ZipReader>(*std::move(opened));
  if (model.empty() && zip->Find(kOldProgram) != nullptr) return OpenOld(std::move(zip));
  return OpenNew(std::move(zip), model);
}

absl::StatusOr<Archive> Archive::OpenNew(std::unique_ptr<zip::ZipReader> zip,
                                         const std::string& model) {
  const std::string root = RootOf(*zip);
  auto name = ChooseModel(*zip, root, model);
  if (!name.ok()) return name.status();
  if (zip->Find(absl::StrCat(root, "byteorder")) != nullptr) {
    const auto order = zip->Read(absl::StrCat(root, "byteorder"));
    if (!order.ok()) return order.status();
    if (*order != "little") {
      return absl::UnimplementedError(absl::StrCat(zip->path(), ": byte order '", *order,
                                                   "'; only little-endian files are supported"));
    }
  }
  Archive archive(std::move(zip), absl::StrCat(root, "models/", *name, ".json"));
  archive.axis_names_ = absl::StrCat(root, "extra/dynamic_axes.json");
  for (const auto& [folder, suffix] : {std::pair("data/weights/", "_weights_config.json"),
                                       std::pair("data/constants/", "_constants_config.json")}) {
    const absl::Status status =
        archive.ReadPayloads(absl::StrCat(root, folder), absl::StrCat(root, folder, *name, suffix));
    if (!status.ok()) return status;
  }
  return archive;
}

absl::StatusOr<Archive> Archive::OpenOld(std::unique_ptr<zip::ZipReader> zip) {
  Archive archive(std::move(zip), kOldProgram);
  for (const char* name : {"serialized_state_dict.pt", "serialized_state_dict.json",
                           "serialized_constants.pt", "serialized_constants.json"}) {
    const zip::Entry* entry = archive.zip_->Find(name);
    if (entry == nullptr || entry->size == 0) continue;
    if (absl::Status status = archive.ReadStateDict(*entry); !status.ok()) return status;
  }
  return archive;
}

absl::Status Archive::ReadPayloads(const std::string& folder, const std::string& config) {
  const auto text = zip_->Read(config);
  if (!text.ok()) return text.status();
  auto payloads = DecodePayloads(absl::StrCat(path(), ": ", config), *text);
  if (!payloads.ok()) return payloads.status();
  AddPayloads(*zip_, folder, *std::move(payloads));
  return absl::OkStatus();
}

absl::Status Archive::ReadStateDict(const zip::Entry& entry) {
  absl::StatusOr<zip::ZipReader> inner = zip_->OpenInside(entry);
  if (!inner.ok()) return inner.status();
  inner_.push_back(std::make_unique<zip::ZipReader>(*std::move(inner)));
  const zip::ZipReader& zip = *inner_.back();
  const std::string root = RootOf(zip);
  const auto pickle = zip.Read(absl::StrCat(root, "data.pkl"));
  if (!pickle.ok()) return pickle.status();
  auto payloads = DecodeStateDict(absl::StrCat(path(), ": ", entry.name), *pickle);
  if (!payloads.ok()) return payloads.status();
  AddPayloads(zip, root, *std::move(payloads));
  return absl::OkStatus();
}

void Archive::AddPayloads(const zip::ZipReader& zip, const std::string& folder,
                          std::map<std::string, Payload> payloads) {
  for (auto& [name, payload] : payloads) {
    std::string entry = absl::StrCat(folder, payload.path_name);
    const int number = static_cast<int>(storages_.size());
    const int storage = storages_.try_emplace({&zip, entry}, number).first->second;
    tensors_.emplace(name, Place{&zip, std::move(entry), std::move(payload), storage});
  }
}

absl::StatusOr<std::string> Archive::ReadAxisNames() const {
  if (zip_->Find(axis_names_) == nullptr) return std::string();
  return zip_->Read(axis_names_);
}

absl::StatusOr<ProgramDef> Archive::ReadProgram() const {
  const auto text = zip_->Read(program_);
  if (!text.ok()) return text.status();
  return DecodeProgram(absl::StrCat(path(), ": ", program_), *text);
}

absl::StatusOr<std::unique_ptr<weights::TensorSource>> Archive::OpenTensor(
    absl::string_view name) const {
  const auto error = [&](absl::string_view what) {
    return absl::InvalidArgumentError(absl::StrCat(path(), ": tensor '", name, "' ", what));
  };
  const auto it = tensors_.find(name);
  if (it == tensors_.end()) return error("is not in the file");
  const Payload& payload = it->second.payload;
  if (payload.use_pickle || !payload.has_tensor) {
    return absl::UnimplementedError(
        absl::StrCat(path(), ": '", name,
                     "' is no plain tensor (a custom object or tensor subclass), which "
                     "cannot be exported"));
  }
  const std::string& entry_name = it->second.entry;
  const zip::Entry* const entry = it->second.zip->Find(entry_name);
  if (entry == nullptr) return error(absl::StrCat("lacks its data, entry ", entry_name));
  if (!entry->stored())
    return error(absl::StrCat("is compressed (entry ", entry_name, "), which torch never does"));
  if (!IsCountable(payload) || EndOfView(payload) > static_cast<__int128>(entry->size)) {
    return error(absl::StrCat("reaches beyond its data, entry ", entry_name));
  }
  return weights::FileSource(payload.dtype, payload.sizes,
                             weights::FileView{path(), entry->offset, entry->size,
                                               payload.storage_offset, payload.strides});
}

ir::WeightMemory Archive::MemoryOf(absl::string_view name) const {
  const Place& place = tensors_.find(name)->second;
  return {place.storage, place.payload.storage_offset, place.payload.strides};
}

}  // namespace rules_onnx::pt2
