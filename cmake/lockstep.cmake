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

enable_testing()
include(GoogleTest)

# lockstep_floor(NAME LINK targets...): the library lockstep_NAME from src/NAME/*.cpp and, from its *_test.cpp, the test program NAME_test.
function(lockstep_floor name)
  cmake_parse_arguments(ARG "" "" "LINK" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*.cpp)
  file(GLOB tests CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/${name}/*_test.cpp)
  if(tests)
    list(REMOVE_ITEM sources ${tests})
  endif()
  if(NOT sources)
    message(STATUS "floor ${name}: no sources yet")
    return()
  endif()
  add_library(lockstep_${name} STATIC ${sources})
  target_link_libraries(lockstep_${name} PUBLIC lockstep_flags ${ARG_LINK})
  if(tests)
    add_executable(${name}_test ${tests})
    target_link_libraries(${name}_test PRIVATE lockstep_${name} GTest::gtest_main)
    gtest_discover_tests(${name}_test DISCOVERY_TIMEOUT 60)
  endif()
endfunction()
