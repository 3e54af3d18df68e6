#include "exporter/pt2/program_files_test_util.h"

#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "exporter/files/test_folder.h"

namespace rules_onnx::pt2 {
namespace {

void MakePrograms(const std::string& folder) {
  const char* python = std::getenv("RULES_ONNX_PYTHON");
  if (python == nullptr) python = ".deps/venv/bin/python";
  const std::string command =
      absl::StrCat("'", python, "' exporter/pt2/testdata/make_programs.py '", folder, "' > '",
                   folder, "/log' 2>&1");
  if (std::system(command.c_str()) != 0) {
    std::system(absl::StrCat("cat '", folder, "/log' >&2").c_str());
    std::cerr << "failed: " << command << "\n";
    std::exit(1);
  }
}

}  // namespace

std::string ProgramFile(const std::string& name) {
  static const files::TestFolder folder;
  static const bool made = (MakePrograms(folder.path()), true);
  return made ? folder.File(absl::StrCat(name, ".pt2")) : "";
}

}  // namespace rules_onnx::pt2
