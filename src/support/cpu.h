// What this machine's processor is and has, for people: `tilewright info`; and what it does, for code that is made for it. The instructions
// that code may use are a CpuTarget's (target.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

struct CpuFeature {
  std::string name;
  std::string whyUnused; // why no code that the compiler makes uses it; empty: it is used
};

struct HostCpuInfo {
  std::string model;                    // "AMD EPYC"; empty where the system does not say
  std::vector<CpuFeature> narrow; // what it has for products of narrow types
  int64_t lastLevelBytes = 0;           // as the system reports it, the neighbors' share included; 0: not known
};

HostCpuInfo hostCpuInfo();

/// Whether a multiplication with a result below the smallest normal number takes this processor a hundred cycles.
bool hasSlowSubnormals();
/// Whether dividing vectors takes this processor longer than four or five other operations do: of 64 bytes as long as ten, of 32 as five.
bool hasSlowDivision();

/// The numbers of the processors that the threads of this process may run on, rising; of all, where the system does not say.
std::vector<int64_t> usableCpuNumbers();
/// How many they are.
int64_t affinityCpus();

} // namespace tilewright
