// Kernels of the dialect: passes over them, what they assume about launches, and what passes say about them.
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/kernel_target.h"
#include "gpu/ttg/tile_equivalence.h"
#include "gpu/ttg/ttg.h"
#include "ir/refusal.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Iterators.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::ttg;

ConfigAttr ttg::configOf(Operation *function) {
  return function->getAttrOfType<ConfigAttr>(configName);
}

WarpSpecializeOp ttg::partitionsAtEnd(tt::FuncOp kernel) {
  return dyn_cast_or_null<WarpSpecializeOp>(kernel.getBody().front().getTerminator()->getPrevNode());
}

std::optional<GpuTarget> ttg::targetOf(Operation *op) {
  auto kernel = isa<tt::FuncOp>(op) ? cast<tt::FuncOp>(op) : op->getParentOfType<tt::FuncOp>();
  ConfigAttr config = kernel ? configOf(kernel) : ConfigAttr();
  return config ? gpuTarget(config.getTarget().getValue()) : std::nullopt;
}

LogicalResult ttg::onKernels(ModuleOp module, function_ref<LogicalResult(tt::FuncOp, ConfigAttr, const GpuTarget &)> pass) {
  for (auto function : llvm::make_early_inc_range(module.getOps<tt::FuncOp>())) {
    ConfigAttr config = configOf(function);
    if (!config) return bug(function, "this kernel has no " + configName.str());
    if (!llvm::isPowerOf2_64(static_cast<uint64_t>(config.getWarps())) || config.getCtas() < 1)
      return bug(function, "the number of its warps is not a power of two, or it has no CTA");
    std::optional<GpuTarget> target = targetOf(function);
    if (!target) return bug(function, "unknown GPU target " + config.getTarget().str());
    if (failed(pass(function, config, *target))) return failure();
  }
  return success();
}

namespace {
/// Verifies what onKernelsWithLayouts guarantees, operation by operation. Each type is checked once.
class LayoutCheck {
public:
  explicit LayoutCheck(int64_t warps) : warps(warps) {}

  LogicalResult check(Operation *op) {
    for (TypeRange types : {TypeRange(op->getOperandTypes()), TypeRange(op->getResultTypes())})
      for (Type type : types)
        if (failed(check(op, type))) return failure();
    for (Region &region : op->getRegions())
      for (Block &block : region)
        for (Value argument : block.getArguments())
          if (failed(check(op, argument.getType()))) return failure();
    return agree(op) || !(gpu::isElementwiseOnTiles(op) || isa<tt::LoadOp, tt::StoreOp>(op)) ? success()
                                                                                             : bug(op, "its tiles have different layouts");
  }

private:
  /// True if all tiles of the operation have one layout.
  static bool agree(Operation *op) {
    Attribute first;
    auto agrees = [&](Type type) {
      auto tile = dyn_cast<RankedTensorType>(type);
      if (tile && !first) first = tile.getEncoding();
      return !tile || tile.getEncoding() == first;
    };
    return llvm::all_of(op->getOperandTypes(), agrees) && llvm::all_of(op->getResultTypes(), agrees);
  }
  LogicalResult checkBuffer(Operation *op, BufferType type) {
    gpu::SharedLayout layout = type.getLayout().layout();
    if (type.getDepth() < 1 || !layout.isInjective())
      return bug(op, "the buffer does not have an offset for each element: " + mlirText(type));
    if (layout.elementBits != memoryBits(type.getElementType()))
      return bug(op, "the buffer and its layout have different elements: " + mlirText(type));
    known.insert(type);
    return success();
  }

  LogicalResult check(Operation *op, Type type) {
    if (known.contains(type)) return success();
    if (auto buffer = dyn_cast<BufferType>(type)) return checkBuffer(op, buffer);
    if (auto barriers = dyn_cast<BarriersType>(type); barriers && barriers.getCount() < 1) return bug(op, "there are no barriers");
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile) return success();
    if (!hasLayout(tile)) return bug(op, "this tile has no layout; assign-layouts must run first: " + mlirText(tile));
    gpu::Layout layout = layoutOf(tile);
    if (ArrayRef<int64_t>(layout.shape) != tile.getShape())
      return bug(op, "the layout and its tile have different shapes: " + mlirText(tile));
    if (layout != layout.dropRepeatedRegisters()) return bug(op, "registers of the layout hold the same elements: " + mlirText(tile));
    if (layout.bits(gpu::Axis::lane) != gpu::laneBits || !suitsWarps(layout) || !layout.isSurjective())
      return bug(op, "the layout does not cover all elements of its tile with the " + std::to_string(warps) +
                         " warps that run this operation: " + mlirText(tile));
    known.insert(tile);
    return success();
  }

  /// A layout for more warps suits if the others would only hold copies.
  bool suitsWarps(const gpu::Layout &layout) const {
    ArrayRef<uint32_t> bases = layout.basesOf(gpu::Axis::warp);
    size_t bits = llvm::Log2_64(static_cast<uint64_t>(warps));
    return bases.size() >= bits && llvm::all_of(bases.drop_front(bits), [](uint32_t basis) { return basis == 0; });
  }

