/* Builds kernels call by call: the C interface below tilewright/language.h, for other languages that embed the tile language.
 *
 *   TwBuilder *b = twBuilderNew("add", &place);
 *   TwValue x = twBuilderParameter(b, "x", "*fp32", &place);
 *   ...
 *   TwModule *module = twBuilderFinish(b, &error);
 *
 * A builder records the statements of one kernel, with their locations in the caller's source. The compiler then treats them like those of
 * a kernel in Python: the same types, promotions, diagnostics and code. Functions that get a wrong value or are called in the wrong order
 * record an error, and twBuilderFinish reports the first one. One thread uses a builder at a time; different builders are independent.
 * Every struct begins with its size, which the caller sets to sizeof. */
#ifndef TILEWRIGHT_BUILDER_H
#define TILEWRIGHT_BUILDER_H

#include "tilewright/c.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A kernel that is being built. */
typedef struct TwBuilder TwBuilder;
/* A value of a kernel that is being built: a variable or a constant. 0 is no value. */
typedef uint64_t TwValue;

/* A location in the caller's source, for messages and debug information. If the file can be read, messages show the line. */
typedef struct TwPlace {
  size_t size;
  const char *file;
  uint32_t line, column; /* from 1 */
} TwPlace;

/* The type of a value: a scalar or pointer (rank 0), or a tile of them. */
typedef struct TwTileType {
  size_t size;
  const char *element; /* as in signatures: "fp32", "i1", "*fp16", "*kfp16" (pointer to constants), "tensordesc<fp16[64,64]>" */
  const int64_t *shape;
  size_t rank;
} TwTileType;

/* An argument of a builtin. `name` is null for an argument by position. */
typedef struct TwCallArgument {
  size_t size;
  const char *name;
  TwValue value;
} TwCallArgument;

/* The operators of twBuilderOperator. They promote their operands as in the tile language. */
typedef enum TwOperator {
  TW_ADD,
  TW_SUBTRACT,
  TW_MULTIPLY,
  TW_DIVIDE, /* of floats; integers are converted to fp32 */
  TW_FLOOR_DIVIDE,
  TW_REMAINDER,
  TW_SHIFT_LEFT,
  TW_SHIFT_RIGHT,
  TW_BIT_AND,
  TW_BIT_OR,
  TW_BIT_XOR,
  TW_EQUAL,
  TW_NOT_EQUAL,
  TW_LESS,
  TW_LESS_EQUAL,
  TW_GREATER,
  TW_GREATER_EQUAL,
  TW_LOGICAL_AND,
  TW_LOGICAL_OR,
  TW_NEGATE, /* from here on, with one operand */
  TW_INVERT,
  TW_LOGICAL_NOT
} TwOperator;

/* Begins a kernel. `name` is an identifier. `place` is where the kernel is defined. Returns null without memory only. */
TW_API TwBuilder *twBuilderNew(const char *name, const TwPlace *place);
TW_API void twBuilderFree(TwBuilder *builder);
/* Adds the next parameter, before all statements. `type` as in signatures: "i32", "fp32", "*fp16", "*kfp16". */
TW_API TwValue twBuilderParameter(TwBuilder *builder, const char *name, const char *type, const TwPlace *place);
/* Adds a parameter whose integer value is known when the kernel is compiled: configurations or launches give it by name. */
TW_API TwValue twBuilderConstexpr(TwBuilder *builder, const char *name, const TwPlace *place);

/* ---- constants */
TW_API TwValue twBuilderInteger(TwBuilder *builder, int64_t value);
TW_API TwValue twBuilderUnsigned(TwBuilder *builder, uint64_t value);
TW_API TwValue twBuilderFloat(TwBuilder *builder, double value);
TW_API TwValue twBuilderBool(TwBuilder *builder, int value);
TW_API TwValue twBuilderString(TwBuilder *builder, const char *value);
TW_API TwValue twBuilderTuple(TwBuilder *builder, const TwValue *values, size_t count);

/* ---- statements. `result` is the type that the caller expects; if the compiler computes another one, compiling fails with an internal
 * error. Null: the type is not checked. The element "constexpr" with rank 0: the result of constants stays a constant. */

/* Calls a builtin or library function of triton.language by its path ("load", "math.exp", "extra.libdevice.tanh"), or a method of
 * descriptors ("tensor_descriptor.atomic_add"). */
TW_API TwValue twBuilderCall(TwBuilder *builder, const char *path, const TwCallArgument *arguments, size_t count, const TwTileType *result,
                             const TwPlace *place);
