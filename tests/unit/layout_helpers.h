// Layouts as text, for tests: "reg=[[0,1],[8,0]] lane=[...] warp=[...]", one coordinate list per bit.
#pragma once

#include "gpu/layout/layout.h"

#include <gtest/gtest.h>

#include <cctype>
#include <sstream>

namespace tilewright::gpu {

inline std::string textOf(const Layout &layout) {
  constexpr const char *names[] = {"reg=", " lane=", " warp="};
  std::string text;
  for (Axis axis : allAxes) {
    text += std::string(names[static_cast<size_t>(axis)]) + "[";
    for (uint32_t basis : layout.basesOf(axis)) {
      text += text.back() == '[' ? "[" : ",[";
      for (int64_t at : layout.coordinates(basis))
        text += (text.back() == '[' ? "" : ",") + std::to_string(at);
      text += "]";
    }
    text += "]";
  }
  return text;
}

/// Reads what textOf writes; fails the test unless the text is exactly that of the layout.
inline Layout parsed(const Dims &shape, const std::string &text) {
  Layout layout;
  layout.shape = shape;
  std::istringstream in(text);
  for (Axis axis : allAxes) {
    std::string word, list;
    in >> word;
    list = word.substr(word.find('=') + 1);
    for (size_t at = 1; at < list.size() && list[at] == '['; at = list.find(']', at) + 2) {
      Dims coordinates;
      for (size_t digit = at; list[digit] != ']'; digit = list.find_first_of(",]", digit + 1))
        coordinates.push_back(std::stoll(list.substr(digit + 1)));
      layout.basesOf(axis).push_back(flatOf(shape, coordinates));
    }
  }
  EXPECT_EQ(textOf(layout), text);
  return layout;
}

/// True if no element is held twice, except by bits with basis 0.
inline bool isInjectiveModuloBroadcast(const Layout &layout) {
  Echelon span;
  for (uint32_t column : layout.map().columns)
    if (column != 0 && !span.add(column)) return false;
  return true;
}

/// Permutes chunks of `vec` elements of a row: chunk ^= (row / perPhase) % maxPhase, as far as the row has chunks.
inline SharedLayout vectorSwizzled(const Dims &shape, int64_t elementBits, const Dims &order, int64_t vec, int64_t perPhase,
                                   int64_t maxPhase) {
  SharedLayout layout = SharedLayout::rowMajor(shape, elementBits, order);
  std::vector<uint32_t> logical = layout.bases;
  int64_t innerBits = log2Of(shape[order[0]]), rowBits = static_cast<int64_t>(layout.bases.size()) - innerBits;
  for (int64_t i = 0; i < log2Of(maxPhase); ++i) {
    int64_t row = log2Of(perPhase) + i, chunk = log2Of(vec) + i;
    if (row < rowBits && chunk < innerBits) layout.bases[innerBits + row] ^= logical[chunk];
  }
  return layout;
}

} // namespace tilewright::gpu
