// The schedule as an attribute. A matmul with three stages:
//   scf.for { %a = ttg.descriptor_load {ttg.id = 0}    %b = ttg.descriptor_load {ttg.id = 1}    ttg.mma_async {ttg.id = 2} }
//     {ttg.loop_schedule = #ttg.loop_schedule<requested 3 index_stage 2
//        ops [<0 : stage 0 order 2 partition consumers>, <1 : stage 0 order 2 partition consumers>, <2 : stage 2 order 1 partition
//        consumers>] buffers [<tma depth 3 writers [0, 1] release 2>] edges [<2 -> 2 distance 1>]>}
// Operations of an iteration that the schedule refers to have odd orders, as they follow each other in the text. What is placed after such
// an operation (copies, releases) has the even order after it; 0 is the top of the iteration.
#include "gpu/schedule/loops/loop_schedule.h"
#include "gpu/schedule/loops/prefetchable_loads.h"
#include "gpu/schedule/mma_loops.h"
#include "gpu/schedule/operation_ids.h"

#include "gpu/ttg/buffer_accesses.h"
#include "ir/refusal.h"

#include "mlir/Analysis/SliceAnalysis.h"

#include <limits>
#include <set>

using namespace mlir;

namespace tilewright::gpu {

namespace {
/// The operations that orders of a schedule refer to, in the order of the text.
class Anchors {
public:
  explicit Anchors(const LoopSchedule &schedule) {
    auto add = [&](Operation *op) {
      if (op) ops.insert(op);
    };
    for (auto mma : schedule.body()->getOps<ttg::MmaAsyncOp>())
      add(mma);
    for (const MmaEdge &edge : schedule.edges)
      add(edge.until);
    for (const CircularBuffer &circular : schedule.circularBuffers) {
      add(circular.copyAfter);
      add(circular.releaseAfter);
    }
    add(schedule.operandPlan.releaseAfter);
    inOrder = ops.takeVector();
    llvm::sort(inOrder, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  }
  ArrayRef<Operation *> all() const { return inOrder; }
  int64_t orderOf(Operation *op) const { return 2 * (llvm::find(inOrder, op) - inOrder.begin()) + 1; }
  int64_t orderAfter(Operation *op) const { return op ? orderOf(op) + 1 : 0; }

private:
  llvm::SetVector<Operation *> ops;
  SmallVector<Operation *> inOrder;
};

/// Writes one schedule.
class Writer {
public:
  Writer(const LoopSchedule &schedule, int64_t &nextId)
      : schedule(schedule), context(scf::ForOp(schedule.loop).getContext()), anchors(schedule), nextId(nextId) {}

