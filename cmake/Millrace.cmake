# One target a room: millrace_library(NAME SOURCES … DEPS …) and millrace_test(NAME SOURCES … DEPS …).
# ENGINE: its sources read the headers of the engine, which are compiled once for all such tests. CAMPAIGN marks a test program of many runs, each
# with another fault, for `./dev faults`.
# SEPARATE: its sources are compiled one by one, as they give one name to several things.
# Includes are written from the root of the tree ("base/result.h"), so an include says which room it enters.

option(MILLRACE_WERROR "Warnings are errors" ON)
option(MILLRACE_FAULTS "Crash points (os/crash_point.h), and the tests that use them" OFF)
option(MILLRACE_TRACED "Calls are traced, for ./dev walk" OFF)
option(MILLRACE_UNITY "The sources of a target are compiled several at a time, in a third of the time" ON)
set(MILLRACE_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")

add_library(millrace_flags INTERFACE)
target_compile_features(millrace_flags INTERFACE cxx_std_20)
target_include_directories(millrace_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(millrace_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  # A struct's fields have defaults; naming those that matter is the point of designated initializers.
  -Wno-missing-field-initializers
  # g++ 12 sees uninitialised members in every std::variant of strings.
  -Wno-maybe-uninitialized
  # The compiler collects its garbage from 500 MB on, not from 128: a tenth less time for a unit.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=500000>)
if(MILLRACE_WERROR)
  target_compile_options(millrace_flags INTERFACE -Werror)
endif()
if(MILLRACE_SANITIZE)
  target_compile_options(millrace_flags INTERFACE -fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(millrace_flags INTERFACE -fsanitize=${MILLRACE_SANITIZE})
endif()
if(MILLRACE_TRACED)
  target_compile_options(millrace_flags INTERFACE -finstrument-functions -finstrument-functions-exclude-file-list=/usr/)
endif()
target_link_options(millrace_flags INTERFACE -fuse-ld=mold)

# Sources that are compiled together must not use one name for two things in their unnamed namespaces.
function(millrace_unity name separate)
  if(MILLRACE_UNITY AND NOT separate)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON)
    # It would take a source of its own for a header.
    target_compile_options(${name} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
  endif()
endfunction()

function(millrace_library name)
  cmake_parse_arguments(ARG "SEPARATE" "" "SOURCES;DEPS" ${ARGN})
  add_library(${name} STATIC ${ARG_SOURCES})
  millrace_unity(${name} ${ARG_SEPARATE})
  target_link_libraries(${name} PUBLIC millrace_flags ${ARG_DEPS})
  if(NOT name STREQUAL "millrace_base")
    target_precompile_headers(${name} REUSE_FROM millrace_base)
  endif()
endfunction()

# A test that fails names its line itself: without debug information its sources compile a quarter
# faster. Sanitizers show lines of their own.
if(NOT MILLRACE_SANITIZE)
  set(MILLRACE_TEST_OPTIONS -g0)
endif()

function(millrace_test name)
  cmake_parse_arguments(ARG "CAMPAIGN;ENGINE;SEPARATE;FEW_DESCRIPTORS" "TIMEOUT" "SOURCES;DEPS" ${ARGN})
  if(NOT ARG_TIMEOUT)
    set(ARG_TIMEOUT 120)
  endif()
  if(ARG_CAMPAIGN)
    set(labels LABELS campaign)
  endif()
  if(ARG_FEW_DESCRIPTORS AND MILLRACE_SANITIZE)
    set(environment ENVIRONMENT "UBSAN_OPTIONS=suppressions=${PROJECT_SOURCE_DIR}/tests/support/ubsan.supp")
  endif()
  add_executable(${name} ${ARG_SOURCES})
  millrace_unity(${name} ${ARG_SEPARATE})
  target_link_libraries(${name} PRIVATE millrace_flags millrace_test_header ${ARG_DEPS} GTest::gmock_main)
  target_compile_options(${name} PRIVATE ${MILLRACE_TEST_OPTIONS})
  if(ARG_ENGINE)
    target_precompile_headers(${name} REUSE_FROM millrace_engine_test_header)
  else()
    target_precompile_headers(${name} REUSE_FROM millrace_test_header)
  endif()
  gtest_discover_tests(${name} DISCOVERY_TIMEOUT 60 WORKING_DIRECTORY ${PROJECT_SOURCE_DIR}
    PROPERTIES TIMEOUT ${ARG_TIMEOUT} ${labels} ${environment})
endfunction()
