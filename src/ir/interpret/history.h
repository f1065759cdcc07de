// The last accesses to each byte of memory. The interpreter and the simulator use it to find races between the programs of a launch. The
// simulator also finds races between the warps of one program.
//
//   program 0:  tl.store(flag, 1)                    program 0:  tl.store(data, x);  tl.atomic_xchg(flag, 1)
//   program 1:  while tl.load(flag) == 0: ...        program 1:  while tl.atomic_add(flag, 0) == 0: ...;  tl.load(data)
//   a race: nothing orders the load and the store    no race: the atomic reads a value that program 0 released
//
// Programs run one after another here. A race is a pair of accesses of two programs to one byte. At least one of them is a write, and at
// least one is not atomic. No chain of releases and acquires leads from the first to the second. A release stores the vector clock of its
// program at its word; an acquire of the word merges that clock. The result is deterministic.
#pragma once

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace tilewright {

class AccessHistory {
public:
  struct Access {
    uint64_t address = 0;
    int64_t bytes = 0;
    bool writes = false;
    bool atomic = false;    // atomic for all programs of the launch
    uint32_t where = 0;     // the operation, numbered by the caller
    uint32_t execution = 0; // the number of its execution, which the stores of one tile share
  };
  /// The earlier access that conflicts with this one.
  struct Clash {
    uint32_t program = 0;
    uint32_t where = 0;
    bool wrote = false;
    bool atomic = false;
    bool sameStore = false; // another element of the same store, an error only if the values differ
    uint64_t address = 0;   // of a store's earlier element: the bytes of both
    int64_t bytes = 0;
  };
  /// What an agent has seen of other agents' releases, and what one of its fences releases.
  using Clock = llvm::DenseMap<uint32_t, uint32_t>; // a vector clock: the known time of each program

  /// Records an access. Returns the earlier access that conflicts with it, if any.
  std::optional<Clash> note(uint32_t program, const Access &access);
  /// The same for agents whose order the caller knows. `now` is the agent's time (0: none). `isBefore` returns true if another agent's time
  /// is before this access. Elements of one store (`where` and `execution`) never conflict.
  using Order = llvm::function_ref<bool(uint32_t agent, uint32_t time)>;
  std::optional<Clash> note(uint32_t agent, uint32_t now, const Access &access, Order isBefore);
  /// Records an atomic at `address` with acquire order.
  void acquire(uint32_t program, uint64_t address);
  /// Records an atomic at `address` with release order.
  void release(uint32_t program, uint64_t address);

  // Fences. A relaxed atomic after a fence releases what the fence has: releaseAt(address, fence(program)). A fence after a relaxed atomic
  // acquires what it has seen: learn(program, seen).

  /// Returns what a fence of the program releases.
  Clock fence(uint32_t program);
  /// Adds a fence's clock to the word at `address`.
  void releaseAt(uint64_t address, const Clock &fence);
  /// Adds to `seen` what the word at `address` has.
  void see(uint64_t address, Clock &seen) const;
  /// Adds what a program's relaxed atomics have seen.
  void learn(uint32_t program, const Clock &seen);

private:
  struct Seen {
    uint32_t program = ~uint32_t(0);
    uint32_t time = 0; // 0: never
    uint32_t where : 31 = 0;
    uint32_t atomic : 1 = 0;
  };
  struct Cell {
    Seen write;
    uint32_t execution = 0;
    Seen reads[2];          // by two different programs since the last write
    std::vector<Seen> more; // reads that nothing orders, if the caller knows the order
  };
  /// The cells of 4096 bytes. A cell has the size of the smallest access to the page so far.
  struct Page {
    int64_t cellBytes = 0;
    std::vector<Cell> cells;
  };

  std::optional<Clash> note(uint32_t agent, uint32_t now, const Access &access, Order isBefore, bool keepsAllReaders);
  Page &pageFor(uint64_t address, int64_t bytes);
  bool isKnown(uint32_t program, uint32_t earlier, uint32_t time) const;
  uint32_t timeOf(uint32_t program) const;

  llvm::DenseMap<uint64_t, std::unique_ptr<Page>> pages;
  uint64_t lastNumber = ~uint64_t(0); // of the last page
  Page *lastPage = nullptr;
  llvm::DenseMap<uint32_t, uint32_t> times;                  // of programs that have released; 1 for all other programs
  llvm::DenseMap<uint32_t, std::unique_ptr<Clock>> known;    // by program
  llvm::DenseMap<uint64_t, std::unique_ptr<Clock>> released; // by address
};

} // namespace tilewright
