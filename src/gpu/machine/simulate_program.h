// What the parts of the simulator share: the decoded kernel, a warp, a block.
//
// A kernel is decoded once into steps: handler, numbers of the values it reads and writes, nested bodies. A warp executes steps for its 32
// lanes together under an active mask; a value is 32 times 64 bits. Each warp has a stack of its own, so that it may stop anywhere (at a
// barrier) and let others run.
//
// Order between warps is kept as vector clocks. Component i < warps is warp i's own clock; each warpgroup has one that counts
// its completed wgmma, because one warp's wgmma_wait tells about all four; and each mbarrier has one that counts its completed
// phases, so that bytes filled by a copy are known to whoever waited for that phase. A byte of shared memory remembers its
// last write and, for each warp, the last read since: an access is ordered after them if the warp's clock has reached theirs.
//
// The blocks of a cluster run together. What a warp knows about the warps of another block is a separate
// clock, which only barriers of the cluster advance, and mbarriers at which blocks arrive for one another.
//
// The same clocks watch global memory: its bytes remember which warp of this cluster touched them last. A TMA store is an agent of
// its own there, unknown to all warps: only a tma_wait for the whole store (not .read) makes its bytes those of the warp that waited.
#pragma once

#include "gpu/machine/ptx.h"
#include "gpu/machine/simulate.h"
#include "ir/interpret/history.h"
#include "ir/interpret/program.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

#include <deque>
#include <map>
#include <memory>
#include <random>
#include <ucontext.h>

