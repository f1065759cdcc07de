# Writes the exported symbols of libtilewright as a version script for the linker:
#
#     cmake -DNM=nm -DVERSION=0.2.0 -DOBJECTS="a.o;b.o" -DOUT=exports.ld -P cmake/Exports.cmake
#
# The C API is public. The Python extension also calls C++ functions. The functions that its object files reference are exported under a
# separate version, which is not stable between releases. All other symbols are hidden, because the process may contain another LLVM.
set(needed "")
if(OBJECTS)
  execute_process(COMMAND ${NM} -P -u ${OBJECTS} OUTPUT_VARIABLE undefined COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "_ZT?[VISWH]?NK?10tilewright[A-Za-z0-9_]*" needed "${undefined}")
  list(FILTER needed EXCLUDE REGEX "10tilewright6python") # the extension's own functions, which another of its objects defines
  list(REMOVE_DUPLICATES needed)
  list(SORT needed)
endif()
list(JOIN needed "\n" extern)
list(JOIN needed ";\n" global)
set(internal "")
if(needed)
  set(internal "TILEWRIGHT_INTERNAL_${VERSION} {\nglobal:\n${global};\n};\n")
endif()
# EXTERN makes the linker take symbols from the archives that no other object references.
file(CONFIGURE OUTPUT ${OUT} CONTENT "EXTERN(\n${extern}\n)\nVERSION {\nTILEWRIGHT_0 {\nglobal:\ntw*;\n__jit_debug_*;\nlocal:\n*;\n};\n${internal}}\n" @ONLY)