  ttg::LoopScheduleAttr run() {
    numberOperations();
    indexStage = schedule.shift > 0 || !schedule.registerLoads.empty() || schedule.warpSpecialized;
    for (const CircularBuffer &circular : schedule.circularBuffers)
      indexStage = std::max(indexStage, circular.distance);
    for (const CircularBuffer &circular : schedule.circularBuffers)
      addCopies(circular);
    addThreads();
    for (Operation *op : anchors.all())
      addOp(op, op == schedule.shiftedMma ? schedule.shift : 0, anchors.orderOf(op), ttg::Partition::consumers);
    ttg::OperandPlanAttr plan;
    if (const OperandPlan &own = schedule.operandPlan; schedule.operandPartition)
      plan = ttg::OperandPlanAttr::get(context, anchors.orderAfter(own.releaseAfter), own.loadsWholeRows, own.fencesEarly);
    auto continues = schedule.continues ? std::optional(idOf(schedule.continues)) : std::nullopt;
    auto text = [&](StringRef value) { return value.empty() ? StringAttr() : StringAttr::get(context, value); };
    return ttg::LoopScheduleAttr::get(context, text(schedule.policy), schedule.requested, indexStage, ops, buffers,
                                      attributesOf(schedule.edges), schedule.crossTile, continues, schedule.storesInFlight,
                                      schedule.storesPerWarpGroup, schedule.registersForWords, plan, text(schedule.reason));
  }

private:
  /// Gives the operations of the schedule ids, in the order of the text.
  void numberOperations() {
    auto number = [&](Operation *op) {
      if (!op->hasAttr(ttg::idName)) setId(op, nextId++);
    };
    number(schedule.loop);
    SmallVector<Operation *> named(anchors.all());
    for (const Copy &copy : schedule.copies())
      named.push_back(copy.load);
    llvm::append_range(named, schedule.computed);
    llvm::append_range(named, schedule.registerLoads);
    llvm::sort(named, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
    llvm::for_each(named, number);
  }

  void addOp(Operation *op, int64_t offset, int64_t order, ttg::Partition partition) {
    ops.push_back(ttg::ScheduledOpAttr::get(context, idOf(op), indexStage - offset, order, partition));
  }

  void addCopies(const CircularBuffer &circular) {
    SmallVector<int64_t> writers, multicast;
    bool hasProducer = schedule.warpSpecialized;
    for (const Copy &copy : circular.copies) {
      addOp(copy.load, hasProducer ? indexStage : circular.distance,
            hasProducer ? circular.fillOrder : anchors.orderAfter(circular.copyAfter),
            hasProducer ? ttg::Partition::producer : ttg::Partition::consumers);
      writers.push_back(idOf(copy.load));
      if (copy.multicast) multicast.push_back(writers.back());
    }
    addBuffer(circular.tma ? ttg::BufferKind::tma : ttg::BufferKind::copy_async, schedule.stages, writers,
              anchors.orderAfter(circular.releaseAfter), circular.firstWarp, multicast);
  }

  /// The circular buffers that threads fill, and registers.
  void addThreads() {
    SmallVector<int64_t> stores, loads;
    for (ttg::StoreSharedOp store : schedule.computed) {
      stores.push_back(idOf(store));
      if (ttg::partitionOf(store) == ttg::Partition::operands) addOp(store, 0, 0, ttg::Partition::operands);
    }
    if (!stores.empty()) addBuffer(ttg::BufferKind::threads, schedule.computedStages, stores, 0);
    for (tt::LoadOp load : schedule.registerLoads) {
      addOp(load, 1, 0, ttg::Partition::consumers);
      loads.push_back(idOf(load));
    }
    if (!loads.empty()) addBuffer(ttg::BufferKind::registers, 1, loads, 0);
  }

  void addBuffer(ttg::BufferKind kind, int64_t depth, ArrayRef<int64_t> writers, int64_t release, bool firstWarp = false,
                 ArrayRef<int64_t> multicast = {}) {
    buffers.push_back(ttg::CircularBufferAttr::get(context, kind, depth, writers, release, firstWarp, multicast));
  }

  const LoopSchedule &schedule;
  MLIRContext *context;
  Anchors anchors;
  int64_t &nextId;
  int64_t indexStage = 0;
  SmallVector<ttg::ScheduledOpAttr> ops;
  SmallVector<ttg::CircularBufferAttr> buffers;
};

/// Reads one schedule.
class Reader {
public:
  explicit Reader(scf::ForOp loop) : made(loop->getAttrOfType<ttg::LoopScheduleAttr>(ttg::loopScheduleName)), byId(loop.getBody()) {
    schedule.loop = loop;
  }

