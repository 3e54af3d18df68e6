# ONNX files as build products: the functions of a project that uses rules_onnx.
#
#   add_torch_model     makes a PyTorch program from Python code
#   add_onnx_model      exports a program to ONNX
#   add_onnx_lowering   builds a plugin: lowerings of one's own
#   onnx_model_install  installs the artifacts of a model
#   onnx_model_test     runs the artifacts of a model in ONNX Runtime
#
# Options have the names of the flags of onnx-export, in upper case, and are
# described in rules/private/options.bzl and by `onnx-export export --help`.

include("${CMAKE_CURRENT_LIST_DIR}/RulesOnnxModelChecks.cmake")

set(RULES_ONNX_PYTHON "${RULES_ONNX_DEFAULT_PYTHON}" CACHE FILEPATH
  "Python with torch, onnx and onnxruntime, for add_torch_model and onnx_model_test")
set(RULES_ONNX_CACHE_DIR "" CACHE PATH
  "Folder in which captures are kept and looked for, across build folders; empty: none")
# Internal cache variables, since the functions are called from folders above as well.
set(_RULES_ONNX_SCRIPTS "${CMAKE_CURRENT_LIST_DIR}" CACHE INTERNAL "")
# Beside this file when installed.
set(script "${CMAKE_CURRENT_LIST_DIR}/make_torch_model.py")
if(NOT EXISTS "${script}")
  cmake_path(SET script NORMALIZE "${CMAKE_CURRENT_LIST_DIR}/../rules/private/make_torch_model.py")
endif()
set(_RULES_ONNX_MAKE_TORCH_MODEL "${script}" CACHE INTERNAL "")
# Of exporter/plugin/plugin.h: the source tree, or include/ of the installed package.
set(include "${CMAKE_CURRENT_LIST_DIR}/../../../include/rules_onnx")
if(NOT EXISTS "${include}/exporter/plugin/plugin.h")
  set(include "${CMAKE_CURRENT_LIST_DIR}/..")
endif()
cmake_path(NORMAL_PATH include)
set(_RULES_ONNX_INCLUDE "${include}" CACHE INTERNAL "")

# Options of add_onnx_model that are passed on, by kind and by command.
set(_RULES_ONNX_CAPTURE_FLAGS ALLOW_FROZEN_SHAPES DO_CONSTANT_FOLDING STATE_OUTPUTS CACHE INTERNAL "")
set(_RULES_ONNX_CAPTURE_WORDS TRAINING CACHE INTERNAL "")
set(_RULES_ONNX_CAPTURE_LISTS INPUT_NAMES CACHE INTERNAL "")
set(_RULES_ONNX_LOWER_FLAGS CHECK EXPORT_PARAMS KEEP_INITIALIZERS_AS_INPUTS STRIP_DOC_STRING VERBOSE CACHE INTERNAL "")
set(_RULES_ONNX_LOWER_WORDS OPERATOR_EXPORT_TYPE CACHE INTERNAL "")
set(_RULES_ONNX_LOWER_LISTS OUTPUT_NAMES CACHE INTERNAL "")
set(_RULES_ONNX_LOWER_MAPS CUSTOM_OPSETS METADATA CACHE INTERNAL "")
# Those of both that `onnx-export verify` takes too, beside DYNAMIC_AXES; and files that it takes.
set(_RULES_ONNX_VERIFY_FLAGS ALLOW_FROZEN_SHAPES DO_CONSTANT_FOLDING CACHE INTERNAL "")
set(_RULES_ONNX_VERIFY_WORDS OPERATOR_EXPORT_TYPE TRAINING CACHE INTERNAL "")
set(_RULES_ONNX_VERIFY_FILES OP_MAPPING PLUGINS TORCH_LIBRARIES CACHE INTERNAL "")

