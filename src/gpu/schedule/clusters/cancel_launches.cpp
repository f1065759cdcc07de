// If each tile of a result has a program, an SM does nothing useful from the end of one CTA to the first MMA of the next. With cluster
// launch control, a CTA cancels the launch of another one that has not started, and executes its program itself:
//   before: %x = tt.get_program_id x    for %k { ... mma_async }    store the tile
//   after:  for %i { %x, %y, %z = ttg.clc_program %i    for %k { ... mma_async }    store the tile }
// The loop ends when no launch is left. It is like the loop of a persistent kernel, so the later steps let copies and MMAs of the next
// program run while the tile of this one is stored. An SM that is late cancels less, so the work is balanced. Programs of a launch may run
// in any order, and at any time, so their results are the same. Whether copies and MMAs then run ahead, the steps up to place-accumulators
// show for a copy of the kernel.
#include "gpu/cost_model/launch_control.h"
#include "gpu/passes.h"
#include "gpu/schedule/clusters/attempt.h"
#include "gpu/schedule/loops/program_order.h"
#include "gpu/schedule/mma_loops.h"
#include "gpu/schedule/program_loop.h"
#include "gpu/schedule/stage_index.h"
#include "ir/slice.h"
#include "support/gpu_hardware.h"
#include "support/result.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <limits>

using namespace mlir;

