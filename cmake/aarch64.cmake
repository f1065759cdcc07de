# Cross compilation for 64-bit ARM with clang and a sysroot that tools/arm_sysroot.sh creates:
#
#     tools/arm_sysroot.sh && cmake --preset arm64 && ninja -C build/arm64
get_filename_component(TILEWRIGHT_SYSROOT "${TILEWRIGHT_SYSROOT}" REALPATH) # LLVM's CMake files name their folder so
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(CMAKE_SYSROOT ${TILEWRIGHT_SYSROOT})
set(CMAKE_FIND_ROOT_PATH ${TILEWRIGHT_SYSROOT})
set(CMAKE_C_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER_TARGET aarch64-linux-gnu)
set(CMAKE_LIBRARY_ARCHITECTURE aarch64-linux-gnu)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER) # programs run on the build machine
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PACKAGE BOTH)
set(CMAKE_CROSSCOMPILING_EMULATOR qemu-aarch64;-cpu;max;-L;${TILEWRIGHT_SYSROOT})
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES TILEWRIGHT_SYSROOT)
