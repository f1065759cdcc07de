# The software bill of materials and the licenses of all statically linked libraries (PEP 770). The linker lists the archives it used.
if(TILEWRIGHT_STATIC)
  set(taken "")
  foreach(target tilewright_shared tilewright_python)
    target_link_options(${target} PRIVATE -Wl,--why-extract=${PROJECT_BINARY_DIR}/python/${target}.taken)
    list(APPEND taken ${PROJECT_BINARY_DIR}/python/${target}.taken)
  endforeach()
  set(bill ${PROJECT_BINARY_DIR}/python/bill)
  add_custom_command(OUTPUT ${bill}/sboms/tilewright.cdx.json VERBATIM
                     COMMAND ${Python_EXECUTABLE} ${PROJECT_SOURCE_DIR}/tools/sbom.py --version ${PROJECT_VERSION} --llvm ${LLVM_PACKAGE_VERSION}
                             --out ${bill} ${taken}
                     DEPENDS tilewright_python tilewright_shared ${PROJECT_SOURCE_DIR}/tools/sbom.py)
  add_custom_target(tilewright_bill DEPENDS ${bill}/sboms/tilewright.cdx.json)
  install(DIRECTORY ${bill}/ DESTINATION ${SKBUILD_METADATA_DIR} COMPONENT python EXCLUDE_FROM_ALL)
else()
  add_custom_target(tilewright_bill) # LLVM is a shared library of the system, and no other library is linked statically
endif()
