// The compiler knows levels of CPUs, not models. Code depends on the level (vector width, number of registers, fused multiply-add,
// masks). Only for cpu:native, tuning and cache sizes depend on the model. So code for a level is the same on every machine that compiles.

#include "support/target.h"
#include "support/arm_target.h"
#include "support/cpu.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <sys/syscall.h>
#include <unistd.h>
#include <vector>

namespace tilewright {

static CpuTarget baseline() {
  CpuTarget target;
  target.name = "sse2";
  target.cpu = "x86-64";
  target.features = "+sse2";
  target.vectorBytes = 16;
  target.registers = 16;
  target.vectorMath = true;
  return target;
}

static CpuTarget avx2() {
  CpuTarget target;
  target.name = "avx2";
  target.cpu = "x86-64-v3";
  target.features = "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe,+popcnt,+sse4.2,+cx16";
  target.vectorBytes = 32;
  target.registers = 16;
  target.fma = target.f16c = target.rounding = target.maskedMemory = target.gather = target.vectorMath = target.lanePermute = true;
  return target;
}

static CpuTarget avx512() {
  CpuTarget target = avx2();
  target.name = "avx512";
  target.cpu = "x86-64-v4";
  // LLVM avoids 64-byte vectors on some models; the types of the generated code ask for them.
  target.features += ",+avx512f,+avx512vl,+avx512bw,+avx512dq,+avx512cd,-prefer-256-bit";
  target.vectorBytes = 64;
  target.registers = 32;
  target.l2Bytes = 1024 * 1024; // Skylake's and Zen 4's; all later CPUs of this level have at least as much
  return target;
}

// Levels with dot products of narrow types: Cascade Lake introduced those of bytes, Cooper Lake and Zen 4 those of bf16.
static CpuTarget avx512Dot() {
  CpuTarget target = avx512();
  target.name = "avx512-dot";
  target.features += ",+avx512vnni,+avx512bf16";
  target.bf16Dot = target.byteDot = true;
  return target;
}

// The level with AMX tiles, since Sapphire Rapids.
static CpuTarget amx() {
  CpuTarget target = avx512Dot();
  target.name = "amx";
  target.features += ",+amx-tile,+amx-bf16,+amx-int8";
  target.bf16Tiles = target.byteTiles = true;
  target.bf16Dot = false; // all CPUs of this level are Intel's: see detect()
  return target;
}

const char *tripleOf(Isa isa) {
  return isa == Isa::aarch64 ? "aarch64-unknown-linux-gnu" : "x86_64-unknown-linux-gnu";
}

const char *nameOf(Isa isa) {
  return isa == Isa::aarch64 ? "AArch64" : "x86-64";
}

static const std::vector<CpuTarget (*)()> &levelsOf(Isa isa) {
  static const std::vector<CpuTarget (*)()> x86 = {baseline, avx2, avx512, avx512Dot, amx};
  return isa == Isa::aarch64 ? armLevels() : x86;
}

std::string cpuLevelNames(Isa isa) {
  std::string names;
  for (CpuTarget (*level)() : levelsOf(isa))
    names += (names.empty() ? "" : ", ") + level().name;
  return names;
}

std::string cpuLevelNames() {
  return cpuLevelNames(Isa::x86_64) + ", " + cpuLevelNames(Isa::aarch64);
}

// AMX tiles add 8 KiB to a thread's saved state. So Linux (5.16 and later) lets a process use them only after a request. Linux refuses if a
// thread's alternate signal stack is too small for them, and some containers forbid the call.
bool mayUseTiles() {
#if defined(__x86_64__)
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  static const bool granted = ::syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
  return granted;
#else
  return false;
#endif
}

// /sys holds "512K". libc is the second choice: it reports 0 on some systems. On CPUs with several dies it reports the sum of caches that
// no single core sees as one.
static int64_t cacheBytes(int level, int systemName, int64_t otherwise) {
  for (int index = 0; index < 8; ++index) {
    std::string folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index);
    std::ifstream levelFile(folder + "/level"), sizeFile(folder + "/size"), typeFile(folder + "/type");
    int found = 0;
    int64_t size = 0;
    char unit = 0;
    std::string type;
    if (!(levelFile >> found) || found != level || !(sizeFile >> size)) continue;
    if (typeFile >> type && type == "Instruction") continue;
    sizeFile >> unit;
    return size * (unit == 'M' ? 1024 * 1024 : unit == 'K' ? 1024 : 1);
  }
  if (long bytes = ::sysconf(systemName); bytes > 0) return bytes;
  return otherwise;
}

// A virtual machine with two cores reports the whole socket's last-level cache (480 MiB on a Xeon 6). Most of it serves other machines, so
// a kernel's output does not stay in it. No x86 CPU has more than 12 MiB of it for each core (Zen 5 with stacked cache).
static int64_t lastLevelShare(int64_t reported, int64_t cores) {
  constexpr int64_t maxOfOneCore = 12 * 1024 * 1024;
  return std::min(reported, std::max<int64_t>(cores, 1) * maxOfOneCore);
}

namespace {
/// The machine that compiles. Only code for cpu:native depends on it.
struct Host {
  bool isOfIntel = false;
  std::string cpu; // LLVM's name
  int64_t l2Bytes = 0, llcBytes = 0, threads = 1;
};
} // namespace

