// The roofline: a kernel as a point, under what memory and arithmetic allow at its intensity. As SVG, without any library.
#pragma once

#include <string>

namespace tilewright::author {

struct RooflinePoint {
  std::string title;
  double intensity = 0, rate = 0; // operations a byte and a second; both above 0
  double bandwidth = 0, peak = 0; // the roof: bytes and operations a second
};
std::string drawRoofline(const RooflinePoint &point);

} // namespace tilewright::author
