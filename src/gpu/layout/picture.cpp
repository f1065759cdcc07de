// Prints layouts as grids, for dumps and for users. Row r, column c of the grid is element (r, c) of the tile:
//           0      1      2
//     0  T0:0   T0:1   T1:0       thread 0 holds elements (0,0) and (0,1) in its registers 0 and 1
//     1  T4:0   T4:1   T5:0
// The last dimension runs to the right, all other dimensions run down.
#include "gpu/layout/layout.h"

#include <algorithm>
#include <utility>

namespace tilewright::gpu {

namespace {
struct Grid {
  Dims shape;
  int64_t rows = 1, columns = 1; // of the tile
  int64_t shownRows = 1, shownColumns = 1;

  Grid(const Dims &tile, int64_t maxRows, int64_t maxColumns) : shape(tile) {
    columns = shape.empty() ? 1 : shape.back();
    rows = elementCount(shape) / columns;
    shownRows = std::min(rows, maxRows);
    shownColumns = std::min(columns, maxColumns);
  }
  std::string rowName(int64_t row) const {
    if (shape.size() <= 2) return std::to_string(row);
    Dims at = coordinatesOf(shape, static_cast<uint32_t>(row * columns));
    std::string name;
    for (size_t dim = 0; dim + 1 < at.size(); ++dim)
      name += (dim ? "," : "") + std::to_string(at[dim]);
    return name;
  }
  std::string draw(const std::vector<std::string> &cells, std::string legend) const {
    std::vector<std::string> names;
    size_t nameWidth = 0, width = 0;
    for (int64_t row = 0; row < shownRows; ++row) {
      names.push_back(rowName(row));
      nameWidth = std::max(nameWidth, names.back().size());
    }
    for (const std::string &cell : cells)
      width = std::max(width, cell.size());
    width = std::max(width, std::to_string(shownColumns - 1).size()) + 2;
    auto right = [](const std::string &text, size_t space) { return std::string(space - std::min(space, text.size()), ' ') + text; };
    std::string text = std::string(nameWidth, ' ');
    for (int64_t column = 0; column < shownColumns; ++column)
      text += right(std::to_string(column), width);
    for (int64_t row = 0; row < shownRows; ++row) {
      text += "\n" + right(names[row], nameWidth);
      for (int64_t column = 0; column < shownColumns; ++column)
        text += right(cells[row * shownColumns + column], width);
    }
    text += "\n" + legend;
    if (shownRows < rows || shownColumns < columns)
      text += "; rows 0.." + std::to_string(shownRows - 1) + " of " + std::to_string(rows) + ", columns 0.." +
              std::to_string(shownColumns - 1) + " of " + std::to_string(columns);
    return text + "\n";
  }
};

constexpr size_t listedHolders = 2; // more locations are only counted
} // namespace

// Returns all inputs of the map that give an element: one of them, plus all sums with the kernel's basis.
static std::vector<HardwareLocation> holdersOf(const Layout &layout, const LinearMap &map, uint32_t flat) {
  std::optional<uint64_t> one = map.solve(flat);
  if (!one) return {};
  Echelon span;
  std::vector<uint64_t> inputs = {*one};
  for (size_t bit = 0; bit < map.columns.size(); ++bit) {
    Echelon::Reduced reduced = span.reduce(map.columns[bit]);
    if (reduced.rest != 0) {
      span.add(map.columns[bit], uint64_t(1) << bit);
      continue;
    }
    size_t count = inputs.size();
    for (size_t i = 0; i < count; ++i)
      inputs.push_back(inputs[i] ^ reduced.tag ^ uint64_t(1) << bit);
  }
  std::vector<HardwareLocation> locations;
  for (uint64_t input : inputs)
    locations.push_back(layout.locationOf(input));
  return locations;
}

std::string picture(const Layout &layout, int64_t rows, int64_t columns) {
  Grid grid(layout.shape, rows, columns);
  LinearMap map = layout.map();
  std::vector<std::string> cells;
  bool several = false;
  for (int64_t row = 0; row < grid.shownRows; ++row)
    for (int64_t column = 0; column < grid.shownColumns; ++column) {
      std::vector<HardwareLocation> locations = holdersOf(layout, map, static_cast<uint32_t>(row * grid.columns + column));
      std::string cell = locations.empty() ? "-" : "";
      for (size_t i = 0; i < std::min(locations.size(), listedHolders); ++i) {
        const HardwareLocation &location = locations[i];
        cell += i ? "," : "";
        cell += "T" + std::to_string((location.warp << layout.bits(Axis::lane)) + location.lane) + ":" + std::to_string(location.reg);
      }
      several |= locations.size() > listedHolders;
      if (locations.size() > listedHolders) cell += "+" + std::to_string(locations.size() - listedHolders);
      cells.push_back(cell);
    }
  std::string legend = "T<thread>:<register>";
  if (several) legend += ", +<further holders>";
  return grid.draw(cells, legend);
}

} // namespace tilewright::gpu
