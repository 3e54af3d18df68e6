# find_package(rules_onnx): the programs as rules_onnx::onnx-export and
# rules_onnx::onnx-capture-torch, and the functions of RulesOnnxModel.cmake.

include("${CMAKE_CURRENT_LIST_DIR}/rules_onnxPrograms.cmake")
find_program(RULES_ONNX_DEFAULT_PYTHON NAMES python3)
include("${CMAKE_CURRENT_LIST_DIR}/RulesOnnxModel.cmake")
