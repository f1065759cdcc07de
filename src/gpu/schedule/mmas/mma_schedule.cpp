#include "gpu/schedule/mmas/mma_schedule.h"

#include "gpu/schedule/operation_ids.h"
#include "gpu/ttg/tile_equivalence.h"

using namespace mlir;

namespace tilewright::gpu {

bool isTileOfNumbers(Operation *op) {
  if (op->getNumResults() != 1 || !isElementwiseOnTiles(op)) return false;
  return cast<RankedTensorType>(op->getResult(0).getType()).getElementType().isF32();
}

void writeMmaSchedule(const MmaSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  SmallVector<ttg::OrderedOpAttr> ops;
  for (auto [id, named] : llvm::enumerate(schedule.ops)) {
    auto [op, moves] = named;
    setId(op, static_cast<int64_t>(id));
    ops.push_back(ttg::OrderedOpAttr::get(loop.getContext(), static_cast<int64_t>(id), moves));
  }
  loop->setAttr(ttg::mmaScheduleName, ttg::MmaScheduleAttr::get(loop.getContext(), ops, attributesOf(schedule.edges)));
}

FailureOr<MmaSchedule> takeMmaSchedule(scf::ForOp loop) {
  auto made = loop->getAttrOfType<ttg::MmaScheduleAttr>(ttg::mmaScheduleName);
  auto fail = [&](const Twine &message) -> InFlightDiagnostic { return loop.emitError("ttg.mma_schedule: ") << message; };
  OperationsById byId(loop.getBody());
  MmaSchedule schedule{loop, {}, {}};
  for (ttg::OrderedOpAttr op : made.getOps()) {
    Operation *found = byId.lookup(op.getId());
    if (!found) return fail("the loop has no operation, or several, with the number ") << op.getId();
    schedule.ops.push_back({found, op.getMoves()});
  }
  for (ttg::AsyncEdgeAttr edge : made.getEdges()) {
    Operation *op = byId.lookup(edge.getMma());
    auto until = dyn_cast_or_null<ttg::MmaAsyncWaitOp>(byId.lookup(edge.getUntil()));
    int64_t maxDistance = isa_and_nonnull<ttg::MmaAsyncOp>(op) ? 1 : 0;
    bool passes = op && (maxDistance == 1 || isTileOfNumbers(op));
    if (!passes || !until || edge.getDistance() < 0 || edge.getDistance() > maxDistance)
      return fail("an edge does not lead from an MMA or arithmetic to a wait");
    schedule.edges.push_back({op, until, edge.getDistance()});
  }
  if (Result<void> valid = verify(schedule); !valid) return fail(valid.error());
  loop->removeAttr(ttg::mmaScheduleName);
  for (Operation &op : *loop.getBody())
    op.removeAttr(ttg::idName);
  return schedule;
}

} // namespace tilewright::gpu