  FailureOr<LoopSchedule> run() {
    if (made.getPolicy()) schedule.policy = made.getPolicy().getValue();
    if (made.getReason()) schedule.reason = made.getReason().str();
    schedule.requested = made.getRequested();
    schedule.stages = made.getStages();
    schedule.crossTile = made.getCrossTile();
    schedule.storesInFlight = made.getStoresInFlight();
    schedule.storesPerWarpGroup = made.getStoresPerWarpGroup();
    schedule.registersForWords = made.getRegistersForWords();
    schedule.paired = hasPairedMmas(schedule.loop);
    if (std::optional<int64_t> id = made.getContinues()) {
      Operation *before = schedule.loop->getPrevNode();
      while (before && !(before->hasAttr(ttg::idName) && idOf(before) == *id))
        before = before->getPrevNode();
      if (!before) return fail("no loop before it has the number ") << *id;
      schedule.continues = before;
    }
    for (ttg::ScheduledOpAttr op : made.getOps())
      if (failed(readOp(op))) return failure();
    for (ttg::CircularBufferAttr buffer : made.getBuffers())
      if (failed(readBuffer(buffer))) return failure();
    if (ttg::OperandPlanAttr plan = made.getOperandPlan()) {
      FailureOr<Operation *> releaseAfter = operationBefore(plan.getRelease());
      if (failed(releaseAfter)) return failure();
      schedule.operandPartition = true;
      schedule.operandPlan = {*releaseAfter, plan.getLoadsWholeRows(), plan.getFencesEarly()};
    }
    for (ttg::AsyncEdgeAttr edge : made.getEdges()) {
      auto mma = dyn_cast_or_null<ttg::MmaAsyncOp>(byId.lookup(edge.getMma()));
      Operation *until = byId.lookup(edge.getUntil());
      if (!mma || !isa_and_nonnull<ttg::MmaAsyncOp, ttg::MmaAsyncWaitOp>(until) || edge.getDistance() != 1)
        return fail("an edge needs an MMA, and an MMA or a wait of the next iteration that ends it");
      schedule.edges.push_back({mma, until, edge.getDistance()});
    }
    return std::move(schedule);
  }

private:
  InFlightDiagnostic fail(const Twine &message) { return schedule.loop.emitError("ttg.loop_schedule: ") << message; }

  LogicalResult readOp(ttg::ScheduledOpAttr op) {
    Operation *found = byId.lookup(op.getId());
    if (!found) return fail("the loop has no operation, or several, with the number ") << op.getId();
    if (!scheduled.try_emplace(op.getId(), op).second) return fail("operation ") << op.getId() << " is listed twice";
    schedule.warpSpecialized |= isProducers(op);
    bool isOperands = op.getPartition() == ttg::Partition::operands;
    if (isOperands && !made.getOperandPlan()) return fail("a partition computes an operand without a plan");
    bool isLoad = isa<tt::LoadOp, ttg::DescriptorLoadOp>(found), isMma = isa<ttg::MmaAsyncOp>(found);
    if ((isProducers(op) && !isLoad) || isOperands != (ttg::partitionOf(found) == ttg::Partition::operands))
      return fail("operation ") << op.getId() << " is not of this partition";
    bool isAnchor = op.getPartition() == ttg::Partition::consumers && op.getOrder() % 2 == 1;
    if (isAnchor && !byOrder.try_emplace(op.getOrder(), found).second) return fail("two operations have the order ") << op.getOrder();
    if (!isStage(op.getStage()) || !isStage(made.getIndexStage())) return fail("no loop has the stage ") << op.getStage();
    int64_t offset = offsetOf(op);
    if (isProducers(op) ? op.getStage() != 0 : offset != 0 && !isLoad && !isMma)
      return fail("operation ") << op.getId() << " does not run in this stage";
    if (!isMma || offset == 0) return success();
    if (schedule.shiftedMma || std::abs(offset) != 1) return fail("at most one MMA can be shifted, by one iteration");
    schedule.shiftedMma = found;
    schedule.shift = offset;
    return success();
  }

  static bool isStage(int64_t stage) { return stage >= 0 && stage <= std::numeric_limits<int32_t>::max(); }

  static bool isProducers(ttg::ScheduledOpAttr op) { return op.getPartition() == ttg::Partition::producer; }
  /// What the schedule says of an operation; null if it does not list it.
  ttg::ScheduledOpAttr scheduledOf(int64_t id) const {
    auto found = scheduled.find(id);
    return found == scheduled.end() ? ttg::ScheduledOpAttr() : found->second;
  }
  int64_t offsetOf(ttg::ScheduledOpAttr op) { return made.getIndexStage() - op.getStage(); }

