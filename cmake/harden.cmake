# Hardening of what is installed, in release builds: mistakes of ours that are still to be found shall end a program
# rather than hand it over. docs/performance.md says what it costs, and tests/secure/hardening_test.py looks for each.
#
#   weft_harden(TARGET)          a library, a program or a face
#   weft_harden(TARGET HOOKS)    a library that defines functions of the C library anew, and needs nothing else
#   weft_packet_path(SOURCE …)   files of this folder that every packet passes
include(CheckPIESupported)
set(WEFT_HARDENED OFF)
# Sanitizers see more than any of these, and suffer none beside them.
if(WEFT_HARDEN AND CMAKE_BUILD_TYPE STREQUAL "Release" AND NOT WEFT_SANITIZE AND NOT WEFT_FUZZ)
  set(WEFT_HARDENED ON)
endif()
check_pie_supported(LANGUAGES CXX)  # without it, CMake compiles programs as position independent and links them as not

function(weft_harden target)
  if(NOT WEFT_HARDENED)
    return()
  endif()
  # A canary stands between a function's arrays and the address that it returns to.
  target_compile_options(${target} PRIVATE -fstack-protector-strong)
  if(NOT "HOOKS" IN_LIST ARGN)
    target_compile_options(${target} PRIVATE
      # Copies into objects whose size the compiler knows are checked against it. Some compilers set another level. The
      # headers then define the functions that hooks define, and the checks call the C++ library.
      -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2
      # Indices of containers, and optionals that are looked into, are checked.
      -D_GLIBCXX_ASSERTIONS)
  endif()
  if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    # Indirect jumps and returns lead where such may lead (CET), where processor and kernel check it.
    target_compile_options(${target} PRIVATE -fcf-protection=full)
  elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$")
    # The same there: signed return addresses and marked targets (PAC, BTI).
    target_compile_options(${target} PRIVATE -mbranch-protection=standard)
  endif()
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "STATIC_LIBRARY")
    return()
  endif()
  target_link_options(${target} PRIVATE
    # Tables that the loader fills in are read-only from then on, because it fills in all of them at once.
    -Wl,-z,relro,-z,now
    # No stack is executable, whatever an object file of others says it needs.
    -Wl,-z,noexecstack)
  # A program lies at an address that is drawn when it starts; libraries do anyway.
  set_target_properties(${target} PROPERTIES POSITION_INDEPENDENT_CODE ON)
endfunction()

# Most functions there hand addresses of their own to others, and a canary for each is 4 % of a message's instructions.
# These files have canaries only in functions with arrays of characters that are longer than an address of 16 bytes. And
# the compiler stops inlining when a file has grown by 40 %, which the checks alone use up: with a higher limit it
# inlines as much as it does without hardening. What it inlines follows from the whole of what it compiles at once, so
# each of these files is compiled alone.
function(weft_packet_path)
  set_source_files_properties(${ARGN} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
  if(WEFT_HARDENED)
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS -fstack-protector --param=ssp-buffer-size=17)
  endif()
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND CMAKE_BUILD_TYPE STREQUAL "Release")
    set_property(SOURCE ${ARGN} APPEND PROPERTY COMPILE_OPTIONS --param=inline-unit-growth=100)
  endif()
endfunction()
