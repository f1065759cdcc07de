// The properties of this machine's CPU for `tilewright info`, and for code tuned for it. A CpuTarget (target.h) has the instructions that
// code may use.
#pragma once

#include "support/target.h"

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

struct CpuFeature {
  std::string name;
  std::string reasonUnused; // the reason why the compiler does not use it; empty: it does
};

struct HostCpuInfo {
  std::string model;              // "AMD EPYC"; empty if the system does not report it
  std::vector<CpuFeature> narrow; // its instructions for dot products of narrow types
  int64_t lastLevelBytes = 0;     // as the system reports it, shared with other cores; 0: not known
};

HostCpuInfo hostCpuInfo();

/// True if a multiplication with a subnormal result takes CPUs of this target about a hundred cycles. A level counts as slow, because it
/// also runs on Intel's CPUs.
bool hasSlowSubnormals(const CpuTarget &target);
/// True if a vector division takes them longer than four or five other operations: 64 bytes as long as ten, 32 bytes as five.
bool hasSlowDivision(const CpuTarget &target);

/// Returns the numbers of the CPUs that this process may run on, in ascending order; all of them if the system does not report it.
std::vector<int64_t> usableCpuNumbers();
/// Returns the number of these CPUs.
int64_t affinityCpus();

} // namespace tilewright
