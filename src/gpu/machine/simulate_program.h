// Data structures shared by the parts of the simulator: the decoded kernel, a warp, a CTA.
//
// A kernel is decoded once into steps: a handler, the numbers of the values it reads and writes, and nested bodies. A warp executes steps
// for its 32 lanes together under an active mask; a value is 32 times 64 bits. Each warp has a separate stack, so it can stop anywhere (at
// a barrier) and let other warps run.
//
// Vector clocks record the order between warps. Component i < warps is warp i's own clock. Each warp group has a component that counts its
// completed wgmma, because one warp's wgmma_wait holds for all four. Each mbarrier has one that counts its completed phases, which orders
// the bytes of a copy before the warps that waited for that phase. A byte of shared memory stores its last write and, for each warp, the
// last read since then. An access is ordered after these if the warp's clock has reached theirs.
//
// The CTAs of a cluster run together. A warp has a separate clock for the warps of each other CTA. Only cluster barriers and mbarriers
// with arrivals of several CTAs advance it.
//
// The same clocks check global memory: its bytes store which warp of this cluster accessed them last. A TMA store is a separate agent,
// which no warp knows. Only a tma_wait for the complete store (not .read) assigns its bytes to the warp that waited.
#pragma once

#include "gpu/machine/ptx.h"
#include "gpu/machine/simulate.h"
#include "gpu/machine/simulate_tensor.h"
#include "gpu/machine/small_floats.h"
#include "ir/interpret/history.h"
#include "ir/interpret/program.h"
#include "support/gpu_hardware.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"
#include "llvm/ADT/bit.h"

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <ucontext.h>

namespace tilewright::gpu::sim {

using Format = interp::Format;
using Lanes = std::array<uint64_t, 32>;
constexpr int64_t lanesPerWarp = 32;
constexpr uint32_t allLanes = ~uint32_t(0);
constexpr uint64_t sharedBase = 1024; // address 0 stays invalid, and the base is a multiple of 1024 as promised
constexpr int64_t rankShift = 24;     // bit position of the CTA's rank in shared-memory addresses of a cluster

/// The lanes of a mask, in ascending order.
struct lanesOf {
  uint32_t mask;
  struct Iterator {
    uint32_t left;
    int64_t operator*() const { return llvm::countr_zero(left); }
    Iterator &operator++() { return left &= left - 1, *this; }
    bool operator!=(const Iterator &other) const { return left != other.left; }
  };
  Iterator begin() const { return {mask}; }
  Iterator end() const { return {0}; }
};

class Warp;
struct Step;
/// Executes a step in the warp's active lanes; false ends the warp (the error is recorded, or the run is being stopped).
using Handler = bool (*)(Warp &, const Step &);

struct Body {
  llvm::SmallVector<int32_t> arguments; // values of the region's entry block
  std::vector<Step> steps;              // without the terminator
  llvm::SmallVector<int32_t> yielded;   // operands of the terminator
};

struct Step {
  mlir::Operation *op = nullptr;
  Handler handler = nullptr;
  uint32_t number = 0; // in Program::ops
  bool isWarpWide = false;
  int64_t predicate = -1;                             // the operand that says which lanes execute it; -1: all
  bool forwards = false;                              // moves accumulators in flight without reading them
  bool negatesFactors = false, negatesAddend = false; // of a fused multiply-add
  int64_t below = 0;                                  // exclusive upper bound of the first operand, as an index; 0 for none
  llvm::SmallVector<int32_t, 4> operands, results;
  Format from, to; // of the first operand and the first result, if these are numbers
  std::vector<Body> bodies;
};

/// A sum that becomes a fused multiply-add, x * y + z.
struct FusedSum {
  std::array<mlir::Value, 3> operands;
  bool negatesFactors, negatesAddend;
};
/// Returns what ptxas may make of a sum, or nothing: the operation is no sum, has no product, or may not be fused.
std::optional<FusedSum> fusedSumOf(mlir::Operation *sum, const SimulateOptions &options);

/// The handler that calls `function`, whose third parameter is the operation.
template <auto function> struct HandlerOf;
template <class Op, bool (*function)(Warp &, const Step &, Op)> struct HandlerOf<function> {
  static bool execute(Warp &warp, const Step &step) { return function(warp, step, mlir::cast<Op>(step.op)); }
  static llvm::StringRef name() { return Op::getOperationName(); }
  static int64_t predicate(mlir::Operation *op) {
    if constexpr (requires(Op concrete) { concrete.getPredicateMutable(); }) {
      mlir::MutableOperandRange range = mlir::cast<Op>(op).getPredicateMutable();
      if (!range.empty()) return range[0].getOperandNumber();
    }
    return -1;
  }
};

/// How the simulator executes the operations of a name.
struct HandlerRow {
  Handler execute = nullptr;
  bool forwards = false;                               // as in Step
  int64_t (*predicate)(mlir::Operation *op) = nullptr; // as in Step; null if such operations have none
};
struct HandlerTable {
  llvm::StringMap<HandlerRow> rows;

