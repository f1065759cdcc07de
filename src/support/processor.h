// What this machine's processor is and has, for people: `tilewright info`. What code is made for is a CpuTarget (target.h).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace tilewright {

struct ProcessorFeature {
  std::string name;
  std::string whyUnused; // why no code that the compiler makes uses it; empty: it is used
};

struct HostProcessor {
  std::string model;                    // "AMD EPYC"; empty where the system does not say
  std::vector<ProcessorFeature> narrow; // what it has for products of narrow types
  int64_t lastLevelBytes = 0;           // as the system reports it, the neighbors' share included; 0: not known
};

HostProcessor hostProcessor();

/// How many processors the threads of this process may run on; of all, where the system does not say.
int64_t affinityProcessors();

} // namespace tilewright
