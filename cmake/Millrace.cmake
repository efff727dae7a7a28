# Each module is one target: millrace_library(NAME SOURCES … DEPS …) and millrace_test(NAME SOURCES … DEPS …).
# ENGINE: the test includes headers of the engine; a precompiled header is shared by all such tests.
# CAMPAIGN: the test program makes many runs, each with a different fault, for `./dev faults`.
# LONG: tests of the program take many seconds. ctest starts campaigns first, then long tests, so that
# none of them is left to run alone when the others have ended.
# SEPARATE: the sources are compiled one by one, because they use one name for different things.
# FEW_DESCRIPTORS: with sanitizers, the test uses the suppressions of tests/support/ubsan.supp.
# Include paths start at the root of the tree ("base/result.h"), so that an include shows its module.

option(MILLRACE_WERROR "Treat warnings as errors" ON)
option(MILLRACE_FAULTS "Build crash points (os/crash_point.h) and the tests that use them" OFF)
option(MILLRACE_TRACED "Trace calls, for ./dev walk" OFF)
option(MILLRACE_HARDENED "Build with protections against attacks on memory; sanitizers have checks of their own" ON)
option(MILLRACE_UNITY "Compile several sources of a target in one unit, in a third of the time" ON)
option(MILLRACE_FUZZ "Build the fuzz targets, with clang and libFuzzer, for ./dev fuzz" OFF)
option(MILLRACE_COVERAGE "Count how often each line runs, with clang" OFF)
# Most of the time of a unit is spent on the headers. More sources in one unit make a whole build shorter, and the
# build after one change longer.
set(MILLRACE_UNITY_BATCH 16 CACHE STRING "How many sources of a target one unit has")
set(MILLRACE_SANITIZE "" CACHE STRING "Sanitizers to build with, e.g. address,undefined")

add_library(millrace_flags INTERFACE)
target_compile_features(millrace_flags INTERFACE cxx_std_20)
target_include_directories(millrace_flags INTERFACE ${PROJECT_SOURCE_DIR})
target_compile_options(millrace_flags INTERFACE -Wall -Wextra -Wshadow -Wnon-virtual-dtor
  # Fields have defaults, and a designated initializer names only the fields that differ from them.
  -Wno-missing-field-initializers
  # g++ 12 reports uninitialised members in every std::variant of strings.
  $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>
  # Without times, clang accepts a precompiled header that ccache has kept.
  "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>"
  # The compiler's garbage collection starts at 500 MB instead of 128 MB: each unit takes a tenth less time.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=500000>)
if(MILLRACE_WERROR)
  target_compile_options(millrace_flags INTERFACE -Werror)
endif()
if(MILLRACE_SANITIZE)
  target_compile_options(millrace_flags INTERFACE -fsanitize=${MILLRACE_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all
    # That check opens a pipe to see whether memory can be read, and fails tests that leave no file descriptor.
    -fno-sanitize=vptr)
  target_link_options(millrace_flags INTERFACE -fsanitize=${MILLRACE_SANITIZE})
endif()
if(MILLRACE_SANITIZE)
  set(MILLRACE_HARDENED OFF)
endif()
if(MILLRACE_HARDENED)
  # tests/integration/hardening_test.cc checks what these flags put into the program. Debian's g++
  # makes position-independent programs by default.
  target_compile_options(millrace_flags INTERFACE -fstack-protector-strong -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64)$")
    target_compile_options(millrace_flags INTERFACE -fcf-protection=full)
  endif()
  target_link_options(millrace_flags INTERFACE -Wl,-z,relro -Wl,-z,now)
endif()
if(MILLRACE_COVERAGE)
  target_compile_options(millrace_flags INTERFACE -fprofile-instr-generate -fcoverage-mapping)
  target_link_options(millrace_flags INTERFACE -fprofile-instr-generate)
elseif(MILLRACE_FUZZ)
  # Shows libFuzzer which code an input reaches. Only the fuzz targets are linked with its main().
  target_compile_options(millrace_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()
if(MILLRACE_TRACED)
  target_compile_options(millrace_flags INTERFACE -finstrument-functions -finstrument-functions-exclude-file-list=/usr/)
endif()
target_link_options(millrace_flags INTERFACE -fuse-ld=mold)

# Compiles the sources of a target together, unless MILLRACE_UNITY is off or the target is SEPARATE. Such sources
# must not use one name for two things in their unnamed namespaces.
function(millrace_unity name separate)
  if(MILLRACE_UNITY AND NOT separate)
    set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${MILLRACE_UNITY_BATCH})
    # g++ treats a source that a unity file includes as a header, and would warn about its unnamed namespace.
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

# A failed test prints its line without debug information, and without it the sources compile a quarter
# faster. Sanitizers need debug information to show lines. g++ compiles test code with -Og in six sevenths of the time
# that -O1 takes; with -O0, the templates that tests share with the program would be slow in the program, too.
if(NOT MILLRACE_SANITIZE)
  set(MILLRACE_TEST_OPTIONS -g0 $<$<CXX_COMPILER_ID:GNU>:-Og>)
endif()

function(millrace_test name)
  cmake_parse_arguments(ARG "CAMPAIGN;ENGINE;LONG;SEPARATE" "" "SOURCES;DEPS" ${ARGN})
  # The time limit ends only a test that hangs: the longest take a minute of a core, and the machine may be busy. A
  # campaign takes as long as its number of runs requires.
  set(timeout 900)
  if(ARG_CAMPAIGN)
    set(labels LABELS campaign COST 2000)
    set(timeout 3600)
  elseif(ARG_LONG)
    set(labels COST 1000)
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
    PROPERTIES TIMEOUT ${timeout} ${labels})
endfunction()
