# Compiler settings of this project. A project that adds this one by
# add_subdirectory keeps its own: nothing is set above this folder.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
  if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    set(CMAKE_BUILD_TYPE Release CACHE STRING "Build type" FORCE)
  endif()
  set(CMAKE_CXX_FLAGS_RELEASE "-O2 -DNDEBUG")
endif()

# Folding must give the same bits on every CPU.
add_compile_options(-ffp-contract=off -Wall)

find_program(RULES_ONNX_CCACHE ccache)
mark_as_advanced(RULES_ONNX_CCACHE)
if(RULES_ONNX_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${RULES_ONNX_CCACHE}")
endif()
