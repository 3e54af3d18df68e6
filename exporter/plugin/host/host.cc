#include "exporter/plugin/host/host.h"

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "exporter/lowering/foreign.h"

// A lowering in progress: the node, and what its texts and lists point at.
struct rules_onnx_op {
  rules_onnx::lowering::Op& op;
  std::deque<std::string> texts;
  std::deque<std::vector<int64_t>> ints;
  std::deque<std::vector<rules_onnx_value*>> values;
};

namespace rules_onnx::plugin {
namespace {

using builder::Attrs;
using builder::Val;
using builder::Vals;
using ir::Dim;

constexpr std::pair<ir::DType, DType> kDTypes[] = {
    {ir::DType::kFloat32, DType::kFloat32},  {ir::DType::kUInt8, DType::kUInt8},
    {ir::DType::kInt8, DType::kInt8},        {ir::DType::kUInt16, DType::kUInt16},
    {ir::DType::kInt16, DType::kInt16},      {ir::DType::kInt32, DType::kInt32},
    {ir::DType::kInt64, DType::kInt64},      {ir::DType::kBool, DType::kBool},
    {ir::DType::kFloat16, DType::kFloat16},  {ir::DType::kFloat64, DType::kFloat64},
    {ir::DType::kUInt32, DType::kUInt32},    {ir::DType::kUInt64, DType::kUInt64},
    {ir::DType::kBFloat16, DType::kBFloat16}};

int32_t ToC(ir::DType dtype) {
  for (const auto& [ours, theirs] : kDTypes) {
    if (ours == dtype) return static_cast<int32_t>(theirs);
  }
  return 0;
}

ir::DType FromC(rules_onnx_op* op, int32_t dtype) {
  for (const auto& [ours, theirs] : kDTypes) {
    if (static_cast<int32_t>(theirs) == dtype) return ours;
  }
  op->op.Fail(absl::StrCat("the plugin asks for type ", dtype, ", which is none of plugin.h"));
  return ir::DType::kUndefined;
}

Val ToVal(rules_onnx_value* value) { return Val(reinterpret_cast<builder::Value*>(value)); }
rules_onnx_value* ToHandle(Val val) { return reinterpret_cast<rules_onnx_value*>(val.get()); }

void SetType(rules_onnx_op* op, ir::DType dtype, const std::optional<ir::Shape>& shape,
             rules_onnx_type* type) {
  *type = {ToC(dtype), -1, nullptr};
  if (!shape) return;
  std::vector<int64_t>& dims = op->ints.emplace_back();
  for (const Dim& dim : *shape) dims.push_back(dim.is_number() ? dim.value() : -1);
  type->rank = static_cast<int32_t>(dims.size());
  type->dims = dims.data();
}

std::optional<ir::Shape> ShapeFromC(const rules_onnx_type& type) {
  if (type.rank < 0) return std::nullopt;
  ir::Shape shape;
  for (int32_t i = 0; i < type.rank; ++i) {
    shape.push_back(type.dims[i] < 0 ? Dim::Unknown() : Dim(type.dims[i]));
  }
  return shape;
}

const char* Text(rules_onnx_op* op, std::string text) {
  return op->texts.emplace_back(std::move(text)).c_str();
}

std::optional<builder::Attr> AttrFromC(rules_onnx_op* op, const rules_onnx_attr& attr) {
  const auto list = [&](const auto* items) { return std::vector(items, items + attr.count); };
  const std::string name = attr.name;
  const bool single = attr.kind <= RULES_ONNX_STRING;
  if (!single || attr.count == 1) {
    switch (attr.kind) {
      case RULES_ONNX_INT: return builder::Attr(name, attr.ints[0]);
      case RULES_ONNX_FLOAT: return builder::Attr(name, attr.floats[0]);
      case RULES_ONNX_STRING: return builder::Attr(name, attr.strings[0]);
      case RULES_ONNX_INTS: return builder::Attr(name, builder::Attr::Data(list(attr.ints)));
      case RULES_ONNX_FLOATS:
        return builder::Attr(
            name, builder::Attr::Data(std::vector<float>(attr.floats, attr.floats + attr.count)));
      case RULES_ONNX_STRINGS:
        return builder::Attr(name, builder::Attr::Data(std::vector<std::string>(
                                       attr.strings, attr.strings + attr.count)));
    }
  }
  op->op.Fail(absl::StrCat("attribute ", name, " of the plugin is malformed"));
  return std::nullopt;
}

Vals EmitNode(rules_onnx_op* op, const rules_onnx_node& node) {
  lowering::Op& host = op->op;
  const Vals nothing(node.num_outputs);
  Vals inputs;
  for (size_t i = 0; i < node.num_inputs; ++i) inputs.push_back(ToVal(node.inputs[i]));
  Attrs attrs;
  for (size_t i = 0; i < node.num_attrs; ++i) {
    if (const auto attr = AttrFromC(op, node.attrs[i])) attrs.push_back(*attr);
  }
  const std::string domain = node.domain;
  std::vector<builder::OutputType> types;
  for (size_t i = 0; node.types != nullptr && i < node.num_outputs; ++i) {
    types.push_back({FromC(op, node.types[i].dtype), ShapeFromC(node.types[i])});
  }
  if (host.failed() || node.num_outputs == 0) return nothing;
  if (domain.empty()) {
    return host.b.OpN(node.op_type, inputs, std::move(attrs), node.num_outputs, types);
  }
  if (!host.Require(node.types != nullptr,
                    absl::StrCat("outputs of ", domain, "::", node.op_type, " need types"))) {
    return nothing;
  }
  std::vector<builder::ValueType> value_types;
  for (const auto& type : types) {
    value_types.push_back({builder::ValueType::Kind::kTensor, type.dtype, type.shape});
  }
  const int version = node.version > 0 ? node.version : lowering::DomainVersion(host, domain);
  return host.b.CustomOp(domain, version, node.op_type, inputs, std::move(attrs), value_types);
}

const rules_onnx_host kHost = {
    .revision = RULES_ONNX_PLUGIN_REVISION,
    .opset = [](rules_onnx_op* op) { return static_cast<int32_t>(op->op.b.opset()); },
    .name = [](rules_onnx_op* op) { return op->op.node.op.c_str(); },
    .num_outputs = [](rules_onnx_op* op) { return op->op.num_outputs(); },
    .output_type =
        [](rules_onnx_op* op, size_t i, rules_onnx_type* type) {
          *type = {0, -1, nullptr};
          if (i >= op->op.num_outputs()) return;
          SetType(op, op->op.OutDType(i), op->op.OutShape(i), type);
        },
    .has = [](rules_onnx_op* op, const char* name) { return int32_t{op->op.Has(name)}; },
    .tensor = [](rules_onnx_op* op, const char* name) { return ToHandle(op->op.Tensor(name)); },
    .tensors =
        [](rules_onnx_op* op, const char* name, rules_onnx_value*** items) {
          auto& values = op->values.emplace_back();
          for (const Val val : op->op.Tensors(name)) values.push_back(ToHandle(val));
          *items = values.data();
          return values.size();
        },
    .get_int = [](rules_onnx_op* op, const char* name) { return op->op.Int(name); },
    .get_float = [](rules_onnx_op* op, const char* name) { return op->op.Float(name); },
    .get_string = [](rules_onnx_op* op, const char* name) { return Text(op, op->op.String(name)); },
    .get_ints =
        [](rules_onnx_op* op, const char* name, const int64_t** items) {
          const auto& ints = op->ints.emplace_back(op->op.Ints(name));
          *items = ints.data();
          return ints.size();
        },
    .known_float =
        [](rules_onnx_op* op, const char* name, double* number) {
          const auto known = op->op.KnownFloat(name);
          if (known) *number = *known;
          return int32_t{known.has_value()};
        },
    .type =
        [](rules_onnx_op* op, rules_onnx_value* value, rules_onnx_type* type) {
          *type = {0, -1, nullptr};
          const Val val = ToVal(value);
          if (val) SetType(op, val.dtype(), val.get()->type.shape, type);
        },
    .constant =
        [](rules_onnx_op* op, double number, int32_t dtype) {
          const ir::DType ours = FromC(op, dtype);
          return op->op.failed() ? nullptr : ToHandle(op->op.b.Scalar(number, ours));
        },
    .constant_ints =
        [](rules_onnx_op* op, const int64_t* items, size_t count) {
          return ToHandle(op->op.b.Ints(std::vector<int64_t>(items, items + count)));
        },
    .cast =
        [](rules_onnx_op* op, rules_onnx_value* value, int32_t dtype) {
          const ir::DType ours = FromC(op, dtype);
          return op->op.failed() ? nullptr : ToHandle(op->op.b.Cast(ToVal(value), ours));
        },
    .size =
        [](rules_onnx_op* op, rules_onnx_value* value, int32_t axis) {
          const Val val = ToVal(value);
          if (!val) return ToHandle(Val());
          const int64_t place = op->op.b.NormalizeAxis(axis, val.rank());
          return op->op.failed() ? nullptr : ToHandle(op->op.b.Size(val, static_cast<int>(place)));
        },
    .shape = [](rules_onnx_op* op,
                rules_onnx_value* value) { return ToHandle(op->op.b.ShapeOf(ToVal(value))); },
    .node =
        [](rules_onnx_op* op, const rules_onnx_node* node, rules_onnx_value** outputs) {
          const Vals vals = EmitNode(op, *node);
          for (size_t i = 0; i < vals.size(); ++i) outputs[i] = ToHandle(vals[i]);
        },
    .fail = [](rules_onnx_op* op, const char* message) { op->op.Fail(message); },
    .give =
        [](rules_onnx_op* op, rules_onnx_value* const* results, size_t count) {
          Vals vals;
          for (size_t i = 0; i < count; ++i) vals.push_back(ToVal(results[i]));
          op->op.Return(vals);
        },
};

}  // namespace

void RunPluginLowering(const rules_onnx_lowering& row, lowering::Op& op) {
  rules_onnx_op handle{op, {}, {}, {}};
  row.run(&kHost, &handle, row.function);
}

}  // namespace rules_onnx::plugin
