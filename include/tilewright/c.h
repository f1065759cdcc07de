/* Tilewright from C, and the stable interface below the C++ header: load a kernel file and launch its kernels on this machine's CPU or
 * NVIDIA GPUs.
 *
 * tilewright/error.h describes errors and the `size` of structs. Null handles and texts are errors. All functions may be called from any
 * thread; several threads may launch one TwKernel at the same time. No function throws a C++ exception. */
#ifndef TILEWRIGHT_C_H
#define TILEWRIGHT_C_H

#include "tilewright/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Handles: a kernel file, one kernel, and the arguments that a grid function reads. */
typedef struct TwModule TwModule;
typedef struct TwKernel TwKernel;
typedef struct TwMeta TwMeta;

/* Sets the function that receives warnings of calls that succeed: configurations that compute different results, a read-only cache folder.
 * It is called on the thread of that call, and never by two threads at once. Null drops warnings. Unless twOnWarning is called, they go to
 * the standard error output. */
typedef void (*TwWarningFunction)(void *context, const char *text);
TW_API void twOnWarning(TwWarningFunction function, void *context);

/* The kernels of a Python file, or the one kernel of a file of IR text (.ttir, .ttgir, .mlir). */
TW_API TwModule *twModuleFromFile(const char *path, TwError **error);
/* Messages use `name` as the file name. */
TW_API TwModule *twModuleFromSource(const char *source, const char *name, TwError **error);

/* Limits for kernel text that the caller does not trust. A call that exceeds one fails with TW_ERROR_LIMIT. They bound the compiler. They
 * do not confine the compiled kernel: run it with `sanitize`, or in a process of its own. 0: the default, or no limit. */
typedef struct TwLimits {
  size_t size;            /* sizeof(TwLimits) */
  int64_t textBytes;      /* of the text; default and maximum: 268435456 */
  int64_t evaluatorSteps; /* of one evaluation at compile time; default 4000000, about a second */
  int64_t evaluatorBytes; /* that one evaluation allocates; default 268435456 */
  int64_t tileElements;   /* of one tile; the language allows 1048576 */
  int64_t operations;     /* of the kernel's IR, after each step of the compiler */
  int64_t memoryBytes;    /* by which the process grows during one compilation, measured after each step */
  double compileSeconds;  /* of one compilation, measured after each step */
  int32_t denyFiles;      /* not 0: imports find no files, nothing is read from installed packages, and the environment is hidden */
} TwLimits;
/* Like twModuleFromSource, with limits that also hold for all compilations of its kernels. `limits` is copied. */
TW_API TwModule *twModuleFromSourceWithLimits(const char *source, const char *name, const TwLimits *limits, TwError **error);

/* Frees the handle; null is allowed. Kernels of the module stay valid. */
TW_API void twModuleFree(TwModule *module);
TW_API size_t twModuleKernelCount(const TwModule *module);
/* In the order of the file. The name is valid as long as the module. */
TW_API const char *twModuleKernelName(const TwModule *module, size_t index);

/* Finds a kernel. It may outlive the module. */
TW_API TwKernel *twKernelFind(TwModule *module, const char *name, TwError **error);
TW_API void twKernelFree(TwKernel *kernel);
/* Null for a null handle. Valid as long as the kernel. */
TW_API const char *twKernelName(const TwKernel *kernel);
/* The parameters, in order; 0 for a null handle. */
TW_API size_t twKernelParameterCount(const TwKernel *kernel);

/* Element types of tensors, and types of declared numbers. The size of an element in memory is the number of bits in its name; a bool
 * (TW_I1) takes one byte. */
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

/* Kinds of arguments. TW_NONE is None, or nothing. */
typedef enum TwKind { TW_NONE, TW_BOOL, TW_INT, TW_UINT, TW_FLOAT, TW_STRING, TW_POINTER, TW_DEVICE_POINTER } TwKind;

