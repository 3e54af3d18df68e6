// The shared objects that a program brings with it.
#ifndef RULES_ONNX_EXPORTER_CLI_LOADED_LIBRARIES_H_
#define RULES_ONNX_EXPORTER_CLI_LOADED_LIBRARIES_H_

#include <string>
#include <vector>

namespace rules_onnx::cli {

// Paths of the shared objects that the dynamic linker finds for an ELF file in LD_LIBRARY_PATH or in
// the folders that the files name themselves (DT_RUNPATH or DT_RPATH, with $ORIGIN), and of those
// that they need in turn: LibTorch for onnx-capture-torch. Each once, in the order of a walk in
// depth. Libraries of the system's own folders are not among them. A file that is no 64-bit ELF file
// of this machine's byte order has none.
std::vector<std::string> LoadedLibraries(const std::string& program);

}  // namespace rules_onnx::cli

#endif  // RULES_ONNX_EXPORTER_CLI_LOADED_LIBRARIES_H_
