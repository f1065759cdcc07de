// Which loads of a loop run ahead of it, and where their buffers are read and written again: the schedule that the pipeline
// acts on. It is plain data, so that a pass that splits a loop by partitions (copies here, MMAs there) can read it as well.
#pragma once

#include "gpu/schedule/shared_plan.h"
#include "gpu/tiles/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"

#include <optional>
#include <string>

namespace tilewright {
struct GpuTarget;
}

namespace tilewright::gpu {

/// Warps that wgmma multiplies with together.
constexpr int64_t warpsOfGroup = 4;

/// A load that only feeds a buffer.
struct Copy {
  mlir::Operation *load = nullptr; ///< ttg.descriptor_load, or tt.load by cp.async
  ttg::StoreSharedOp store;
  ttg::AllocOp alloc;
};

/// Copies of one loop that are needed at the same place: they arrive together. Each has a buffer of `stages` tiles; iteration i uses
/// stage i mod stages.
struct CircularBuffer {
  bool tma = false; ///< otherwise cp.async
  llvm::SmallVector<Copy> copies;
  mlir::Operation *firstReader = nullptr; ///< in the loop's body, as all operations here
  mlir::Operation *endOfReads = nullptr; ///< after it, the warp has read the iteration's stage: the last reader, or the wait that drains it
  bool threadsRead = false;              ///< by load_shared or fma_dot
  bool mmasRead = false;                 ///< by wgmma
  int64_t releaseDistance = 1;           ///< the refill of iteration i goes to the stage of iteration i - releaseDistance
  int64_t distance(int64_t stages) const { return stages - releaseDistance; } ///< how many iterations a copy is ahead
};

/// A load that fills a buffer in its own iteration, and the reason why it cannot run ahead (for people).
struct UnpipelinedLoad {
  mlir::Operation *load = nullptr;
  std::string reason;
};

struct LoopSchedule {
  mlir::scf::ForOp loop;
  int64_t stages = 1;
  llvm::SmallVector<CircularBuffer> circularBuffers; ///< none: the loop has no load that may run ahead
  llvm::SmallVector<UnpipelinedLoad> unpipelined;
  llvm::SmallVector<ttg::StoreSharedOp> computed; ///< of MMAs' operands that threads make; none if there is no space for two of each
  int64_t computedStages = 2;                     ///< how many there are of each
  llvm::SmallVector<ttg::WgmmaOp>
      inFlight;                  ///< MMAs that stay in flight across the back edge; without any, an iteration waits for all of its own
  ttg::WgmmaWaitOp drainingWait; ///< it drains the MMAs in flight of the iteration before; null: they drain one another
  ttg::WgmmaOp prefetchedMma;    ///< an MMA that is started an iteration early: prefetchMma. It alone reads the first circular buffer
  mlir::Operation *refillAfter = nullptr; ///< all refills stand after it; null: at the top of the iteration
  ttg::FenceAsyncOp publishFence; ///< `refillAfter` if one barrier orders the refills, and shows MMAs what threads have made of all stages
  bool crossTilePrefetch = false; ///< the first copies of the loop's next run are started after this one (persistent_loop.cpp)
  bool warpSpecialized = false;   ///< a warp of its own refills; after `refillAfter` the consumers only say that they have read
  bool runsDecoupled = false; ///< with warp specialization no warpgroup waits for another one, from tile to tile (per_warp_group_store.cpp)
};

/// The loads that may run ahead in the loop. `stages` has not been chosen yet.
LoopSchedule scheduleLoop(mlir::scf::ForOp loop, bool mayCopyAsync);
/// Chooses, for a depth, which MMAs stay in flight and when stages are filled again. Needs stages > 1.
void scheduleRefills(LoopSchedule &schedule, int64_t stages, ttg::ConfigAttr config, const GpuTarget &target);
/// Notes on the loop, and on its loads, what was decided and why (ttg.loop_schedule, ttg.not_pipelined). `wanted`: the stages asked for.
void recordDecision(const LoopSchedule &schedule, int64_t wanted);
/// Whether a loop's accumulators leave an SM too few registers for a second CTA.
bool limitsToOneCtaPerSM(const LoopSchedule &schedule, ttg::ConfigAttr config, const GpuTarget &target);
/// Whether all CTAs of a cluster load the same tile in every iteration, so
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
/// Whether the loop may write what `load` reads: then the load cannot run ahead. After an atomic operation nothing is known.
bool mayBeWritten(tt::LoadOp load, mlir::scf::ForOp loop);
/// Registers of a thread for a tile.
int64_t registersOf(mlir::Type tile);
/// Registers of a thread for the results of a loop's MMAs, as many as are in use at one time, and how many there are for them
/// (accumulators.cpp).
int64_t accumulatorsOf(mlir::scf::ForOp loop);
int64_t registersForTiles(ttg::ConfigAttr config, const GpuTarget &target, bool warpSpecialized);
/// The same for MMAs by mma.sync or by threads, with their operands, as if all of it were there at one time.
int64_t registersOfMmas(mlir::scf::ForOp loop);
/// True if the loop's MMAs read their operands from registers, or threads multiply: they wait for the iteration's loads.
bool multipliesByThreads(mlir::scf::ForOp loop);
/// Registers of a multiplying thread, where another warpgroup has left it some.
int64_t consumerRegisters(ttg::ConfigAttr config, const GpuTarget &target);
/// What is wrong with a schedule, as text, or null: every iteration's wait must have its arrival, and a stage
/// may be filled again only after all threads have read it. Checked before a schedule becomes code (verify_schedule.cpp).
std::optional<std::string> verify(const LoopSchedule &schedule);

/// Starts `schedule.prefetchedMma` of the next iteration at the top of each, after `top`, and carries its result. `arrival` waits for its
/// circular buffer; `first`: stage and parity of the first iteration, `next`: of the next one. Returns the loop that has taken the place of
/// the schedule's.
mlir::scf::ForOp prefetchMma(const LoopSchedule &schedule, ttg::BarrierWaitOp arrival, mlir::ValueRange first, mlir::ValueRange next,
                             mlir::Operation *top);

/// The number of stages of a buffer that threads fill for MMAs with which no thread needs to wait for the readers of a stage.
constexpr int64_t stagesWithoutWaiting = 3;
/// The fence after the stores to such buffers, if threads have read before it what was loaded ahead for them; otherwise null.
ttg::FenceAsyncOp fenceAfterComputed(const LoopSchedule &schedule, int64_t stages);
/// How many stages there is space for, in each buffer that threads fill for MMAs.
int64_t stagesForComputed(const LoopSchedule &schedule, tt::FuncOp function, const GpuTarget &target);
/// Gives each buffer that threads fill for MMAs several stages, which iterations use alternately: one is filled
/// while MMAs read the others. Loads to registers start an iteration early, if a thread's `registers` suffice.
void overlapComputedOperands(LoopSchedule &schedule, int64_t registers);

/// Replaces a load of bytes an iteration early, before `insertionPoint`, by a word of memory
/// that serves several iterations; false if a word does not hold them (load_scale_words.cpp).
bool loadScaleWords(LoopSchedule &schedule, tt::LoadOp load, mlir::Operation *insertionPoint);
/// The same, 16 bytes at a time, where each thread has rows to itself that begin with a multiple of 16 bytes (load_scale_rows.cpp). The
/// load's bytes move by `step` in every iteration.
bool loadScaleRows(LoopSchedule &schedule, tt::LoadOp load, int64_t step, mlir::Operation *insertionPoint);

/// True if an iteration of the loop, from its first MMA `firstMma` on,
/// can be cut into two parts, the second of which runs one iteration late.
bool canPipelineTwoStages(mlir::scf::ForOp loop, ttg::WgmmaOp firstMma);
/// Cuts it: the loop has one iteration less, and the missing parts stand before and after it. Returns the new loop.
/// Reports a bug if a barrier wait has no reader after it.
mlir::FailureOr<mlir::scf::ForOp> pipelineTwoStages(mlir::scf::ForOp loop, ttg::WgmmaOp firstMma);

/// Lets the MMAs in flight continue until the next iteration's have started, or
/// until its `drainingWait`. Returns the wait that drains the previous iteration.
mlir::Operation *keepInFlight(LoopSchedule &schedule);

/// The loop around the schedule's whose next iteration's first copies can be started early, after the MMAs of this one; null if there
/// is none. The schedule must have been placed.
mlir::scf::ForOp persistentLoop(const LoopSchedule &schedule);
/// The buffers through which tiles leave a loop, as they are used if stores stay in flight: one for all tiles of a type, throughout the
/// loop.
llvm::SmallVector<DeeperBuffer> buffersHeldByStores(mlir::scf::ForOp loop);
/// Lets the stores of a loop stay in flight until their buffer is written again.
void letStoresRun(mlir::scf::ForOp loop);

/// A result on its way out, in a loop: store_shared    fence_async    tma_store    tma_store_wait 0. The buffer has no other use.
struct TileStore {
  ttg::AllocOp alloc;
  ttg::StoreSharedOp write;
  ttg::TmaStoreOp store;
  ttg::TmaStoreWaitOp wait;
};
llvm::SmallVector<TileStore> storesOf(mlir::scf::ForOp loop);
/// Whether each of two warpgroups can store the rows that it holds, without ever touching memory that the other stores to
/// (per_warp_group_store.cpp).
bool canStorePerWarpGroup(mlir::scf::ForOp tiles);
/// Lets them do that, once stores stay in flight: a warpgroup only synchronizes its own warps.
void storePerWarpGroup(mlir::scf::ForOp tiles);

/// How TMA moves the buffer, if its dimensions have this order in memory. Dimensions of extent 1 may be anywhere.
std::optional<TmaBox> boxOf(ttg::BufferType type, llvm::ArrayRef<int32_t> order);
/// A buffer for a tile that goes through a tensor map.
mlir::FailureOr<ttg::BufferType> bufferForCopies(mlir::Operation *op, mlir::Type tile, llvm::ArrayRef<int32_t> order);
/// The map argument with this buffer's box and swizzle: `map` itself if it has none yet,
/// otherwise a copy. `parts`: into how many parts the box is cut along its second dimension.
mlir::FailureOr<mlir::Value> mapFor(tt::FuncOp function, mlir::Operation *op, mlir::Value map, size_t dims, ttg::BufferType buffer,
                                    llvm::ArrayRef<int32_t> order, int64_t parts);

/// Erases a store to a buffer, and the fence after it with the last of the adjacent stores.
void eraseStore(ttg::StoreSharedOp store);

/// Allocates `count` mbarriers at the function's entry; `arrivals` complete a phase of each.
mlir::Value allocBarriers(tt::FuncOp function, int64_t count, int64_t arrivals);
/// Returns the first of these operations at or after `op` in its block; null if there is none.
template <typename... Ops> mlir::Operation *firstFrom(mlir::Operation *op) {
  while (op && !llvm::isa<Ops...>(op))
    op = op->getNextNode();
  return op;
}

/// Returns an i32 constant at the function's entry, which everything in the function may use.
mlir::Value entryConstant(tt::FuncOp function, int64_t value);

/// The alloc that stages and views refer to; null for anything else.
ttg::AllocOp allocOf(mlir::Value buffer);
/// Every operation that reads or writes the buffer, through stages and views.
llvm::SmallVector<mlir::Operation *> accessesOf(ttg::AllocOp alloc);

/// The same arithmetic for another iteration of a loop: clones what a value is computed from, with the induction variable and loop-carried
/// values as they will be then (carried + iterations * increment, where the loop adds the same amount every iteration).
class LoopIterations {
public:
  explicit LoopIterations(mlir::scf::ForOp loop) : loop(loop) {}
  mlir::scf::ForOp getLoop() { return loop; }
  bool canClone(mlir::Value value);
  /// The values outside the loop that `values` are computed from in the first iteration. All of `values` can be cloned.
  llvm::SetVector<mlir::Value> sourcesOfFirst(mlir::ValueRange values);
  /// In the loop, `iterations` later.
  llvm::SmallVector<mlir::Value> later(mlir::OpBuilder &b, mlir::ValueRange values, int64_t iterations);
  /// Before the loop, of its iteration number `iteration`.
  llvm::SmallVector<mlir::Value> ofIteration(mlir::OpBuilder &b, mlir::ValueRange values, int64_t iteration);
  /// Whether that iteration exists, as an i1.
  mlir::Value existsLater(mlir::OpBuilder &b, int64_t iterations);
  mlir::Value existsIteration(mlir::OpBuilder &b, int64_t iteration);
  /// The number of iterations modulo `modulus`, as an i32, before the loop.
  mlir::Value count(mlir::OpBuilder &b, int64_t modulus);

private:
  bool canClone(mlir::Value value, llvm::DenseSet<mlir::Value> &seen);
  mlir::Value increment(mlir::BlockArgument carried);
  mlir::Value advanced(mlir::OpBuilder &b, mlir::Value start, mlir::BlockArgument carried, int64_t iterations);
  mlir::Value clone(mlir::OpBuilder &b, mlir::Value value, llvm::DenseMap<mlir::Value, mlir::Value> &map,
                    llvm::function_ref<mlir::Value(mlir::BlockArgument)> argument);
  mlir::scf::ForOp loop;
};

/// The loop with more carried values; the caller appends what is yielded for them. The old one is gone.
mlir::scf::ForOp withMoreCarried(mlir::scf::ForOp loop, mlir::ValueRange inits);
/// State that survives all iterations of all loops around `op`: it starts as `initial` at the function's entry, and at
/// `op`, `update` computes its next value from its present one. `replaced` is called for loops that had to be rebuilt. Returns the state
/// after all of them.
mlir::FailureOr<llvm::SmallVector<mlir::Value>> carryState(mlir::Operation *op, llvm::ArrayRef<mlir::Value> initial,
                                                           llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> update,
                                                           llvm::function_ref<void(mlir::Operation *, mlir::Operation *)> replaced);

} // namespace tilewright::gpu
