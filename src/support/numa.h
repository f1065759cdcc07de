// The machine's nodes of memory: which processors have which memory near them. A processor reads its own node's memory faster than
// another's.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright {

struct NumaNode {
  int64_t number = 0;              // the system's
  std::vector<int64_t> cpus; // those that this process may use
};

/// The nodes that have processors, of a folder as Linux has it (/sys/devices/system/node): one folder a node, "node3", with "cpulist" in
/// it. Only processors that `isUsable` count. Empty if there are none.
std::vector<NumaNode> numaNodesOf(const std::string &folder, const std::function<bool(int64_t)> &isUsable);

/// Those of this machine, for the process's own processors; at least one. TILEWRIGHT_NUMA=0: one of them all; or it names the folder.
std::vector<NumaNode> numaNodes();

/// How many of `threads` run on each node: as many as it has processors, in their order, and round again while some are left.
void distributeThreads(llvm::ArrayRef<NumaNode> nodes, int64_t threads, llvm::MutableArrayRef<int64_t> counts);

/// Where the part of `total` things ends that belongs to the first `before` of `all` threads.
int64_t endOfPartition(int64_t total, int64_t before, int64_t all);

} // namespace tilewright
