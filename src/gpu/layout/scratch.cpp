// Chooses the shared layout for a conversion between two distributed layouts. An offset has, from the lowest bit up: vector bits (registers
// of both sides, if they share any), bank bits and row bits. Lanes of one phase conflict if they differ only in the row bits. So the row
// bits should span a space that intersects neither side's span of (vector, lanes of a phase). Let E and F
// extend the intersection of two spaces to each of them. The largest such space is spanned by the vectors outside both, and by sums e + f.
//   f32 32x32, rows to columns, one element a lane: rows r_i, columns c_i; row bits = r_i + c_i: the diagonal swizzle, derived
// The function tries a few choices of the vector bits and compares the exact number of wavefronts.
#include "gpu/layout/layout.h"

#include <algorithm>
#include <bit>
#include <utility>

namespace tilewright::gpu {

static Vectors toVectors(const std::vector<uint32_t> &bases) {
  Vectors result;
  for (uint32_t basis : bases)
    if (basis != 0) result.push_back(basis);
  return result;
}

static Vectors firstOf(Vectors vectors, int64_t count) {
  vectors.resize(std::min<size_t>(vectors.size(), std::max<int64_t>(count, 0)));
  return vectors;
}

// Returns how many of the first vector bits are registers of this side: its vector width.
static int64_t vectorBitsOf(const Layout &side, const Vectors &vector) {
  Echelon registers = spanOfAll(toVectors(side.basesOf(Axis::reg)));
  int64_t bits = 0;
  while (bits < static_cast<int64_t>(vector.size()) && registers.contains(vector[bits]))
    ++bits;
  return bits;
}

// Returns the span that one phase of an access touches: the vector and as many lanes as fit in 128 bytes.
static Vectors phaseOf(const Layout &side, const Vectors &vector, int64_t elementBits) {
  int64_t own = vectorBitsOf(side, vector), lanes = std::min<int64_t>(laneBits, log2Of(1024 / elementBits) - own);
  std::vector<uint32_t> laneBases = side.basesOf(Axis::lane);
  laneBases.resize(std::min<size_t>(laneBases.size(), static_cast<size_t>(lanes)));
  return join(vector, toVectors(laneBases));
}

static SharedLayout layoutAround(const Layout &src, const Layout &dst, int64_t elementBits, Vectors vector) {
  Vectors whole;
  for (int64_t bit = 0; bit < src.elementBits(); ++bit)
    whole.push_back(uint64_t(1) << bit);
  int64_t bankBits = log2Of(1024 / elementBits), rowCount = std::max<int64_t>(0, static_cast<int64_t>(whole.size()) - bankBits);
  SplitPair split = splitPair(phaseOf(src, vector, elementBits), phaseOf(dst, vector, elementBits), whole);
  // Elements of one word never conflict: fill the word with lane bits that both sides share.
  int64_t wordBits = std::max<int64_t>(0, log2Of(32 / std::min<int64_t>(elementBits, 32)));
  if (static_cast<int64_t>(vector.size()) < wordBits) vector = firstOf(join(vector, independentOf(vector, split.shared)), wordBits);

  Vectors conflictFree = split.outside;
  size_t pairs = std::min(split.left.size(), split.right.size());
  for (size_t i = 0; i < pairs; ++i)
    conflictFree.push_back(split.left[i] ^ split.right[i]);
  // If more rows are needed, take bits that only one side has, then bits that both sides share.
  Vectors rest = join(Vectors(split.left.begin() + pairs, split.left.end()), Vectors(split.right.begin() + pairs, split.right.end()));
  std::reverse(split.shared.begin(), split.shared.end());
  Vectors rows = firstOf(independentOf(vector, join(join(conflictFree, rest), split.shared)), rowCount);
  Vectors banks = independentOf(join(vector, rows), whole);

  SharedLayout shared;
  shared.shape = src.shape;
  shared.elementBits = elementBits;
  for (uint64_t basis : join(join(vector, banks), rows))
    shared.bases.push_back(static_cast<uint32_t>(basis));
  return shared;
}

// Returns wavefronts, then instructions.
static std::pair<int64_t, int64_t> costOf(const VectorAccess &vectors, const std::optional<MatrixPlan> &matrix) {
  std::pair<int64_t, int64_t> cost = {vectors.wavefronts, static_cast<int64_t>(vectors.vectors.size())};
  if (!matrix) return cost;
  int64_t instructions = static_cast<int64_t>(matrix->instructions.size());
  return std::min(cost, std::pair(instructions * (matrix->matrices + matrix->conflicts), instructions));
}

ScratchPlan optimalScratch(const Layout &src, const Layout &dst, int64_t elementBits, MatrixInstructions available) {
  elementBits = std::max<int64_t>(elementBits, 8);
  int64_t vectorMax = log2Of(128 / elementBits);
  SplitPair registers = splitPair(toVectors(src.basesOf(Axis::reg)), toVectors(dst.basesOf(Axis::reg)), {});
  ScratchPlan best;
  std::pair<int64_t, int64_t> bestCost = {INT64_MAX, INT64_MAX};
  for (int64_t common = std::min(vectorMax, static_cast<int64_t>(registers.shared.size())); common >= 0; --common) {
    Vectors vector = firstOf(registers.shared, common);
    for (const Vectors &extension : {Vectors{}, toVectors(src.basesOf(Axis::reg)), toVectors(dst.basesOf(Axis::reg))}) {
      Vectors wide = firstOf(independentOf({}, join(vector, extension)), vectorMax);
      ScratchPlan plan;
      plan.shared = layoutAround(src, dst, elementBits, wide);
      plan.store = vectorAccess(src, plan.shared);
      plan.load = vectorAccess(dst, plan.shared);
      if (available.stmatrix) plan.storeMatrix = stmatrixPlan(src, plan.shared);
      if (available.ldmatrix) plan.loadMatrix = ldmatrixPlan(dst, plan.shared);
      auto store = costOf(plan.store, plan.storeMatrix), load = costOf(plan.load, plan.loadMatrix);
      std::pair<int64_t, int64_t> cost = {store.first + load.first, store.second + load.second};
      if (cost < bestCost) {
        bestCost = cost;
        best = std::move(plan);
      }
    }
  }
  return best;
}

ScratchPlan optimalScratch(const Layout &src, const Layout &dst, int64_t elementBits) {
  return optimalScratch(src, dst, elementBits, MatrixInstructions{});
}

} // namespace tilewright::gpu
