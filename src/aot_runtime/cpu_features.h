// The instructions of this CPU, read without LLVM.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace tilewright::aot {

/// The feature words of CPUID: leaf 1 (ecx, edx), leaf 7.0 (ebx, ecx, edx), leaf 7.1 (eax), leaf 0x80000001 (ecx).
using CpuFeatures = std::array<uint32_t, 7>;

/// Returns this CPU's features. Those that the operating system does not save are off.
const CpuFeatures &cpuFeatures();
/// True if `has` contains all of `needed`.
bool contain(const CpuFeatures &has, const CpuFeatures &needed);

/// Returns the rank of a level in ascending order ("sse2" is 0); null for other words.
std::optional<int64_t> rankOfLevel(std::string_view level);
const char *nameOfLevel(int64_t rank);
/// Returns the highest level of this CPU, or of TILEWRIGHT_CPU if that is lower. The first call asks Linux for AMX tiles.
int64_t cpuLevel();

} // namespace tilewright::aot
