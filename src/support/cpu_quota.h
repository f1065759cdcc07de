// How much processor time this process may have. Containers and services limit time, not the number of processors: threads beyond the limit
// only wait for one another.
#pragma once

#include <cstdint>
#include <string>

namespace tilewright {

/// As many processors as the limits of all control groups around this process add up to, rounded up; a large number where there is none.
int64_t quotaCpus();

/// The same from a folder in which control groups are mounted (/sys/fs/cgroup), and the text that says in which the process is
/// (/proc/self/cgroup).
int64_t quotaCpusOf(const std::string &mounted, const std::string &groups);

} // namespace tilewright
