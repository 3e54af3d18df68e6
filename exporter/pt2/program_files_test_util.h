// For tests: the files that testdata/make_programs.py writes.
#ifndef RULES_ONNX_EXPORTER_PT2_PROGRAM_FILES_TEST_UTIL_H_
#define RULES_ONNX_EXPORTER_PT2_PROGRAM_FILES_TEST_UTIL_H_

#include <string>

namespace rules_onnx::pt2 {

// The path of `name`.pt2. All are written once for the process, by the Python that the environment
// variable RULES_ONNX_PYTHON names, by default that of tools/setup. Where the script fails, the
// process ends with its output.
std::string ProgramFile(const std::string& name);

}  // namespace rules_onnx::pt2

#endif  // RULES_ONNX_EXPORTER_PT2_PROGRAM_FILES_TEST_UTIL_H_
