// The NUMA nodes of the machine. A CPU reads its own node's memory faster than another's.
#pragma once

#include "llvm/ADT/ArrayRef.h"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace tilewright {

struct NumaNode {
  int64_t number = 0;        // the system's number
  std::vector<int64_t> cpus; // those that this process may use
};

/// Returns the nodes with CPUs from a folder like Linux's (/sys/devices/system/node): one folder for each node, "node3", with "cpulist" in
/// it. Only CPUs that `isUsable` accepts count. Empty if there are none.
std::vector<NumaNode> numaNodesOf(const std::string &folder, const std::function<bool(int64_t)> &isUsable);

/// Returns the nodes of this machine with the process's CPUs; at least one. TILEWRIGHT_NUMA=0: one node with all of them. TILEWRIGHT_NUMA
/// may also name the folder.
std::vector<NumaNode> numaNodes();

/// Distributes `threads` over the nodes: as many as each has CPUs, in order, and again from the start while some are left.
void distributeThreads(llvm::ArrayRef<NumaNode> nodes, int64_t threads, llvm::MutableArrayRef<int64_t> counts);

/// Returns the end of the partition of `total` items that belongs to the first `before` of `all` threads.
int64_t endOfPartition(int64_t total, int64_t before, int64_t all);

} // namespace tilewright
