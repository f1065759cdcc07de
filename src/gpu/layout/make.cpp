// Constructors of the layout families. Each is a few lines: "these bits run along that dimension, from the position after the previous
// bits".
//   blocked 16x16, 1x4 a thread, 8x4 lanes:  reg 4 along dim 1, lane 4 along dim 1, lane 8 along dim 0, the rest in registers
//   -> reg=[[0,1],[0,2],[8,0]] lane=[[0,4],[0,8],[1,0],[2,0],[4,0]]
#include "gpu/layout/layout.h"
#include "support/gpu_hardware.h"

#include <algorithm>
#include <bit>

namespace tilewright::gpu {

namespace {
class Maker {
public:
  explicit Maker(const Dims &shape) : reached(shape.size(), 1) { layout.shape = shape; }

  /// Takes the next log2(count) bits of the axis along `dim`; bits past the tile hold copies (register bits are omitted).
  void take(Axis axis, int64_t dim, int64_t count) {
    for (; count > 1; count /= 2) {
      if (reached[dim] < layout.shape[dim]) {
        Dims at(reached.size(), 0);
        at[dim] = reached[dim];
        layout.basesOf(axis).push_back(flatOf(layout.shape, at));
        reached[dim] *= 2;
      } else if (axis != Axis::reg) {
        layout.basesOf(axis).push_back(0);
      }
    }
  }
  /// Makes the next log2(count) bits of the axis hold copies.
  void copies(Axis axis, int64_t count) {
    for (; count > 1; count /= 2)
      layout.basesOf(axis).push_back(0);
  }
  /// Covers the remainder of the tile by more registers.
  Layout rest(const Dims &order) {
    for (int64_t dim : order)
      take(Axis::reg, dim, layout.shape[dim] / reached[dim]);
    return layout;
  }
  int64_t left(int64_t dim) const { return layout.shape[dim] / reached[dim]; }

private:
  Layout layout;
  Dims reached; // covered extent of each dimension
};
} // namespace

Layout Layout::fromBases(Dims shape, std::array<std::vector<uint32_t>, 3> bases) {
  Layout layout;
  layout.shape = std::move(shape);
  layout.bases = std::move(bases);
  return layout;
}

Layout Layout::blocked(const Dims &shape, const Dims &sizePerThread, const Dims &threadsPerWarp, const Dims &warps, const Dims &order) {
  Maker maker(shape);
  for (int64_t dim : order)
    maker.take(Axis::reg, dim, sizePerThread[dim]);
  for (int64_t dim : order)
    maker.take(Axis::lane, dim, threadsPerWarp[dim]);
  for (int64_t dim : order)
    maker.take(Axis::warp, dim, warps[dim]);
  return maker.rest(order);
}

Layout Layout::coalesced(const Dims &shape, int64_t vector, int64_t warps, const Dims &order) {
  Maker maker(shape);
  if (!order.empty()) maker.take(Axis::reg, order[0], vector);
  for (auto [axis, threads] : {std::pair(Axis::lane, int64_t(1) << laneBits), std::pair(Axis::warp, warps)}) {
    for (int64_t dim : order) {
      int64_t count = std::min(threads, maker.left(dim));
      maker.take(axis, dim, count);
      threads /= count;
    }
    maker.copies(axis, threads);
  }
  return maker.rest(order);
}

// N and M are the last dimensions; batches repeat in registers after both.
static Dims repeatOrder(const Dims &shape, int64_t first, int64_t second) {
  Dims order = {first, second};
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim-- > 0;)
    order.push_back(dim);
  return order;
}

Layout Layout::mmaAccumulator(const Dims &shape, int64_t warpsM, int64_t warpsN) {
  int64_t m = static_cast<int64_t>(shape.size()) - 2, n = m + 1;
  Maker maker(shape);
  maker.take(Axis::reg, n, 2);
  maker.take(Axis::lane, n, 4);
  maker.take(Axis::lane, m, 8);
  maker.take(Axis::reg, m, 2);
  maker.take(Axis::warp, m, warpsM);
  maker.take(Axis::warp, n, warpsN);
  return maker.rest(repeatOrder(shape, n, m));
}

