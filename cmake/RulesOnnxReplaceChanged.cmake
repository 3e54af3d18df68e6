# Moves what a capture wrote into FRESH to BASE.graph, BASE.weights and BASE.debug, then
# makes FRESH/stamp, which says that this is done. A file that is equal to the one there
# leaves that one untouched, time included.

set(changed)
foreach(part IN ITEMS graph weights debug)
  set(fresh "${FRESH}/${part}")
  set(target "${BASE}.${part}")
  execute_process(
    COMMAND "${CMAKE_COMMAND}" -E compare_files "${fresh}" "${target}"
    RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
  if(differs)
    file(RENAME "${fresh}" "${target}")
    list(APPEND changed "${target}")
  else()
    file(REMOVE "${fresh}")
  endif()
endforeach()
file(TOUCH "${FRESH}/stamp")
# Newer than the stamp, so that no later build looks at them again.
if(changed)
  file(TOUCH ${changed})
endif()
