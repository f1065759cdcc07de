// The instructions of this CPU, read without LLVM.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright::aot {

/// x86-64: the words of CPUID: leaf 1 (ecx, edx), leaf 7.0 (ebx, ecx, edx), leaf 7.1 (eax), leaf 0x80000001 (ecx). AArch64: the two halves
/// of AT_HWCAP, those of AT_HWCAP2, and one bit for each 16 bytes of an SVE register.
using CpuFeatures = std::array<uint32_t, 7>;

/// Returns this CPU's features. Those that the operating system does not save are off.
const CpuFeatures &cpuFeatures();
/// True if `has` contains all of `needed`.
bool contain(const CpuFeatures &has, const CpuFeatures &needed);

/// Returns the rank of a level among those of its instruction set, in ascending order ("sse2" and "armv8" are 0); null for other words.
std::optional<int64_t> rankOfLevel(std::string_view level);
/// True if this CPU runs code of a level. TILEWRIGHT_CPU lowers the highest one.
bool runsLevel(std::string_view level);
/// Returns the highest level of this CPU, or of TILEWRIGHT_CPU if that is lower. The first call asks Linux for AMX tiles.
const char *cpuLevelName();

} // namespace tilewright::aot
