// Functions for the rows of scalar_ops.def: minima and maxima in which -0 is less than +0.
#pragma once

#include <cmath>

namespace tilewright::interp {

inline double smaller(double a, double b) {
  return a < b || (a == b && std::signbit(a)) ? a : b;
}
inline double larger(double a, double b) {
  return a > b || (a == b && !std::signbit(a)) ? a : b;
}
inline double minimumKeepingNan(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : smaller(a, b);
}
inline double maximumKeepingNan(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : larger(a, b);
}
inline double minimumDroppingNan(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : smaller(a, b);
}
inline double maximumDroppingNan(double a, double b) {
  return std::isnan(a) ? b : std::isnan(b) ? a : larger(a, b);
}

} // namespace tilewright::interp