  /// The operation after which something with this order stands; null for the top of the iteration.
  FailureOr<Operation *> operationBefore(int64_t order) {
    if (order == 0) return nullptr;
    auto op = byOrder.find(order - 1);
    if (op == byOrder.end()) return fail("no operation has the order before ") << order;
    return op->second;
  }

  static bool mayFill(ttg::BufferKind kind, Operation *writer) {
    switch (kind) {
    case ttg::BufferKind::threads: return isa_and_nonnull<ttg::StoreSharedOp>(writer);
    case ttg::BufferKind::tma: return isa_and_nonnull<ttg::DescriptorLoadOp>(writer);
    case ttg::BufferKind::copy_async:
    case ttg::BufferKind::registers: return isa_and_nonnull<tt::LoadOp>(writer);
    }
    return false;
  }

  LogicalResult readBuffer(ttg::CircularBufferAttr buffer) {
    SmallVector<Operation *> writers;
    for (int64_t id : buffer.getWriters()) {
      Operation *writer = byId.lookup(id);
      if (!mayFill(buffer.getKind(), writer)) return fail("operation ") << id << " does not fill this buffer";
      if (!filling.insert(id).second) return fail("operation ") << id << " fills two buffers";
      if (!isa<ttg::StoreSharedOp>(writer) && llvm::is_contained(llvm::make_second_range(byOrder), writer)) // the rewriting replaces it
        return fail("operation ") << id << " fills a buffer, so nothing stands after it";
      writers.push_back(writer);
    }
    if (writers.empty()) return fail("a buffer has no writers");
    if (buffer.getKind() == ttg::BufferKind::tma || buffer.getKind() == ttg::BufferKind::copy_async) return readCopies(buffer, writers);
    if (buffer.getRelease() != 0 || buffer.getFirstWarp() || !buffer.getMulticast().empty())
      return fail("only stages that copies fill are released");
    return buffer.getKind() == ttg::BufferKind::threads ? readComputed(buffer, writers) : readRegisters(buffer, writers);
  }

  LogicalResult readComputed(ttg::CircularBufferAttr buffer, ArrayRef<Operation *> writers) {
    if (!schedule.computed.empty() && schedule.computedStages != buffer.getDepth())
      return fail("buffers of computed operands have the same depth");
    schedule.computedStages = buffer.getDepth();
    for (Operation *writer : writers)
      schedule.computed.push_back(cast<ttg::StoreSharedOp>(writer));
    return success();
  }

  LogicalResult readRegisters(ttg::CircularBufferAttr buffer, ArrayRef<Operation *> writers) {
    for (Operation *writer : writers) {
      ttg::ScheduledOpAttr load = scheduledOf(idOf(writer));
      if (!load || isProducers(load) || offsetOf(load) != 1 || buffer.getDepth() != 1)
        return fail("operation ") << idOf(writer) << " is not loaded one iteration early";
      schedule.registerLoads.push_back(cast<tt::LoadOp>(writer));
    }
    return success();
  }

