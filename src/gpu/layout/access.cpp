// Register accesses to shared memory. The composition shared^-1 o layout gives the byte offset that each bit of the location adds. Vector
// width, the use of ldmatrix and stmatrix, and bank conflicts follow from these offsets.
//   f16, reg=[[0,1],[0,2],[8,0]], row-major 16x16: registers add 2, 4 and 256 bytes: vectors of 4 elements (8 bytes), two of them
#include "gpu/layout/layout.h"
#include "support/gpu_hardware.h"

#include <algorithm>
#include <bit>
#include <set>

namespace tilewright::gpu {

OffsetBases offsetBases(const Layout &layout, const SharedLayout &shared) {
  LinearMap offsets = shared.inverse();
  OffsetBases result;
  for (size_t axis = 0; axis < result.size(); ++axis)
    for (uint32_t basis : layout.bases[axis])
      result[axis].push_back(offsets.apply(basis) * static_cast<uint32_t>(shared.elementBytes()));
  return result;
}

uint64_t splitAdd(const OffsetBases &offsets) {
  const std::vector<uint32_t> &registers = offsets[static_cast<size_t>(Axis::reg)];
  uint32_t touched = 0;
  for (Axis axis : {Axis::lane, Axis::warp})
    for (uint32_t offset : offsets[static_cast<size_t>(axis)])
      touched |= offset;
  uint64_t additive = (uint64_t(1) << registers.size()) - 1;
  // A register bit that must be XORed touches more offset bits, which may exclude other register bits: repeat until nothing changes.
  for (bool changed = true; changed;) {
    changed = false;
    for (size_t bit = 0; bit < registers.size(); ++bit)
      if ((additive >> bit & 1) && (registers[bit] & touched)) {
        additive &= ~(uint64_t(1) << bit);
        touched |= registers[bit];
        changed = true;
      }
  }
  return additive;
}

//===------------------------------------------------------------------------------------------------------------- bank conflicts

// Returns the extra wavefronts of lanes that access `bytes` each. 128 bytes are one wavefront, so wide accesses run in phases of fewer
// lanes. In a phase, every additional distinct word of one bank costs a wavefront.
static int64_t conflictsOf(const std::vector<uint32_t> &laneOffsets, int64_t bytes) {
  int64_t lanes = int64_t(1) << laneOffsets.size(), phase = std::min<int64_t>(lanes, 128 / std::max<int64_t>(bytes, 4));
  LinearMap offsets{laneOffsets};
  int64_t extra = 0;
  for (int64_t first = 0; first < lanes; first += phase) {
    std::array<std::set<uint32_t>, 32> banks;
    for (int64_t lane = first; lane < first + phase; ++lane) {
      uint32_t start = offsets.apply(lane) & ~static_cast<uint32_t>(bytes - 1);
      for (uint32_t byte = 0; byte < bytes; byte += 4)
        banks[(start + byte) / 4 % 32].insert((start + byte) / 4);
    }
    size_t worst = 1;
    for (const std::set<uint32_t> &words : banks)
      worst = std::max(worst, words.size());
    extra += static_cast<int64_t>(worst) - 1;
  }
  return extra;
}

static int64_t phasesOf(const std::vector<uint32_t> &laneOffsets, int64_t bytes) {
  return std::max<int64_t>(1, (int64_t(1) << laneOffsets.size()) * bytes / 128);
}

int64_t bankConflicts(const Layout &layout, const SharedLayout &shared, int64_t vectorBytes) {
  return conflictsOf(offsetBases(layout, shared)[static_cast<size_t>(Axis::lane)], vectorBytes);
}

//===-------------------------------------------------------------------------------------------------------------------- vectors

VectorAccess vectorAccess(const Layout &layout, const SharedLayout &shared) {
  VectorAccess access;
  access.offsets = offsetBases(layout, shared);
  uint32_t elementBytes = static_cast<uint32_t>(shared.elementBytes()), moved = 0;
  for (Axis axis : {Axis::lane, Axis::warp})
    for (uint32_t offset : access.offsets[static_cast<size_t>(axis)])
      moved |= offset;
  LinearMap registers{access.offsets[static_cast<size_t>(Axis::reg)]};
  std::vector<uint64_t> steps; // register masks that move 1, 2, 4, ... elements
  uint32_t bytes = elementBytes;
  while (bytes < maxAccessBytes && !(moved & bytes)) {
    std::optional<uint64_t> mask = registers.solve(bytes);
    if (!mask) break;
    steps.push_back(*mask);
    bytes *= 2;
  }
  access.bytes = bytes;
  for (int64_t leader = 0; leader < layout.registersPerThread(); ++leader) {
    uint32_t offset = registers.apply(leader);
    if (offset & (bytes - 1)) continue;
    VectorAccess::Vector vector{{}, offset};
    for (uint32_t element = 0; element < bytes / elementBytes; ++element) {
      int64_t reg = leader;
      for (size_t step = 0; step < steps.size(); ++step)
        if (element >> step & 1) reg ^= static_cast<int64_t>(steps[step]);
      vector.registers.push_back(reg);
    }
    access.vectors.push_back(vector);
  }
  const std::vector<uint32_t> &lanes = access.offsets[static_cast<size_t>(Axis::lane)];
  access.wavefronts = static_cast<int64_t>(access.vectors.size()) * (phasesOf(lanes, bytes) + conflictsOf(lanes, bytes));
  return access;
}

int64_t registersInOrder(const VectorAccess &access) {
  size_t all = access.vectors.front().registers.size();
  for (const VectorAccess::Vector &vector : access.vectors) {
    size_t count = 1;
    while (count < all && vector.registers[count] == vector.registers[0] + static_cast<int64_t>(count))
      ++count;
    all = std::bit_floor(count);
  }
  return static_cast<int64_t>(all);
}

//===----------------------------------------------------------------------------------------------------- ldmatrix and stmatrix

// One 8x8 matrix of 16-bit elements is 8 rows of 16 bytes at addresses of 8 lanes. Not transposed, lane l holds the 4 bytes at 4 * (l & 3)
// of row l / 4. Transposed, it holds element l / 4 of the rows 2 * (l & 3) and the next one. So three bits must move through the 16 bytes.
// The bits that select the row and the matrix are free: they become the address bits of the lanes.
static std::optional<MatrixPlan> matrixPlan(const Layout &layout, const SharedLayout &shared, bool transposed) {
  if (shared.elementBits > 32 || layout.bits(Axis::lane) != laneBits) return std::nullopt;
  if (transposed && shared.elementBits != 16) return std::nullopt;
  OffsetBases offsets = offsetBases(layout, shared);
  const std::vector<uint32_t> &regs = offsets[static_cast<size_t>(Axis::reg)], &lanes = offsets[static_cast<size_t>(Axis::lane)];
  int64_t wordBits = log2Of(32 / shared.elementBits);
  if (static_cast<int64_t>(regs.size()) < wordBits) return std::nullopt;

  std::vector<uint32_t> within, rows, others; // offsets that move through a row, select the row, and select the matrix
  others.assign(regs.begin() + wordBits, regs.end());
  if (transposed) {
    within = {lanes[2], lanes[3], lanes[4]};
    rows = {regs[0], lanes[0], lanes[1]};
  } else {
    within.assign(regs.begin(), regs.begin() + wordBits);
    within.insert(within.end(), lanes.begin(), lanes.begin() + 2);
    rows = {lanes[2], lanes[3], lanes[4]};
  }
  for (size_t bit = 0; bit < within.size(); ++bit)
    if (within[bit] != static_cast<uint32_t>(shared.elementBytes()) << bit) return std::nullopt;
  std::vector<uint32_t> aligned = rows;
  aligned.insert(aligned.end(), others.begin(), others.end());
  const std::vector<uint32_t> &warps = offsets[static_cast<size_t>(Axis::warp)];
  aligned.insert(aligned.end(), warps.begin(), warps.end());
  for (uint32_t offset : aligned)
    if (offset % 16 != 0) return std::nullopt;

  MatrixPlan plan;
  plan.transposed = transposed;
  plan.perWord = int64_t(1) << wordBits;
  int64_t matrixBits = std::min<int64_t>(2, static_cast<int64_t>(others.size()));
  plan.matrices = int64_t(1) << matrixBits;
  std::copy(rows.begin(), rows.end(), plan.laneOffsets.begin());
  std::copy(others.begin(), others.begin() + matrixBits, plan.laneOffsets.begin() + 3);
  plan.warpOffsets = warps;
  LinearMap registers{regs};
  for (int64_t first = 0; first < layout.registersPerThread(); first += plan.matrices * plan.perWord)
    plan.instructions.push_back({first, registers.apply(first)});
  plan.conflicts = plan.matrices * conflictsOf(rows, maxAccessBytes);
  return plan;
}

std::optional<MatrixPlan> ldmatrixPlan(const Layout &dst, const SharedLayout &shared) {
  if (std::optional<MatrixPlan> plan = matrixPlan(dst, shared, /*transposed=*/false)) return plan;
  return matrixPlan(dst, shared, /*transposed=*/true);
}

// stmatrix is the exact inverse; registers with copies write the same bytes twice.
std::optional<MatrixPlan> stmatrixPlan(const Layout &src, const SharedLayout &shared) {
  return ldmatrixPlan(src, shared);
}

//===-------------------------------------------------------------------------------------------------------------- TMA

std::optional<TileSwizzle> spanOf(const SharedLayout &shared) {
  int64_t rank = static_cast<int64_t>(shared.shape.size());
  Dims order = rowMajorOrder(rank);
  std::sort(order.begin(), order.end(), std::greater<>()); // try the row-major order first
  do {
    if (rank > 0 && shared.shape[order[0]] == 1 && elementCount(shared.shape) > 1) continue; // the dimension has one element
    for (int64_t span : {128, 64, 32, 0})
      if (span <= widestSpan(shared.shape, shared.elementBits, order) &&
          shared == SharedLayout::swizzled(shared.shape, shared.elementBits, span, order))
        return TileSwizzle{span, order};
  } while (std::prev_permutation(order.begin(), order.end()));
  return std::nullopt;
}

/// Returns the swizzled layout of twice the extent along dimension `inner` that has padding after each 8 bytes in `shared`.
static std::optional<SharedLayout> withoutPadding(const SharedLayout &shared, int64_t inner) {
  Dims whole = shared.shape, order{inner, 1 - inner};
  whole[inner] *= 2;
  SharedLayout layout = SharedLayout::swizzled(whole, shared.elementBits, swizzleSpanBytes, order);
  if (widestSpan(whole, shared.elementBits, order) != swizzleSpanBytes || layout.padded(inner, log2Of(bytesBetweenPadding)) != shared)
    return std::nullopt;
  return layout;
}

/// TMA pads rows of 128 numbers, which have a whole span of the widest swizzle.
static std::optional<TmaBox> paddedBox(const SharedLayout &shared) {
  if (shared.shape.size() != 2 || shared.elementBits != 8) return std::nullopt;
  for (int64_t inner : {1, 0}) {
    std::optional<SharedLayout> layout = withoutPadding(shared, inner);
    std::optional<TmaBox> box = layout ? tmaBox(*layout) : std::nullopt;
    if (!box || box->box[0] != swizzleSpanBytes) continue;
    box->box[0] /= 2;
    box->isPadded = true;
    return box;
  }
  return std::nullopt;
}

std::optional<TmaBox> tmaBox(const SharedLayout &shared) {
  if (!shared.isBijection()) return paddedBox(shared);
  std::optional<TileSwizzle> swizzle = spanOf(shared);
  if (!swizzle || shared.shape.empty() || static_cast<int64_t>(shared.shape.size()) > tmaMaxRank) return std::nullopt;
  TmaBox box;
  box.order = swizzle->order;
  box.spanBytes = swizzle->spanBytes;
  for (int64_t dim : box.order)
    box.box.push_back(shared.shape[dim]);
  if (box.spanBytes > 0) {
    box.box[0] = box.spanBytes / shared.elementBytes();
    box.copies = shared.shape[box.order[0]] / box.box[0];
  }
  for (int64_t extent : box.box)
    if (extent > tmaMaxExtent) return std::nullopt;
  if (box.box[0] * shared.elementBytes() % tmaAlignment != 0) return std::nullopt;
  box.bytes = shared.bytes() / box.copies;
  return box;
}

} // namespace tilewright::gpu
