// Simulates a kernel of the ptx dialect on the CPU, thread by thread, to check the GPU lowering without a GPU. It also reports errors that
// a GPU usually hides: races in shared memory, missing proxy fences, accumulators read too early, deadlocks.
#pragma once

#include "support/artifact.h"

#include "mlir/IR/Location.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
} // namespace mlir

namespace tilewright::gpu {

/// Host memory that stands for global memory: [begin, end), and its name in errors.
struct SimulatedMemory {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string name;
  /// False: the bounds of the tensor are unknown, so every access through its argument is allowed.
  bool isKnown = true;
};

/// Returns a pointer that may only access one of the SimulateOptions' memories. The number of the memory is in the upper 16 bits, which no
/// address of a process uses; sums of addresses and offsets keep it. -1: any of the memories.
uint64_t pointerInto(uint64_t address, int64_t memory);

/// A tensor map as the driver would encode it. Dimensions are innermost first; the innermost stride is one element, so `strides` holds
/// those of dims 1.. in elements.
struct SimulatedTensorMap {
  uint64_t base = 0;
  MapElement element = MapElement::u8;
  std::vector<int64_t> dims;
  std::vector<int64_t> strides;
  std::vector<int64_t> box;
  int64_t swizzle = 0; // bytes: 0, 32, 64, 128
  bool nanFill = false;
};

/// The parameters of a kernel. `slots`: all but the tensor maps, in order, as bits in the parameter's type (host addresses for pointers).
/// `maps`: the tensor maps.
struct SimulatedArguments {
  std::vector<uint64_t> slots;
  std::vector<SimulatedTensorMap> maps;
};

/// When asynchronous operations (TMA, tcgen05) execute: at random, only when no thread can go on, or at once. Each order is legal.
enum class AsyncTiming { random, late, early };

/// The error of instructions that approximate a function of f32: none beyond the rounding of the result, or the largest one that PTX
/// allows, downward or upward, or one within these bounds that depends on the operand. With an error, products and sums are also fused as
/// ptxas may fuse them.
enum class ApproximationError { none, down, up, mixed };

struct SimulateOptions {
  std::vector<SimulatedMemory> memory;
  /// If true, pointers of arguments have memory numbers. A pointer without one was loaded from memory, and may point to any mapped memory.
  bool tagsArguments = false;
  /// If true, accesses of two clusters to one byte, at least one a store, are an error, unless atomics order them or both are atomics.
  bool checkRaces = false;
  /// Determines the order in which warps run and asynchronous copies complete, and the lane that elect chooses: seed % 32.
  uint64_t seed = 0;
  AsyncTiming timing = AsyncTiming::random;
  ApproximationError error = ApproximationError::none;
  /// If false, only operations with the `contract` flag may be fused.
  bool mayFuse = true;
  /// CTAs of this kernel that an SM may hold at the same time. They share its tensor memory.
  int64_t ctasPerSM = 1;
  /// After this many instructions the simulator reports that the warp waits for something that never happens.
  int64_t maxSteps = 200'000'000;
  /// Another thread sets it to true to end the run with an error.
  const std::atomic<bool> *stop = nullptr;
  /// Receives each text of ptx.print. If empty, prints are dropped.
  std::function<void(llvm::StringRef)> print;
};

/// An error of a kernel. `text` names the CTA, warp and lane. `location` is that of the instruction, and `other`, if present, that of the
/// access it conflicts with.
struct SimulationError {
  std::string text;
  mlir::Location location;
  std::optional<mlir::Location> other;

  /// `file:line:column: text (other: file:line:column)`
  std::string message() const;
};

/// Runs all CTAs of `grid`, one cluster after another (x fastest), of the tt.func `entry` with a ptx.kernel attribute. Returns the first
/// error:
/// - an access outside the given memory or the kernel's shared memory, a misaligned one, a warp-wide instruction with inactive lanes;
/// - two warps (or a warp and an asynchronous copy) that access the same bytes of shared memory, at least one writing, without an order.
///   bar.sync and mbarriers order warps; the order of a warp's instructions orders its lanes;
/// - the same for two warps of one cluster, or a warp and a TMA instruction, in global memory. Two atomics do not race, nor does a store of
///   the value that memory already holds. A TMA store is complete after a tma_wait without .read, and may write at any time before;
/// - wgmma or a TMA instruction on bytes that a thread has written without executing fence_async afterwards;
/// - a broken rule of tensor memory, tcgen05 or cluster launch control, with its section of the PTX ISA (docs/stages/gpu_blackwell.md);
/// - accumulators used without a wgmma_wait; a wgmma whose registers were written after the last wgmma_fence;
/// - a deadlock, with the location where each warp waits. A cluster that waits for memory to change lets later clusters run;
/// - an operation that the simulator does not support (ptx.inline).
/// Races between clusters are checked only with `checkRaces`. Results follow the PTX manual. Matrix instructions accumulate in f64 and
/// round once.
std::optional<SimulationError> simulate(mlir::ModuleOp module, llvm::StringRef entry, std::array<int64_t, 3> grid,
                                        const SimulatedArguments &args, const SimulateOptions &options);

} // namespace tilewright::gpu