  LogicalResult readCopies(ttg::CircularBufferAttr buffer, ArrayRef<Operation *> writers) {
    if (buffer.getDepth() == 1 && schedule.stages == 1) return success(); // no load is prefetched
    CircularBuffer circular;
    circular.tma = buffer.getKind() == ttg::BufferKind::tma;
    circular.firstWarp = buffer.getFirstWarp();
    if (buffer.getDepth() != schedule.stages) return fail("circular buffers of one loop have the same depth");
    if (!llvm::all_of(buffer.getMulticast(), [&](int64_t id) { return llvm::is_contained(buffer.getWriters(), id); }))
      return fail("CTAs share a copy that does not fill this buffer");
    for (Operation *load : writers) {
      auto store = load->hasOneUse() ? dyn_cast<ttg::StoreSharedOp>(*load->user_begin()) : ttg::StoreSharedOp();
      auto alloc = store ? store.getBuffer().getDefiningOp<ttg::AllocOp>() : ttg::AllocOp();
      if (!alloc) return fail("a load does not feed a buffer of its own");
      circular.copies.push_back({load, store, alloc, llvm::is_contained(buffer.getMulticast(), idOf(load))});
    }
    if (!findReaders(circular, schedule.loop.getBody())) return fail("the reads of a buffer do not end within an iteration");
    ttg::ScheduledOpAttr first = scheduledOf(buffer.getWriters().front());
    for (int64_t id : buffer.getWriters()) {
      ttg::ScheduledOpAttr copy = scheduledOf(id);
      if (!copy || copy.getStage() != first.getStage() || copy.getOrder() != first.getOrder() ||
          isProducers(copy) != schedule.warpSpecialized)
        return fail("operation ") << id << " does not fill this buffer together with the others";
    }
    FailureOr<Operation *> copyAfter = operationBefore(schedule.warpSpecialized ? 0 : first.getOrder());
    FailureOr<Operation *> releaseAfter = operationBefore(buffer.getRelease());
    if (failed(copyAfter) || failed(releaseAfter)) return failure();
    circular.fillOrder = schedule.warpSpecialized ? first.getOrder() : 0;
    circular.distance = schedule.warpSpecialized ? 0 : offsetOf(first);
    circular.copyAfter = *copyAfter;
    circular.releaseAfter = *releaseAfter;
    schedule.circularBuffers.push_back(std::move(circular));
    return success();
  }

  ttg::LoopScheduleAttr made;
  LoopSchedule schedule;
  OperationsById byId;
  std::map<int64_t, Operation *> byOrder;
  std::map<int64_t, ttg::ScheduledOpAttr> scheduled; ///< by id
  std::set<int64_t> filling;                         ///< ids of the writers of buffers
};
} // namespace

Operation *CopiedTiles::lastLoad() const {
  auto isEarlier = [](const Copy &x, const Copy &y) { return x.load->isBeforeInBlock(y.load); };
  return llvm::max_element(copies, isEarlier)->load;
}

bool CopiedTiles::holdsRows() const {
  return llvm::all_of(copies, [](const Copy &copy) { return ttg::AllocOp(copy.alloc).getType().getShape().size() == 1; });
}

void CopiedTiles::append(const CopiedTiles &other) {
  copies.append(other.copies);
  if (endOfReads->isBeforeInBlock(other.endOfReads)) endOfReads = other.endOfReads;
  threadsRead |= other.threadsRead;
  mmasRead |= other.mmasRead;
}

SmallVector<Value> CopiedTiles::operands() const {
  SmallVector<Value> all;
  for (const Copy &copy : copies)
    llvm::append_range(all, copy.load->getOperands());
  return all;
}

SmallVector<Copy> LoopLoads::copies() const {
  SmallVector<Copy> all;
  for (const CircularBuffer &circular : circularBuffers)
    llvm::append_range(all, circular.copies);
  return all;
}

llvm::SetVector<Operation *> LoopLoads::operandPartitionOps() const {
  llvm::SetVector<Operation *> ops;
  BackwardSliceOptions options;
  options.filter = [body = body()](Operation *op) { return op->getBlock() == body; };
  for (ttg::StoreSharedOp store : computed)
    (void)getBackwardSlice(store.getOperation(), &ops, options);
  return ops;
}

void writeSchedule(const LoopSchedule &schedule, int64_t &nextId) {
  scf::ForOp loop = schedule.loop;
  loop->setAttr(ttg::loopScheduleName, Writer(schedule, nextId).run());
}

FailureOr<LoopSchedule> readSchedule(scf::ForOp loop) {
  return Reader(loop).run();
}

} // namespace tilewright::gpu
