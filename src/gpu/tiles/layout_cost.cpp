// The costs that assign-layouts weighs. An access is counted by the instructions of a thread and the 32-byte sectors that a warp touches
// with each; a conversion by the way it takes (registers, shuffles, shared memory); a reduction by its shuffles and whether warps must
// meet.
#include "gpu/tiles/layout_cost.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

using namespace mlir;

namespace tilewright::gpu {

// Issue slots, roughly: a barrier waits for the slowest warp, and shared memory answers after 30 cycles.
constexpr int64_t exchangeCost = 60, shuffleCost = 2, instructionCost = 4, impossible = 1000;
constexpr int64_t sectorBytes = 32;

AccessProperties accessProperties(const AxisAnalysis &axes, Value pointer, Value mask) {
  AccessProperties guards;
  AxisInfo info = axes.of(pointer);
  guards.bytes = info.unit;
  int64_t rank = static_cast<int64_t>(info.rank());
  guards.constancy.assign(info.constancy.begin(), info.constancy.end());
  SmallVector<int64_t> widths;
  for (int64_t dim = 0; dim < rank; ++dim)
    widths.push_back(axes.vectorWidth(pointer, mask, static_cast<size_t>(dim)));
  guards.order = rowMajorOrder(rank);
  auto rankOf = [&](int64_t dim) { // later dimensions first where nothing else tells them apart
    return std::tuple(info.contiguity[static_cast<size_t>(dim)], widths[static_cast<size_t>(dim)], dim);
  };
  llvm::sort(guards.order, [&](int64_t a, int64_t b) { return rankOf(a) > rankOf(b); });
  if (rank) {
    guards.contiguity = info.contiguity[static_cast<size_t>(guards.order[0])];
    guards.vectorLimit = widths[static_cast<size_t>(guards.order[0])];
  }
  return guards;
}

//===------------------------------------------------------------------------------------------------------------ layouts

/// `vector` elements a thread along order[0], lanes along `order`, then warps from its other end. A thread may have more elements along
/// another dimension, too.
static Layout spread(const Dims &shape, int64_t vector, int64_t warps, const Dims &order, int64_t more = -1, int64_t count = 1) {
  size_t rank = shape.size();
  Dims perThread(rank, 1), lanes(rank, 1), warpsAlong(rank, 1);
  if (rank == 0) return Layout::coalesced(shape, 1, warps, order);
  size_t fast = static_cast<size_t>(order[0]);
  perThread[fast] = std::min(vector, shape[fast]);
  if (more >= 0) perThread[static_cast<size_t>(more)] = std::min(count, shape[static_cast<size_t>(more)]);
  int64_t left = 32;
  for (int64_t dim : order) {
    size_t at = static_cast<size_t>(dim);
    lanes[at] = std::min(left, shape[at] / perThread[at]);
    left /= lanes[at];
  }
  lanes[fast] *= left; // a tile smaller than a warp: copies
  left = warps;
  for (int64_t dim : llvm::reverse(order)) {
    size_t at = static_cast<size_t>(dim);
    warpsAlong[at] = std::max<int64_t>(1, std::min(left, shape[at] / (perThread[at] * lanes[at])));
    left /= warpsAlong[at];
  }
  warpsAlong[fast] *= left;
  return Layout::blocked(shape, perThread, lanes, warpsAlong, order);
}

SmallVector<Layout, 2> coalescedLayouts(const Dims &shape, const AccessProperties &guards, int64_t warps) {
  int64_t each = std::max<int64_t>(1, elementCount(shape) / (warps * 32)); // all threads take part
  int64_t vector = std::min(guards.vectorLimit, each);
  SmallVector<Layout, 2> layouts = {spread(shape, vector, warps, guards.order)};
  Layout other = Layout::coalesced(shape, vector, warps, guards.order);
  if (other != layouts[0]) layouts.push_back(other);
  for (size_t dim = 0; dim < guards.repeats.size(); ++dim) {
    int64_t count = std::min(guards.repeats[dim], each / vector);
    bool isVector = vector > 1 && static_cast<int64_t>(dim) == guards.order[0];
    if (count > 1 && !isVector) layouts.push_back(spread(shape, vector, warps, guards.order, static_cast<int64_t>(dim), count));
  }
  return layouts;
}

Layout gatheredInWarps(const Layout &layout, const AccessProperties &guards) {
  if (layout.shape.empty()) return layout;
  auto fast = static_cast<size_t>(guards.order[0]);
  uint32_t unit = 1;
  for (size_t dim = fast + 1; dim < layout.shape.size(); ++dim)
    unit *= static_cast<uint32_t>(layout.shape[dim]);
  uint32_t row = unit * static_cast<uint32_t>(layout.shape[fast] - 1), vector = unit * static_cast<uint32_t>(guards.vectorLimit);
  Layout result = layout;
  std::vector<uint32_t> &registers = result.basesOf(Axis::reg), &lanes = result.basesOf(Axis::lane);
  // Given away are registers that go on along the row, the nearest first: rows stay long.
  auto rank = [&](uint32_t basis) { return std::pair((basis & row) == 0, basis); };
  auto place = registers.begin();
  for (uint32_t step = unit; step < vector && place != registers.end(); step *= 2, ++place) {
    auto held = std::find(place, registers.end(), step);
    if (held == registers.end()) {
      auto lane = llvm::find(lanes, step);
      if (lane == lanes.end()) return layout;
      for (auto other = place; other != registers.end(); ++other)
        if (*other >= vector && (held == registers.end() || rank(*other) < rank(*held))) held = other;
      if (held == registers.end()) return layout;
      std::swap(*held, *lane);
    }
    std::rotate(place, held, held + 1);
  }
  return result;
}

Layout defaultLayout(const Dims &shape, int64_t warps) {
  return spread(shape, 1, warps, rowMajorOrder(static_cast<int64_t>(shape.size())));
}

Layout withContiguous(const Layout &layout, int64_t count, int64_t warps) {
  if (layout.shape.empty() || layout.shape.back() < count) return layout;
  std::vector<uint32_t> registers;
  for (uint32_t step = 1; step < count; step *= 2)
    registers.push_back(step);
  auto isHeld = [&](uint32_t basis) { return llvm::is_contained(layout.basesOf(Axis::reg), basis); };
  if (!llvm::all_of(registers, isHeld))
    return Layout::coalesced(layout.shape, count, warps, rowMajorOrder(static_cast<int64_t>(layout.shape.size())));
  for (uint32_t basis : layout.basesOf(Axis::reg))
    if (!llvm::is_contained(registers, basis)) registers.push_back(basis);
  Layout result = layout;
  result.basesOf(Axis::reg) = std::move(registers);
  return result;
}

Layout scanLayout(const Dims &shape, int64_t dim, int64_t warps) {
  Dims order = {dim};
  for (int64_t other : rowMajorOrder(static_cast<int64_t>(shape.size())))
    if (other != dim) order.push_back(other);
  return spread(shape, 1, warps, order);
}

//===-------------------------------------------------------------------------------------------------------------- costs

int64_t vectorIn(const AccessProperties &guards, const Layout &layout) {
  return layout.shape.empty() ? 1 : std::min(guards.vectorLimit, contiguousRun(layout, guards.order));
}

int64_t accessSectors(const AccessProperties &guards, const Layout &layout) {
  if (layout.shape.empty()) return 1;
  size_t fast = static_cast<size_t>(guards.order[0]);
  std::array<uint32_t, 32> sectors; // each by the flat coordinates of its first element
  for (int64_t lane = 0; lane < 32; ++lane) {
    Dims at = layout.coordinates(layout.apply(0, lane, 0, 0));
    for (size_t dim = 0; dim < at.size(); ++dim)
      if (dim != fast || guards.contiguity == 1) at[dim] /= guards.constancy[dim];
    at[fast] /= std::clamp<int64_t>(sectorBytes / guards.bytes, 1, guards.contiguity);
    sectors[static_cast<size_t>(lane)] = flatOf(layout.shape, at);
  }
  llvm::sort(sectors);
  return std::unique(sectors.begin(), sectors.end()) - sectors.begin();
}

Dims accessKey(const Layout &layout, const Dims &repeats, int64_t reg) {
  Dims at = layout.coordinates(layout.apply(reg, 0, 0, 0));
  for (size_t dim = 0; dim < at.size(); ++dim)
    at[dim] /= repeats[dim];
  return at;
}

Dims repeatsOf(Operation *op) {
  auto repeats = op->getAttrOfType<DenseI64ArrayAttr>(ttg::blockRepeatsName);
  return repeats ? Dims(repeats.asArrayRef().begin(), repeats.asArrayRef().end()) : Dims();
}

int64_t sharedAccesses(const Layout &layout, const Dims &repeats) {
  if (repeats.empty()) return 1;
  std::set<Dims> keys;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    keys.insert(accessKey(layout, repeats, reg));
  return layout.registersPerThread() / static_cast<int64_t>(keys.size());
}

int64_t accessCost(const AccessProperties &guards, const Layout &layout) {
  int64_t vector = layout.shape.empty() ? 1 : vectorIn(guards, layout);
  return layout.registersPerThread() / (vector * sharedAccesses(layout, guards.repeats)) * (accessSectors(guards, layout) + instructionCost);
}

int64_t storeCost(const AccessProperties &guards, const Layout &layout) {
  // 4096x4096 of f32 transposed by tiles of 32x32 on an H100: 110 us where a warp wrote halves of sectors, 49 through shared memory.
  constexpr int64_t slotsOfPart = 2;
  int64_t vector = vectorIn(guards, layout), sectors = accessSectors(guards, layout);
  int64_t whole = std::min(sectors, (32 * vector * guards.bytes + sectorBytes - 1) / sectorBytes);
  return accessCost(guards, layout) + layout.registersPerThread() / vector * slotsOfPart * (sectors - whole);
}

int64_t streamedStoreCost(const AccessProperties &guards, const Layout &layout) {
  // Slots of a multiprocessor while the memory of an H200 takes a sector; 512 MiB of f32 written in 32, 64 and 128 bytes of a row at once:
  // 3.0, 3.9 and 4.1 TB/s; of f16 in 16 and 64 bytes: 1.5 and 3.8.
  constexpr int64_t sectorSlots = 6, lineSectors = 4, minQuarters = 5;
  auto fast = static_cast<size_t>(guards.order[0]);
  int64_t elements = std::clamp<int64_t>(sectorBytes / guards.bytes, 1, guards.contiguity);
  std::map<Dims, std::set<int64_t>> lines;
  int64_t vector = vectorIn(guards, layout);
  for (int64_t lane = 0; lane < 32; ++lane) {
    Dims at = layout.coordinates(layout.apply(0, lane, 0, 0));
    int64_t sector = at[fast] / elements;
    at[fast] = sector / lineSectors;
    lines[at].insert(sector);
  }
  int64_t quarters = 0;
  for (const auto &[line, sectors] : lines)
    quarters += std::max(minQuarters, 4 * static_cast<int64_t>(sectors.size()));
  return layout.registersPerThread() / vector * (quarters * sectorSlots / 4 + instructionCost);
}

int64_t plannedConversionCost(const Layout &from, const Layout &to, int64_t elementBits) {
  if (classifyConversion(from, to) < Conversion::shuffle) return 0;
  int64_t words = elementBits == 64 ? 2 : 1;
  ScratchPlan scratch = optimalScratch(from, to, elementBits);
  int64_t byMemory = exchangeCost + 2 * (scratch.store.wavefronts + scratch.load.wavefronts);
  std::optional<ShufflePlan> shuffle = planShuffle(from, to);
  if (!shuffle) return byMemory;
  return std::min(byMemory, words * (shuffleCost * shuffle->shuffles() + shuffle->selectCount() * from.registersPerThread()));
}

int64_t conversionCost(const Layout &from, const Layout &to, int64_t elementBits) {
  if (from == to) return 0;
  int64_t words =
      std::max<int64_t>(1, std::max(from.registersPerThread(), to.registersPerThread()) * std::max<int64_t>(8, elementBits) / 32);
  switch (classifyConversion(from, to)) {
  case Conversion::none:
  case Conversion::registers: return 0;
  case Conversion::shuffle: return std::min(exchangeCost, 3 * shuffleCost * words);
  default: return exchangeCost + 2 * words;
  }
}

int64_t reductionCost(const Layout &layout, int64_t dim) {
  std::optional<ReductionPlan> plan = reductionPlan(layout, dim);
  if (!plan || plan->blockMask) return impossible;
  int64_t results = layout.registersPerThread() >> llvm::popcount(plan->registerMask);
  return results * llvm::popcount(plan->laneMask) * shuffleCost + (plan->warpMask ? exchangeCost + 2 * results : 0);
}

int64_t scanCost(const Layout &layout, int64_t dim) {
  std::optional<std::vector<AxisBit>> bits = scanOrder(layout, dim);
  if (!bits) return impossible;
  int64_t cost = 0;
  for (AxisBit bit : *bits)
    cost += bit.axis == Axis::lane ? layout.registersPerThread() * shuffleCost : bit.axis == Axis::reg ? 0 : exchangeCost;
  return cost;
}

} // namespace tilewright::gpu
