// One streaming multiprocessor (SM) and its CTAs. A step is one operation of one warp: the warp that can go on first takes it. The steps'
// effects are in files by subject: issue.cpp, memory.cpp, atomics.cpp (and locks), barriers.cpp, tensor_cores.cpp and programs.cpp (which
// programs the SM gets).
#pragma once

#include "gpu/machine/ptx.h"
#include "gpu/sm_model/sm_model.h"
#include "gpu/sm_model/warp.h"
#include "support/gpu_hardware.h"

#include <array>
#include <map>
#include <memory>
#include <queue>

namespace tilewright::gpu::model {

/// A barrier of the CTA with a number (bar.sync).
struct NamedBarrier {
  int64_t arrived = 0; ///< threads
  double last = 0;
  std::vector<size_t> waiting; ///< warps
};

struct Mbarrier {
  int64_t count = 1, pending = 1, bytes = 0;
  uint64_t phase = 0;
  double last = 0, completed = 0;
  std::vector<std::pair<size_t, int64_t>> waiting; ///< warps and parities
};

/// A lock that some CTAs of this SM contend for, and as many others of each other SM.
struct Lock {
  bool isHeld = false, isWanted = false; ///< wanted: an attempt has failed since the last acquisition
  double freeFrom = 0;                   ///< when an attempt can succeed
  double since = 0;                      ///< when the holder could have acquired it: earlier than it has, if it was wanted
};

struct Cta {
  std::array<NamedBarrier, namedBarriers> barriers;
  std::map<int64_t, Mbarrier> mbarriers;               ///< by address
  std::map<int64_t, std::optional<int64_t>> responses; ///< by address: the program whose launch has been canceled
  int64_t running = 0;                                 ///< warps
  double end = 0;
  double stored = 0;       ///< when its stores have reached the L2 cache
  bool hasWritten = false; ///< since its last fence
};

/// Cycles in which a unit is busy, those of all schedulers together.
struct BusyTimes {
  std::array<double, units> ofUnits{};
  double issue = 0;
  double l2Bytes = 0;     ///< that the L2 cache transfers
  double memoryBytes = 0; ///< of these, from or to memory
  double &operator[](Unit unit) { return ofUnits[static_cast<size_t>(unit)]; }
};

/// How many operations there are to execute.
struct Steps {
  double all = 0;         ///< of one SM's CTAs
  double ofBusiestSm = 0; ///< 0: not known
};

/// One operation of one warp, which has issued at `time`.
struct Step {
  size_t index; ///< of the warp
  Warp &warp;
  const Node &node;
  double time;
  bool waits = false; ///< the warp stays where it is until another one lets it go on
  /// Sets when the results are ready.
  void setReady(double done) {
    for (int32_t result : node.results)
      warp.ready[static_cast<size_t>(result)] = done;
  }
};

class Sm {
public:
  /// `resident`: CTAs at a time. `misses`: of each stream of `traffic`, the fraction that goes to memory; empty: all of it.
  Sm(const Code &code, ptx::KernelAttr kernel, const ModeledLaunch &launch, const SmRates &rates, int64_t resident,
     std::vector<double> misses);

  /// Counts the operations of so many CTAs.
  Steps countSteps(int64_t ctas);
  /// Runs CTAs until all are done or a maximum of operations has been executed. Returns the cycles of all.
  double run(int64_t ctas, const Steps &counted);

  BusyTimes busy;
  /// The bytes that each argument's accesses move, and at the end those of unknown ones; of stores at odd indices.
  std::vector<double> traffic;
  bool isComplete = true; ///< all waits could be resolved

  // ---- the effects of operations.def
  using Effect = void(Step &step);
  void nothing(Step &) {}
  Effect loadGlobal, storeGlobal, updateGlobal, fence, sleep;
  Effect copyAsync, commitCopies, waitForCopies, loadByTma, storeByTma, commitStores, waitForStores;
  Effect syncCta, arriveAtBarrier, syncCluster, initMbarrier, expectBytes, arriveAtMbarrier, waitForMbarrier;
  Effect commitMmas, waitForMmas, waitForTensorMemory, readOperands, multiplyTogether, commitToMbarrier;
  Effect takeProgram, readResponse;

private:
  void start(double time);
  void finish(size_t index);
  bool execute(size_t index, const Node &node, double time);
  void push(size_t index) { queue.push({warps[index]->now, index}); }
  Cta &ctaOf(size_t index) { return ctas[warpCta[index]]; }

  // ---- issue.cpp
  double readyTime(const Warp &warp, const Node &node) const;
  double issueTime(size_t index, const Node &node, double time);
  void issue(Step &step);
  /// Returns when the unit of a warp is free.
  double &freeOf(Unit unit, size_t index) { return free[static_cast<size_t>(unit)][unit == Unit::shared ? 0 : index % schedulers]; }

  // ---- memory.cpp
  double moveBytes(double time, double bytes, int64_t stream);
  /// The same for a load: returns when its data are there.
  double loadBytes(double time, double bytes, int64_t stream);
  int64_t loadsFrom(mlir::Value address) const;
  int64_t storesTo(mlir::Value address) const;
  double bytesOfAccess(const Step &step, mlir::Value address, mlir::Value predicate, int64_t bytesOfThread);

  // ---- atomics.cpp
  double addressesOfSm(mlir::Value address);
  Lock *lockOf(const Step &step, mlir::Value address);
  void acquire(Step &step, mlir::Value address);
  void release(Step &step, mlir::Value address);
  bool waitsSince(double time) const;

  // ---- barriers.cpp
  void arriveAt(Step &step, int64_t id, int64_t threads, bool waits);
  void arrive(Mbarrier *barrier, int64_t arrivals, int64_t bytes, double time);
  /// Returns the CTA's mbarrier at an address. Null if the predicate is false, or if the address is not known: then the run is incomplete.
  Mbarrier *mbarrierAt(const Step &step, mlir::Value address, mlir::Value predicate);

  // ---- programs.cpp
  double stepsOf(int64_t program) const;
  double totalSteps(int64_t count) const;
  double stepsOfBusiestSm() const;
  int64_t programOf(int64_t cta) const;
  Place placeOf(int64_t program, int64_t warp) const;

  const Code &code;
  const ModeledLaunch &launch;
  const SmRates &rates;
  int64_t warpsOfCta, resident, cluster;
  std::vector<double> misses;

  std::vector<std::unique_ptr<Warp>> warps;
  std::vector<size_t> warpCta;
  std::vector<Cta> ctas;
  int64_t wanted = 0, started = 0; ///< CTAs
  using Entry = std::pair<double, size_t>;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue; ///< the warps that can go on, by time
  std::vector<const Node *> pending;                                    ///< for each warp: the operation to execute next

  std::array<double, schedulers> issueFree{};
  std::array<std::array<double, schedulers>, units> free{};
  double l2Free = 0, memoryFree = 0, end = 0;
  double unwritten = 0;                                            ///< bytes that have been stored to the L2 cache, and not yet to memory
  std::map<std::pair<const Node *, uint32_t>, double> accessBytes; ///< of an operation that these lanes execute
  llvm::DenseMap<mlir::Value, double> addresses;                   ///< addressesOfSm
  /// The locks at an address of the kernel's, as many as an SM has of those of all programs that run at the same time. None if that is not
  /// known: no program waits.
  llvm::DenseMap<mlir::Value, std::vector<Lock>> locks;
  /// When the L2 cache has executed the atomics of an address; of an operation, if its address is not known.
  std::map<std::pair<const Node *, int64_t>, double> atomicFree;
};

} // namespace tilewright::gpu::model
