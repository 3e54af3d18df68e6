#include "exporter/torch/pickle/pickle_file.h"

#include <ATen/ATen.h>
#include <ATen/core/ivalue.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "exporter/files/input_file.h"
#include "exporter/torch/values/flatten.h"
#include "exporter/torch/values/tensors.h"
#include "exporter/zip/zip_reader.h"

namespace rules_onnx::pickle {
namespace {

using inputs::Value;

absl::StatusOr<Value> FromIValue(const c10::IValue& value, const std::string& place);

absl::StatusOr<std::vector<Value>> FromItems(c10::ArrayRef<c10::IValue> items,
                                             const std::string& place) {
  std::vector<Value> values;
  for (size_t i = 0; i < items.size(); ++i) {
    auto item = FromIValue(items[i], absl::StrCat(place, "[", i, "]"));
    if (!item.ok()) return item.status();
    values.push_back(*std::move(item));
  }
  return values;
}

absl::StatusOr<Value> FromDict(const c10::IValue& value, const std::string& place) {
  Value dict;
  dict.kind = Value::Kind::kDict;
  for (const auto& entry : value.toGenericDict()) {
    auto key = FromIValue(entry.key(), absl::StrCat(place, " (a key)"));
    if (!key.ok()) return key.status();
    auto mapped = FromIValue(entry.value(), absl::StrCat(place, " (an entry)"));
    if (!mapped.ok()) return mapped.status();
    dict.keys.push_back(*std::move(key));
    dict.elements.push_back(*std::move(mapped));
  }
  return dict;
}

absl::StatusOr<Value> FromTensor(const at::Tensor& tensor, const std::string& place) {
  if (tensor.is_quantized() && tensor.qscheme() != c10::kPerTensorAffine) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, " is a tensor quantized per channel, which no input can be"));
  }
  if (torch_values::DTypeOf(tensor.scalar_type()) == ir::DType::kUndefined ||
      tensor.layout() != at::kStrided) {
    return absl::InvalidArgumentError(
        absl::StrCat(place, " is a tensor of an element type or layout that no input can have"));
  }
  return Value::OfTensor(torch_values::ToInput(tensor));
}

absl::StatusOr<Value> FromIValue(const c10::IValue& value, const std::string& place) {
  if (value.isNone()) return Value::None();
  if (value.isTensor()) return FromTensor(value.toTensor(), place);
  if (value.isBool()) return Value::Bool(value.toBool());
  if (value.isInt()) return Value::Int(value.toInt());
  if (value.isDouble()) return Value::Float(value.toDouble());
  if (value.isString()) return Value::String(value.toStringRef());
  if (value.isGenericDict()) return FromDict(value, place);
  if (value.isTuple() || value.isList()) {
    auto items = value.isTuple() ? FromItems(value.toTupleRef().elements(), place)
                                 : FromItems(value.toListRef(), place);
    if (!items.ok()) return items.status();
    return value.isTuple() ? Value::Tuple(*std::move(items)) : Value::List(*std::move(items));
  }
  return absl::InvalidArgumentError(absl::StrCat(place, " is a ", value.tagKind(),
                                                 ", which is no tensor, number, None, or tuple, "
                                                 "list or dict of these"));
}

}  // namespace

absl::StatusOr<inputs::Inputs> ReadPickle(const std::string& path) {
  const absl::StatusOr<files::InputFile> file = files::InputFile::Open(path);
  if (!file.ok()) return file.status();
  // Before it is read whole: it may be anything.
  if (auto zip = zip::ZipReader::Open(path); !zip.ok()) {
    return absl::Status(zip.status().code(), absl::StrCat(zip.status().message(),
                                                          "; torch.save writes a zip file"));
  }
  std::vector<char> bytes(file->size());
  if (auto status = file->Read(0, bytes.size(), bytes.data()); !status.ok()) return status;
  try {
    auto value = FromIValue(torch::jit::pickle_load(bytes), "the saved value");
    if (!value.ok()) {
      return absl::Status(value.status().code(),
                          absl::StrCat(path, ": ", value.status().message()));
    }
    return inputs::FromArguments(*std::move(value));
  } catch (const std::exception& exception) {
    const std::string text = torch_values::ExceptionText(exception);
    // LibTorch's unpickler says so of classes that it does not know.
    if (absl::StrContains(text, "INTERNAL ASSERT") || absl::StrContains(text, "Unpickler")) {
      return absl::InvalidArgumentError(absl::StrCat(
          path, ": holds no example inputs, which are tensors, numbers, texts, None, and tuples, "
                "lists and dicts of these; a program or a state dict is something else"));
    }
    return absl::InvalidArgumentError(absl::StrCat(path, ": cannot be read: ", text));
  }
}

}  // namespace rules_onnx::pickle
