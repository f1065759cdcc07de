#include "aot_runtime/cpu_features.h"

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace tilewright::aot {

namespace {

enum Word : size_t { ecx1, edx1, ebx7, ecx7, edx7, eax71, ecx8 };
struct Bit {
  Word word;
  int bit;
};
[[maybe_unused]] constexpr Bit osxsave{ecx1, 27}, fma{ecx1, 12}, sse42{ecx1, 20}, movbe{ecx1, 22}, popcnt{ecx1, 23}, avx{ecx1, 28},
    f16c{ecx1, 29}, cx16{ecx1, 13}, bmi{ebx7, 3}, avx2{ebx7, 5}, bmi2{ebx7, 8}, avx512f{ebx7, 16}, avx512dq{ebx7, 17}, avx512cd{ebx7, 28},
    avx512bw{ebx7, 30}, avx512vl{ebx7, 31}, avx512vnni{ecx7, 11}, avx512bf16{eax71, 5}, amxBf16{edx7, 22}, amxTile{edx7, 24},
    amxInt8{edx7, 25}, lzcnt{ecx8, 5};

struct Level {
  const char *name;
  std::initializer_list<Bit> adds; // to the level before
};
const Level x86Levels[] = {{"sse2", {}},
                           {"avx2", {avx, avx2, fma, f16c, bmi, bmi2, lzcnt, movbe, popcnt, sse42, cx16}},
                           {"avx512", {avx512f, avx512vl, avx512bw, avx512dq, avx512cd}},
                           {"avx512-dot", {avx512vnni, avx512bf16}},
                           {"amx", {amxTile, amxBf16, amxInt8}}};

// The levels of src/support/arm_target.cpp. The bits are those of Linux's asm/hwcap.h, which a build on another machine does not have.
enum ArmWord : size_t { hwcapLow, hwcapHigh, hwcap2Low, hwcap2High, sveLength };
constexpr Bit armBit(ArmWord word, int bit) {
  return {static_cast<Word>(word), bit};
}
constexpr Bit atomics = armBit(hwcapLow, 8), fphp = armBit(hwcapLow, 9), asimdhp = armBit(hwcapLow, 10), asimddp = armBit(hwcapLow, 20),
              sve = armBit(hwcapLow, 22), asimdfhm = armBit(hwcapLow, 23), i8mm = armBit(hwcap2Low, 13), bf16 = armBit(hwcap2Low, 14),
              sveOf16 = armBit(sveLength, 0), sveOf32 = armBit(sveLength, 1);
const Level armLevels[] = {{"armv8", {}},
                           {"neon", {fphp, asimdhp, atomics}},
                           {"neon-dot", {asimddp, asimdfhm, i8mm, bf16}},
                           {"sve", {sve, sveOf16}},
                           {"sve256", {sveOf32}}};

#if defined(__aarch64__)
constexpr auto &levels = armLevels;
#else
constexpr auto &levels = x86Levels;
#endif

bool has(const CpuFeatures &features, Bit bit) {
  return features[bit.word] >> bit.bit & 1;
}

#if defined(__x86_64__)
/// Returns the register states that the operating system saves: bits 1 and 2 for AVX, 5 to 7 for AVX-512, 17 and 18 for AMX.
uint64_t savedStates() {
  uint32_t low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return static_cast<uint64_t>(high) << 32 | low;
}

void clearBits(CpuFeatures &features, std::initializer_list<Bit> bits) {
  for (Bit bit : bits)
    features[bit.word] &= ~(1u << bit.bit);
}

CpuFeatures readFeatures() {
  CpuFeatures features{};
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx)) features[ecx1] = ecx, features[edx1] = edx;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) features[ebx7] = ebx, features[ecx7] = ecx, features[edx7] = edx;
  if (__get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx)) features[eax71] = eax;
  if (__get_cpuid(0x80000001, &eax, &ebx, &ecx, &edx)) features[ecx8] = ecx;
  // Without the bits that depend on the system or the virtual machine, not on the instructions.
  constexpr uint32_t instructions1 = 0x7ad83203, instructions7 = 0x03c0010c;
  features[ecx1] &= instructions1, features[edx1] = 0, features[edx7] &= instructions7;
  uint64_t saved = has(features, osxsave) ? savedStates() : 0;
  constexpr uint64_t avxStates = 0x6, avx512States = 0xe6, amxStates = 0x60000;
  if ((saved & avxStates) != avxStates) clearBits(features, {avx, avx2, fma, f16c});
  if ((saved & avx512States) != avx512States)
    clearBits(features, {avx512f, avx512vl, avx512bw, avx512dq, avx512cd, avx512vnni, avx512bf16});
  if ((saved & amxStates) != amxStates) clearBits(features, {amxTile, amxBf16, amxInt8});
  return features;
}
#elif defined(__aarch64__)
static_assert(HWCAP_ATOMICS == 1 << 8 && HWCAP_FPHP == 1 << 9 && HWCAP_ASIMDHP == 1 << 10 && HWCAP_ASIMDDP == 1 << 20);
static_assert(HWCAP_SVE == 1 << 22 && HWCAP_ASIMDFHM == 1 << 23 && HWCAP2_I8MM == 1 << 13 && HWCAP2_BF16 == 1 << 14);