/* A parameter of a kernel. Its texts are valid as long as the kernel. */
typedef struct TwParameter {
  size_t size; /* sizeof(TwParameter) */
  const char *name;
  int32_t isConstexpr;     /* its value is a constant of the compiled code */
  int32_t isChosen;        /* a configuration of the tuner, or a rule of @triton.heuristics, gives its value: a call leaves it out */
  int32_t isVariadic;      /* *args: it takes any number of positional arguments */
  int32_t isConst;         /* declared as tl.const: the kernel does not store through this pointer */
  const char *defaultText; /* its default as Python prints it: "None", "128"; null: a call must give it */
  const char *annotation;  /* the declared type: "int32", "pointer<fp32>"; null: the argument decides. A number out of its range, or a
                              pointer to other elements, is an error of the launch */
  TwKind kind;             /* of the declared type; TW_NONE: there is none */
  TwType type;             /* of the declared number, or of a declared pointer's elements */
} TwParameter;
/* Fills *parameter, whose size the caller has set. Returns 0, and changes nothing, if there is no such parameter. */
TW_API int twKernelParameter(const TwKernel *kernel, size_t index, TwParameter *parameter);

/* One argument, for a parameter by position (where `name` is null) or by name. Constexpr parameters take any kind but pointers. */
typedef struct TwArgument {
  size_t size; /* sizeof(TwArgument) */
  const char *name;
  TwKind kind;
  TwType type;   /* of a pointer's elements */
  int64_t bytes; /* the size of the memory at a pointer; 0: not known; -1: the tensor is empty. Tuning with reset_to_zero or
                    restore_value needs the size, and so does measuring. Of a text: its length, which is checked; 0: not given */
  union {
    int64_t integer; /* also bool */
    uint64_t unsignedInteger;
    double floating;
    const char *string;
    void *pointer;
  } value;
  int32_t device;   /* the CUDA device whose memory a TW_DEVICE_POINTER points to. A TW_POINTER points to the host's memory */
  int32_t readOnly; /* not 0: a kernel that stores through this pointer is refused */
} TwArgument;

/* The number of programs of a launch, along one to three axes. */
typedef struct TwGrid {
  size_t size;       /* sizeof(TwGrid) */
  int64_t extent[3]; /* unused ones are 1 */
  int32_t rank;      /* 1 to 3 */
} TwGrid;

/* Computes a grid that depends on parameters that the tuner chooses: fills the extents and the rank. Returns 0 to stop the launch. */
typedef int (*TwGridFunction)(void *context, const TwMeta *meta, TwGrid *grid);
/* Returns the integer or bool argument of the parameter with this name. If `found` is not null, *found is set to 1, or to 0 if there is
 * none; the result is 0 then. If `found` is null and there is none, the launch fails with an error that names it, and the result is 1, so
 * that dividing by it does no harm. */
TW_API int64_t twMetaInteger(const TwMeta *meta, const char *name, int *found);

/* Ends calls early. Any thread may request it, at any time. A launch on the CPU ends between two programs, a compilation between two steps.
 * Its results are incomplete then, and the call fails with TW_ERROR_CANCELED. One token may end several calls, and later ones as well. */
typedef struct TwCancel TwCancel;
TW_API TwCancel *twCancelNew(TwError **error);
TW_API void twCancelRequest(TwCancel *cancel);
/* Only after all calls that got it have returned. */
TW_API void twCancelFree(TwCancel *cancel);

/* The caller's threads. They run the programs of a launch on the CPU instead of the library's own. */
typedef struct TwExecutor {
  size_t size;     /* sizeof(TwExecutor) */
  void *context;   /* passed to `run` */
  int64_t threads; /* that may run tasks at the same time; at least 1 */
  /* Calls task(data, i) once for each i from 0 to count - 1, on any threads, and returns when all calls have returned. Returns 0 if it
   * could not call all of them; the launch fails then. Tasks do not wait for each other. A short launch runs on the calling thread. */
  int (*run)(void *context, void (*task)(void *data, int64_t index), void *data, int64_t count);
} TwExecutor;

