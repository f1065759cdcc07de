// The CPU time that this process may use. Containers and services limit time, not the number of CPUs: threads beyond the limit only wait
// for each other.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

/// Returns the number of CPUs within the limits of all control groups of this process, rounded up; a large number without a limit.
int64_t quotaCpus();

/// The same for control groups mounted in a folder (/sys/fs/cgroup), and the text that lists the process's groups (/proc/self/cgroup).
int64_t quotaCpusOf(const std::string &mounted, const std::string &groups);

} // namespace tilewright
