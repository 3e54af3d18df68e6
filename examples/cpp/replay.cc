// Runs a TorchScript program in LibTorch on the test data of its ONNX artifacts.
//
//   replay PROGRAM.pt TEST_DATA_FOLDER
//
// TEST_DATA_FOLDER is what onnx_test_data makes of an onnx_export: folders
// test_data_set_0, test_data_set_1, … each with input_0.pb and output_0.pb.
// ONNX Runtime gave the stored outputs within verify's tolerance when they were
// made, so the same numbers come from C++ here and from any ONNX backend there.

#include <torch/script.h>

#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>

#include "examples/cpp/tensor_file.h"

namespace {

using rules_onnx::examples::FloatTensor;
using rules_onnx::examples::ReadFloatTensor;

at::Tensor AsTensor(FloatTensor& tensor) {
  return torch::from_blob(tensor.values.data(), tensor.shape, at::kFloat);
}

// The largest difference between the program's output and the stored one.
double Replay(torch::jit::Module& program, const std::string& folder) {
  FloatTensor input = ReadFloatTensor(folder + "/input_0.pb");
  FloatTensor expected = ReadFloatTensor(folder + "/output_0.pb");
  const at::Tensor actual = program.forward({AsTensor(input)}).toTensor();
  return (actual - AsTensor(expected)).abs().max().item<double>();
}

int Run(const std::string& path, const std::string& folder) {
  torch::NoGradGuard no_grad;
  torch::jit::Module program = torch::jit::load(path);
  int sets = 0;
  bool equal = true;
  while (std::filesystem::exists(folder + "/test_data_set_" + std::to_string(sets))) {
    const std::string set = "test_data_set_" + std::to_string(sets++);
    const double difference = Replay(program, folder + "/" + set);
    std::printf("%s  max error %.3g\n", set.c_str(), difference);
    equal = equal && difference < 1e-4;
  }
  return sets > 0 && equal ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: replay PROGRAM.pt TEST_DATA_FOLDER\n");
    return 2;
  }
  try {
    return Run(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replay: %s\n", error.what());
    return 1;
  }
}
