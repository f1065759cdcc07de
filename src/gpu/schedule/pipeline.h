// Which loads of a loop run ahead of it, and where their buffers are read and written again: the schedule that the pipeline acts on. It is
// plain data, so that whoever splits a loop by roles (copies here, products there) can read it, too.
#pragma once

#include "gpu/tiles/ttg.h"

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

/// Copies of one loop that are needed at the same place: they arrive together. Each has a buffer of `stages` slots; turn i uses slot i mod
/// stages.
struct Ring {
  bool tma = false; ///< else cp.async
  llvm::SmallVector<Copy> copies;
  mlir::Operation *firstReader = nullptr;                         ///< in the loop's body, as all operations here
  mlir::Operation *retired = nullptr;                             ///< after it this warp has read a turn's slot
  bool threadsRead = false;                                       ///< by load_shared or fma_dot
  bool productsRead = false;                                      ///< by wgmma
  int64_t lag = 1;                                                ///< the refill of turn i goes to the slot of turn i - lag
  int64_t distance(int64_t stages) const { return stages - lag; } ///< how many turns a copy is ahead
};

struct LoopSchedule {
  mlir::scf::ForOp loop;
  int64_t stages = 1;
  llvm::SmallVector<Ring> rings;
  llvm::SmallVector<ttg::WgmmaOp> inFlight; ///< products that run on over the back edge; without any, a turn waits for all of its own
  ttg::WgmmaOp ahead;                       ///< a product that is started a turn early: startAhead. It alone reads the first ring
  mlir::Operation *refillAfter = nullptr;   ///< one sync, then all refills, stand behind it; null: at the top of the turn
  bool roles = false;                       ///< a warp of its own refills; behind `refillAfter` the others only say that they have read
};

/// Nothing if the loop has no load that may run ahead. `stages` is not chosen yet.
std::optional<LoopSchedule> scheduleLoop(mlir::scf::ForOp loop, bool mayCopyAsync);
/// Chooses, for a depth, which products stay in flight and when slots are filled again. Needs stages > 1.
void placeRefills(LoopSchedule &schedule, int64_t stages, ttg::ConfigAttr config);
/// Of a kernel: why it has no warp that does nothing but start copies (a string, for people).
constexpr llvm::StringLiteral noRolesName = "ttg.no_roles";
/// Whether the accumulators of a loop leave a multiprocessor no registers for a second block.
bool fillsProcessor(const LoopSchedule &schedule, ttg::ConfigAttr config);
/// Why a kernel with these loops, placed, has no warp that does nothing but start copies; nothing if it gets one (split_roles.cpp).
std::optional<std::string> whyNoRoles(llvm::ArrayRef<LoopSchedule> loops, ttg::ConfigAttr config, const GpuTarget &target);
/// Registers of a thread that multiplies, where another warpgroup has left it some.
int64_t consumerRegisters(ttg::ConfigAttr config);
/// What is wrong with a schedule, for people, or nothing: every turn's wait has its arrival, and a slot is filled again only after
/// everybody has read it. Asked before a schedule becomes code (proof.cpp).
std::optional<std::string> wrongIn(const LoopSchedule &schedule);

/// Starts `schedule.ahead` of the next turn at the top of each, behind `top`, and carries its result. `arrival` waits for its ring;
/// `first`: slot and parity of the first turn, `next`: of the next one. Returns the loop that has taken the place of the schedule's.
mlir::scf::ForOp startAhead(const LoopSchedule &schedule, ttg::BarrierWaitOp arrival, mlir::ValueRange first, mlir::ValueRange next,
                            mlir::Operation *top);

/// The alloc behind slots and views; null for anything else.
ttg::AllocOp allocOf(mlir::Value buffer);
/// Every operation that reads or writes the buffer, through slots and views.
llvm::SmallVector<mlir::Operation *> accessesOf(ttg::AllocOp alloc);

/// The same arithmetic for another turn of a loop: clones what a value is computed from, with the induction variable and loop-carried
/// values as they will be then (carried + turns * increment, where the loop adds the same amount every turn).
class LoopTurns {
public:
  explicit LoopTurns(mlir::scf::ForOp loop) : loop(loop) {}
  mlir::scf::ForOp getLoop() { return loop; }
  bool canClone(mlir::Value value);
  /// In the loop, `turns` later.
  llvm::SmallVector<mlir::Value> later(mlir::OpBuilder &b, mlir::ValueRange values, int64_t turns);
  /// Before the loop, of its turn number `turn`.
  llvm::SmallVector<mlir::Value> ofTurn(mlir::OpBuilder &b, mlir::ValueRange values, int64_t turn);
  /// Whether that turn takes place, as an i1.
  mlir::Value existsLater(mlir::OpBuilder &b, int64_t turns);
  mlir::Value existsTurn(mlir::OpBuilder &b, int64_t turn);

private:
  mlir::Value increment(mlir::BlockArgument carried);
  mlir::Value advanced(mlir::OpBuilder &b, mlir::Value start, mlir::BlockArgument carried, int64_t turns);
  mlir::Value clone(mlir::OpBuilder &b, mlir::Value value, llvm::DenseMap<mlir::Value, mlir::Value> &map,
                    llvm::function_ref<mlir::Value(mlir::BlockArgument)> argument);
  mlir::scf::ForOp loop;
};

/// The loop with more carried values; the caller appends what is yielded for them. The old one is gone.
mlir::scf::ForOp withMoreCarried(mlir::scf::ForOp loop, mlir::ValueRange inits);
/// State that survives all turns of everything around `place`: it starts as `initial` at the function's entry, and `update` turns it, at
/// `place`, from what it is there to what it is afterwards. `replaced` hears of loops that had to be built anew.
llvm::LogicalResult carryState(mlir::Operation *place, llvm::ArrayRef<mlir::Value> initial,
                               llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::ValueRange)> update,
                               llvm::function_ref<void(mlir::Operation *, mlir::Operation *)> replaced);

} // namespace tilewright::gpu