/* The caller's memory, for the scratch memory of a launch on the CPU. Both functions are called by the threads that run programs. */
typedef struct TwAllocator {
  size_t size;                                                        /* sizeof(TwAllocator) */
  void *context;                                                      /* passed to both functions */
  void *(*allocate)(void *context, int64_t bytes, int64_t alignment); /* returns null if there is no memory */
  void (*release)(void *context, void *memory, int64_t bytes);        /* before the launch returns */
} TwAllocator;

/* Options of a launch or a compilation. Fields that are 0 have their defaults. */
typedef struct TwOptions {
  size_t size; /* sizeof(TwOptions) */
  /* A negative number is an error. */
  int64_t threads;              /* 0: TILEWRIGHT_NUM_THREADS, or all CPUs */
  int64_t numWarps;             /* 0: the default */
  int64_t numStages;            /* 0: the default */
  int64_t numCtas;              /* CTAs of a program's cluster on a GPU; 0: the default */
  int64_t maxRegisters;         /* limit of the registers of a GPU thread; 0: no limit */
  void *stream;                 /* CUstream or cudaStream_t of the arguments' device; null: its default stream */
  int32_t cooperative;          /* all CTAs run at once */
  int32_t programmaticLaunch;   /* the kernel may start before its predecessor in the stream ends */
  int32_t sanitize;             /* runs on the interpreter, slowly, and ends with an error at the first access outside of an argument, race
                                   between programs, or use of an element whose load was masked off. Every pointer needs its `bytes` */
  int32_t checkPointers;        /* pointers to the host's memory that are null, or whose memory is not mapped or not writable, are errors.
                                   Reads the system's list of mappings, which takes tens of microseconds or more */
  double timeoutSeconds;        /* from the start of the call; then it fails with TW_ERROR_DEADLINE, as if canceled. 0: no limit */
  TwCancel *cancel;             /* null: nothing cancels the call */
  const TwExecutor *executor;   /* null: the library's threads */
  const TwAllocator *allocator; /* null: memory that the threads keep for later launches */
} TwOptions;

/* Runs the grid; the first launch with new types, constants or alignments compiles the kernel. On the CPU, the function returns when all
 * programs are done. If pointers are TW_DEVICE_POINTERs, it launches on their GPU and returns when the launch is queued; a later call
 * reports errors of the running kernel. Either `grid` or `gridFunction` is given, and the other is null. `options` may be null.
 * Returns 1, or 0 after an error. */
TW_API int twLaunch(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context, const TwArgument *arguments,
                    size_t count, const TwOptions *options, TwError **error);

/* Compiles, or loads from the cache folder, what twLaunch with these arguments needs, and runs no program. Addresses are not read, but
 * their alignments count. Without a grid, a variant of the code that only this grid needs is left to the launch. If the tuner has not
 * chosen yet, all configurations are compiled. Returns 1, or 0 after an error. */
TW_API int twPrepare(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context, const TwArgument *arguments,
                     size_t count, const TwOptions *options, TwError **error);

/* The same on another thread. At most as many compilations run at a time as the machine has CPUs. Structs and texts are copied; `context`,
 * and an executor's or an allocator's context, must live until the future is freed. Returns null after an error. */
typedef struct TwFuture TwFuture;
TW_API TwFuture *twPrepareAsync(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context,
                                const TwArgument *arguments, size_t count, const TwOptions *options, TwError **error);
/* Returns 1 if the compilation is done, or has failed. */
TW_API int twFutureIsReady(const TwFuture *future);
/* Waits for the compilation, at most `seconds`; a negative number: without limit. Returns 1 if it is done, and 0 after its error. It
 * returns 0 with TW_ERROR_DEADLINE if it is not ready yet. It may be called again, and returns the same. */
TW_API int twFutureWait(TwFuture *future, double seconds, TwError **error);
TW_API void twFutureCancel(TwFuture *future);
/* Cancels the compilation, unless it is ready, and waits until its thread ends. Free all futures before the process ends. */
TW_API void twFutureFree(TwFuture *future);

/* Returns the kernel, compiled for these arguments, as text of a stage: "ast", "tt", "loops", "llvm" or "asm". Free it with twStringFree.
 */
TW_API char *twEmit(TwKernel *kernel, const char *stage, const TwArgument *arguments, size_t count, const TwOptions *options,
                    TwError **error);
