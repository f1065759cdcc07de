/* Tilewright from C, and the stable border under the C++ header: load a kernel file, launch its kernels on this machine's processor or
 * its NVIDIA GPUs.
 *
 * Functions that can fail return null or 0 and, where `error` is not null, set *error to an object with the reason, to be freed by
 * twErrorFree. All functions may be called from any thread; one TwKernel may be launched from several at once. */
#ifndef TILEWRIGHT_C_H
#define TILEWRIGHT_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(TILEWRIGHT_BUILDING)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct TwModule TwModule;
typedef struct TwKernel TwKernel;
typedef struct TwError TwError;
typedef struct TwMeta TwMeta;

/* "0.1.0" */
TW_API const char *twVersion(void);

/* The message with file, line, caret and advice, ready to print. */
TW_API const char *twErrorText(const TwError *error);
TW_API void twErrorFree(TwError *error);

/* Kernels of a Python file, or the one of IR text (.ttir, .mlir). */
TW_API TwModule *twModuleFromFile(const char *path, TwError **error);
/* `name` stands for a file name in messages. */
TW_API TwModule *twModuleFromSource(const char *source, const char *name, TwError **error);
TW_API void twModuleFree(TwModule *module);
TW_API size_t twModuleKernelCount(const TwModule *module);
/* In file order; valid as long as the module. */
TW_API const char *twModuleKernelName(const TwModule *module, size_t index);

/* The kernel keeps what it needs of the module. */
TW_API TwKernel *twKernelFind(TwModule *module, const char *name, TwError **error);
TW_API void twKernelFree(TwKernel *kernel);

typedef enum TwType {
  TW_I1,
  TW_I8,
  TW_I16,
  TW_I32,
  TW_I64,
  TW_U8,
  TW_U16,
  TW_U32,
  TW_U64,
  TW_F16,
  TW_BF16,
  TW_F32,
  TW_F64,
  TW_F8E5,
  TW_F8E4
} TwType;

typedef enum TwKind { TW_NONE, TW_BOOL, TW_INT, TW_UINT, TW_FLOAT, TW_STRING, TW_POINTER, TW_DEVICE_POINTER } TwKind;

/* One argument: of a parameter by position (name null) or by name. Constexpr parameters take any kind but pointers. */
typedef struct TwArgument {
  const char *name;
  TwKind kind;
  TwType type;   /* of what a pointer points to */
  int64_t bytes; /* behind a pointer, where known, else 0; needed for tuning with reset_to_zero or restore_value */
  union {
    int64_t integer; /* also bool */
    uint64_t unsignedInteger;
    double floating;
    const char *string;
    void *pointer;
  } value;
  int32_t device; /* of a TW_DEVICE_POINTER: the CUDA device whose memory it points to. A TW_POINTER is the host's */
} TwArgument;

typedef struct TwGrid {
  int64_t extent[3]; /* unused ones are 1 */
  int32_t rank;      /* 1 to 3 */
} TwGrid;

/* For grids that depend on parameters chosen by the tuner. Returns 0 to give up. */
typedef int (*TwGridFunction)(void *context, const TwMeta *meta, TwGrid *grid);
/* An integer or bool argument by its parameter's name; `found` (may be null) tells whether there is one. */
TW_API int64_t twMetaInteger(const TwMeta *meta, const char *name, int *found);

typedef struct TwOptions {
  int64_t threads;            /* 0: TILEWRIGHT_NUM_THREADS, or all processors */
  int64_t numWarps;           /* 0: the default */
  int64_t numStages;          /* 0: the default */
  int64_t numCtas;            /* programs' thread blocks on a GPU; 0: the default */
  int64_t maxRegisters;       /* of a GPU thread; 0: no limit */
  void *stream;               /* CUstream or cudaStream_t of the arguments' device; null: its default stream */
  int32_t cooperative;        /* all thread blocks run at once */
  int32_t programmaticLaunch; /* the kernel may start before its predecessor in the stream ends */
  int32_t sanitize;           /* runs on the interpreter, slowly, and ends with an error at the first access outside of an argument, race
                                 between programs, or use of an element whose load was masked off. Every pointer needs its `bytes` */
} TwOptions;

/* Compiles the specialisation if this is its first launch and runs the grid: on the CPU, returning when it is done, or, where pointers are
 * TW_DEVICE_POINTERs, on their GPU, returning when the launch is queued (what goes wrong there later, a later call reports). Give `grid` or
 * `gridFunction`.
 * `options` may be null. 1, or 0 after an error. */
TW_API int twLaunch(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context, const TwArgument *arguments,
                    size_t count, const TwOptions *options, TwError **error);

/* The specialisation for these arguments at one stage, as text: "ast", "tt", "loops", "llvm", "asm". To be freed by twStringFree. */
TW_API char *twEmit(TwKernel *kernel, const char *stage, const TwArgument *arguments, size_t count, const TwOptions *options,
                    TwError **error);
TW_API void twStringFree(char *text);

#ifdef __cplusplus
}
#endif

#endif
