// Findings about shared memory: how loads fill it, what each buffer holds, and what conversions between layouts take.
#include "gpu/explain/findings.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "ir/address/indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

static int64_t stagesOf(Value buffer) {
  ttg::AllocOp alloc = allocOf(buffer);
  return alloc ? alloc.getType().getDepth() : 1;
}

static std::string obstacleOf(Operation *load) {
  auto reason = load->getAttrOfType<StringAttr>(ttg::notPipelinedName);
  return reason ? reason.str() : "";
}

/// Returns how the operation moves a tile to or from shared memory; nothing if it does not.
static std::optional<Transfer> transferBy(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Transfer>>(op)
      .Case([&](ttg::TmaLoadOp o) {
        return Transfer{Transfer::By::tma, ttg::tensorMapOf(o.getMap()), stagesOf(o.getBuffer()), obstacleOf(op), splitText(op),
                        o.getMulticast()};
      })
      .Case([&](ttg::TmaStoreOp o) { return Transfer{Transfer::By::tma, ttg::tensorMapOf(o.getMap()), std::nullopt, "", splitText(op)}; })
      .Case([&](ttg::CopyAsyncOp o) { return Transfer{Transfer::By::copyAsync, {}, stagesOf(o.getBuffer())}; })
      .Case([&](tt::LoadOp o) -> std::optional<Transfer> {
        bool isBuffered = llvm::any_of(o->getUsers(), [](Operation *user) { return isa<ttg::StoreSharedOp>(user); });
        if (!isBuffered) return std::nullopt;
        return Transfer{Transfer::By::registers, {}, std::nullopt, obstacleOf(op)};
      })
      .Default([](Operation *) { return std::nullopt; });
}

void Explainer::Impl::seeMachine(tt::FuncOp kernel) {
  ttg::ConfigAttr config = ttg::configOf(kernel);
  name = kernel.getName().str(), warps = config.getWarps(), stages = config.getStages();
  kernelRemarks = remarkText(kernel, "choose-cta-pairs") + remarkText(kernel, "choose-warps-and-ctas") + remarkText(kernel, "stage-rows");
  if (auto why = kernel->getAttrOfType<StringAttr>(ttg::notWarpSpecializedName)) noWarpSpecialization = why.str();
  for (BlockArgument argument : kernel.getArguments())
    argumentNames.push_back(address::nameOf(argument));
  tiles.afterBuffers = true;
  llvm::SmallPtrSet<const void *, 16> reported; // a loop and its prologue of copies have the same location
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults()) {
      if (!ttg::hasLayout(result.getType())) continue;
      TileLayout &entry = tiles[result.getType()];
      if (entry.late) tiles.addUse(result.getType(), lineOf(op->getLoc()), op->getName().stripDialect(), true);
      entry.held = true;
    }
    if (std::optional<Transfer> transfer = transferBy(op); transfer && reported.insert(op->getLoc().getAsOpaquePointer()).second)
      for (FoundAccess &access : accesses) // several, if a loop was unrolled
        if (access.location == op->getLoc()) access.transfers.push_back(*transfer);
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](ttg::ConvertLayoutOp o) { seeConversion(o); })
        .Case([&](ttg::AllocOp o) { seeBuffer(o); })
        .Case([&](ttg::MmaAsyncOp o) { seeOperand(o); })
        .Case([&](scf::ForOp o) { seeLoop(o); });
  });
}

/// What a partition does for the consumers.
static const char *workOf(Region &partition) {
  auto has = [&](auto op) { return partition.walk([](decltype(op)) { return WalkResult::interrupt(); }).wasInterrupted(); };
  if (has(ttg::Tcgen05MmaOp())) return "MMAs";
  if (has(ttg::TmaLoadOp()) || has(ttg::CopyAsyncOp())) return "copies";
  return has(ttg::TensorScaleOp()) ? "the correction of sums" : "dequantization";
}

void Explainer::Impl::seePartitions(tt::FuncOp kernel) {
  kernel.walk([&](ttg::WarpSpecializeOp op) {
    for (auto [region, warps] : llvm::zip(op.getPartitions(), op.getPartitionNumWarps()))
      partitions.push_back({warps, workOf(region)});
  });
  kernel.walk([&](ttg::Tcgen05MmaOp mma) { seePart(mma); });
}

/// An MMA that starts with the first part of its operand A.
void Explainer::Impl::seePart(ttg::Tcgen05MmaOp op) {
  if (!op.getKRange() || op.getKRange()->front() != 0) return;
  for (FoundDot &dot : dots)
    if (dot.location == op->getLoc()) dot.firstColumns = op.getKRange()->back(), dot.columns = op.getB().getType().getShape()[0];
}

