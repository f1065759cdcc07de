#include "support/cpu.h"

#include <sched.h>
#include <unistd.h>

namespace tilewright {

std::vector<int64_t> usableCpuNumbers() {
  cpu_set_t set;
  bool isKnown = ::sched_getaffinity(0, sizeof(set), &set) == 0;
  std::vector<int64_t> numbers;
  for (int64_t i = 0, count = isKnown ? CPU_SETSIZE : ::sysconf(_SC_NPROCESSORS_ONLN); i < count; ++i)
    if (!isKnown || CPU_ISSET(static_cast<size_t>(i), &set)) numbers.push_back(i);
  return numbers;
}

int64_t affinityCpus() {
  return static_cast<int64_t>(usableCpuNumbers().size());
}

} // namespace tilewright
