# What the functions of RulesOnnxModel.cmake refuse when a project is configured. All of these
# read their caller's arg_* and take its name for messages; the words are those of onnx-export.

# Values of options that are words, as `onnx-export options` lists them, and of add_torch_model's FORM.
set(_RULES_ONNX_CHOICES_EXTERNAL_DATA none single per_tensor shared CACHE INTERNAL "")
set(_RULES_ONNX_CHOICES_FORM trace script export CACHE INTERNAL "")
set(_RULES_ONNX_CHOICES_OPERATOR_EXPORT_TYPE onnx aten aten_fallback raw fallthrough CACHE INTERNAL "")
set(_RULES_ONNX_CHOICES_TRAINING eval preserve train CACHE INTERNAL "")
set(_RULES_ONNX_OPSET_RANGE 9 28 CACHE INTERNAL "")

# Options that are missing, unknown or without a value.
function(_rules_onnx_check_arguments function required)
  foreach(argument IN LISTS required)
    if(NOT DEFINED arg_${argument})
      message(FATAL_ERROR "${function}: ${argument} is missing")
    endif()
  endforeach()
  if(DEFINED arg_UNPARSED_ARGUMENTS)
    # What follows an unknown option may be its value.
    list(GET arg_UNPARSED_ARGUMENTS 0 unknown)
    message(FATAL_ERROR "${function}: unknown option ${unknown}")
  endif()
  if(DEFINED arg_KEYWORDS_MISSING_VALUES)
    list(JOIN arg_KEYWORDS_MISSING_VALUES ", " missing)
    message(FATAL_ERROR "${function}: no value is given for ${missing}")
  endif()
endfunction()

# Options that are true or false.
function(_rules_onnx_check_flags function)
  foreach(option IN LISTS ARGN)
    if(DEFINED arg_${option})
      string(TOUPPER "${arg_${option}}" value)
      if(NOT value MATCHES "^(1|ON|TRUE|YES|Y|0|OFF|FALSE|NO|N)$")
        message(FATAL_ERROR "${function}: ${option}: '${arg_${option}}' is neither true nor false")
      endif()
    endif()
  endforeach()
endfunction()

# Options with one or several values out of _RULES_ONNX_CHOICES_<option>.
function(_rules_onnx_check_words function)
  foreach(option IN LISTS ARGN)
    foreach(value IN LISTS arg_${option})
      if(NOT value IN_LIST _RULES_ONNX_CHOICES_${option})
        list(JOIN _RULES_ONNX_CHOICES_${option} ", " choices)
        message(FATAL_ERROR "${function}: ${option}: '${value}' is none of ${choices}")
      endif()
    endforeach()
  endforeach()
endfunction()

# Options none of whose values may come twice.
function(_rules_onnx_check_unique function)
  foreach(option IN LISTS ARGN)
    set(seen)
    foreach(value IN LISTS arg_${option})
      if(value IN_LIST seen)
        message(FATAL_ERROR "${function}: ${option}: ${value} is given twice")
      endif()
      list(APPEND seen "${value}")
    endforeach()
  endforeach()
endfunction()

function(_rules_onnx_check_opsets function)
  list(GET _RULES_ONNX_OPSET_RANGE 0 min)
  list(GET _RULES_ONNX_OPSET_RANGE 1 max)
  foreach(opset IN LISTS arg_OPSETS)
    if(NOT opset MATCHES "^[1-9][0-9]*$")
      message(FATAL_ERROR "${function}: OPSETS: '${opset}' is no number")
    endif()
    if(opset LESS min OR opset GREATER max)
      message(FATAL_ERROR "${function}: OPSETS: ${opset} is not within ${min}..${max}")
    endif()
  endforeach()
  _rules_onnx_check_unique("${function}" OPSETS)
endfunction()

# A target that stands already and was made by `maker`, which sets `property`.
function(_rules_onnx_check_made_by function target maker property)
  if(NOT TARGET "${target}")
    message(FATAL_ERROR "${function}: there is no target '${target}' (${maker} has to come first)")
  endif()
  get_target_property(made "${target}" "${property}")
  if(NOT made)
    message(FATAL_ERROR "${function}: the target '${target}' was not made by ${maker}")
  endif()
endfunction()

# Without enable_testing() CMake drops tests and says nothing. Called at the end of the folder
# that declares one: enable_testing() may come after the test.
function(_rules_onnx_warn_without_testing)
  if(NOT CMAKE_TESTING_ENABLED AND NOT (DEFINED BUILD_TESTING AND NOT BUILD_TESTING))
    get_property(tests DIRECTORY PROPERTY _RULES_ONNX_TESTS)
    list(JOIN tests ", " tests)
    message(WARNING "onnx_model_test: ${tests} will not run, since enable_testing() is not called "
      "in the CMakeLists.txt of the project")
  endif()
endfunction()

# Notes a test of the current folder for that warning.
function(_rules_onnx_note_test test)
  get_property(tests DIRECTORY PROPERTY _RULES_ONNX_TESTS)
  if(NOT tests)
    cmake_language(DEFER CALL _rules_onnx_warn_without_testing)
  endif()
  set_property(DIRECTORY APPEND PROPERTY _RULES_ONNX_TESTS "${test}")
endfunction()
