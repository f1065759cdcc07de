// Runs the instructions of tile registers (AMX) on processors that lack them, so that compiled code for them is tested on every machine.
#pragma once

#include <cstdint>

namespace tilewright::cpu {

/// While it lives, an AMX instruction that the processor or the system refuses is carried out in software, on this thread alone. Where
/// there is AMX, and the process may use it, none is refused, and the processor itself is tested.
class TileEmulator {
public:
  TileEmulator();
  ~TileEmulator();
  TileEmulator(const TileEmulator &) = delete;
  TileEmulator &operator=(const TileEmulator &) = delete;

  /// Whether tile registers are in use: configured and not released. Always false where the processor runs the code.
  bool isConfigured() const;
};

} // namespace tilewright::cpu
