// A warpgroup that only widens the second operand of a product: what the pipeline, specialize-warps and the lowering must know of it.
#pragma once

#include "gpu/schedule/loop_schedule.h"

namespace tilewright::gpu {

/// Of a kernel with roles: a warpgroup of its own, the last one, widens. Of an operation in it, or of its branch: that warpgroup's work.
constexpr llvm::StringLiteral dequantizePartitionName = "ttg.dequantize_partition";
/// Of a kernel with such a warpgroup: it loads scales for the others, too.
constexpr llvm::StringLiteral forwardsScalesName = "ttg.forwards_scales";
/// Of a ttg.alloc (a unit attribute): nothing else is at its place, at any time.
constexpr llvm::StringLiteral liveThroughoutName = "ttg.live_throughout";

/// Of a ttg.wgmma_wait in such a loop (a unit attribute): behind it the products of the iteration before are over.
constexpr llvm::StringLiteral drainsName = "ttg.drains";
/// Of the same one (a unit attribute): copies of this iteration have been given back by then, and what was widened is given back alone.
constexpr llvm::StringLiteral releasesCopiesFirstName = "ttg.releases_copies_first";

/// Gives the widening of a second operand to a warpgroup of its own, in one loop of the kernel, if that pays; whether it did. The loop's
/// copies need a producer then.
bool partitionDequantize(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target);
/// Whether the loop is such a one. What is widened apart has as many slots as the rings.
bool isDequantizing(mlir::scf::ForOp loop);

/// The wait behind which, in a loop whose first operand is widened by halves, the products of the iteration before are over; else null.
ttg::WgmmaWaitOp drainingWaitIn(mlir::scf::ForOp loop);
/// All slots of the iteration before have been read there.
void releaseAfter(LoopSchedule &schedule, ttg::WgmmaWaitOp retires);
/// What another warpgroup widens goes to slots as the copies do, the same ones: they are empty when those are. It says that it has read
/// what was copied, and that a slot is made (barriers `made`), at one place; the others wait for that in front of their product. Where
/// these read copies to registers alone, they may give the copies back at once, and what is widened, behind its products, by barriers of
/// its own
/// (`wideEmpty`, else null).
void fillDequantized(LoopSchedule &schedule, mlir::Value stageIndex, mlir::Value parity, llvm::ArrayRef<mlir::Value> empty, mlir::Value made,
                 mlir::Value wideEmpty);
/// Puts the loads to registers of both roles an iteration early, if `registers` reach for that, and has the others fence what they read.
void prefetchLoadsInPartitions(LoopSchedule &schedule, int64_t registers);
/// Each of the two roles waits where it first reads a slot of `buffers`.
void waitInPartitions(LoopSchedule &schedule, llvm::ArrayRef<mlir::Value> buffers, mlir::Value barriers, mlir::Value stageIndex, mlir::Value parity);

/// As many registers a thread has at first, in a block with a producer and, perhaps, a warpgroup that widens.
int64_t firstRegisters(ttg::ConfigAttr config, const GpuTarget &target, bool dequantizes);
/// Registers of a thread that multiplies beside both.
int64_t registersNextToDequantize(ttg::ConfigAttr config, const GpuTarget &target);
/// Whether a kernel may learn that another program has written something: who does not wait with the others would read too early.
bool mayLearnOfWrites(tt::FuncOp function);

/// Makes the loop's loads to registers an iteration early, if `registers` of a thread reach for that: at its top, or behind an
/// operation.
void prefetchLoads(LoopSchedule &schedule, int64_t registers, llvm::function_ref<mlir::Operation *(tt::LoadOp)> behind = {});
/// Lets threads store what they have computed before they compute the rest.
void interleaveStores(LoopSchedule &schedule);

} // namespace tilewright::gpu
