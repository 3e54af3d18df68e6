// The program's weights while some are replaced by derived ones.
#ifndef RULES_ONNX_EXPORTER_CAPTURE_WEIGHT_TABLE_H_
#define RULES_ONNX_EXPORTER_CAPTURE_WEIGHT_TABLE_H_

#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "exporter/capture/program.h"

namespace rules_onnx::capture {

class WeightTable {
 public:
  explicit WeightTable(Program* program);
  // Puts the derived weights into the program, each after the weight that it comes from.
  ~WeightTable();
  WeightTable(const WeightTable&) = delete;
  WeightTable& operator=(const WeightTable&) = delete;

  bool IsWeight(const ir::Arg& arg) const;
  // How many nodes and outputs read it.
  int Uses(const ir::Value* value) const;
  // `to` now stands where `from` was read.
  void CopyUses(const ir::Value* from, const ir::Value* to);
  const std::string& Name(const ir::Value* weight) const;
  std::shared_ptr<const weights::TensorSource> Source(const ir::Value* weight) const;

  // A weight of the given source, ordered after `after`. Its name is `name`, made unique by a
  // number.
  ir::Value* AddDerived(const ir::Value* after, std::string name,
                        std::unique_ptr<weights::TensorSource> source);

 private:
  struct Entry {
    ir::Weight weight;
    std::shared_ptr<const weights::TensorSource> source;
    std::vector<size_t> derived;  // indices into entries_
  };

  void Append(size_t index, std::vector<ir::Weight>* weights,
              std::vector<std::unique_ptr<weights::TensorSource>>* sources);

  Program* program_;
  size_t originals_ = 0;
  std::vector<Entry> entries_;
  std::unordered_map<const ir::Value*, size_t> index_;
  std::unordered_map<const ir::Value*, int> uses_;
  std::set<std::string> names_;
};

}  // namespace rules_onnx::capture

#endif  // RULES_ONNX_EXPORTER_CAPTURE_WEIGHT_TABLE_H_
