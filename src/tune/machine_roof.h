// The roof above a machine's kernels, kept in the cache folder under the machine's name: JSON, {"bytes_per_second": ..., "float32": ...}.
// Of a GPU it also has the rates of products by type (tune/card_roof).
//
// Whatever else runs only makes a measurement lower. So one that other programs disturbed is marked, the next who asks measures again, and
// of two measurements what is higher counts.
#pragma once

#include "support/diagnostics.h"

#include <functional>
#include <map>
#include <optional>
#include <string>

namespace tilewright {

struct MachineRoof {
  std::map<std::string, double, std::less<>> rates; // "bytes_per_second", and operations a second by type
  bool isDisturbed = false;
};

/// Of this processor, as runtime/roof measures it.
MachineRoof measureProcessor();

std::optional<MachineRoof> keptRoof(const std::string &machine, Diagnostics &diagnostics);
void keepRoof(const std::string &machine, const MachineRoof &roof, Diagnostics &diagnostics);
/// Raises each rate to that of another measurement, if it has a higher one.
MachineRoof higherRoof(MachineRoof roof, const MachineRoof &other);
/// The one that is kept; measured now, and kept, where there is none, where that was disturbed, or `anew`. Nothing where measuring fails.
std::optional<MachineRoof> roofOf(const std::string &machine, const std::function<std::optional<MachineRoof>()> &measure, bool anew,
                                  Diagnostics &diagnostics);

} // namespace tilewright
