#include "exporter/pt2/state_dict.h"

#include <cstring>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"

namespace rules_onnx::pt2 {
namespace {

using ir::DType;

constexpr std::pair<const char*, DType> kStorages[] = {
    {"torch FloatStorage", DType::kFloat32},     {"torch DoubleStorage", DType::kFloat64},
    {"torch HalfStorage", DType::kFloat16},      {"torch BFloat16Storage", DType::kBFloat16},
    {"torch LongStorage", DType::kInt64},        {"torch IntStorage", DType::kInt32},
    {"torch ShortStorage", DType::kInt16},       {"torch CharStorage", DType::kInt8},
    {"torch ByteStorage", DType::kUInt8},        {"torch BoolStorage", DType::kBool},
    {"torch ComplexFloatStorage", DType::kComplex64},
    {"torch ComplexDoubleStorage", DType::kComplex128},
};

// A Python object as far as it matters. Containers are shared, as pickles fill them later.
struct Object {
  enum class Kind { kOther, kInt, kText, kGlobal, kTuple, kDict, kStorage, kTensor, kMark };
  Kind kind = Kind::kOther;
  int64_t integer = 0;
  std::string text;                                // of kText; "module name" of kGlobal
  std::shared_ptr<std::vector<Object>> items;      // of a tuple or list; key, value, … of a dict
  Payload payload;                                 // of kStorage (dtype, path_name) and kTensor

  static Object Items(Kind kind, std::vector<Object> items = {}) {
    Object object;
    object.kind = kind;
    object.items = std::make_shared<std::vector<Object>>(std::move(items));
    return object;
  }
  static Object Text(Kind kind, std::string text) {
    Object object;
    object.kind = kind;
    object.text = std::move(text);
    return object;
  }
  static Object Int(int64_t value) {
    Object object;
    object.kind = Kind::kInt;
    object.integer = value;
    return object;
  }
  bool is(Kind other) const { return kind == other; }
};

using Kind = Object::Kind;

class Reader {
 public:
  explicit Reader(absl::string_view pickle) : rest_(pickle) {}

  // The pickled object; nullopt, with a reason in `problem`, where it cannot be read.
  std::optional<Object> Read() {
    while (problem_.empty()) {
      const std::string code = Bytes(1);
      if (!problem_.empty()) break;
      if (code[0] == '.') return Pop();
      Step(code[0]);
    }
    return std::nullopt;
  }
  const std::string& problem() const { return problem_; }

 private:
  void Fail(std::string problem) {
    if (problem_.empty()) problem_ = std::move(problem);
  }

  std::string Bytes(uint64_t count) {
    if (count > rest_.size()) {
      Fail("it is cut off");
      return std::string(std::min<uint64_t>(count, 8), '\0');
    }
    std::string bytes(rest_.substr(0, count));
    rest_.remove_prefix(count);
    return bytes;
  }

  template <typename T>
  T Number() {
    T value;
    const std::string bytes = Bytes(sizeof value);
    std::memcpy(&value, bytes.data(), sizeof value);  // little endian, as the machine is
    return value;
  }

  std::string Line() {
    const size_t end = rest_.find('\n');
    if (end == absl::string_view::npos) {
      Fail("it is cut off");
      return "";
    }
    std::string line = Bytes(end);
    Bytes(1);
    return line;
  }

  void Push(Object object) { stack_.push_back(std::move(object)); }

  Object Pop() {
    if (stack_.empty() || stack_.back().is(Kind::kMark)) {
      Fail("its stack is empty");
      return {};
    }
    Object object = std::move(stack_.back());
    stack_.pop_back();
    return object;
  }

  // What was pushed since the last mark.
  std::vector<Object> PopToMark() {
    size_t mark = stack_.size();
    while (mark > 0 && !stack_[mark - 1].is(Kind::kMark)) --mark;
    if (mark == 0) {
      Fail("a mark is missing");
      return {};
    }
    std::vector<Object> items(stack_.begin() + static_cast<long>(mark), stack_.end());
    stack_.resize(mark - 1);
    return items;
  }

