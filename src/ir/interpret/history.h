// Who touched each byte of memory last: how the interpreter and the simulator find races between the programs of a launch, and the
// simulator those between the warps of one program.
//
//   program 0:  tl.store(flag, 1)                    program 0:  tl.store(data, x);  tl.atomic_xchg(flag, 1)
//   program 1:  while tl.load(flag) == 0: ...        program 1:  while tl.atomic_add(flag, 0) == 0: ...;  tl.load(data)
//   a race: nothing orders the load and the store    none: what the atomic read was released by program 0
//
// Programs run one after another here, so a race shows by what is missing: two programs touched one byte, one of them wrote, one of
// the two accesses was not atomic, and no chain of releases and acquires leads from the first to the second. A release stamps its word
// with all that the program knows; an acquire of that word learns it. The answer does not depend on luck, as it would on a machine.
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
    bool atomic = false; // with respect to all programs of the launch
    uint32_t where = 0;  // the operation, by the caller's numbering
    uint32_t turn = 0;   // which execution of it; only the stores of one tile share a turn
  };
  /// The earlier access that this one clashes with.
  struct Clash {
    uint32_t program = 0;
    uint32_t where = 0;
    bool wrote = false;
    bool atomic = false;
    bool sameStore = false; // another element of the same store: an error only if the two values differ
  };

  /// Remembers an access and returns what it clashes with, if anything.
  std::optional<Clash> note(uint32_t program, const Access &access);
  /// The same for agents whose order the caller knows: `now` is the agent's time (0 is none), and `isBefore` says whether another
  /// agent's time comes before this access. Elements of one store (`where` and `turn`) never clash, whichever agent writes them.
  using Order = llvm::function_ref<bool(uint32_t agent, uint32_t time)>;
  std::optional<Clash> note(uint32_t agent, uint32_t now, const Access &access, Order isBefore);
  /// An atomic at `address` that is ordered after the releases there, and orders what follows it.
  void acquire(uint32_t program, uint64_t address);
  /// An atomic at `address` that orders what came before it.
  void release(uint32_t program, uint64_t address);

private:
  using Clock = llvm::DenseMap<uint32_t, uint32_t>; // how far each program is known to have come
  struct Seen {
    uint32_t program = ~uint32_t(0);
    uint32_t time = 0; // 0: never
    uint32_t where : 31 = 0;
    uint32_t atomic : 1 = 0;
  };
  struct Cell {
    Seen write;
    uint32_t turn = 0;
    Seen reads[2]; // by two different programs since the last write
  };
  /// The cells of 4096 bytes. A cell is as large as the smallest access to the page so far.
  struct Page {
    int64_t cellBytes = 0;
    std::vector<Cell> cells;
  };

  Page &pageFor(uint64_t address, int64_t bytes);
  bool isKnown(uint32_t program, uint32_t earlier, uint32_t time) const;
  uint32_t timeOf(uint32_t program) const;

  llvm::DenseMap<uint64_t, std::unique_ptr<Page>> pages;
  uint64_t lastNumber = ~uint64_t(0); // of the page that was asked for last
  Page *lastPage = nullptr;
  llvm::DenseMap<uint32_t, uint32_t> times;                  // of programs that have released something; 1 for the others
  llvm::DenseMap<uint32_t, std::unique_ptr<Clock>> known;    // by program
  llvm::DenseMap<uint64_t, std::unique_ptr<Clock>> released; // by address
};

} // namespace tilewright
