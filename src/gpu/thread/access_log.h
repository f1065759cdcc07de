// The accesses to global memory that a thread has made since all threads last met: a later one may have to wait for another meeting.
// A branch or a loop adds what it does to what came before it. Nothing is copied for that, as a kernel may have thousands of branches in
// a row: the log remembers where the branch began, goes back to that place, and takes what each part of the branch has added.
#pragma once

#include "ir/tt.h"

#include "llvm/ADT/DenseMap.h"

namespace tilewright::gpu {

/// An access to global memory that the thread has made.
struct GlobalAccess {
  mlir::Value pointer;
  bool writes = false;
  bool changes = false;                ///< it belongs to another iteration, and accessed other elements
  std::optional<tt::RMWOp> blind = {}; ///< an atomic operation whose result is unused; others of its kind may overtake it
  mlir::Value base = {}; ///< the kernel's argument that the pointer comes from, as the log has found it; null where it has not
};

class AccessLog {
public:
  /// Adds an access, unless the log has it.
  void add(const GlobalAccess &access);
  void add(llvm::ArrayRef<GlobalAccess> accesses);
  /// All threads have met: no earlier access matters any longer.
  void clear() { begin = entries.size(); }
  llvm::ArrayRef<GlobalAccess> accesses() const { return llvm::ArrayRef(entries).drop_front(begin); }

  struct Mark {
    size_t begin, end;
  };
  Mark place() const { return {begin, entries.size()}; }
  /// Goes back to the place, and returns what was added behind it and still matters. That alone is copied.
  llvm::SmallVector<GlobalAccess> takeSince(Mark place);

private:
  using Key = std::pair<void *, unsigned>;
  static Key keyOf(const GlobalAccess &access);

  llvm::SmallVector<GlobalAccess> entries;
  size_t begin = 0;                   // those before it no longer matter
  llvm::DenseMap<Key, size_t> places; // where an access was added last, which may be forgotten by now
};

} // namespace tilewright::gpu
