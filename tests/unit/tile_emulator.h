// Emulates AMX instructions on CPUs that lack them, so that compiled code for them is tested on every machine.
#pragma once

#include <cstdint>

namespace tilewright::cpu {

/// While it lives, an AMX instruction that the CPU or the system rejects is emulated in software, on this thread only. Where
/// there is AMX, and the process may use it, none is refused, and the CPU itself is tested.
class TileEmulator {
public:
  TileEmulator();
  ~TileEmulator();
  TileEmulator(const TileEmulator &) = delete;
  TileEmulator &operator=(const TileEmulator &) = delete;

  /// True if the emulated tiles are configured and not released. Always false if the CPU runs the code.
  bool isConfigured() const;
};

} // namespace tilewright::cpu
