#include "exporter/ir/schema.h"

#include <algorithm>
#include <memory>
#include <unordered_map>
#include <utility>

#include "absl/strings/str_split.h"
#include "absl/synchronization/mutex.h"
#include "exporter/ir/aten_schemas.h"

namespace rules_onnx::ir {
namespace {

// True if two alias sets ("a", "b|a") have a name in common. The wildcard names nothing.
bool Intersect(const std::string& a, const std::string& b) {
  if (a.empty() || b.empty() || a == "*" || b == "*") return false;
  const std::vector<std::string> names = absl::StrSplit(a, '|');
  const std::vector<std::string> others = absl::StrSplit(b, '|');
  return std::find_first_of(names.begin(), names.end(), others.begin(), others.end()) !=
         names.end();
}

absl::string_view OpName(absl::string_view schema) { return schema.substr(0, schema.find('(')); }

const char* FindText(absl::string_view op) {
  const char* const* const end = kBuiltinSchemas + kNumBuiltinSchemas;
  const char* const* const it =
      std::lower_bound(kBuiltinSchemas, end, op,
                       [](const char* text, absl::string_view name) { return OpName(text) < name; });
  return it != end && OpName(*it) == op ? *it : nullptr;
}

}  // namespace

bool Schema::writes() const {
  return std::any_of(args.begin(), args.end(), [](const SchemaArg& arg) { return arg.is_write; });
}

bool Schema::is_view() const {
  for (const SchemaArg& result : returns) {
    for (const SchemaArg& arg : args) {
      if (!arg.is_write && Intersect(result.alias, arg.alias)) return true;
    }
  }
  return false;
}

const SchemaArg* Schema::Find(absl::string_view name) const {
  const auto it = std::find_if(args.begin(), args.end(),
                               [&](const SchemaArg& arg) { return arg.name == name; });
  return it == args.end() ? nullptr : &*it;
}

const Schema* FindSchema(absl::string_view op) {
  const char* const text = FindText(op);
  if (text == nullptr) return nullptr;

  // Never destroyed: schemas are used until the process ends.
  static auto* const mutex = new absl::Mutex;
  static auto* const parsed = new std::unordered_map<const char*, std::unique_ptr<Schema>>;
  absl::MutexLock lock(mutex);
  std::unique_ptr<Schema>& schema = (*parsed)[text];
  if (schema == nullptr) {
    absl::StatusOr<Schema> result = ParseSchema(text);
    if (!result.ok()) return nullptr;
    schema = std::make_unique<Schema>(*std::move(result));
  }
  return schema.get();
}

}  // namespace rules_onnx::ir
