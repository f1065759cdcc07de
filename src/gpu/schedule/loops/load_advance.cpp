// How far a load moves from one iteration to the next.
#include "gpu/cost_model/thresholds.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/ttg/element_sizes.h"
#include "ir/slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace tilewright::gpu {

/// By how much a scalar that the loop carries, or its induction variable, grows in every iteration, if that is a constant.
static std::optional<int64_t> growthOf(BlockArgument carried, scf::ForOp loop) {
  if (carried.getOwner() != loop.getBody()) return {};
  if (carried == loop.getInductionVar()) return getConstantIntValue(loop.getStep());
  auto sum = loop.getTiedLoopYieldedValue(carried)->get().getDefiningOp<arith::AddIOp>();
  if (!sum || sum.getLhs() != carried) return {};
  return getConstantIntValue(sum.getRhs());
}

/// The same for the induction variable's quotient by a constant, where no step leaves a remainder.
static std::optional<int64_t> quotientsGrowth(Operation *division, scf::ForOp loop) {
  std::optional<int64_t> by = getConstantIntValue(division->getOperand(1)), first = getConstantIntValue(loop.getLowerBound()),
                         step = getConstantIntValue(loop.getStep());
  if (division->getOperand(0) != loop.getInductionVar() || !by || !first || !step) return {};
  return *by > 0 && *first >= 0 && *step > 0 && *step % *by == 0 ? std::optional(*step / *by) : std::nullopt;
}

/// True if the offset of `moved` cannot wrap around from one iteration to the next: it has 64 bits, or is the induction variable or its
/// quotient, or assume-no-wrap has marked it.
static bool isExact(tt::AddPtrOp moved, scf::ForOp loop) {
  if (getElementTypeOrSelf(moved.getOffset().getType()).isInteger(64) || moved->hasAttr(ttg::noWrapName)) return true;
  Value number = tt::lookThrough<tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp>(moved.getOffset());
  return !loop.getUnsignedCmp() && tt::lookThrough<arith::DivSIOp, arith::DivUIOp>(number) == loop.getInductionVar();
}

/// By how much all elements grow in every iteration, in bytes if they are pointers;
/// null if that is unknown. Narrow offsets count only where they are exact.
static std::optional<int64_t> advanceOf(Value value, scf::ForOp loop) {
  if (loop.isDefinedOutsideOfLoop(value) || getConstantIntValue(value)) return 0;
  if (auto carried = dyn_cast<BlockArgument>(value)) return growthOf(carried, loop);
  Operation *op = value.getDefiningOp();
  if (isa<tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp>(op)) return advanceOf(op->getOperand(0), loop);
  if (isa<arith::DivSIOp, arith::DivUIOp>(op)) return quotientsGrowth(op, loop);
  if (!isa<tt::AddPtrOp, arith::AddIOp>(op)) return {};
  std::optional<int64_t> first = advanceOf(op->getOperand(0), loop), second = advanceOf(op->getOperand(1), loop);
  if (!first || !second) return {};
  auto moved = dyn_cast<tt::AddPtrOp>(op);
  if (!moved) return *first + *second;
  Type pointee = cast<tt::PointerType>(getElementTypeOrSelf(moved.getType())).getPointeeType();
  if ((*second != 0 && !isExact(moved, loop)) || !pointee.isIntOrFloat()) return {};
  return *first + *second * ttg::memoryBits(pointee) / 8;
}

/// A mask that varies would have to be remembered for each word, which costs more than it gains (`widenedLoadBytes`).
std::optional<int64_t> bytesOfIteration(tt::LoadOp load, scf::ForOp loop) {
  auto isInvariant = [&](Value value) { return !value || loop.isDefinedOutsideOfLoop(value); };
  Type element = getElementTypeOrSelf(load.getType());
  if (!element.isIntOrFloat() || !llvm::is_contained({8U, 16U, 32U}, element.getIntOrFloatBitWidth())) return {};
  if (load->hasAttr(ttg::unalignedName) || !isInvariant(load.getMask()) || !isInvariant(load.getOther())) return {};
  std::optional<int64_t> bytes = advanceOf(load.getPtr(), loop);
  return bytes && *bytes > 0 && widenedLoadBytes % *bytes == 0 ? bytes : std::nullopt;
}

} // namespace tilewright::gpu
