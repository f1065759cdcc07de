// What each operation does with mbarriers and stages. A new operation is one row of the table in
// barrier_operations.cpp, and one function that lists its events.
#pragma once

#include "gpu/schedule/partitions/verify/events.h"
#include "gpu/schedule/partitions/verify/launch_scalars.h"

#include <array>
#include <deque>
#include <vector>

namespace tilewright::gpu {

/// The events of a warp group so far, and how to add others. Functions that return false depend on a value that is not known.
class EventList {
public:
  enum class Ctas : uint8_t { own, first, all };

  EventList(const WarpGroup &group, const Resources &resources, const LaunchScalars &scalars, std::vector<Event> &events)
      : group(group), resources(resources), scalars(scalars), events(events) {}

  size_t size() const { return events.size(); }
  /// Waits until the phase of this parity is complete.
  bool wait(mlir::Operation *op, mlir::Value allocated, Integer index, Integer parity);
  struct Arrival {
    int64_t arrivals, bytes = 0;
    mlir::Value predicate = {};
    bool isAsync = false;
    mlir::Value filled = {}; ///< the buffer of a copy that arrives
  };
  bool arrive(mlir::Operation *op, mlir::Value allocated, Integer index, Ctas ctas, const Arrival &arrival);
  void waitForGroups(ttg::CtaBarrierOp barrier);
  /// Reads the stages among the operation's operands, or begins to. `inAllCtas`: those of all CTAs.
  bool read(mlir::Operation *op, Event::Kind kind, bool inAllCtas);
  bool write(mlir::Operation *op, mlir::Value buffer);
  /// Begins an MMA of the tensor core, which ends on its own.
  bool beginAsync(mlir::Operation *op, bool inAllCtas);
  /// Begins an MMA or a TMA store, which a call of `end` with the same queue ends.
  enum class Queue : uint8_t { mmas, tmaStores };
  bool begin(mlir::Operation *op, Queue queue);
  /// Ends all of the queue but the latest `pending` ones.
  void end(Queue queue, size_t pending);

  const WarpGroup &group;
  const Resources &resources;
  const LaunchScalars &scalars;

private:
  std::optional<size_t> barrierOf(mlir::Value allocated, Integer index, int64_t cta) const;
  std::optional<size_t> stageOf(mlir::Value buffer, int64_t cta) const;
  void endReads(size_t first, size_t end, bool isAsync);

  std::vector<Event> &events;
  llvm::DenseMap<size_t, int64_t> waited, ctaBarriers;         ///< by barrier: the phases of the last wait
  std::array<std::deque<std::pair<size_t, size_t>>, 2> queues; ///< of each MMA or store in flight: its reads among the events
};

/// A row of the table.
struct BarrierOperation {
  bool (*is)(mlir::Operation *op);
  /// All warps of a partition wait and read. One thread of its first warp starts copies, and MMAs by tcgen05. One thread of each warp group
  /// may start the store of the group's rows.
  enum class Warps : uint8_t { all, first, firstOfEachGroup };
  Warps (*by)(mlir::Operation *op);
  /// Adds the operation's events. False if one depends on a value that is not known.
  bool (*list)(EventList &events, mlir::Operation *op);
  /// Returns the buffer that TMA or a partition fills by the operation; null for other operations.
  mlir::Value (*fills)(mlir::Operation *op) = nullptr;
  bool waits = false; ///< at its barrier, for arrivals
};

/// Null for an operation that has no events.
const BarrierOperation *barrierOperation(mlir::Operation *op);
/// True if the operation has a barrier or a buffer, and neither a row nor a reason to have none.
bool lacksRow(mlir::Operation *op);

} // namespace tilewright::gpu
