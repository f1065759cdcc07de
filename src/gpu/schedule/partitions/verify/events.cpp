#include "gpu/schedule/partitions/verify/events.h"

#include "gpu/schedule/partitions/verify/barrier_operations.h"
#include "gpu/ttg/buffer_accesses.h"

using namespace mlir;

namespace tilewright::gpu {

Resources::Resources(tt::FuncOp function, ArrayRef<WarpGroup> groups) : ctas(groups.back().cta + 1) {
  function.walk([&](Operation *op) {
    if (auto alloc = dyn_cast<ttg::AllocBarriersOp>(op)) {
      firstBarrier[alloc] = arrivals.size();
      arrivals.append(static_cast<size_t>(alloc.getType().getCount()), alloc.getArrivals());
    }
    const BarrierOperation *row = barrierOperation(op);
    Value filled = row && row->fills ? row->fills(op) : Value();
    ttg::AllocOp alloc = filled ? allocOf(filled) : ttg::AllocOp();
    if (alloc && firstStage.try_emplace(alloc, stages).second) stages += static_cast<size_t>(alloc.getType().getDepth());
  });
  function.walk([&](ttg::TmaStoreOp store) { tmaStores |= hasStages(store.getBuffer()); });
  ofConsumers = arrivals.size();
  int64_t consumers = llvm::count_if(groups, [](const WarpGroup &group) { return group.partition == ttg::Partition::consumers; });
  arrivals.append({consumers / ctas, static_cast<int64_t>(groups.size()) / ctas});
}

bool Resources::hasStages(Value buffer) const {
  ttg::AllocOp alloc = isa<ttg::BufferType>(buffer.getType()) ? allocOf(buffer) : ttg::AllocOp();
  return alloc && firstStage.contains(alloc);
}

} // namespace tilewright::gpu
