// The costs that assign-layouts compares. An access costs a thread's instructions and the 32-byte sectors that a warp touches with each,
// and the lines in which these are. A conversion costs what its path takes (registers, shuffles, shared memory). A reduction costs its
// shuffles, and a barrier if it crosses warps.
#include "gpu/tiles/layouts/layout_cost.h"

#include "gpu/cost_model/exchange_cost.h"
#include "gpu/cost_model/reduction_cost.h"
#include "gpu/ttg/ttg_attributes.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"

#include <algorithm>
#include <array>
#include <set>

using namespace mlir;

namespace tilewright::gpu {

constexpr int64_t impossible = 1000; // issue slots

AccessProperties accessProperties(const AxisAnalysis &axes, Value pointer, Value mask) {
  AccessProperties properties;
  AxisInfo info = axes.of(pointer);
  properties.bytes = info.unit;
  int64_t rank = static_cast<int64_t>(info.rank());
  SmallVector<int64_t> widths;
  for (int64_t dim = 0; dim < rank; ++dim)
    widths.push_back(axes.vectorWidth(pointer, mask, static_cast<size_t>(dim)));
  properties.runs.assign(info.run.begin(), info.run.end());
  properties.strides.assign(info.stride.begin(), info.stride.end());
  properties.order = rowMajorOrder(rank);
  auto rankOf = [&](int64_t dim) { // later dimensions first if all else is equal
    auto at = static_cast<size_t>(dim);
    int64_t stride = info.stride[at] != 0 ? std::abs(info.stride[at]) : INT64_MAX;
    return std::tuple(info.contiguity[at], widths[at], -stride, dim);
  };
  llvm::sort(properties.order, [&](int64_t a, int64_t b) { return rankOf(a) > rankOf(b); });
  if (rank) {
    properties.contiguity = info.contiguity[static_cast<size_t>(properties.order[0])];
    properties.vectorLimit = widths[static_cast<size_t>(properties.order[0])];
  }
  return properties;
}

//===------------------------------------------------------------------------------------------------------------ layouts

/// Returns a layout with `vector` elements a thread along order[0], lanes along `order`, then warps along the reversed order. A thread also
/// has `count` elements along the dimension `more`, unless that is -1.
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
  lanes[fast] *= left; // a tile smaller than a warp: lanes hold copies
  left = warps;
  for (int64_t dim : llvm::reverse(order)) {
    size_t at = static_cast<size_t>(dim);
    warpsAlong[at] = std::max<int64_t>(1, std::min(left, shape[at] / (perThread[at] * lanes[at])));
    left /= warpsAlong[at];
  }
  warpsAlong[fast] *= left;
  return Layout::blocked(shape, perThread, lanes, warpsAlong, order);
}

SmallVector<Layout, 2> coalescedLayouts(const Dims &shape, const AccessProperties &properties, int64_t warps) {
  int64_t each = std::max<int64_t>(1, elementCount(shape) / (warps * 32)); // so that all threads hold elements
  int64_t vector = std::min(properties.vectorLimit, each);
  SmallVector<Layout, 2> layouts = {spread(shape, vector, warps, properties.order)};
  Layout other = Layout::coalesced(shape, vector, warps, properties.order);
  if (other != layouts[0]) layouts.push_back(other);
  for (size_t dim = 0; dim < properties.repeats.size(); ++dim) {
    int64_t count = std::min(properties.repeats[dim], each / vector);
    bool isVector = vector > 1 && static_cast<int64_t>(dim) == properties.order[0];
    if (count > 1 && !isVector) layouts.push_back(spread(shape, vector, warps, properties.order, static_cast<int64_t>(dim), count));
  }
  return layouts;
}