static Host thisHost() {
  Host host;
#if defined(__x86_64__)
  using llvm::sys::detail::x86::VendorSignatures;
  host.isOfIntel = llvm::sys::detail::x86::getVendorSignature() == VendorSignatures::GENUINE_INTEL;
#endif
  host.cpu = llvm::sys::getHostCPUName().str();
  host.l2Bytes = cacheBytes(2, _SC_LEVEL2_CACHE_SIZE, 512 * 1024);
  host.llcBytes = lastLevelShare(cacheBytes(3, _SC_LEVEL3_CACHE_SIZE, host.l2Bytes), ::sysconf(_SC_NPROCESSORS_ONLN));
  host.threads = std::max<int64_t>(1, affinityCpus());
  // "intel sapphirerapids 2097152 314572800 64": a test compiles as if on another machine.
  if (const char *text = std::getenv("TILEWRIGHT_TEST_HOST")) {
    std::istringstream words(text);
    std::string vendor;
    words >> vendor >> host.cpu >> host.l2Bytes >> host.llcBytes >> host.threads;
    host.isOfIntel = vendor == "intel";
  }
  return host;
}

// Intel's server CPUs have a second-level cache of 1 to 2 MiB and, after it, a last level for lines that cores evict. Writing to it is
// hardly faster than to memory. On an Emerald Rapids with 300 MiB of it, non-temporal stores win from 2 MiB a thread on (31 GB/s against
// 25). From 4 MiB on they win even if the output is read at once (16 against 15).
static bool hasSlowLastLevel(const Host &host) {
  llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
  return host.isOfIntel && has.lookup("avx512f") && host.l2Bytes >= 1024 * 1024;
}

static void setHostCaches(CpuTarget &target, const Host &host) {
  target.l2Bytes = host.l2Bytes;
  target.llcBytes = host.llcBytes;
  target.cachedOutputBytes = hasSlowLastLevel(host) ? std::min(host.llcBytes, 2 * host.l2Bytes * host.threads) : host.llcBytes;
}

static CpuTarget detectX86(std::string_view limit, const Host &machine) {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto has = [&](std::initializer_list<const char *> names) {
    for (const char *name : names)
      if (!features.lookup(name)) return false;
    return true;
  };
  bool isAvx2 = has({"avx2", "fma", "f16c", "bmi", "bmi2", "lzcnt", "movbe", "popcnt"});
  bool isAvx512 = isAvx2 && has({"avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512cd"});
  if (limit == "avx2") isAvx512 = false;
  if (limit == "sse2") isAvx2 = isAvx512 = false;
  bool isDot = isAvx512 && (limit == "avx512-dot" || limit == "amx") && has({"avx512vnni", "avx512bf16"});
  bool isAmx = isDot && limit == "amx" && has({"amx-tile", "amx-bf16", "amx-int8"}) && mayUseTiles();
  CpuTarget target = isAmx ? amx() : isDot ? avx512Dot() : isAvx512 ? avx512() : isAvx2 ? avx2() : baseline();
  // The model sets the tuning, and with it instructions beyond the level (VNNI, BF16, SHA). A lowered level must not use them.
  if (limit.empty() || limit == "native") {
    target.cpu = machine.cpu;
    // Features that the operating system does not support stay off even if the model has them.
    for (const auto &feature : features)
      if (!feature.second) target.features += ",-" + feature.first().str();
    for (const char *extra : {"avx512vnni", "avxvnni", "avx512bf16", "avx512fp16", "amx-tile", "amx-bf16", "amx-int8", "amx-fp16"})
      if (features.lookup(extra)) target.features += std::string(",+") + extra;
    target.bf16Dot = isAvx512 && features.lookup("avx512bf16");
    target.byteDot = (isAvx512 && features.lookup("avx512vnni")) || (isAvx2 && features.lookup("avxvnni"));
    bool hasTiles = isAvx512 && features.lookup("amx-tile") && mayUseTiles();
    target.bf16Tiles = hasTiles && features.lookup("amx-bf16");
    target.fp16Tiles = hasTiles && features.lookup("amx-fp16");
    target.byteTiles = hasTiles && features.lookup("amx-int8");
  }
  // Intel's CPUs start one vdpbf16ps every two cycles, but four fused multiply-adds. Dots of bf16 computed in fp32 are 1.5 times as fast
  // (79 and 122 GFLOP/s on an Emerald Rapids).
  if (machine.isOfIntel) target.bf16Dot = false;
  return target;
}

static CpuTarget detect() {
  const Host machine = thisHost();
  std::string_view limit = std::getenv("TILEWRIGHT_CPU") ? std::getenv("TILEWRIGHT_CPU") : "";
  CpuTarget target = hostIsa == Isa::aarch64 ? detectArm(limit) : detectX86(limit, machine);
  setHostCaches(target, machine);
  return target;
}

std::string cpuSettingProblem() {
  const char *level = std::getenv("TILEWRIGHT_CPU");
  if (!level || !*level) return "";
  std::optional<CpuTarget> target = cpuTarget(level);
  if (target && target->isa == hostIsa) return "";
  std::string what = "TILEWRIGHT_CPU is '" + std::string(level) + "'";
  if (target) what += ", a level of " + std::string(nameOf(target->isa)) + ", and this machine is " + nameOf(hostIsa);
  return what + "; it may be " + cpuLevelNames(hostIsa) + " or native";
}

const CpuTarget &hostCpu() {
  static const CpuTarget host = detect();
  return host;
}

std::optional<CpuTarget> cpuTarget(std::string_view level) {
  if (level == "native" || level == "host") return hostCpu();
  for (Isa isa : {Isa::x86_64, Isa::aarch64})
    for (CpuTarget (*make)() : levelsOf(isa)) {
      CpuTarget target = make();
      if (target.name == level) return target;
    }
  return std::nullopt;
}

} // namespace tilewright