/// A first operand that stays in registers, because a dequantize partition writes the second one.
void Explainer::Impl::seeOperand(ttg::MmaAsyncOp op) {
  if (!isa<RankedTensorType>(op.getA().getType())) return;
  for (FoundDot &dot : dots)
    if (dot.location == op->getLoc() && dot.a.storage == OperandStorage::shared) dot.a.storage = OperandStorage::dequantizedInRegisters;
}

static BankAccess accessBy(const Layout &layout, const SharedLayout &shared, const std::optional<MatrixPlan> &matrix) {
  if (matrix) return {true, matrix->transposed, 0, matrix->conflicts};
  int64_t bytes = vectorAccess(layout, shared).bytes;
  return {false, false, bytes, bankConflicts(layout, shared, bytes)};
}

void Explainer::Impl::seeConversion(ttg::ConvertLayoutOp op) {
  Layout from = ttg::layoutOf(op.getSrc().getType()), to = ttg::layoutOf(op.getType());
  Type element = cast<RankedTensorType>(op.getType()).getElementType();
  ConversionPlan plan = planConversion(from, to, element, *target);
  if (plan.kind <= Conversion::registers || (plan.shuffle && plan.shuffle->shuffles() == 0)) return; // costs nothing
  FoundConversion found{op.getLoc(), op.getType(), tiles.indexOf(from), tiles.indexOf(to)};
  if (plan.shuffle) {
    found.shuffles = plan.shuffle->shuffles();
  } else if (plan.scratch) {
    const SharedLayout &shared = plan.scratch->shared;
    found.scratchBytes = shared.bytes();
    found.write = accessBy(from, shared, matricesWritten(from, shared, element, plan.scratch->storeMatrix.has_value()));
    found.read = accessBy(to, shared, matricesRead(to, shared, element));
  }
  conversions.push_back(std::move(found));
}

/// Sets the order of the elements.
static void setOrder(FoundBuffer &buffer, const SharedLayout &shared) {
  std::optional<TileSwizzle> swizzle = spanOf(shared);
  bool isPermutation = llvm::all_of(shared.bases, [](uint32_t basis) { return llvm::isPowerOf2_32(basis); });
  if (!shared.isBijection()) {
    buffer.order = FoundBuffer::Order::padded;
  } else if (!swizzle) {
    buffer.order = isPermutation ? FoundBuffer::Order::reordered : FoundBuffer::Order::chunks;
  } else {
    buffer.swizzleBytes = swizzle->spanBytes;
    if (swizzle->order[0] + 1 != int64_t(shared.shape.size())) buffer.dim = swizzle->order[0];
  }
}

void Explainer::Impl::seeBuffer(ttg::AllocOp op) {
  ttg::BufferType type = op.getType();
  FoundBuffer found{op.getLoc(), RankedTensorType::get(type.getShape(), type.getElementType()), type.getDepth(),
                    type.getDepth() * stageBytes(op)};
  if (auto offset = op->getAttrOfType<IntegerAttr>(ttg::offsetName)) found.offset = offset.getInt();
  setOrder(found, type.getLayout().layout());
  for (Operation *access : accessesOf(op)) {
    auto layoutOf = [](Value buffer) { return cast<ttg::BufferType>(buffer.getType()).getLayout().layout(); };
    auto add = [&](FoundBuffer::Access by) { found.accesses.push_back(by); };
    llvm::TypeSwitch<Operation *>(access)
        .Case([&](ttg::LoadSharedOp o) {
          Layout layout = ttg::layoutOf(o.getType());
          SharedLayout read = layoutOf(o.getBuffer());
          add({"read", tiles.indexOf(layout), accessBy(layout, read, matricesRead(layout, read, type.getElementType()))});
        })
        .Case([&](ttg::StoreSharedOp o) {
          Layout layout = ttg::layoutOf(o.getSrc().getType());
          SharedLayout written = layoutOf(o.getBuffer());
          std::optional<MatrixPlan> matrices = matricesWritten(layout, written, type.getElementType(), target->stmatrix);
          add({"written", tiles.indexOf(layout), accessBy(layout, written, matrices)});
        })
        .Case([&](ttg::CopyAsyncOp o) { add({"written by cp.async", tiles.indexOf(ttg::layoutOf(o.getPointers().getType()))}); })
        .Case([&](ttg::TmaLoadOp) { add({"written by TMA"}); })
        .Case([&](ttg::TmaStoreOp) { add({"read by TMA"}); })
        .Case([&](ttg::MmaAsyncOp) { add({"read by wgmma"}); })
        .Case([&](ttg::Tcgen05MmaOp) { add({"read by tcgen05.mma"}); })
        .Case([&](ttg::FmaDotOp) { add({"read by multiply-add instructions, element by element"}); });
  }
  buffers.push_back(std::move(found));
}

} // namespace tilewright::gpu
