#include "exporter/inputs/tensor_pb.h"

#include <simdjson.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporter/files/atomic_file.h"
#include "exporter/files/input_file.h"
#include "exporter/inputs/tensor.pb.h"

namespace rules_onnx::inputs {
namespace {

using ir::DType;

constexpr int kExternal = 1;

// By TensorProto.DataType. Strings (8) and types of less than a byte (21 on) are not read.
constexpr std::array<DType, 21> kDTypes = {
    DType::kUndefined,     DType::kFloat32,      DType::kUInt8,          DType::kInt8,
    DType::kUInt16,        DType::kInt16,        DType::kInt32,          DType::kInt64,
    DType::kUndefined,     DType::kBool,         DType::kFloat16,        DType::kFloat64,
    DType::kUInt32,        DType::kUInt64,       DType::kComplex64,      DType::kComplex128,
    DType::kBFloat16,      DType::kFloat8E4M3FN, DType::kFloat8E4M3FNUZ, DType::kFloat8E5M2,
    DType::kFloat8E5M2FNUZ};

// The low `size` bytes of each element.
template <typename Field>
std::string Pack(const Field& field, size_t size) {
  std::string bytes;
  for (const auto value : field) bytes.append(reinterpret_cast<const char*>(&value), size);
  return bytes;
}

std::string Data(const proto::TensorProto& tensor, DType dtype) {
  if (!tensor.raw_data().empty()) return tensor.raw_data();
  switch (dtype) {
    case DType::kFloat32:
    case DType::kComplex64:
      return Pack(tensor.float_data(), sizeof(float));
    case DType::kFloat64:
    case DType::kComplex128:
      return Pack(tensor.double_data(), sizeof(double));
    case DType::kInt64:
      return Pack(tensor.int64_data(), sizeof(int64_t));
    case DType::kUInt32:
    case DType::kUInt64:
      return Pack(tensor.uint64_data(), ir::ElementSize(dtype));
    default:
      return Pack(tensor.int32_data(), ir::ElementSize(dtype));
  }
}

// The type of a quantized tensor's integers; all others are themselves.
DType Stored(DType dtype) {
  if (dtype == DType::kQInt8) return DType::kInt8;
  if (dtype == DType::kQUInt8) return DType::kUInt8;
  return dtype == DType::kQInt32 ? DType::kInt32 : dtype;
}

absl::Status Refuse(const std::string& path, absl::string_view why) {
  return absl::InvalidArgumentError(absl::StrCat(path, " ", why));
}

}  // namespace

absl::StatusOr<Inputs> ReadTensorPb(const std::string& path) {
  const absl::StatusOr<std::string> content = files::ReadFile(path);
  if (!content.ok()) return content.status();
  proto::TensorProto proto;
  if (content->empty() || !proto.ParseFromString(*content) ||
      !simdjson::validate_utf8(proto.name().data(), proto.name().size())) {
    return Refuse(path, "is not an ONNX TensorProto");
  }
  if (proto.data_location() == kExternal) {
    return Refuse(path, "keeps its values in another file; an input must hold them itself");
  }
  const size_t code = proto.data_type();
  Tensor tensor;
  tensor.dtype = code < kDTypes.size() ? kDTypes[code] : DType::kUndefined;
  if (tensor.dtype == DType::kUndefined) {
    return Refuse(path, absl::StrCat("holds elements of ONNX type ", code,
                                     ", which no example input can have"));
  }
  const std::vector<int64_t> shape(proto.dims().begin(), proto.dims().end());
  const absl::StatusOr<uint64_t> bytes = TensorBytes(tensor.dtype, shape);
  if (!bytes.ok()) return Refuse(path, absl::StrCat("is refused: ", bytes.status().message()));
  tensor.bytes = Data(proto, tensor.dtype);
  if (tensor.bytes.size() != *bytes) {
    return Refuse(path, absl::StrCat("holds ", tensor.bytes.size(),
                                     " bytes of data where its shape needs ", *bytes));
  }
  for (const int64_t size : shape) tensor.axes.push_back({.size = size});
  Inputs inputs = FromArguments(Value::OfTensor(std::move(tensor)));
  inputs.arguments[0].name = proto.name();
  return inputs;
}

absl::Status WriteTensorPb(const std::string& path, const std::string& name,
                           const Tensor& tensor) {
  const auto code = std::find(kDTypes.begin() + 1, kDTypes.end(), Stored(tensor.dtype));
  if (code == kDTypes.end()) {
    return Refuse(path, absl::StrCat("cannot be written: a TensorProto holds no ",
                                     ir::DTypeName(tensor.dtype)));
  }
  proto::TensorProto proto;
  for (const int64_t size : tensor.shape()) proto.add_dims(size);
  proto.set_data_type(static_cast<int>(code - kDTypes.begin()));
  proto.set_name(name);
  proto.set_raw_data(tensor.bytes);
  return files::WriteFile(path, proto.SerializeAsString());
}

}  // namespace rules_onnx::inputs
