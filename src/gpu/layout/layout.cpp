// The algebra of layouts: coordinates, locations, inverses, direct sums and quotients, and the text form. Every operation changes only the
// images of the bits, so its cost is the number of bits (about 20), never the number of elements.
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

static int64_t log2Of(int64_t value) {
  return std::bit_width(static_cast<uint64_t>(value)) - 1;
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
  std::array<int64_t, 4> parts = {location.reg, location.lane, location.warp, location.block};
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

uint64_t Layout::inputOf(const HardwareLocation &location) const {
  std::array<int64_t, 4> parts = {location.reg, location.lane, location.warp, location.block};
  uint64_t input = 0;
  int64_t shift = 0;
  for (Axis axis : allAxes) {
    input |= static_cast<uint64_t>(parts[static_cast<size_t>(axis)]) << shift;
    shift += bits(axis);
  }
  return input;
}

HardwareLocation Layout::locationOf(uint64_t input) const {
  std::array<int64_t, 4> parts = {};
  for (Axis axis : allAxes) {
    parts[static_cast<size_t>(axis)] = static_cast<int64_t>(input & ((uint64_t(1) << bits(axis)) - 1));
    input >>= bits(axis);
  }
  return HardwareLocation{parts[0], parts[1], parts[2], parts[3]};
}

bool Layout::isInjectiveModuloBroadcast() const {
  Echelon span;
  for (uint32_t column : map().columns)
    if (column != 0 && !span.add(column)) return false;
  return true;
}

std::optional<HardwareLocation> Layout::find(uint32_t flat) const {
  std::optional<uint64_t> input = map().solve(flat);
  if (!input) return std::nullopt;
  return locationOf(*input);
}

uint64_t Layout::freeMask(Axis asked) const {
  Echelon span;
  uint64_t mask = 0;
  for (Axis axis : allAxes)
    for (int64_t bit = 0; bit < bits(axis); ++bit)
      if (!span.add(basesOf(axis)[bit]) && axis == asked) mask |= uint64_t(1) << bit;
  return mask;
}

//===------------------------------------------------------------------------------------------------------- product and quotient

Layout product(const Layout &inner, const Layout &outer) {
  Dims shape = inner.shape;
  for (size_t dim = 0; dim < shape.size(); ++dim)
    shape[dim] *= outer.shape[dim];
  Layout result = changed(inner, shape, [](Dims at) { return at; });
  Layout cells = changed(outer, shape, [&](Dims at) {
    for (size_t dim = 0; dim < at.size(); ++dim)
      at[dim] *= inner.shape[dim];
    return at;
  });
  for (size_t axis = 0; axis < result.bases.size(); ++axis)
    result.bases[axis].insert(result.bases[axis].end(), cells.bases[axis].begin(), cells.bases[axis].end());
  return result;
}

// Returns the bits of one axis in product order. Returns nothing if the tile's bits are absent (at the front, or anywhere) or overlap other
// ones.
static std::optional<std::vector<int64_t>> tileBits(const Layout &layout, const Layout &tile, Axis axis, bool anywhere) {
  const std::vector<uint32_t> &bases = layout.basesOf(axis);
  std::vector<int64_t> order;
  std::vector<bool> taken(bases.size(), false);
  for (int64_t bit = 0; bit < tile.bits(axis); ++bit) {
    uint32_t wanted = flatOf(layout.shape, coordinatesOf(tile.shape, tile.basesOf(axis)[bit]));
    int64_t at = bit;
    if (anywhere) {
      at = 0;
      while (at < layout.bits(axis) && (taken[at] || bases[at] != wanted))
        ++at;
    }
    if (at >= layout.bits(axis) || bases[at] != wanted) return std::nullopt;
    taken[at] = true;
    order.push_back(at);
  }
  for (int64_t bit = 0; bit < layout.bits(axis); ++bit) {
    if (taken[bit]) continue;
    Dims at = coordinatesOf(layout.shape, bases[bit]);
    for (size_t dim = 0; dim < at.size(); ++dim)
      if (at[dim] % tile.shape[dim] != 0) return std::nullopt;
    order.push_back(bit);
  }
  return order;
}

static bool shapeDivides(const Layout &layout, const Layout &tile) {
  if (layout.shape.size() != tile.shape.size()) return false;
  for (size_t dim = 0; dim < tile.shape.size(); ++dim)
    if (layout.shape[dim] % tile.shape[dim] != 0) return false;
  return true;
}

std::optional<Layout> divideLeft(const Layout &layout, const Layout &tile) {
  if (!shapeDivides(layout, tile)) return std::nullopt;
  Layout grid;
  for (size_t dim = 0; dim < tile.shape.size(); ++dim)
    grid.shape.push_back(layout.shape[dim] / tile.shape[dim]);
  for (Axis axis : allAxes) {
    if (!tileBits(layout, tile, axis, /*anywhere=*/false)) return std::nullopt;
    for (int64_t bit = tile.bits(axis); bit < layout.bits(axis); ++bit) {
      Dims at = coordinatesOf(layout.shape, layout.basesOf(axis)[bit]);
      for (size_t dim = 0; dim < at.size(); ++dim)
        at[dim] /= tile.shape[dim];
      grid.basesOf(axis).push_back(flatOf(grid.shape, at));
    }
  }
  return grid;
}

std::optional<std::vector<int64_t>> registersForTile(const Layout &layout, const Layout &tile) {
  if (!shapeDivides(layout, tile)) return std::nullopt;
  for (Axis axis : {Axis::lane, Axis::warp, Axis::block})
    if (!tileBits(layout, tile, axis, /*anywhere=*/false)) return std::nullopt;
  return tileBits(layout, tile, Axis::reg, /*anywhere=*/true);
}

//===--------------------------------------------------------------------------------------------------------------- shared layouts

SharedLayout SharedLayout::transposed(const Dims &order) const {
  SharedLayout result{permuted(shape, order), {}, elementBits};
  for (uint32_t basis : bases)
    result.bases.push_back(flatOf(result.shape, permuted(coordinatesOf(shape, basis), order)));
  return result;
}

bool SharedLayout::isBijection() const {
  int64_t size = static_cast<int64_t>(bases.size());
  return size == log2Of(elementCount(shape)) && map().rank() == size;
}

//===----------------------------------------------------------------------------------------------------------------- text, hashing

static std::string listText(const Dims &shape, const std::vector<uint32_t> &bases) {
  std::string text = "[";
  for (size_t bit = 0; bit < bases.size(); ++bit) {
    text += bit ? ",[" : "[";
    Dims at = coordinatesOf(shape, bases[bit]);
    for (size_t dim = 0; dim < at.size(); ++dim)
      text += (dim ? "," : "") + std::to_string(at[dim]);
    text += "]";
  }
  return text + "]";
}

std::string Layout::text() const {
  return "reg=" + listText(shape, basesOf(Axis::reg)) + " lane=" + listText(shape, basesOf(Axis::lane)) +
         " warp=" + listText(shape, basesOf(Axis::warp)) + " block=" + listText(shape, basesOf(Axis::block));
}

std::string SharedLayout::text() const {
  return "bits=" + std::to_string(elementBits) + " offset=" + listText(shape, bases);
}

namespace {
// Reads the text form; every function returns whether it found what it expects.
struct Reader {
  std::string_view rest;

  void space() {
    while (!rest.empty() && (rest.front() == ' ' || rest.front() == '\t' || rest.front() == '\n'))
      rest.remove_prefix(1);
  }
  bool take(std::string_view word) {
    space();
    if (!rest.starts_with(word)) return false;
    rest.remove_prefix(word.size());
    return true;
  }
  std::optional<int64_t> number() {
    space();
    int64_t value = 0, digits = 0;
    while (!rest.empty() && rest.front() >= '0' && rest.front() <= '9' && digits < 10) {
      value = value * 10 + (rest.front() - '0');
      rest.remove_prefix(1);
      ++digits;
    }
    if (digits == 0) return std::nullopt;
    return value;
  }
  std::optional<uint32_t> coordinates(const Dims &shape) {
    if (!take("[")) return std::nullopt;
    Dims at;
    for (size_t dim = 0; dim < shape.size(); ++dim) {
      if (dim && !take(",")) return std::nullopt;
      std::optional<int64_t> value = number();
      if (!value || *value >= shape[dim]) return std::nullopt;
      at.push_back(*value);
    }
    if (!take("]")) return std::nullopt;
    return flatOf(shape, at);
  }
  std::optional<std::vector<uint32_t>> list(const Dims &shape) {
    std::vector<uint32_t> bases;
    if (!take("=") || !take("[")) return std::nullopt;
    if (take("]")) return bases;
    do {
      std::optional<uint32_t> basis = coordinates(shape);
      if (!basis) return std::nullopt;
      bases.push_back(*basis);
    } while (take(","));
    if (!take("]")) return std::nullopt;
    return bases;
  }
  bool atEnd() {
    space();
    return rest.empty();
  }
};
} // namespace

static bool powersOfTwo(const Dims &shape) {
  return std::all_of(shape.begin(), shape.end(),
                     [](int64_t extent) { return extent > 0 && std::has_single_bit(static_cast<uint64_t>(extent)); });
}

std::optional<Layout> Layout::parse(const Dims &shape, std::string_view text) {
  if (!powersOfTwo(shape)) return std::nullopt;
  Layout layout;
  layout.shape = shape;
  Reader reader{text};
  constexpr std::array<std::string_view, 4> names = {"reg", "lane", "warp", "block"};
  for (Axis axis : allAxes) {
    if (!reader.take(names[static_cast<size_t>(axis)])) return std::nullopt;
    std::optional<std::vector<uint32_t>> bases = reader.list(shape);
    if (!bases) return std::nullopt;
    layout.basesOf(axis) = *bases;
  }
  if (!reader.atEnd()) return std::nullopt;
  return layout;
}

std::optional<SharedLayout> SharedLayout::parse(const Dims &shape, std::string_view text) {
  if (!powersOfTwo(shape)) return std::nullopt;
  Reader reader{text};
  if (!reader.take("bits") || !reader.take("=")) return std::nullopt;
  std::optional<int64_t> elementBits = reader.number();
  if (!elementBits || *elementBits < 8 || *elementBits > 64 || !std::has_single_bit(static_cast<uint64_t>(*elementBits)))
    return std::nullopt;
  if (!reader.take("offset")) return std::nullopt;
  std::optional<std::vector<uint32_t>> bases = reader.list(shape);
  if (!bases || !reader.atEnd()) return std::nullopt;
  SharedLayout layout{shape, *bases, *elementBits};
  if (!layout.isBijection()) return std::nullopt;
  return layout;
}

} // namespace tilewright::gpu
