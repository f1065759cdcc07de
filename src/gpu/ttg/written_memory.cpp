#include "gpu/ttg/written_memory.h"

#include "gpu/machine/ptx.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "ir/volatile_load.h"

#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;

namespace tilewright {

/// True if the operation writes no tensor, though it may have effects. Of tiles only operations of tt and ttg do; those of other dialects
/// compute, order and assume. Operations of ttg without a pointer or a tensor map access shared memory, tensor memory and barriers only.
static bool writesNoTensor(Operation *op) {
  bool isTtg = isa_and_nonnull<ttg::TTGDialect>(op->getDialect());
  if (!isTtg && !isa_and_nonnull<tt::TTDialect>(op->getDialect())) return true;
  if (isa<tt::LoadOp, tt::PrintOp, tt::AssertOp, tt::FuncOp, tt::ReturnOp>(op)) return true;
  if (isa<ttg::CopyAsyncOp, ttg::TmaLoadOp, ttg::DescriptorLoadOp>(op)) return true;
  auto isAddress = [](Type type) { return isa<tt::PointerType, ptx::TensorMapType>(getElementTypeOrSelf(type)); };
  if (isTtg && llvm::none_of(op->getOperandTypes(), isAddress)) return true;
  return op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() || isMemoryEffectFree(op);
}

std::optional<Value> ttg::writtenPointer(Operation *op) {
  auto tensorOf = [&](Value map) -> Value {
    ttg::TensorMapAttr recipe = ttg::tensorMapOf(map);
    return recipe ? op->getParentOfType<tt::FuncOp>().getArgument(static_cast<unsigned>(recipe.getBase())) : Value();
  };
  if (auto store = dyn_cast<tt::StoreOp>(op)) return store.getPtr();
  if (isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op)) return op->getOperand(0);
  if (auto store = dyn_cast<ttg::DescriptorStoreOp>(op)) return tensorOf(store.getMap());
  if (auto store = dyn_cast<ttg::TmaStoreOp>(op)) return tensorOf(store.getMap());
  return writesNoTensor(op) ? std::nullopt : std::optional(Value());
}

/// Adds the guards under which nothing in `within` writes what the load reads. False if there are none.
static bool addGuards(LaunchGuards &guards, tt::LoadOp load, Operation *within, bool passesAtomics) {
  WalkResult walk = within->walk([&](Operation *op) {
    if (!passesAtomics && isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op)) return WalkResult::interrupt();
    std::optional<Value> written = ttg::writtenPointer(op);
    if (!written) return WalkResult::advance();
    std::optional<LaunchGuard> guard = *written ? ttg::noAliasGuard(load.getPtr(), *written) : std::nullopt;
    if (!guard) return WalkResult::interrupt();
    guards.push_back(*guard);
    return WalkResult::advance();
  });
  return !walk.wasInterrupted();
}

Result<LaunchGuards> ttg::unwrittenGuards(tt::LoadOp load, Operation *within) {
  LaunchGuards guards;
  if (tt::isVolatileLoad(load)) return Failure{"it is volatile"};
  if (!addGuards(guards, load, within, /*passesAtomics=*/isa<tt::FuncOp>(within))) return Failure{"the loop may write what it reads"};
  return guards;
}

Result<LaunchGuards> ttg::unwrittenBeforeGuards(tt::LoadOp load) {
  LaunchGuards guards;
  if (tt::isVolatileLoad(load)) return Failure{"it is volatile"};
  Block &kernel = load->getParentOfType<tt::FuncOp>().getBody().front();
  Operation *outermost = kernel.findAncestorOpInBlock(*load);
  for (Operation &op : llvm::make_range(kernel.begin(), std::next(outermost->getIterator())))
    if (!addGuards(guards, load, &op, /*passesAtomics=*/false)) return Failure{"the kernel may write before what it reads"};
  return guards;
}

} // namespace tilewright
