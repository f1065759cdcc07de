// Linux has two versions of control groups, and often runs both at once. In version 2, cpu.max holds "400000 100000": 400 ms in every 100
// ms, which is four CPUs. Version 1 has two files for it, and -1 for no limit. A group's limit holds for all groups inside it, so the
// parents of the process's group are read as well. In a container the text may name groups that are not mounted there. Then the mounted
// folder is the container's own group, and the walk towards the root ends there.
#include "support/cpu_quota.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace tilewright {

namespace {

constexpr int64_t noLimit = INT64_MAX;

int64_t cpusFor(int64_t quota, int64_t period) {
  return quota > 0 && period > 0 ? (quota - 1) / period + 1 : noLimit;
}

int64_t numberIn(const std::string &path) {
  int64_t number = 0;
  std::ifstream(path) >> number;
  return number;
}

/// Returns the limit of one group, from the files of either version.
int64_t limitOf(const std::string &folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  int64_t period = 0, both = noLimit;
  if (file >> quota >> period && quota != "max") both = cpusFor(std::strtoll(quota.c_str(), nullptr, 10), period);
  return std::min(both, cpusFor(numberIn(folder + "/cpu.cfs_quota_us"), numberIn(folder + "/cpu.cfs_period_us")));
}

/// Returns the lowest limit of a group and its parents.
int64_t lowestLimit(const std::string &mount, std::string group) {
  int64_t lowest = limitOf(mount);
  while (true) {
    group.erase(group.find_last_not_of('/') + 1);
    if (group.empty()) return lowest;
    lowest = std::min(lowest, limitOf(mount + group));
    group.erase(group.find_last_of('/') == std::string::npos ? 0 : group.find_last_of('/'));
  }
}

/// True if a list "cpu,cpuacct" has the controller of CPU time.
bool listsCpu(const std::string &controllers) {
  std::istringstream names(controllers);
  for (std::string name; std::getline(names, name, ',');)
    if (name == "cpu") return true;
  return false;
}

} // namespace

int64_t quotaCpusOf(const std::string &mounted, const std::string &groups) {
  int64_t lowest = lowestLimit(mounted, "");
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) { // "1:cpu,cpuacct:/of/the/process", or "0::/of/the/process"
    std::istringstream fields(line);
    std::string number, controllers, group;
    std::getline(std::getline(std::getline(fields, number, ':'), controllers, ':'), group);
    if (controllers.empty())
      lowest = std::min({lowest, lowestLimit(mounted, group), lowestLimit(mounted + "/unified", group)});
    else if (listsCpu(controllers))
      lowest = std::min({lowest, lowestLimit(mounted + "/cpu", group), lowestLimit(mounted + "/" + controllers, group)});
  }
  return lowest;
}

int64_t quotaCpus() {
  std::ifstream file("/proc/self/cgroup");
  std::stringstream groups;
  groups << file.rdbuf();
  return quotaCpusOf("/sys/fs/cgroup", groups.str());
}

} // namespace tilewright
