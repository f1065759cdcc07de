#include "gpu/schedule/mma_schedule.h"

using namespace mlir;

namespace tilewright::gpu {

static int64_t idOf(Operation *op) {
  return op->getAttrOfType<IntegerAttr>(ttg::idName).getInt();
}

void writeMmaSchedule(const MmaSchedule &schedule) {
  scf::ForOp loop = schedule.loop;
  Builder b(loop.getContext());
  SmallVector<ttg::ScheduledOpAttr> ops;
  int64_t order = 0; // the even order after the last operation that stays
  for (auto [id, named] : llvm::enumerate(schedule.ops)) {
    auto [op, moves] = named;
    op->setAttr(ttg::idName, b.getI64IntegerAttr(static_cast<int64_t>(id)));
    if (!moves) order += 2;
    ops.push_back(
        ttg::ScheduledOpAttr::get(b.getContext(), static_cast<int64_t>(id), /*stage=*/0, moves ? order : order - 1, /*partition=*/0));
  }
  auto edges = llvm::map_to_vector(schedule.edges, [&](const MmaEdge &edge) {
    return ttg::AsyncEdgeAttr::get(b.getContext(), idOf(edge.op), idOf(ttg::MmaAsyncWaitOp(edge.until)), edge.distance);
  });
  auto made = ttg::LoopScheduleAttr::get(b.getContext(), b.getStringAttr("overlap-mmas"), /*requested=*/1, /*indexStage=*/0, ops, {}, edges,
                                         false, false, false, false, /*registersForWords=*/0, /*loadsWholeRows=*/false,
                                         /*fencesEarly=*/false, /*paired=*/false, StringAttr());
  loop->setAttr(ttg::mmaScheduleName, made);
}

FailureOr<MmaSchedule> takeMmaSchedule(scf::ForOp loop) {
  auto made = loop->getAttrOfType<ttg::LoopScheduleAttr>(ttg::mmaScheduleName);
  auto fail = [&](const Twine &message) -> InFlightDiagnostic { return loop.emitError("ttg.mma_schedule: ") << message; };
  DenseMap<int64_t, Operation *> byId;
  for (Operation &op : *loop.getBody())
    if (auto id = op.getAttrOfType<IntegerAttr>(ttg::idName)) byId[id.getInt()] = &op;
  MmaSchedule schedule{loop, {}, {}};
  int64_t last = 0;
  for (ttg::ScheduledOpAttr op : made.getOps()) {
    Operation *found = byId.lookup(op.getId());
    if (!found) return fail("the loop has no operation ") << op.getId();
    if (op.getOrder() < last) return fail("operations are not listed by their orders");
    last = op.getOrder();
    schedule.ops.push_back({found, op.getOrder() % 2 == 0});
  }
  for (ttg::AsyncEdgeAttr edge : made.getEdges()) {
    Operation *op = byId.lookup(edge.getMma());
    auto until = dyn_cast_or_null<ttg::MmaAsyncWaitOp>(byId.lookup(edge.getUntil()));
    bool isMma = isa_and_nonnull<ttg::MmaAsyncOp>(op);
    bool ends = op && op->getNumResults() == 1 && (isMma ? edge.getDistance() <= 1 : edge.getDistance() == 0);
    if (!ends || edge.getDistance() < 0 || !until) return fail("an edge does not lead from an MMA or arithmetic to a wait");
    schedule.edges.push_back({op, until, edge.getDistance()});
  }
  loop->removeAttr(ttg::mmaScheduleName);
  for (auto [id, op] : byId)
    op->removeAttr(ttg::idName);
  return schedule;
}

} // namespace tilewright::gpu
