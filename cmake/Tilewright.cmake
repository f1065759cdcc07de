# Functions for the build files.

# tilewright_library(gpu NEEDS ir support FILES a.cpp b.cpp): a static library with the include folders of its dependencies.
# PRECOMPILED: its files include MLIR's headers, which src/ir/precompiled.h compiles once.
# FOR_PYTHON: the Python extension calls its functions, so libtilewright must be able to export them (Exports.cmake selects them).
function(tilewright_library name)
  cmake_parse_arguments(ARG "FOR_PYTHON;PRECOMPILED" "" "NEEDS;FILES" ${ARGN})
  add_library(tilewright_${name} STATIC ${ARG_FILES})
  if(ARG_FOR_PYTHON)
    set_target_properties(tilewright_${name} PROPERTIES CXX_VISIBILITY_PRESET default)
  endif()
  foreach(need ${ARG_NEEDS})
    target_link_libraries(tilewright_${name} PUBLIC tilewright_${need})
  endforeach()
  target_compile_options(tilewright_${name} PRIVATE -Wall -Wextra -Wno-unused-parameter -fno-exceptions)
  if(ARG_PRECOMPILED)
    tilewright_precompile(tilewright_${name} tilewright_ir)
  endif()
  foreach(dialect tt ptx ttg)
    if(TARGET tilewright_${dialect}_tablegen)
      add_dependencies(tilewright_${name} tilewright_${dialect}_tablegen)
    endif()
  endforeach()
endfunction()

# tilewright_precompile(target owner HEADERS): the target uses the owner's precompiled headers. The owner lists them. All targets of one owner have
# the same compiler options. Headers in <> keep the path of the checkout out of ccache's keys.
function(tilewright_precompile target owner)
  if(NOT TILEWRIGHT_PCH OR NOT CMAKE_CXX_COMPILER_ID MATCHES Clang)
    return()
  endif()
  target_compile_options(${target} PRIVATE "SHELL:-Xclang -fno-pch-timestamp") # for ccache
  if(target STREQUAL owner)
    target_precompile_headers(${target} PRIVATE ${ARGN})
  else()
    target_precompile_headers(${target} REUSE_FROM ${owner})
  endif()
endfunction()

# tilewright_dialect(tt): the generated parts of src/ir/tt.td, in the corresponding build folder.
function(tilewright_dialect name)
  set(LLVM_TARGET_DEFINITIONS ${name}.td)
  mlir_tablegen(${name}_dialect.h.inc -gen-dialect-decls -dialect=${name})
  mlir_tablegen(${name}_dialect.cpp.inc -gen-dialect-defs -dialect=${name})
  mlir_tablegen(${name}_enums.h.inc -gen-enum-decls)
  mlir_tablegen(${name}_enums.cpp.inc -gen-enum-defs)
  mlir_tablegen(${name}_types.h.inc -gen-typedef-decls -typedefs-dialect=${name})
  mlir_tablegen(${name}_types.cpp.inc -gen-typedef-defs -typedefs-dialect=${name})
  mlir_tablegen(${name}_attrs.h.inc -gen-attrdef-decls -attrdefs-dialect=${name})
  mlir_tablegen(${name}_attrs.cpp.inc -gen-attrdef-defs -attrdefs-dialect=${name})
  mlir_tablegen(${name}_ops.h.inc -gen-op-decls)
  mlir_tablegen(${name}_ops.cpp.inc -gen-op-defs)
  add_public_tablegen_target(tilewright_${name}_tablegen)
endfunction()

# The libraries of all targets that use MLIR: shared ones in development, static ones in a self-contained build.
add_library(tilewright_llvm INTERFACE)
add_library(tilewright_llvm_support INTERFACE) # only LLVM's containers and streams
if(TILEWRIGHT_STATIC)
  # Static zlib and zstd, because a wheel may depend only on the shared C and C++ libraries.
  find_library(tilewright_zlib libz.a REQUIRED)
  find_library(tilewright_zstd libzstd.a REQUIRED)
  set(tilewright_compression ${tilewright_zlib} ${tilewright_zstd})
  target_link_libraries(tilewright_llvm_support INTERFACE ${LLVM_LIBRARY_DIR}/libLLVMSupport.a ${LLVM_LIBRARY_DIR}/libLLVMDemangle.a ${tilewright_compression} dl pthread)
  file(GLOB tilewright_archives ${LLVM_LIBRARY_DIR}/libMLIR*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
  list(FILTER tilewright_archives EXCLUDE REGEX "CAPI|Test|MLIRExecutionEngineShared|SPIRV|AMDGPU|LLVMARM|Mips|Hexagon|RISCV|PowerPC|SystemZ|WebAssembly|Sparc|BPF|AVR|MSP430|Lanai|XCore|VE|LoongArch|M68k|Xtensa")
  target_link_libraries(tilewright_llvm INTERFACE -Wl,--start-group ${tilewright_archives} -Wl,--end-group ${tilewright_compression} dl pthread)
else()
  target_link_libraries(tilewright_llvm_support INTERFACE LLVM)
  target_link_libraries(tilewright_llvm INTERFACE MLIR LLVM)
endif()

# embed(prelude.inc prelude.py): writes the bytes of files as C++ initializers, to make them a part of the library.
function(embed name)
  set(text "")
  foreach(file ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
    file(READ ${file} more HEX)
    string(APPEND text "${more}")
  endforeach()
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," text "${text}")
  file(CONFIGURE OUTPUT ${name} CONTENT "${text}\n")
endfunction()
