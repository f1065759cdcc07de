// MLIR contexts hold all types, attributes and locations that modules name, and never release any.
//
// It takes half a millisecond and half a megabyte to fill a context with dialects, so a few are kept for the next compilation. A
// context grows with every kernel, so each serves a bounded number of them, and is destroyed after the last program that was made
// in it. One thread uses a context at a time: it holds the context while it compiles there, or runs a program that lives there.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <memory>

namespace tilewright {

/// A context and its lock.
class SharedContext;

/// One thread's hold on a context, as long as this object lives. A thread may hold a context several times.
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

/// Destroys a module now or, if another thread holds its context, when that thread lets go. It never
/// waits: the thread that drops a program may hold what the other thread waits for (Python's lock).
void destroyIn(const std::shared_ptr<SharedContext> &context, mlir::OwningOpRef<mlir::ModuleOp> module);

} // namespace tilewright
