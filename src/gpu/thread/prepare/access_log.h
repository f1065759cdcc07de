// The global-memory accesses of a thread since the last barrier of all threads. A later access may need another barrier.
// A branch or loop appends its accesses to those before it. Nothing is copied, because a kernel may have thousands of branches in a row.
// The log remembers where the branch began, returns to that mark, and takes what each region has added.
#pragma once

#include "ir/tt.h"

#include "llvm/ADT/DenseMap.h"

namespace tilewright::gpu {

/// An access of the thread to global memory.
struct GlobalAccess {
  mlir::Value pointer, mask; ///< the mask may be null
  bool writes = false;
  mlir::Operation *loop = nullptr; ///< an earlier iteration of this loop made it, with other values; null: with the same pointers and mask
  std::optional<tt::RMWOp> blind = {}; ///< an atomic operation with an unused result; operations of the same kind may overtake it
  mlir::Value base = {};               ///< the kernel argument that the pointer is derived from; null if unknown
};

class AccessLog {
public:
  /// Adds an access, unless the log contains it already.
  void add(const GlobalAccess &access);
  void add(llvm::ArrayRef<GlobalAccess> accesses);
  /// Forgets all earlier accesses, after a barrier of all threads.
  void clear() { begin = entries.size(); }
  llvm::ArrayRef<GlobalAccess> accesses() const { return llvm::ArrayRef(entries).drop_front(begin); }

  struct Mark {
    size_t begin, end;
  };
  Mark mark() const { return {begin, entries.size()}; }
  /// Returns to the mark, and returns a copy of the accesses that were added after it and still matter.
  llvm::SmallVector<GlobalAccess> takeSince(Mark mark);

private:
  using Key = std::tuple<void *, void *, void *, unsigned>;
  static Key keyOf(const GlobalAccess &access);

  llvm::SmallVector<GlobalAccess> entries;
  size_t begin = 0;                      // earlier entries no longer matter
  llvm::DenseMap<Key, size_t> positions; // where an access was added last; the entry may have been forgotten since
};

} // namespace tilewright::gpu
