// The Python program that runs ONNX models, as text (run_onnx.py).
#ifndef RULES_ONNX_EXPORTER_VERIFY_SCRIPT_H_
#define RULES_ONNX_EXPORTER_VERIFY_SCRIPT_H_

namespace rules_onnx::verify {

// For `python -c`.
const char* RunOnnxScript();

}  // namespace rules_onnx::verify

#endif  // RULES_ONNX_EXPORTER_VERIFY_SCRIPT_H_
