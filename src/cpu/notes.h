// The lowering's decisions, recorded for `tilewright explain` (explain.cpp). The operations are the kernel's and exist until the lowering
// ends.
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

/// The way in which one access reaches its elements in memory.
enum class Way : uint8_t { one, contiguous, strided, scattered };

struct AccessNote {
  mlir::Operation *op; // a load or a store
  Way way;
  int64_t lanes;
  bool masked;   // lane by lane
  bool fallback; // in the fallback version of a loop nest
  bool nonTemporal;
  bool operator==(const AccessNote &) const = default;
};

struct DotNote {
  mlir::Operation *op;
  DotBlocks blocks;
  int64_t maxLanes;                                   // of a vector of the target
  bool storesResults;                                 // the dot stores a whole tile itself (direct_store.h)
  enum From : uint8_t { copy, scratch, memory } from; // where A is read; memory: except where a mask cuts it off, there it is copied
  int64_t iterations;                                 // loop iterations that are multiplied together (k_blocking.h)
};

/// A tile in scratch memory.
struct ScratchNote {
  mlir::Operation *op; // the operation that needs it
  int64_t bytes;
};

struct Notes {
  void add(const AccessNote &note) {
    if (!llvm::is_contained(accesses, note)) accesses.push_back(note);
  }

  std::vector<AccessNote> accesses;
  std::vector<DotNote> dots;
  std::vector<ScratchNote> scratch;
  llvm::DenseSet<std::pair<mlir::Operation *, mlir::Operation *>> computed; // on demand: the operation, and the root whose loops compute it
  llvm::DenseSet<mlir::Operation *> versions;                               // operations with a second version, chosen at run time
};

} // namespace tilewright::cpu
