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
  int64_t bytes; /* behind a pointer, where known, else 0; -1: none, as the tensor is empty. Needed for tuning with reset_to_zero or
                    restore_value, and for measuring */
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

/* ---- the kernel author's bench: is a kernel right, and how near is it to what the machine can do? What `tilewright verify` and
 * `tilewright bench` do for Python's kernel files, for host code in C and C++. */

/* A tensor as host code gets it, or as an input describes it. Element [i, j] lies at data + i * strides[0] + j * strides[1] elements. */
typedef struct TwTensor {
  const char *name; /* in reports; null: its place, "tensor 2" */
  TwType type;
  int32_t rank;           /* 0: one element */
  const int64_t *shape;   /* extents, not negative */
  const int64_t *strides; /* in elements, not negative. Of an input null: rows lie back to back */
  void *data;             /* of an input null: an output, which holds nothing before the kernel writes it */
  int64_t bytes;          /* from data to behind the last element; of an input not read */
  int32_t device;         /* -1: the host's memory, as that of inputs; else the CUDA device */
} TwTensor;

/* An element of a tensor in the host's memory, which `index` names by `rank` numbers, as a double: exact for all types but integers beyond
 * 2^53. `twTensorSet` rounds to the nearest value of the type. */
TW_API double twTensorGet(const TwTensor *tensor, const int64_t *index);
TW_API void twTensorSet(const TwTensor *tensor, const int64_t *index, double value);

/* Host code that launches kernels on these tensors, or computes what they have to leave there. They are in the order of the inputs; their
 * extents and strides differ from call to call. 0 after an error, of which *error tells: one of a launch, or of twErrorNew. */
typedef int (*TwFunction)(void *context, const TwTensor *tensors, size_t count, TwError **error);
/* The inputs, made anew by `seed`, the same for the same one. They are copied, and need to last until the next call. */
typedef int (*TwInputFunction)(void *context, uint64_t seed, const TwTensor **inputs, size_t *count, TwError **error);
TW_API TwError *twErrorNew(const char *text);

/* What is judged and measured. */
typedef struct TwSubject {
  TwFunction kernel;      /* launches what is judged, on the calling thread */
  TwFunction reference;   /* gets tensors of the host. Null: the launches of `kernel` on the interpreter, slow and exact in their order */
  TwInputFunction inputs; /* no two of them share memory */
  void *context;          /* of all three */
} TwSubject;

enum { TW_GIVEN = 1, TW_STRIDED = 2, TW_EMPTY = 4, TW_ONE = 8, TW_ODD = 16 }; /* variants of inputs */

typedef struct TwVerifyOptions {
  double rtol, atol; /* |result - expected| <= atol + rtol * |expected|; negative: by type */
  int32_t device;    /* -1: the kernel's tensors are in the host's memory; else in that of this CUDA device */
  uint32_t variants; /* a sum of TW_GIVEN ...; 0: all */
  uint64_t seed;     /* of the first variant */
} TwVerifyOptions;

typedef struct TwReport TwReport;
/* Runs the reference once and the kernel twice for each variant of the inputs, in memory that is filled with patterns: as they are given,
 * strided, and with each size 0, 1 and odd. `options` may be null. Null after an error: inputs that cannot be used, or a reference that
 * fails for the inputs as given. A kernel that is wrong is no error. */
TW_API TwReport *twVerify(const TwSubject *subject, const TwVerifyOptions *options, TwError **error);
TW_API void twReportFree(TwReport *report);
/* Whether no variant was wrong. */
TW_API int twReportCorrect(const TwReport *report);
/* For a person, and as `tilewright verify --json` writes it. Texts of a report, and what follows, are valid as long as it. */
TW_API const char *twReportText(const TwReport *report);
TW_API const char *twReportJson(const TwReport *report);

