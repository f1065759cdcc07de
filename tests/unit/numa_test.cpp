// Nodes of memory, as made-up machines have them.

#include "support/numa.h"

#include "made_up_nodes.h"
#include "support/cpu.h"

#include <cstdlib>

using namespace tilewright;

static std::vector<NumaNode> nodesOf(const MadeUpNodes &machine, int64_t usable = INT64_MAX) {
  return numaNodesOf(machine.root, [=](int64_t cpu) { return cpu < usable; });
}

static std::vector<int64_t> dealt(const std::vector<NumaNode> &nodes, int64_t threads) {
  std::vector<int64_t> counts(nodes.size(), -1);
  distributeThreads(nodes, threads, counts);
  return counts;
}

using Numbers = std::vector<int64_t>;

TEST(Numa, ReadsTwoNodes) {
  MadeUpNodes machine("0-1", {"0-1,4-5", "2-3,6-7"});
  std::vector<NumaNode> nodes = nodesOf(machine);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].cpus, (Numbers{0, 1, 4, 5}));
  EXPECT_EQ(nodes[1].cpus, (Numbers{2, 3, 6, 7}));
}

TEST(Numa, ReadsFourNodesOfWhichOneHasMemoryAloneAndOneIsOff) {
  MadeUpNodes machine("0,2-4", {"0-1", "2-3", "", "4", "5-6"});
  std::vector<NumaNode> nodes = nodesOf(machine);
  ASSERT_EQ(nodes.size(), 3u);
  EXPECT_EQ(nodes[1].number, 3);
  EXPECT_EQ(nodes[1].cpus, Numbers{4});
  EXPECT_EQ(nodes[2].number, 4);
}

TEST(Numa, LeavesOutCpusOfOtherProcesses) {
  MadeUpNodes machine("0-3", {"0-1", "2-3", "4-5", "6-7"});
  std::vector<NumaNode> nodes = nodesOf(machine, 3);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[1].cpus, Numbers{2});
}

TEST(Numa, ToleratesWhatIsDamaged) {
  EXPECT_TRUE(numaNodesOf("/nowhere/at/all", [](int64_t) { return true; }).empty());
  MadeUpNodes machine("0-2", {"0,x,2", "-1", "3-99999999999"});
  std::vector<NumaNode> nodes = nodesOf(machine, 8);
  ASSERT_EQ(nodes.size(), 2u);
  EXPECT_EQ(nodes[0].cpus, Numbers{0});
  EXPECT_EQ(nodes[1].cpus, (Numbers{3, 4, 5, 6, 7}));
}

TEST(Numa, OfThisProcess) {
  Numbers usable = usableCpuNumbers();
  ASSERT_FALSE(usable.empty());
  EXPECT_EQ(static_cast<int64_t>(usable.size()), affinityCpus());
  std::string last = std::to_string(usable.back());
  MadeUpNodes machine("0-1", {last, "0-99999"});
  ::setenv("TILEWRIGHT_NUMA", machine.root.c_str(), 1);
  std::vector<NumaNode> made = numaNodes();
  ::setenv("TILEWRIGHT_NUMA", "0", 1);
  std::vector<NumaNode> one = numaNodes();
  ::unsetenv("TILEWRIGHT_NUMA");
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].cpus, Numbers{usable.back()});
  EXPECT_EQ(made[1].cpus, usable);
  ASSERT_EQ(one.size(), 1u);
  EXPECT_EQ(one[0].cpus, usable);
  EXPECT_GE(numaNodes().size(), 1u);
}

TEST(Numa, DealsThreadsOut) {
  std::vector<NumaNode> nodes{{0, {0, 1, 2, 3}}, {1, {4, 5, 6, 7}}, {2, {8}}};
  EXPECT_EQ(dealt(nodes, 0), (Numbers{0, 0, 0}));
  EXPECT_EQ(dealt(nodes, 3), (Numbers{3, 0, 0}));
  EXPECT_EQ(dealt(nodes, 6), (Numbers{4, 2, 0}));
  EXPECT_EQ(dealt(nodes, 9), (Numbers{4, 4, 1}));
  EXPECT_EQ(dealt(nodes, 20), (Numbers{10, 8, 2})); // twice as many as CPUs, and two more
  EXPECT_EQ(dealt({{0, {}}}, 5), Numbers{5});
}

TEST(Numa, PartsFollowOneAnotherAndAreAllThereIs) {
  for (int64_t total : {int64_t(0), int64_t(1), int64_t(7), int64_t(100003), INT64_MAX}) {
    EXPECT_EQ(endOfPartition(total, 0, 9), 0);
    EXPECT_EQ(endOfPartition(total, 9, 9), total);
    for (int64_t before = 0; before < 9; ++before)
      EXPECT_LE(endOfPartition(total, before, 9), endOfPartition(total, before + 1, 9));
  }
  EXPECT_EQ(endOfPartition(100, 4, 8), 50);
}
