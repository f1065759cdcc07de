// The order between accesses to tensor memory, and the checks of each access. PTX ISA 9.1, sections 9.7.16.1 (tensor memory) and 9.7.16.6
// (memory consistency model).
//
//   mma -> d, commit -> bar       the words of d: written by operation 1 of thread (0, 0); bar's phase tells "1 is complete"
//   wait bar, fence after         the warp remembers clocks that contain "1 is complete"
//   ld d                          ordered. Without the commit and the wait, or without the fence: an error that names what is missing
#include "gpu/machine/simulate_program.h"
#include "gpu/machine/tcgen05.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::gpu::sim {

static bool isOfThread(TensorKind kind) {
  return kind == TensorKind::mma || kind == TensorKind::copy || kind == TensorKind::shift;
}

static bool isSameThread(const TensorAccess &a, const TensorAccess &b) {
  return a.warp == b.warp && a.lane == b.lane;
}

// PTX ISA 9.7.16.6.2: pipelined tcgen05 instructions. All operations of a kernel have one cta_group.
bool isPipelined(const TensorAccess &first, const TensorAccess &second) {
  using K = TensorKind;
  if (first.kind == K::mma && second.kind == K::mma)
    return first.d == second.d && first.shape->kind == second.shape->kind && first.shape->m == second.shape->m &&
           first.shape->n == second.shape->n;
  if (second.kind == K::mma) return first.kind == K::copy || first.kind == K::shift;
  if (first.kind == K::shift && second.kind == K::copy)
    return cast<ptx::Tcgen05CpOp>(second.step->op).getShape() == ptx::TensorCopy::m4x256b;
  return first.kind == K::mma && second.kind == K::shift;
}

namespace {
/// What a later access knows about the CTA of an earlier one.
struct Knowledge {
  const Warp &warp;
  int64_t lane;    // -1: all lanes
  bool needsFence; // false for synchronous operations
  size_t rank;     // of the earlier access's CTA

  bool now(const Cta &cta, int64_t component, uint32_t number) const {
    return component >= 0 && at(warp.knownOf(cta), component) >= number;
  }
  /// True if the last tcgen05_fence after of each thread came after that.
  bool fenced(const Cta &cta, int64_t component, uint32_t number) const {
    if (!needsFence) return now(cta, component, number);
    for (int64_t i = lane < 0 ? 0 : lane; i < (lane < 0 ? lanesPerWarp : lane + 1); ++i) {
      const WarpTensor::Clocks &seen = warp.tensor.seen[i];
      if (component < 0 || !seen || at((*seen)[rank], component) < number) return false;
    }
    return true;
  }
};
} // namespace

constexpr const char *fenceAfter = "tcgen05_fence after is missing between the synchronization and this operation (PTX ISA 9.7.16.6.3)";

/// The same for an earlier load or store of another warp, or of this one.
static std::string missingAfterRegisters(const TensorAccess &earlier, const TensorAccess &later, const Knowledge &known) {
  bool isLoad = earlier.kind == TensorKind::load;
  const Warp &warp = *earlier.warp;
  const TensorCounter &counter = isLoad ? warp.tensor.loads : warp.tensor.stores;
  std::string who = earlier.warp == later.warp ? "" : " in warp " + std::to_string(warp.index);
  std::string wait = std::string("tcgen05_wait ") + (isLoad ? "ld" : "st") + " is missing" + who + " (PTX ISA 9.7.16.6.4.2)";
  if (earlier.warp == later.warp) return earlier.number <= counter.waited ? "" : wait;
  if (known.fenced(warp.cta, known.needsFence ? counter.fenced : counter.complete, earlier.number)) return "";
  if (earlier.number > counter.waited) return wait;
  if (!known.needsFence) return "no synchronization orders the two";
  if (counter.fenced < 0 || at(warp.clock, counter.fenced) < earlier.number)
    return "tcgen05_fence before is missing" + who + " (PTX ISA 9.7.16.6.4.4)";
  return known.now(warp.cta, counter.fenced, earlier.number) ? fenceAfter : "no synchronization orders the two";
}

std::string missingBetween(const TensorAccess &earlier, const TensorAccess &later) {
  const Warp &warp = *earlier.warp;
  Knowledge known{*later.warp, later.lane, later.kind != TensorKind::dealloc, size_t(warp.cta.rank)};
  if (!isOfThread(earlier.kind)) return missingAfterRegisters(earlier, later, known);
  if (known.fenced(warp.cta, earlier.complete, earlier.number)) return "";
  if (!isPipelined(earlier, later))
    return known.now(warp.cta, earlier.complete, earlier.number) ? fenceAfter
                                                                 : "a tcgen05_commit after the first, and a wait for its mbarrier, are "
                                                                   "missing: the two are not a pipeline (PTX ISA 9.7.16.6.2)";
  if (isSameThread(earlier, later) || known.fenced(warp.cta, earlier.fenced, earlier.number)) return "";
  if (at(warp.clock, earlier.fenced) < earlier.number)
    return "tcgen05_fence before is missing in warp " + std::to_string(warp.index) + " (PTX ISA 9.7.16.6.4.3)";
  return known.now(warp.cta, earlier.fenced, earlier.number) ? fenceAfter : "no synchronization orders the two";
}