Layout Layout::mmaOperand(const Dims &shape, int64_t which, int64_t warpsM, int64_t warpsN, int64_t kWidth) {
  int64_t row = static_cast<int64_t>(shape.size()) - 2;
  int64_t outer = which == 0 ? row : row + 1, inner = which == 0 ? row + 1 : row;
  Maker maker(shape);
  maker.take(Axis::reg, inner, kWidth);
  maker.take(Axis::lane, inner, 4);
  maker.take(Axis::lane, outer, 8);
  if (which == 0) maker.take(Axis::reg, outer, 2); // A has 16 rows, B 8 columns
  maker.take(Axis::reg, inner, 2);
  if (which == 0) {
    maker.take(Axis::warp, outer, warpsM);
    maker.copies(Axis::warp, warpsN);
  } else {
    maker.copies(Axis::warp, warpsM);
    maker.take(Axis::warp, outer, warpsN);
    maker.take(Axis::reg, outer, 2); // of 16 columns, one ldmatrix reads what two MMAs of the same depth multiply
  }
  return maker.rest(repeatOrder(shape, inner, outer));
}

Layout Layout::mmaScale(const Dims &shape, int64_t which, int64_t warpsM, int64_t warpsN) {
  constexpr int64_t rowBitsOfQuads = 3; // the other lane bits are those inside a quad: the 8 further rows of A, and copies
  Maker maker(shape);
  maker.take(Axis::lane, 0, 8);
  which == 0 ? maker.take(Axis::lane, 0, 2) : maker.copies(Axis::lane, 2);
  maker.copies(Axis::lane, 2);
  if (which == 0) maker.take(Axis::warp, 0, warpsM);
  maker.copies(Axis::warp, which == 0 ? warpsN : warpsM);
  if (which == 1) maker.take(Axis::warp, 0, warpsN);
  Layout layout = maker.rest({1, 0});
  std::vector<uint32_t> &lanes = layout.basesOf(Axis::lane);
  std::rotate(lanes.begin(), lanes.begin() + rowBitsOfQuads, lanes.end());
  return layout;
}

std::vector<int64_t> Layout::adjacentColumns(int64_t columns, int64_t warpsN) {
  constexpr int64_t instructionBits = 3, bitsOfSpan = 5, maxContiguousBits = 2; // 8 columns; 32 of 32 bits in 128 bytes; 16 bytes
  int64_t bits = log2Of(columns), firstRepeat = instructionBits + log2Of(warpsN), repeats = bits - firstRepeat;
  if (repeats < 1) return {};
  int64_t contiguousBits = std::min(repeats, maxContiguousBits), widest = std::min(bits, bitsOfSpan) - 1;
  std::vector<int64_t> to(static_cast<size_t>(bits), -1);
  auto set = [&](int64_t from, int64_t target) { to[static_cast<size_t>(from)] = target; };
  for (int64_t i = 0; i < contiguousBits; ++i)
    set(firstRepeat + i, i);
  // In 128 bytes, a phase of 8 or 16 lanes reads four rows of K: the last bit of its columns is one that no row's swizzle changes.
  for (int64_t i = 0, next = contiguousBits; i < instructionBits; ++i)
    set(i, i == 2 - contiguousBits ? widest : next++);
  for (int64_t from = 0, at = 0; from < bits; ++from) {
    if (to[static_cast<size_t>(from)] >= 0) continue;
    while (std::find(to.begin(), to.end(), at) != to.end())
      ++at;
    set(from, at);
  }
  return to;
}

// Returns the number of warp groups that split M: each needs 64 rows.
static int64_t groupsAlongM(const Dims &shape, int64_t warps) {
  return std::max<int64_t>(1, std::min(warps / warpsOfGroup, shape[0] / wgmmaRows));
}

// Returns the number of the remaining warp groups, which split N.
static int64_t groupsAlongN(const Dims &shape, int64_t warps) {
  return std::max<int64_t>(1, warps / warpsOfGroup / groupsAlongM(shape, warps));
}

int64_t Layout::wgmmaColumns(const Dims &shape, int64_t warps) {
  return std::min(wgmmaMaxColumns, shape[1] / groupsAlongN(shape, warps));
}

Layout Layout::wgmmaAccumulator(const Dims &shape, int64_t warps, int64_t instrN) {
  int64_t groupsM = groupsAlongM(shape, warps), groupsN = groupsAlongN(shape, warps);
  Maker maker(shape);
  maker.take(Axis::reg, 1, 2);
  maker.take(Axis::lane, 1, 4);
  maker.take(Axis::lane, 0, 8);
  maker.take(Axis::reg, 0, 2);
  maker.take(Axis::reg, 1, instrN / 8);
  maker.take(Axis::warp, 0, std::min<int64_t>(warps, 4));
  maker.take(Axis::warp, 0, groupsM);
  maker.take(Axis::reg, 1, shape[1] / groupsN / instrN); // a warp group's columns are contiguous
  maker.take(Axis::warp, 1, groupsN);
  return maker.rest({1, 0});
}