# The flags of the options of one command (CAPTURE, LOWER, VERIFY) that the caller's arg_* hold.
macro(_rules_onnx_option_flags out command)
  set(${out})
  foreach(option IN LISTS _RULES_ONNX_${command}_FLAGS _RULES_ONNX_${command}_WORDS
      _RULES_ONNX_${command}_LISTS _RULES_ONNX_${command}_MAPS)
    if(DEFINED arg_${option})
      string(TOLOWER "--${option}" flag)
      string(REPLACE "_" "-" flag "${flag}")
      set(value "${arg_${option}}")
      if("${option}" IN_LIST _RULES_ONNX_${command}_FLAGS)
        if(value)
          list(APPEND ${out} ${flag} true)
        else()
          list(APPEND ${out} ${flag} false)
        endif()
      elseif("${option}" IN_LIST _RULES_ONNX_${command}_LISTS)
        list(JOIN value "," value)
        list(APPEND ${out} ${flag} "${value}")
      else()
        foreach(entry IN LISTS value)
          list(APPEND ${out} ${flag} "${entry}")
        endforeach()
      endif()
    endif()
  endforeach()
endmacro()

# "x:0:N;x:2:H" as {"x": {"0": "N", "2": "H"}}.
function(_rules_onnx_axes_json out)
  set(json "{}")
  foreach(axis IN LISTS ARGN)
    if(NOT axis MATCHES "^(.+):(-?[0-9]+):([^:]+)$")
      message(FATAL_ERROR "DYNAMIC_AXES: '${axis}' is not INPUT:AXIS:NAME, as in x:0:N")
    endif()
    set(input "${CMAKE_MATCH_1}")
    set(index "${CMAKE_MATCH_2}")
    set(name "${CMAKE_MATCH_3}")
    string(JSON known ERROR_VARIABLE absent GET "${json}" "${input}")
    if(absent)
      string(JSON json SET "${json}" "${input}" "{}")
    endif()
    string(JSON json SET "${json}" "${input}" "${index}" "\"${name}\"")
  endforeach()
  string(REGEX REPLACE "[\n ]+" "" json "${json}")
  set(${out} "${json}" PARENT_SCOPE)
endfunction()

# torch_flags and torch_depends for what LibTorch does: reading a .pt, running any program.
macro(_rules_onnx_torch_capture needed program)
  set(torch_flags)
  set(torch_depends)
  if(${needed})
    if(NOT TARGET rules_onnx::onnx-capture-torch)
      message(FATAL_ERROR "${program} needs onnx-capture-torch, and this rules_onnx was built without it")
    endif()
    set(torch_flags --torch-capture $<TARGET_FILE:rules_onnx::onnx-capture-torch>)
    set(torch_depends rules_onnx::onnx-capture-torch)
  endif()
endmacro()

