#include "driver/context.h"

#include "codegen/lower.h"
#include "gpu/machine/ptx.h"
#include "gpu/ttg/ttg.h"
#include "ir/tt.h"

#include "mlir/IR/DialectRegistry.h"
#include "mlir/IR/MLIRContext.h"

#include <mutex>
#include <vector>

namespace tilewright {

/// Each compilation adds 50 to 300 KiB of attributes and locations to its context. This many compilations cost less than a new context
/// each.
constexpr int64_t compilationsOfOne = 64;
/// The maximum number of idle contexts: as many threads can compile without creating new ones.
constexpr size_t maxWaiting = 4;

static mlir::DialectRegistry allDialects() {
  mlir::DialectRegistry registry;
  tt::registerDialects(registry);
  registry.insert<ptx::PtxDialect, ttg::TTGDialect>();
  registerCodegenDialects(registry);
  return registry;
}

class SharedContext {
public:
  SharedContext() : context(allDialects(), mlir::MLIRContext::Threading::DISABLED) { context.loadAllAvailableDialects(); }

  mlir::MLIRContext context;
  std::recursive_mutex lock; // a callback of a running program may compile
  int64_t compilations = 0;  // guarded by the pool's lock

  /// Runs before the last unlock. A module that is dropped later waits for the next holder, or for the end of the context.
  void release() {
    std::vector<mlir::OwningOpRef<mlir::ModuleOp>> dropped;
    {
      std::lock_guard<std::mutex> guard(deadLock);
      dropped.swap(dead);
    }
    dropped.clear();
    lock.unlock();
  }

  std::mutex deadLock;
  std::vector<mlir::OwningOpRef<mlir::ModuleOp>> dead; // declared after the context, so it is destroyed first
};

namespace {
/// Never destroyed: threads may still compile while the process ends.
struct Pool {
  std::mutex lock;
  std::vector<std::shared_ptr<SharedContext>> contexts;
};
} // namespace

static Pool &pool() {
  static Pool &pool = *new Pool;
  return pool;
}

/// Takes a locked context from the pool; null if all are in use. A context that has reached its number of compilations leaves the pool.
static std::shared_ptr<SharedContext> takeFree() {
  std::lock_guard<std::mutex> guard(pool().lock);
  auto &contexts = pool().contexts;
  for (size_t i = 0; i < contexts.size(); ++i) {
    std::shared_ptr<SharedContext> found = contexts[i];
    if (!found->lock.try_lock()) continue;
    if (++found->compilations >= compilationsOfOne) contexts.erase(contexts.begin() + static_cast<ptrdiff_t>(i));
    return found;
  }
  return nullptr;
}

ContextHold ContextHold::any() {
  if (std::shared_ptr<SharedContext> found = takeFree()) return ContextHold(std::move(found), Locked());
  auto fresh = std::make_shared<SharedContext>();
  fresh->lock.lock();
  fresh->compilations = 1;
  std::lock_guard<std::mutex> guard(pool().lock);
  if (pool().contexts.size() < maxWaiting) pool().contexts.push_back(fresh);
  return ContextHold(std::move(fresh), Locked());
}

ContextHold::ContextHold(std::shared_ptr<SharedContext> wanted) : context(std::move(wanted)) {
  context->lock.lock();
}
ContextHold::ContextHold(std::shared_ptr<SharedContext> held, Locked) : context(std::move(held)) {}
ContextHold::ContextHold(ContextHold &&other) noexcept = default;
ContextHold::~ContextHold() {
  if (context) context->release();
}

void destroyIn(const std::shared_ptr<SharedContext> &context, mlir::OwningOpRef<mlir::ModuleOp> module) {
  if (!context->lock.try_lock()) {
    std::lock_guard<std::mutex> guard(context->deadLock);
    context->dead.push_back(std::move(module));
    return;
  }
  module = nullptr;
  context->release();
}

mlir::MLIRContext &ContextHold::operator*() const {
  return context->context;
}

} // namespace tilewright
