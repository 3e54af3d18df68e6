#include "exporter/onnx/check.h"

#include <exception>
#include <set>
#include <unordered_map>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "exporter/onnx/merge_types.h"
#include "onnx/checker.h"
#include "onnx/shape_inference/implementation.h"

namespace rules_onnx::onnx_format {
namespace {

using onnx::ModelProto;
using onnx::TensorProto;

bool IsInteger(const TensorProto& tensor) {
  return tensor.data_type() == TensorProto::INT64 || tensor.data_type() == TensorProto::INT32;
}

// The model as ONNX can check it without the weights' bytes: they are marked external under a
// location that the checker looks up nowhere (it starts with '#'). Vectors of integers become
// inputs instead, as inference would want to read them, as sizes.
ModelProto WithoutWeights(const Skeleton& skeleton) {
  ModelProto model = skeleton.model;
  onnx::GraphProto* graph = model.mutable_graph();
  std::set<std::string> inputs;
  for (const auto& input : graph->input()) inputs.insert(input.name());
  graph->clear_initializer();
  for (int i = 0; i < skeleton.model.graph().initializer_size(); ++i) {
    const TensorProto& tensor = skeleton.model.graph().initializer(i);
    if (skeleton.weights[i] >= 0 && IsInteger(tensor) && tensor.dims_size() <= 1) {
      if (!inputs.insert(tensor.name()).second) continue;
      onnx::ValueInfoProto* input = graph->add_input();
      input->set_name(tensor.name());
      auto* type = input->mutable_type()->mutable_tensor_type();
      type->set_elem_type(tensor.data_type());
      type->mutable_shape();
      for (const int64_t size : tensor.dims()) {
        type->mutable_shape()->add_dim()->set_dim_value(size);
      }
      continue;
    }
    TensorProto* copy = graph->add_initializer();
    *copy = tensor;
    if (skeleton.weights[i] < 0) continue;
    copy->set_data_location(TensorProto::EXTERNAL);
    onnx::StringStringEntryProto* location = copy->add_external_data();
    location->set_key("location");
    location->set_value("#weights");
  }
  return model;
}

void Infer(bool strict, bool data_propagation, ModelProto* model) {
  const onnx::ShapeInferenceOptions options(strict, strict ? 1 : 0, data_propagation);
  std::unordered_map<std::string, onnx::TensorShapeProto> shape_data;
  onnx::shape_inference::InferShapes(*model, onnx::OpSchemaRegistry::Instance(), options,
                                     &shape_data);
}

// ONNX's data propagation takes any small tensor for a shape and fails where those have a rank or a
// broadcast that shapes don't: only what inference without it refuses as well is an error.
void InferStrictly(ModelProto* model) {
  ModelProto with_data = *model;
  try {
    Infer(/*strict=*/true, /*data_propagation=*/true, &with_data);
    model->Swap(&with_data);
  } catch (const std::exception&) {
    Infer(/*strict=*/true, /*data_propagation=*/false, model);
  }
}

// Where the nodes of a graph and of those inside it come from, by their names.
void CollectSources(const builder::Graph& graph, const std::map<int32_t, std::string>& sources,
                    std::map<std::string, std::string>* by_name) {
  for (const auto& node : graph.nodes) {
    const auto source = sources.find(node->source);
    if (source != sources.end()) (*by_name)[node->name] = source->second;
    for (const builder::Attr& attr : node->attrs) {
      const auto* inner = std::get_if<std::shared_ptr<builder::Graph>>(&attr.data);
      if (inner != nullptr) CollectSources(**inner, sources, by_name);
    }
  }
}

// Names between `before` and `after` in ONNX's messages.
void FindNames(const std::string& text, const std::string& before, const std::string& after,
               std::vector<std::string>* names) {
  for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
    at += before.size();
    const size_t end = text.find(after, at);
    if (end == std::string::npos) return;
    names->push_back(text.substr(at, end - at));
  }
}

class Report {
 public:
  Report(const builder::Model& model, const std::map<int32_t, std::string>& sources) {
    CollectSources(model.graph, sources, &sources_);
  }

  // ONNX's message and the sources of the nodes that it names.
  absl::Status FromOnnx(const std::string& message) const {
    std::vector<std::string> names;
    FindNames(message, "node name: ", ")", &names);
    FindNames(message, "Name: ", " OpType", &names);
    std::string text(absl::StripAsciiWhitespace(message));
    std::set<std::string> told;
    for (const std::string& name : names) {
      const auto source = sources_.find(name);
      if (source == sources_.end() || !told.insert(name).second) continue;
      absl::StrAppend(&text, "\n  node ", name, " comes from ", source->second);
    }
    return Wrap(text);
  }

  absl::Status FromConflicts(const std::vector<TypeConflict>& conflicts) const {
    std::string text;
    for (const TypeConflict& conflict : conflicts) {
      absl::StrAppend(&text, text.empty() ? "" : "\n  ", "value ", conflict.value, ": ",
                      conflict.message);
      if (!conflict.node.empty()) absl::StrAppend(&text, " (node ", conflict.node);
      const auto source = sources_.find(conflict.node);
      if (source != sources_.end()) absl::StrAppend(&text, ", from ", source->second);
      if (!conflict.node.empty()) absl::StrAppend(&text, ")");
    }
    return Wrap(text);
  }

 private:
  static absl::Status Wrap(const std::string& text) {
    return absl::InternalError(absl::StrCat("the ONNX model does not pass ONNX's check: ", text));
  }

  std::map<std::string, std::string> sources_;
};

}  // namespace

absl::Status CheckModel(const builder::Model& model, const std::map<int32_t, std::string>& sources,
                        Skeleton* skeleton) {
  ModelProto checked = WithoutWeights(*skeleton);
  try {
    onnx::checker::check_model(checked);
    InferStrictly(&checked);
  } catch (const std::exception& error) {
    return Report(model, sources).FromOnnx(error.what());
  }
  const auto conflicts = FindConflicts(skeleton->model.graph(), checked.graph());
  if (!conflicts.empty()) return Report(model, sources).FromConflicts(conflicts);
  FillTypes(checked.graph(), skeleton->model.mutable_graph());
  return absl::OkStatus();
}

void InferTypes(Skeleton* skeleton) {
  ModelProto inferred = WithoutWeights(*skeleton);
  try {
    Infer(/*strict=*/false, /*data_propagation=*/true, &inferred);
  } catch (const std::exception&) {
    // What was inferred before the fault is as good as any.
  }
  FillTypes(inferred.graph(), skeleton->model.mutable_graph());
}

}  // namespace rules_onnx::onnx_format
