// A kernel decoded for the model of an SM: what each operation costs, and how its integers are computed.
#pragma once

#include "gpu/sm_model/operations.h"
#include "ir/integer_value.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <vector>

namespace tilewright::gpu::model {

/// What executes an operation.
enum class Unit : uint8_t { none, fp32, alu, special, shared, tensor, tensorMemory, allTensorCores, other };
constexpr size_t units = static_cast<size_t>(Unit::other) + 1;

struct Body;

struct Node {
  mlir::Operation *op = nullptr;
  const ModeledOperation *modeled = nullptr; ///< null: of another dialect than ptx
  Unit unit = Unit::other;
  double issue = 1;                   ///< instructions
  double occupancy = 0;               ///< cycles of the unit
  double sharedCycles = 0;            ///< of shared memory, in which an asynchronous operation reads its operands
  double latency = arithmeticLatency; ///< cycles
  bool isAsync = false;               ///< the warp does not wait for the unit
  double queue = 0;                   ///< operations of a warp that wait for the unit before the warp has to
  double bytes = -1;                  ///< of global memory that a warp's access moves; negative: not yet known
  llvm::SmallVector<int32_t, 4> operands, results;
  llvm::SmallVector<int32_t, 4> waits; ///< operands whose values must be there before it issues
  std::vector<Body> bodies;
  bool isFree() const { return unit == Unit::none; } ///< it is part of another instruction, or of none
  bool isProgramLoop = false;                        ///< its condition is the response to a request to cancel a launch
  bool isSpinLoop = false;                           ///< it repeats an attempt to acquire a lock
  bool acquires = false, releases = false;           ///< a lock
};

struct Body {
  llvm::SmallVector<int32_t> arguments, yielded;
  std::vector<Node> nodes; ///< without the terminator
  bool isFlat = true;      ///< no loops in it
  size_t size = 0;         ///< operations, nested ones included
};

struct Code {
  Body body;
  int32_t values = 0;
  llvm::DenseMap<mlir::Value, int32_t> numbers;
  std::vector<bool> differsInWarp; ///< for each value: lanes may have different ones

  int32_t number(mlir::Value value);
};

/// `fusesMultiplyAdd`: a * b + c is one instruction.
Code decode(mlir::Region &region, const SmRates &rates, bool fusesMultiplyAdd);

} // namespace tilewright::gpu::model
