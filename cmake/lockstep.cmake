# How every part of lockstep is compiled: one interface target carries the flags, one function makes a floor and its tests.
add_library(lockstep_flags INTERFACE)
target_compile_options(lockstep_flags INTERFACE
  -Wall -Wextra -Wconversion -Wno-sign-conversion -Wshadow
  -ffp-contract=off   # the bit contract: no fused multiply-add but those we write (NUMERICS.md)
  -fno-math-errno
  $<$<BOOL:${LOCKSTEP_WERROR}>:-Werror>)
target_include_directories(lockstep_flags INTERFACE ${PROJECT_SOURCE_DIR}/src)
if(LOCKSTEP_SANITIZE)
  target_compile_options(lockstep_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE} -fno-omit-frame-pointer -fno-sanitize-recover=all)
  target_link_options(lockstep_flags INTERFACE -fsanitize=${LOCKSTEP_SANITIZE})
endif()

if(LOCKSTEP_COVERAGE)
  # What tools/mutation_coverage.py reports on, and nothing else: all other objects are those of the release build.
  set(model ${PROJECT_SOURCE_DIR}/src/model)
  file(GLOB covered ${PROJECT_SOURCE_DIR}/src/gguf/*.cpp ${model}/config.cpp ${model}/family.cpp ${model}/refused_keys.cpp)
  list(FILTER covered EXCLUDE REGEX _test.cpp$)
  set_property(SOURCE ${covered} APPEND PROPERTY COMPILE_OPTIONS --coverage)
  target_link_options(lockstep_flags INTERFACE --coverage)
endif()

enable_testing()
include(GoogleTest)

# lockstep_isa(NAME PROCESSOR flags...): the kernel unit src/kernels/isa_NAME.cpp is compiled with flags of its own, and only for that
# processor: the same source for every instruction set (docs/adr/0003-instruction-sets.md).
function(lockstep_isa name processor)
  set(path ${PROJECT_SOURCE_DIR}/src/kernels/isa_${name}.cpp)
  set_source_files_properties(${path} PROPERTIES COMPILE_OPTIONS "${ARGN}")
  if(NOT CMAKE_SYSTEM_PROCESSOR STREQUAL processor)
    set_property(GLOBAL APPEND PROPERTY LOCKSTEP_OTHER_PROCESSORS ${path})
  endif()
endfunction()

# lockstep_floor(NAME LINK targets...): the library lockstep_NAME from src/NAME/*.cpp and, from its *_test.cpp, the test program NAME_test.
function(lockstep_floor name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*_test.cpp)
  # Kernels do not throw; the handling of exceptions would leave symbols that units share.
  file(GLOB isa_units ${PROJECT_SOURCE_DIR}/src/${name}/isa_*.cpp)
  set_property(SOURCE ${isa_units} APPEND PROPERTY COMPILE_OPTIONS -fno-exceptions)
  if(LOCKSTEP_SANITIZE)
    set_property(SOURCE ${isa_units} APPEND PROPERTY COMPILE_OPTIONS -O1)  # instrumented, they take minutes each with more
    # clang takes minutes for each of them with UndefinedBehaviorSanitizer or coverage counters; g++ (preset asan) does not.
    set_property(SOURCE ${isa_units} APPEND PROPERTY COMPILE_OPTIONS
      $<$<CXX_COMPILER_ID:Clang>:-fno-sanitize=undefined,fuzzer-no-link>)
  endif()
  get_property(other_processors GLOBAL PROPERTY LOCKSTEP_OTHER_PROCESSORS)
  list(REMOVE_ITEM sources "" ${tests} ${other_processors})
  if(NOT sources)
    message(STATUS "floor ${name}: no sources yet")
    return()
  endif()
  add_library(lockstep_${name} STATIC ${sources})
  target_link_libraries(lockstep_${name} PUBLIC lockstep_flags ${ARG_LINK})
  if(tests)
    lockstep_test(${name} SOURCES ${tests} LINK lockstep_${name})
  endif()
endfunction()

# lockstep_test(NAME SOURCES files... LINK targets...): the test program NAME_test; ctest knows each of its tests, labelled NAME. A skipped
# test (GTEST_SKIP) is reported as skipped, not as passed: gtest_discover_tests sets SKIP_REGULAR_EXPRESSION.
function(lockstep_test name)
  cmake_parse_arguments(ARG "" "" "SOURCES;LINK;PROPERTIES" ${ARGN})
  add_executable(${name}_test ${ARG_SOURCES})
  target_include_directories(${name}_test PRIVATE ${PROJECT_SOURCE_DIR}/tests)
  # What tests call is compiled as for users; they themselves only build faster. (g++ 12 at -O1 takes replaced allocation
  # functions, once inlined, for a mismatch.)
  target_compile_options(${name}_test PRIVATE -O1 $<$<CXX_COMPILER_ID:GNU>:-Wno-mismatched-new-delete>)
  if(LOCKSTEP_SANITIZE MATCHES fuzzer)
    target_compile_options(${name}_test PRIVATE -O0 -fno-sanitize=fuzzer-no-link)  # clang instruments them in half the time
  endif()
  target_link_libraries(${name}_test PRIVATE ${ARG_LINK} nlohmann_json::nlohmann_json GTest::gtest_main)
  gtest_discover_tests(${name}_test DISCOVERY_TIMEOUT 60 PROPERTIES LABELS ${name} ${ARG_PROPERTIES})
endfunction()