CpuFeatures readFeatures() {
  CpuFeatures features{};
  uint64_t first = ::getauxval(AT_HWCAP), second = ::getauxval(AT_HWCAP2);
  constexpr uint64_t instructions = HWCAP_ATOMICS | HWCAP_FPHP | HWCAP_ASIMDHP | HWCAP_ASIMDDP | HWCAP_SVE | HWCAP_ASIMDFHM;
  constexpr uint64_t instructions2 = HWCAP2_I8MM | HWCAP2_BF16; // no level has code with others
  features[hwcapLow] = static_cast<uint32_t>(first & instructions);
  features[hwcap2Low] = static_cast<uint32_t>(second & instructions2);
  int length = first & HWCAP_SVE ? ::prctl(PR_SVE_GET_VL) : 0; // bytes of a register
  if (length > 0) features[sveLength] = (1u << (length & PR_SVE_VL_LEN_MASK) / 16) - 1;
  return features;
}
#else
CpuFeatures readFeatures() {
  return {};
}
#endif

/// Linux lets a process use AMX tiles only after a request.
bool mayUseTiles() {
#if defined(__x86_64__)
  constexpr long requestPermission = 0x1023, tileData = 18; // ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA
  return ::syscall(SYS_arch_prctl, requestPermission, tileData) == 0;
#else
  return false;
#endif
}

template <size_t N> std::optional<int64_t> rankIn(const Level (&list)[N], std::string_view level) {
  for (const Level &each : list)
    if (level == each.name) return &each - list;
  return std::nullopt;
}

int64_t detectLevel() {
  int64_t rank = 0;
  for (const Level &level : levels) {
    bool complete = std::all_of(level.adds.begin(), level.adds.end(), [](Bit bit) { return has(cpuFeatures(), bit); });
    if (!complete || (std::string_view(level.name) == "amx" && !mayUseTiles())) break;
    rank = &level - levels;
  }
  const char *limit = std::getenv("TILEWRIGHT_CPU");
  if (std::optional<int64_t> lower = limit ? rankIn(levels, limit) : std::nullopt) rank = std::min(rank, *lower);
  return rank;
}

int64_t cpuLevel() {
  static const int64_t level = detectLevel();
  return level;
}

} // namespace

const CpuFeatures &cpuFeatures() {
  static const CpuFeatures features = readFeatures();
  return features;
}

bool contain(const CpuFeatures &has, const CpuFeatures &needed) {
  for (size_t i = 0; i < has.size(); ++i)
    if (needed[i] & ~has[i]) return false;
  return true;
}

std::optional<int64_t> rankOfLevel(std::string_view level) {
  std::optional<int64_t> rank = rankIn(x86Levels, level);
  return rank ? rank : rankIn(armLevels, level);
}

bool runsLevel(std::string_view level) {
  std::optional<int64_t> rank = rankIn(levels, level);
  return rank && *rank <= cpuLevel();
}

const char *cpuLevelName() {
  return levels[cpuLevel()].name;
}

} // namespace tilewright::aot
