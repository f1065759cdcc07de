# tilewright_add_kernels(target FILES FILE[:KERNEL] ... SPECIALIZATIONS SIGNATURE ... TARGETS TARGET ...
#                        [GRID EXPR] [NAME NAME] [FFI] [OPTIONS WORD ...])
#
# Builds kernels ahead of time with `tilewright build`. The result is a library target: programs that link it get the kernels, the include folder
# with the header of each file (matmul.py has matmul.h), and the static runtime library. The kernels are built again if a Python file that they
# import, the file of --tuned-file, the command, or an argument of this function changes.
#   FILES            Python files, IR text, or files in C++ with TILEWRIGHT_EXPORT; a file with several kernels needs the name after a colon. A file
#                    in C++ is first compiled to a shared library, with the flags of the project
#   SPECIALIZATIONS  signatures, for all files; none for IR text
#   TARGETS          cpu:LEVEL, cuda:SM
#   OPTIONS          further words for `tilewright build`: --num-warps 8, --tuned-file FILE
function(tilewright_add_kernels target)
  cmake_parse_arguments(PARSE_ARGV 1 ARG "FFI" "GRID;NAME" "FILES;SPECIALIZATIONS;TARGETS;OPTIONS")
  if(ARG_UNPARSED_ARGUMENTS OR ARG_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "tilewright_add_kernels(${target}): wrong arguments: ${ARG_UNPARSED_ARGUMENTS} ${ARG_KEYWORDS_MISSING_VALUES}")
  endif()
  if(NOT ARG_FILES OR NOT ARG_TARGETS)
    message(FATAL_ERROR "tilewright_add_kernels(${target}) needs FILES and TARGETS")
  endif()
  list(JOIN ARG_TARGETS "," targets)
  set(words --target ${targets} ${ARG_OPTIONS})
  foreach(signature IN LISTS ARG_SPECIALIZATIONS)
    list(APPEND words --signature=${signature})
  endforeach()
  if(ARG_GRID)
    list(APPEND words --grid ${ARG_GRID})
  endif()
  if(ARG_NAME)
    list(APPEND words --name ${ARG_NAME})
  endif()
  if(ARG_FFI)
    list(APPEND words --ffi)
  endif()
  set(command ${TILEWRIGHT_COMMAND}) # set by find_package(tilewright)
  if(NOT command)
    set(command $<TARGET_FILE:tilewright>) # of the same build
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${target}.kernels)
  file(MAKE_DIRECTORY ${folder}/made)
  set(libraries "")
  foreach(file IN LISTS ARG_FILES)
    string(REGEX MATCH "^([^:]+):?([A-Za-z_0-9]*)$" matched "${file}")
    cmake_path(ABSOLUTE_PATH CMAKE_MATCH_1 BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} OUTPUT_VARIABLE path)
    cmake_path(GET path STEM stem)
    if(CMAKE_MATCH_2)
      string(APPEND stem "_${CMAKE_MATCH_2}")
      set(kernel --kernel ${CMAKE_MATCH_2})
    else()
      set(kernel "")
    endif()
    cmake_path(GET path EXTENSION LAST_ONLY extension)
    if(extension MATCHES "^\\.(cpp|cc|cxx)$")
      cmake_path(GET path STEM module)
      set(module ${target}_${module}_module)
      if(NOT TARGET ${module})
        add_library(${module} MODULE ${path})
        target_compile_features(${module} PRIVATE cxx_std_20)
        target_link_libraries(${module} PRIVATE Tilewright::tilewright)
        set_target_properties(${module} PROPERTIES PREFIX "" SUFFIX ".so" LIBRARY_OUTPUT_DIRECTORY ${folder})
      endif()
      set(path $<TARGET_FILE:${module}>)
    endif()
    set(library ${folder}/lib${stem}.a)
    set(escape "")
    if(CMAKE_GENERATOR MATCHES "Ninja" AND path MATCHES "[$]")
      # CMake rewrites the dependencies for Ninja, and leaves out that a dollar is written twice
      file(WRITE ${folder}/escape.cmake [=[
file(READ "${file}" text)
string(FIND "${text}" "\n" end)
string(SUBSTRING "${text}" 0 ${end} target)
string(SUBSTRING "${text}" ${end} -1 files)
string(REPLACE "$$" "$$$$" files "${files}")
file(WRITE "${file}" "${target}${files}")
]=])
      set(escape COMMAND ${CMAKE_COMMAND} -Dfile=${folder}/${stem}.d -P ${folder}/escape.cmake)
    endif()
    # An unchanged header keeps its time, so its programs are not compiled again.
    add_custom_command(OUTPUT ${library} BYPRODUCTS ${folder}/${stem}.h VERBATIM DEPFILE ${folder}/${stem}.d DEPENDS ${path} ${command}
                       COMMAND ${command} build ${path} ${kernel} ${words} -o ${library} --header ${folder}/made/${stem}.h --depfile ${folder}/${stem}.d
                       ${escape}
                       COMMAND ${CMAKE_COMMAND} -E copy_if_different ${folder}/made/${stem}.h ${folder}/${stem}.h
                       COMMENT "Building kernels of ${file} for ${targets}")
    list(APPEND libraries ${library})
  endforeach()
  add_custom_target(${target}_build DEPENDS ${libraries})
  add_library(${target} INTERFACE)
  add_dependencies(${target} ${target}_build)
  target_include_directories(${target} INTERFACE ${folder})
  target_link_libraries(${target} INTERFACE ${libraries} Tilewright::runtime_static)
endfunction()
