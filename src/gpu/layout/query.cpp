// Queries on one or two distributed layouts: which registers already hold a needed element, which kind of conversion is needed, which bits
// run along a dimension. All of them inspect the bases, never the elements.
//   src reg=[[0,1],[8,0]], dst reg=[[8,0],[0,1]], equal lanes and warps: a renaming, dst registers 0 1 2 3 = src registers 0 2 1 3
#include "gpu/layout/layout.h"

#include <algorithm>
#include <bit>

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------ registers, conversions

// An element of dst at (r, thread) is D r ^ T' thread, of src S s ^ T thread. One s serves all threads only if T and T' are equal.
std::vector<std::optional<int64_t>> sameThreadRegisters(const Layout &dst, const Layout &src) {
  std::vector<std::optional<int64_t>> result(dst.registersPerThread());
  for (Axis axis : {Axis::lane, Axis::warp})
    if (dst.basesOf(axis) != src.basesOf(axis)) return result;
  LinearMap registers{src.basesOf(Axis::reg)}, wanted{dst.basesOf(Axis::reg)};
  for (size_t reg = 0; reg < result.size(); ++reg)
    if (std::optional<uint64_t> held = registers.solve(wanted.apply(reg))) result[reg] = static_cast<int64_t>(*held);
  return result;
}

std::vector<std::optional<int64_t>> sourceRegisters(const Layout &dst, const Layout &src, const std::function<uint32_t(uint32_t)> &map) {
  Layout wanted = dst;
  wanted.shape = src.shape;
  for (std::vector<uint32_t> &axis : wanted.bases)
    for (uint32_t &basis : axis)
      basis = map(basis);
  return sameThreadRegisters(wanted, src);
}

Conversion classifyConversion(const Layout &src, const Layout &dst) {
  std::vector<std::optional<int64_t>> registers = sameThreadRegisters(dst, src);
  if (std::all_of(registers.begin(), registers.end(), [](const std::optional<int64_t> &held) { return held.has_value(); })) {
    bool inPlace = dst.registersPerThread() == src.registersPerThread();
    for (size_t reg = 0; reg < registers.size(); ++reg)
      inPlace &= *registers[reg] == static_cast<int64_t>(reg);
    return inPlace ? Conversion::none : Conversion::registers;
  }
  return planShuffle(src, dst) ? Conversion::shuffle : Conversion::shared;
}

//===----------------------------------------------------------------------------------------------------------- along dimensions

// Returns the bit field of a dimension in flat indices: its lowest bit, and all of it.
static uint32_t unitOf(const Dims &shape, int64_t dim) {
  uint32_t unit = 1;
  for (size_t after = dim + 1; after < shape.size(); ++after)
    unit *= static_cast<uint32_t>(shape[after]);
  return unit;
}
static uint32_t fieldOf(const Dims &shape, int64_t dim) {
  return unitOf(shape, dim) * static_cast<uint32_t>(shape[dim] - 1);
}

/// Returns register masks: XOR with the i-th moves 2^i along `dim` in every thread, from aligned starts; as many as there are.
static std::vector<uint32_t> contiguousSteps(const Layout &layout, int64_t dim) {
  uint32_t unit = unitOf(layout.shape, dim);
  uint32_t moved = 0; // by threads
  for (Axis axis : {Axis::lane, Axis::warp})
    for (uint32_t basis : layout.basesOf(axis))
      moved |= basis;
  LinearMap registers{layout.basesOf(Axis::reg)};
  std::vector<uint32_t> steps;
  for (int64_t step = 1; step < layout.shape[dim]; step *= 2) {
    uint32_t wanted = unit * static_cast<uint32_t>(step);
    std::optional<uint64_t> mask = registers.solve(wanted);
    if (!mask || (moved & wanted)) break;
    steps.push_back(static_cast<uint32_t>(*mask));
  }
  return steps;
}

int64_t contiguousRun(const Layout &layout, const Dims &order) {
  if (order.empty()) return 1;
  uint32_t unit = unitOf(layout.shape, order[0]);
  std::vector<uint32_t> steps = contiguousSteps(layout, order[0]);
  int64_t run = 0;
  while (run < static_cast<int64_t>(steps.size()) && steps[run] == uint32_t(1) << run)
    ++run;
  // Register bits past the run must not split it: register 2 may be element 5, but then run 4 has no register 0..3.
  for (int64_t cut = 0; cut < run; ++cut)
    for (int64_t bit = run; bit < layout.bits(Axis::reg); ++bit)
      if (layout.basesOf(Axis::reg)[bit] & unit << cut) run = cut;
  return int64_t(1) << run;
}

std::optional<ReductionPlan> reductionPlan(const Layout &layout, int64_t dim) {
  uint32_t field = fieldOf(layout.shape, dim);
  ReductionPlan plan;
  std::array<uint64_t *, 3> masks = {&plan.registerMask, &plan.laneMask, &plan.warpMask};
  Echelon along;
  for (Axis axis : allAxes)
    for (int64_t bit = 0; bit < layout.bits(axis); ++bit) {
      uint32_t basis = layout.basesOf(axis)[bit];
      if (!(basis & field)) continue;
      if ((basis & ~field) || !along.add(basis)) return std::nullopt;
      *masks[static_cast<size_t>(axis)] |= uint64_t(1) << bit;
    }
  plan.result = layout.withoutDim(dim);
  // Without the dimension, a register bit must not repeat other ones. Canonical layouts had no repeated bits.
  if (plan.result.bits(Axis::reg) + std::popcount(plan.registerMask) != layout.bits(Axis::reg)) return std::nullopt;
  return plan;
}

std::optional<std::vector<AxisBit>> scanOrder(const Layout &layout, int64_t dim) {
  uint32_t unit = unitOf(layout.shape, dim), field = fieldOf(layout.shape, dim);
  std::vector<AxisBit> order(std::bit_width(static_cast<uint64_t>(layout.shape[dim])) - 1);
  std::vector<bool> held(order.size(), false);
  for (Axis axis : allAxes)
    for (int64_t bit = 0; bit < layout.bits(axis); ++bit) {
      uint32_t basis = layout.basesOf(axis)[bit];
      if (!(basis & field)) continue;
      int64_t position = std::countr_zero(basis / unit);
      if (!std::has_single_bit(basis) || held[position]) return std::nullopt;
      held[position] = true;
      order[position] = AxisBit{axis, bit};
    }
  if (std::find(held.begin(), held.end(), false) != held.end()) return std::nullopt;
  return order;
}

} // namespace tilewright::gpu
