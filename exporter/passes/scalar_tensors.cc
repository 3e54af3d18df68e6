#include "exporter/passes/scalar_tensors.h"

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::passes {
namespace {

using Kind = ir::Type::Kind;
constexpr int kMaxDepth = 64;

bool ReadsNumber(absl::string_view op) {
  static const auto* const kReaders = new absl::flat_hash_set<absl::string_view>{
      "aten::Int.Tensor",  "aten::Float.Tensor",    "aten::Bool.Tensor", "aten::IntImplicit",
      "aten::FloatImplicit", "aten::ScalarImplicit", "aten::item", "aten::_local_scalar_dense"};
  return kReaders->contains(op);
}

// The operator on ints that does to the one element what the tensor operator does.
std::optional<std::string> IntOperator(const ir::Node& node) {
  static const auto* const kOperators = new std::map<std::string, std::string>{
      {"aten::add", "aten::add.int"},
      {"aten::sub", "aten::sub.int"},
      {"aten::mul", "aten::mul.int"},
      {"aten::floor_divide", "aten::floordiv.int"},
      {"aten::remainder", "aten::remainder.int"},
      {"aten::minimum", "prim::min.int"},
      {"aten::maximum", "prim::max.int"},
      {"aten::neg", "aten::neg.int"},
  };
  const auto it = kOperators->find(std::string(node.base_op()));
  if (it != kOperators->end()) {
    const ir::Arg* alpha = node.Find("alpha");
    if (alpha != nullptr && !(alpha->is_int() && alpha->as_int() == 1)) return std::nullopt;
    return it->second;
  }
  if (node.base_op() != "aten::div") return std::nullopt;
  const ir::Arg* mode = node.Find("rounding_mode");
  const bool floors = mode != nullptr && mode->is_string() && mode->as_string() == "floor";
  return floors ? std::optional<std::string>("aten::floordiv.int") : std::nullopt;
}

std::optional<ir::Arg> IntOfLiteral(const ir::Arg& arg) {
  if (!arg.is_literal()) return std::nullopt;
  const ir::TensorLiteral& literal = arg.literal();
  if (literal.dtype != ir::DType::kInt64 || literal.bytes.size() != sizeof(int64_t)) {
    return std::nullopt;
  }
  int64_t value;
  std::memcpy(&value, literal.bytes.data(), sizeof(value));
  return ir::Arg(value);
}

bool IsInt64Scalar(const ir::Type& type) {
  return type.is_tensor() && type.dtype == ir::DType::kInt64 && type.shape &&
         type.shape->empty();
}

Kind KindOf(const ir::Arg& arg) {
  if (arg.is_value()) return arg.value()->type.kind;
  if (arg.is_int()) return Kind::kInt;
  if (arg.is_float()) return Kind::kFloat;
  return arg.is_bool() ? Kind::kBool : Kind::kUnknown;
}

class Scalarizer {
 public:
  explicit Scalarizer(Context* context) : context_(context) {}

  bool Run() {
    return RewriteGraph(
        context_, [this](ir::Node* node, Emitter* emitter, Replacements* replacements) {
          for (const ir::Value* output : node->outputs) definitions_[output] = node;
          if (!ReadsNumber(node->op)) return Action::kKeep;
          const ir::Arg& tensor = node->args[0].value;
          if (!Exists(tensor, 0)) return Action::kKeep;
          const Kind kind = node->output()->type.kind;
          if (const ir::Node* made = MadeOfNumber(tensor)) {
            if (KindOf(made->args[0].value) != kind) return Action::kKeep;
          } else if (kind != Kind::kInt) {
            return Action::kKeep;
          }
          replacements->Set(node->output(), Number(tensor, emitter));
          return Action::kDrop;
        });
  }

 private:
  const ir::Node* Definition(const ir::Arg& arg) const {
    if (!arg.is_value()) return nullptr;
    const auto it = definitions_.find(arg.value());
    return it == definitions_.end() ? nullptr : it->second;
  }

  const ir::Node* MadeOfNumber(const ir::Arg& tensor) const {
    const ir::Node* node = Definition(tensor);
    if (node == nullptr) return nullptr;
    if (node->base_op() == "prim::NumToTensor") return node;
    // Rounds to its dtype: only an int64 or a bool comes back whole.
    const bool whole = node->output()->type.dtype == ir::DType::kInt64 ||
                       node->output()->type.dtype == ir::DType::kBool;
    return node->op == "aten::scalar_tensor" && whole ? node : nullptr;
  }

  // An int operand: a number, or a tensor that Number can say.
  bool Exists(const ir::Arg& arg, int depth) const {
    if (arg.is_int() || IntOfLiteral(arg)) return true;
    if (arg.is_value() && arg.value()->type.kind == Kind::kInt) return true;
    const ir::Node* node = Definition(arg);
    if (node == nullptr || depth > kMaxDepth) return false;
    if (MadeOfNumber(arg) != nullptr) return true;
    if (node->op == "prim::Constant") return Exists(*node->Find("value"), depth + 1);
    if (node->outputs.size() != 1 || !IsInt64Scalar(node->output()->type)) return false;
    if (!IntOperator(*node)) return false;
    for (size_t i = 0; i < node->args.size(); ++i) {
      const ir::NamedArg& operand = node->args[i];
      if (operand.name != "self" && operand.name != "other") continue;
      const ir::Node* made = MadeOfNumber(operand.value);
      if (made != nullptr && KindOf(made->args[0].value) != Kind::kInt) return false;
      if (!Exists(operand.value, depth + 1)) return false;
    }
    return true;
  }

  ir::Arg Number(const ir::Arg& arg, Emitter* emitter) {
    if (arg.is_int()) return arg;
    if (const auto literal = IntOfLiteral(arg)) return *literal;
    if (arg.value()->type.kind == Kind::kInt) return arg;
    if (const ir::Node* made = MadeOfNumber(arg)) return made->args[0].value;
    const ir::Node* node = Definition(arg);
    if (node->op == "prim::Constant") return Number(*node->Find("value"), emitter);
    std::vector<ir::NamedArg> operands;
    for (const ir::NamedArg& operand : node->args) {
      if (operand.name != "self" && operand.name != "other") continue;
      operands.push_back({"", Number(operand.value, emitter)});
    }
    return emitter->Emit(*IntOperator(*node), std::move(operands),
                         IntType());
  }

  Context* context_;
  std::unordered_map<const ir::Value*, const ir::Node*> definitions_;
};

}  // namespace

bool ScalarTensors(Context* context) { return Scalarizer(context).Run(); }

}  // namespace rules_onnx::passes
