#include "gpu/schedule/partitions/verify/barrier_operations.h"

#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"

using namespace mlir;

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------------ list of events

/// Returns a barrier of a CTA; nothing if it is not known.
std::optional<size_t> EventList::barrierOf(Value allocated, Integer index, int64_t cta) const {
  auto found = resources.firstBarrier.find(allocated);
  if (!index || found == resources.firstBarrier.end()) return std::nullopt;
  bool exists = *index >= 0 && *index < cast<ttg::BarriersType>(allocated.getType()).getCount();
  return exists ? found->second + size_t(*index) + resources.arrivals.size() * size_t(cta) : notAllocated;
}

/// Returns the stage of a CTA that a buffer is, `noIndex` if only the consumers fill it; nothing if it is not known.
std::optional<size_t> EventList::stageOf(Value buffer, int64_t cta) const {
  if (!buffer || !resources.hasStages(buffer)) return noIndex;
  ttg::AllocOp alloc = allocOf(buffer);
  ttg::StageOp stage = gpu::stageOf(buffer);
  Integer index = stage ? scalars.of(stage.getIndex()) : 0;
  if (!index) return std::nullopt;
  bool exists = *index >= 0 && *index < alloc.getType().getDepth();
  return exists ? resources.firstStage.lookup(alloc) + size_t(*index) + resources.stages * size_t(cta) : notAllocated;
}

/// A fresh barrier has completed the phase of parity 1. Waits for the same parity one after the other are for the same phase.
bool EventList::wait(Operation *op, Value allocated, Integer index, Integer parity) {
  std::optional<size_t> barrier = barrierOf(allocated, index, group.cta);
  if (!barrier || !parity) return false;
  auto [found, isFirst] = waited.try_emplace(*barrier, 1 - *parity);
  if (!isFirst && found->second % 2 == *parity) ++found->second;
  events.push_back({.op = op, .kind = Event::Kind::wait, .barrier = *barrier, .phases = found->second});
  return true;
}

bool EventList::arrive(Operation *op, Value allocated, Integer index, Ctas ctas, const Arrival &arrival) {
  Integer arrives = arrival.predicate ? scalars.of(arrival.predicate) : Integer(-1);
  if (!arrives) return false;
  for (int64_t cta = 0; cta < resources.ctas && *arrives != 0; ++cta) {
    if (ctas != Ctas::all && cta != (ctas == Ctas::own ? group.cta : 0)) continue;
    std::optional<size_t> barrier = barrierOf(allocated, index, cta);
    std::optional<size_t> stage = stageOf(arrival.filled, ctas == Ctas::all ? cta : group.cta);
    if (!barrier || !stage) return false;
    events.push_back({.op = op,
                      .kind = Event::Kind::arrival,
                      .barrier = *barrier,
                      .stage = *stage,
                      .arrivals = arrival.arrivals,
                      .bytes = arrival.bytes,
                      .isAsync = arrival.isAsync});
  }
  return true;
}

void EventList::waitForGroups(ttg::CtaBarrierOp barrier) {
  size_t number = resources.ofConsumers + barrier.getAllWarps() + resources.arrivals.size() * size_t(group.cta);
  events.push_back({.op = barrier, .kind = Event::Kind::arrival, .barrier = number, .arrivals = 1});
  events.push_back({.op = barrier, .kind = Event::Kind::wait, .barrier = number, .phases = ++ctaBarriers[number]});
}

bool EventList::read(Operation *op, Event::Kind kind, bool inAllCtas) {
  for (Value operand : op->getOperands())
    for (int64_t cta = 0; cta < resources.ctas; ++cta) {
      std::optional<size_t> stage = stageOf(operand, cta);
      if (!stage) return false;
      if (*stage != noIndex && (inAllCtas || cta == group.cta)) events.push_back({.op = op, .kind = kind, .stage = *stage});
    }
  return true;
}

bool EventList::write(Operation *op, Value buffer) {
  std::optional<size_t> stage = stageOf(buffer, group.cta);
  if (stage && *stage != noIndex) events.push_back({.op = op, .kind = Event::Kind::write, .stage = *stage});
  return stage.has_value();
}

void EventList::endReads(size_t first, size_t end, bool isAsync) {
  for (size_t read = first; read < end; ++read)
    events.push_back({.op = events[read].op, .kind = Event::Kind::endRead, .stage = events[read].stage, .read = read, .isAsync = isAsync});
}

