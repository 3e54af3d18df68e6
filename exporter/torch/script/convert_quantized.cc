// Quantized tensors and packed parameters that a module holds: the graph makes them of plain
// integers, at its start.
#include <ATen/ATen.h>
#include <ATen/native/quantized/PackedParams.h>
#include <torch/custom_class.h>

#include <optional>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/torch/script/converter.h"
#include "exporter/torch/script/quantized.h"
#include "exporter/torch/values/tensors.h"

namespace rules_onnx::script {
namespace {

template <typename Params>
c10::intrusive_ptr<Params> As(const c10::IValue& value) {
  const auto type = value.type()->cast<c10::ClassType>();
  if (type != c10::getCustomClassType<c10::intrusive_ptr<Params>>()) return nullptr;
  return value.toCustomClass<Params>();
}

// Linear or convolution.
struct Packed {
  std::string op;  // that makes it
  at::Tensor weight;
  std::optional<at::Tensor> bias;
  std::vector<ir::NamedArg> rest;
};

ir::Arg Numbers(const torch::List<int64_t>& list) { return ir::Arg::Ints(list.vec()); }

template <int kAxes>
Packed ReadConv(ConvPackedParamsBase<kAxes>& params) {
  Packed packed;
  std::tie(packed.weight, packed.bias) = params.unpack();
  const bool transposed = params.transpose();
  packed.op = absl::StrCat("quantized::conv", transposed ? "_transpose" : "", kAxes, "d_prepack");
  packed.rest = {{"stride", Numbers(params.stride())}, {"padding", Numbers(params.padding())}};
  if (transposed) packed.rest.push_back({"output_padding", Numbers(params.output_padding())});
  packed.rest.push_back({"dilation", Numbers(params.dilation())});
  packed.rest.push_back({"groups", params.groups()});
  return packed;
}

Packed Read(const c10::IValue& value) {
  if (const auto conv2d = As<ConvPackedParamsBase<2>>(value)) return ReadConv(*conv2d);
  if (const auto conv3d = As<ConvPackedParamsBase<3>>(value)) return ReadConv(*conv3d);
  Packed packed;
  std::tie(packed.weight, packed.bias) = As<LinearPackedParamsBase>(value)->unpack();
  packed.op = packed.weight.is_quantized() ? "quantized::linear_prepack"
                                           : "quantized::linear_prepack_fp16";
  return packed;
}

}  // namespace

bool IsPackedParams(const c10::IValue& object) {
  return object.isCustomClass() &&
         (As<LinearPackedParamsBase>(object) || As<ConvPackedParamsBase<2>>(object) ||
          As<ConvPackedParamsBase<3>>(object));
}

ir::Value* Converter::EmitAtStart(std::string op, std::vector<ir::NamedArg> args, ir::Type type) {
  auto node = graph_.NewNode(std::move(op), std::move(args));
  node->outputs.push_back(graph_.NewValue(std::move(type)));
  ir::Value* const value = node->output();
  prologue_.push_back(std::move(node));
  return value;
}

ItemRef Converter::FromQuantized(const at::Tensor& tensor, const std::string& path) {
  const at::Tensor integers = tensor.int_repr();
  std::vector<ir::NamedArg> args = {{"self", ir::Arg(weights_.ValueOf(integers, path, &graph_))}};
  std::string op = "aten::_make_per_tensor_quantized_tensor";
  if (tensor.qscheme() == at::kPerTensorAffine) {
    args.push_back({"scale", tensor.q_scale()});
    args.push_back({"zero_point", tensor.q_zero_point()});
  } else {
    op = "aten::_make_per_channel_quantized_tensor";
    const auto part = [&](const at::Tensor& plain, const char* name) {
      return ToArg(*FromTensor(plain, path.empty() ? "" : absl::StrCat(path, ".", name)));
    };
    args.push_back({"scale", part(tensor.q_per_channel_scales().to(at::kFloat), "scale")});
    args.push_back({"zero_point", part(tensor.q_per_channel_zero_points().to(integers.scalar_type()),
                                       "zero_point")});
    args.push_back({"axis", tensor.q_per_channel_axis()});
  }
  const auto sizes = tensor.sizes();
  return Leaf(EmitAtStart(std::move(op), std::move(args),
                          ir::Type::Tensor(torch_values::DTypeOf(tensor.scalar_type()),
                                           ir::Shape(sizes.begin(), sizes.end()))));
}

ItemRef Converter::FromPackedParams(const c10::IValue& object, const std::string& path) {
  Packed packed = Read(object);
  const bool linear = packed.rest.empty();
  const auto tensor = [&](const at::Tensor& plain, const char* name) {
    return ToArg(*FromTensor(plain, path.empty() ? name : absl::StrCat(path, ".", name)));
  };
  std::vector<ir::NamedArg> args = {{linear ? "W" : "weight", tensor(packed.weight, "weight")},
                                    {linear ? "B" : "bias", ir::Arg()}};
  if (packed.bias && packed.bias->defined()) args[1].value = tensor(*packed.bias, "bias");
  args.insert(args.end(), packed.rest.begin(), packed.rest.end());
  return Leaf(EmitAtStart(std::move(packed.op), std::move(args),
                          ir::Type{.kind = ir::Type::Kind::kObject,
                                   .class_name = object.type()->annotation_str()}));
}

}  // namespace rules_onnx::script
