// Runs a kernel of the ptx dialect on the CPU, thread by thread: it judges the GPU lowering where there is no card. Besides results
// it reports what a card would usually hide: races in shared memory, missing proxy fences, accumulators read too early, deadlocks.
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

/// Host memory that stands for global memory: [begin, end), and the name to use for it in errors.
struct SimulatedMemory {
  uint64_t begin = 0;
  uint64_t end = 0;
  std::string name;
  /// False: it is not known where the tensor begins and ends, so every access through its argument is allowed.
  bool isKnown = true;
};

/// A pointer that says which of the SimulateOptions' memory it, and what is computed from it, may touch: the number is in
/// the upper 16 bits, which no address of a process uses. Sums of addresses and offsets keep it. -1: any of the memory.
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

/// The parameters of a kernel: `slots` for all that are not tensor maps, in their order, as bits in the parameter's type (addresses of
/// host memory for pointers); `maps` for the tensor maps.
struct SimulatedArguments {
  std::vector<uint64_t> slots;
  std::vector<SimulatedTensorMap> maps;
};

struct SimulateOptions {
  std::vector<SimulatedMemory> memory;
  /// Pointers of arguments carry their numbers: one without a number comes from memory, and may point to any memory that is mapped.
  bool tagsArguments = false;
  /// Two clusters that touch one byte, one of them storing, are an error unless atomics order them or both are atomics.
  bool checkRaces = false;
  /// Determines the order in which warps run and asynchronous copies finish.
  uint64_t seed = 0;
  /// After so many instructions, a warp counts as waiting for something that never happens.
  int64_t maxSteps = 200'000'000;
  /// Set to true by another thread, it ends the run with an error.
  const std::atomic<bool> *stop = nullptr;
  /// Receives each text that ptx.print makes. Without it, prints are dropped.
  std::function<void(llvm::StringRef)> print;
};

/// What a kernel did wrong. `text` names block, warp and lane; `location` is the instruction's and `other`, where there is one, that of
/// the access it collides with.
struct SimulationError {
  std::string text;
  mlir::Location location;
  std::optional<mlir::Location> other;

  /// `file:line:column: text (other: file:line:column)`
  std::string message() const;
};

/// Runs all blocks of `grid`, one cluster after another (x fastest), of the tt.func `entry` with a ptx.kernel attribute. Returns the first
/// error:
/// - an access outside of the given memory or the kernel's shared memory, a misaligned one, a warp-wide instruction with lanes missing;
/// - two warps (or a warp and an asynchronous copy) that touch the same bytes of shared memory, one of them writing, with nothing that
///   orders them. Warps are ordered by bar.sync and mbarriers; lanes of one warp by the order of its instructions;
/// - two warps of one cluster, or a warp and a TMA instruction, that do the same in global memory, unless both are atomics or store what is
///   there already. A TMA store is over behind a tma_wait that is not .read, and may land at any time until then;
/// - wgmma or a TMA instruction on bytes that a thread wrote without a fence_async of its own after it;
/// - accumulators used without a wgmma_wait between; a wgmma whose registers were written after the last wgmma_fence;
/// - a deadlock, with the place where each warp waits. Clusters that wait for memory to change let later ones run before;
/// - an operation that has no meaning here (ptx.inline).
/// Races between clusters are looked for where the options say so. Results are those of the PTX manual; matrix instructions add their
/// products in f64 and round once; approximate functions are libm's, rounded.
std::optional<SimulationError> simulate(mlir::ModuleOp module, llvm::StringRef entry, std::array<int64_t, 3> grid,
                                        const SimulatedArguments &args, const SimulateOptions &options);

} // namespace tilewright::gpu
