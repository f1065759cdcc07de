#include "support/numa.h"

#include "support/cpu.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace tilewright {

/// Parses "0-3,8" as 0, 1, 2, 3 and 8. It stops at anything but a number.
static std::vector<int64_t> numbersOf(const std::string &text) {
  constexpr int64_t maxNumber = 1 << 16; // limits a damaged range
  std::vector<int64_t> numbers;
  std::istringstream ranges(text);
  for (std::string range; std::getline(ranges, range, ',');) {
    std::istringstream words(range);
    int64_t from = 0, to = 0;
    char dash = 0;
    if (!(words >> from) || from < 0) break;
    if (!(words >> dash >> to) || dash != '-') to = from;
    for (int64_t number = from; number <= std::min(to, maxNumber); ++number)
      numbers.push_back(number);
  }
  return numbers;
}

static std::vector<int64_t> numbersIn(const std::string &path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return numbersOf(line);
}

std::vector<NumaNode> numaNodesOf(const std::string &folder, const std::function<bool(int64_t)> &isUsable) {
  std::vector<NumaNode> nodes;
  for (int64_t number : numbersIn(folder + "/online")) {
    NumaNode node{number, numbersIn(folder + "/node" + std::to_string(number) + "/cpulist")};
    llvm::erase_if(node.cpus, [&](int64_t cpu) { return !isUsable(cpu); });
    if (!node.cpus.empty()) nodes.push_back(std::move(node)); // skips a node with memory only, or with CPUs of other processes only
  }
  return nodes;
}

std::vector<NumaNode> numaNodes() {
  std::vector<int64_t> usable = usableCpuNumbers();
  const char *setting = std::getenv("TILEWRIGHT_NUMA");
  std::string folder = setting && *setting && std::string_view(setting) != "1" ? setting : "/sys/devices/system/node";
  std::vector<NumaNode> nodes;
  if (folder != "0") nodes = numaNodesOf(folder, [&](int64_t cpu) { return std::binary_search(usable.begin(), usable.end(), cpu); });
  if (nodes.empty()) nodes.push_back({0, std::move(usable)});
  return nodes;
}

void distributeThreads(llvm::ArrayRef<NumaNode> nodes, int64_t threads, llvm::MutableArrayRef<int64_t> counts) {
  llvm::fill(counts, 0);
  for (size_t i = 0; threads > 0; i = (i + 1) % nodes.size()) {
    int64_t taken = std::clamp<int64_t>(static_cast<int64_t>(nodes[i].cpus.size()), 1, threads);
    counts[i] += taken;
    threads -= taken;
  }
}

int64_t endOfPartition(int64_t total, int64_t before, int64_t all) {
  return total / all * before + total % all * before / all; // total * before could overflow
}

} // namespace tilewright
