// MLIR contexts, which hold all types, attributes and locations that modules name, and never give one back.
//
// A context takes half a millisecond and half a megabyte to fill with dialects, so a few are kept for the next compilation; and it grows
// with every kernel, so each serves a bounded number of them and goes when the last program made in it has gone. One thread uses a context
// at a time: whoever wants to compile in it, or to run a program that lives in it, holds it.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace tilewright {

/// A context and its lock.
class SharedContext;

/// One thread's hold on a context, until the end of this object's life. A thread may hold a context several times.
class ContextHold {
public:
  /// Any free context, for one compilation.
  static ContextHold any();
  /// This one, as soon as no other thread holds it.
  explicit ContextHold(std::shared_ptr<SharedContext> context);
  ~ContextHold();
  ContextHold(ContextHold &&other) noexcept;
  ContextHold(const ContextHold &) = delete;
  ContextHold &operator=(const ContextHold &) = delete;

  mlir::MLIRContext &operator*() const;
  const std::shared_ptr<SharedContext> &shared() const { return context; }

private:
  struct Locked {};
  ContextHold(std::shared_ptr<SharedContext> context, Locked);
  std::shared_ptr<SharedContext> context; // null after a move
};

/// Destroys a module now, or, if another thread holds its context, when that one lets go. Never waits: whoever drops a program may hold
/// what the other thread is waiting for (Python's lock).
void destroyIn(const std::shared_ptr<SharedContext> &context, mlir::OwningOpRef<mlir::ModuleOp> module);

} // namespace tilewright
