// The schedule of a loop: which operation runs for which iteration, in which order and in which partition; the circular buffers that it
// needs; and the MMAs that stay in flight. schedule-loops decides it and writes it as the attribute `ttg.loop_schedule` of the loop.
// pipeline-loops reads the attribute and rewrites the loop.
#pragma once

#include "gpu/cost_model/accumulators.h"
#include "gpu/cost_model/registers.h"
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/loop_iterations.h"
#include "gpu/schedule/shared_plan.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include <optional>
#include <string>

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// A load that only feeds a buffer.
struct Copy {
  mlir::Operation *load = nullptr; ///< ttg.descriptor_load, or tt.load by cp.async
  ttg::StoreSharedOp store;
  ttg::AllocOp alloc;
};

/// Copies of one loop that arrive together. Each has a buffer of `stages` tiles; iteration i uses stage i mod stages.
struct CircularBuffer {
  bool tma = false; ///< otherwise cp.async
  llvm::SmallVector<Copy> copies;
  // Found in the loop. All operations stand in its body.
  mlir::Operation *firstReader = nullptr;
  mlir::Operation *endOfReads = nullptr; ///< after it, the warp has read the iteration's stage: the last reader, or the wait that drains it
  bool threadsRead = false;              ///< by load_shared or fma_dot
  bool mmasRead = false;                 ///< by wgmma
  // Scheduled.
  int64_t distance = 0; ///< how many iterations a copy is ahead of its readers; 0 with a producer warp, which runs ahead as far as it can
  mlir::Operation *copyAfter = nullptr; ///< the copies stand after it; null: at the top of the iteration
  /// After it an iteration has read its stage; null: at the top. A producer warp learns of that by an arrival at the empty barrier. Without
  /// one, insert-barriers orders the reads and the copies. If it is the fence of computed operands, their barrier does that.
  mlir::Operation *releaseAfter = nullptr;

  /// True if all copies are rows of numbers, not tiles.
  bool holdsRows() const;
  /// Adds the copies of another buffer, which are first read no earlier.
  void append(const CircularBuffer &other);
};

/// An MMA that stays in flight across the back edge: that of iteration i has finished after `until` of iteration i + 1, which is an MMA or
/// a wait.
struct AsyncEdge {
  ttg::MmaAsyncOp mma;
  mlir::Operation *until = nullptr;
};

/// A load that fills a buffer in its own iteration, and the reason why it cannot run ahead (for people).
struct UnpipelinedLoad {
  mlir::Operation *load = nullptr;
  std::string reason;
};

struct LoopSchedule {
  mlir::scf::ForOp loop;
  llvm::StringRef policy;                            ///< the policy that wrote it
  int64_t requested = 1;                             ///< num_stages
  int64_t stages = 1;                                ///< depth of the circular buffers
  llvm::SmallVector<CircularBuffer> circularBuffers; ///< none: the loop has no load that may run ahead
  llvm::SmallVector<UnpipelinedLoad> unpipelined;
  llvm::SmallVector<ttg::StoreSharedOp> computed; ///< stores of MMAs' operands that threads make, to circular buffers of their own
  int64_t computedStages = 2;                     ///< the depth of those
  bool operandPartition = false;                  ///< a partition of its own makes them, into as many stages as the copies have
  /// After it, the consumers release what that partition stored, by empty barriers of its own. The copies' `releaseAfter` then releases the
  /// stage of its own iteration, also where MMAs stay in flight. Null: both are released together.
  mlir::Operation *computedReleaseAfter = nullptr;
  llvm::SmallVector<tt::LoadOp> registerLoads; ///< loads to registers that run one iteration ahead
  int64_t registersForWords = 0;               ///< of a thread, which widened register loads may hold in addition
  bool loadsWholeRows = false;                 ///< widened register loads bring 16 bytes of a row at a time, if a thread holds whole rows
  /// With an operand partition: the consumers' fence after their reads of copies stands right after the last one, and their loads to
  /// registers after the fence. Otherwise it stands before they read what the partition stores, and these loads after the first MMA.
  bool fencesEarly = false;
  llvm::SmallVector<AsyncEdge> edges;    ///< MMAs in flight; without any, an iteration waits for all of its own
  mlir::Operation *shiftedMma = nullptr; ///< an MMA that runs for another iteration than the rest of the loop; null: none does
  int64_t shift = 0;           ///< of `shiftedMma`: the iteration that it runs for, relative to the loop: 1 the next, -1 the previous one
  bool crossTile = false;      ///< the first copies of the loop's next run start after this one
  bool continued = false;      ///< the circular buffers are those of the pipelined loop before it
  bool storesInFlight = false; ///< TMA stores are waited for when their buffer is written again
  bool storesPerWarpGroup = false; ///< each warp group stores the rows that it holds
  bool warpSpecialized = false;    ///< a producer warp starts the copies
  bool paired = false;             ///< the MMAs are those of a pair of CTAs (pair_ctas.cpp)
  bool runsDecoupled = false;      ///< with warp specialization no warp group waits for another from tile to tile

