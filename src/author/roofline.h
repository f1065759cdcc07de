// The roofline chart, as SVG: a kernel as a point below the limits of memory and arithmetic at its intensity.
#pragma once

#include <string>

namespace tilewright::author {

struct RooflinePoint {
  std::string title;
  double intensity = 0, rate = 0; // operations per byte and per second; both above 0
  double bandwidth = 0, peak = 0; // the peaks: bytes and operations per second
};
std::string drawRoofline(const RooflinePoint &point);

} // namespace tilewright::author
