/* Errors and the version: the parts that all C headers of Tilewright share.
 *
 * A function that fails returns null or 0. If `error` is not null, it also sets *error to an object with a code for programs and a text for
 * people. Free the object with twErrorFree. A successful call leaves *error alone.
 *
 * Each struct begins with `size_t size`. The caller sets it to sizeof the struct, before a function reads or fills the struct. A library
 * accepts the smaller structs of older headers: missing fields count as 0. It refuses a larger struct if a field that it does not know is
 * not 0. All elements of an array have the same size. No struct is passed or returned by value. */
#ifndef TILEWRIGHT_ERROR_H
#define TILEWRIGHT_ERROR_H

#include <stddef.h>
#include <stdint.h>

#if defined(TILEWRIGHT_BUILDING_STATIC)
#define TW_API __attribute__((visibility("hidden")))
#elif defined(TILEWRIGHT_BUILDING)
#define TW_API __attribute__((visibility("default")))
#else
#define TW_API
#endif

/* The version of these headers. Before 1.0, a new minor version may change names. */
#define TILEWRIGHT_VERSION_MAJOR 0
#define TILEWRIGHT_VERSION_MINOR 2
#define TILEWRIGHT_VERSION_PATCH 0
/* As one number, for comparisons: TILEWRIGHT_VERSION_NUMBER >= 200 means 0.2.0 or later. */
#define TILEWRIGHT_VERSION_NUMBER (TILEWRIGHT_VERSION_MAJOR * 10000 + TILEWRIGHT_VERSION_MINOR * 100 + TILEWRIGHT_VERSION_PATCH)

#ifdef __cplusplus
extern "C" {
#endif

/* An error: a code for programs, a text for people. */
typedef struct TwError TwError;

/* The kinds of failures. Later versions may add kinds: treat an unknown one like TW_ERROR_INTERNAL. */
typedef enum TwErrorCode {
  TW_ERROR_NONE = 0,             /* no error: the code of a null TwError */
  TW_ERROR_INVALID_ARGUMENT = 1, /* the call is wrong: a null handle, an option, a type, an extent, a missing or unknown argument */
  TW_ERROR_NOT_FOUND = 2,        /* there is no such file, kernel or stage */
  TW_ERROR_KERNEL = 3,           /* the kernel's text is wrong: syntax, types, shapes. The error text has file, line and caret */
  TW_ERROR_UNSUPPORTED = 4,      /* the call is right, but this library, target or machine does not support it */
  TW_ERROR_MEMORY = 5,           /* a pointer is null, unmapped or on another device, or the kernel writes to read-only memory */
  TW_ERROR_OUT_OF_MEMORY = 6,    /* there is no memory left */
  TW_ERROR_LIMIT = 7,            /* a limit for untrusted kernels is exceeded */
  TW_ERROR_CANCELED = 8,         /* the caller canceled the call */
  TW_ERROR_DEADLINE = 9,         /* the time of the call is over */
  TW_ERROR_EXECUTION = 10,       /* the running kernel failed: an assertion, a fault, an access outside of an argument */
  TW_ERROR_DEVICE = 11,          /* the GPU or its driver is missing, or a call of the driver failed */
  TW_ERROR_ARTIFACT = 12,        /* compiled code is damaged, truncated, or made for another machine or version */
  TW_ERROR_IO = 13,              /* a file or folder cannot be read or written */
  TW_ERROR_VERIFY = 14,          /* a kernel cannot be verified or measured, or it is wrong and is therefore not measured */
  TW_ERROR_CALLBACK = 15,        /* a function of the caller failed or threw an exception */
  TW_ERROR_INTERNAL = 16         /* a bug of the library */
} TwErrorCode;

/* Returns the code of an error; TW_ERROR_NONE for null. */
TW_API TwErrorCode twErrorCode(const TwError *error);
/* Returns the message with its file, line, caret and advice, ready to be printed; "" for null. Valid as long as the error. */
TW_API const char *twErrorText(const TwError *error);
/* Frees an error. Null is allowed. */
TW_API void twErrorFree(TwError *error);
/* Makes an error, for functions of the caller that the library calls. The text is copied. */
TW_API TwError *twErrorNew(const char *text); /* its code is TW_ERROR_CALLBACK */
TW_API TwError *twErrorNewWithCode(TwErrorCode code, const char *text);

/* Returns the version of the loaded library: "0.2.0". */
TW_API const char *twVersion(void);
/* Returns the same as a number, as TILEWRIGHT_VERSION_NUMBER. */
TW_API int32_t twVersionNumber(void);

#ifdef __cplusplus
}
#endif

#endif
