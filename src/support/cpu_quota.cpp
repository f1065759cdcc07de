// Linux has two versions of control groups, and often runs both at once. Version 2 says "400000 100000" in cpu.max: 400 ms in every 100 ms,
// which is four processors. Version 1 has two files for it, and -1 for no limit. A group's limit holds for all groups inside it, so the
// groups around the process's own are read as well. In a container the text may name groups that are not mounted there: the mounted folder
// is then the container's own group, and the walk towards the root ends there.
#include "support/cpu_quota.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

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

/// The limit of one group, from the files of either version.
int64_t limitOf(const std::string &folder) {
  std::ifstream file(folder + "/cpu.max");
  std::string quota;
  int64_t period = 0, both = noLimit;
  if (file >> quota >> period && quota != "max") both = cpusFor(std::strtoll(quota.c_str(), nullptr, 10), period);
  return std::min(both, cpusFor(numberIn(folder + "/cpu.cfs_quota_us"), numberIn(folder + "/cpu.cfs_period_us")));
}

/// The limit of a group and of the groups around it.
int64_t lowestLimit(const std::string &mount, llvm::StringRef group) {
  int64_t lowest = limitOf(mount);
  for (group = group.rtrim('/'); !group.empty(); group = group.substr(0, group.rfind('/')).rtrim('/'))
    lowest = std::min(lowest, limitOf(mount + group.str()));
  return lowest;
}

} // namespace

int64_t quotaCpusOf(const std::string &mounted, const std::string &groups) {
  int64_t lowest = lowestLimit(mounted, "");
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) { // "1:cpu,cpuacct:/of/the/process", or "0::/of/the/process"
    auto [controllers, group] = llvm::StringRef(line).split(':').second.split(':');
    llvm::SmallVector<llvm::StringRef, 2> named;
    controllers.split(named, ',');
    if (controllers.empty())
      lowest = std::min({lowest, lowestLimit(mounted, group), lowestLimit(mounted + "/unified", group)});
    else if (std::find(named.begin(), named.end(), "cpu") != named.end())
      lowest = std::min({lowest, lowestLimit(mounted + "/cpu", group), lowestLimit(mounted + "/" + controllers.str(), group)});
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