namespace tilewright::gpu::sim {

using Format = interp::Format;
using Lanes = std::array<uint64_t, 32>;
constexpr int64_t lanesPerWarp = 32;
constexpr uint32_t allLanes = ~uint32_t(0);
constexpr uint64_t sharedBase = 1024; // 0 stays invalid, and it is a multiple of 1024 as promised
constexpr int64_t rankShift = 24;     // of a block of a cluster, in the addresses of its shared memory

class Warp;
struct Step;
/// Executes a step in the warp's active lanes; false ends the warp (the error has been recorded, or the run is being stopped).
using Handler = bool (*)(Warp &, const Step &);

struct Body {
  llvm::SmallVector<int32_t> arguments; // values of the region's entry block
  std::vector<Step> steps;              // without the terminator
  llvm::SmallVector<int32_t> yielded;   // operands of the terminator
};

struct Step {
  mlir::Operation *op = nullptr;
  Handler handler = nullptr;
  uint32_t number = 0;   // in Program::ops
  bool forwards = false; // moves accumulators in flight without reading them
  int64_t below = 0;     // what the first operand must be below, as an index; 0 for anything
  llvm::SmallVector<int32_t, 4> operands, results;
  Format from, to; // of the first operand and the first result, where these are numbers
  std::vector<Body> bodies;
};

struct HandlerTable {
  llvm::StringMap<Handler> handlers;
  llvm::StringMap<bool> forwards;
};
void addScalarHandlers(HandlerTable &table);
void addMemoryHandlers(HandlerTable &table);
void addDebugHandlers(HandlerTable &table);
void addAsyncHandlers(HandlerTable &table);
void addMatrixHandlers(HandlerTable &table);
void addControlHandlers(HandlerTable &table);

struct Program {
  Body body;
  int64_t values = 0;
  std::vector<mlir::Operation *> ops;
  std::vector<uint32_t> firstAt; // for each op: the first of its kind and place. Those of one tile's store share theirs
  ptx::KernelAttr kernel;
  bool usesWgmma = false;
};

using Clock = std::vector<uint32_t>;
inline uint32_t at(const Clock &clock, int64_t component) {
  return component < int64_t(clock.size()) ? clock[size_t(component)] : 0;
}
inline void join(Clock &into, const Clock &from) {
  if (into.size() < from.size()) into.resize(from.size());
  for (size_t i = 0; i < from.size(); ++i)
    into[i] = std::max(into[i], from[i]);
}

/// What is known about one byte of shared memory.
struct ByteState {
  uint32_t writeOp = 0, writeEpoch = 0; // epoch 0: never written
  uint16_t writeAgent = 0;              // component of the clocks
  uint8_t writeLane = 0;
  bool holdsBarrier = false;
  bool added = false; // the last write was an atomic addition
  uint16_t inFlightReads = 0;
  uint32_t owner = 0;   // copy in flight that fills it, counted from 1
  uint64_t readers = 0; // warps that read it since, then warpgroups whose wgmma did
};
struct ReadState {
  uint32_t epoch = 0, op = 0;
};

struct NamedBarrier {
  int64_t threads = 0, arrived = 0; // threads
  int64_t generation = 0;
  uint32_t first = 0; // the op at which the first of these threads has arrived
  Clock arriving, released;
};

/// A read by another block of the cluster.
struct RemoteRead {
  int64_t block = 0, warp = 0;
  uint32_t epoch = 0, op = 0;
};

struct Mbarrier {
  int64_t count = 0, pending = 0, transactions = 0;
  uint32_t phase = 0; // the one in progress
  int64_t component = 0;
  Clock arriving, completed;
  std::vector<Clock> arrivingOthers, completedOthers; // what those who arrive know of the cluster's blocks
  bool fenced = false;
  uint16_t initWarp = 0;
  uint32_t initEpoch = 0, initOp = 0;
};

/// A run of bytes.
struct Chunk {
  uint64_t address;
  int64_t bytes;
};

/// A TMA instruction that the copy engine has not executed yet. For a load: bytes and barrier.
/// For a store for which tma_wait.read comes first: what it has read of shared memory by then.
struct EngineCopy {
  uint32_t id = 0; // for ByteState::owner
  const Step *step = nullptr;
  Warp *warp = nullptr;
  const SimulatedTensorMap *map = nullptr;
  std::array<int64_t, 5> coordinates{};
  uint64_t shared = 0;
  uint64_t barrier = 0;
  bool isLoad = false;
  bool done = false;
  std::vector<Chunk> chunks;
  Clock issued;                 // a load: what its warp knew
  uint32_t agent = 0;           // a store: in Cluster::touched
  std::vector<Chunk> stored;    // a store: runs of bytes in global memory
  std::vector<uint8_t> hasRead; // a store: its source, if that may be overwritten by now
};

/// A cp.async of one lane.
struct ThreadCopy {
  uint32_t id = 0;
  uint32_t op = 0;
  uint64_t shared = 0;
  int64_t bytes = 0;
  std::array<uint8_t, 16> data{};
};

/// wgmma instructions of one warp that were issued and not waited for.
struct MatrixRead {
  uint32_t sequence;
  uint32_t op;
  std::vector<Chunk> chunks;
};

class Block;

/// What all clusters of a launch share.
struct Launch {
  const SimulateOptions &options;
  std::array<int64_t, 3> clusters; // of the grid
  std::optional<AccessHistory> history;
  uint32_t stores = 0;                  // executed so far
  uint64_t changes = 0;                 // of global or shared memory, so far
  std::mt19937_64 random{options.seed}; // when a cluster pauses
};

/// Blocks that run together.
struct Cluster {
  Launch &launch;
  int64_t number = 0; // in launch order
  std::vector<std::unique_ptr<Block>> blocks;
  int64_t arrived = 0, generation = 0;   // of its barrier: warps
  std::vector<Clock> arriving, released; // what is known of each block
  std::vector<Warp *> live;
  AccessHistory touched; // global memory, by its warps and its copy engines
  uint32_t stores = 0;   // of its copy engines, so far
  ucontext_t scheduler{};
  uint64_t seen = 0;   // the launch's changes when it began to wait
  bool looked = false; // a warp has just loaded what other clusters may change
  bool paused = false; // it does not wait: others run in between