# add_torch_model(<target>
#   SRCS <file.py>...          sources, below the project's source folder
#   ENTRY <module>:<function>  returns (module, example inputs)
#   [FORM trace|script|export] [TRAINING eval|preserve|train] [SEED <n>]
#   [DYNAMIC_AXES x:0:N...]    axes of unknown size; the program is compared with the module
#                              at other sizes of them, whatever the FORM
#   [DATA <file>...])          files that the module reads
# Makes <target>.pt (.pt2 for FORM export) and <target>.inputs.pt in the current
# binary folder: properties ONNX_PROGRAM and ONNX_EXAMPLE_INPUTS.
function(add_torch_model target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "ENTRY;FORM;SEED;TRAINING" "DATA;DYNAMIC_AXES;SRCS")
  _rules_onnx_check_arguments(add_torch_model "SRCS;ENTRY")
  _rules_onnx_check_words(add_torch_model FORM TRAINING)
  if(NOT RULES_ONNX_PYTHON)
    message(FATAL_ERROR "add_torch_model needs a Python with torch: set RULES_ONNX_PYTHON")
  endif()
  set(program "${CMAKE_CURRENT_BINARY_DIR}/${target}.pt")
  set(flags --entry "${arg_ENTRY}")
  if(DEFINED arg_FORM)
    list(APPEND flags --form "${arg_FORM}")
    if(arg_FORM STREQUAL "export")
      string(APPEND program 2)
    endif()
  endif()
  foreach(option IN ITEMS TRAINING SEED)
    if(DEFINED arg_${option})
      string(TOLOWER "--${option}" flag)
      list(APPEND flags ${flag} "${arg_${option}}")
    endif()
  endforeach()
  if(DEFINED arg_DYNAMIC_AXES)
    _rules_onnx_axes_json(axes ${arg_DYNAMIC_AXES})
    list(APPEND flags --dynamic-axes "${axes}")
  endif()
  # Programs hold the names of their source files: the same wherever the project lies.
  set(sources)
  foreach(source IN LISTS arg_SRCS)
    cmake_path(ABSOLUTE_PATH source)
    list(APPEND sources "${source}")
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY "${PROJECT_SOURCE_DIR}" OUTPUT_VARIABLE name)
    list(APPEND flags --source "${name}")
  endforeach()
  set(inputs "${CMAKE_CURRENT_BINARY_DIR}/${target}.inputs.pt")
  add_custom_command(
    OUTPUT "${program}" "${inputs}"
    COMMAND "${CMAKE_COMMAND}" -E env
      OMP_NUM_THREADS=1 PYTHONDONTWRITEBYTECODE=1 PYTHONHASHSEED=0
      "${RULES_ONNX_PYTHON}" "${_RULES_ONNX_MAKE_TORCH_MODEL}" ${flags}
      --program "${program}" --inputs "${inputs}"
    DEPENDS ${sources} ${arg_DATA} "${_RULES_ONNX_MAKE_TORCH_MODEL}"
    WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}"
    COMMENT "Making ${target} with PyTorch"
    VERBATIM)
  add_custom_target(${target} DEPENDS "${program}" "${inputs}")
  set_target_properties(${target} PROPERTIES
    ONNX_PROGRAM "${program}" ONNX_EXAMPLE_INPUTS "${inputs}")
endfunction()

