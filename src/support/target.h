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
  bool bf16Dot = false;   // products of pairs of bf16, added to fp32: vdpbf16ps, where that is faster than fp32
  bool byteDot = false;   // products of four bytes, unsigned with signed ones, added to i32: vpdpbusd
  bool bf16Tiles = false; // products of matrices in tile registers of 16 rows of 64 bytes: tdpbf16ps
  bool fp16Tiles = false; // the same of fp16: tdpfp16ps
  bool byteTiles = false; // the same of signed bytes: tdpbssd
  int64_t l2Bytes = 512 * 1024;
  int64_t llcBytes = 8 * 1024 * 1024;
  int64_t cachedOutputBytes = 8 * 1024 * 1024; // what a kernel writes is worth keeping in the caches up to here; more goes past them
};

/// The processor that this runs on. TILEWRIGHT_CPU names one of cpuLevelNames() to lower the level.
const CpuTarget &hostCpu();
/// One of cpuLevelNames(), or "native"; null for other words. Cache sizes are always the host's.
std::optional<CpuTarget> cpuTarget(std::string_view level);
/// All levels, with commas: for messages.
std::string cpuLevelNames();
/// Whether this process may use tile registers. Linux gives that right to a process that asks for it, and the first call asks.
bool mayUseTiles();

/// An NVIDIA GPU. All that it can do are fields (targets.def), so that no code asks for a model, and no field stands for another fact.
struct GpuTarget {
  std::string name;        // what --target cuda:NAME and ptxas -arch take
  int64_t capability = 0;  // major * 10 + minor; for tl.target_info and messages
  std::string ptxVersion;  // the ISA version that the code is written in: "8.3"
  int64_t sharedBytes = 0; // the most dynamic shared memory of one block

  int64_t threadsPerBlock = 1024;        // at most
  int64_t blocksPerCluster = 16;         // at most; a kernel must ask for more than 8
  int64_t registersPerThread = 255;      // at most, of 32 bits
  int64_t registersPerSM = 65536; // of 32 bits

  bool cpAsync = false;              // cp.async: global to shared memory without registers
  bool mbarrier = false;             // barriers as objects in shared memory
  bool bf16Mma = false;              // products of bf16 by mma.sync, and conversion of pairs to bf16
  bool tf32Mma = false;              // products of tf32 by mma.sync, and conversion to tf32
  bool fp8Mma = false;               // products of fp8 by mma.sync
  bool fp8Convert = false;           // conversion from and to pairs of fp8
  bool bf16Atomics = false;          // atomic addition of bf16
  bool vectorAtomics = false;        // atomic addition of up to 16 bytes of neighboring floats
  bool stmatrix = false;             // 8x8 matrices from registers to shared memory
  bool elect = false;                // elect.sync
  bool mbarrierTransactions = false; // mbarriers that count bytes, arrivals in numbers, waits that sleep
  bool tma = false;                  // cp.async.bulk and tensor maps
  bool clusters = false;             // blocks that see each other's shared memory
  bool wgmma = false;                // products by four warps, from shared memory
  bool setmaxnreg = false;           // registers move between warps
  bool isDefault = false;            // what code is made for where nobody names a GPU; one row has it

  std::string llvmFeatures() const; // "+ptx83": LLVM's feature string
  /// Whether the code runs on one kind of card only; other code also runs on all later cards.
  bool ofOneGpu() const { return name.back() == 'a'; }
};

/// What code is made for where nobody names a GPU, and the words "cuda:NAME" for it.
const GpuTarget &defaultGpuTarget();
std::string defaultGpuText();
/// The GPU that a text such as "cuda:sm_80" names, as --target takes it. Null for other words.
std::optional<GpuTarget> gpuTargetOfText(std::string_view text);
/// The GPU of this name. A number ("90") means the best code for that card. Null for other words.
std::optional<GpuTarget> gpuTarget(std::string_view name);
/// The best target whose code runs on a GPU of this compute capability. Null for a GPU that is older than all targets.
std::optional<GpuTarget> gpuTargetFor(int64_t major, int64_t minor);
/// Whether a GPU of this compute capability runs the target's code.
bool runsOn(const GpuTarget &target, int64_t major, int64_t minor);
/// All names, with commas: for messages.
std::string gpuTargetNames();

} // namespace tilewright
