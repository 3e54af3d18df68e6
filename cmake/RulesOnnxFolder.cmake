# The build of one source folder. As in Bazel, sources are found by pattern:
#   *_test.cc        one GoogleTest program for the folder
#   *_test_util.cc   part of that program
#   main.cc          the folder's program, see rules_onnx_binary
#   *.proto          compiled, headers included as "<folder>/<name>.pb.h"
#   other *.cc       the folder's library
# exporter/ir gives the library exporter_ir and the test exporter_ir_test.

set(RULES_ONNX_GENERATED_DIR "${PROJECT_BINARY_DIR}/gen")

# The target of a dependency written as a folder ("exporter/ir", "third_party/absl").
function(rules_onnx_targets out)
  string(REPLACE "/" "_" targets "${ARGN}")
  set(${out} "${targets}" PARENT_SCOPE)
endfunction()

# Compiles one .proto file of the source tree (or of ROOT) and appends the
# generated source to the list variable out.
function(rules_onnx_protobuf out root proto)
  string(REGEX REPLACE "\\.proto$" "" stem "${proto}")
  set(output "${RULES_ONNX_GENERATED_DIR}/${stem}.pb")
  file(MAKE_DIRECTORY "${RULES_ONNX_GENERATED_DIR}")
  add_custom_command(
    OUTPUT "${output}.cc" "${output}.h"
    COMMAND protobuf::protoc "--proto_path=${root}" "--cpp_out=${RULES_ONNX_GENERATED_DIR}" "${proto}"
    DEPENDS "${root}/${proto}"
    COMMENT "Compiling ${proto}"
    VERBATIM)
  set_source_files_properties("${output}.cc" PROPERTIES COMPILE_OPTIONS -w)
  set(${out} ${${out}} "${output}.cc" PARENT_SCOPE)
endfunction()

# rules_onnx_library([ALWAYSLINK] [PUBLIC] [PYTHON_TESTS] [DEPS <folder>...] [TEST_DEPS <folder>...])
# ALWAYSLINK keeps files that only register themselves. PUBLIC (for Bazel): other
# projects may depend on it. With PYTHON_TESTS the
# test runs Python, which it finds in the variable RULES_ONNX_PYTHON, by default
# in .deps/venv.
function(rules_onnx_library)
  cmake_parse_arguments(PARSE_ARGV 0 arg "ALWAYSLINK;PUBLIC;PYTHON_TESTS" "" "DEPS;TEST_DEPS")
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  rules_onnx_targets(name "${folder}")
  rules_onnx_targets(deps ${arg_DEPS})

  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  file(GLOB headers CONFIGURE_DEPENDS *.h)
  file(GLOB protos CONFIGURE_DEPENDS RELATIVE "${PROJECT_SOURCE_DIR}" *.proto)
  set(test_sources ${sources})
  list(FILTER test_sources INCLUDE REGEX "_test(_util)?\\.cc$")
  list(FILTER sources EXCLUDE REGEX "(_test|_test_util|/main)\\.cc$")
  foreach(proto IN LISTS protos)
    rules_onnx_protobuf(sources "${PROJECT_SOURCE_DIR}" "${proto}")
    list(APPEND deps third_party_protobuf)
  endforeach()

  set(includes "${PROJECT_SOURCE_DIR}" "${RULES_ONNX_GENERATED_DIR}")
  if(NOT sources)
    add_library(${name} INTERFACE)
    target_include_directories(${name} INTERFACE ${includes})
    target_link_libraries(${name} INTERFACE ${deps})
  elseif(arg_ALWAYSLINK)
    add_library(${name}_archive STATIC ${sources} ${headers})
    target_include_directories(${name}_archive PUBLIC ${includes})
    target_link_libraries(${name}_archive PUBLIC ${deps})
    add_library(${name} INTERFACE)
    target_link_libraries(${name} INTERFACE $<LINK_LIBRARY:WHOLE_ARCHIVE,${name}_archive>)
  else()
    add_library(${name} STATIC ${sources} ${headers})
    target_include_directories(${name} PUBLIC ${includes})
    target_link_libraries(${name} PUBLIC ${deps})
  endif()

  if(RULES_ONNX_BUILD_TESTS AND test_sources)
    rules_onnx_targets(test_deps ${arg_TEST_DEPS})
    add_executable(${name}_test ${test_sources})
    target_link_libraries(${name}_test PRIVATE ${name} ${test_deps} third_party_gtest)
    set_target_properties(${name}_test PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/test")
    # The source root, as under Bazel: test data is named from there.
    add_test(NAME ${name}_test COMMAND ${name}_test WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
    if(arg_PYTHON_TESTS AND RULES_ONNX_PYTHON)
      set_property(TEST ${name}_test PROPERTY ENVIRONMENT "RULES_ONNX_PYTHON=${RULES_ONNX_PYTHON}")
    endif()
  endif()
endfunction()

# rules_onnx_binary(<program>): the folder's main.cc, linked with its library;
# to other projects it is rules_onnx::<program>.
function(rules_onnx_binary program)
  if(NOT EXISTS "${CMAKE_CURRENT_SOURCE_DIR}/main.cc")
    return()
  endif()
  file(RELATIVE_PATH folder "${PROJECT_SOURCE_DIR}" "${CMAKE_CURRENT_SOURCE_DIR}")
  rules_onnx_targets(name "${folder}")
  add_executable(${program} main.cc)
  add_executable(rules_onnx::${program} ALIAS ${program})
  target_link_libraries(${program} PRIVATE ${name})
  set_target_properties(${program} PROPERTIES
    RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
endfunction()
