#include "exporter/pt2/scalar_functions.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"

namespace rules_onnx::pt2 {
namespace {

using ir::Arg;
using ir::Type;
using Kind = ir::Type::Kind;

enum class Form {
  kArithmetic,  // op.int of ints, op.float where one is a float
  kDivide,      // div.int gives a float too
  kPower,
  kCompare,  // like kArithmetic, and of bools
  kLogic,    // op.int or op.bool
  kShift,
  kNegate,
  kRound,  // op.float: float → int
  kSquareRoot,
  kSame,  // its argument
  kToInt,
  kToFloat,
  kNot,
  kSelect,  // sym_ite(condition, a, b)
};

struct Function {
  absl::string_view target;
  size_t num_args;
  Form form;
  absl::string_view op;
};

constexpr Function kFunctions[] = {
    {"_operator.add", 2, Form::kArithmetic, "aten::add"},
    {"_operator.sub", 2, Form::kArithmetic, "aten::sub"},
    {"_operator.mul", 2, Form::kArithmetic, "aten::mul"},
    {"_operator.floordiv", 2, Form::kArithmetic, "aten::floordiv"},
    {"_operator.mod", 2, Form::kArithmetic, "aten::remainder"},
    {"torch.sym_max", 2, Form::kArithmetic, "prim::max"},
    {"torch.sym_min", 2, Form::kArithmetic, "prim::min"},
    {"_operator.truediv", 2, Form::kDivide, "aten::div"},
    {"_operator.pow", 2, Form::kPower, "aten::pow"},
    {"_operator.eq", 2, Form::kCompare, "aten::eq"},
    {"_operator.ne", 2, Form::kCompare, "aten::ne"},
    {"_operator.lt", 2, Form::kCompare, "aten::lt"},
    {"_operator.le", 2, Form::kCompare, "aten::le"},
    {"_operator.gt", 2, Form::kCompare, "aten::gt"},
    {"_operator.ge", 2, Form::kCompare, "aten::ge"},
    {"_operator.and_", 2, Form::kLogic, "aten::__and__"},
    {"_operator.or_", 2, Form::kLogic, "aten::__or__"},
    {"_operator.lshift", 2, Form::kShift, "aten::__lshift__"},
    {"_operator.rshift", 2, Form::kShift, "aten::__rshift__"},
    {"_operator.neg", 1, Form::kNegate, "aten::neg"},
    {"_operator.pos", 1, Form::kSame, ""},
    {"math.ceil", 1, Form::kRound, "aten::ceil"},
    {"math.floor", 1, Form::kRound, "aten::floor"},
    {"math.trunc", 1, Form::kToInt, ""},
    {"torch.sym_int", 1, Form::kToInt, ""},
    {"torch.sym_float", 1, Form::kToFloat, ""},
    {"torch.sym_not", 1, Form::kNot, ""},
    {"torch.sym_sqrt", 1, Form::kSquareRoot, "aten::sqrt"},
    {"torch._sym_sqrt", 1, Form::kSquareRoot, "aten::sqrt"},
    {"torch.sym_ite", 3, Form::kSelect, ""},
};

const Function* FindFunction(absl::string_view target) {
  const auto* const it =
      std::find_if(std::begin(kFunctions), std::end(kFunctions),
                   [&](const Function& function) { return function.target == target; });
  return it == std::end(kFunctions) ? nullptr : it;
}

Kind KindOf(const Arg& arg) { return TypeOf(arg).kind; }
bool IsNumber(const Arg& arg) { return TypeOf(arg).is_number(); }

class Call {
 public:
  Call(const Function& function, const std::vector<Arg>& args, const Type& type,
       const std::string& name, Emitter* emitter)
      : function_(function), args_(args), type_(type), name_(name), emitter_(emitter) {}

  Arg Emit() {
    switch (function_.form) {
      case Form::kArithmetic: return Binary(function_.op, WithFloats(Kind::kInt));
      case Form::kCompare: return Binary(function_.op, WithFloats(CompareKind()));
      case Form::kDivide: return Binary(function_.op, WithFloats(Kind::kInt));
      case Form::kPower: return Power();
      case Form::kLogic: return Binary(function_.op, AllOf(Kind::kBool) ? Kind::kBool : Kind::kInt);
      case Form::kShift: return Binary(function_.op, Kind::kInt);
      case Form::kNegate: return Unary(function_.op, WithFloats(Kind::kInt));
      case Form::kRound: return ToInt(function_.op);
      case Form::kSquareRoot: return Unary(function_.op, WithFloats(Kind::kInt));
      case Form::kSame: return args_[0];
      case Form::kToInt: return ToInt("aten::Int");
      case Form::kToFloat: return Convert(args_[0], Kind::kFloat, name_);
      case Form::kNot: return Result("aten::__not__", {{"self", Convert(args_[0], Kind::kBool)}});
      case Form::kSelect: return Select();
    }
    return {};
  }

