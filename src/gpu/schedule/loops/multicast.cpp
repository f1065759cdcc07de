// The CTAs of a cluster share the rows, or the columns, of a matmul: each has one operand of its own, and shares the other.
//   before: CTA 0 copies A0 and B, CTA 1 copies A1 and B
//   after:  CTA 0 copies A0 and the first half of B to both CTAs, CTA 1 copies A1 and the second half to both
// A CTA's stage is filled by all CTAs, so it is empty when the readers of all have read what is in theirs: they say so to all. It takes
// a warp of its own for copies, which waits for nothing else, and a kernel whose CTAs never synchronize on the way.
#include "gpu/schedule/loops/multicast.h"
#include "gpu/machine/ptx.h"
#include "gpu/schedule/loops/program_order.h"
#include "ir/slice.h"
#include "support/gpu_hardware.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if values are the same in all CTAs: they are computed from arguments and program numbers alone. Bounds of loops around them are
/// among the values.
static bool isSameInCtas(ValueRange values) {
  return !tt::dependsOn(values, [](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op) return isa<tt::FuncOp, scf::ForOp>(value.getParentBlock()->getParentOp()) ? tt::Search::follow : tt::Search::found;
    bool isSame = !isa<ptx::ClusterRankOp>(op) && op->getNumRegions() == 0 && isMemoryEffectFree(op);
    return isSame ? tt::Search::follow : tt::Search::found;
  });
}

bool isSameInAllCtas(ttg::DescriptorLoadOp load) {
  SmallVector<Value> decides(load.getCoordinates());
  for (Operation *around = load->getParentOp(); !isa<tt::FuncOp>(around); around = around->getParentOp()) {
    if (auto branch = dyn_cast<scf::IfOp>(around)) {
      decides.push_back(branch.getCondition());
      continue;
    }
    auto loop = dyn_cast<scf::ForOp>(around);
    if (!loop) return false;
    decides.append({loop.getLowerBound(), loop.getUpperBound(), loop.getStep()});
  }
  return isSameInCtas(decides);
}

std::optional<BoxParts> multicastParts(const CircularBuffer &circular, const Copy &copy, ttg::ConfigAttr config, bool paired) {
  if (circular.threadsRead) return {}; // what they have read, arrivals at other CTAs' barriers would have to order
  auto load = dyn_cast<ttg::DescriptorLoadOp>(copy.load);
  ttg::AllocOp alloc = copy.alloc;
  std::optional<BoxParts> parts = load ? partsPerBox(alloc.getType(), config.getCtas(), paired) : std::nullopt;
  std::optional<TmaBox> copied = copiedBox(alloc);
  if (!parts || !copied || !isSameInAllCtas(load)) return {};
  bool isInOrder = llvm::equal(copied->order, load.getOrder()), isPlain = copied->spanBytes == 0;
  bool isCut = isPlain ? alloc.getCopiedExtent().empty() && isInOrder : copied->box[1] % (swizzleRows * parts->count) == 0;
  return parts->count == 1 || isCut ? parts : std::nullopt;
}

/// True if one CTA may make the second access while another one has yet to make the first, and that would be seen.
static bool needOrder(Operation *first, Operation *second) {
  if (!isa<tt::StoreOp>(first) && !isa<tt::StoreOp>(second)) return false;
  if (first == second) return first->getParentOfType<scf::ForOp>() != nullptr;
  return !ttg::noAliasGuard(first->getOperand(0), second->getOperand(0)); // which lower-to-threads then relies on
}

bool ctasMayNeedBarrier(tt::FuncOp function) {
  SmallVector<Operation *> accesses;
  bool mayNeedBarrier = contains(function, ProgramOrder::atomic | ProgramOrder::waits | ProgramOrder::exchanges);
  function.walk([&](Operation *op) {
    if (!isa<tt::LoadOp, tt::StoreOp>(op)) return;
    accesses.push_back(op);
    mayNeedBarrier |= llvm::any_of(accesses, [&](Operation *earlier) { return needOrder(earlier, op); });
  });
  return mayNeedBarrier;
}

} // namespace tilewright::gpu
