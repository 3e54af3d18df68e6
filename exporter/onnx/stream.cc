#include "exporter/onnx/stream.h"

#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/wire_format_lite.h>

#include <string>

// protobuf writes fields in order of their numbers, repeated ones one after another. So
//
//   model = fields 1–6 of ModelProto, graph (7), the other fields
//   graph = fields 1–4 of GraphProto, initializers (5), the other fields
//   initializer = fields 1–8 of TensorProto, raw_data (9)

namespace rules_onnx::onnx_format {
namespace {

using google::protobuf::internal::WireFormatLite;
using google::protobuf::io::CodedOutputStream;

// Tag and length of a field that is a message, a string or bytes.
std::string Header(int field, uint64_t length) {
  uint8_t buffer[20];
  uint8_t* end = CodedOutputStream::WriteTagToArray(
      WireFormatLite::MakeTag(field, WireFormatLite::WIRETYPE_LENGTH_DELIMITED), buffer);
  end = CodedOutputStream::WriteVarint64ToArray(length, end);
  return std::string(reinterpret_cast<char*>(buffer), end - buffer);
}

// What stands before and after the initializers, or before and after the graph.
struct Split {
  std::string head, tail;
};

Split SplitGraph(const onnx::GraphProto& graph) {
  onnx::GraphProto head = graph, tail = graph;
  for (onnx::GraphProto* part : {&head, &tail}) part->clear_initializer();
  tail.clear_node();
  tail.clear_name();
  head.clear_doc_string();
  head.clear_input();
  head.clear_output();
  head.clear_value_info();
  return {head.SerializeAsString(), tail.SerializeAsString()};
}

Split SplitModel(const onnx::ModelProto& model) {
  onnx::ModelProto head, tail;
  head.set_ir_version(model.ir_version());
  head.set_producer_name(model.producer_name());
  head.set_producer_version(model.producer_version());
  *tail.mutable_opset_import() = model.opset_import();
  *tail.mutable_metadata_props() = model.metadata_props();
  return {head.SerializeAsString(), tail.SerializeAsString()};
}

}  // namespace

ModelStream::ModelStream(const onnx::ModelProto& model,
                         const std::vector<StreamedTensor>& streamed)
    : model_(model), streamed_(streamed) {
  const Split outer = SplitModel(model);
  const Split inner = SplitGraph(model.graph());
  uint64_t initializers = 0;
  for (int i = 0; i < model.graph().initializer_size(); ++i) {
    const uint64_t tensor = TensorSize(i);
    initializers += Header(onnx::GraphProto::kInitializerFieldNumber, tensor).size() + tensor;
  }
  const uint64_t graph = inner.head.size() + initializers + inner.tail.size();
  head_ = outer.head + Header(onnx::ModelProto::kGraphFieldNumber, graph) + inner.head;
  tail_ = inner.tail + outer.tail;
  size_ = head_.size() + initializers + tail_.size();
}

uint64_t ModelStream::TensorSize(int index) const {
  const uint64_t size = model_.graph().initializer(index).ByteSizeLong();
  const uint64_t bytes = streamed_[index].bytes;
  if (bytes == 0) return size;
  return size + Header(onnx::TensorProto::kRawDataFieldNumber, bytes).size() + bytes;
}

absl::Status ModelStream::WriteTensor(int index, const files::InputFile* weights,
                                      files::AtomicFile* file) const {
  const StreamedTensor& streamed = streamed_[index];
  std::string text = Header(onnx::GraphProto::kInitializerFieldNumber, TensorSize(index));
  model_.graph().initializer(index).AppendToString(&text);
  if (streamed.bytes == 0) return file->Write(text);
  text += Header(onnx::TensorProto::kRawDataFieldNumber, streamed.bytes);
  if (auto status = file->Write(text); !status.ok()) return status;
  return file->Append(*weights, streamed.offset, streamed.bytes);
}

absl::Status ModelStream::Write(const files::InputFile* weights, files::AtomicFile* file) const {
  if (auto status = file->Write(head_); !status.ok()) return status;
  for (int i = 0; i < model_.graph().initializer_size(); ++i) {
    if (auto status = WriteTensor(i, weights, file); !status.ok()) return status;
  }
  return file->Write(tail_);
}

}  // namespace rules_onnx::onnx_format
