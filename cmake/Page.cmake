# The page in the program: millrace_page_source(VARIABLE) sets the variable to the path of a source that
# defines embedded_page() (gateway/page_files.h). With npm and node, the page is built from page/ by its
# lock file when one of its inputs changes. Nothing of the page is read or built otherwise.

set(MILLRACE_PAGE AUTO CACHE STRING "Build the page into the program: ON; OFF; AUTO: if npm can install its packages")
set_property(CACHE MILLRACE_PAGE PROPERTY STRINGS AUTO ON OFF)
set(MILLRACE_PAGE_BUNDLE "" CACHE PATH "A folder with a page that is built already, and its manifest.json; needs no npm")

function(millrace_page_source variable)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/embedded_page.cc)
  set(scripts ${PROJECT_SOURCE_DIR}/cmake)
  set(page ${PROJECT_SOURCE_DIR}/page)
  set(${variable} ${source} PARENT_SCOPE)

  if(MILLRACE_PAGE_BUNDLE)
    millrace_embedded_files(${source} embedded_page ${MILLRACE_PAGE_BUNDLE})
    return()
  endif()

  if(NOT MILLRACE_PAGE STREQUAL "OFF")
    find_program(MILLRACE_NPM npm)
    find_program(MILLRACE_NODE node)
    if(MILLRACE_NPM AND MILLRACE_NODE AND EXISTS ${page}/package-lock.json)
      add_custom_command(OUTPUT ${source}
        COMMAND ${CMAKE_COMMAND} -DPAGE=${page} -DWORK=${CMAKE_CURRENT_BINARY_DIR}/page -DOUT=${source} -DDEPFILE=${source}.d
          -DNPM=${MILLRACE_NPM} -DNODE=${MILLRACE_NODE} -DMODE=${MILLRACE_PAGE} -P ${scripts}/build_page.cmake
        DEPENDS ${scripts}/build_page.cmake ${scripts}/compress_page.mjs ${scripts}/embed_page.cmake ${page}/package-lock.json
        DEPFILE ${source}.d
        COMMENT "Building the page"
        VERBATIM)
      return()
    endif()
    if(MILLRACE_PAGE STREQUAL "ON")
      message(FATAL_ERROR "MILLRACE_PAGE is ON: the page needs npm, node and ${page}/package-lock.json. "
        "MILLRACE_PAGE_BUNDLE takes a page that is built already.")
    endif()
  endif()
  file(CONFIGURE OUTPUT ${source} CONTENT
    "#include \"gateway/page_files.h\"\n\nmillrace::PageFiles millrace::embedded_page() { return {}; }\n")
endfunction()

# Adds the command that makes `source` define `function`, which returns the files in the folder `bundle`.
function(millrace_embedded_files source function bundle)
  set(script ${PROJECT_SOURCE_DIR}/cmake/embed_page.cmake)
  add_custom_command(OUTPUT ${source}
    COMMAND ${CMAKE_COMMAND} -DDIST=${bundle} -DOUT=${source} -DFUNCTION=${function} -P ${script}
    DEPENDS ${script} ${bundle}/manifest.json
    COMMENT "Embedding the page of ${bundle}"
    VERBATIM)
endfunction()
