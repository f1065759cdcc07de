// The internals of the interpreter: the representation of values, and the interface for the meaning of operations. Only this folder
// includes it.
#pragma once

#include "ir/interpret/history.h"
#include "ir/interpret/interpret.h"
#include "ir/interpret/undefined.h"
#include "ir/tt.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <memory>
#include <optional>

namespace tilewright::interp {

/// A strided tensor in memory, for a block pointer (with offsets) or a tensor descriptor (with zero offsets).
struct MemoryBlock {
  uint64_t base = 0;
  llvm::SmallVector<int64_t, 4> shape, strides, offsets;
  bool padWithNan = false;
};

/// A value: the elements in row-major order (one for a scalar), or a block. The MLIR value's type has the shape and the element type. An
/// element is its bit pattern, zero-extended. So loads, stores, selections and bitcasts keep NaN payloads.
struct Tile {
  llvm::SmallVector<uint64_t, 1> elements;
  std::shared_ptr<const MemoryBlock> block;
  UndefinedElements undefined;

  Tile() = default;
  explicit Tile(uint64_t scalar) : elements(1, scalar) {}
  Tile(int64_t count, uint64_t element) : elements(count, element) {}
  uint64_t scalar() const { return elements.front(); }
  int64_t size() const { return elements.size(); }
};

// ---- numbers: numbers.cpp

/// The representation of one element type in memory and as a number.
struct Format {
  enum Kind { integer, f32, f64, ieee, other }; // ieee: at most 16 bits with infinities and subnormals; other: through APFloat
  Kind kind = integer;
  int64_t bits = 64;    // 64 for pointers and index
  int64_t bytes = 8;    // in memory; 1 for i1
  int64_t mantissa = 0; // its stored bits
  int64_t minExponent = 0;
  const llvm::fltSemantics *semantics = nullptr;

  uint64_t mask() const { return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }
};
/// True for supported types: (tiles of) integers up to 64 bits, floats up to f64 and pointers; block pointers; descriptors.
bool isSupported(mlir::Type type);
/// Returns the format of `type`'s elements.
Format formatOf(mlir::Type type);
double decodeFloat(const Format &format, uint64_t bits);
/// Rounds to nearest even. 8-bit formats saturate.
uint64_t encodeFloat(const Format &format, double value);
/// Rounds toward zero.
uint64_t encodeTowardZero(const Format &format, double value);
/// Returns a double that rounds to the same value as the integer, in every format of at most 32 bits.
double integerAsDouble(uint64_t magnitude, bool negative);
int64_t signExtend(uint64_t value, int64_t bits);
/// Returns the text that tt.print writes.
std::string printElement(const Format &format, bool isPointer, bool isSigned, bool hex, uint64_t bits);
/// Returns a readable text: shortest form, shape in brackets, long tiles truncated.
std::string describe(mlir::Type type, const Tile &tile);

// ---- pointers tagged with their argument
//
// If bounds are checked, the 16 unused high bits of a pointer are a tag: 0, or 1 + the index of the MemoryRange of its argument. Pointer
// arithmetic keeps the tag. A conversion to an integer and a store to memory drop it.

constexpr int64_t addressBits = 48;
constexpr uint64_t addressMask = (uint64_t(1) << addressBits) - 1;
inline uint64_t taggedPointer(uint64_t address, int64_t range) {
  return (address & addressMask) | uint64_t(range + 1) << addressBits;
}

// ---- the running programs: interpret.cpp

/// The state that the programs of one launch share.
struct Launch {
  mlir::ModuleOp module;
  std::array<int64_t, 3> grid;
  const InterpretOptions &options;
  std::optional<AccessHistory> history;      // if races are looked for
  std::vector<mlir::Operation *> operations; // by their number in the history
  llvm::DenseMap<mlir::Operation *, uint32_t> numbers;
  uint32_t stores = 0;  // executed so far
  uint64_t changes = 0; // of memory, so far
  int64_t work = 0;     // elements computed so far