  explicit Cluster(Launch &launch) : launch(launch) {}
  void start(std::array<int64_t, 3> first, int64_t number); // the place of its first block
  /// Runs until the end or an error (false), or until all its warps wait and some of them for memory to change (true). It may pause after
  /// a warp's volatile load (true): other clusters run then, and the next warp may find another value.
  bool resume();
  /// Ends it, with an error if `why` says so.
  void stop(llvm::StringRef why);

private:
  bool runRound(bool stopping);
  bool isStopping();
  std::string whatWarpsWaitFor();
};

class Warp {
public:
  Block &block;
  int64_t index;
  uint32_t mask = allLanes;
  std::vector<Lanes> values;
  std::vector<uint32_t> inFlight;  // for each value: the wgmma that writes it, 0 for none
  std::vector<uint64_t> definedAt; // for each value: steps so far
  uint64_t steps = 0;
  Clock clock;
  std::vector<Clock> others;                              // of the cluster's blocks; its own is not used
  std::vector<std::pair<uint32_t, uint32_t>> asyncFences; // epoch, lanes

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
  std::vector<uint32_t> matrixTrace; // ops, to compare the warps of a group

  int64_t clusterTicket = 0; // generation of the cluster barrier that this warp arrived in

  // the coroutine
  ucontext_t context{}, *scheduler = nullptr;
  std::unique_ptr<char[]> stack;
  bool finished = false, advanced = false;
  std::optional<uint64_t>
      spinsSince; // the launch's changes, if the last iteration of a loop changed nothing and the next one will not either
  const Step *waitsAt = nullptr;
  std::string waitsFor;

  Warp(Block &block, int64_t index) : block(block), index(index) {}

  const Lanes &get(const Step &step, size_t operand) const { return values[size_t(step.operands[operand])]; }
  Lanes &result(const Step &step, size_t number) { return values[size_t(step.results[number])]; }
  bool active(int64_t lane) const { return mask >> lane & 1; }
  template <class Function> void forLanes(Function function) {
    for (int64_t lane = 0; lane < lanesPerWarp; ++lane)
      if (active(lane)) function(lane);
  }
  /// Lanes that are active and for which the operand, if there is one, is true.
  uint32_t lanesWhere(const Step &step, int64_t operand) const;

  bool run(const Body &body);
  void copy(int32_t from, int32_t to);
  bool fail(const Step &step, const llvm::Twine &text, int64_t lane = -1, std::optional<uint32_t> otherOp = std::nullopt);
  /// Whether the step's first operand is below step.below in all active lanes.
  bool checkIndex(const Step &step);
  /// A warp-wide instruction: all lanes must be active.
  bool needAllLanes(const Step &step);
  bool yield(); // to the scheduler, and go on later; false when the run is being stopped
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
  /// Everything so far happens before what follows the release: this warp's clock goes to `into`.
  void release(Clock &into);
  bool fencedSince(int64_t lane, uint32_t writeEpoch, uint32_t seenEpoch) const;