  int64_t warps;
  DenseSet<Type> known;
};
} // namespace

/// Tiles in a partition have layouts for its warps.
static WalkResult checkLayouts(Region &region, int64_t warps) {
  LayoutCheck layouts(warps);
  return region.walk<WalkOrder::PreOrder>([&](Operation *op) -> WalkResult {
    if (failed(layouts.check(op))) return WalkResult::interrupt();
    auto partitions = dyn_cast<WarpSpecializeOp>(op);
    if (!partitions) return WalkResult::advance();
    WalkResult checked = checkLayouts(partitions.getDefaultRegion(), warps);
    for (auto [partition, partitionWarps] : llvm::zip(partitions.getPartitions(), partitions.getPartitionNumWarps()))
      if (!checked.wasInterrupted()) checked = checkLayouts(partition, partitionWarps);
    return checked.wasInterrupted() ? checked : WalkResult::skip();
  });
}

LogicalResult ttg::onKernelsWithLayouts(ModuleOp module, function_ref<LogicalResult(tt::FuncOp, ConfigAttr, const GpuTarget &)> pass) {
  return onKernels(module, [&](tt::FuncOp function, ConfigAttr config, const GpuTarget &target) -> LogicalResult {
    if (failed(LayoutCheck(config.getWarps()).check(function))) return failure(); // its arguments
    return checkLayouts(function.getBody(), config.getWarps()).wasInterrupted() ? failure() : pass(function, config, target);
  });
}

void ttg::eraseDead(Operation *root) {
  // Users before operands, inner operations before enclosing ones.
  root->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    if (op != root && isOpTriviallyDead(op)) op->erase();
  });
}

Partition ttg::partitionOf(Operation *op) {
  auto partition = op->getAttrOfType<PartitionAttr>(partitionName);
  return partition ? partition.getValue() : Partition::consumers;
}

bool ttg::isDebugBarrier(Operation *op) {
  return op->getName().getStringRef() == "gpu.barrier";
}

void ttg::setPartition(Operation *op, Partition partition) {
  op->setAttr(partitionName, PartitionAttr::get(op->getContext(), partition));
}

//===---------------------------------------------------------------------------------------------------------------- launch guards

address::FailedGuards ttg::failedGuardsOf(tt::FuncOp kernel) {
  address::FailedGuards failedGuards;
  if (auto names = kernel->getAttrOfType<ArrayAttr>(failedGuardsName))
    for (auto name : names.getAsRange<StringAttr>())
      failedGuards.insert(name.getValue());
  return failedGuards;
}

void ttg::relyOn(tt::FuncOp kernel, ArrayRef<LaunchGuard> guards) {
  SmallVector<Attribute> all;
  if (auto before = kernel->getAttrOfType<ArrayAttr>(guardsName)) all.assign(before.begin(), before.end());
  for (const LaunchGuard &guard : guards) {
    MLIRContext *context = kernel.getContext();
    Attribute made = LaunchGuardAttr::get(context, StringAttr::get(context, guard.name), DenseI64ArrayAttr::get(context, numbersOf(guard)));
    if (!llvm::is_contained(all, made)) all.push_back(made);
  }
  if (!all.empty()) kernel->setAttr(guardsName, ArrayAttr::get(kernel.getContext(), all));
}

std::optional<LaunchGuard> ttg::noAliasGuard(Value pointer, Value other) {
  BlockArgument a = address::baseArgument(pointer), b = address::baseArgument(other);
  if (!a || !b || a == b) return {};
  if (a.getArgNumber() > b.getArgNumber()) std::swap(a, b);
  auto kernel = cast<tt::FuncOp>(a.getOwner()->getParentOp());
  LaunchGuard guard{address::nameOf(a) + " and " + address::nameOf(b) + " do not overlap",
                    {},
                    0,
                    0,
                    int64_t(a.getArgNumber()),
                    int64_t(b.getArgNumber())};
  address::FailedGuards failedGuards = failedGuardsOf(kernel);
  return failedGuards.contains(everyGuard) || failedGuards.contains(guard.name) ? std::nullopt : std::optional(guard);
}

//===---------------------------------------------------------------------------------------------------------------- remarks

void ttg::remark(tt::FuncOp kernel, StringRef pass, Attribute about, StringRef text) {
  SmallVector<Attribute> all;
  if (auto before = kernel->getAttrOfType<ArrayAttr>(remarksName)) all.assign(before.begin(), before.end());
  Attribute made = RemarkAttr::get(kernel.getContext(), pass, about, text);
  if (!llvm::is_contained(all, made)) all.push_back(made); // an unrolled operation has several copies
  kernel->setAttr(remarksName, ArrayAttr::get(kernel.getContext(), all));
}

SmallVector<ttg::RemarkAttr> ttg::remarksOf(tt::FuncOp kernel) {
  auto all = kernel->getAttrOfType<ArrayAttr>(remarksName);
  return all ? llvm::to_vector(all.getAsRange<RemarkAttr>()) : SmallVector<RemarkAttr>();
}
