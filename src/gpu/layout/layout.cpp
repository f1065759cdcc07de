// The algebra of layouts: coordinates, locations, inverses. Every operation changes only the images of the bits, so its cost is the number
// of bits (about 20), never the number of elements.
//   reshape 16x8 -> 8x16:  reg=[[8,0]] -> reg=[[4,0]]: the same flat index 64, read in another shape
#include "gpu/layout/layout.h"

#include <algorithm>
#include <bit>

namespace tilewright::gpu {

//===-------------------------------------------------------------------------------------------------------------- coordinates

int64_t elementCount(const Dims &shape) {
  int64_t count = 1;
  for (int64_t extent : shape)
    count *= extent;
  return count;
}

Dims coordinatesOf(const Dims &shape, uint32_t flat) {
  Dims coordinates(shape.size());
  int64_t rest = flat;
  for (size_t dim = shape.size(); dim-- > 0;) {
    coordinates[dim] = rest % shape[dim];
    rest /= shape[dim];
  }
  return coordinates;
}

uint32_t flatOf(const Dims &shape, const Dims &coordinates) {
  int64_t flat = 0;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    flat = flat * shape[dim] + coordinates[dim];
  return static_cast<uint32_t>(flat);
}

Dims rowMajorOrder(int64_t rank) {
  Dims order;
  for (int64_t dim = rank; dim-- > 0;)
    order.push_back(dim);
  return order;
}

//===------------------------------------------------------------------------------------------------------- layouts from layouts

Layout Layout::dropRepeatedRegisters() const {
  Layout result = *this;
  Echelon span;
  std::vector<uint32_t> &registers = result.basesOf(Axis::reg);
  std::erase_if(registers, [&](uint32_t basis) { return !span.add(basis); });
  return result;
}

// Applies a linear change of coordinates to every basis.
template <typename Change> static Layout changed(const Layout &layout, Dims newShape, Change change) {
  Layout result;
  for (size_t axis = 0; axis < layout.bases.size(); ++axis)
    for (uint32_t basis : layout.bases[axis])
      result.bases[axis].push_back(flatOf(newShape, change(coordinatesOf(layout.shape, basis))));
  result.shape = std::move(newShape);
  return result;
}

Layout Layout::withoutDim(int64_t dim) const {
  Dims newShape = shape;
  newShape.erase(newShape.begin() + dim);
  return changed(*this, newShape,
                 [&](Dims at) {
                   at.erase(at.begin() + dim);
                   return at;
                 })
      .dropRepeatedRegisters();
}

Layout Layout::withRegistersInLanes(uint64_t laneMask) const {
  Layout result = *this;
  std::vector<uint32_t> &registers = result.basesOf(Axis::reg);
  for (int64_t bit = 0; bit < laneBits && !registers.empty(); ++bit)
    if (laneMask >> bit & 1) {
      result.basesOf(Axis::lane)[static_cast<size_t>(bit)] = registers.back();
      registers.pop_back();
    }
  return result;
}

Layout Layout::collapsedDim(int64_t dim) const {
  Dims newShape = shape;
  newShape[dim] = 1;
  return changed(*this, newShape,
                 [&](Dims at) {
                   at[dim] = 0;
                   return at;
                 })
      .dropRepeatedRegisters();
}

Layout Layout::withUnitDim(int64_t dim) const {
  Layout result = *this;
  result.shape.insert(result.shape.begin() + dim, 1);
  return result;
}

Layout Layout::reshaped(const Dims &newShape) const {
  Layout result = *this;
  result.shape = newShape;
  return result;
}

static Dims permuted(const Dims &values, const Dims &order) {
  Dims result;
  for (int64_t dim : order)
    result.push_back(values[dim]);
  return result;
}

Layout Layout::transposed(const Dims &order) const {
  return changed(*this, permuted(shape, order), [&](const Dims &at) { return permuted(at, order); });
}

Layout Layout::withColumnBits(const std::vector<int64_t> &to) const {
  LinearMap column;
  for (int64_t bit : to)
    column.columns.push_back(uint32_t(1) << bit);
  Layout layout = changed(*this, shape, [&](Dims at) {
    at.back() = column.apply(static_cast<uint64_t>(at.back()));
    return at;
  });
  std::sort(layout.basesOf(Axis::reg).begin(), layout.basesOf(Axis::reg).end());
  return layout;
}

Layout Layout::joined() const {
  Layout result = *this;
  result.shape.push_back(2);
  for (std::vector<uint32_t> &axis : result.bases)
    for (uint32_t &basis : axis)
      basis <<= 1;
  std::vector<uint32_t> &registers = result.basesOf(Axis::reg);
  registers.insert(registers.begin(), 1);
  return result;
}

std::optional<Halves> Layout::splitHalves() const {
  if (shape.empty() || shape.back() != 2) return std::nullopt;
  Halves halves{*this, -1};
  halves.layout.shape.pop_back();
  for (Axis axis : allAxes)
    for (int64_t bit = 0; bit < bits(axis); ++bit) {
      uint32_t basis = basesOf(axis)[bit];
      if (!(basis & 1)) continue;
      if (axis != Axis::reg || basis != 1 || halves.registerBit >= 0) return std::nullopt;
      halves.registerBit = bit;
    }
  if (halves.registerBit < 0) return std::nullopt;
  std::vector<uint32_t> &registers = halves.layout.basesOf(Axis::reg);
  registers.erase(registers.begin() + halves.registerBit);
  for (std::vector<uint32_t> &axis : halves.layout.bases)
    for (uint32_t &basis : axis)
      basis >>= 1;
  return halves;
}

Layout Layout::concatenated(int64_t dim) const {
  Dims newShape = shape;
  newShape[dim] *= 2;
  Layout result = changed(*this, newShape, [](Dims at) { return at; });
  Dims second(shape.size(), 0);
  second[dim] = shape[dim];
  result.basesOf(Axis::reg).push_back(flatOf(newShape, second));
  return result;
}

//===-------------------------------------------------------------------------------------------------------------------- algebra

int64_t Layout::elementBits() const {
  return log2Of(elementCount(shape));
}

/// Returns the sum of the columns whose bit is set.
static uint32_t sumOf(const std::vector<uint32_t> &columns, uint64_t bits) {
  uint32_t sum = 0;
  for (size_t bit = 0; bit < columns.size(); ++bit)
    if (bits >> bit & 1) sum ^= columns[bit];
  return sum;
}

uint32_t Layout::apply(const HardwareLocation &location) const {
  std::array<int64_t, 3> parts = {location.reg, location.lane, location.warp};
  uint32_t flat = 0;
  for (size_t axis = 0; axis < parts.size(); ++axis)
    flat ^= sumOf(bases[axis], static_cast<uint64_t>(parts[axis]));
  return flat;
}

LinearMap Layout::map() const {
  LinearMap result;
  for (const std::vector<uint32_t> &axis : bases)
    result.columns.insert(result.columns.end(), axis.begin(), axis.end());
  return result;
}

HardwareLocation Layout::locationOf(uint64_t input) const {
  std::array<int64_t, 3> parts = {};
  for (Axis axis : allAxes) {
    parts[static_cast<size_t>(axis)] = static_cast<int64_t>(input & ((uint64_t(1) << bits(axis)) - 1));
    input >>= bits(axis);
  }
  return HardwareLocation{parts[0], parts[1], parts[2]};
}

uint64_t Layout::freeMask(Axis asked) const {
  Echelon span;
  uint64_t mask = 0;
  for (Axis axis : allAxes)
    for (int64_t bit = 0; bit < bits(axis); ++bit)
      if (!span.add(basesOf(axis)[bit]) && axis == asked) mask |= uint64_t(1) << bit;
  return mask;
}

//===--------------------------------------------------------------------------------------------------------------- shared layouts

SharedLayout SharedLayout::transposed(const Dims &order) const {
  SharedLayout result{permuted(shape, order), {}, elementBits};
  for (uint32_t basis : bases)
    result.bases.push_back(flatOf(result.shape, permuted(coordinatesOf(shape, basis), order)));
  return result;
}

SharedLayout SharedLayout::padded(int64_t dim, int64_t bit) const {
  SharedLayout result{shape, {}, elementBits};
  result.shape[dim] /= 2;
  for (uint32_t basis : bases) {
    Dims at = coordinatesOf(shape, basis);
    at[dim] = (at[dim] & ((int64_t(1) << bit) - 1)) | at[dim] >> (bit + 1) << bit;
    result.bases.push_back(flatOf(result.shape, at));
  }
  return result;
}

bool SharedLayout::isInjective() const {
  int64_t size = log2Of(elementCount(shape)), used = 0;
  for (uint32_t basis : bases)
    used += basis != 0;
  return used == size && map().rank() == size;
}

bool SharedLayout::isBijection() const {
  int64_t size = static_cast<int64_t>(bases.size());
  return size == log2Of(elementCount(shape)) && map().rank() == size;
}

} // namespace tilewright::gpu
