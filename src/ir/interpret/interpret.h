// The executable meaning of tt IR: a reference interpreter that runs a kernel with plain loops, one element at a time. It is the reference
// for both back ends, and the engine of `tilewright run --interpret` and TRITON_INTERPRET=1. With the valid memory ranges of a kernel, it
// is also the sanitizer: it names the operation of a bad access.
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

/// One kernel argument, in the order of the tt.func's arguments. `bits` holds the address of a pointer, an integer sign- or zero-extended
/// to 64 bits, or the address of a descriptor's tensor. `value` holds a float. Shape and strides of a descriptor are in elements.
struct InterpretArg {
  enum Kind { pointer, integer, floating, descriptor };
  Kind kind = integer;
  uint64_t bits = 0;
  double value = 0;
  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  bool padWithNan = false;
  /// For a pointer or descriptor: the index of the MemoryRange that accesses through it may touch. -1: any range.
  int64_t memory = -1;

  static InterpretArg ofPointer(const void *address) { return {pointer, reinterpret_cast<uint64_t>(address), 0, {}, {}, false, -1}; }
  static InterpretArg ofInteger(int64_t number) { return {integer, static_cast<uint64_t>(number), 0, {}, {}, false, -1}; }
  static InterpretArg ofFloat(double number) { return {floating, 0, number, {}, {}, false, -1}; }
  static InterpretArg ofDescriptor(const void *address, std::vector<int64_t> shape, std::vector<int64_t> strides) {
    return {descriptor, reinterpret_cast<uint64_t>(address), 0, std::move(shape), std::move(strides), false, -1};
  }
};

/// Memory that a kernel may touch: [begin, end), and its name in errors.
struct MemoryRange {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string name;
  /// False: the bounds of the tensor are unknown, so every access through its argument is allowed.
  bool isKnown = true;
};

/// The state that an observer gets before each operation of a program. Valid only during the call.
struct InterpretStep {
  mlir::Operation *op;
  std::array<int64_t, 3> program;
  /// Returns a computed value as text: `3`, `[1.5, 2, ...]`; "not computed" for other values. Long tiles are truncated.
  std::function<std::string(mlir::Value)> text;
};

/// A local variable at a breakpoint(): a number or a tile, in NumPy's representation. Small floats are converted to fp32.
struct InterpretLocal {
  std::string name, type; // "float32", "int64", "bool"
  std::vector<int64_t> shape;
  std::string bytes;
};

/// The value of InterpretOptions::maxSteps in sanitizers, which takes a minute or more.
constexpr int64_t sanitizedSteps = 100'000'000;

struct InterpretOptions {
  /// Called before each operation, in execution order. Returning false ends the run without an error.
  std::function<bool(const InterpretStep &)> onStep;
  /// Receives each line of tt.print, with its line break. Without it, prints are dropped.
  std::function<void(llvm::StringRef)> print;
  /// Called at each breakpoint() with the location, the program and its variables. Returning false ends the run with an error.
  std::function<bool(llvm::StringRef file, int64_t line, std::array<int64_t, 3> program, llvm::ArrayRef<InterpretLocal>)> onBreakpoint;
  /// Called if NumPy would warn about a result, with the location and NumPy's text: "divide by zero encountered in divide".
  std::function<void(llvm::StringRef file, int64_t line, llvm::StringRef text)> onWarning;
  /// If set, an access through an argument outside of the argument's range in `memory` is an error with the operation and the address.
  /// Ranges may overlap. With `tagsArguments`, a loaded pointer, or one converted from an integer, may touch all memory of the process.
  bool checkBounds = false;
  /// Pointers carry the number of their argument.
  bool tagsArguments = false;
  /// If set, races are errors: accesses of two programs to one byte, at least one of them a store, unless atomics order them or both are
  /// atomic. Two elements of one store that write different values to one address are errors too.
  bool checkRaces = false;
  std::vector<MemoryRange> memory;
  /// If set, tt.assert is skipped, as in a kernel without debug checks.
  bool skipAsserts = false;
  /// If set, a zero divisor in any element of a tile is an error. Otherwise only a scalar zero divisor is an error, because elements that
  /// are not stored may have any value.
  bool checkTileDivision = false;
  /// If not 0: after this many operations, a program ends with an error, because it seems to wait forever.
  int64_t maxSteps = 0;
  /// If not 0: after this many computed elements in all programs, the run ends with an error that is not the kernel's.
  int64_t maxWork = 0;
  /// If another thread sets it to true, the run ends with an error.
  const std::atomic<bool> *stop = nullptr;
};

/// An error of an interpreted kernel with its location. The message is `file:line:column: program (x, y, z): text`.
class InterpretError : public llvm::ErrorInfo<InterpretError> {
public:
  static char ID;
  std::string file; // empty: the operation has no source location
  int64_t line = 0;
  int64_t column = 0;
  std::array<int64_t, 3> program{};
  std::string text;
  bool isFault = true; // of the kernel; false: the interpreter does not support the kernel

  InterpretError(std::string text, std::array<int64_t, 3> program) : program(program), text(std::move(text)) {}
  void log(llvm::raw_ostream &out) const override;
  std::error_code convertToErrorCode() const override { return llvm::inconvertibleErrorCode(); }
};

/// Runs the programs [first, last) of `grid`, in launch order (x fastest), of the kernel `name`. Stops at the first error: an unsupported
/// operation, a failed assertion, an integer division by zero, or an access outside the given memory. Calls for disjoint ranges of programs
/// may run in parallel on several threads, because atomics are host atomics. `module` is only read.
///
/// Order of floating-point operations: a reduction combines adjacent elements along its axis, then adjacent results, and so on. A scan goes
/// left to right, or right to left if reversed. A dot adds products to the accumulator in order of k, and rounds each product and each sum.
///
/// Target-dependent results are those of NVIDIA GPUs:
///   - A float too large for an integer gives the nearest integer, and NaN gives 0.
///   - A float too large for an 8-bit float gives its largest finite value.
///   - A shift by the width or more gives 0 (or the sign).
///   - Masked-off elements of loads without `other` are 0.
///   - An integer division by zero gives all ones, and the dividend as the remainder.
///
/// If a program waits in a `while` loop, other programs run. If none can continue, the launch ends with an error at the loop.
llvm::Error interpret(mlir::ModuleOp module, llvm::StringRef name, llvm::ArrayRef<InterpretArg> args, std::array<int64_t, 3> grid,
                      int64_t first, int64_t last, const InterpretOptions &options);

} // namespace tilewright