  /// asyncRead, asyncWrite: through the proxy of the copy engine and wgmma. copyWrite: cp.async, which is generic and lands later. add:
  /// atomic, so that it does not race with others of its kind.
  enum class Access { read, write, add, copyWrite, asyncRead, asyncWrite };
  /// Bounds, alignment to `alignment`, races; then remembers the access (asynchronous ones are remembered where they complete).
  bool touch(const Step &step, int64_t lane, uint64_t address, int64_t bytes, Access access, int64_t alignment);
  /// A read from another block's shared memory: bounds, alignment, races.
  bool touchRemote(const Step &step, int64_t lane, Block &from, uint64_t address, int64_t bytes);
  /// What the engine writes to another block's shared memory: bounds, races.
  bool touchTarget(const Step &step, int64_t lane, Block &target, const Chunk &chunk);
  /// What this warp knows of a block's warps.
  const Clock &knownOf(const Block &other) const;
  /// Whether a byte of the kernel's memory is there.
  bool isThere(uint64_t pointer) const;
  /// Where a pointer into global memory points to: bounds, alignment. Nothing after an error.
  std::optional<uint64_t> global(const Step &step, int64_t lane, uint64_t pointer, int64_t bytes, int64_t alignment);
  /// An access to global memory. `value`: what a store writes, null for others.
  struct GlobalAccess {
    uint64_t pointer = 0;
    int64_t bytes = 0;
    bool writes = false;
    bool atomic = false;   // for its own program
    bool isForAll = false; // for all programs of the launch
    const void *value = nullptr;
  };
  /// Remembers an access to global memory; false if it races with another cluster's or another warp's.
  bool noteGlobal(const Step &step, int64_t lane, const GlobalAccess &access);
  /// False if it races with another cluster's.
  bool noteLaunch(const Step &step, int64_t lane, const GlobalAccess &access);
  /// Whether what an agent of Cluster::touched had done by a time of its own comes before what follows here.
  bool knows(uint32_t agent, uint32_t time) const;
  /// What `clash` is about, in words.
  bool failTouched(const Step &step, int64_t lane, uint64_t pointer, int64_t bytes, const AccessHistory::Clash &clash);
};

/// Agents of Cluster::touched: components of a block's clocks, and TMA stores by their number.
constexpr uint32_t tmaStoreAgents = 1u << 31;
inline uint32_t agentOf(int64_t rank, int64_t component) {
  return uint32_t(rank << 24 | component);
}

class Block {
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
  std::vector<ReadState> reads; // byte * readers() + warp, or warps + warpgroup
  std::vector<std::unique_ptr<Warp>> warps;
  std::array<NamedBarrier, 16> barriers;
  std::map<uint64_t, std::vector<RemoteRead>> remoteReads; // by address: since the last write
  std::map<uint64_t, Mbarrier> mbarriers;
  int64_t components = 0;
  uint32_t copies = 0;
  std::vector<uint32_t> copyOps; // by id
  std::deque<std::shared_ptr<EngineCopy>> engine;
  uint64_t ticks = 0;

  Block(const Program &program, const SimulatedArguments &args, const SimulateOptions &options, Cluster &cluster, int64_t rank,
        std::array<int64_t, 3> grid)
      : program(program), args(args), options(options), cluster(cluster), rank(rank), grid(grid), random(options.seed) {}

  /// Makes its warps, which wait for the scheduler.
  void start(std::array<int64_t, 3> id, ucontext_t &scheduler);
  bool isDone() const;
  /// Where its shared memory begins, for its threads.
  uint64_t base() const { return (uint64_t(rank) << rankShift) + sharedBase; }
  /// An address as the block's threads see it, without the block's number. An address of another block then lies outside shared memory.
  uint64_t local(uint64_t address) const { return uint32_t(address - (base() - sharedBase)); }
  bool inShared(uint64_t address, int64_t size) const {
    return address >= sharedBase && size >= 0 && address + uint64_t(size) <= sharedBase + shared.size();
  }
  uint8_t *at(uint64_t address) { return shared.data() + (address - sharedBase); }
  ByteState &state(uint64_t address) { return bytes[address - sharedBase]; }
  uint64_t load(uint64_t address, int64_t size);
  void noteRead(uint64_t address, int64_t size, int64_t reader, uint32_t epoch, uint32_t op);
  int64_t readers() const { return int64_t(warps.size() + (warps.size() + 3) / 4); }
  void noteWrite(uint64_t address, int64_t size, int64_t agent, uint32_t epoch, int64_t lane, uint32_t op);
  uint32_t newCopy(uint32_t op);
  std::string place(uint32_t op) const;
  std::string nameOf(uint32_t op) const;
  /// Lets the copy engine do one of its tasks; false if it has none or the task failed.
  bool runEngine();
  void checkDone();
};

std::string textOf(mlir::Location location);
/// Number formats of matrix operands.
const Format &numberFormat(ptx::Format format);
double decodeNumber(ptx::Format format, uint64_t bits);
uint64_t swizzled(uint64_t address, int64_t span);
/// Two integers of so many bits, as redux, atomics and reducing stores combine them.
uint64_t combine(ptx::Redux kind, int64_t bits, uint64_t old, uint64_t value);

} // namespace tilewright::gpu::sim
