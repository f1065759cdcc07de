// What the compiler may use of a processor. Asked by capability, never by name.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace tilewright {

struct CpuTarget {
  std::string name;     // "avx2": the level's name; what --target cpu:NAME takes
  std::string cpu;      // LLVM's processor name, for tuning
  std::string features; // LLVM's feature string
  int64_t vectorBytes;  // 16, 32 or 64
  int64_t registers;    // vector registers: 16 or 32
  bool fma = false;
  bool f16c = false;         // fp16 <-> fp32 conversion
  bool maskedMemory = false; // masked vector loads and stores
  bool gather = false;
  int64_t l2Bytes = 512 * 1024;
  int64_t llcBytes = 8 * 1024 * 1024;
};

/// The processor that this runs on. TILEWRIGHT_CPU=sse2|avx2|avx512 lowers the level.
const CpuTarget &hostCpu();
/// "sse2", "avx2", "avx512", "native"; nothing for other words. Caches are the host's.
std::optional<CpuTarget> cpuTarget(std::string_view level);

} // namespace tilewright
