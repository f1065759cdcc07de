/* The runtime library of kernels that `tilewright build` compiled ahead of time: libtilewright_rt.so or libtilewright_rt.a. It has no
 * compiler. It selects code for this machine, runs it on a pool of threads or on NVIDIA GPUs, and opens the CUDA driver only when a launch
 * needs it.
 *
 * Programs call the launchers of the generated header, or find kernels by name in a file (twLibraryOpen). All functions may be called from
 * any thread. No function prints, exits or throws: failures are TwError objects. */
#ifndef TILEWRIGHT_RUNTIME_H
#define TILEWRIGHT_RUNTIME_H

#include "tilewright/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where and how a launch runs. Initialize it with TW_LAUNCH_OPTIONS_INIT. A null pointer to it means the same. */
typedef struct TwLaunchOptions {
  size_t size;       /* sizeof(TwLaunchOptions) */
  int32_t useDevice; /* 0: the CPU, and all pointers are to the host's memory. 1: the CUDA device below, and pointers are to its memory */
  int32_t device;    /* the ordinal of a CUDA device, from 0 */
  void *stream;      /* CUstream or cudaStream_t of that device; null: its default stream */
  int64_t threads;   /* on the CPU, at most this many; 0: twThreads() */
  int32_t disjoint;  /* not 0: the caller promises that no tensor which the kernel writes overlaps another one. Code for the CPU may then
                        be faster. On GPUs the driver knows the tensors' sizes, and the launch checks this itself */
  /* not 0: on the CPU, a pointer that is null, or whose memory is not mapped, or not writable if the kernel writes to it, is an error. It
   * takes tens of microseconds or more. `bytes` has the sizes; without them, one element counts */
  int32_t checkPointers;
  const int64_t *bytes; /* null, or for each parameter of the launcher the size of the memory at its pointer in bytes (0: unknown, or not a
                           pointer). With all sizes, the launch checks `disjoint` itself */
} TwLaunchOptions;
#define TW_LAUNCH_OPTIONS_INIT {sizeof(TwLaunchOptions), 0, 0, 0, 0, 0, 0, 0}

/* A kernel in an artifact. It is data of the artifact: valid while the artifact is loaded, never freed by the caller. */
typedef struct TwArtifact TwArtifact;

/* Runs the programs of a grid. Launchers of the generated header call it. On the CPU it returns when all programs are done. On a GPU it
 * returns when the launch is queued; a later call reports errors of the running kernel.
 *
 * `grid`: three extents, not negative; null if the kernel was built with --grid.
 *
 * `arguments`: `count` values of eight bytes, in the order of the launcher's parameters. Pointers are as they are. Integers are extended to
 * 64 bits, by their sign if they have one. fp32, fp16 and bf16 are the bits of a float in the lower half, fp64 its bits. Constants that are
 * texts are char pointers.
 *
 * Returns 1, or 0 after an error. TW_ERROR_INVALID_ARGUMENT: there is no specialization for these arguments. TW_ERROR_UNSUPPORTED: there is
 * no code for this machine. TW_ERROR_ARTIFACT: the artifact is damaged or of another version. TW_ERROR_MEMORY: a pointer is bad (with
 * checkPointers). Others are TW_ERROR_DEVICE and TW_ERROR_OUT_OF_MEMORY. */
TW_API int twArtifactLaunch(TwArtifact *artifact, const TwLaunchOptions *options, const int64_t *grid, const uint64_t *arguments,
                            size_t count, TwError **error);

/* Loads the kernel's code for this machine, so that the first launch is fast: for the CPU, or for the device of `options`. Returns 1, or 0
 * after an error. */
TW_API int twArtifactLoad(TwArtifact *artifact, const TwLaunchOptions *options, TwError **error);

/* Describes the kernel: its parameters, its specializations with their targets, and which code this machine's CPU would run. Free the text
 * with twTextFree. Null after an error. */
TW_API char *twArtifactDescribe(TwArtifact *artifact, TwError **error);
TW_API void twTextFree(char *text);

/* The body of a TVM-FFI function: `arguments` are `count` TVMFFIAny, `result` is one. Launchers made with --ffi call it. Returns 0, or -1
 * after an error, which it gives to the TVM-FFI library of the process. */
TW_API int32_t twArtifactCallFfi(TwArtifact *artifact, const void *arguments, int32_t count, void *result);

/* A shared library that `tilewright build -o NAME.so` wrote. */
typedef struct TwLibrary TwLibrary;

/* Opens an artifact by its path. A file that is missing, truncated, damaged, or for another machine is an error. The file's code is run:
 * open only files that you trust. */
TW_API TwLibrary *twLibraryOpen(const char *path, TwError **error);
/* Returns the kernel with this name, or null after an error. */
TW_API TwArtifact *twLibraryFind(TwLibrary *library, const char *kernel, TwError **error);
/* Closes the library. Its kernels must not be running, and their TwArtifact pointers become invalid. Null is allowed. */
TW_API void twLibraryClose(TwLibrary *library);

/* The highest level of instructions that this CPU has and that the artifacts' code may use: "sse2", "avx2", "avx512", "avx512-dot" or
 * "amx" on x86-64, "armv8", "neon", "neon-dot", "sve" or "sve256" on AArch64. TILEWRIGHT_CPU lowers it. */
TW_API const char *twCpuLevel(void);
/* The number of threads of a launch on the CPU: TILEWRIGHT_NUM_THREADS, or the CPUs that this process may use. */
TW_API int64_t twThreads(void);
/* Sets that number; 0 restores the default. */
TW_API void twSetThreads(int64_t threads);

/* A CPU function of an artifact: runs the programs [first, last) of the grid. `scratch` is aligned to 64 bytes. */
typedef void (*TwEntry)(const uint64_t *arguments, const int32_t *grid, int64_t first, int64_t last, char *scratch);

/* The layout of a TwArtifact, which `tilewright build` writes. Programs do not read it. */
struct TwArtifact {
  size_t size; /* sizeof(struct TwArtifact) */
  const void *bytes;
  size_t byteCount;
  const TwEntry *entries;
  size_t entryCount;
  void *state; /* null at first */
};

#ifdef __cplusplus
}
#endif

/* The elements of tensors that C has no type for, as their bits in memory. */
#ifndef TILEWRIGHT_ELEMENT_TYPES
#define TILEWRIGHT_ELEMENT_TYPES
typedef struct TwHalf {
  uint16_t bits; /* IEEE half, fp16 */
} TwHalf;
typedef struct TwBfloat16 {
  uint16_t bits;
} TwBfloat16;
typedef struct TwFloat8 {
  uint8_t bits; /* any of the 8-bit formats */
} TwFloat8;
#endif

#ifdef __cplusplus
#include <memory>
#include <string>

namespace tilewright::runtime {

/// The result of a launcher in C++: success, or an error with a code and a text.
class [[nodiscard]] Status {
public:
  Status() = default;
  /// Takes ownership of the error.
  explicit Status(TwError *error) : error(error, twErrorFree) {}
  explicit operator bool() const { return !error; }
  TwErrorCode code() const { return twErrorCode(error.get()); }
  std::string text() const { return twErrorText(error.get()); }

private:
  std::shared_ptr<TwError> error;
};

} // namespace tilewright::runtime
#endif

#endif
