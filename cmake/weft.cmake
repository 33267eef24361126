# How Weft is built: the flags every target shares, and one function per kind of target.
#
#   weft_rooms(DIR…)                                             add each folder that has a CMakeLists.txt
#   weft_library(NAME [SOURCES …] [DEPS …] [DEFINES …])          static library weft::NAME; header-only without SOURCES
#   weft_program(NAME SOURCES … [DEPS …] [DEFINES …])            build/bin/NAME
#   weft_face(NAME SONAME MAP file SOURCES … [DEPS …])           build/lib/weft/SONAME: a shared library that programs
#                                                                take for another's, with its symbol versions
#   weft_test(NAME SOURCES … [DEPS …] [DEFINES …] [ARGS …] [TIMEOUT n] [LABELS …] [HEADER file] [OPTIMIZED])
#                                                                build/tests/NAME, GoogleTest, one ctest test, compiled
#                                                                together (see there); HEADER, from the root, is
#                                                                compiled once for all that name it; OPTIMIZED: it runs
#                                                                long, and what it tests is in headers
#   weft_bench(NAME SOURCES … [DEPS …] [DEFINES …])              build/bench/NAME, Google Benchmark
#   weft_fuzz(NAME SOURCES … [DEPS …] [DEFINES …])               build-fuzz/fuzz/NAME, libFuzzer, with WEFT_FUZZ=ON; and
#                                                                with WEFT_TESTS=ON build/tests/NAME_replay, a ctest
#                                                                test that tries the inputs in tests/fuzz/NAME
#
# DEPS takes the name of a room (base, wire, nic, …) for weft::NAME, or anything target_link_libraries takes.

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)  # the verbs faces are shared libraries made of these rooms
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")
set(CMAKE_ARCHIVE_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib")

if(NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE Release CACHE STRING "Release or Debug" FORCE)
endif()
# Assertions stay on in release: no -DNDEBUG.
# Neighbouring fields are not read together: if they were written apart just before, and on the packet path they were,
# the processor cannot answer such a read before everything that it wrote earlier has left it.
set(CMAKE_CXX_FLAGS_RELEASE "-O3 -fno-tree-slp-vectorize")
set(CMAKE_CXX_FLAGS_DEBUG "-O0 -g")
set(WEFT_TEST_SECONDS 300)  # that a test may take, unless it says otherwise
if(WEFT_SANITIZE)
  set(CMAKE_CXX_FLAGS_RELEASE "-O2")
  set(WEFT_TEST_SECONDS 1800)  # every single fault, one after the other, takes its time there
endif()

find_program(WEFT_CCACHE ccache)
if(WEFT_CCACHE AND NOT CMAKE_CXX_COMPILER_LAUNCHER)
  set(CMAKE_CXX_COMPILER_LAUNCHER "${WEFT_CCACHE}")
endif()

# The system's Python: the one that has the system's packages (scapy), whatever else the PATH offers.
find_program(WEFT_PYTHON python3 PATHS /usr/bin NO_DEFAULT_PATH)

# --- flags that every target shares -----------------------------------------------------------------------------------

add_library(weft_flags INTERFACE)
target_include_directories(weft_flags INTERFACE "${PROJECT_SOURCE_DIR}/include" "${PROJECT_SOURCE_DIR}/src")
target_compile_options(weft_flags INTERFACE
  # Its default makes GCC collect garbage over and over in what it will not let go of.
  $<$<CXX_COMPILER_ID:GNU>:--param=ggc-min-heapsize=524288>
  -Wall -Wextra -Wshadow -Wnon-virtual-dtor -Woverloaded-virtual -Wcast-align
  -ffp-contract=off  # the same seed gives the same run on every architecture
  "-fmacro-prefix-map=${PROJECT_SOURCE_DIR}/=")
if(WEFT_WERROR)
  target_compile_options(weft_flags INTERFACE -Werror)
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
  target_compile_options(weft_flags INTERFACE -march=x86-64-v2)
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
  target_compile_options(weft_flags INTERFACE -march=armv8-a+crc)
endif()
if(WEFT_SANITIZE)
  set(WEFT_SANITIZE_FLAGS "-fsanitize=${WEFT_SANITIZE}" -fno-omit-frame-pointer -fno-sanitize-recover=all -g1)
  target_compile_options(weft_flags INTERFACE ${WEFT_SANITIZE_FLAGS})
  target_link_options(weft_flags INTERFACE ${WEFT_SANITIZE_FLAGS})
endif()
if(WEFT_FUZZ)
  if(NOT CMAKE_CXX_COMPILER_ID MATCHES "Clang")
    message(FATAL_ERROR "WEFT_FUZZ needs clang for libFuzzer: configure with `cmake --preset fuzz`.")
  endif()
  target_compile_options(weft_flags INTERFACE -fsanitize=fuzzer-no-link)
endif()

if(WEFT_TESTS)
  find_package(GTest CONFIG)
  if(NOT GTest_FOUND)
    message(FATAL_ERROR "GoogleTest is missing: run scripts/bootstrap, or configure with -DWEFT_TESTS=OFF.")
  endif()
endif()
if(WEFT_BENCH)
  find_package(benchmark CONFIG)
  if(NOT benchmark_FOUND)
    message(FATAL_ERROR "Google Benchmark is missing: run scripts/bootstrap, or configure with -DWEFT_BENCH=OFF.")
  endif()
endif()

include(harden)

# --- functions --------------------------------------------------------------------------------------------------------

function(weft_rooms)
  foreach(room IN LISTS ARGN)
    # A glob, so that a room whose CMakeLists.txt appears later is seen by the next build without configuring again.
    file(GLOB found CONFIGURE_DEPENDS "${CMAKE_CURRENT_SOURCE_DIR}/${room}/CMakeLists.txt")
    if(found)
      # Apart from build/bin, build/tests and build/bench, where programs may bear a folder's name.
      add_subdirectory("${room}" "${CMAKE_BINARY_DIR}/rooms/${room}")
    endif()
  endforeach()
endfunction()

function(weft_link target scope)
  foreach(dep IN LISTS ARGN)
    if(dep MATCHES "^(base|wire|nic|bytecode|kernels|host|native|cm)$" OR
       dep MATCHES "^(faults|direct|sim|lab|real_parts|real|verbs|storage)$")
      set(dep "weft::${dep}")
    endif()
    target_link_libraries(${target} ${scope} ${dep})
  endforeach()
endfunction()

function(weft_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;DEFINES")
  weft_check_arguments(${name})
  set(target weft_${name})
  if(arg_SOURCES)
    add_library(${target} STATIC ${arg_SOURCES})
    weft_harden(${target})
    set(scope PUBLIC)
  else()
    add_library(${target} INTERFACE)
    set(scope INTERFACE)
  endif()
  add_library(weft::${name} ALIAS ${target})
  target_link_libraries(${target} ${scope} weft_flags)
  target_compile_definitions(${target} ${scope} ${arg_DEFINES})
  weft_link(${target} ${scope} ${arg_DEPS})
endfunction()

# What programs, tests, benchmarks and fuzzers have in common.
macro(weft_executable name folder)
  if(NOT arg_SOURCES)
    message(FATAL_ERROR "${name}: SOURCES is empty")
  endif()
  weft_check_arguments(${name})
  add_executable(${name} ${arg_SOURCES})
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/${folder}")
  target_link_libraries(${name} PRIVATE weft_flags)
  target_compile_definitions(${name} PRIVATE ${arg_DEFINES})
  weft_link(${name} PRIVATE ${arg_DEPS})
endmacro()

macro(weft_check_arguments name)
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "${name}: unknown arguments: ${arg_UNPARSED_ARGUMENTS}")
  endif()
endmacro()

function(weft_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;DEFINES")
  weft_executable(${name} bin)
  weft_harden(${name})
endfunction()

function(weft_face name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SONAME;MAP" "SOURCES;DEPS;DEFINES")
  weft_check_arguments(${name})
  add_library(${name} SHARED ${arg_SOURCES})
  weft_harden(${name})
  string(REGEX REPLACE "^lib(.*)\\.so\\.([0-9]+)$" "\\1;\\2" parts "${arg_SONAME}")
  list(GET parts 0 stem)
  list(GET parts 1 version)
  # A folder of their own: it goes on LD_LIBRARY_PATH, and nothing else may be found there.
  set_target_properties(${name} PROPERTIES OUTPUT_NAME ${stem} VERSION ${version} SOVERSION ${version}
    LIBRARY_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/lib/weft" LINK_DEPENDS "${arg_MAP}")
  target_link_libraries(${name} PRIVATE weft_flags)
  target_compile_definitions(${name} PRIVATE ${arg_DEFINES})
  target_link_options(${name} PRIVATE "-Wl,--version-script=${arg_MAP}")
  if(NOT WEFT_SANITIZE)
    target_link_options(${name} PRIVATE -static-libstdc++ -static-libgcc -Wl,-z,defs)  # programs bring their own
  endif()
  weft_link(${name} PRIVATE ${arg_DEPS})
endfunction()

# For what is compiled more often than it is waited for. The card, the worlds and the host's half keep their -O3.
function(weft_compile_fast target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE -O1)
  endif()
endfunction()

# For many small files, which cost less than the headers they include: up to sixteen are compiled as one, in the order
# of SOURCES. So their anonymous namespaces share no names, which the test `tidy` holds. The debug build compiles each
# file alone, and shows that it includes what it needs. Files that are APART and the packet path are always compiled
# alone.
function(weft_compile_together target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "APART")
  weft_check_arguments(${target})
  if(TARGET ${target} AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WEFT_FUZZ)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE 16)
    # GCC takes them for headers and warns of what is local to them.
    target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
    set_source_files_properties(${arg_APART} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  endif()
endfunction()

# For tests, which are compiled more often than run. What they test is in libraries, and keeps its own flags.
function(weft_compile_test target)
  if(CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WEFT_SANITIZE)
    target_compile_options(${target} PRIVATE -O0)
  endif()
endfunction()

# GoogleTest's headers take longer to read than most tests: they are read once for all, and once with each `header`.
function(weft_share_test_header target header)
  string(MAKE_C_IDENTIFIER "weft_test_header${header}" shared)
  if(NOT TARGET ${shared})
    # A program, because it must be compiled as those that use it are.
    file(CONFIGURE OUTPUT "${CMAKE_BINARY_DIR}/test_header.cc" CONTENT "int main() {}\n")
    add_executable(${shared} "${CMAKE_BINARY_DIR}/test_header.cc")
    set_target_properties(${shared} PROPERTIES RUNTIME_OUTPUT_DIRECTORY "${CMAKE_BINARY_DIR}/rooms")
    target_include_directories(${shared} PRIVATE "${PROJECT_SOURCE_DIR}/tests")
    target_link_libraries(${shared} PRIVATE weft_flags GTest::gmock GTest::gtest)
    weft_compile_test(${shared})
    target_precompile_headers(${shared} PRIVATE <gmock/gmock.h> <gtest/gtest.h>)
    if(header)
      target_precompile_headers(${shared} PRIVATE "${PROJECT_SOURCE_DIR}/${header}")
    endif()
  endif()
  target_precompile_headers(${target} REUSE_FROM ${shared})
endfunction()

function(weft_test name)
  if(NOT WEFT_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "OPTIMIZED" "TIMEOUT;HEADER" "SOURCES;DEPS;DEFINES;ARGS;LABELS")
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT ${WEFT_TEST_SECONDS})
  endif()
  weft_executable(${name} tests)
  target_link_libraries(${name} PRIVATE GTest::gmock GTest::gtest GTest::gtest_main)
  weft_compile_together(${name})
  if(arg_OPTIMIZED)
    weft_compile_fast(${name})
  else()
    weft_compile_test(${name})
    weft_share_test_header(${name} "${arg_HEADER}")
  endif()
  add_test(NAME ${name} COMMAND ${name} ${arg_ARGS} WORKING_DIRECTORY "${PROJECT_SOURCE_DIR}")
  set_tests_properties(${name} PROPERTIES TIMEOUT ${arg_TIMEOUT} LABELS "${arg_LABELS}")
endfunction()

function(weft_bench name)
  if(NOT WEFT_BENCH)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;DEFINES")
  weft_executable(${name} bench)
  target_link_libraries(${name} PRIVATE benchmark::benchmark benchmark::benchmark_main)
endfunction()

function(weft_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS;DEFINES")
  if(WEFT_FUZZ)
    weft_executable(${name} fuzz)
    target_link_options(${name} PRIVATE -fsanitize=fuzzer)
    # `fuzzers` builds these and what they need, and nothing else: clang 14 cannot compile the coroutines of others.
    if(NOT TARGET fuzzers)
      add_custom_target(fuzzers)
    endif()
    add_dependencies(fuzzers ${name})
  endif()
  if(WEFT_TESTS)
    list(APPEND arg_SOURCES "${PROJECT_SOURCE_DIR}/tests/fuzz/replay.cc")
    weft_executable(${name}_replay tests)
    weft_compile_fast(${name}_replay)
    add_test(NAME ${name}_replay COMMAND ${name}_replay "${PROJECT_SOURCE_DIR}/tests/fuzz/${name}")
    set_tests_properties(${name}_replay PROPERTIES TIMEOUT ${WEFT_TEST_SECONDS})
  endif()
endfunction()

# weft_bytecode_object(TARGET FOLDER SOURCES…): kernels in C, each compiled for eBPF to FOLDER/NAME.o (weft/bytecode.h).
find_program(WEFT_BPF_CLANG NAMES clang-14 clang)
function(weft_bytecode_object target folder)
  set(objects "")
  foreach(source IN LISTS ARGN)
    get_filename_component(name "${source}" NAME_WE)
    add_custom_command(OUTPUT "${folder}/${name}.o"
      COMMAND ${CMAKE_COMMAND} -E make_directory "${folder}"
      COMMAND "${WEFT_BPF_CLANG}" -target bpf -mcpu=v2 -O2 -ffreestanding -Wall -Wextra
              "-I${PROJECT_SOURCE_DIR}/include" -c "${CMAKE_CURRENT_SOURCE_DIR}/${source}" -o "${folder}/${name}.o"
      DEPENDS "${source}" "${PROJECT_SOURCE_DIR}/include/weft/kernel.h"
              "${PROJECT_SOURCE_DIR}/include/weft/shipped_kernels.h"
      COMMENT "Compiling ${name} for eBPF" VERBATIM)
    list(APPEND objects "${folder}/${name}.o")
  endforeach()
  add_custom_target(${target} ALL DEPENDS ${objects})
endfunction()