 private:
  bool AllOf(Kind kind) const {
    return std::all_of(args_.begin(), args_.end(),
                       [&](const Arg& arg) { return KindOf(arg) == kind; });
  }
  // kFloat where one of the arguments is a float.
  Kind WithFloats(Kind otherwise) const {
    const bool has_float = std::any_of(args_.begin(), args_.end(),
                                       [](const Arg& arg) { return KindOf(arg) == Kind::kFloat; });
    return has_float ? Kind::kFloat : otherwise;
  }
  // Bools are ordered as ints are; TorchScript has only == and != for them.
  Kind CompareKind() const {
    const bool is_equality = function_.op == "aten::eq" || function_.op == "aten::ne";
    return is_equality && AllOf(Kind::kBool) ? Kind::kBool : Kind::kInt;
  }

  static absl::string_view Overload(Kind kind) {
    return kind == Kind::kFloat ? ".float" : kind == Kind::kBool ? ".bool" : ".int";
  }

  Arg Result(std::string op, std::vector<ir::NamedArg> args) {
    return emitter_->Emit(std::move(op), std::move(args), type_, name_);
  }

  Arg Unary(absl::string_view op, Kind kind) {
    return Result(absl::StrCat(op, Overload(kind)), {{"a", Convert(args_[0], kind)}});
  }

  Arg Binary(absl::string_view op, Kind kind) {
    const Arg a = Convert(args_[0], kind);
    const Arg b = Convert(args_[1], kind);
    return Result(absl::StrCat(op, Overload(kind)), {{"a", a}, {"b", b}});
  }

  Arg Power() {
    if (type_.kind != Kind::kInt) return Binary(function_.op, WithFloats(Kind::kInt));
    const Arg a = Convert(args_[0], Kind::kInt);
    const Arg b = Convert(args_[1], Kind::kInt);
    return Result("aten::pow.int_to_int", {{"a", a}, {"b", b}});
  }

  Arg ToInt(absl::string_view op) {
    if (KindOf(args_[0]) != Kind::kFloat) return Convert(args_[0], Kind::kInt, name_);
    return Unary(op, Kind::kFloat);
  }

  Arg Select() {
    ir::Node* const node = emitter_->Append("prim::If", {{"cond", args_[0]}});
    for (const Arg& branch : {args_[1], args_[2]}) {
      auto block = std::make_unique<ir::Block>();
      block->results = {
          emitter_->InBlock(block.get(), [&] { return Convert(branch, type_.kind); })};
      node->blocks.push_back(std::move(block));
    }
    node->outputs = {emitter_->graph().NewValue(type_, name_)};
    return node->output();
  }

  // The number as one of `kind`.
  Arg Convert(const Arg& arg, Kind kind, const std::string& name = "") {
    const Kind from = KindOf(arg);
    if (from == kind) return arg;
    if (kind == Kind::kFloat) {
      if (arg.is_int()) return static_cast<double>(arg.as_int());
      if (arg.is_bool()) return arg.as_bool() ? 1.0 : 0.0;
      return emitter_->Emit(absl::StrCat("aten::Float", Overload(from)), {{"a", arg}},
                            Type::Scalar(kind), name);
    }
    if (kind == Kind::kInt) {
      if (arg.is_bool()) return int64_t{arg.as_bool()};
      return emitter_->Emit(absl::StrCat("aten::Int", Overload(from)), {{"a", arg}},
                            Type::Scalar(kind), name);
    }
    if (arg.is_int()) return arg.as_int() != 0;
    if (arg.is_float()) return arg.as_float() != 0;
    return emitter_->Emit(absl::StrCat("aten::Bool", Overload(from)), {{"a", arg}},
                          Type::Scalar(kind), name);
  }

  const Function& function_;
  const std::vector<Arg>& args_;
  const Type& type_;
  const std::string& name_;
  Emitter* emitter_;
};

// Whether the function is defined for the kinds of its arguments.
bool Takes(const Function& function, const std::vector<Arg>& args) {
  if (args.size() != function.num_args || !std::all_of(args.begin(), args.end(), IsNumber)) {
    return false;
  }
  const bool wants_whole = function.form == Form::kLogic || function.form == Form::kShift;
  return !wants_whole || std::none_of(args.begin(), args.end(),
                                      [](const Arg& arg) { return KindOf(arg) == Kind::kFloat; });
}

}  // namespace

bool IsScalarFunction(absl::string_view target) { return FindFunction(target) != nullptr; }

absl::StatusOr<Arg> EmitScalarFunction(absl::string_view target, const std::vector<Arg>& args,
                                       const Type& type, const std::string& name,
                                       Emitter* emitter) {
  const Function* const function = FindFunction(target);
  if (function == nullptr || !Takes(*function, args)) {
    return absl::InvalidArgumentError("is called with arguments that it does not take");
  }
  return Call(*function, args, type, name, emitter).Emit();
}

}  // namespace rules_onnx::pt2
