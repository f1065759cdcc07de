// Findings about shared memory: how loads fill it, what each buffer holds, and what conversions between layouts take.
#include "gpu/explain/findings.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "ir/address/indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/TypeSwitch.h"

#include <set>

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

/// Returns what an operand of a loop or of its end becomes: the carried value and the result. Nothing for other operands.
static SmallVector<Value, 2> carriedBy(OpOperand &use) {
  auto loop = dyn_cast<scf::ForOp>(isa<scf::YieldOp>(use.getOwner()) ? use.getOwner()->getParentOp() : use.getOwner());
  if (!loop) return {};
  auto index = static_cast<int64_t>(use.getOperandNumber()) - (loop == use.getOwner() ? loop.getNumControlOperands() : 0);
  if (index < 0) return {};
  return {loop.getRegionIterArg(static_cast<unsigned>(index)), loop.getResult(static_cast<unsigned>(index))};
}

bool isCarried(tt::LoadOp load) {
  return !load->use_empty() && llvm::all_of(load->getUses(), [](OpOperand &use) {
    SmallVector<Value, 2> carried = carriedBy(use);
    return isa<scf::YieldOp>(use.getOwner()) && !carried.empty() && !carried.front().use_empty();
  });
}

bool isStoredShared(tt::LoadOp load) {
  llvm::SetVector<Value> tiles;
  tiles.insert(load.getResult());
  for (size_t i = 0; i < tiles.size(); ++i)
    for (OpOperand &use : tiles[i].getUses()) {
      if (isa<ttg::StoreSharedOp>(use.getOwner())) return true;
      tiles.insert_range(carriedBy(use));
    }
  return false;
}

/// Returns how the operation moves a tile to or from shared memory, or early to registers; nothing if it does neither.
std::optional<Transfer> Explainer::Impl::transferBy(Operation *op) {
  return llvm::TypeSwitch<Operation *, std::optional<Transfer>>(op)
      .Case([&](ttg::TmaLoadOp o) {
        return Transfer{Transfer::By::tma, ttg::tensorMapOf(o.getMap()), stagesOf(o.getBuffer()), obstacleOf(op), takeRemarks(op),
                        o.getMulticast()};
      })
      .Case([&](ttg::TmaStoreOp o) { return Transfer{Transfer::By::tma, ttg::tensorMapOf(o.getMap()), std::nullopt, "", takeRemarks(op)}; })
      .Case([&](ttg::CopyAsyncOp o) { return Transfer{Transfer::By::copyAsync, {}, stagesOf(o.getBuffer())}; })
      .Case([&](tt::LoadOp o) -> std::optional<Transfer> {
        bool isStored = isStoredShared(o), isEarly = isCarried(o);
        if (!isStored && !isEarly) return std::nullopt;
        return Transfer{isStored ? Transfer::By::registers : Transfer::By::none, {}, std::nullopt, obstacleOf(op), "", false, isEarly};
      })
      .Default([](Operation *) { return std::nullopt; });
}

/// Records how a tile moves. A loop and its prologue have the same location: the loop says what is carried.
void Explainer::Impl::seeTransfer(Operation *op) {
  std::optional<Transfer> transfer = transferBy(op);
  for (FoundAccess &access : accesses) // several, if a loop was unrolled
    if (transfer && access.location == op->getLoc() && (!access.transfer || transfer->isCarried)) access.transfer = transfer;
}

void Explainer::Impl::seeBuffers(tt::FuncOp kernel) {
  ttg::ConfigAttr config = ttg::configOf(kernel);
  name = kernel.getName().str(), warps = config.getWarps(), stages = config.getStages();
  if (auto why = kernel->getAttrOfType<StringAttr>(ttg::notWarpSpecializedName)) noWarpSpecialization = why.str();
  for (BlockArgument argument : kernel.getArguments())
    argumentNames.push_back(address::nameOf(argument));
  tiles.afterBuffers = true;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults()) {
      if (!ttg::hasLayout(result.getType())) continue;
      TileLayout &entry = tiles[result.getType()];
      if (entry.late) tiles.addUse(result.getType(), TileLayouts::useBy(op, lineOf(op->getLoc())), true);
      entry.held = true;
    }
    seeTransfer(op);
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](ttg::ConvertLayoutOp o) { seeConversion(o); })
        .Case([&](ttg::AllocOp o) { seeBuffer(o); })
        .Case([&](ttg::MmaAsyncOp o) { seeRegisterOperand(o); })
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
  kernel.walk([&](ttg::Tcgen05MmaOp mma) { seeOperandParts(mma); });
  std::set<StringRef> texts;
  for (ttg::RemarkAttr remark : ttg::remarksOf(kernel)) // no step records remarks after this
    if (isa<LocationAttr>(remark.getAbout()) && !taken.contains(remark) && texts.insert(remark.getText()).second)
      kernelRemarks += "; " + remark.getText().str();
}

/// An MMA that starts with the first part of its operand A.
void Explainer::Impl::seeOperandParts(ttg::Tcgen05MmaOp op) {
  if (!op.getKRange() || op.getKRange()->front() != 0) return;
  for (FoundDot &dot : dots)
    if (dot.location == op->getLoc()) dot.firstColumns = op.getKRange()->back(), dot.columns = op.getB().getType().getShape()[0];
}

/// A first operand that stays in registers, because a dequantize partition writes the second one.
void Explainer::Impl::seeRegisterOperand(ttg::MmaAsyncOp op) {
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
  if (plan.kind <= Conversion::registers) return; // costs nothing
  if (plan.shuffle && plan.shuffle->shuffles() == 0 && plan.shuffle->selectCount() == 0) return;
  FoundConversion found{op.getLoc(), op.getType(), tiles.indexOf(from), tiles.indexOf(to), plan.shuffle};
  if (plan.scratch && !plan.shuffle) {
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
        .Case([&](ttg::FmaDotOp) { add({"read by multiply-add instructions, element by element"}); })
        .Default([&](Operation *o) { add({"accessed by " + o->getName().stripDialect().str()}); });
  }
  buffers.push_back(std::move(found));
}

} // namespace tilewright::gpu
