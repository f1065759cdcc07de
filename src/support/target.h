// The features of a CPU or GPU that the compiler may use. Code tests capabilities, never names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace tilewright {

/// The instruction set of a CPU.
enum class Isa { x86_64, aarch64 };

struct CpuTarget {
  std::string name; // "avx2": the level's name, as in --target cpu:NAME
  Isa isa = Isa::x86_64;
  std::string cpu;      // LLVM's name of the CPU, for features and tuning
  std::string tuneCpu;  // LLVM's name of the CPU for tuning alone; empty: `cpu`
  std::string features; // LLVM's feature string
  int64_t vectorBytes;  // 16, 32 or 64
  int64_t registers;    // vector registers: 16 or 32
  bool fma = false;
  bool f16c = false;           // fp16 <-> fp32 conversion
  bool rounding = false;       // floor, ceil, trunc, rint of vectors
  bool vectorMath = false;     // the C library has vector functions for this level: libmvec
  bool fp16Arithmetic = false; // +, -, * and / of fp16 vectors, rounded once
  bool maskedMemory = false;   // masked vector loads and stores
  bool gather = false;
  bool lanePermute = false;   // one instruction permutes the 32-bit lanes of a vector: vpermps
  int64_t fmaInFlight = 8;    // multiply-adds that must be independent: latency times instructions per cycle
  bool laneOperand = false;   // multiply-adds by one lane of a vector register, and broadcasting loads cost an arithmetic instruction
  bool bf16Dot = false;       // dot products of pairs of bf16, added to fp32 (vdpbf16ps, BFDOT), if that is faster than fp32
  bool byteDot = false;       // dot products of four bytes, added to i32: unsigned with signed ones (vpdpbusd), or `signedByteDot`
  bool signedByteDot = false; // ... signed with signed ones: SDOT
  bool matrixDot = false;     // 2x2 results of two rows by two columns of 8 bytes each: BFMMLA, SMMLA
  int64_t scalableBytes = 0;  // SVE registers have at least this many bytes; 0: there are none
  bool bf16Tiles = false;     // matmuls in AMX tiles of 16 rows of 64 bytes: tdpbf16ps
  bool fp16Tiles = false;     // the same for fp16: tdpfp16ps
  bool byteTiles = false;     // the same for signed bytes: tdpbssd
  int64_t l2Bytes = 512 * 1024;
  int64_t llcBytes = 8 * 1024 * 1024;
  int64_t cachedOutputBytes = 8 * 1024 * 1024; // outputs up to this size stay in the caches; larger ones use non-temporal stores
};

/// Returns LLVM's triple for code of this instruction set.
const char *tripleOf(Isa isa);
/// Returns the name of an instruction set for messages: "x86-64", "AArch64".
const char *nameOf(Isa isa);
/// The instruction set of this process.
constexpr Isa hostIsa =
#if defined(__aarch64__)
    Isa::aarch64;
#else
    Isa::x86_64;
#endif

/// Returns this machine's CPU. TILEWRIGHT_CPU names one of its levels to lower the level.
const CpuTarget &hostCpu();
/// Returns the error in TILEWRIGHT_CPU, such as a level of another instruction set; else "".
std::string cpuSettingProblem();
/// Finds one of cpuLevelNames(), or "native"; null for other words. Only "native" depends on this machine.
std::optional<CpuTarget> cpuTarget(std::string_view level);
/// Returns all levels, separated by commas, for messages.
std::string cpuLevelNames();
/// The levels of one instruction set, separated by commas.
std::string cpuLevelNames(Isa isa);
/// True if this process may use AMX tiles. Linux grants that to a process on request, and the first call makes the request.
bool mayUseTiles();

/// An NVIDIA GPU. All capabilities are fields (targets.def), so no code tests a model, and no field stands for another capability.
struct GpuTarget {
  std::string name;        // the name for --target cuda:NAME and ptxas -arch
  int64_t capability = 0;  // major * 10 + minor; for tl.target_info and messages
  std::string ptxVersion;  // the ISA version of the PTX: "8.3"
  int64_t sharedBytes = 0; // the limit of dynamic shared memory of one CTA

