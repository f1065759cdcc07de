# Part of a wheel, for C and C++ programs that embed Tilewright:
#
#     cmake -Dtilewright_DIR=$(python -m tilewright --cmake) ...
#     find_package(tilewright REQUIRED)
#     target_link_libraries(program PRIVATE Tilewright::tilewright)
if(NOT TARGET Tilewright::tilewright)
  get_filename_component(_tilewright_package ${CMAKE_CURRENT_LIST_DIR} DIRECTORY)
  add_library(Tilewright::tilewright SHARED IMPORTED)
  set_target_properties(Tilewright::tilewright PROPERTIES
    IMPORTED_LOCATION ${_tilewright_package}/libtilewright.so.0
    IMPORTED_SONAME libtilewright.so.0
    INTERFACE_INCLUDE_DIRECTORIES ${_tilewright_package}/include)
  add_library(Tilewright::runtime SHARED IMPORTED)
  set_target_properties(Tilewright::runtime PROPERTIES
    IMPORTED_LOCATION ${_tilewright_package}/libtilewright_rt.so.0
    IMPORTED_SONAME libtilewright_rt.so.0
    INTERFACE_INCLUDE_DIRECTORIES ${_tilewright_package}/include)
  add_library(Tilewright::runtime_static STATIC IMPORTED)
  set_target_properties(Tilewright::runtime_static PROPERTIES
    IMPORTED_LOCATION ${_tilewright_package}/libtilewright_rt.a
    INTERFACE_LINK_LIBRARIES "dl;pthread;stdc++;m"
    INTERFACE_INCLUDE_DIRECTORIES ${_tilewright_package}/include)
  find_program(TILEWRIGHT_COMMAND tilewright REQUIRED) # that of the environment
  include(${CMAKE_CURRENT_LIST_DIR}/TilewrightKernels.cmake)
  unset(_tilewright_package)
endif()