  void set(llvm::StringRef name, Handler handler) { rows[name].execute = handler; }
  template <auto... functions> void add() {
    ((rows[HandlerOf<functions>::name()] = {&HandlerOf<functions>::execute, false, &HandlerOf<functions>::predicate}), ...);
  }
};
void addScalarHandlers(HandlerTable &table);
void addMemoryHandlers(HandlerTable &table);
void addGlobalHandlers(HandlerTable &table);
void addWarpHandlers(HandlerTable &table);
void addDebugHandlers(HandlerTable &table);
void addAsyncHandlers(HandlerTable &table);
void addTmaHandlers(HandlerTable &table);
void addMatrixHandlers(HandlerTable &table);
void addScaledMatrixHandlers(HandlerTable &table);
void addTensorHandlers(HandlerTable &table);
void addTensorCoreHandlers(HandlerTable &table);
void addLaunchControlHandlers(HandlerTable &table);
void addControlHandlers(HandlerTable &table);

struct Program {
  Body body;
  int64_t values = 0;
  std::vector<mlir::Operation *> ops;
  std::vector<uint32_t> storeOf; // for each op: the first one of the same store of a tile, or itself
  ptx::KernelAttr kernel;
  bool usesWgmma = false;
};

inline uint32_t at(const Clock &clock, int64_t component) {
  return component < int64_t(clock.size()) ? clock[component] : 0;
}
inline void join(Clock &into, const Clock &from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

/// Access state of one byte of shared memory.
struct ByteState {
  uint32_t writeOp = 0, writeEpoch = 0; // epoch 0: never written
  uint16_t writeAgent = 0;              // component of the clocks
  uint8_t writeLane = 0;
  bool holdsBarrier = false;
  bool added = false; // the last write was an atomic addition
  uint16_t inFlightReads = 0;
  uint32_t owner = 0;   // copy in flight that fills it, counted from 1
  uint64_t readers = 0; // warps that have read it since the last write, then warp groups whose wgmma has
};
struct ReadState {
  uint32_t epoch = 0, op = 0;
};

struct NamedBarrier {
  /// One use of the barrier. A warp that waits keeps it: the next one may be complete before the warp goes on.
  struct Generation {
    bool complete = false;
    uint32_t warps = 0; // that have arrived
    Clock clock;
    std::vector<Clock> others; // the warps' clocks for the other CTAs of the cluster
  };
  int64_t threads = 0, arrived = 0; // threads
  uint32_t first = 0;               // the op at which the first of these threads arrived
  std::shared_ptr<Generation> generation = std::make_shared<Generation>();
};

/// A read by another CTA of the cluster.
struct RemoteRead {
  int64_t cta = 0, warp = 0;
  uint32_t epoch = 0, op = 0;
};

struct Mbarrier {
  int64_t count = 0, pending = 0, transactions = 0;
  uint32_t phase = 0; // the current phase
  int64_t component = 0;
  Clock arriving, completed;
  std::vector<Clock> arrivingOthers, completedOthers;   // the arriving warps' clocks for the CTAs of the cluster
  std::vector<Clock> arrivingCluster, completedCluster; // of warps of other CTAs, for waits in the scope of the cluster
  std::map<int64_t, int64_t> mirrors; // by rank of another CTA: the component of its clocks that counts the phases of this barrier
  uint32_t seen = 0;                  // completed phases when a wait passed last
  uint32_t filled = 0;                // the last phase with bytes of a TMA load, counted from 1
  uint32_t filledBy = 0;              // the op of that load
  bool fenced = false;
  int64_t fence = -1;      // component of its CTA's clocks: mbarrier_init_fences of the warp that initialized it
  uint32_t fenceCount = 0; // of them, that make it visible
  uint16_t initWarp = 0;
  uint32_t initEpoch = 0, initOp = 0;
};

/// A run of bytes.
struct Chunk {
  uint64_t address;
  int64_t bytes;
};

/// A TMA instruction that has not executed yet. For a load: bytes and barrier. For a store whose tma_wait.read comes first: the shared
/// memory that it has read by then.
struct EngineCopy {
  uint32_t id = 0; // for ByteState::owner
  const Step *step = nullptr;
  Warp *warp = nullptr;
  const SimulatedTensorMap *map = nullptr;
  std::array<int64_t, 5> coordinates{};
  uint64_t shared = 0;
  int64_t elements = 0;
  uint64_t barrier = 0;
  Cta *barrierCta = nullptr; // of a load
  uint32_t program = 0;      // that issued it
  bool isLoad = false;
  bool done = false;
  std::vector<Chunk> chunks;
  std::vector<Clock> issued;    // a load: its warp's clocks for each CTA at the issue
  uint32_t agent = 0;           // a store: in Cluster::touched
  std::vector<Chunk> stored;    // a store: runs of bytes in global memory
  std::vector<uint8_t> hasRead; // a store: its source, if that may be overwritten
};

/// A cp.async of one lane.
struct ThreadCopy {
  const Step *step = nullptr;
  uint32_t id = 0;
  uint32_t op = 0;
  uint64_t shared = 0;
  int64_t bytes = 0;
  std::optional<uint64_t> pointer;                  // its source; none: zeros
  bool hasRead = false;                             // its source; if not, it reads at the wait
  std::shared_ptr<const std::vector<Clock>> issued; // its warp's clocks for each CTA at the issue
  std::array<uint8_t, 16> data{};
};

/// wgmma instructions of one warp that were issued and not waited for.
struct MatrixRead {
  uint32_t sequence;
  uint32_t op;
  std::vector<Chunk> chunks;
};

class Cta;

/// A request to cancel a cluster, without its response.
struct LaunchRequest {
  Warp *warp;
  const Step *step;
  uint64_t response, barrier;
  bool multicast;
};

/// State that all clusters of a launch share.
struct Launch {
  const SimulateOptions &options;
  std::array<int64_t, 3> clusters; // of the grid
  std::optional<AccessHistory> history{};
  uint32_t stores = 0;                  // executed so far
  uint64_t changes = 0;                 // of global or shared memory, so far
  int64_t nextCluster = 0;              // the first one that has not started
  std::set<int64_t> canceled{};         // clusters that never start: others do their work
  std::mt19937_64 random{options.seed}; // decides when a cluster pauses

  /// Cancels a cluster that has not started. Returns its number, or nothing: there is none, or it starts soon.
  std::optional<int64_t> takeCluster();
  /// Returns the block indices of the first CTA of a cluster of `ctas` CTAs.
  std::array<int64_t, 3> positionOf(int64_t number, int64_t ctas) const;
  /// The inverse: the number of the cluster of a CTA.
  int64_t numberAt(std::array<int64_t, 3> position, int64_t ctas) const;
};

/// CTAs that run together.
struct Cluster {
  Launch &launch;
  int64_t number = 0; // in launch order
  std::vector<std::unique_ptr<Cta>> ctas;
  int64_t arrived = 0, generation = 0;   // of its barrier: warps
  std::vector<Clock> arriving, released; // clocks for each CTA
  std::vector<Warp *> live;
  AccessHistory touched; // global memory, by its warps and its TMA stores
  std::vector<TensorAccess> tensorAccesses;
  uint32_t stores = 0; // of TMA, so far
  ucontext_t scheduler{};
  uint64_t seen = 0;      // the launch's changes when it began to wait
  bool hasPolled = false; // a warp has just loaded memory that other clusters may change, or asked for a cluster
  bool paused = false;    // it does not wait: other clusters run in between

  explicit Cluster(Launch &launch) : launch(launch) {}
  void start(std::array<int64_t, 3> first, int64_t number); // the position of its first CTA
  /// Runs until the end or an error (false), or until all its warps wait, some of them for memory to change (true). It may pause after a
  /// warp's volatile load (true). Other clusters run then, and the next warp may load another value.
  bool resume();
  /// Ends the cluster, with an error if `why` is not empty.
  void stop(llvm::StringRef why);

private:
  bool runRound(bool stopping);
  bool isStopping();
  std::string whatWarpsWaitFor();
};

class Warp {
public:
  Cta &cta;
  int64_t index;
  uint32_t mask = allLanes;
  std::vector<Lanes> values;
  std::vector<uint32_t> inFlight;  // for each value: the wgmma that writes it, 0 for none
  std::vector<uint64_t> definedAt; // for each value: the number of steps so far
  uint64_t steps = 0;
  Clock clock;
  std::vector<Clock> others;                              // for the CTAs of the cluster; its own entry is unused
  std::vector<std::pair<uint32_t, uint32_t>> asyncFences; // epoch, lanes
  uint32_t program = 0; // the number of the cluster whose work it does: its own one, or one whose launch it has canceled
  std::vector<std::pair<uint32_t, AccessHistory::Clock>> fences; // lanes whose last ptx.fence it is; what their relaxed atomics release
  AccessHistory::Clock seenByAtomics;                            // what its next ptx.fence acquires
  std::map<uint64_t, uint32_t> responseReaders;                  // by address of a response of launch control: the lanes that read it last
  int64_t initFence = -1;                                        // component of its CTA's clocks: its mbarrier_init_fences
  uint32_t initFences = 0;

  // cp.async and bulk groups, by lane
  std::array<std::vector<ThreadCopy>, 32> openCopies;
  std::array<std::deque<std::vector<ThreadCopy>>, 32> copyGroups;
  std::array<std::vector<std::shared_ptr<EngineCopy>>, 32> openStores;
  std::array<std::deque<std::vector<std::shared_ptr<EngineCopy>>>, 32> storeGroups;   // whose source is in use
  std::array<std::deque<std::vector<std::shared_ptr<EngineCopy>>>, 32> landingGroups; // whose source is free
  std::vector<uint32_t> stored;                                                       // for each op: how often this warp has executed it

  // wgmma
  uint64_t matrixFence = 0;
  uint32_t matrixIssued = 0, matrixCommitted = 0, matrixDone = 0;
  std::deque<uint32_t> matrixGroups; // last wgmma of each committed group
  std::deque<MatrixRead> matrixReads;
  std::vector<uint32_t> matrixTrace;   // ops, to compare the warps of a group; by number of the wgmma
  int64_t registers = 0;               // of each thread
  std::vector<uint32_t> registerTrace; // its setmaxnreg, to compare the warps of a group

  WarpTensor tensor;
  int64_t clusterTicket = 0;              // generation of the cluster barrier that this warp arrived in
  std::optional<uint32_t> clusterArrival; // the op, until the wait

  // the coroutine
  ucontext_t context{}, *scheduler = nullptr;
  std::unique_ptr<char[]> stack;
  bool finished = false, advanced = false;
  std::optional<uint64_t>
      spinsSince; // the launch's changes, if the last iteration of a loop changed nothing and the next one will not either
  const Step *waitsAt = nullptr;
  std::string waitsFor;

  Warp(Cta &cta, int64_t index) : cta(cta), index(index) {}

  const Lanes &get(const Step &step, size_t operand) const { return values[step.operands[operand]]; }
  Lanes &result(const Step &step, size_t number) { return values[step.results[number]]; }
  template <class Function> void forLanes(Function function) {
    for (int64_t lane : lanesOf(mask))
      function(lane);
  }
  /// Returns the active lanes for which the operand is true.
  uint32_t lanesWhere(const Step &step, int64_t operand) const;
  /// Returns the active lanes that execute the step.
  uint32_t acting(const Step &step) const { return step.predicate < 0 ? mask : lanesWhere(step, step.predicate); }

  bool run(const Body &body);
  void copy(int32_t from, int32_t to);
  bool fail(const Step &step, const llvm::Twine &text, int64_t lane = -1, std::optional<uint32_t> otherOp = std::nullopt);
  /// True if the step's first operand is below step.below in all active lanes.
  bool checkIndex(const Step &step);
  bool yield(); // to the scheduler, and continue later; false if the run is being stopped
  /// Waits until `ready()`.
  template <class Predicate> bool waitUntil(const Step &step, llvm::StringRef what, Predicate ready) {
    while (!ready()) {
      waitsAt = &step;
      waitsFor = what.str();
      if (!yield()) return false;
    }
    waitsAt = nullptr;
    advanced = true;
    return true;
  }
  /// Orders everything so far before what follows the release: joins this warp's clock into `into`.
  void release(Clock &into);
  bool fencedSince(int64_t lane, uint32_t writeEpoch, uint32_t seenEpoch) const;

  /// asyncRead, asyncWrite: through the async proxy (TMA and wgmma). copyWrite: cp.async, in the generic proxy and written later. add:
  /// atomic, so that it does not race with other additions.
  enum class Access { read, write, add, copyWrite, asyncRead, asyncWrite };
  /// Checks bounds, alignment and races of an access to the shared memory of a CTA; then records the access (asynchronous ones are recorded
  /// when they complete). Only asynchronous accesses may be to another CTA.
  bool touch(const Step &step, int64_t lane, Cta &target, const Chunk &chunk, Access access, int64_t alignment);
  bool touch(const Step &step, int64_t lane, uint64_t address, int64_t bytes, Access access, int64_t alignment) {
    return touch(step, lane, cta, {address, bytes}, access, alignment);
  }
  /// Checks, after all lanes have written to shared memory, that `value` is what stands there: two lanes may write one byte in one
  /// instruction only if they write the same value.
  bool checkWritten(const Step &step, int64_t lane, uint64_t address, const void *value, int64_t bytes);
  /// Checks bounds, alignment and races of a read from another CTA's shared memory.
  bool touchRemote(const Step &step, int64_t lane, Cta &from, uint64_t address, int64_t bytes);
  /// Reports an access to the shared memory of a CTA that has ended.
  bool failEnded(const Step &step, const Cta &other, int64_t lane);
  /// Returns this warp's clock for a CTA's warps.
  const Clock &knownOf(const Cta &other) const;
  /// Returns its clocks for all CTAs of the cluster, by rank.
  std::vector<Clock> knownOfAll() const;
  /// True if a byte of the kernel's memory exists.
  bool isThere(uint64_t pointer) const;
  /// Resolves a pointer into global memory, with checks of bounds and alignment. Returns nothing after an error.
  std::optional<uint64_t> global(const Step &step, int64_t lane, uint64_t pointer, int64_t bytes, int64_t alignment);
  /// An access to global memory. `value`: the stored data, null for other accesses.
  struct GlobalAccess {
    uint64_t pointer = 0;
    int64_t bytes = 0;
    bool writes = false;
    bool atomic = false;   // for its own program
    bool isForAll = false; // for all programs of the launch
    const void *value = nullptr;
    std::optional<uint32_t> program{};          // that issued a TMA instruction; none: the warp's
    const std::vector<Clock> *issued = nullptr; // of an asynchronous read: what its warp knew of each CTA at the issue
  };
  /// Records an access to global memory; false if it races with another cluster's or another warp's.
  bool noteGlobal(const Step &step, int64_t lane, const GlobalAccess &access);
  /// Returns false if the access races with another cluster's.
  bool noteLaunch(const Step &step, int64_t lane, const GlobalAccess &access);
  /// True if the event of an agent of Cluster::touched at `time` happens before what follows here.
  bool knows(uint32_t agent, uint32_t time) const;
  /// Reports the race `clash`.
  bool failTouched(const Step &step, int64_t lane, uint64_t pointer, int64_t bytes, const AccessHistory::Clash &clash);
};

/// Agents of Cluster::touched: components of a CTA's clocks, and TMA stores by their number.
constexpr uint32_t tmaStoreAgents = 1u << 31;
inline uint32_t agentOf(int64_t rank, int64_t component) {
  return uint32_t(rank << 24 | component);
}

class Cta {
public:
  const Program &program;
  const SimulatedArguments &args;
  const SimulateOptions &options;
  Cluster &cluster;
  int64_t rank = 0; // in the cluster
  std::array<int64_t, 3> grid, id{};
  std::mt19937_64 random;
  std::optional<SimulationError> error;
  bool stopping = false;

  std::vector<uint8_t> shared;
  std::vector<ByteState> bytes;
  std::vector<ReadState> reads; // byte * readers() + warp, or warps + warp group
  std::vector<std::unique_ptr<Warp>> warps;
  std::array<NamedBarrier, namedBarriers> barriers;
  std::map<uint64_t, std::vector<RemoteRead>> remoteReads; // by address: since the last write
  std::map<uint64_t, std::vector<ByteState>> adders;       // by address: atomic additions before the last one that nothing orders with it
  int64_t freeRegisters = 0;                               // of the SM's registers of this CTA, those that no warp has
  std::map<uint64_t, Mbarrier> mbarriers;
  int64_t components = 0;
  uint32_t copies = 0;
  std::vector<uint32_t> copyOps; // by id
  std::deque<std::shared_ptr<EngineCopy>> engine;
  uint64_t ticks = 0;
  TensorMemory tensor;
  std::deque<std::shared_ptr<TensorOperation>> tensorQueue;  // of its threads
  std::vector<llvm::SmallVector<TensorRead, 1>> tensorReads; // by 16 bytes of shared memory
  std::deque<LaunchRequest> launchRequests;
  std::optional<uint32_t> refusedCancel; // the response that said no: the op that asked

  Cta(const Program &program, const SimulatedArguments &args, const SimulateOptions &options, Cluster &cluster, int64_t rank,
      std::array<int64_t, 3> grid)
      : program(program), args(args), options(options), cluster(cluster), rank(rank), grid(grid) {}

  /// Creates its warps, which wait for the scheduler.
  void start(std::array<int64_t, 3> id, ucontext_t &scheduler);
  bool isDone() const;
  /// Returns the start of its shared memory, for its threads.
  uint64_t base() const { return (uint64_t(rank) << rankShift) + sharedBase; }
  /// Returns an address without the CTA's rank. An address of another CTA is then outside shared memory.
  uint64_t local(uint64_t address) const { return uint32_t(address - (base() - sharedBase)); }
  bool inShared(uint64_t address, int64_t size) const {
    return address >= sharedBase && size >= 0 && address + uint64_t(size) <= sharedBase + shared.size();
  }
  uint8_t *at(uint64_t address) { return shared.data() + (address - sharedBase); }
  ByteState &state(uint64_t address) { return bytes[address - sharedBase]; }
  uint64_t load(uint64_t address, int64_t size);
  /// Makes a copy in flight the owner of bytes; 0: none.
  void setOwner(const Chunk &chunk, uint32_t copy);
  /// Adds to the asynchronous reads in flight of bytes.
  void countReads(const Chunk &chunk, int count);
  void noteRead(uint64_t address, int64_t size, int64_t reader, uint32_t epoch, uint32_t op);
  int64_t readers() const { return int64_t(warps.size() + (warps.size() + 3) / 4); }
  void noteWrite(uint64_t address, int64_t size, int64_t agent, uint32_t epoch, int64_t lane, uint32_t op);
  /// Keeps the last write of bytes, if it was an addition: another one follows.
  void noteAdd(uint64_t address, int64_t size);
  uint32_t newCopy(uint32_t op);
  std::string locationOf(uint32_t op) const;
  /// "ptx.store_shared at file:3:5".
  std::string whereIs(uint32_t op) const;
  /// Executes one pending TMA instruction or tcgen05 operation; false if there is none or it failed.
  bool runEngine();
  bool isIdle() const { return engine.empty() && tensorQueue.empty() && launchRequests.empty(); }
  void checkDone();
  /// Checks that the warps of each warp group have executed the same instructions of a kind; false after an error.
  bool compareGroups(std::vector<uint32_t> Warp::*trace, const char *instruction);
};

/// Completes the phase of a barrier that has all its arrivals and bytes.
void completePhase(Mbarrier &barrier);
/// Adds to the bytes that a phase expects. False if the mbarrier cannot count them.
bool addTransactions(Warp &warp, const Step &step, int64_t lane, Mbarrier &barrier, int64_t bytes);
/// Returns the mbarrier of a CTA at a lane's address, or null after an error.
Mbarrier *findBarrier(Warp &warp, const Step &step, int64_t lane, Cta &cta, uint64_t address);
/// Executes `count` arrivals, which tell the waiting threads the clocks `known` of each CTA. False after an error.
bool arriveWith(Warp &warp, const Step &step, int64_t lane, Cta &cta, Mbarrier &barrier, const std::vector<Clock> &known, int64_t count);
/// Executes one pending tcgen05 operation of a CTA; false if it failed.
bool runTensorQueue(Cta &cta);
/// Answers the first request of a CTA to cancel a cluster; false if it failed.
bool runLaunchRequest(Cta &cta);
std::string textOf(mlir::Location location);
/// "0x400".
std::string hex(uint64_t number);
inline int64_t bytesOf(mlir::Type type) {
  return interp::formatOf(type).bytes;
}
/// Returns the format for decode and encode; not of f64.
inline TensorFormat tensorFormat(ptx::Format format) {
  using enum TensorFormat;
  constexpr std::array<TensorFormat, 15> formats = {f16, bf16, tf32, e4m3, e5m2, s8, u8, f32, s32, f32, e2m3, e3m2, e2m1, ue8m0, ue4m3};
  static_assert(uint32_t(ptx::Format::s32) == 8 && uint32_t(ptx::Format::ue4m3) == 14);
  return formats[uint32_t(format)];
}
/// Computes d = a * b + c of an MMA, a row-major with `inner` columns, b as rows of `inner`. `count`: a lane's accumulators, of which
/// element e is in row l / 4 + 8 * (e / 2 & 1) and column l % 4 * 2 + e % 2 + 8 * (e / 4) for lane l. c starts at operand `firstC`.
void multiply(Warp &warp, const Step &step, const std::vector<double> &a, const std::vector<double> &b, int64_t inner, int64_t count,
              size_t firstC, ptx::Format format, uint32_t lanesWithC);
/// Combines two integers of `bits` bits, like redux, atomics and reducing stores.
uint64_t combine(ptx::Redux kind, int64_t bits, uint64_t old, uint64_t value);

} // namespace tilewright::gpu::sim