// ---- one operation

TensorChecker::TensorChecker(Warp &warp, const Step &step, const TensorAccess &access)
    : warp(warp), step(step), number(uint32_t(warp.cta.cluster.tensorAccesses.size())) {
  warp.cta.cluster.tensorAccesses.push_back(access);
}

bool TensorChecker::isOrdered(uint32_t earlier) {
  if (!earlier || earlier == number || llvm::is_contained(ordered, earlier)) return true;
  const std::vector<TensorAccess> &accesses = warp.cta.cluster.tensorAccesses;
  if (llvm::is_contained(unordered, earlier)) return false;
  bool result = missingBetween(accesses[earlier], accesses[number]).empty();
  (result ? ordered : unordered).push_back(earlier);
  return result;
}

bool TensorChecker::check(uint32_t earlier, int64_t lane, int64_t column, bool writes) {
  if (isOrdered(earlier)) return true;
  const std::vector<TensorAccess> &accesses = warp.cta.cluster.tensorAccesses;
  const TensorAccess &first = accesses[earlier], &own = accesses[number];
  std::string missing = missingBetween(first, own);
  const Cta &cta = warp.cta;
  return warp.fail(step,
                   llvm::Twine("race in tensor memory: ") + (writes ? "writes" : "reads") + " lane " + llvm::Twine(lane) + ", column " +
                       llvm::Twine(column) + ", which " + cta.whereIs(first.step->number) + " accesses: " + missing,
                   own.lane, first.step->number);
}

bool TensorChecker::touch(Cta &cta, int64_t lane, int64_t column, bool writes) {
  const TensorAccess &own = warp.cta.cluster.tensorAccesses[number];
  if (lane < 0 || lane >= tensorLanes || column < 0 || column >= tensorColumns || !cta.tensor.allocated[column])
    return warp.fail(
        step, "lane " + llvm::Twine(lane) + ", column " + llvm::Twine(column) + " of tensor memory is not allocated (PTX ISA 9.7.16.1.2)",
        own.lane);
  if (std::optional<uint32_t> freedBy = cta.tensor.freedBy[column])
    return warp.fail(step,
                     "a tcgen05_dealloc has begun to free column " + llvm::Twine(column) +
                         " of tensor memory: a CTA, or a pair, frees it after all accesses to it (PTX ISA 9.7.16.7.1)",
                     own.lane, *freedBy);
  TensorCell &cell = cta.tensor.cells[column * tensorLanes + lane];
  // Each read is ordered after the write, so an access after one of the reads is, too.
  bool isAfterRead = llvm::any_of(cell.reads, [&](uint32_t read) { return isOrdered(read); });
  if (!isAfterRead && !check(cell.write, lane, column, writes)) return false;
  if (!writes) {
    auto isOwn = [&](uint32_t read) {
      const TensorAccess &other = warp.cta.cluster.tensorAccesses[read];
      return isSameThread(other, own) && other.kind == own.kind;
    };
    auto place = llvm::find_if(cell.reads, isOwn); // a later one of the same thread is also complete later
    if (place == cell.reads.end())
      cell.reads.push_back(number);
    else
      *place = number;
    return true;
  }
  for (uint32_t read : cell.reads)
    if (!check(read, lane, column, writes)) return false;
  cell.reads.clear();
  cell.write = number;
  return true;
}

bool TensorChecker::isUnused(Cta &cta, int64_t lane, int64_t column) {
  const TensorCell &cell = cta.tensor.cells[column * tensorLanes + lane];
  return check(cell.write, lane, column, /*writes=*/true) &&
         llvm::all_of(cell.reads, [&](uint32_t read) { return check(read, lane, column, /*writes=*/true); });
}

bool readByTensorCore(Warp &warp, const Step &step, const TensorAccess &access, Cta &cta, uint64_t address) {
  if (!warp.touch(step, access.lane, cta, {address, 16}, Warp::Access::asyncRead, 16)) return false;
  if (cta.tensorReads.empty()) cta.tensorReads.resize(cta.shared.size() / 16 + 1);
  auto &reads = cta.tensorReads[size_t(address - sharedBase) / 16];
  TensorRead own{&warp, access.complete, access.number, step.number};
  auto place = llvm::find_if(reads, [&](const TensorRead &read) { return read.warp == &warp && read.complete == access.complete; });
  if (place == reads.end())
    reads.push_back(own);
  else
    *place = own;
  return true;
}

} // namespace tilewright::gpu::sim
