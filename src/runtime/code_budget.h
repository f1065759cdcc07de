// Bounds the memory of compiled kernels in this process. Beyond the limits, the specializations that have not been launched for the longest
// time are evicted. A launch that needs an evicted one loads it from the cache folder, or compiles it again.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace tilewright {

class CompiledKernel;
class Kernel;

struct CodeLimits {
  int64_t kernels = 0, bytes = 0; // 0: no limit
};
struct CodeUse {
  int64_t kernels = 0, bytes = 0, evicted = 0; // `evicted`: since the process began
};

/// Sets the limits and evicts what exceeds them.
void setCodeLimits(const CodeLimits &limits);
CodeUse codeUse();

/// The time of launches and compilations, for the order of eviction. It advances with each compilation.
uint64_t codeTime();
/// Adds a specialization that `owner` holds under `key`, and evicts what exceeds the limits. The caller holds no lock of `owner`.
void addCode(Kernel &owner, const std::string &key, const std::shared_ptr<const CompiledKernel> &code);
/// Removes all specializations of a kernel that ends. After it, no thread evicts from it.
void removeCode(Kernel &owner);

} // namespace tilewright