TW_API void twStringFree(char *text);

/* ---- embedding: for the whole process */

/* Bounds the compiled kernels in memory. Beyond a limit, those that have not been launched for the longest time are evicted. A later launch
 * loads them from the cache folder, or compiles them again. A running launch keeps its code. 0: no limit, which is the default. */
typedef struct TwCodeLimits {
  size_t size;     /* sizeof(TwCodeLimits) */
  int64_t kernels; /* number of specializations */
  int64_t bytes;   /* of their code */
} TwCodeLimits;
TW_API int twSetCodeLimits(const TwCodeLimits *limits, TwError **error);
typedef struct TwCodeUse {
  size_t size;     /* sizeof(TwCodeUse) */
  int64_t kernels; /* specializations in memory */
  int64_t bytes;   /* of their code */
  int64_t evicted; /* since the process began */
} TwCodeUse;
/* Fills *use, whose size the caller has set. Returns 0 if it is null or its size is wrong. */
TW_API int twCodeUse(TwCodeUse *use);

/* What the library tells an observer, for logs and metrics. */
typedef enum TwEventKind {
  TW_EVENT_COMPILE_STARTED,  /* a specialization is looked up in the cache folder, and compiled if it is not there */
  TW_EVENT_COMPILE_FINISHED, /* seconds, bytes, failed */
  TW_EVENT_CACHE_HIT,        /* bytes. The cache folder, or the shipped one, has it */
  TW_EVENT_CACHE_MISS,
  TW_EVENT_LAUNCH, /* seconds until its function returns, failed. Also each launch of the tuner */
  TW_EVENT_EVICTED /* bytes */
} TwEventKind;
typedef struct TwEvent {
  size_t size; /* sizeof(TwEvent) of the library */
  TwEventKind kind;
  const char *kernel; /* valid during the call */
  double seconds;
  int64_t bytes;  /* of the code */
  int32_t failed; /* not 0: the compilation or the launch failed */
} TwEvent;
/* Called on the thread that causes the event, and by several threads at once. What the observer itself causes is not reported. It must not
 * launch or prepare the kernel of the event. */
typedef void (*TwEventFunction)(void *context, const TwEvent *event);
/* Replaces the observer; null removes it. When the function returns, no call of the previous observer is running. Returns 0, and changes
 * nothing, if the observer calls it. */
TW_API int twOnEvent(TwEventFunction function, void *context);

/* Sets a folder of compiled kernels and tuning results that a product ships with itself. It is a copy of a cache folder
 * (TILEWRIGHT_CACHE_DIR) that was filled on a machine of the same kind, by the same library. It is read after the user's cache folder, and
 * never written. Only this user or the superuser may be able to write to it. Null or "" removes it. Default: the environment variable
 * TILEWRIGHT_SHIPPED_CACHE. Returns 0 after an error. */
TW_API int twSetShippedCache(const char *folder, TwError **error);

/* ---- the kernel author's bench: it verifies a kernel and compares its speed with the machine's peaks. These functions do for host code in
 * C and C++ what `tilewright verify` and `tilewright bench` do for kernel files in Python. */

/* A tensor of host code, or the description of an input. Element [i, j] lies at data + i * strides[0] + j * strides[1] elements. */
typedef struct TwTensor {
  size_t size;      /* sizeof(TwTensor) */
  const char *name; /* used in reports; null: reports call it "tensor 2", by its position */
  TwType type;
  int32_t rank;           /* 0: one element */
  const int64_t *shape;   /* extents, not negative */
  const int64_t *strides; /* in elements, not negative. null in an input: rows are contiguous */
  void *data;             /* null in an input: an output, which the kernel writes before it reads it */
  int64_t bytes;          /* from data to the end of the last element; not read in an input */
  int32_t device;         /* -1: the host's memory, where all inputs are; else the CUDA device */
} TwTensor;

/* Read and write the element at `index`, which is `rank` numbers, of a tensor in the host's memory. A double holds it exactly, unless it is
 * an integer beyond 2^53. `twTensorSet` rounds to the nearest value of the type. If the tensor, its data or the index is null, the result
 * is not a number, and nothing is stored. */
