// The issue of tcgen05.mma, cp, shift and commit by one thread, with its checks, and the order in which they execute.
//
// An operation waits in its CTA's queue. It may execute before earlier ones, except those with which it forms a pipeline. A commit executes
// after all earlier operations of its thread.
#include "gpu/machine/simulate_tensor_core.h"

using namespace mlir;

namespace tilewright::gpu::sim {

// ---- issue

/// Returns the only lane that executes the step, -1 if none does, or nothing after an error.
static std::optional<int64_t> issuingLane(Warp &warp, const Step &step) {
  uint32_t acts = warp.acting(step);
  if (llvm::popcount(acts) > 1) {
    warp.fail(step,
              llvm::Twine(llvm::popcount(acts)) +
                  " threads of the warp execute this, and each of them starts the operation: one thread issues it (PTX ISA 9.7.16.5)");
    return std::nullopt;
  }
  return acts ? int64_t(llvm::countr_zero(acts)) : -1;
}

/// Numbers an operation of a thread.
static std::shared_ptr<TensorOperation> makeOperation(Warp &warp, const Step &step, int64_t lane, TensorKind kind) {
  TensorCounter &counter = warp.tensor.threads[lane];
  if (counter.complete < 0) {
    counter.complete = warp.cta.components++;
    counter.fenced = warp.cta.components++;
  }
  auto operation = std::make_shared<TensorOperation>();
  TensorAccess &access = operation->access;
  access.kind = kind;
  access.step = &step;
  access.warp = &warp;
  access.lane = lane;
  access.complete = counter.complete;
  access.fenced = counter.fenced;
  access.number = kind == TensorKind::commit ? counter.issued : ++counter.issued;
  return operation;
}

static bool checkShape(TensorOperation &operation, ptx::Tcgen05MmaOp op, uint32_t bits) {
  auto wrong = [&](const llvm::Twine &text) { return operation.access.warp->fail(*operation.access.step, text, operation.access.lane); };
  Result<InstructionDescriptor> shape = decodeInstruction(kindOf(op.getKind()), bits);
  if (!shape) return wrong(shape.error() + " (PTX ISA 9.7.16.4.2)");
  std::string broken = brokenRule(*shape, formOf(op));
  if (!broken.empty()) return wrong(broken + " (PTX ISA 9.7.16.2.1 and 9.7.16.10)");
  operation.access.shape = *shape;
  bool isHalf = shape->m == 64;
  TensorWord d = wordOf(operation.access.d), a = wordOf(operation.a);
  if (d.lane != 0 && !(isHalf && d.lane == 16))
    return wrong("D starts at lane " + llvm::Twine(d.lane) + ", not 0" + (isHalf ? " or 16" : "") + " (PTX ISA 9.7.16.10.5)");
  if (formOf(op).aInTensorMemory && a.lane != d.lane) return wrong("A and D start at different lanes (PTX ISA 9.7.16.10.5)");
  if (hasBlockScales(shape->kind) && (wordOf(operation.scaleA).lane || wordOf(operation.scaleB).lane))
    return wrong("the scales start at lane 0: they are in all four partitions (PTX ISA 9.7.16.10.7)");
  return true;
}

static void readOperands(TensorOperation &operation, ptx::Tcgen05MmaOp op) {
  Warp &warp = *operation.access.warp;
  const Step &step = *operation.access.step;
  auto get = [&](int64_t index) { return index < 0 ? 0 : warp.get(step, size_t(index))[operation.access.lane]; };
  operation.access.d = get(0);
  operation.a = get(1);
  operation.b = get(2);
  operation.accumulate = get(4) & 1;
  int64_t next = 5;
  if (op.getScaleA()) operation.scaleA = get(next++);
  if (op.getScaleB()) operation.scaleB = get(next++);
  for (size_t i = 0; i < op.getDisable().size(); ++i)
    operation.disabled[i] = uint32_t(get(next++));
}

/// Checks the accesses of an MMA to the tensor memory of one CTA.
static bool touchTensor(const TensorOperation &operation, const MmaPlaces &places, TensorChecker &checker, Cta &cta, int64_t index) {
  auto disabled = [&](int64_t lane) { return operation.disabled[4 * index + lane / 32] >> (lane % 32) & 1; };
  constexpr int64_t columnsOfA = 8; // K of every kind has 32 bytes
  for (int64_t row = 0; row < places.rows(); ++row)
    for (int64_t n = 0; n < places.shape.n; ++n) {
      TensorWord word = places.wordOfD(row, n);
      if (!disabled(word.lane) && !checker.touch(cta, word.lane, word.column, /*writes=*/true)) return false;
      if (n % places.columns()) continue;
      for (int64_t column = 0; places.form.aInTensorMemory && column < columnsOfA; ++column)
        if (!checker.touch(cta, word.lane, wordOf(operation.a).column + column, /*writes=*/false)) return false;
    }
  if (!hasBlockScales(places.shape.kind)) return true;
  for (int64_t partition = 0; partition < tensorLanes; partition += 32) {
    for (int64_t row = 0; row < places.rows(); ++row) {
      TensorWord word = places.wordOfScaleA(row, partition);
      if (!checker.touch(cta, word.lane, word.column, /*writes=*/false)) return false;
    }
    for (int64_t n = 0; n < places.columns(); ++n) {
      TensorWord word = places.wordOfScaleB(n, partition);
      if (!checker.touch(cta, word.lane, word.column, /*writes=*/false)) return false;
    }
  }
  return true;
}

static bool readShared(const TensorOperation &operation, Cta &cta, const std::vector<uint64_t> &addresses) {
  for (uint64_t address : addresses)
    if (!readByTensorCore(*operation.access.warp, *operation.access.step, operation.access, cta, address)) return false;
  return true;
}

/// Issues the operation of the only thread that executes the step, if `prepare` finds no error: from now on it may execute at any time.
static bool issue(Warp &warp, const Step &step, TensorKind kind, llvm::function_ref<bool(TensorOperation &, int64_t lane)> prepare) {
  std::optional<int64_t> lane = issuingLane(warp, step);
  if (!lane || *lane < 0) return lane.has_value();
  auto operation = makeOperation(warp, step, *lane, kind);
  if (!prepare(*operation, *lane)) return false;
  warp.cta.tensorQueue.push_back(std::move(operation));
  return true;
}

static bool mma(Warp &warp, const Step &step, ptx::Tcgen05MmaOp op) {
  return issue(warp, step, TensorKind::mma, [&](TensorOperation &operation, int64_t lane) {
    readOperands(operation, op);
    if (!checkShape(operation, op, uint32_t(warp.get(step, 3)[lane]))) return false;
    std::optional<MmaOperands> operands = operandsOf(operation);
    llvm::SmallVector<Cta *, 2> ctas = ctasOf(warp, step, op.getCtaGroup());
    if (!operands || ctas.empty()) return false;
    const MmaPlaces &places = operands->places;
    TensorChecker checker(warp, step, operation.access);
    for (auto [index, cta] : llvm::enumerate(ctas)) {
      if (!touchTensor(operation, places, checker, *cta, int64_t(index))) return false;
      if (operands->a && !readShared(operation, *cta, operands->a->units(places.rows()))) return false;
      if (!readShared(operation, *cta, operands->b.units(places.shape.n / places.form.ctaGroup))) return false;
    }
    return true;
  });
}

static bool copy(Warp &warp, const Step &step, ptx::Tcgen05CpOp op) {
  return issue(warp, step, TensorKind::copy, [&](TensorOperation &operation, int64_t lane) {
    operation.access.d = warp.get(step, 0)[lane];
    operation.a = warp.get(step, 1)[lane];
    std::optional<MatrixDescriptor> source = sourceOf(operation);
    llvm::SmallVector<Cta *, 2> ctas = ctasOf(warp, step, op.getCtaGroup());
    if (!source || ctas.empty()) return false;
    TensorWord to = wordOf(operation.access.d);
    if (to.lane && op.getShape() != ptx::TensorCopy::m4x256b)
      return warp.fail(step, "the copy starts at lane " + llvm::Twine(to.lane) + ", not 0 (PTX ISA 9.7.16.9.2)", lane);
    CopyShape shape = shapeOf(op.getShape());
    TensorChecker checker(warp, step, operation.access);
    for (Cta *cta : ctas)
      for (int64_t row = 0; row < shape.rows; ++row) {
        for (int64_t byte = 0; byte < shape.bytes; byte += 16)
          if (!readByTensorCore(warp, step, operation.access, *cta, source->addressKMajor(row, byte))) return false;
        for (int64_t target : shape.lanesOf(op.getShape(), row))
          for (int64_t column = 0; column < shape.bytes / 4; ++column)
            if (!checker.touch(*cta, to.lane + target, to.column + column, /*writes=*/true)) return false;
      }
    return true;
  });
}

static bool shift(Warp &warp, const Step &step, ptx::Tcgen05ShiftOp op) {
  return issue(warp, step, TensorKind::shift, [&](TensorOperation &operation, int64_t lane) {
    operation.access.d = warp.get(step, 0)[lane];
    TensorWord start = wordOf(operation.access.d);
    if (start.lane % lanesOfWarp) return warp.fail(step, "the lane of the address is not a multiple of 32 (PTX ISA 9.7.16.9.3)", lane);
    llvm::SmallVector<Cta *, 2> ctas = ctasOf(warp, step, op.getCtaGroup());
    TensorChecker checker(warp, step, operation.access);
    for (Cta *cta : ctas)
      for (int64_t row = 0; row + 1 < lanesOfWarp; ++row)
        for (int64_t column = start.column; column < start.column + shiftedColumns; ++column)
          if (!checker.touch(*cta, start.lane + row + 1, column, /*writes=*/false) ||
              !checker.touch(*cta, start.lane + row, column, /*writes=*/true))
            return false;
    return !ctas.empty();
  });
}

/// Returns what a commit's arrival tells about each CTA: what its thread knows, and that its operations are complete. Of what the thread's
/// warp has written it tells only what a fence_async made visible to those operations: a commit is not a release.
static std::vector<Clock> knownAtCommit(const Warp &warp, const TensorAccess &access) {
  std::vector<Clock> known;
  for (const auto &cta : warp.cta.cluster.ctas) {
    Clock clock = warp.knownOf(*cta);
    if (cta.get() == &warp.cta) {
      uint32_t fenced = 0;
      for (auto [epoch, lanes] : warp.asyncFences)
        if (lanes >> access.lane & 1) fenced = epoch;
      clock[warp.index] = fenced;
      clock.resize(std::max(clock.size(), size_t(access.complete) + 1));
      clock[access.complete] = access.number;
    }
    known.push_back(std::move(clock));
  }
  return known;
}

static bool commit(Warp &warp, const Step &step, ptx::Tcgen05CommitOp op) {
  return issue(warp, step, TensorKind::commit, [&](TensorOperation &operation, int64_t lane) {
    operation.barrier = warp.cta.local(warp.get(step, 0)[lane]);
    operation.ctas = op.getCtas() ? uint32_t(warp.get(step, 1)[lane] & 0xffff) : 1u << warp.cta.rank;
    auto &ctas = warp.cta.cluster.ctas;
    if (operation.ctas >> ctas.size()) return warp.fail(step, "the cluster has fewer CTAs than the mask names (PTX ISA 9.7.16.12.1)", lane);
    for (const auto &cta : ctas)
      if (operation.ctas >> cta->rank & 1 && !findBarrier(warp, step, lane, *cta, operation.barrier)) return false;
    operation.known = knownAtCommit(warp, operation.access);
    return true;
  });
}

// ---- execution

static bool mustWaitFor(const TensorOperation &later, const TensorOperation &earlier) {
  bool isSameThread = later.access.warp == earlier.access.warp && later.access.lane == earlier.access.lane;
  if (later.access.kind == TensorKind::commit) return isSameThread && earlier.access.kind != TensorKind::commit;
  return earlier.access.kind != TensorKind::commit && isPipelined(earlier.access, later.access);
}

/// Returns the place in `ready` of the operation that executes next. Late: the one issued last, and commits after all others, in order.
static size_t chooseNext(Cta &cta, llvm::ArrayRef<size_t> ready) {
  switch (cta.options.timing) {
  case AsyncTiming::early: return 0;
  case AsyncTiming::random: return size_t(cta.random() % ready.size());
  case AsyncTiming::late: break;
  }
  for (size_t i = ready.size(); i > 0; --i)
    if (cta.tensorQueue[ready[i - 1]]->access.kind != TensorKind::commit) return i - 1;
  return 0;
}

bool runTensorQueue(Cta &cta) {
  auto &queue = cta.tensorQueue;
  llvm::SmallVector<size_t> ready;
  for (size_t i = 0; i < queue.size(); ++i) {
    bool waits = false;
    for (size_t j = 0; j < i && !waits; ++j)
      waits = mustWaitFor(*queue[i], *queue[j]);
    if (!waits) ready.push_back(i);
  }
  size_t which = ready[chooseNext(cta, ready)];
  std::shared_ptr<TensorOperation> operation = queue[which];
  queue.erase(queue.begin() + int64_t(which));
  ++cta.cluster.launch.changes;
  return executeTensor(*operation);
}

void addTensorCoreHandlers(HandlerTable &table) {
  table.add<mma, copy, shift, commit>();
}

} // namespace tilewright::gpu::sim
