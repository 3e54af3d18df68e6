#include "exporter/inputs/npy.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "exporter/files/input_file.h"
#include "exporter/zip/zip_reader.h"

namespace rules_onnx::inputs {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<int64_t> shape;
};

// What follows 'key': in the header's dict.
std::optional<absl::string_view> After(absl::string_view header, absl::string_view key) {
  const size_t at = header.find(absl::StrCat("'", key, "':"));
  if (at == absl::string_view::npos) return std::nullopt;
  return absl::StripLeadingAsciiWhitespace(header.substr(at + key.size() + 3));
}

// The text between two characters, the first of which `text` begins with.
std::optional<absl::string_view> Between(absl::string_view text, char open, char close) {
  const size_t end = text.find(close, 1);
  if (text.empty() || text[0] != open || end == absl::string_view::npos) return std::nullopt;
  return text.substr(1, end - 1);
}

std::optional<Header> ParseHeader(absl::string_view text) {
  const auto descr = After(text, "descr"), order = After(text, "fortran_order"),
             shape = After(text, "shape");
  if (!descr || !order || !shape) return std::nullopt;
  Header header;
  // A structured type is a list of fields and no string.
  header.descr = std::string(Between(*descr, '\'', '\'').value_or("structured"));
  header.fortran_order = absl::StartsWith(*order, "True");
  const auto sizes = Between(*shape, '(', ')');
  if (!sizes) return std::nullopt;
  for (const absl::string_view size : absl::StrSplit(*sizes, ',', absl::SkipWhitespace())) {
    if (!absl::SimpleAtoi(size, &header.shape.emplace_back())) return std::nullopt;
  }
  return header;
}

ir::DType DTypeOf(absl::string_view descr) {
  static const auto* const kTypes = new std::map<absl::string_view, ir::DType>{
      {"|b1", ir::DType::kBool},      {"|u1", ir::DType::kUInt8},      {"|i1", ir::DType::kInt8},
      {"<u2", ir::DType::kUInt16},    {"<i2", ir::DType::kInt16},      {"<u4", ir::DType::kUInt32},
      {"<i4", ir::DType::kInt32},     {"<u8", ir::DType::kUInt64},     {"<i8", ir::DType::kInt64},
      {"<f2", ir::DType::kFloat16},   {"<f4", ir::DType::kFloat32},    {"<f8", ir::DType::kFloat64},
      {"<c8", ir::DType::kComplex64}, {"<c16", ir::DType::kComplex128}};
  const auto found = kTypes->find(descr);
  return found == kTypes->end() ? ir::DType::kUndefined : found->second;
}

// From column-major to row-major.
std::string FromFortran(absl::string_view data, const std::vector<int64_t>& shape,
                        size_t element_size) {
  std::string result;
  result.reserve(data.size());
  std::vector<int64_t> index(shape.size(), 0);
  while (result.size() < data.size()) {
    int64_t at = 0;
    for (size_t i = shape.size(); i-- > 0;) at = at * shape[i] + index[i];
    result.append(data.data() + at * element_size, element_size);
    for (size_t i = shape.size(); i-- > 0 && ++index[i] == shape[i];) index[i] = 0;
  }
  return result;
}

absl::Status Refuse(absl::string_view name, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(name, " ", why));
}

}  // namespace

absl::StatusOr<Tensor> ParseNpy(absl::string_view bytes, absl::string_view name) {
  if (!absl::StartsWith(bytes, kMagic) || bytes.size() < 12) {
    return Refuse(name, "is not a .npy file");
  }
  const bool short_length = bytes[6] == 1;
  const size_t length_bytes = short_length ? 2 : 4;
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) {
    length = length << 8 | static_cast<unsigned char>(bytes[8 + i]);
  }
  bytes.remove_prefix(8 + length_bytes);
  if (length > bytes.size()) return Refuse(name, "is a truncated .npy file");
  const std::optional<Header> header = ParseHeader(bytes.substr(0, length));
  if (!header) return Refuse(name, "has a .npy header that cannot be understood");
  bytes.remove_prefix(length);

  Tensor tensor;
  tensor.dtype = DTypeOf(header->descr);
  if (tensor.dtype == ir::DType::kUndefined) {
    return Refuse(name, absl::StrCat("holds elements of type '", header->descr,
                                     "'; little-endian numbers and bools can be read"));
  }
  const absl::StatusOr<uint64_t> expected = TensorBytes(tensor.dtype, header->shape);
  if (!expected.ok())
    return Refuse(name, absl::StrCat("is refused: ", expected.status().message()));
  if (*expected != bytes.size()) {
    return Refuse(name, absl::StrCat("holds ", bytes.size(),
                                     " bytes of data where its shape needs ", *expected));
  }
  for (const int64_t size : header->shape) tensor.axes.push_back({.size = size});
  tensor.bytes = header->fortran_order
                     ? FromFortran(bytes, header->shape, ir::ElementSize(tensor.dtype))
                     : std::string(bytes);
  return tensor;
}

absl::StatusOr<Inputs> ReadNpy(const std::string& path) {
  const absl::StatusOr<std::string> bytes = files::ReadFile(path);
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<Tensor> tensor = ParseNpy(*bytes, path);
  if (!tensor.ok()) return tensor.status();
  return FromArguments(Value::OfTensor(*std::move(tensor)));
}

absl::StatusOr<Inputs> ReadNpz(const std::string& path) {
  const absl::StatusOr<zip::ZipReader> archive = zip::ZipReader::Open(path);
  if (!archive.ok()) return archive.status();
  std::map<uint64_t, Argument> positional;
  std::vector<Argument> keywords;
  for (const zip::Entry& entry : archive->entries()) {
    const absl::StatusOr<std::string> bytes = archive->Read(entry.name);
    if (!bytes.ok()) return bytes.status();
    absl::StatusOr<Tensor> tensor = ParseNpy(*bytes, absl::StrCat(path, ": ", entry.name));
    if (!tensor.ok()) return tensor.status();
    absl::string_view name = absl::StripSuffix(entry.name, ".npy"), number = name;
    Argument argument{.value = Value::OfTensor(*std::move(tensor))};
    uint64_t position;
    if (absl::ConsumePrefix(&number, "arr_") && absl::SimpleAtoi(number, &position)) {
      positional.emplace(position, std::move(argument));
    } else {
      argument.name = std::string(name);
      argument.by_name = true;
      keywords.push_back(std::move(argument));
    }
  }
  Inputs inputs;
  for (auto& [position, argument] : positional) inputs.arguments.push_back(std::move(argument));
  for (Argument& argument : keywords) inputs.arguments.push_back(std::move(argument));
  return inputs;
}

}  // namespace rules_onnx::inputs
