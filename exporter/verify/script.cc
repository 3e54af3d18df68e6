#include "exporter/verify/script.h"

#include "absl/strings/str_cat.h"
#include "exporter/files/atomic_file.h"

namespace rules_onnx::verify {
namespace {

struct Script {
  const char* name;
  const char* text;
};

// Each file is a Python program between R"py( and )py", so that it is a C++ raw string as well; to
// Python these are a string and a comment.
constexpr Script kScripts[] = {
    {"first_difference.py",
#include "exporter/verify/first_difference.py"
    },
    {"model_graphs.py",
#include "exporter/verify/model_graphs.py"
    },
    {"onnx_models.py",
#include "exporter/verify/onnx_models.py"
    },
    {"run_onnx.py",
#include "exporter/verify/run_onnx.py"
    },
};

}  // namespace

absl::Status WriteScripts(const std::string& folder) {
  for (const Script& script : kScripts) {
    // Without the quote that closes the first line's string for Python.
    const absl::Status status =
        files::WriteFile(absl::StrCat(folder, "/", script.name), script.text + 1);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace rules_onnx::verify
