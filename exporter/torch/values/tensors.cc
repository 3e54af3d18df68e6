#include "exporter/torch/values/tensors.h"

#include <ATen/ATen.h>
#include <c10/util/Exception.h>

#include <cstring>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"

namespace rules_onnx::torch_values {
namespace {

using ir::DType;

constexpr std::pair<at::ScalarType, DType> kTypes[] = {
    {at::kFloat, DType::kFloat32},
    {at::kDouble, DType::kFloat64},
    {at::kHalf, DType::kFloat16},
    {at::kBFloat16, DType::kBFloat16},
    {at::kByte, DType::kUInt8},
    {at::kChar, DType::kInt8},
    {at::kUInt16, DType::kUInt16},
    {at::kShort, DType::kInt16},
    {at::kUInt32, DType::kUInt32},
    {at::kInt, DType::kInt32},
    {at::kUInt64, DType::kUInt64},
    {at::kLong, DType::kInt64},
    {at::kBool, DType::kBool},
    {at::kComplexFloat, DType::kComplex64},
    {at::kComplexDouble, DType::kComplex128},
    {at::kFloat8_e4m3fn, DType::kFloat8E4M3FN},
    {at::kFloat8_e4m3fnuz, DType::kFloat8E4M3FNUZ},
    {at::kFloat8_e5m2, DType::kFloat8E5M2},
    {at::kFloat8_e5m2fnuz, DType::kFloat8E5M2FNUZ},
    {at::kQInt8, DType::kQInt8},
    {at::kQUInt8, DType::kQUInt8},
    {at::kQInt32, DType::kQInt32},
};

}  // namespace

DType DTypeOf(at::ScalarType type) {
  for (const auto& [torch, ours] : kTypes) {
    if (torch == type) return ours;
  }
  return DType::kUndefined;
}

std::optional<at::ScalarType> ScalarTypeOf(DType dtype) {
  for (const auto& [torch, ours] : kTypes) {
    if (ours == dtype) return torch;
  }
  return std::nullopt;
}

at::Tensor Plain(const at::Tensor& tensor) {
  at::Tensor plain = tensor.detach();
  if (plain.is_quantized()) plain = plain.int_repr();
  return plain.resolve_conj().resolve_neg().to(at::kCPU).contiguous();
}

ir::Arg::Literal LiteralOf(const at::Tensor& tensor) {
  const at::Tensor plain = Plain(tensor);
  auto literal = std::make_shared<ir::TensorLiteral>();
  literal->dtype = DTypeOf(plain.scalar_type());
  literal->shape = plain.sizes().vec();
  literal->bytes.assign(static_cast<const char*>(plain.const_data_ptr()), plain.nbytes());
  return literal;
}

at::Tensor TensorOf(const ir::TensorLiteral& literal) {
  at::Tensor tensor =
      at::empty(literal.shape, at::dtype(ScalarTypeOf(literal.dtype).value_or(at::kFloat)));
  std::memcpy(tensor.mutable_data_ptr(), literal.bytes.data(), literal.bytes.size());
  return tensor;
}

std::string ExceptionText(const std::exception& exception) {
  std::string text = exception.what();
  if (const auto* error = dynamic_cast<const c10::Error*>(&exception)) {
    text = error->what_without_backtrace();
  }
  // An interpreter's message is a Python-like traceback whose last line tells.
  const bool traceback = absl::StrContains(text, "Traceback of TorchScript");
  std::vector<std::string> lines;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::StartsWith(line, "Exception raised from")) break;
    if (!line.empty()) lines.emplace_back(line);
  }
  if (lines.empty()) return "unknown error";
  return traceback ? lines.back() : lines.front();
}

}  // namespace rules_onnx::torch_values