bool EventList::beginAsync(Operation *op, bool inAllCtas) {
  size_t first = size();
  if (!read(op, Event::Kind::beginRead, inAllCtas)) return false;
  endReads(first, size(), /*isAsync=*/true);
  return true;
}

bool EventList::begin(Operation *op, Queue queue) {
  size_t first = size();
  if (!read(op, Event::Kind::beginRead, /*inAllCtas=*/false)) return false;
  queues[size_t(queue)].emplace_back(first, size());
  return true;
}

void EventList::end(Queue queue, size_t pending) {
  for (auto &inFlight = queues[size_t(queue)]; inFlight.size() > pending; inFlight.pop_front())
    endReads(inFlight.front().first, inFlight.front().second, /*isAsync=*/false);
}

//===------------------------------------------------------------------------------------------------------------------- table

namespace {

using Ctas = EventList::Ctas;

using Warps = BarrierOperation::Warps;

Warps byAll(Operation *) {
  return Warps::all;
}

Warps byFirst(Operation *) {
  return Warps::first;
}

template <typename Op> Warps firstIfMarked(Operation *op) {
  return cast<Op>(op).getFirstWarp() ? Warps::first : Warps::all;
}

Warps byStoring(Operation *op) {
  return cast<ttg::TmaStoreOp>(op).getPerWarpGroup() ? Warps::firstOfEachGroup : Warps::first;
}

template <typename Op> Integer indexOf(const EventList &events, Op op) {
  Integer index = events.scalars.of(op.getIndex());
  return index && op.getPerWarpGroup() ? *index + events.group.number() : index;
}

bool listWait(EventList &events, ttg::BarrierWaitOp wait) {
  return events.wait(wait, wait.getBarriers(), indexOf(events, wait), events.scalars.of(wait.getParity()));
}

bool listArrive(EventList &events, ttg::BarrierArriveOp arrive) {
  Ctas ctas = arrive.getToFirstCta() ? Ctas::first : arrive.getInAllCtas() ? Ctas::all : Ctas::own;
  return events.arrive(arrive, arrive.getBarriers(), indexOf(events, arrive), ctas,
                       {.arrivals = events.group.warps, .predicate = arrive.getPredicate()});
}

bool listExpect(EventList &events, ttg::BarrierExpectOp expect) {
  return events.arrive(expect, expect.getBarriers(), events.scalars.of(expect.getIndex()), Ctas::own,
                       {.arrivals = 1, .bytes = expect.getBytes(), .predicate = expect.getPredicate()});
}

bool listCopy(EventList &events, ttg::TmaLoadOp load) {
  ttg::AllocOp alloc = allocOf(load.getBuffer());
  if (!alloc) return false;
  Ctas ctas = load.getToLeader() ? Ctas::first : load.getMulticast() ? Ctas::all : Ctas::own;
  int64_t bytes = copiedBytes(alloc), numCtas = events.resources.ctas;
  if (ctas == Ctas::all) bytes = bytes / numCtas + (events.group.cta == 0 ? bytes % numCtas : 0); // each CTA brings a part
  return events.arrive(load, load.getBarriers(), events.scalars.of(load.getIndex()), ctas,
                       {.arrivals = 0, .bytes = -bytes, .predicate = load.getPredicate(), .filled = load.getBuffer()});
}

bool listCommit(EventList &events, ttg::Tcgen05CommitOp commit) {
  return events.arrive(commit, commit.getBarriers(), events.scalars.of(commit.getIndex()), commit.getPaired() ? Ctas::all : Ctas::own,
                       {.arrivals = 1, .isAsync = true});
}

bool listTcgen05Mma(EventList &events, ttg::Tcgen05MmaOp mma) {
  if (!events.beginAsync(mma, /*inAllCtas=*/mma.getPaired())) return false;
  if (!mma.getBarriers()) return true;
  Integer number = events.scalars.of(mma.getIssued());
  if (number) *number &= mma.getBarriers().getType().getCount() - 1;
  return events.arrive(mma, mma.getBarriers(), number, mma.getPaired() ? Ctas::all : Ctas::own, {.arrivals = 1, .isAsync = true});
}

bool listTcgen05Wait(EventList &events, ttg::Tcgen05WaitOp wait) {
  Integer issued = events.scalars.of(wait.getIssued());
  if (!issued) return false;
  int64_t count = wait.getBarriers().getType().getCount(), number = *issued - wait.getPending() - 1;
  return number < 0 || events.wait(wait, wait.getBarriers(), number % count, number / count % 2);
}

bool listCtaBarrier(EventList &events, ttg::CtaBarrierOp barrier) {
  events.waitForGroups(barrier);
  return true;
}

template <typename Op> bool listRead(EventList &events, Op op) {
  return events.read(op, Event::Kind::read, /*inAllCtas=*/false);
}

bool listStore(EventList &events, ttg::StoreSharedOp store) {
  return events.write(store, store.getBuffer());
}

template <typename Op, EventList::Queue queue> bool listBegin(EventList &events, Op op) {
  return events.begin(op, queue);
}

template <typename Op, EventList::Queue queue> bool listEnd(EventList &events, Op wait) {
  events.end(queue, wait.getPending());
  return true;
}

Value filledByCopy(Operation *op) {
  return cast<ttg::TmaLoadOp>(op).getBuffer();
}

Value filledByPartition(Operation *op) {
  return ttg::partitionOf(op) == ttg::Partition::consumers ? Value() : cast<ttg::StoreSharedOp>(op).getBuffer();
}

template <typename Op, bool (*listOp)(EventList &, Op)> constexpr BarrierOperation row(Warps (*by)(Operation *)) {
  return {[](Operation *op) { return isa<Op>(op); }, by, [](EventList &events, Operation *op) { return listOp(events, cast<Op>(op)); }};
}

template <typename Op, bool (*listOp)(EventList &, Op)> constexpr BarrierOperation waiting(Warps (*by)(Operation *)) {
  BarrierOperation waits = row<Op, listOp>(by);
  waits.waits = true;
  return waits;
}

template <typename Op, bool (*listOp)(EventList &, Op)>
constexpr BarrierOperation filling(Warps (*by)(Operation *), Value (*filled)(Operation *)) {
  BarrierOperation fills = row<Op, listOp>(by);
  fills.fills = filled;
  return fills;
}

constexpr BarrierOperation table[] = {
    waiting<ttg::BarrierWaitOp, listWait>(firstIfMarked<ttg::BarrierWaitOp>),
    row<ttg::BarrierArriveOp, listArrive>(firstIfMarked<ttg::BarrierArriveOp>),
    row<ttg::BarrierExpectOp, listExpect>(byFirst),
    filling<ttg::TmaLoadOp, listCopy>(byFirst, filledByCopy),
    row<ttg::Tcgen05CommitOp, listCommit>(byFirst),
    row<ttg::Tcgen05MmaOp, listTcgen05Mma>(byFirst),
    waiting<ttg::Tcgen05WaitOp, listTcgen05Wait>(byFirst),
    row<ttg::CtaBarrierOp, listCtaBarrier>(byAll),
    row<ttg::LoadSharedOp, listRead<ttg::LoadSharedOp>>(byAll),
    row<ttg::FmaDotOp, listRead<ttg::FmaDotOp>>(byAll),
    filling<ttg::StoreSharedOp, listStore>(byAll, filledByPartition),
    row<ttg::MmaAsyncOp, listBegin<ttg::MmaAsyncOp, EventList::Queue::mmas>>(byAll),
    row<ttg::MmaAsyncWaitOp, listEnd<ttg::MmaAsyncWaitOp, EventList::Queue::mmas>>(byAll),
    row<ttg::TmaStoreOp, listBegin<ttg::TmaStoreOp, EventList::Queue::tmaStores>>(byStoring),
    row<ttg::TmaStoreWaitOp, listEnd<ttg::TmaStoreWaitOp, EventList::Queue::tmaStores>>(byAll),
};

} // namespace

const BarrierOperation *barrierOperation(Operation *op) {
  const BarrierOperation *found = llvm::find_if(table, [&](const BarrierOperation &each) { return each.is(op); });
  return found == std::end(table) ? nullptr : found;
}

/// Stages, views and addresses access no byte. copy_async fills buffers for the consumers alone, which wait for it without a barrier.
/// Barriers of clc_program are not verified.
bool lacksRow(Operation *op) {
  if (isa<ttg::StageOp, ttg::ViewOp, ttg::LoopVariantZeroOp, ttg::CopyAsyncOp, ttg::ClcProgramOp>(op)) return false;
  return !barrierOperation(op) && llvm::any_of(op->getOperandTypes(), llvm::IsaPred<ttg::BarriersType, ttg::BufferType>);
}

} // namespace tilewright::gpu
