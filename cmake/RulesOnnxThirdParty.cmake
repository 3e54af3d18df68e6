# One INTERFACE target for each library that is not ours, named as in
# third_party/BUILD.bazel: third_party/absl is the target third_party_absl.

find_package(absl REQUIRED)
find_package(Protobuf REQUIRED)
find_package(Threads REQUIRED)
find_package(ZLIB REQUIRED)
find_package(CURL REQUIRED)
if(RULES_ONNX_BUILD_TESTS)
  find_package(GTest REQUIRED)
endif()

# rules_onnx_third_party(<name> [HEADER <file>] [LIBRARY <name>] [LINK <target>...])
# HEADER and LIBRARY are looked for; LINK names targets or files that are known.
function(rules_onnx_third_party name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER;LIBRARY" "LINK")
  set(target "third_party_${name}")
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE ${arg_LINK})
  if(arg_HEADER)
    find_path(RULES_ONNX_${name}_INCLUDE "${arg_HEADER}" REQUIRED)
    mark_as_advanced(RULES_ONNX_${name}_INCLUDE)
    target_include_directories(${target} SYSTEM INTERFACE "${RULES_ONNX_${name}_INCLUDE}")
  endif()
  if(arg_LIBRARY)
    find_library(RULES_ONNX_${name}_LIBRARY "${arg_LIBRARY}" REQUIRED)
    mark_as_advanced(RULES_ONNX_${name}_LIBRARY)
    target_link_libraries(${target} INTERFACE "${RULES_ONNX_${name}_LIBRARY}")
  endif()
endfunction()

rules_onnx_third_party(absl LINK
  absl::btree absl::cleanup absl::flat_hash_map absl::flat_hash_set absl::hash
  absl::inlined_vector absl::memory absl::optional absl::span absl::status
  absl::statusor absl::str_format absl::strings absl::synchronization absl::time)
rules_onnx_third_party(protobuf LINK protobuf::libprotobuf)
rules_onnx_third_party(xxhash HEADER xxhash.h LIBRARY xxhash)
rules_onnx_third_party(simdjson HEADER simdjson.h LIBRARY simdjson)
rules_onnx_third_party(cli11 HEADER CLI/CLI.hpp)
rules_onnx_third_party(minizip HEADER minizip/unzip.h LIBRARY minizip LINK ZLIB::ZLIB)
rules_onnx_third_party(zlib LINK ZLIB::ZLIB)
rules_onnx_third_party(curl LINK CURL::libcurl)
if(RULES_ONNX_BUILD_TESTS)
  rules_onnx_third_party(gtest LINK GTest::gmock GTest::gtest GTest::gtest_main)
endif()

set(ONNX_ROOT "${PROJECT_SOURCE_DIR}/.deps/onnx" CACHE PATH
  "ONNX source distribution (the folder that holds onnx/onnx-ml.proto)")
if(NOT EXISTS "${ONNX_ROOT}/onnx/onnx-ml.proto")
  message(FATAL_ERROR "No ONNX sources in ${ONNX_ROOT}: run tools/setup, "
    "or name the folder that holds onnx/onnx-ml.proto with -DONNX_ROOT=...")
endif()

if(RULES_ONNX_WITH_TORCH)
  file(GLOB found_torch "${PROJECT_SOURCE_DIR}/.deps/venv/lib/python3.*/site-packages/torch")
  set(TORCH_ROOT "${found_torch}" CACHE PATH "LibTorch (the folder that holds include and lib)")
  if(NOT EXISTS "${TORCH_ROOT}/lib/libtorch_cpu.so")
    message(FATAL_ERROR "No lib/libtorch_cpu.so in TORCH_ROOT='${TORCH_ROOT}': run tools/setup, "
      "name a LibTorch with -DTORCH_ROOT=..., or leave out the reader of .pt files with "
      "-DRULES_ONNX_WITH_TORCH=OFF")
  endif()
  rules_onnx_third_party(torch LINK
    "${TORCH_ROOT}/lib/libtorch_cpu.so" "${TORCH_ROOT}/lib/libc10.so" Threads::Threads)
  target_include_directories(third_party_torch SYSTEM INTERFACE
    "${TORCH_ROOT}/include" "${TORCH_ROOT}/include/torch/csrc/api/include")
endif()
