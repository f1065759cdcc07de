# Writes what libtilewright exports, as a script for the linker:
#
#     cmake -DNM=nm -DVERSION=0.2.0 -DOBJECTS="a.o;b.o" -DOUT=exports.ld -P cmake/Exports.cmake
#
# The C interface is for everybody. The Python extension calls the C++ functions behind it, so that those which its objects name are exported
# as well, under a version of their own that promises nothing from one release to the next. Everything else stays hidden: a host process may
# hold another LLVM.
set(needed "")
if(OBJECTS)
  execute_process(COMMAND ${NM} -P -u ${OBJECTS} OUTPUT_VARIABLE undefined COMMAND_ERROR_IS_FATAL ANY)
  string(REGEX MATCHALL "_ZT?[VISWH]?NK?10tilewright[A-Za-z0-9_]*" needed "${undefined}")
  list(FILTER needed EXCLUDE REGEX "10tilewright6python") # the extension's own, defined in another of its objects
  list(REMOVE_DUPLICATES needed)
  list(SORT needed)
endif()
list(JOIN needed "\n" extern)
list(JOIN needed ";\n" global)
set(internal "")
if(needed)
  set(internal "TILEWRIGHT_INTERNAL_${VERSION} {\nglobal:\n${global};\n};\n")
endif()
# EXTERN fetches from the archives what nothing else refers to.
file(CONFIGURE OUTPUT ${OUT} CONTENT "EXTERN(\n${extern}\n)\nVERSION {\nTILEWRIGHT_0 {\nglobal:\ntw*;\n__jit_debug_*;\nlocal:\n*;\n};\n${internal}}\n" @ONLY)
