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

/// An NVIDIA GPU. What it can do is a flag each (targets.def), so that nothing asks for a model.
struct GpuTarget {
  std::string name;        // "sm_90a": what --target cuda:NAME and ptxas -arch take
  int64_t capability = 0;  // 90; for tl.target_info and messages
  std::string ptxVersion;  // "8.3"
  int64_t sharedBytes = 0; // the most dynamic shared memory of one block
  bool cpAsync = false;    // cp.async: global to shared memory without registers
  bool bf16Mma = false;    // mma.sync of bf16 and tf32
  bool fp8Mma = false;     // products of fp8
  bool tma = false;        // cp.async.bulk and tensor maps
  bool mbarrier = false;
  bool clusters = false;
  bool wgmma = false;
  bool setmaxnreg = false;
  std::string llvmFeatures() const; // "+ptx83": LLVM's feature string
};

/// "sm_90a", "sm_89", "sm_80" ...; "sm_90" and "90" are taken, too. Nothing for other words.
std::optional<GpuTarget> gpuTarget(std::string_view name);
/// The target whose code runs on a GPU of this compute capability, or nothing: it is older than all, or made for another code format.
std::optional<GpuTarget> gpuTargetFor(int64_t major, int64_t minor);
/// "sm_80, sm_86, ...": for messages.
std::string gpuTargetNames();

} // namespace tilewright
