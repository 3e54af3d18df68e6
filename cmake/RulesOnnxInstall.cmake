# `cmake --install` gives a tree that can be moved:
#   bin/                     onnx-export, onnx-capture-torch
#   lib/rules_onnx/          LibTorch, which onnx-capture-torch needs
#   lib/cmake/rules_onnx/    find_package(rules_onnx), add_onnx_model()
#   include/rules_onnx/      exporter/plugin/plugin.h, for add_onnx_lowering()

option(RULES_ONNX_INSTALL_LIBTORCH
  "Install LibTorch with onnx-capture-torch (else it is taken from TORCH_ROOT)" ON)

set(package_dir lib/cmake/rules_onnx)
set(programs onnx-export)
if(TARGET onnx-capture-torch)
  list(APPEND programs onnx-capture-torch)
  if(RULES_ONNX_INSTALL_LIBTORCH)
    set_target_properties(onnx-capture-torch PROPERTIES INSTALL_RPATH "$ORIGIN/../lib/rules_onnx")
    file(GLOB libraries "${TORCH_ROOT}/lib/libtorch_cpu.so" "${TORCH_ROOT}/lib/libc10.so"
      "${TORCH_ROOT}/lib/libgomp*.so*")
    install(FILES ${libraries} DESTINATION lib/rules_onnx)
  else()
    set_target_properties(onnx-capture-torch PROPERTIES INSTALL_RPATH "${TORCH_ROOT}/lib")
  endif()
endif()
install(TARGETS ${programs} EXPORT rules_onnx RUNTIME DESTINATION bin)
install(EXPORT rules_onnx NAMESPACE rules_onnx:: FILE rules_onnxPrograms.cmake
  DESTINATION ${package_dir})

include(CMakePackageConfigHelpers)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/rules_onnxConfigVersion.cmake"
  COMPATIBILITY SameMinorVersion)
install(FILES
  cmake/rules_onnxConfig.cmake
  cmake/RulesOnnxModel.cmake
  cmake/RulesOnnxModelChecks.cmake
  cmake/RulesOnnxReplaceChanged.cmake
  rules/private/make_torch_model.py
  "${PROJECT_BINARY_DIR}/rules_onnxConfigVersion.cmake"
  DESTINATION ${package_dir})
install(FILES exporter/plugin/plugin.h DESTINATION include/rules_onnx/exporter/plugin)