Layout Layout::wgmmaOperandA(const Dims &shape, int64_t warps, int64_t elementBits) {
  int64_t groupsM = groupsAlongM(shape, warps), groupsN = groupsAlongN(shape, warps);
  Maker maker(shape);
  maker.take(Axis::reg, 1, 32 / elementBits);
  maker.take(Axis::lane, 1, 4);
  maker.take(Axis::lane, 0, 8);
  maker.take(Axis::reg, 0, 2);
  maker.take(Axis::reg, 1, 2);
  maker.take(Axis::warp, 0, std::min<int64_t>(warps, 4));
  maker.take(Axis::warp, 0, groupsM);
  maker.copies(Axis::warp, groupsN);
  return maker.rest({1, 0});
}

Layout Layout::tensorMemory(const Dims &shape, int64_t warps) {
  int64_t groups = warps / warpsOfGroup, halves = shape[0] < tensorMemoryLanes ? 2 : 1;
  int64_t groupsOfRows = std::min(groups, std::max<int64_t>(1, shape[0] / tensorMemoryLanes)), groupsOfColumns = groups / groupsOfRows;
  Maker maker(shape);
  maker.take(Axis::reg, 1, std::max<int64_t>(1, shape[1] / groupsOfColumns / halves));
  maker.take(Axis::lane, 0, 32 / halves);
  maker.take(Axis::lane, 1, halves);
  maker.take(Axis::warp, 0, warpsOfGroup);
  maker.take(Axis::warp, 0, groupsOfRows);
  maker.take(Axis::warp, 1, groupsOfColumns);
  return maker.rest({1, 0});
}

//===--------------------------------------------------------------------------------------------------------------- shared layouts

// Returns the flat indices of the bits of an unswizzled order.
static std::vector<uint32_t> plainBases(const Dims &shape, const Dims &order) {
  std::vector<uint32_t> bases;
  for (int64_t dim : order)
    for (int64_t step = 1; step < shape[dim]; step *= 2) {
      Dims at(shape.size(), 0);
      at[dim] = step;
      bases.push_back(flatOf(shape, at));
    }
  return bases;
}

SharedLayout SharedLayout::rowMajor(const Dims &shape, int64_t elementBits, const Dims &order) {
  return SharedLayout{shape, plainBases(shape, order), std::max<int64_t>(elementBits, 8)};
}

SharedLayout SharedLayout::scales(const Dims &shape) {
  constexpr int64_t word = 4, laneRows = 32, blockRows = 128;
  SharedLayout layout{shape, {}, 8};
  auto take = [&](size_t dim, int64_t from, int64_t to) {
    for (int64_t step = from; step < to; step *= 2)
      layout.bases.push_back(flatOf(shape, dim == 0 ? Dims{step, 0} : Dims{0, step}));
  };
  take(1, 1, word);
  take(0, laneRows, blockRows);
  take(0, 1, laneRows);
  take(1, word, shape[1]);
  take(0, blockRows, shape[0]);
  return layout;
}

int64_t widestSpan(const Dims &shape, int64_t elementBits, const Dims &order) {
  int64_t rowBytes = order.empty() ? 0 : shape[order[0]] * elementBits / 8;
  for (int64_t span : {128, 64, 32})
    if (rowBytes >= span) return span;
  return 0;
}

SharedLayout SharedLayout::swizzled(const Dims &shape, int64_t elementBits, int64_t spanBytes, const Dims &order) {
  elementBits = std::max<int64_t>(elementBits, 8);
  spanBytes = std::min(spanBytes, widestSpan(shape, elementBits, order));
  SharedLayout plain = rowMajor(shape, elementBits, order);
  if (spanBytes == 0) return plain;
  int64_t bytesLog = log2Of(elementBits / 8), innerBits = log2Of(shape[order[0]]), spanBits = log2Of(spanBytes) - bytesLog;
  // The bits of the column block move above all rows.
  std::vector<uint32_t> &bases = plain.bases;
  std::rotate(bases.begin() + spanBits, bases.begin() + innerBits, bases.end());
  // Physical offset p holds logical offset p ^ (p >> 3 at the swizzled bits): an involution, since bits 7.. never change.
  std::vector<uint32_t> logical = bases;
  int64_t swizzledBits = log2Of(spanBytes / 16);
  for (int64_t i = 0; i < swizzledBits; ++i) {
    int64_t source = 7 + i - bytesLog, target = 4 + i - bytesLog;
    if (source < static_cast<int64_t>(bases.size())) bases[source] ^= logical[target];
  }
  return plain;
}

} // namespace tilewright::gpu
