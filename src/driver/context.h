// MLIR contexts own all types, attributes and locations that modules use, and never release any.
//
// Filling a context with dialects takes half a millisecond and half a megabyte, so a few contexts are reused. A context grows with every
// kernel, so each is used for a limited number of them. It is destroyed after the last program in it. Only one thread uses a context at a
// time: to compile in it, or to run a program from it.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace tilewright {

/// A context and its lock.
class SharedContext;

/// One thread's lock of a context, for the lifetime of this object. A thread may lock a context several times.
class ContextHold {
public:
  /// Locks any free context, for one compilation.
  static ContextHold any();
  /// Locks this context, and waits until it is free.
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

/// Destroys a module now or, if another thread holds its context, when that thread releases it. It never waits: this thread may hold a
/// lock that the other thread needs (Python's).
void destroyIn(const std::shared_ptr<SharedContext> &context, mlir::OwningOpRef<mlir::ModuleOp> module);

} // namespace tilewright
