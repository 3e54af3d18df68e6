#include "exporter/capture/weight_table.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "exporter/passes/rewrite.h"

namespace rules_onnx::capture {
namespace {

// Shares a source that others were derived from.
class Shared : public weights::TensorSource {
 public:
  explicit Shared(std::shared_ptr<const weights::TensorSource> source)
      : TensorSource(source->dtype(), source->shape()), source_(std::move(source)) {}
  absl::Status Read(const weights::Sink& sink) const override { return source_->Read(sink); }

 private:
  std::shared_ptr<const weights::TensorSource> source_;
};

}  // namespace

WeightTable::WeightTable(Program* program)
    : program_(program), uses_(passes::CountUses(program->graph)) {
  for (const ir::Value* input : program->graph.main.params) names_.insert(input->name);
  for (size_t i = 0; i < program->sources.size(); ++i) {
    ir::Weight& weight = program->graph.weights[i];
    index_[weight.value] = i;
    names_.insert(weight.name);
    entries_.push_back({std::move(weight), std::move(program->sources[i]), {}});
  }
  originals_ = entries_.size();
}

WeightTable::~WeightTable() {
  std::vector<ir::Weight> weights;
  std::vector<std::unique_ptr<weights::TensorSource>> sources;
  for (size_t i = 0; i < originals_; ++i) Append(i, &weights, &sources);
  program_->graph.weights = std::move(weights);
  program_->sources = std::move(sources);
}

void WeightTable::Append(size_t index, std::vector<ir::Weight>* weights,
                         std::vector<std::unique_ptr<weights::TensorSource>>* sources) {
  weights->push_back(std::move(entries_[index].weight));
  sources->push_back(std::make_unique<Shared>(entries_[index].source));
  for (const size_t derived : entries_[index].derived) Append(derived, weights, sources);
}

bool WeightTable::IsWeight(const ir::Arg& arg) const {
  return arg.is_value() && index_.contains(arg.value());
}

int WeightTable::Uses(const ir::Value* value) const {
  const auto it = uses_.find(value);
  return it == uses_.end() ? 0 : it->second;
}

void WeightTable::CopyUses(const ir::Value* from, const ir::Value* to) { uses_[to] = Uses(from); }

const std::string& WeightTable::Name(const ir::Value* weight) const {
  return entries_[index_.at(weight)].weight.name;
}

std::shared_ptr<const weights::TensorSource> WeightTable::Source(const ir::Value* weight) const {
  return entries_[index_.at(weight)].source;
}

ir::Value* WeightTable::AddDerived(const ir::Value* after, std::string name,
                                   std::unique_ptr<weights::TensorSource> source) {
  std::string unique = name;
  for (int i = 2; !names_.insert(unique).second; ++i) unique = absl::StrCat(name, ".", i);
  const ir::Shape shape(source->shape().begin(), source->shape().end());
  ir::Value* value =
      program_->graph.NewValue(ir::Type::Tensor(source->dtype(), shape), unique);
  const size_t index = entries_.size();
  const size_t origin = index_.at(after);
  const bool is_parameter = entries_[origin].weight.is_parameter;
  index_[value] = index;
  uses_[value] = 1;
  entries_[origin].derived.push_back(index);
  entries_.push_back({{.value = value, .name = unique, .is_parameter = is_parameter},
                      std::move(source),
                      {}});
  return value;
}

}  // namespace rules_onnx::capture