  /// The copies of all circular buffers.
  llvm::SmallVector<Copy> copies() const;
  /// True if a wait, not the next MMA, drains the MMA in flight.
  bool drainsAtWait() const { return !edges.empty() && llvm::isa<ttg::MmaAsyncWaitOp>(edges.front().until); }
};

/// Writes the schedule as the attribute `ttg.loop_schedule` of its loop, with `ttg.id` on the operations that it names. `nextId` numbers
/// them. `reason`: why there are fewer stages than requested.
void writeSchedule(const LoopSchedule &schedule, llvm::StringRef reason, int64_t &nextId);
/// Reads the attribute back. Reports an error if it names an operation that the loop does not have, or one of another kind.
mlir::FailureOr<LoopSchedule> readSchedule(mlir::scf::ForOp loop);
/// What is wrong with a schedule, as text, or null: every iteration's wait must have its arrival, and a stage may be filled again only
/// after all threads have read it (verify_schedule.cpp).
std::optional<std::string> verify(const LoopSchedule &schedule);
/// The same of the operands that threads compute, with or without circular buffers that copies fill.
std::optional<std::string> verifyComputed(const LoopSchedule &schedule);

/// True if a program may learn in `within`, a function or a loop, that another program has written something: from an atomic's result, a
/// volatile load or impure assembly. A load that moves before that, or that another partition makes, would read too early.
bool mayLearnOfWrites(mlir::Operation *within);
/// Returns why a load that feeds `alloc` cannot run ahead in its loop, as text; null if it can.
std::optional<std::string> prefetchObstacle(mlir::Operation *load, ttg::AllocOp alloc, mlir::scf::ForOp loop, bool mayCopyAsync);

/// Finds the loads of the loop that may run ahead, and the operands of MMAs that threads compute. Nothing is scheduled yet.
LoopSchedule findPrefetchableLoads(mlir::scf::ForOp loop, bool mayCopyAsync);
/// Finds the readers of the buffer's copies. False if something else accesses the buffers, or reads do not end within an iteration.
bool findReaders(CircularBuffer &circular, mlir::Block *body);

/// True if all CTAs of a cluster load the same tile, in the same iterations of the loops around it.
bool isSameInAllCtas(ttg::DescriptorLoadOp load);
/// True if all CTAs of a cluster load the same tile in every iteration, so
/// that each can bring a part of it (multicast.cpp): only MMAs may read it.
bool isMulticastToAllCtas(const CircularBuffer &circular, const Copy &copy, ttg::ConfigAttr config);
/// How they share a tile's boxes: they alternate in whole boxes (1), or each brings
/// its rows of every box (as many parts as CTAs). Null if neither is possible.
std::optional<int64_t> partsPerBox(ttg::BufferType tile, int64_t blocks);
/// Why the CTAs of a cluster cannot fill one another's stages, as far as the kernel outside its loops decides that.
std::optional<std::string> multicastObstacle(tt::FuncOp function);
/// Why a kernel with these loops, placed, has no warp that only starts copies; null if it gets one (specialize_warps.cpp).
std::optional<std::string> warpSpecializationObstacle(llvm::ArrayRef<LoopSchedule> loops, ttg::ConfigAttr config, const GpuTarget &target);
/// The same, as far as no schedule decides it.
std::optional<std::string> warpSpecializationObstacle(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);
/// The launch guards under which the loop does not write what `load` reads, so that the load can run ahead. Null if it may write that:
/// after an atomic operation nothing is known.
std::optional<LaunchGuards> noWriteGuards(tt::LoadOp load, mlir::scf::ForOp loop);
/// Starts the schedule's `shiftedMma` of the next iteration at the top of each, after `top`, and carries its result. `arrival` waits for
/// its circular buffer; `first`: stage and parity of the first iteration, `next`: of the next one. Returns the loop that has taken the
/// place of the schedule's.
mlir::scf::ForOp prefetchMma(const LoopSchedule &schedule, ttg::BarrierWaitOp arrival, mlir::ValueRange first, mlir::ValueRange next,
                             mlir::Operation *top);

