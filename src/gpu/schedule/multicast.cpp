// The CTAs of a cluster share the rows, or the columns, of a matmul: each has one operand of its own, and shares the other.
//   before: CTA 0 copies A0 and B, CTA 1 copies A1 and B
//   after:  CTA 0 copies A0 and the first half of B to both CTAs, CTA 1 copies A1 and the second half to both
// A CTA's stage is filled by all CTAs, so it is empty when the readers of all have read what is in theirs: they say so to all. It takes
// a warp of its own for copies, which waits for nothing else, and a kernel whose CTAs never synchronize on the way.
#include "gpu/schedule/loop_schedule.h"
#include "gpu/ttg/demanded_extent.h"
#include "ir/slice.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright::gpu {

/// True if values are the same in all CTAs: they are computed from arguments and program numbers alone. Bounds of loops around them are
/// among the values.
static bool isSameInBlocks(ValueRange values) {
  return !tt::dependsOn(values, [](Value value) {
    Operation *op = value.getDefiningOp();
    if (!op) return isa<tt::FuncOp, scf::ForOp>(value.getParentBlock()->getParentOp()) ? tt::Search::follow : tt::Search::found;
    bool isSame = !isa<ptx::ClusterRankOp>(op) && op->getNumRegions() == 0 && isMemoryEffectFree(op);
    return isSame ? tt::Search::follow : tt::Search::found;
  });
}

std::optional<int64_t> partsPerBox(ttg::BufferType tile, int64_t blocks) {
  std::optional<TmaBox> box = tmaBox(tile.getLayout().layout());
  if (!box) return {};
  if (box->copies % blocks == 0) return 1;
  if (box->box.size() != 2 || box->spanBytes == 0 || box->box[1] % (swizzleRows * blocks) != 0) return {};
  return blocks;
}

bool isMulticastToAllCtas(const CircularBuffer &circular, const Copy &copy, ttg::ConfigAttr config) {
  if (circular.threadsRead) return false; // what they have read, arrivals at other CTAs' barriers would have to order
  auto load = dyn_cast<ttg::DescriptorLoadOp>(copy.load);
  std::optional<int64_t> parts = load ? partsPerBox(ttg::AllocOp(copy.alloc).getType(), config.getCtas()) : std::nullopt;
  if (!parts || (*parts != 1 && copiedBox(copy.alloc)->box[1] % (swizzleRows * *parts) != 0)) return false;
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
  return isSameInBlocks(decides);
}

std::optional<std::string> multicastObstacle(tt::FuncOp function) {
  int64_t stores = 0; // one alone waits for no other access
  WalkResult walk = function.walk([&](Operation *op) {
    bool mayNeedBarrier = isa<tt::LoadOp, tt::AtomicRMWOp, tt::AtomicCASOp, ttg::ReadClusterOp, scf::WhileOp>(op);
    if (isa<tt::StoreOp>(op)) mayNeedBarrier |= ++stores > 1 || op->getParentOfType<scf::ForOp>();
    return mayNeedBarrier ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (walk.wasInterrupted()) return "the CTAs of a program may need a barrier";
  return {};
}

} // namespace tilewright::gpu
