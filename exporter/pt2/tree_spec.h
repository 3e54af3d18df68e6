// Names for the flattened inputs and outputs of a program, from its tree specs.
//
//   spec = [protocol, node]
//   node = { "type": null | "builtins.tuple" | "builtins.dict" | …, "context": null | JSON text,
//            "children_spec": [node] }
//
// A child is called by its key (dicts, named tuples, dataclasses) or its position.
#ifndef RULES_ONNX_EXPORTER_PT2_TREE_SPEC_H_
#define RULES_ONNX_EXPORTER_PT2_TREE_SPEC_H_

#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace rules_onnx::pt2 {

using NamedTupleFields = std::map<std::string, std::vector<std::string>>;

// One name for each leaf of the call's (args, kwargs): `argument`, `argument.0.key`. Positional
// arguments are called by `argument_names`.
absl::StatusOr<std::vector<std::string>> InputNames(absl::string_view in_spec,
                                                    const std::vector<std::string>& argument_names,
                                                    const NamedTupleFields& fields);

// One name for each leaf of the result: `root` for a lone value, "root.0" in a sequence, "root.key"
// in a dict.
absl::StatusOr<std::vector<std::string>> OutputNames(absl::string_view out_spec,
                                                     const std::string& root,
                                                     const NamedTupleFields& fields);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_TREE_SPEC_H_