/// Gives each buffer that threads fill for MMAs several stages, which iterations use alternately: one is filled while MMAs read the others.
void multiBuffer(LoopSchedule &schedule);
/// Schedules the loop's loads to registers one iteration ahead, as far as they can be; none if `registers` of a thread do not suffice.
void addRegisterLoads(LoopSchedule &schedule, int64_t registers);
/// Marks the fence after the computed operands, so that threads store each part of them before they compute the next one
/// (thread/interleave_stores.cpp).
void markInterleavedStores(LoopSchedule &schedule);
/// Runs the schedule's `registerLoads` an iteration ahead: at the top of the loop, or after an operation.
void prefetchRegisterLoads(LoopSchedule &schedule, llvm::function_ref<mlir::Operation *(tt::LoadOp)> after = {});

/// Replaces a load by a load of words, each of which holds the elements of several iterations. The next words are loaded an iteration
/// early, before `insertionPoint`. `registers`: those of a thread that may hold words. False if no word holds several iterations
/// (widen_loads.cpp).
bool widenLoad(LoopSchedule &schedule, tt::LoadOp load, int64_t registers, mlir::Operation *insertionPoint);

/// True if an iteration of the loop, from its first MMA `firstMma` on,
/// can be cut into two parts, the second of which runs one iteration late.
bool canPipelineTwoStages(mlir::scf::ForOp loop, ttg::MmaAsyncOp firstMma);
/// Cuts it: the loop has one iteration less, and the missing parts stand before and after it. Returns the new loop.
/// Reports a bug if a barrier wait has no reader after it.
mlir::FailureOr<mlir::scf::ForOp> pipelineTwoStages(mlir::scf::ForOp loop, ttg::MmaAsyncOp firstMma);

/// Lets the schedule's MMAs stay in flight. Returns the wait that drains those of the previous iteration.
mlir::Operation *keepInFlight(LoopSchedule &schedule);

/// Returns the loop at the top of the kernel whose body has this loop: over the tiles of a persistent program, if it is one. Null if there
/// is none.
mlir::scf::ForOp topLevelLoopAround(mlir::scf::ForOp loop);
/// The loop around the schedule's whose next iteration's first copies can be started early, after the MMAs of this one; null if there
/// is none.
mlir::scf::ForOp persistentLoop(const LoopSchedule &schedule);
/// The buffers through which tiles leave a loop, as they are used if stores stay in flight: one for all tiles of a type, throughout the
/// loop.
llvm::SmallVector<DeeperBuffer> buffersHeldByStores(mlir::scf::ForOp loop);
/// Lets the stores of a loop stay in flight until their buffer is written again.
void letStoresRun(mlir::scf::ForOp loop);

/// Returns the store to shared memory that writes what a TMA store takes from its buffer: the last one before it in its block. Null if
/// there is none.
ttg::StoreSharedOp writeOf(ttg::TmaStoreOp store);
/// A result on its way out, in a loop: store_shared    fence_async    tma_store    tma_store_wait 0. The buffer has no other use.
struct TileStore {
  ttg::AllocOp alloc;
  ttg::StoreSharedOp write;
  ttg::TmaStoreOp store;
  ttg::TmaStoreWaitOp wait;
};
llvm::SmallVector<TileStore> storesOf(mlir::scf::ForOp loop);
/// True if each of two warpgroups can store the rows that it holds, without ever touching memory that the other stores to
/// (per_warp_group_store.cpp).
bool canStorePerWarpGroup(mlir::scf::ForOp tiles);
/// Lets them do that, once stores stay in flight: a warpgroup only synchronizes its own warps.
void storePerWarpGroup(mlir::scf::ForOp tiles);

} // namespace tilewright::gpu
