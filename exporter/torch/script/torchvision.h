// torchvision's compiled operators, so that detection models load and run without torchvision.
#ifndef RULES_ONNX_EXPORTER_TORCH_SCRIPT_TORCHVISION_H_
#define RULES_ONNX_EXPORTER_TORCH_SCRIPT_TORCHVISION_H_

namespace rules_onnx::script {

// Registers the schemas of nms, roi_align, roi_pool, ps_roi_align, ps_roi_pool and deform_conv2d,
// with CPU kernels (float32 and float64). Operators that are registered already stay as they are.
// May be called more than once.
void RegisterTorchvisionOperators();

}  // namespace rules_onnx::script

#endif  // RULES_ONNX_EXPORTER_TORCH_SCRIPT_TORCHVISION_H_
