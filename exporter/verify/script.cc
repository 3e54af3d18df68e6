#include "exporter/verify/script.h"

namespace rules_onnx::verify {
namespace {

// The file is a Python program between R"py( and )py", so that it is a C++ raw string as well; to
// Python these are a string and a comment.
constexpr char kFile[] =
#include "exporter/verify/run_onnx.py"
    ;

}  // namespace

// Without the quote that closes the first line's string for Python.
const char* RunOnnxScript() { return kFile + 1; }

}  // namespace rules_onnx::verify
