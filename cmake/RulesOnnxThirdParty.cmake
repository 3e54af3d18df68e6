# One INTERFACE target for each library that is not ours, named as in
# third_party/BUILD.bazel: third_party/absl is the target third_party_absl.

# Static where there is a choice: at start-up the dynamic linker needs longer for
# abseil's 60 shared libraries than onnx-export needs for its work.
set(Protobuf_USE_STATIC_LIBS ON)
find_package(Protobuf REQUIRED)
find_package(Threads REQUIRED)

# rules_onnx_third_party(<name> [HEADER <file>] [LIBRARIES <name>...] [LINK <target>...])
# HEADER and LIBRARIES are looked for; LINK names targets or files that are known.
function(rules_onnx_third_party name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "HEADER" "LIBRARIES;LINK")
  set(target "third_party_${name}")
  add_library(${target} INTERFACE)
  target_link_libraries(${target} INTERFACE ${arg_LINK})
  if(arg_HEADER)
    find_path(RULES_ONNX_${name}_INCLUDE "${arg_HEADER}" REQUIRED)
    mark_as_advanced(RULES_ONNX_${name}_INCLUDE)
    target_include_directories(${target} SYSTEM INTERFACE "${RULES_ONNX_${name}_INCLUDE}")
  endif()
  set(libraries)
  foreach(library IN LISTS arg_LIBRARIES)
    find_library(RULES_ONNX_${library}_LIBRARY NAMES "lib${library}.a" ${library} REQUIRED)
    mark_as_advanced(RULES_ONNX_${library}_LIBRARY)
    list(APPEND libraries "${RULES_ONNX_${library}_LIBRARY}")
  endforeach()
  if(libraries)
    list(JOIN libraries "," libraries)
    target_link_libraries(${target} INTERFACE "$<LINK_GROUP:RESCAN,${libraries}>")
  endif()
endfunction()

rules_onnx_third_party(absl HEADER absl/status/statusor.h LINK Threads::Threads LIBRARIES
  absl_bad_optional_access absl_bad_variant_access absl_base absl_city absl_civil_time
  absl_cord absl_cord_internal absl_cordz_functions absl_cordz_handle absl_cordz_info
  absl_debugging_internal absl_demangle_internal absl_exponential_biased
  absl_graphcycles_internal absl_hash absl_hashtablez_sampler absl_int128 absl_log_severity
  absl_low_level_hash absl_malloc_internal absl_raw_hash_set absl_raw_logging_internal
  absl_spinlock_wait absl_stacktrace absl_status absl_statusor absl_str_format_internal
  absl_strerror absl_strings absl_strings_internal absl_symbolize absl_synchronization
  absl_throw_delegate absl_time absl_time_zone)
rules_onnx_third_party(protobuf LINK protobuf::libprotobuf)
rules_onnx_third_party(xxhash HEADER xxhash.h LIBRARIES xxhash)
rules_onnx_third_party(simdjson HEADER simdjson.h LIBRARIES simdjson)
rules_onnx_third_party(cli11 HEADER CLI/CLI.hpp)
rules_onnx_third_party(minizip HEADER minizip/unzip.h LIBRARIES minizip z)
if(RULES_ONNX_BUILD_TESTS)
  rules_onnx_third_party(gtest HEADER gmock/gmock.h LINK Threads::Threads
    LIBRARIES gmock gtest gtest_main)
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
