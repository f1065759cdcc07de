#include "gpu/sm_model/list_scheduler.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>

using namespace mlir;

namespace tilewright::gpu::model {

namespace {
/// Orders operations as the assembler's list scheduler does: one that can issue first comes first. Each operation takes issue slots and its
/// unit. Of those that can issue at the same time, the first in the text comes first.
class ListScheduler {
public:
  explicit ListScheduler(MutableArrayRef<Node> nodes) : nodes(nodes), missing(nodes.size()), users(nodes.size()) {
    llvm::DenseMap<int32_t, size_t> definedBy;
    for (auto [index, node] : llvm::enumerate(nodes)) {
      for (int32_t operand : node.waits)
        if (auto found = definedBy.find(operand); found != definedBy.end()) users[found->second].push_back(index), ++missing[index];
      for (int32_t result : node.results)
        definedBy[result] = index;
    }
    readyAt.resize(nodes.size());
  }

  void run() {
    for (size_t index = 0; index < nodes.size(); ++index)
      if (!missing[index]) queueOf(index).waiting.push({0, index});
    std::vector<Node> ordered;
    ordered.reserve(nodes.size());
    while (ordered.size() < nodes.size()) {
      size_t index = takeFirst();
      ordered.push_back(std::move(nodes[index]));
    }
    std::move(ordered.begin(), ordered.end(), nodes.begin());
  }

private:
  using Entry = std::pair<double, size_t>;
  /// Operations of one unit whose operands are known.
  struct Queue {
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting;     ///< by the time at which these are ready
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> available; ///< ready
    double free = 0;                                                            ///< when the unit is
  };

  Queue &queueOf(size_t index) { return queues[static_cast<size_t>(nodes[index].unit)]; }

  size_t takeFirst() {
    Queue *best = nullptr;
    Entry first{std::numeric_limits<double>::infinity(), 0};
    for (Queue &queue : queues) {
      double from = std::max(now, queue.free);
      for (; !queue.waiting.empty() && queue.waiting.top().first <= from; queue.waiting.pop())
        queue.available.push(queue.waiting.top().second);
      if (queue.available.empty() && queue.waiting.empty()) continue;
      Entry next = queue.available.empty() ? queue.waiting.top() : Entry(from, queue.available.top());
      if (next < first) best = &queue, first = next;
    }
    auto [start, index] = first;
    const Node &node = nodes[index];
    best->available.empty() ? best->waiting.pop() : best->available.pop();
    best->free = start + node.occupancy;
    now = start + node.issue;
    double done = node.isFree() ? readyAt[index] : start + node.occupancy + node.latency;
    for (size_t user : users[index]) {
      readyAt[user] = std::max(readyAt[user], done);
      if (--missing[user] == 0) queueOf(user).waiting.push({readyAt[user], user});
    }
    return index;
  }

  MutableArrayRef<Node> nodes;
  std::vector<size_t> missing; // for each operation: operands of the run that are not known yet
  std::vector<SmallVector<size_t, 2>> users;
  std::vector<double> readyAt;
  std::array<Queue, units> queues;
  double now = 0;
};
} // namespace

/// True for operations that the assembler moves others across only rarely: branches, barriers, waits.
static bool endsRun(const Node &node) {
  return !node.bodies.empty() || (node.modeled && !node.modeled->isCrossed);
}

void orderAsAssembler(Body &body) {
  size_t first = 0;
  for (size_t i = 0; i <= body.nodes.size(); ++i) {
    if (i < body.nodes.size() && !endsRun(body.nodes[i])) continue;
    ListScheduler(MutableArrayRef(body.nodes).slice(first, i - first)).run();
    first = i + 1;
    if (i < body.nodes.size())
      for (Body &nested : body.nodes[i].bodies)
        orderAsAssembler(nested);
  }
}

} // namespace tilewright::gpu::model
