#include "exporter/passes/twins.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "exporter/ir/schema.h"
#include "exporter/passes/promotion.h"

namespace rules_onnx::passes {
namespace {

using Names = absl::flat_hash_set<absl::string_view>;

std::string Overload(const ir::Node& node) {
  return std::string(absl::string_view(node.op).substr(node.base_op().size()));
}

std::string Base(const ir::Node& node) { return std::string(node.base_op()); }

// "aten::add_" → "aten::add", "aten::__iadd__" → "aten::add", "aten::__iand__" → "aten::__and__".
std::string BaseWithoutWrite(const ir::Node& node) {
  const std::string base = Base(node);
  if (absl::StartsWith(base, "aten::__i") && absl::EndsWith(base, "__")) {
    const std::string name = base.substr(9, base.size() - 11);
    if (name == "add" || name == "sub" || name == "mul") return "aten::" + name;
    if (name == "div" || name == "truediv") return "aten::div";
    return absl::StrCat("aten::__", name, "__");
  }
  if (base == "aten::_index_put_impl_") return "aten::index_put";
  return absl::EndsWith(base, "_") ? base.substr(0, base.size() - 1) : base;
}

// `self` in the dtype and shape that `like` has.
ir::Value* ConvertLike(ir::Value* value, const ir::Type& like, Emitter* emitter) {
  if (value->type.dtype == like.dtype || like.dtype == ir::DType::kUndefined) return value;
  return emitter->Emit("aten::to.dtype", {{"self", value}, {"dtype", like.dtype}}, like);
}

bool SameShape(const ir::Type& a, const ir::Type& b) {
  if (!a.shape || !b.shape || a.shape->size() != b.shape->size()) return false;
  for (size_t i = 0; i < a.shape->size(); ++i) {
    if (!(*a.shape)[i].is_number() || !(*a.shape)[i].Equals((*b.shape)[i])) return false;
  }
  return true;
}

Twin WholeSelf(ir::Value* written) {
  return {.found = true, .written = {written}, .output_is_written = {0}, .outputs = {}};
}

Twin TwinOfCopy(const ir::Node& node, Emitter* emitter) {
  ir::Value* self = node.args[0].value.value();
  const ir::Arg& source = node.args[1].value;
  ir::Value* value = nullptr;
  if (source.is_value() && source.value()->type.is_tensor()) {
    value = source.value();
    if (!SameShape(value->type, self->type)) {
      ir::Type type = self->type;
      type.dtype = value->type.dtype;
      value = emitter->Emit("aten::expand_as", {{"self", value}, {"other", self}}, type);
    }
    return WholeSelf(ConvertLike(value, self->type, emitter));
  }
  if (source.is_literal()) {
    ir::Type type = self->type;
    type.dtype = source.literal().dtype;
    value = emitter->Emit("aten::expand_as", {{"self", source}, {"other", self}}, type);
    return WholeSelf(ConvertLike(value, self->type, emitter));
  }
  return WholeSelf(emitter->Emit("aten::full_like", {{"self", self}, {"fill_value", source}},
                                 self->type));
}

Twin TwinOfFill(const ir::Node& node, Emitter* emitter) {
  ir::Value* self = node.args[0].value.value();
  if (node.op == "aten::fill_.Tensor") return TwinOfCopy(node, emitter);
  return WholeSelf(emitter->Emit("aten::full_like",
                                 {{"self", self}, {"fill_value", node.args[1].value}},
                                 self->type));
}

Twin TwinOfZero(const ir::Node& node, Emitter* emitter) {
  ir::Value* self = node.args[0].value.value();
  return WholeSelf(emitter->Emit("aten::zeros_like", {{"self", self}}, self->type));
}

// `values`, all of them, filled with what the node fills.
ir::Value* Filled(const ir::Node& node, ir::Value* values, Emitter* emitter) {
  return emitter->Emit("aten::full_like",
                       {{"self", values}, {"fill_value", *node.Find("fill_value")}}, values->type);
}

// How far the elements of the diagonal lie from each other, and further on those of a matrix whose
// diagonal begins anew below its columns; nullopt where it is not known.
std::optional<int64_t> DiagonalStep(const ir::Shape& shape) {
  int64_t step = 1, stride = 1;
  for (size_t i = shape.size(); --i > 0;) {
    if (!shape[i].is_number() || (shape.size() > 2 && !shape[i].Equals(shape[0]))) {
      return std::nullopt;
    }
    stride *= shape[i].value();
    step += stride;
  }
  return step;
}

Twin TwinOfFillDiagonal(const ir::Node& node, Emitter* emitter) {
  ir::Value* self = node.args[0].value.value();
  const ir::Arg* wrap = node.Find("wrap");
  if (!self->type.shape || self->type.shape->size() < 2 || !wrap->is_bool()) return {};
  const ir::Shape& shape = *self->type.shape;
  if (shape.size() == 2 && !wrap->as_bool()) {
    const ir::Type type =
        ir::Type::Tensor(self->type.dtype, ir::Shape{ir::Dim::Min(shape[0], shape[1])});
    ir::Value* diagonal = emitter->Emit("aten::diagonal", {{"self", self}}, type);
    return WholeSelf(emitter->Emit("aten::diagonal_scatter",
                                   {{"self", self}, {"src", Filled(node, diagonal, emitter)}},
                                   self->type));
  }
  const std::optional<int64_t> step = DiagonalStep(shape);
  if (!step) return {};
  ir::Type type = ir::Type::Tensor(self->type.dtype, ir::Shape{ir::NumElements(shape)});
  ir::Value* flat =
      emitter->Emit("aten::reshape", {{"self", self}, {"shape", ir::Arg::Ints({-1})}}, type);
  const ir::Type part = ir::Type::Tensor(self->type.dtype, ir::Shape{ir::Dim::Unknown()});
  const std::vector<ir::NamedArg> where = {
      {"dim", 0}, {"start", ir::Arg()}, {"end", ir::Arg()}, {"step", *step}};
  std::vector<ir::NamedArg> args = {{"self", flat}};
  args.insert(args.end(), where.begin(), where.end());
  ir::Value* diagonal = emitter->Emit("aten::slice.Tensor", std::move(args), part);
  args = {{"self", flat}, {"src", Filled(node, diagonal, emitter)}};
  args.insert(args.end(), where.begin(), where.end());
  flat = emitter->Emit("aten::slice_scatter", std::move(args), type);
  return WholeSelf(
      emitter->Emit("aten::reshape_as", {{"self", flat}, {"other", self}}, self->type));
}

// The first `count` arguments have the same types.
bool SameArgs(const ir::Schema& a, const ir::Schema& b, size_t count) {
  if (a.args.size() < count || b.args.size() < count) return false;
  for (size_t i = 0; i < count; ++i) {
    if (a.args[i].type != b.args[i].type) return false;
  }
  return true;
}

bool IsIgnored(const ir::SchemaArg& arg) { return absl::StartsWith(arg.type, "Generator"); }

size_t ArgsWithoutGenerator(const ir::Schema& schema) {
  return static_cast<size_t>(
      std::count_if(schema.args.begin(), schema.args.end(),
                    [](const ir::SchemaArg& arg) { return !IsIgnored(arg); }));
}

std::vector<ir::NamedArg> Rename(const std::vector<ir::NamedArg>& args, const ir::Schema& schema,
                                 size_t count) {
  std::vector<ir::NamedArg> renamed;
  for (size_t i = 0; i < count; ++i) renamed.push_back({schema.args[i].name, args[i].value});
  return renamed;
}

// `op_` of a tensor, the first argument: `op`.
Twin TwinOfInPlace(const ir::Node& node, const ir::Schema& schema, Emitter* emitter) {
  const Schemas& schemas = emitter->context()->schemas;
  const std::string base = BaseWithoutWrite(node);
  const std::string overload = Overload(node);
  std::vector<std::string> candidates = {base + overload, base + "_functional", base,
                                         base + ".Tensor"};
  // `pow_.Scalar` is `pow.Tensor_Scalar`.
  if (!overload.empty()) candidates.push_back(absl::StrCat(base, ".Tensor_", overload.substr(1)));
  if (node.op == "aten::bernoulli_.float") candidates.push_back("aten::bernoulli.p");
  for (const std::string& op : candidates) {
    const ir::Schema* twin = schemas.Find(op);
    if (twin == nullptr || twin->writes()) continue;
    // `unsafe` of _index_put_impl_ has no part in the result.
    const size_t count = std::min(ArgsWithoutGenerator(*twin), ArgsWithoutGenerator(schema));
    if (!SameArgs(*twin, schema, count)) continue;
    if (twin->args.size() > count && !IsIgnored(twin->args[count])) continue;
    auto call = Rename(node.args, *twin, count);
    ir::Value* self = node.args[0].value.value();
    ir::Node probe;
    probe.op = op;
    probe.args = call;
    ir::Type type = self->type;
    type.dtype = OutputDType(probe, type.dtype);
    return WholeSelf(
        ConvertLike(emitter->Emit(op, std::move(call), type), self->type, emitter));
  }
  return {};
}

// `op_functional`: the outputs of the node, then the written arguments.
Twin TwinWithState(const ir::Node& node, const ir::Schema& schema, Emitter* emitter) {
  const std::string op = BaseWithoutWrite(node) + "_functional";
  const ir::Schema* twin = emitter->context()->schemas.Find(op);
  if (twin == nullptr || !SameArgs(*twin, schema, ArgsWithoutGenerator(*twin))) return {};
  std::vector<ir::Type> types;
  for (const ir::Value* output : node.outputs) types.push_back(output->type);
  for (size_t i = 0; i < schema.args.size(); ++i) {
    if (!schema.args[i].is_write) continue;
    if (!node.args[i].value.is_value()) return {};
    types.push_back(node.args[i].value.value()->type);
  }
  if (types.size() != twin->returns.size()) return {};
  const ir::Node* call = emitter->EmitNode(
      op, Rename(node.args, *twin, ArgsWithoutGenerator(*twin)), std::move(types));
  Twin result{.found = true, .written = {}, .output_is_written = {}, .outputs = {}};
  const auto split = call->outputs.begin() + static_cast<std::ptrdiff_t>(node.outputs.size());
  result.outputs.assign(call->outputs.begin(), split);
  result.written.assign(split, call->outputs.end());
  result.output_is_written.assign(node.outputs.size(), -1);
  return result;
}

// The overloads that an `out=` overload can be the other form of.
std::vector<std::string> WithoutOut(const ir::Node& node) {
  const std::string base = Base(node);
  const std::string overload = Overload(node);
  std::vector<std::string> ops;
  if (absl::EndsWith(overload, "_out")) {
    ops.push_back(base + overload.substr(0, overload.size() - 4));
  }
  if (absl::EndsWith(overload, "_values")) {
    ops.push_back(base + overload.substr(0, overload.size() - 7));
  }
  for (const char* other : {"", ".Tensor", ".dim", ".default", ".dim_IntList", ".Tensor_Tensor",
                            ".self", ".int", ".vec", ".dim_max", ".dim_min", ".stable",
                            ".Scalar", ".start", ".start_step"}) {
    ops.push_back(base + other);
  }
  return ops;
}

Twin TwinOfOut(const ir::Node& node, const ir::Schema& schema, Emitter* emitter) {
  std::vector<size_t> written, kept;
  for (size_t i = 0; i < schema.args.size(); ++i) {
    (schema.args[i].is_write ? written : kept).push_back(i);
  }
  for (const std::string& op : WithoutOut(node)) {
    const ir::Schema* twin = emitter->context()->schemas.Find(op);
    if (twin == nullptr || twin->writes() || twin->returns.size() != written.size()) continue;
    std::vector<ir::NamedArg> call;
    const bool fits = std::all_of(kept.begin(), kept.end(), [&](size_t i) {
      const ir::SchemaArg* arg = twin->Find(schema.args[i].name);
      if (arg == nullptr || arg->type != schema.args[i].type) return false;
      call.push_back(node.args[i]);
      return true;
    });
    if (!fits || node.outputs.size() != written.size()) continue;
    std::vector<ir::Type> types;
    for (size_t i = 0; i < written.size(); ++i) {
      ir::Node probe;
      probe.op = op;
      probe.args = call;
      ir::Type type = node.outputs[i]->type;
      if (written.size() == 1) type.dtype = OutputDType(probe, type.dtype);
      types.push_back(std::move(type));
    }
    const ir::Node* made = emitter->EmitNode(op, std::move(call), std::move(types));
    Twin result{.found = true, .written = {}, .output_is_written = {}, .outputs = {}};
    for (size_t i = 0; i < written.size(); ++i) {
      result.written.push_back(
          ConvertLike(made->outputs[i], node.outputs[i]->type, emitter));
      result.output_is_written.push_back(static_cast<int>(i));
    }
    return result;
  }
  return {};
}

}  // namespace

bool ChangesGeometry(const ir::Node& node) {
  static const auto* const kChanging =
      new Names{"aten::unsqueeze_", "aten::squeeze_", "aten::transpose_", "aten::t_",
                "aten::swapaxes_",  "aten::swapdims_"};
  return kChanging->contains(node.base_op());
}

Twin EmitTwin(const ir::Node& node, Emitter* emitter) {
  static const auto* const kWithoutTwin =
      new Names{"aten::set_",    "aten::resize_",      "aten::resize_as_", "aten::as_strided_",
                "aten::rename_", "aten::resize_as_sparse_", "aten::data"};
  const absl::string_view base = node.base_op();
  const ir::Schema* schema = emitter->context()->schemas.Find(node.op);
  if (schema == nullptr || !schema->writes() || kWithoutTwin->contains(base)) return {};
  // What a user's operator means by a name is not known.
  if (!absl::StartsWith(base, "aten::")) return {};
  if (node.args.size() != schema->args.size()) return {};
  const bool only_self =
      schema->args[0].is_write &&
      std::count_if(schema->args.begin(), schema->args.end(),
                    [](const ir::SchemaArg& arg) { return arg.is_write; }) == 1;
  if (only_self && node.args[0].value.is_value()) {
    if (base == "aten::copy_") return TwinOfCopy(node, emitter);
    if (base == "aten::fill_") return TwinOfFill(node, emitter);
    if (base == "aten::zero_") return TwinOfZero(node, emitter);
    if (base == "aten::fill_diagonal_") return TwinOfFillDiagonal(node, emitter);
    return TwinOfInPlace(node, *schema, emitter);
  }
  Twin twin = TwinOfOut(node, *schema, emitter);
  return twin.found ? twin : TwinWithState(node, *schema, emitter);
}

}  // namespace rules_onnx::passes
