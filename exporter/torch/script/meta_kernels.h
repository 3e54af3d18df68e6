// Meta kernels (shape and dtype only) that LibTorch has in Python alone.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_META_KERNELS_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_META_KERNELS_H_

namespace rules_onnx::script {

// Registers those that would be slow to do without: convolution, batch normalization, index_select
// and the activations of mobile networks. Other operators without one run on zeros (CallOperator).
// May be called more than once.
void RegisterMetaKernels();

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_META_KERNELS_H_