typedef enum TwOutcome { TW_RIGHT, TW_WRONG, TW_REFUSED, TW_SKIPPED } TwOutcome;
typedef struct TwVariant {
  const char *name;    /* "as given", "98432 -> 1" */
  TwOutcome outcome;   /* refused: the kernel's function failed, which is no wrong number; skipped: the reference's did */
  const char *details; /* what is wrong, or the error */
  size_t outputs;      /* tensors that were compared */
} TwVariant;
typedef struct TwOutput {
  const char *name;
  int64_t wrong;                   /* elements beyond the tolerance */
  double maxAbsolute, maxRelative; /* differences; infinite where one of the two is no number */
  double rtol, atol;               /* that were applied */
  const int64_t *worst;            /* index of the worst element; null: all are right */
  size_t rank;                     /* numbers of an index */
  double value, expected;          /* there */
  const char *kernel;              /* that wrote it last; null: nobody did, or it is not known */
  int64_t program[3];              /* of that kernel */
  int64_t unwritten;               /* elements that nobody wrote */
  const int64_t *firstUnwritten;   /* indices of the first ones, one behind the other */
  size_t firstUnwrittenCount;
} TwOutput;
TW_API size_t twReportVariantCount(const TwReport *report);
TW_API TwVariant twReportVariant(const TwReport *report, size_t variant);
TW_API TwOutput twReportOutput(const TwReport *report, size_t variant, size_t output);

typedef struct TwMeasureOptions {
  int64_t warmup, repeat; /* calls; 0: 10 and 40. What takes longer than 20 seconds in all is called fewer times, but at least 5 */
  int32_t warmCaches;     /* 0: each call finds nothing of its tensors in the caches; 1: what the one before it left there */
  int32_t measureRoof;    /* measures the machine again, although its roof is kept */
} TwMeasureOptions;

typedef struct TwMeasurement TwMeasurement;
typedef struct TwFigures {
  double seconds, low, high; /* of a call: the median, the 20th and the 80th percentile */
  const double *samples;     /* seconds of each call, in their order */
  size_t count;
  double referenceSeconds, referenceLow, referenceHigh; /* 0: there is no reference */
  int64_t bytes;                                        /* of the tensors, each once */
  double operations;                                    /* on floats, and of products; 0: not known */
  double bytesPerSecond, operationsPerSecond;
  double roofBytesPerSecond, roofOperationsPerSecond; /* what this machine was measured to do; 0: not known */
  double shareOfRoof;                                 /* 1: as fast as the roof allows. More: it works from caches */
  int32_t isBoundByMemory;                            /* which of the two rates the roof is of */
  const char *machine;
} TwFigures;
/* Times one launch: as twLaunch's arguments, whose tensors need their `bytes`. On a GPU by its own clock. The launch runs many times on the
 * same tensors. Null after an error. */
TW_API TwMeasurement *twMeasureLaunch(TwKernel *kernel, const TwGrid *grid, TwGridFunction gridFunction, void *context,
                                      const TwArgument *arguments, size_t count, const TwOptions *options, const TwMeasureOptions *measure,
                                      TwError **error);
/* Verifies, and then times the kernel and, where there is one, the reference, by turns. An error where it is wrong. */
TW_API TwMeasurement *twBench(const TwSubject *subject, const TwVerifyOptions *verify, const TwMeasureOptions *measure, TwError **error);
TW_API void twMeasurementFree(TwMeasurement *measurement);
TW_API TwFigures twMeasurementFigures(const TwMeasurement *measurement);
TW_API const char *twMeasurementText(const TwMeasurement *measurement);
/* As `tilewright bench --json` writes it, which its --compare and twCompare read. */
TW_API const char *twMeasurementJson(const TwMeasurement *measurement);
/* The kernel below the machine's roof as SVG, to be freed by twStringFree; null where no operations are known. */
TW_API char *twMeasurementRoofline(const TwMeasurement *measurement, const char *title);

typedef struct TwChange {
  int32_t verdict; /* -1: faster, 0: the same but for chance, 1: slower */
  double ratio;    /* how many times as long it takes, without what the machine did */
  double machine;  /* how many times as long the reference took; 1: the same, or there is none */
} TwChange;
/* Of two texts of twMeasurementJson. 0 after an error: they are none, or of two machines. */
TW_API int twCompare(const char *before, const char *after, TwChange *change, TwError **error);

#ifdef __cplusplus
}
#endif

#endif
