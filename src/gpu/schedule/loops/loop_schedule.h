// The schedule of a loop: which operation runs for which iteration, in which order and in which partition; the circular buffers that it
// needs; and the MMAs that stay in flight. schedule-loops decides it and writes it as the attribute `ttg.loop_schedule` of the loop.
// pipeline-loops reads the attribute and rewrites the loop.
#pragma once

#include "gpu/schedule/mma_waits.h"
#include "support/result.h"

#include "llvm/ADT/SetVector.h"

#include <string>

namespace tilewright::gpu {

/// A load that only feeds a buffer.
struct Copy {
  mlir::Operation *load = nullptr; ///< ttg.descriptor_load, or tt.load by cp.async
  ttg::StoreSharedOp store;
  ttg::AllocOp alloc;
  bool multicast = false;                       ///< scheduled: each CTA of the cluster copies a part to all of them (multicast.h)
  ttg::Lifetime lifetime = ttg::Lifetime::uses; ///< scheduled: for how long other CTAs may write the buffer
};

/// Copies of one loop that arrive together, as they are found in it. All operations stand in its body.
struct CopiedTiles {
  bool tma = false; ///< otherwise cp.async
  llvm::SmallVector<Copy> copies;
  mlir::Operation *firstReader = nullptr;
  mlir::Operation *endOfReads = nullptr; ///< after it, the warp has read the iteration's stage: the last reader, or the wait that drains it
  bool threadsRead = false;              ///< by load_shared or fma_dot
  bool mmasRead = false;                 ///< by wgmma

  bool onlyMmasRead() const { return mmasRead && !threadsRead; }
  /// The load of a copy after which no other one stands.
  mlir::Operation *lastLoad() const;
  /// True if all copies are rows of numbers, not tiles.
  bool holdsRows() const;
  /// Adds the copies of another buffer, which are first read no earlier.
  void append(const CopiedTiles &other);
  /// What the copies of an iteration need: the operands of all loads, one after the other.
  llvm::SmallVector<mlir::Value> operands() const;
};

/// When copies fill stages, and when these are released. A policy decides it, but for `firstWarp`.
struct StageUse {
  bool firstWarp = false; ///< of the consumers, only the first warp waits for the copies and releases stages: it issues all MMAs
  int64_t fillOrder = 0;  ///< with a producer warp: where its copies come in an iteration, among those of all circular buffers
  int64_t distance = 0;   ///< how many iterations a copy is ahead of its readers; 0 with a producer warp, which runs ahead as far as it can
  mlir::Operation *copyAfter = nullptr; ///< the copies stand after it; null: at the top of the iteration
  /// After it an iteration has read its stage; null: at the top. A producer warp learns of that by an arrival at the empty barrier. Without
  /// one, insert-barriers orders the reads and the copies.
  mlir::Operation *releaseAfter = nullptr;
};

/// Copies that arrive together: each has a buffer of `stages` tiles, and iteration i uses stage i mod stages.
struct CircularBuffer : CopiedTiles, StageUse {};

/// A load that fills a buffer in its own iteration, and the reason why it cannot run ahead (for people).
struct UnpipelinedLoad {
  mlir::Operation *load = nullptr;
  std::string reason;
};

/// How a partition that computes an operand of MMAs, and the consumers, share a loop.
struct OperandPlan {
  /// After it, the consumers release what the partition has stored, by empty barriers of its own. The copies' `releaseAfter` then releases
  /// the stage of its own iteration, also where MMAs stay in flight. Null: both are released together.
  mlir::Operation *releaseAfter = nullptr;
  bool loadsWholeRows = false; ///< widened register loads bring 16 bytes of a row at a time, if a thread holds whole rows
  /// The consumers' fence after their reads of copies stands right after the last one, and their loads to registers after the fence.
  /// Otherwise it stands before they read what the partition stores, and these loads after the first MMA.
  bool fencesEarly = false;
};

/// What a loop loads, and what its threads compute for MMAs. It is found in the loop, before anything is decided.
struct LoopLoads {
  mlir::scf::ForOp loop;
  int64_t requested = 1;                             ///< num_stages
  llvm::SmallVector<CircularBuffer> circularBuffers; ///< none: the loop has no load that may run ahead
  llvm::SmallVector<UnpipelinedLoad> unpipelined;
  llvm::SmallVector<ttg::StoreSharedOp> computed; ///< stores of MMAs' operands that threads make, to circular buffers of their own
  bool operandPartition = false;                  ///< a partition of its own makes these operands (operand_partition.h)
  bool paired = false;                            ///< the MMAs are those of a pair of CTAs (pair_ctas.cpp)

  mlir::Block *body() const { return mlir::scf::ForOp(loop).getBody(); }
  /// The copies of all circular buffers.
  llvm::SmallVector<Copy> copies() const;
  /// The operations of an iteration that the operand partition's stores are computed from.
  llvm::SetVector<mlir::Operation *> operandPartitionOps() const;
};

/// What a policy decides, next to what it writes on each circular buffer.
struct PolicyDecision {
  llvm::StringRef policy;
  llvm::SmallVector<MmaEdge> edges;      ///< of distance 1: MMAs in flight; without any, an iteration waits for all of its own
  mlir::Operation *shiftedMma = nullptr; ///< an MMA that runs for another iteration than the rest of the loop; null: none does
  int64_t shift = 0;       ///< of `shiftedMma`: the iteration that it runs for, relative to the loop: 1 the next, -1 the previous one
  OperandPlan operandPlan; ///< of a loop with an operand partition
  llvm::SmallVector<tt::LoadOp> registerLoads; ///< loads to registers that run one iteration ahead
  int64_t registersForWords = 0;               ///< of a thread, which widened register loads may hold in addition

  /// True if a wait, not the next MMA, drains the MMA in flight.
  bool drainsAtWait() const { return !edges.empty() && llvm::isa<ttg::MmaAsyncWaitOp>(edges.front().until); }
};

/// All of it, and what depends on the other loops and the memory of the kernel.
struct LoopSchedule : LoopLoads, PolicyDecision {
  int64_t stages = 1;                   ///< depth of the circular buffers that copies fill, and of those of an operand partition
  int64_t computedStages = 2;           ///< depth of the buffers of computed operands
  bool warpSpecialized = false;         ///< a producer warp starts the copies
  bool crossTile = false;               ///< the first copies of the loop's next run start after this one
  mlir::Operation *continues = nullptr; ///< the loop before it whose circular buffers these are, or what has its number now; null: none
  bool storesInFlight = false;          ///< TMA stores are waited for when their buffer is written again
  bool storesPerWarpGroup = false;      ///< each warp group stores the rows that it holds
  std::string reason;                   ///< why there are fewer stages than requested, for people; empty if there are not
};

/// Writes the schedule as the attribute `ttg.loop_schedule` of its loop, with `ttg.id` on the operations that it names. `nextId` numbers
/// them.
void writeSchedule(const LoopSchedule &schedule, int64_t &nextId);
/// Reads the attribute back. Reports an error if it names an operation that the loop does not have, or one of another kind.
mlir::FailureOr<LoopSchedule> readSchedule(mlir::scf::ForOp loop);

/// Checks a schedule, before and after it is written: every iteration's wait must have its arrival, and a stage may be filled again only
/// after all threads have read it (verify_schedule.cpp).
Result<void> verify(const LoopSchedule &schedule);
/// The part of it about the operands that threads compute, with or without circular buffers that copies fill.
Result<void> verifyComputed(const LoopSchedule &schedule);

} // namespace tilewright::gpu