TW_API double twTensorGet(const TwTensor *tensor, const int64_t *index);
TW_API void twTensorSet(const TwTensor *tensor, const int64_t *index, double value);

/* Host code that launches kernels on these tensors, or computes the expected results. The tensors are in the order of the inputs; their
 * extents and strides differ from call to call. Returns 0 after an error and sets *error: to a launch's, or by twErrorNew. */
typedef int (*TwFunction)(void *context, const TwTensor *const *tensors, size_t count, TwError **error);
/* Makes fresh inputs; the same seed makes the same inputs. They are copied, so they need to last only until the next call. */
typedef int (*TwInputFunction)(void *context, uint64_t seed, const TwTensor **inputs, size_t *count, TwError **error);

/* The host code to verify and measure. */
typedef struct TwSubject {
  size_t size;            /* sizeof(TwSubject) */
  TwFunction kernel;      /* launches the kernel, on the calling thread */
  TwFunction reference;   /* gets tensors in the host's memory. Null: the interpreter runs the launches of `kernel`, which is slow */
  TwInputFunction inputs; /* no two of them share memory */
  void *context;          /* passed to all three */
} TwSubject;

enum { TW_GIVEN = 1, TW_STRIDED = 2, TW_EMPTY = 4, TW_ONE = 8, TW_ODD = 16 }; /* variants of inputs */

/* How twVerify compares results and makes inputs. */
typedef struct TwVerifyOptions {
  size_t size;       /* sizeof(TwVerifyOptions) */
  double rtol, atol; /* |result - expected| <= atol + rtol * |expected|; negative: the default of the type */
  int32_t device;    /* -1: the kernel's tensors are in the host's memory; else in the memory of this CUDA device */
  uint32_t variants; /* a sum of TW_GIVEN ...; 0: all */
  uint64_t seed;     /* of the first variant */
} TwVerifyOptions;

/* The result of a verification. */
typedef struct TwReport TwReport;
/* Verifies a kernel: for each variant of the inputs, it runs the reference once and the kernel twice. The variants are: as given, strided,
 * and each size set to 0, 1 and an odd number. Their memory is first filled with patterns. `options` may be null. Returns null after an
 * error: the inputs cannot be used, or the reference fails for the inputs as given. A wrong kernel is not an error; the report shows it. */
TW_API TwReport *twVerify(const TwSubject *subject, const TwVerifyOptions *options, TwError **error);
TW_API void twReportFree(TwReport *report);
/* Returns 1 if no variant was wrong. */
TW_API int twReportCorrect(const TwReport *report);
/* The report as text, and as JSON like that of `tilewright verify --json`. All results of a report are valid as long as the report. */
TW_API const char *twReportText(const TwReport *report);
TW_API const char *twReportJson(const TwReport *report);

/* The result of one variant, and of one output of it. */
typedef enum TwOutcome { TW_RIGHT, TW_WRONG, TW_REFUSED, TW_SKIPPED } TwOutcome;
typedef struct TwVariant {
  size_t size;         /* sizeof(TwVariant) */
  const char *name;    /* "as given", "98432 -> 1" */
  TwOutcome outcome;   /* refused: the kernel's function failed, which is not a wrong result; skipped: the reference's function failed */
  const char *details; /* the differences, or the error */
  size_t outputs;      /* tensors that were compared */
} TwVariant;
typedef struct TwOutput {
  size_t size; /* sizeof(TwOutput) */
  const char *name;
  int64_t wrong;                   /* elements beyond the tolerance */
  double maxAbsolute, maxRelative; /* differences; infinite if one of the two is not a number */
  double rtol, atol;               /* the tolerances that were applied */
  const int64_t *worst;            /* the index of the worst element; null: all are right */
  size_t rank;                     /* numbers of an index */
  double value, expected;          /* of the worst element */
  const char *kernel;              /* the kernel that wrote it last; null: none did, or it is not known */
  int64_t program[3];              /* which program of that kernel wrote it */
  int64_t unwritten;               /* number of elements that were never written */
  const int64_t *firstUnwritten;   /* the indices of the first of them, contiguous */
  size_t firstUnwrittenCount;
} TwOutput;
TW_API size_t twReportVariantCount(const TwReport *report);
/* Fill *result, whose size the caller has set. Return 0, and change nothing, if there is no such variant or output. */
TW_API int twReportVariant(const TwReport *report, size_t variant, TwVariant *result);
TW_API int twReportOutput(const TwReport *report, size_t variant, size_t output, TwOutput *result);

