// Quantized parameters that LibTorch packs into objects of its own.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_QUANTIZED_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_QUANTIZED_H_

#include <ATen/core/ivalue.h>

namespace rules_onnx::script {

// True for what quantized::linear_prepack, conv1d_prepack, conv2d_prepack and conv3d_prepack give.
bool IsPackedParams(const c10::IValue& object);

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_QUANTIZED_H_