Layout gatheredInWarps(const Layout &layout, const AccessProperties &properties) {
  if (layout.shape.empty()) return layout;
  auto fast = static_cast<size_t>(properties.order[0]);
  uint32_t unit = 1;
  for (size_t dim = fast + 1; dim < layout.shape.size(); ++dim)
    unit *= static_cast<uint32_t>(layout.shape[dim]);
  uint32_t row = unit * static_cast<uint32_t>(layout.shape[fast] - 1), vector = unit * static_cast<uint32_t>(properties.vectorLimit);
  Layout result = layout;
  std::vector<uint32_t> &registers = result.basesOf(Axis::reg), &lanes = result.basesOf(Axis::lane);
  // Exchange the register bits along the row last, and the nearest ones first: rows stay long.
  auto rank = [&](uint32_t basis) { return std::pair((basis & row) == 0, basis); };
  auto it = registers.begin();
  for (uint32_t step = unit; step < vector && it != registers.end(); step *= 2, ++it) {
    auto held = std::find(it, registers.end(), step);
    if (held == registers.end()) {
      auto lane = llvm::find(lanes, step);
      if (lane == lanes.end()) return layout;
      for (auto other = it; other != registers.end(); ++other)
        if (*other >= vector && (held == registers.end() || rank(*other) < rank(*held))) held = other;
      if (held == registers.end()) return layout;
      std::swap(*held, *lane);
    }
    std::rotate(it, held, held + 1);
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

int64_t vectorIn(const AccessProperties &properties, const Layout &layout) {
  return layout.shape.empty() ? 1 : std::min(properties.vectorLimit, contiguousRun(layout, properties.order));
}

SmallVector<int64_t, 32> accessLines(const AccessProperties &properties, const Layout &layout) {
  if (layout.shape.empty()) return {1};
  // Each sector: the runs that it belongs to, as the coordinates of these, and its index in memory from where they start.
  std::array<std::pair<uint32_t, int64_t>, 32> sectors;
  for (int64_t lane = 0; lane < 32; ++lane) {
    Dims at = layout.coordinates(layout.apply(0, lane, 0));
    int64_t byte = 0;
    for (size_t dim = 0; dim < at.size(); ++dim) {
      byte += at[dim] % properties.runs[dim] * properties.strides[dim];
      at[dim] /= properties.runs[dim];
    }
    sectors[static_cast<size_t>(lane)] = {flatOf(layout.shape, at), llvm::divideFloorSigned(byte, sectorBytes)};
  }
  llvm::sort(sectors);
  SmallVector<int64_t, 32> lines;
  std::pair<uint32_t, int64_t> line;
  for (const auto *it = sectors.begin(), *end = std::unique(sectors.begin(), sectors.end()); it != end; ++it) {
    std::pair<uint32_t, int64_t> next(it->first, llvm::divideFloorSigned(it->second, lineSectors));
    if (lines.empty() || next != line) lines.push_back(0);
    line = next;
    ++lines.back();
  }
  return lines;
}

int64_t accessSectors(const AccessProperties &properties, const Layout &layout) {
  return llvm::sum_of(accessLines(properties, layout));
}

Dims accessKey(const Layout &layout, const Dims &repeats, int64_t reg) {
  Dims at = layout.coordinates(layout.apply(reg, 0, 0));
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

int64_t accessCost(const AccessProperties &properties, const Layout &layout) {
  int64_t vector = vectorIn(properties, layout);
  SmallVector<int64_t, 32> lines = accessLines(properties, layout);
  return layout.registersPerThread() / (vector * sharedAccesses(layout, properties.repeats)) *
         (llvm::sum_of(lines) + tagLookupCost * static_cast<int64_t>(lines.size()) + instructionCost);
}

int64_t storeCost(const AccessProperties &properties, const Layout &layout) {
  int64_t vector = vectorIn(properties, layout), sectors = accessSectors(properties, layout);
  int64_t whole = std::min(sectors, (32 * vector * properties.bytes + sectorBytes - 1) / sectorBytes);
  return accessCost(properties, layout) + layout.registersPerThread() / vector * partialSectorCost * (sectors - whole);
}

int64_t streamedStoreCost(const AccessProperties &properties, const Layout &layout) {
  int64_t quarters = 0;
  for (int64_t sectors : accessLines(properties, layout))
    quarters += std::max(minLineQuarters, 4 * sectors);
  return layout.registersPerThread() / vectorIn(properties, layout) * (quarters * streamedSectorCost / 4 + instructionCost);
}

int64_t plannedConversionCost(const Layout &from, const Layout &to, int64_t elementBits, int64_t sharedBytes) {
  if (classifyConversion(from, to) < Conversion::shuffle) return 0;
  int64_t byMemory = slotsOfExchange(optimalScratch(from, to, elementBits));
  if (std::optional<ShufflePlan> shuffle = planShuffle(from, to))
    if (int64_t cost = slotsOfShuffles(*shuffle, from, to, elementBits); cost <= byMemory) return cost;
  return elementCount(from.shape) * elementBits / 8 <= sharedBytes ? byMemory : impossibleConversion;
}

int64_t conversionCost(const Layout &from, const Layout &to, int64_t elementBits) {
  if (from == to) return 0;
  int64_t words =
      std::max<int64_t>(1, std::max(from.registersPerThread(), to.registersPerThread()) * std::max<int64_t>(8, elementBits) / 32);
  switch (classifyConversion(from, to)) {
  case Conversion::none:
  case Conversion::registers: return 0;
  case Conversion::shuffle: return std::min(exchangeCost, 3 * shuffleCost * words);
  default: return exchangeCost + wavefrontCost * words;
  }
}

int64_t reductionCost(const Layout &layout, int64_t dim) {
  std::optional<ReductionPlan> plan = reductionPlan(layout, dim);
  return plan ? reductionCost(*plan) : impossible;
}

int64_t warpsOfReduction(const Layout &layout, int64_t dim) {
  std::optional<ReductionPlan> plan = reductionPlan(layout, dim);
  return plan ? int64_t(1) << llvm::popcount(plan->warpMask) : 1;
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
