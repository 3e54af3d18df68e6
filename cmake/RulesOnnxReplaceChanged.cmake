# Moves what a capture wrote into FRESH to BASE.graph, BASE.weights and BASE.debug.
# A file that is equal to the one there leaves that one untouched, time included.

foreach(part IN ITEMS graph weights debug)
  set(fresh "${FRESH}/${part}")
  set(target "${BASE}.${part}")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E compare_files "${fresh}" "${target}"
    RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
  if(differs)
    file(RENAME "${fresh}" "${target}")
    # Newer than the stamp that says that the capture ran.
    file(TOUCH "${target}")
  else()
    file(REMOVE "${fresh}")
  endif()
endforeach()
