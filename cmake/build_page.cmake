# Builds the page in the folder WORK from a copy of PAGE, so that the tree gets no file, and writes the
# source OUT, which has it. DEPFILE gets the inputs. NPM and NODE are the programs.
#
# If npm cannot install the packages, for example without a network, MODE decides: with AUTO the program
# has no page, and the build goes on with a warning; with ON the build fails. A fault of the page itself
# always makes the build fail.
cmake_minimum_required(VERSION 3.25)

# The tests of the page have packages and browsers that the build does not need.
file(GLOB entries RELATIVE ${PAGE} ${PAGE}/*)
list(APPEND entries .npmrc)
list(REMOVE_DUPLICATES entries)
list(REMOVE_ITEM entries node_modules dist tests)
file(MAKE_DIRECTORY ${WORK})
set(inputs "")
foreach(entry IN LISTS entries)
  if(NOT EXISTS ${PAGE}/${entry})
    continue()
  endif()
  if(IS_DIRECTORY ${PAGE}/${entry})
    # A folder is an input, too: its time changes when it gets or loses a file.
    file(GLOB_RECURSE inside LIST_DIRECTORIES true ${PAGE}/${entry}/*)
    list(APPEND inputs ${inside})
    file(REMOVE_RECURSE ${WORK}/${entry})
  endif()
  list(APPEND inputs ${PAGE}/${entry})
  file(COPY ${PAGE}/${entry} DESTINATION ${WORK})
endforeach()

set(rule "${OUT}:")
foreach(input IN LISTS inputs)
  string(REPLACE " " "\\ " escaped "${input}")
  string(APPEND rule " \\\n  ${escaped}")
endforeach()
file(WRITE ${DEPFILE} "${rule}\n")

# The packages are installed again when the lock file differs.
file(SHA256 ${WORK}/package-lock.json lock)
set(installed "")
if(EXISTS ${WORK}/installed-lock)
  file(READ ${WORK}/installed-lock installed)
endif()
if(NOT installed STREQUAL lock)
  file(REMOVE ${WORK}/installed-lock)
  execute_process(COMMAND ${NPM} ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 --fetch-retry-mintimeout=1000
    WORKING_DIRECTORY ${WORK} TIMEOUT 600 RESULT_VARIABLE result OUTPUT_FILE ${WORK}/npm.log ERROR_FILE ${WORK}/npm.log)
  if(NOT result EQUAL 0)
    file(READ ${WORK}/npm.log log LIMIT 4000)
    if(MODE STREQUAL "ON")
      message(FATAL_ERROR "npm could not install the packages of the page (${result}):\n${log}")
    endif()
    message(WARNING "npm could not install the packages of the page (${result}), so this build has no page:\n${log}"
      "The next build tries again after a change of page/, or with -DMILLRACE_PAGE=ON.")
    file(WRITE ${OUT} "#include \"gateway/page_files.h\"\n\nmillrace::PageFiles millrace::embedded_page() { return {}; }\n")
    return()
  endif()
  file(WRITE ${WORK}/installed-lock "${lock}")
endif()

set(DIST ${WORK}/dist)
execute_process(COMMAND ${NODE} build.mjs ${DIST} WORKING_DIRECTORY ${WORK} COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND ${NODE} ${CMAKE_CURRENT_LIST_DIR}/compress_page.mjs ${DIST} COMMAND_ERROR_IS_FATAL ANY)
set(FUNCTION embedded_page)
include(${CMAKE_CURRENT_LIST_DIR}/embed_page.cmake)