  std::vector<Object> PopItems(size_t count) {
    std::vector<Object> items(count);
    for (size_t i = count; i-- > 0;) items[i] = Pop();
    return items;
  }

  // Adds to the list or dict on top of the stack; to what is of no interest, nothing.
  void AddToTop(const std::vector<Object>& items) {
    if (stack_.empty()) return Fail("its stack is empty");
    if (!stack_.back().items) return;
    for (const Object& item : items) stack_.back().items->push_back(item);
  }

  void PushMemo(uint32_t index) {
    const auto it = memo_.find(index);
    if (it == memo_.end()) return Fail("it names an object that is not there");
    Push(it->second);
  }

  void Store(uint32_t index) {
    if (stack_.empty()) return Fail("its stack is empty");
    memo_[index] = stack_.back();
  }

  void Step(char code);
  void PushPersistent();
  void Call();
  Object Rebuild(const std::vector<Object>& arguments);

  absl::string_view rest_;
  std::string problem_;
  std::vector<Object> stack_;
  std::map<uint32_t, Object> memo_;
};

void Reader::Step(char code) {
  switch (code) {
    case '\x80': Bytes(1); return;                                        // PROTO
    case 'N': return Push({});                                            // NONE
    case '\x88': return Push(Object::Int(1));                             // NEWTRUE
    case '\x89': return Push(Object::Int(0));                             // NEWFALSE
    case 'K': return Push(Object::Int(Number<uint8_t>()));                // BININT1
    case 'M': return Push(Object::Int(Number<uint16_t>()));               // BININT2
    case 'J': return Push(Object::Int(Number<int32_t>()));                // BININT
    case 'G': Bytes(8); return Push({});                                  // BINFLOAT
    case '\x8a': {                                                        // LONG1
      const uint8_t size = Number<uint8_t>();
      std::string bytes = Bytes(size);
      if (size > 8) return Fail("it holds a number of more than 64 bits");
      bytes.resize(8, size > 0 && (bytes[size - 1] & '\x80') ? '\xff' : '\0');
      int64_t value;
      std::memcpy(&value, bytes.data(), sizeof value);
      return Push(Object::Int(value));
    }
    case 'X': return Push(Object::Text(Kind::kText, Bytes(Number<uint32_t>())));  // BINUNICODE
    case 'c': {                                                           // GLOBAL
      const std::string module = Line();
      return Push(Object::Text(Kind::kGlobal, absl::StrCat(module, " ", Line())));
    }
    case '(': return Push(Object::Items(Kind::kMark));                    // MARK
    case ')': return Push(Object::Items(Kind::kTuple));                   // EMPTY_TUPLE
    case ']': return Push(Object::Items(Kind::kTuple));                   // EMPTY_LIST
    case '}': return Push(Object::Items(Kind::kDict));                    // EMPTY_DICT
    case 't': return Push(Object::Items(Kind::kTuple, PopToMark()));      // TUPLE
    case '\x85': return Push(Object::Items(Kind::kTuple, PopItems(1)));   // TUPLE1
    case '\x86': return Push(Object::Items(Kind::kTuple, PopItems(2)));   // TUPLE2
    case '\x87': return Push(Object::Items(Kind::kTuple, PopItems(3)));   // TUPLE3
    case 'a': return AddToTop(PopItems(1));                               // APPEND
    case 's': return AddToTop(PopItems(2));                               // SETITEM
    case 'e':                                                             // APPENDS
    case 'u': return AddToTop(PopToMark());                               // SETITEMS
    case 'q': return Store(Number<uint8_t>());                            // BINPUT
    case 'r': return Store(Number<uint32_t>());                           // LONG_BINPUT
    case 'h': return PushMemo(Number<uint8_t>());                         // BINGET
    case 'j': return PushMemo(Number<uint32_t>());                        // LONG_BINGET
    case 'Q': return PushPersistent();                                    // BINPERSID
    case 'R': return Call();                                              // REDUCE
    case 'b': Pop(); return;                                              // BUILD: attributes
    default:
      Fail(absl::StrCat("it holds more than tensors (instruction ",
                        absl::Hex(static_cast<uint8_t>(code)), ")"));
  }
}

void Reader::PushPersistent() {
  const Object id = Pop();
  if (!id.is(Kind::kTuple) || id.items->size() != 5 || !(*id.items)[1].is(Kind::kGlobal) ||
      !(*id.items)[2].is(Kind::kText)) {
    return Fail("it holds an object from outside that is no storage");
  }
  Object storage;
  storage.kind = Kind::kStorage;
  for (const auto& [name, dtype] : kStorages) {
    if ((*id.items)[1].text == name) storage.payload.dtype = dtype;
  }
  if (storage.payload.dtype == DType::kUndefined) {
    return Fail(absl::StrCat("it holds a storage of an unknown kind, ", (*id.items)[1].text));
  }
  storage.payload.path_name = absl::StrCat("data/", (*id.items)[2].text);
  Push(std::move(storage));
}

void Reader::Call() {
  const Object arguments = Pop();
  const Object callee = Pop();
  if (!callee.is(Kind::kGlobal) || !arguments.is(Kind::kTuple)) {
    return Fail("it calls what is no function");
  }
  const std::vector<Object>& items = *arguments.items;
  if (callee.text == "collections OrderedDict" && items.empty()) {
    return Push(Object::Items(Kind::kDict));
  }
  if (callee.text == "torch._utils _rebuild_tensor_v2") return Push(Rebuild(items));
  if (callee.text == "torch._utils _rebuild_parameter" && !items.empty()) return Push(items[0]);
  Fail(absl::StrCat("it calls ", callee.text));
}

std::optional<std::vector<int64_t>> Ints(const Object& object) {
  if (!object.is(Kind::kTuple)) return std::nullopt;
  std::vector<int64_t> ints;
  for (const Object& item : *object.items) {
    if (!item.is(Kind::kInt) || item.integer < 0) return std::nullopt;
    ints.push_back(item.integer);
  }
  return ints;
}

Object Reader::Rebuild(const std::vector<Object>& arguments) {
  Object tensor;
  if (arguments.size() < 4 || !arguments[0].is(Kind::kStorage) || !arguments[1].is(Kind::kInt) ||
      arguments[1].integer < 0) {
    Fail("it holds a tensor without a storage");
    return tensor;
  }
  const auto sizes = Ints(arguments[2]), strides = Ints(arguments[3]);
  if (!sizes || !strides || sizes->size() != strides->size()) {
    Fail("it holds a tensor without a shape");
    return tensor;
  }
  tensor.kind = Kind::kTensor;
  tensor.payload = arguments[0].payload;
  tensor.payload.has_tensor = true;
  tensor.payload.storage_offset = arguments[1].integer;
  tensor.payload.sizes = *sizes;
  tensor.payload.strides = *strides;
  return tensor;
}

}  // namespace

absl::StatusOr<std::map<std::string, Payload>> DecodeStateDict(const std::string& document,
                                                               absl::string_view pickle) {
  Reader reader(pickle);
  const std::optional<Object> root = reader.Read();
  if (!root || !reader.problem().empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat(document, " is no dictionary of tensors: ", reader.problem()));
  }
  if (!root->is(Kind::kDict)) {
    return absl::InvalidArgumentError(absl::StrCat(document, " is no dictionary of tensors"));
  }
  std::map<std::string, Payload> payloads;
  const std::vector<Object>& items = *root->items;
  for (size_t i = 0; i + 1 < items.size(); i += 2) {
    if (!items[i].is(Kind::kText) || !items[i + 1].is(Kind::kTensor)) continue;
    payloads[items[i].text] = items[i + 1].payload;
  }
  return payloads;
}

}  // namespace rules_onnx::pt2
