// The inside of the interpreter: how values are held, and what an operation's meaning may use. Private to interpret*.cpp.
#pragma once

#include "ir/interpret/interpret.h"
#include "ir/tt.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"

#include <memory>
#include <optional>

namespace tilewright::interp {

/// A strided tensor in memory, as a block pointer (with offsets) or a tensor descriptor (offsets are zero) names it.
struct MemoryBlock {
  uint64_t base = 0;
  llvm::SmallVector<int64_t, 4> shape, strides, offsets;
  bool padWithNan = false;
};

/// A value: the elements in row-major order (one for a scalar), or a block. The MLIR value's type has the shape and the element type.
/// An element is its bit pattern, zero-extended; so loads, stores, selections and bitcasts keep NaN payloads.
struct Tile {
  llvm::SmallVector<uint64_t, 1> elements;
  std::shared_ptr<const MemoryBlock> block;

  Tile() = default;
  explicit Tile(uint64_t scalar) : elements(1, scalar) {}
  Tile(int64_t count, uint64_t element) : elements(count, element) {}
  uint64_t scalar() const { return elements.front(); }
  int64_t size() const { return elements.size(); }
};

// ---- numbers: interpret_numbers.cpp

/// How one element type is held in memory and read as a number.
struct Format {
  enum Kind { integer, f32, f64, ieee, other }; // ieee: at most 16 bits with infinities and subnormals; other: through APFloat
  Kind kind = integer;
  int64_t bits = 64;    // 64 for pointers and index
  int64_t bytes = 8;    // in memory; 1 for i1
  int64_t mantissa = 0; // stored bits of it
  int64_t minExponent = 0;
  const llvm::fltSemantics *semantics = nullptr;

  uint64_t mask() const { return bits == 64 ? ~uint64_t(0) : (uint64_t(1) << bits) - 1; }
};
/// Whether values of `type` can be computed with: (tiles of) integers up to 64 bits, floats up to f64, pointers; block pointers,
/// descriptors.
bool isSupported(mlir::Type type);
/// The format of `type`'s elements.
Format formatOf(mlir::Type type);
double decodeFloat(const Format &format, uint64_t bits);
/// Rounds to nearest even. 8-bit formats saturate.
uint64_t encodeFloat(const Format &format, double value);
/// Rounds toward zero.
uint64_t encodeTowardZero(const Format &format, double value);
/// The double that rounds to the same value in every format of at most 32 bits as the integer itself does.
double integerAsDouble(uint64_t magnitude, bool negative);
int64_t signExtend(uint64_t value, int64_t bits);
/// As tt.print writes it.
std::string printElement(const Format &format, bool isPointer, bool isSigned, bool hex, uint64_t bits);
/// As a reader wants it: shortest form, shape in brackets, long tiles cut.
std::string describe(mlir::Type type, const Tile &tile);

// ---- the running program: interpret.cpp

class Program {
public:
  Program(mlir::ModuleOp module, std::array<int64_t, 3> grid, const InterpretOptions &options)
      : module(module), grid(grid), options(options) {}

  const Tile &get(mlir::Value value) const { return values.find(value)->second; }
  void set(mlir::Value value, Tile tile) { values[value] = std::move(tile); }
  /// Records the error that ends the run.
  llvm::LogicalResult fail(mlir::Operation *op, const llvm::Twine &text);
  /// Runs `region` from its first block with `args` as that block's arguments, until an operation that leaves it; the results are that
  /// operation's operands.
  llvm::FailureOr<llvm::SmallVector<Tile>> run(mlir::Region &region, llvm::SmallVector<Tile> args);
  llvm::FailureOr<llvm::SmallVector<Tile>> call(mlir::Operation *from, llvm::StringRef callee, llvm::SmallVector<Tile> args);
  /// Whether `bytes` at `address` may be touched; records an error otherwise. `element` is the row-major place in the tile of `type`.
  llvm::LogicalResult checkAccess(mlir::Operation *op, uint64_t address, int64_t bytes, mlir::Type type, int64_t element);

  mlir::ModuleOp module;
  std::array<int64_t, 3> grid;
  std::array<int64_t, 3> id{};
  const InterpretOptions &options;
  std::unique_ptr<InterpretError> error;
  bool stopped = false; // by onStep

  /// Begins the next program of the grid with nothing computed.
  void start(std::array<int64_t, 3> program);

private:
  llvm::LogicalResult step(mlir::Operation &op);

  llvm::DenseMap<mlir::Value, Tile> values;
  llvm::DenseMap<const void *, llvm::LogicalResult (*)(Program &, mlir::Operation *)> meanings; // by operation name
  llvm::DenseSet<mlir::Operation *> checked;                                                    // functions whose types are all supported
  int64_t depth = 0;
  int64_t steps = 0;
};

/// What an operation does: reads its operands from the program and sets its results.
using Meaning = llvm::LogicalResult (*)(Program &, mlir::Operation *);
/// The meaning of the operation called `name`, or null. Each file knows its own operations.
Meaning findElementwise(llvm::StringRef name); // interpret_elementwise.cpp: arith, math, casts, libm functions
Meaning findMemory(llvm::StringRef name);      // interpret_memory.cpp: loads, stores, atomics, block pointers, print and assert
Meaning findTile(llvm::StringRef name);        // interpret_tile.cpp: creation, shape, dot, reduce, scan
Meaning findControl(llvm::StringRef name);     // interpret.cpp: structured control flow, calls

} // namespace tilewright::interp