  int64_t threadsPerBlock = 1024;   // at most
  int64_t blocksPerCluster = 16;    // at most; a kernel must request more than 8
  int64_t registersPerThread = 255; // at most, of 32 bits
  int64_t registersPerSM = 65536;   // of 32 bits
  int64_t threadsPerSM = 2048;      // at most
  int64_t tensorColumns = 0;        // of tensor memory, each 128 lanes of 32 bits

  bool deepMma = true;               // mma.sync of 32 bytes along K and 16 rows; otherwise 16 bytes, and 8 rows for integers
  bool redux = true;                 // reduction of an i32 over a warp by one instruction
  bool cpAsync = false;              // cp.async: global to shared memory without registers
  bool mbarrier = false;             // barriers as objects in shared memory
  bool bf16Mma = false;              // MMA of bf16 by mma.sync, and conversion of pairs to bf16
  bool tf32Mma = false;              // MMA of tf32 by mma.sync, and conversion to tf32
  bool fp8Mma = false;               // MMA of fp8 by mma.sync
  bool scaledMma = false;            // MMA of pairs of formats with 4 to 8 bits by mma.sync, with scales or without
  bool multicast = true;             // with clusters: TMA copies to several CTAs at once
  bool fp8Convert = false;           // conversion from and to pairs of fp8
  bool bf16Atomics = false;          // atomic addition of bf16
  bool vectorAtomics = false;        // atomic addition of up to 16 bytes of contiguous floats
  bool stmatrix = false;             // 8x8 matrices from registers to shared memory
  bool elect = false;                // elect.sync
  bool mbarrierTransactions = false; // mbarriers that count bytes, arrivals in numbers, waits that sleep
  bool tma = false;                  // cp.async.bulk and tensor maps
  bool clusters = false;             // CTAs that access each other's shared memory
  bool wgmma = false;                // MMA by four warps, from shared memory
  bool setmaxnreg = false;           // registers move between warps
  bool tcgen05 = false;              // MMA by one thread into tensor memory, of kinds f16, tf32 and f8f6f4
  bool tcgen05BlockScales = false;   // its kinds mxf8f6f4, mxf4 and mxf4nvf4
  bool tcgen05Int8 = false;          // its kind i8
  bool tcgen05ScaleInput = false;    // its operand that scales D by a power of two
  bool ctaPairs = false;             // its MMAs of two CTAs (cta_group::2)
  bool launchControl = false;        // a running cluster may cancel the launch of another one and do its work
  bool launchMulticast = false;      // the response to that goes to all CTAs of the cluster
  bool isDefault = false;            // the default target; one row has it

  std::pair<int64_t, int64_t> ptxIsa() const; // {8, 3}
  std::string llvmFeatures() const;           // "+ptx83": LLVM's feature string
  /// True if the code runs on one GPU architecture only; other code also runs on all later ones.
  bool ofOneGpu() const { return name.back() == 'a'; }
  /// Of code that a GPU runs, that with the largest number is best.
  int64_t rank() const { return 2 * capability + ofOneGpu(); }
};

/// Returns the default target, and its text "cuda:NAME".
const GpuTarget &defaultGpuTarget();
std::string defaultGpuText();
/// Finds the GPU of a text such as "cuda:sm_80", as --target takes it. Null for other words.
std::optional<GpuTarget> gpuTargetOfText(std::string_view text);
/// Finds the GPU of this name. A number ("90") means the best code for that GPU. Null for other words.
std::optional<GpuTarget> gpuTarget(std::string_view name);
/// Returns the best target whose code runs on a GPU of this compute capability. Null for a GPU that is older than all targets.
std::optional<GpuTarget> gpuTargetFor(int64_t major, int64_t minor);
/// True if a GPU of this compute capability runs the target's code.
bool runsOn(const GpuTarget &target, int64_t major, int64_t minor);
/// Returns all names, separated by commas, for messages.
std::string gpuTargetNames();

} // namespace tilewright