  Launch(mlir::ModuleOp module, std::array<int64_t, 3> grid, const InterpretOptions &options)
      : module(module), grid(grid), options(options) {}
  uint32_t numberOf(mlir::Operation *op);
  uint64_t addressOf(uint64_t pointer) const { return options.checkBounds ? pointer & addressMask : pointer; }
  /// Returns `pointer` moved by `bytes`. It keeps its tag.
  uint64_t moved(uint64_t pointer, uint64_t bytes) const {
    if (!options.checkBounds) return pointer + bytes;
    return ((pointer + bytes) & addressMask) | (pointer & ~addressMask);
  }
};

class Program {
public:
  explicit Program(Launch &launch) : launch(launch), module(launch.module), grid(launch.grid), options(launch.options) {}

  const Tile &get(mlir::Value value) const { return values.find(value)->second; }
  void set(mlir::Value value, Tile tile) { values[value] = std::move(tile); }
  /// Records the error that ends the run.
  /// Returns the location of an operation, or null. For an operation of the language's library, returns the location of the user's call.
  mlir::FileLineColLoc locationOf(mlir::Operation *op) const;
  llvm::LogicalResult fail(mlir::Operation *op, const llvm::Twine &text);
  /// The same for an error of the interpreter, not of the kernel.
  llvm::LogicalResult giveUp(mlir::Operation *op, const llvm::Twine &text);
  /// Runs `region` from its first block, with `args` as that block's arguments, until a terminator leaves it. Returns the terminator's
  /// operands.
  llvm::FailureOr<llvm::SmallVector<Tile>> run(mlir::Region &region, llvm::SmallVector<Tile> args);
  llvm::FailureOr<llvm::SmallVector<Tile>> call(mlir::Operation *from, llvm::StringRef callee, llvm::SmallVector<Tile> args);

  Launch &launch;
  mlir::ModuleOp module;
  std::array<int64_t, 3> grid;
  std::array<int64_t, 3> id{};
  int64_t number = 0; // in launch order
  const InterpretOptions &options;
  std::unique_ptr<InterpretError> error;
  bool stopped = false;                         // by onStep
  llvm::SmallVector<mlir::Operation *> callers; // the active calls, outermost first
  /// Runs other programs until one has changed memory. Returns false if none can run, or the run has ended. Unset if there are no other
  /// programs.
  std::function<bool(mlir::Operation *)> waitForOthers;

  /// Starts another program of the grid, without computed values.
  void start(int64_t number);

private:
  llvm::LogicalResult step(mlir::Operation &op);

  llvm::DenseMap<mlir::Value, Tile> values;
  llvm::DenseMap<const void *, llvm::LogicalResult (*)(Program &, mlir::Operation *)> meanings; // by operation name
  llvm::DenseSet<mlir::Operation *> checked;                                                    // functions whose types are all supported
  int64_t steps = 0;
};

/// Returns `file:line:column` of an operation, or "".
std::string locationText(mlir::Operation *op);

/// The meaning of an operation: reads its operands from the program and sets its results.
using Meaning = llvm::LogicalResult (*)(Program &, mlir::Operation *);
/// Return the meaning of the operation `name`, or null. Each file has its own operations.
Meaning findElementwise(llvm::StringRef name); // elementwise.cpp: arith, math, casts, libm functions
Meaning findMemory(llvm::StringRef name);      // memory.cpp: loads, stores, atomics, block pointers, print and assert
Meaning findTile(llvm::StringRef name);        // tile.cpp: creation, shape, dot, reduce, scan
Meaning findControl(llvm::StringRef name);     // interpret.cpp: structured control flow, calls

/// Runs an operation's meaning, and reports NumPy's warnings about the result to options.onWarning.
llvm::LogicalResult runWatched(Program &program, mlir::Operation *op, Meaning meaning);

} // namespace tilewright::interp
