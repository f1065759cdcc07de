// The simulator's tensor memory and the asynchronous operations of tcgen05. docs/stages/gpu_blackwell.md has the rules.
//
// Two counters of a thread's mma, cp and shift are components of its CTA's clocks (simulate_program.h). `complete` counts those that are
// known to be complete: tcgen05_commit adds it to an mbarrier's phase. `fenced` counts those that the thread has executed before a
// tcgen05_fence before: they run before later operations that form a pipeline with them. A warp's loads and stores have the
// same two counters: `complete` counts those that were waited for, and `fenced` those of them before a tcgen05_fence before. A
// tcgen05_fence after remembers the clocks; an asynchronous operation is ordered after an access only if the remembered clocks have reached
// it.
#pragma once

#include "gpu/machine/descriptors.h"

#include "llvm/ADT/SmallVector.h"

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tilewright::gpu::sim {

class Warp;
class Cta;
struct Step;
using Clock = std::vector<uint32_t>;

enum class TensorKind { load, store, mma, copy, shift, commit, dealloc };

/// One access to tensor memory, as the checks of later accesses need it.
struct TensorAccess {
  TensorKind kind = TensorKind::load;
  const Step *step = nullptr;
  Warp *warp = nullptr;
  int64_t lane = -1;                          // the thread; -1: the whole warp
  int64_t complete = -1;                      // component of the CTA's clocks
  int64_t fenced = -1;                        // component; only of mma, copy and shift
  uint32_t number = 0;                        // of this access in both counters
  uint64_t d = 0;                             // an MMA: its accumulator
  std::optional<InstructionDescriptor> shape; // an MMA
};

/// A word of tensor memory. Accesses are numbers in Cluster::tensorAccesses; 0: none.
struct TensorCell {
  uint32_t value = ~uint32_t(0);
  uint32_t write = 0;
  llvm::SmallVector<uint32_t, 2> reads; // since the write
};

/// A read of 16 bytes of shared memory by the tensor core.
struct TensorRead {
  Warp *warp;
  int64_t complete;
  uint32_t number, op;
};

/// An alloc, dealloc or relinquish of a CTA. With cta_group 2, the n-th ones of both CTAs are executed together.
struct TensorManagement {
  uint32_t op = 0;
  int64_t columns = 0;
  std::optional<int64_t> first; // column; set when an alloc is done
};

struct TensorAllocation {
  int64_t first, columns;
  uint32_t op;
};

/// Tensor memory of one CTA.
struct TensorMemory {
  std::vector<TensorCell> cells;                      // by column, then by lane; empty until the first allocation
  std::array<bool, 512> allocated{};                  // by column
  std::array<std::optional<uint32_t>, 512> freedBy{}; // by column: the dealloc of this CTA or of its peer that has begun
  std::vector<TensorAllocation> allocations;
  std::vector<TensorManagement> managements;
  std::optional<int64_t> owner;         // the warp that allocates
  std::optional<uint32_t> relinquished; // the operation
  int64_t lastColumns = 512;            // of the last allocation
};

/// A counter of one thread or warp, and its components of the CTA's clocks.
struct TensorCounter {
  int64_t complete = -1, fenced = -1;
  uint32_t issued = 0, waited = 0;
};

/// What a warp has executed.
struct WarpTensor {
  std::array<TensorCounter, 32> threads; // mma, cp, shift
  TensorCounter loads, stores;
  using Clocks = std::shared_ptr<const std::vector<Clock>>;
  std::array<Clocks, 32> seen; // by lane: the clocks for each CTA at the last tcgen05_fence after
};

/// An asynchronous operation that was issued and has not executed.
struct TensorOperation {
  TensorAccess access;
  uint64_t a = 0, b = 0; // the operands; cp: a is the matrix
  uint64_t scaleA = 0, scaleB = 0;
  bool accumulate = false;
  std::array<uint32_t, 8> disabled{};
  uint64_t barrier = 0;     // a commit
  uint32_t ctas = 0;        // a commit: ranks
  std::vector<Clock> known; // a commit: what the arrival tells about each CTA
};

/// Accesses of one operation to tensor memory, with the checks of each word.
class TensorChecker {
public:
  TensorChecker(Warp &warp, const Step &step, const TensorAccess &access);
  /// Records an access to a word of a CTA's tensor memory. False after an error.
  bool touch(Cta &cta, int64_t lane, int64_t column, bool writes);
  /// Checks that all earlier accesses to a word come before this one, which is not recorded. False after an error.
  bool isUnused(Cta &cta, int64_t lane, int64_t column);

private:
  bool isOrdered(uint32_t earlier);
  bool check(uint32_t earlier, int64_t lane, int64_t column, bool writes);

  Warp &warp;
  const Step &step;
  uint32_t number;
  llvm::SmallVector<uint32_t, 8> ordered, unordered; // earlier accesses with a known answer
};

/// True if two asynchronous operations execute in the order of their issue.
bool isPipelined(const TensorAccess &first, const TensorAccess &second);
/// Returns what is missing between an access and a later one, or an empty string.
std::string missingBetween(const TensorAccess &earlier, const TensorAccess &later);
/// Returns the other CTA of a pair, or null after an error.
Cta *peerOf(Warp &warp, const Step &step);
/// Executes an operation: computes, or arrives at mbarriers. False after an error.
bool executeTensor(TensorOperation &operation);
/// Reads 16 bytes of a CTA's shared memory by the tensor core: checks the order, and records the read. False after an error.
bool readByTensorCore(Warp &warp, const Step &step, const TensorAccess &access, Cta &cta, uint64_t address);

} // namespace tilewright::gpu::sim