/* How twMeasure times a launch. */
typedef struct TwMeasureOptions {
  size_t size;            /* sizeof(TwMeasureOptions) */
  int64_t warmup, repeat; /* calls; 0: 10 and 40. Fewer, but at least 5, if all would take longer than 20 seconds */
  int32_t warmCaches;     /* 0: each call starts with cold caches; 1: it starts with the caches of the previous call */
  int32_t measurePeaks;   /* measures the machine's peaks again, even if the cache folder has them */
} TwMeasureOptions;

/* The times of a kernel. */
typedef struct TwMeasurement TwMeasurement;
typedef struct TwFigures {
  size_t size;               /* sizeof(TwFigures) */
  double seconds, low, high; /* of one call: the median, the 20th and the 80th percentile */
  const double *samples;     /* the seconds of each call, in order */
  size_t count;
  double referenceSeconds, referenceLow, referenceHigh; /* 0: there is no reference */
  int64_t bytes;                                        /* of all tensors, each counted once */
  double operations;                                    /* arithmetic on floats, including dots; 0: not known */
  double bytesPerSecond, operationsPerSecond;
  double peakBytesPerSecond, peakOperationsPerSecond; /* measured on this machine; 0: not known */
  double fractionOfPeak;                              /* 1: at the peak; more than 1: the data is in caches */
  int32_t isBoundByMemory;                            /* 1: bytes per second limit the kernel; 0: operations per second */
  const char *machine;
} TwFigures;
/* Times one launch, which takes the arguments of twLaunch; its tensors need their `bytes`. Uses a GPU's own clock. The launch runs many
 * times on the same tensors. Returns null after an error. */
TW_API TwMeasurement *twMeasureLaunch(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context,
                                      const TwArgument *arguments, size_t count, const TwOptions *options, const TwMeasureOptions *measure,
                                      TwError **error);
/* Verifies the kernel, then times it and the reference, if there is one, alternately. A wrong kernel is an error. */
TW_API TwMeasurement *twBench(const TwSubject *subject, const TwVerifyOptions *verify, const TwMeasureOptions *measure, TwError **error);
TW_API void twMeasurementFree(TwMeasurement *measurement);
/* Fills *figures, whose size the caller has set. Its pointers are valid as long as the measurement. Returns 0 if a handle is null or the
 * size is wrong. */
TW_API int twMeasurementFigures(const TwMeasurement *measurement, TwFigures *figures);
TW_API const char *twMeasurementText(const TwMeasurement *measurement);
/* JSON as from `tilewright bench --json`; `tilewright bench --compare` and twCompare read it. */
TW_API const char *twMeasurementJson(const TwMeasurement *measurement);
/* Draws the kernel below the machine's roofline, as SVG. Free it with twStringFree. Null if the operations are not known. */
TW_API char *twMeasurementRoofline(const TwMeasurement *measurement, const char *title);

/* The comparison of two measurements. */
typedef struct TwChange {
  size_t size;    /* sizeof(TwChange) */
  int32_t result; /* -1: faster, 0: no difference beyond chance, 1: slower */
  double ratio;   /* the time of `after` over that of `before`, divided by `machine` */
  double machine; /* the same ratio for the reference: the change of the machine; 1 if there is none */
} TwChange;
/* Compares two texts of twMeasurementJson and fills *change, whose size the caller has set. Returns 0 after an error: a text is something
 * else, or they come from different machines. */
TW_API int twCompare(const char *before, const char *after, TwChange *change, TwError **error);

#ifdef __cplusplus
}
#endif

#endif
