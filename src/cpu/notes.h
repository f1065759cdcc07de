// What the lowering has decided, noted as it decides: only for `tilewright explain`
// (explain.cpp). Operations are those of the kernel, which exist until the lowering is over.
#pragma once

#include "cpu/micro_kernel.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"

#include <cstdint>
#include <vector>

namespace mlir {
class Operation;
}

namespace tilewright::cpu {

/// How one access reaches its elements in memory.
enum class Way : uint8_t { one, contiguous, strided, scattered };

struct AccessNote {
  mlir::Operation *op; // a load or a store
  Way way;
  int64_t lanes;
  bool masked;    // lane by lane
  bool fallback;   // in the version that assumes nothing
  bool streaming; // past the caches
  bool operator==(const AccessNote &) const = default;
};

struct DotNote {
  mlir::Operation *op;
  DotBlocks blocks;
  int64_t maxLanes;                                  // that a vector of the machine has
  bool storesResults;                                 // itself, where a whole tile is stored (direct_store.h)
  enum From : uint8_t { copy, scratch, memory } from; // where A is read; memory: it is copied where a mask cuts off something that is read
  int64_t iterations;                                      // of the loop that are multiplied together (k_blocking.h)
};

/// A tile's place in scratch memory.
struct ScratchNote {
  mlir::Operation *op; // for which it is
  int64_t bytes;
};

struct Notes {
  void add(const AccessNote &note) {
    if (!llvm::is_contained(accesses, note)) accesses.push_back(note);
  }

  std::vector<AccessNote> accesses;
  std::vector<DotNote> dots;
  std::vector<ScratchNote> scratch;
  llvm::DenseSet<std::pair<mlir::Operation *, mlir::Operation *>> computed; // on demand: which operation, and in whose loops
  llvm::DenseSet<mlir::Operation *> versions;                               // those with a second version, chosen at run time
};

} // namespace tilewright::cpu