# add_onnx_lowering(<target> SRCS <file.cc>...): a plugin for PLUGINS of
# add_onnx_model. Sources include "exporter/plugin/plugin.h", which tells how they
# are written.
function(add_onnx_lowering target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SRCS")
  _rules_onnx_check_arguments(add_onnx_lowering "SRCS")
  add_library(${target} MODULE ${arg_SRCS})
  target_include_directories(${target} SYSTEM PRIVATE "${_RULES_ONNX_INCLUDE}")
  target_compile_features(${target} PRIVATE cxx_std_17)
  set_target_properties(${target} PROPERTIES CXX_VISIBILITY_PRESET hidden)
endfunction()

# file_flags and file_depends: the flags of options with files, which the caller's arg_* give by
# name or as targets that build them, and what the command depends on.
macro(_rules_onnx_file_flags)
  set(file_flags)
  set(file_depends)
  foreach(option IN ITEMS ${ARGN})
    string(TOLOWER "--${option}" flag)
    string(REPLACE "_" "-" flag "${flag}")
    _rules_onnx_add_files(${flag} ${arg_${option}})
  endforeach()
endmacro()

macro(_rules_onnx_add_files flag)
  foreach(file IN ITEMS ${ARGN})
    if(TARGET "${file}")
      list(APPEND file_depends "${file}" $<TARGET_FILE:${file}>)
      list(APPEND file_flags ${flag} $<TARGET_FILE:${file}>)
    else()
      cmake_path(ABSOLUTE_PATH file OUTPUT_VARIABLE absolute)
      list(APPEND file_depends "${absolute}")
      list(APPEND file_flags ${flag} "${absolute}")
    endif()
  endforeach()
endmacro()

# The artifacts' file name, with {opset} and {external_data} to be filled in.
function(_rules_onnx_output_template out target opsets layouts output)
  list(LENGTH opsets opset_count)
  list(LENGTH layouts layout_count)
  if(output)
    if(opset_count GREATER 1 AND NOT output MATCHES "{opset}"
        OR layout_count GREATER 1 AND NOT output MATCHES "{external_data}")
      message(FATAL_ERROR "add_onnx_model: OUTPUT '${output}' must hold {opset} where there are "
        "several opsets, and {external_data} where there are several layouts")
    endif()
  else()
    set(output "${target}")
    if(opset_count GREATER 1)
      string(APPEND output ".opset{opset}")
    endif()
    if(layout_count GREATER 1)
      string(APPEND output ".{external_data}")
    endif()
    string(APPEND output ".onnx")
  endif()
  set(${out} "${output}" PARENT_SCOPE)
endfunction()

# add_onnx_model(<target>
#   MODEL <file.pt|file.pt2|torch model target>
#   [INPUTS <spec or file>...]   x:float32[N=10,3,224,224], or a .pt, .npz, .npy or .pb file
#   [OPSETS <n>...]              default: 18
#   [EXTERNAL_DATA none|single|per_tensor|shared...]
#   [OUTPUT <name>]              with {opset} where there are several
#   [PLUGINS <target or file>...]    lowerings of one's own, see add_onnx_lowering
#   [OP_MAPPING <file.json>...]  operators as nodes of custom domains
#   [TORCH_LIBRARIES <target or file>...]  operators that the program needs
#   [DYNAMIC_AXES x:0:N...] [<other option> <value>...])
# Makes <target>.onnx, or <target>.opset<n>.onnx for several opsets, in the
# current binary folder. Properties: ONNX_MODELS (the .onnx files), ONNX_DATA (files
# and folders that they refer to), ONNX_GRAPH, ONNX_WEIGHTS.
# The program is captured once; equal captures end the rebuild there.
function(add_onnx_model target)
  cmake_parse_arguments(PARSE_ARGV 1 arg ""
    "MODEL;OUTPUT;${_RULES_ONNX_CAPTURE_FLAGS};${_RULES_ONNX_CAPTURE_WORDS};${_RULES_ONNX_LOWER_FLAGS};${_RULES_ONNX_LOWER_WORDS}"
    "DYNAMIC_AXES;EXTERNAL_DATA;INPUTS;OPSETS;OP_MAPPING;PLUGINS;TORCH_LIBRARIES;${_RULES_ONNX_CAPTURE_LISTS};${_RULES_ONNX_LOWER_LISTS};${_RULES_ONNX_LOWER_MAPS}")
  _rules_onnx_check_arguments(add_onnx_model "MODEL")
  _rules_onnx_check_flags(add_onnx_model ${_RULES_ONNX_CAPTURE_FLAGS} ${_RULES_ONNX_LOWER_FLAGS})
  _rules_onnx_check_words(add_onnx_model EXTERNAL_DATA ${_RULES_ONNX_CAPTURE_WORDS} ${_RULES_ONNX_LOWER_WORDS})
  _rules_onnx_check_unique(add_onnx_model EXTERNAL_DATA)
  _rules_onnx_check_opsets(add_onnx_model)
  if(NOT arg_OPSETS)
    set(arg_OPSETS 18)
  endif()
  if(NOT arg_EXTERNAL_DATA)
    set(arg_EXTERNAL_DATA none)
  endif()

  set(program "${arg_MODEL}")
  if(TARGET "${arg_MODEL}")
    _rules_onnx_check_made_by(add_onnx_model "${arg_MODEL}" add_torch_model ONNX_EXAMPLE_INPUTS)
    get_target_property(program "${arg_MODEL}" ONNX_PROGRAM)
    if(NOT arg_INPUTS)
      get_target_property(arg_INPUTS "${arg_MODEL}" ONNX_EXAMPLE_INPUTS)
    endif()
  else()
    cmake_path(ABSOLUTE_PATH program)
  endif()
  set(input_flags)
  set(input_files)
  foreach(input IN LISTS arg_INPUTS)
    # As onnx-export tells them apart.
    if(input MATCHES "\\.(pt|npz|npy|pb)$" AND NOT input MATCHES "str=")
      cmake_path(ABSOLUTE_PATH input)
      list(APPEND input_files "${input}")
    endif()
    list(APPEND input_flags --inputs "${input}")
  endforeach()

  set(needs_torch ON)
  if(program MATCHES "\\.pt2$")
    set(needs_torch OFF)
  endif()
  _rules_onnx_torch_capture(${needs_torch} "${program}")
  _rules_onnx_option_flags(capture_flags CAPTURE)
  _rules_onnx_option_flags(verify_flags VERIFY)
  list(PREPEND capture_flags ${input_flags})
  list(PREPEND verify_flags ${input_flags})
  if(DEFINED arg_DYNAMIC_AXES)
    _rules_onnx_axes_json(axes ${arg_DYNAMIC_AXES})
    list(APPEND capture_flags --dynamic-axes "${axes}")
    list(APPEND verify_flags --dynamic-axes "${axes}")
  endif()
  _rules_onnx_file_flags(${_RULES_ONNX_VERIFY_FILES})
  list(APPEND verify_flags ${file_flags})
  _rules_onnx_file_flags(TORCH_LIBRARIES)
  list(APPEND capture_flags ${file_flags})
  list(APPEND torch_depends ${file_depends})
  if(RULES_ONNX_CACHE_DIR)
    list(APPEND capture_flags --cache-dir "${RULES_ONNX_CACHE_DIR}")
  endif()
  set(base "${CMAKE_CURRENT_BINARY_DIR}/${target}")
  set(captured "${base}.graph" "${base}.weights" "${base}.debug")
  set(fresh "${CMAKE_CURRENT_BINARY_DIR}/CMakeFiles/${target}.capture")
  add_custom_command(
    OUTPUT "${fresh}/stamp"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${fresh}"
    COMMAND rules_onnx::onnx-export capture --model "${program}" ${capture_flags}
      ${torch_flags} --graph "${fresh}/graph" --weights "${fresh}/weights" --debug "${fresh}/debug"
    COMMAND "${CMAKE_COMMAND}" "-DFRESH=${fresh}" "-DBASE=${base}"
      -P "${_RULES_ONNX_SCRIPTS}/RulesOnnxReplaceChanged.cmake"
    DEPENDS "${program}" ${input_files} rules_onnx::onnx-export ${torch_depends}
    COMMENT "Capturing ${target}"
    VERBATIM)
  # Where the capture left a file alone, nothing that depends on the file runs again.
  foreach(file IN LISTS captured)
    cmake_path(GET file FILENAME name)
    add_custom_command(
      OUTPUT "${file}"
      COMMAND "${CMAKE_COMMAND}" -E true
      DEPENDS "${fresh}/stamp"
      COMMENT "Captured ${name}"
      VERBATIM)
  endforeach()

  _rules_onnx_option_flags(lower_flags LOWER)
  _rules_onnx_file_flags(PLUGINS OP_MAPPING)
  list(APPEND lower_flags ${file_flags})
  _rules_onnx_output_template(template "${target}" "${arg_OPSETS}" "${arg_EXTERNAL_DATA}" "${arg_OUTPUT}")
  set(models)
  set(data)
  set(folders)
  foreach(layout IN LISTS arg_EXTERNAL_DATA)
    foreach(opset IN LISTS arg_OPSETS)
      string(REPLACE "{opset}" "${opset}" output "${template}")
      string(REPLACE "{external_data}" "${layout}" output "${output}")
      set(output "${CMAKE_CURRENT_BINARY_DIR}/${output}")
      set(byproducts)
      if(layout STREQUAL "shared")
        set(weights_flags --weights-name "${target}.weights")
        set(weights_depends)
        list(APPEND data "${base}.weights")
      else()
        set(weights_flags --weights "${base}.weights")
        set(weights_depends "${base}.weights")
        if(NOT layout STREQUAL "none")
          set(byproducts "${output}.data")
        endif()
        if(layout STREQUAL "per_tensor")
          list(APPEND folders ${byproducts})
        endif()
        list(APPEND data ${byproducts})
      endif()
      add_custom_command(
        OUTPUT "${output}"
        BYPRODUCTS ${byproducts}
        COMMAND rules_onnx::onnx-export lower --graph "${base}.graph" --debug "${base}.debug"
          --opset ${opset} --external-data ${layout} ${weights_flags} ${lower_flags} --output "${output}"
        DEPENDS "${base}.graph" ${weights_depends} ${file_depends} rules_onnx::onnx-export
        COMMENT "Lowering ${target} to opset ${opset}, external data ${layout}"
        VERBATIM)
      list(APPEND models "${output}")
    endforeach()
  endforeach()
  list(REMOVE_DUPLICATES data)

  add_custom_target(${target} ALL DEPENDS ${models} ${captured})
  if(TARGET "${arg_MODEL}")
    add_dependencies(${target} "${arg_MODEL}")
  endif()
  set_target_properties(${target} PROPERTIES
    ONNX_MODELS "${models}" ONNX_DATA "${data}" ONNX_DATA_FOLDERS "${folders}"
    ONNX_GRAPH "${base}.graph" ONNX_WEIGHTS "${base}.weights"
    ONNX_PROGRAM "${program}" ONNX_VERIFY_FLAGS "${verify_flags}")
endfunction()

# onnx_model_install(<target> DESTINATION <folder>): the models and what they
# refer to, side by side.
function(onnx_model_install target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "DESTINATION" "")
  _rules_onnx_check_arguments(onnx_model_install "DESTINATION")
  _rules_onnx_check_made_by(onnx_model_install "${target}" add_onnx_model ONNX_MODELS)
  get_target_property(models ${target} ONNX_MODELS)
  get_target_property(data ${target} ONNX_DATA)
  install(FILES ${models} DESTINATION "${arg_DESTINATION}")
  get_target_property(folders ${target} ONNX_DATA_FOLDERS)
  foreach(item IN LISTS data)
    if("${item}" IN_LIST folders)
      install(DIRECTORY "${item}" DESTINATION "${arg_DESTINATION}")
    else()
      install(FILES "${item}" DESTINATION "${arg_DESTINATION}")
    endif()
  endforeach()
endfunction()

# onnx_model_test(<test> EXPORT <target>): a test that compares every artifact of
# an add_onnx_model in ONNX Runtime with what the program computes.
function(onnx_model_test test)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPORT" "")
  _rules_onnx_check_arguments(onnx_model_test "EXPORT")
  _rules_onnx_check_made_by(onnx_model_test "${arg_EXPORT}" add_onnx_model ONNX_MODELS)
  if(NOT RULES_ONNX_PYTHON)
    message(FATAL_ERROR "onnx_model_test needs a Python with onnxruntime: set RULES_ONNX_PYTHON")
  endif()
  get_target_property(program ${arg_EXPORT} ONNX_PROGRAM)
  get_target_property(verify_flags ${arg_EXPORT} ONNX_VERIFY_FLAGS)
  get_target_property(models ${arg_EXPORT} ONNX_MODELS)
  _rules_onnx_torch_capture(ON "${program}")
  list(TRANSFORM models PREPEND "--onnx;")
  add_test(NAME ${test}
    COMMAND rules_onnx::onnx-export verify --model "${program}" ${models} ${verify_flags}
      ${torch_flags} --python "${RULES_ONNX_PYTHON}")
  _rules_onnx_note_test("${test}")
endfunction()
