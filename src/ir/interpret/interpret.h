// The executable meaning of tt IR: a reference interpreter that runs a kernel with plain loops, one element at a time. It is the oracle
// for both back ends, the engine behind `tilewright run --interpret` and TRITON_INTERPRET=1, and, given the ranges of memory that a
// kernel may touch, the slow path of the sanitizer that names the operation behind a bad access.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
class Operation;
class Value;
} // namespace mlir

namespace tilewright {

/// One kernel argument, in the order of the tt.func's arguments: a pointer as its address in `bits`, an integer sign- or zero-extended
/// to 64 bits in `bits`, a float in `value`, a tensor descriptor as the address of its tensor in `bits` with shape and strides in elements.
struct InterpretArg {
  enum Kind { pointer, integer, floating, descriptor };
  Kind kind = integer;
  uint64_t bits = 0;
  double value = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  bool padWithNan = false;
  /// Of a pointer or descriptor: the number of the MemoryRange that it, and what is computed from it, may touch. -1: any range.
  int64_t memory = -1;

  static InterpretArg ofPointer(const void *address) { return {pointer, reinterpret_cast<uint64_t>(address), 0, {}, {}, false, -1}; }
  static InterpretArg ofInteger(int64_t number) { return {integer, static_cast<uint64_t>(number), 0, {}, {}, false, -1}; }
  static InterpretArg ofFloat(double number) { return {floating, 0, number, {}, {}, false, -1}; }
  static InterpretArg ofDescriptor(const void *address, std::vector<int64_t> shape, std::vector<int64_t> strides) {
    return {descriptor, reinterpret_cast<uint64_t>(address), 0, std::move(shape), std::move(strides), false, -1};
  }
};

/// Memory that a kernel may touch: [begin, end), and the name to use for it in errors.
struct MemoryRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string name;
  /// False: it is not known where the tensor begins and ends, so every access through its argument is allowed.
  bool isKnown = true;
};

/// What an observer sees before each operation of a program. All of it is valid only during the call.
struct InterpretStep {
  mlir::Operation *op;
  std::array<int64_t, 3> program;
  /// A value that the program has computed already, as text: `3`, `[1.5, 2, ...]`; "not computed" for others. Long tiles are cut.
  std::function<std::string(mlir::Value)> text;
};

/// A local variable where a program has come to breakpoint(): a number or a tile, as NumPy would hold it. Small floats are widened to fp32.
struct InterpretLocal {
  std::string name, type; // "float32", "int64", "bool"
  std::vector<int64_t> shape;
  std::string bytes;
};

/// The value that sanitizers use for InterpretOptions::maxSteps: it takes a minute or more.
constexpr int64_t sanitizedSteps = 100'000'000;

struct InterpretOptions {
  /// Called before each operation, in the order of execution. A false answer ends the run without an error.
  std::function<bool(const InterpretStep &)> onStep;
  /// Receives each line of tt.print, line break included. Without it, prints are dropped.
  std::function<void(llvm::StringRef)> print;
  /// Called at each breakpoint() with the place, the program and its variables. A false answer ends the run with an error.
  std::function<bool(llvm::StringRef file, int64_t line, std::array<int64_t, 3> program, llvm::ArrayRef<InterpretLocal>)> onBreakpoint;
  /// Called where NumPy would warn about a result, with the place and NumPy's words: "divide by zero encountered in divide".
  std::function<void(llvm::StringRef file, int64_t line, llvm::StringRef text)> onWarning;
  /// If set, an access through an argument that leaves this argument's range of `memory` is an error that names the operation and the
  /// address. Ranges may overlap. With `tagsArguments`, a pointer of another origin (from memory, or made of
  /// an integer) may touch all memory of the process.
  bool checkBounds = false;
  /// Pointers of arguments carry their numbers.
  bool tagsArguments = false;
  /// If set, two programs that touch one byte, one of them storing, are an error unless atomics order them or both are atomics; so are
  /// two elements of one store that store different values to one place.
  bool checkRaces = false;
  std::vector<MemoryRange> memory;
  /// If set, tt.assert and cf.assert are skipped: the kernel was compiled without its debug checks.
  bool skipAsserts = false;
  /// If set, a zero divisor in any element of a tile is an error. Otherwise only a
  /// scalar zero divisor is, because elements that are never stored may hold anything.
  bool checkTileDivision = false;
  /// If not 0: after this many operations a program counts as waiting for something that never happens.
  int64_t maxSteps = 0;
  /// If not 0: after so many elements computed by all programs together the run ends with an error that is no fault of the kernel.
  int64_t maxWork = 0;
  /// Set to true by another thread, it ends the run with an error.
  const std::atomic<bool> *stop = nullptr;
};

/// What an interpreted kernel did wrong and where; the message is `file:line:column: program (x, y, z): text`.
class InterpretError : public llvm::ErrorInfo<InterpretError> {
public:
  static char ID;
  std::string file; // empty: the operation has no place in a source file
  int64_t line = 0;
  int64_t column = 0;
  std::array<int64_t, 3> program{};
  std::string text;
  bool isFault = true; // of the kernel; false: the interpreter could not go on

  InterpretError(std::string text, std::array<int64_t, 3> program) : program(program), text(std::move(text)) {}
  void log(llvm::raw_ostream &out) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};

/// Runs the programs [first, last) of `grid`, in launch order (x fastest), of the kernel `name`. Stops at the first error: an operation
/// with no meaning here, a failed assertion, an integer division by zero, an access outside the given memory. Calls for disjoint ranges of
/// programs may run at once on several threads, as the atomics are real ones; `module` is only read.
///
/// Orders that floating point can see: a reduction combines neighbours along its axis, then the results of neighbours, and so on; a scan
/// goes left to right (or right to left where reversed); a dot adds its products to the accumulator in order of k, products and sums
/// rounded to its type. What the hardware leaves open is settled as NVIDIA's does it: a float too large for an integer gives the nearest
/// one and NaN gives 0, a float too large for an 8-bit float gives its largest finite value, a shift by the width or more gives 0 (or the
/// sign), a zero stands in masked-off elements of loads without `other`, an integer divided by zero gives all ones and the dividend as the
/// remainder.
///
/// A program that waits in a `while` loop for another one lets that one run. If none can go on, the launch ends with an error at the loop.
llvm::Error interpret(mlir::ModuleOp module, llvm::StringRef name, llvm::ArrayRef<InterpretArg> args, std::array<int64_t, 3> grid,
                      int64_t first, int64_t last, const InterpretOptions &options);

} // namespace tilewright