/* The same for a builtin without a result. */
TW_API void twBuilderRun(TwBuilder *builder, const char *path, const TwCallArgument *arguments, size_t count, const TwPlace *place);
/* Applies an operator. `right` is 0 for an operator with one operand. */
TW_API TwValue twBuilderOperator(TwBuilder *builder, TwOperator op, TwValue left, TwValue right, const TwTileType *result,
                                 const TwPlace *place);
/* Returns one value of a builtin with several results. */
TW_API TwValue twBuilderItem(TwBuilder *builder, TwValue tuple, size_t index, const TwTileType *result, const TwPlace *place);
/* Returns a new variable with this value; with value 0, a variable without one, which later assignments define. */
TW_API TwValue twBuilderVariable(TwBuilder *builder, TwValue value, const TwTileType *type, const TwPlace *place);
TW_API void twBuilderAssign(TwBuilder *builder, TwValue variable, TwValue value, const TwTileType *type, const TwPlace *place);

/* ---- control flow. Each of these opens a block, which twBuilderEnd closes. */

/* Returns the loop variable. `arguments` are those of tl.range: the bounds and the step by position, hints by name. */
TW_API TwValue twBuilderFor(TwBuilder *builder, const TwCallArgument *arguments, size_t count, const TwTileType *index,
                            const TwPlace *place);
TW_API void twBuilderIf(TwBuilder *builder, TwValue condition, const TwPlace *place);
/* Ends the block of twBuilderIf and opens the other one. */
TW_API void twBuilderElse(TwBuilder *builder, const TwPlace *place);
/* Opens the block that computes the condition; twBuilderDo ends it and opens the body. */
TW_API void twBuilderWhile(TwBuilder *builder, const TwPlace *place);
TW_API void twBuilderDo(TwBuilder *builder, TwValue condition, const TwPlace *place);
TW_API void twBuilderBreak(TwBuilder *builder, const TwPlace *place);
TW_API void twBuilderContinue(TwBuilder *builder, const TwPlace *place);
/* Ends the program. In a function, twBuilderEndFunction returns values. */
TW_API void twBuilderReturn(TwBuilder *builder, const TwPlace *place);
TW_API void twBuilderEnd(TwBuilder *builder);

/* Opens a function of `count` parameters, for reduce, associative_scan and map_elementwise. Its variables are the only ones that it may
 * use. twBuilderEndFunction closes it and returns the function as a value. */
TW_API void twBuilderFunction(TwBuilder *builder, TwValue *parameters, size_t count, const TwPlace *place);
TW_API TwValue twBuilderEndFunction(TwBuilder *builder, const TwValue *results, size_t count, const TwPlace *place);

/* ---- tuning */

/* One configuration of the tuner: values of constexpr parameters, and the options of its launches; 0 is the default of an option. */
typedef struct TwConfig {
  size_t size;
  const char *const *names;
  const int64_t *values;
  size_t count;
  int64_t numWarps, numStages, numCtas, maxRegisters;
} TwConfig;
TW_API void twBuilderConfig(TwBuilder *builder, const TwConfig *config);
/* Tunes again for new values of these parameters. */
TW_API void twBuilderKey(TwBuilder *builder, const char *const *names, size_t count);
/* While the tuner measures, it sets these pointers' memory to zero, or restores it, before each run. */
TW_API void twBuilderResetToZero(TwBuilder *builder, const char *const *names, size_t count);
TW_API void twBuilderRestoreValue(TwBuilder *builder, const char *const *names, size_t count);

/* Opens a block for one value of a constexpr parameter: the code for other values is not part of it. twBuilderEnd closes it. */
TW_API void twBuilderCase(TwBuilder *builder, TwValue parameter, int64_t value, const TwPlace *place);
/* Gives a constexpr parameter the value of a function of the other integer arguments, those of the configuration included. It is called for
 * each launch and each configuration that is measured. */
typedef int64_t (*TwRule)(void *context, const TwMeta *meta);
TW_API void twBuilderHeuristic(TwBuilder *builder, const char *parameter, TwRule rule, void *context);
/* Allows tiles with extents that are not powers of two. */
TW_API void twBuilderAnySize(TwBuilder *builder);

/* Records an error of the caller. twBuilderFinish reports the first one. */
TW_API void twBuilderError(TwBuilder *builder, const char *text, const char *advice, const TwPlace *place);
/* Returns a module with the kernel, or null after an error. The builder can only be freed afterwards. */
TW_API TwModule *twBuilderFinish(TwBuilder *builder, TwError **error);

#ifdef __cplusplus
}
#endif

#endif