namespace tilewright::gpu {

/// True if the value may differ between programs.
static bool mayDiffer(Value value) {
  return tt::dependsOn(value, [](Value source) {
    Operation *op = source.getDefiningOp();
    bool differs = op ? isa<tt::GetProgramIdOp>(op) || op->getNumRegions() != 0 || !isMemoryEffectFree(op)
                      : !isa<tt::FuncOp>(cast<BlockArgument>(source).getOwner()->getParentOp());
    return differs ? tt::Search::found : tt::Search::follow;
  });
}

/// Returns why the programs of a kernel stay as they are, apart from the schedules of its loops.
static Result<void> check(tt::FuncOp function) {
  for (Operation *op : loopsWithMmas(function)) {
    auto loop = cast<scf::ForOp>(op);
    if (loop->getParentOfType<scf::ForOp>() || loop->getParentOfType<scf::WhileOp>())
      return Failure{"the program has a loop over tiles of its own"};
    if (!isa<tt::FuncOp>(loop->getParentOp())) return Failure{"the loop is in a branch"};
    // A program is taken over while its predecessor runs. If that takes long, another SM could have begun.
    if (mayDiffer(loop.getLowerBound()) || mayDiffer(loop.getUpperBound()) || mayDiffer(loop.getStep()))
      return Failure{"programs differ in their iterations"};
  }
  if (function->hasAttr(ttg::operandRegistersName)) return Failure{"threads compute an operand"};
  if (contains(function, ProgramOrder::learnsWrites)) return Failure{"the program may wait for data that another program writes"};
  return {};
}

//===----------------------------------------------------------------------------------------------------------- the loop

/// True for scalars that every program computes alike.
static bool isSameInAllPrograms(Operation &op, scf::ForOp programs) {
  bool isScalar = op.getNumRegions() == 0 && isMemoryEffectFree(&op) && llvm::none_of(op.getResultTypes(), llvm::IsaPred<RankedTensorType>);
  return isScalar && !isa<tt::GetProgramIdOp>(op) &&
         llvm::all_of(op.getOperands(), [&](Value operand) { return programs.isDefinedOutsideOfLoop(operand); });
}

/// Puts the kernel into a program loop.
static void loopOverPrograms(tt::FuncOp function, ttg::ConfigAttr config) {
  Block &entry = function.getBody().front();
  Location loc = function.getLoc();
  OpBuilder b(function.getContext());
  b.setInsertionPointToStart(&entry);
  auto layout = SharedLayout::rowMajor({clcStages, clcResponseBytes}, 8, {1, 0});
  auto type = ttg::BufferType::get(1, b.getI8Type(), layout);
  auto responses = ttg::AllocOp::create(b, loc, type, ttg::Lifetime::throughout);
  auto barriers = ttg::BarriersType::get(b.getContext(), clcStages);
  Value full = ttg::AllocBarriersOp::create(b, loc, barriers);
  Value empty = ttg::AllocBarriersOp::create(b, loc, barriers, static_cast<uint32_t>(config.getWarps() * config.getCtas()));
  Value zero = i32Constant(b, loc, 0), one = i32Constant(b, loc, 1), most = i32Constant(b, loc, std::numeric_limits<int32_t>::max());
  Operation *last = most.getDefiningOp(), *end = entry.getTerminator();
  b.setInsertionPoint(end);
  auto programs = scf::ForOp::create(b, loc, zero, most, one);
  b.setInsertionPointToStart(programs.getBody());
  auto program = ttg::ClcProgramOp::create(b, loc, responses, full, empty, programs.getInductionVar(), /*asks=*/true);
  Operation *yield = programs.getBody()->getTerminator();
  for (Operation &op : llvm::make_early_inc_range(llvm::make_range(std::next(last->getIterator()), programs->getIterator())))
    if (!isSameInAllPrograms(op, programs)) op.moveBefore(yield);
  programs.walk([&](tt::GetProgramIdOp id) {
    id.replaceAllUsesWith(program.getResult(static_cast<unsigned>(id.getAxis())));
    id.erase();
  });
}

//===--------------------------------------------------------------------------------------------------------- the decision

/// What the schedule of a loop with MMAs says.
struct Pipeline {
  int64_t stages = 1;
  bool warpSpecialized = false, crossTile = false;
};

/// Returns the schedules of a kernel's loops with MMAs, but for the program loop.
static SmallVector<Pipeline> pipelinesOf(tt::FuncOp function) {
  SmallVector<Pipeline> loops;
  for (Operation *op : loopsWithMmas(function)) {
    auto loop = cast<scf::ForOp>(op);
    if (clcProgramOf(loop)) continue; // an MMA outside of loops is in this one
    Pipeline &pipeline = loops.emplace_back();
    if (!loop->hasAttr(ttg::loopScheduleName)) continue;
    if (FailureOr<LoopSchedule> schedule = readSchedule(loop); succeeded(schedule))
      pipeline = {schedule->stages, schedule->warpSpecialized, schedule->crossTile};
  }
  return loops;
}

/// Returns why a program loop is not possible, why copies and MMAs of the next program would not run ahead in it, or why that would not
/// pay.
static Result<void> compareSchedules(tt::FuncOp function, const Attempt &before, const Attempt &after) {
  if (!after.fits) return after.fits;
  SmallVector<Pipeline> withLoop = pipelinesOf(*after.copy.function), without;
  if (before.copy.function)
    without = pipelinesOf(*before.copy.function);
  else
    without.resize(withLoop.size()); // of one stage each
  llvm::SetVector<Operation *> loops = loopsWithMmas(function);
  if (loops.size() != withLoop.size() || loops.size() != without.size())
    return Failure{"the program loop would have other loops with MMAs than the kernel"};
  for (auto [loop, old, now] : llvm::zip_equal(loops, without, withLoop)) {
    if (!now.warpSpecialized || now.stages < 2) return Failure{"no warp of its own starts the copies"};
    if (!now.crossTile) return Failure{"shared memory does not hold the stages and the stored tile at the same time"};
    if (!programLoopPays({dotShapesOf(cast<scf::ForOp>(loop)), old.stages, now.stages}))
      return Failure{"the stages next to the stored tile are too few"};
  }
  if (before.mmaWarp && !after.mmaWarp) return Failure{"no warp of its own would multiply: " + after.mmaWarp.error()};
  return {};
}

static LogicalResult cancelLaunches(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  llvm::SetVector<Location> loops = locationsOfMmaLoops(function);
  if (!target.tcgen05 || !target.launchControl || loops.empty()) return success();
  Result<void> planned = check(function);
  if (planned) {
    FailureOr<Attempt> before = attempt(function, {config, target}, [](tt::FuncOp) { return true; });
    FailureOr<Attempt> after = attempt(function, {config, target}, [&](tt::FuncOp copy) { return loopOverPrograms(copy, config), true; });
    if (failed(before) || failed(after)) return failure();
    planned = compareSchedules(function, *before, *after);
  }
  if (planned) loopOverPrograms(function, config);
  std::string text = planned ? "a CTA cancels the launch of others, and executes their programs (cluster launch control)"
                             : "each CTA executes its own program: " + planned.error();
  remarkOnLoops(function, "cancel-launches", loops, text);
  return success();
}

LogicalResult cancelLaunches(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    return cancelLaunches(function, config, target);
  });
}

} // namespace tilewright::gpu
