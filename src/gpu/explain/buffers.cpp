// Remarks on shared memory: how loads fill it, what each buffer holds, and what conversions between layouts take.
#include "gpu/explain/findings.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "gpu/ttg/kernel_target.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "ir/address/indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

/// "{64, 128}".
template <typename Range> static std::string braced(const Range &parts) {
  return "{" + llvm::join(parts, ", ") + "}";
}

static std::string swizzleText(const SharedLayout &shared) {
  std::optional<TileSwizzle> swizzle = spanOf(shared);
  if (!shared.isBijection()) return "with padding";
  if (!swizzle && llvm::all_of(shared.bases, [](uint32_t basis) { return llvm::isPowerOf2_32(basis); })) return "reordered";
  if (!swizzle) return "16-byte chunks swizzled";
  if (swizzle->spanBytes == 0) return "not swizzled";
  return "swizzle " + std::to_string(swizzle->spanBytes) +
         (swizzle->order[0] + 1 == int64_t(shared.shape.size()) ? "" : ", dimension " + std::to_string(swizzle->order[0]) + " contiguous");
}

static std::string polynomialText(tt::FuncOp kernel, Attribute terms) {
  std::vector<std::string> parts;
  for (Attribute term : cast<ArrayAttr>(terms)) {
    ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(term).asArrayRef();
    std::string part = numbers[0] == 1 && numbers.size() > 1 ? "" : std::to_string(numbers[0]);
    for (int64_t argument : numbers.drop_front())
      part += (part.empty() ? "" : "*") + address::nameOf(kernel.getArgument(static_cast<unsigned>(argument)));
    parts.push_back(part);
  }
  return parts.empty() ? "any" : llvm::join(parts, " + ");
}

static std::string mapText(tt::FuncOp kernel, Value map) {
  ttg::TensorMapAttr recipe = ttg::tensorMapOf(map);
  if (!recipe) return "a tensor";
  std::vector<std::string> dims, strides, box;
  for (Attribute bound : recipe.getDims())
    dims.push_back(polynomialText(kernel, bound));
  for (Attribute stride : recipe.getStrides())
    strides.push_back(polynomialText(kernel, stride));
  for (int64_t extent : recipe.getBox().asArrayRef())
    box.push_back(std::to_string(extent));
  return address::nameOf(kernel.getArgument(static_cast<unsigned>(recipe.getBase()))) + " by TMA: dims " + braced(dims) + ", strides " +
         braced(strides) + ", box " + braced(box) + ", swizzle " + std::to_string(recipe.getSwizzle());
}

static std::string notPipelinedText(Operation *load) {
  auto reason = load->getAttrOfType<StringAttr>(ttg::notPipelinedName);
  return reason ? "; not prefetched: " + reason.str() : "";
}

static std::string depthText(Value buffer) {
  ttg::AllocOp alloc = allocOf(buffer);
  int64_t depth = alloc ? alloc.getType().getDepth() : 1;
  return depth > 1 ? ", in " + countText(depth, "stage") : ", without prefetching";
}

void Explainer::Impl::seeMachine(tt::FuncOp kernel) {
  ttg::ConfigAttr config = ttg::configOf(kernel);
  GpuTarget target = *ttg::targetOf(kernel);
  name = kernel.getName().str();
  sharedMax = target.sharedBytes;
  heading = name + " for cuda:" + config.getTarget().str() + ": " + countText(config.getWarps(), "warp") + ", num_stages " +
            std::to_string(config.getStages());
  heading += remarkText(kernel, "choose-warps-and-ctas");
  if (auto why = kernel->getAttrOfType<StringAttr>(ttg::notWarpSpecializedName)) heading += "; no warp specialization: " + why.str();
  llvm::SmallPtrSet<const void *, 16> reported; // a loop and its prologue of copies have the same location
  auto add = [&](Operation *op, const std::string &text) {
    if (!reported.insert(op->getLoc().getAsOpaquePointer()).second) return;
    for (FoundAccess &access : accesses) // several, if a loop was unrolled
      if (access.location == op->getLoc()) access.copies += text;
  };
  tiles.afterBuffers = true;
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    for (Value result : op->getResults()) {
      if (!ttg::hasLayout(result.getType())) continue;
      TileLayout &entry = tiles[result.getType()];
      if (entry.late) tiles.addUse(result.getType(), lineOf(op->getLoc()), op->getName().stripDialect(), true);
      entry.held = true;
    }
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](ttg::TmaLoadOp o) {
          add(op, mapText(kernel, o.getMap()) + depthText(o.getBuffer()) + notPipelinedText(op) + splitText(op) +
                      (o.getMulticast() ? ": each loads a part and multicasts it" : ""));
        })
        .Case([&](ttg::TmaStoreOp o) { add(op, mapText(kernel, o.getMap()) + splitText(op)); })
        .Case([&](ttg::CopyAsyncOp o) { add(op, "; by cp.async" + depthText(o.getBuffer())); })
        .Case([&](tt::LoadOp o) {
          bool buffered = llvm::any_of(o->getUsers(), [](Operation *user) { return isa<ttg::StoreSharedOp>(user); });
          if (buffered) add(op, "; through registers to shared memory" + notPipelinedText(op));
        })
        .Case([&](ttg::ConvertLayoutOp o) { seeConversion(o, target); })
        .Case([&](ttg::AllocOp o) { seeBuffer(o, target); })
        .Case([&](ttg::MmaAsyncOp o) { seeOperand(o); })
        .Case([&](scf::ForOp o) { seeLoop(o); });
  });
}

/// What a partition does for the consumers, as text.
static std::string workOf(Region &partition) {
  auto has = [&](auto op) { return partition.walk([](decltype(op)) { return WalkResult::interrupt(); }).wasInterrupted(); };
  if (has(ttg::Tcgen05MmaOp())) return "MMAs";
  if (has(ttg::TmaLoadOp()) || has(ttg::CopyAsyncOp())) return "copies";
  return has(ttg::TensorScaleOp()) ? "the correction of sums" : "dequantization";
}

void Explainer::Impl::seePartitions(tt::FuncOp kernel) {
  kernel.walk([&](ttg::WarpSpecializeOp op) {
    SmallVector<std::string> partitions;
    for (auto [region, warps] : llvm::zip(op.getPartitions(), op.getPartitionNumWarps()))
      partitions.push_back(countText(warps, "warp") + " for " + workOf(region));
    heading += "; warp specialization: " + llvm::join(partitions, ", ");
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
    if (dot.location == op->getLoc() && dot.a == OperandStorage::shared) dot.a = OperandStorage::dequantizedInRegisters;
}

static std::string sharedAccessText(const Layout &layout, const SharedLayout &shared, const std::optional<MatrixPlan> &matrix) {
  auto conflicts = [](int64_t extra) {
    return extra ? " with " + countText(extra, "extra wavefront") + " for bank conflicts" : std::string(" without bank conflicts");
  };
  if (matrix) return std::string("as 8x8 matrices") + (matrix->transposed ? ", transposed," : "") + conflicts(matrix->conflicts);
  int64_t bytes = vectorAccess(layout, shared).bytes;
  return countText(bytes, "byte") + " at a time" + conflicts(bankConflicts(layout, shared, bytes));
}

void Explainer::Impl::seeConversion(ttg::ConvertLayoutOp op, const GpuTarget &target) {
  Layout from = ttg::layoutOf(op.getSrc().getType()), to = ttg::layoutOf(op.getType());
  auto tile = cast<RankedTensorType>(op.getType());
  ConversionPlan plan = planConversion(from, to, tile.getElementType(), target);
  if (plan.kind <= Conversion::registers || (plan.shuffle && plan.shuffle->shuffles() == 0)) return; // costs nothing
  std::string text = tileText(tile) + " from " + tiles.nameOf(from) + " to " + tiles.nameOf(to) + ": ";
  if (plan.shuffle) {
    text += countText(plan.shuffle->shuffles(), "shuffle") + " within warps";
  } else if (plan.scratch) {
    const ScratchPlan &scratch = *plan.scratch;
    text += "through " + countText(scratch.shared.bytes(), "byte") + " of shared memory, written " +
            sharedAccessText(from, scratch.shared,
                             matricesWritten(from, scratch.shared, tile.getElementType(), scratch.storeMatrix.has_value())) +
            ", read " + sharedAccessText(to, scratch.shared, matricesRead(to, scratch.shared, tile.getElementType()));
  } else {
    text += "between CTAs";
  }
  conversions.push_back({op.getLoc(), text});
}

void Explainer::Impl::seeBuffer(ttg::AllocOp op, const GpuTarget &target) {
  ttg::BufferType type = op.getType();
  SharedLayout shared = type.getLayout().layout();
  auto offset = op->getAttrOfType<IntegerAttr>(ttg::offsetName);
  std::string text = tileText(RankedTensorType::get(type.getShape(), type.getElementType())) + ", " +
                     (type.getDepth() > 1 ? countText(type.getDepth(), "stage") + ", " : "") +
                     countText(type.getDepth() * stageBytes(op), "byte") +
                     (offset ? " at offset " + std::to_string(offset.getInt()) : std::string()) + ", " + swizzleText(shared) + ":";
  std::vector<std::string> parts;
  for (Operation *access : accessesOf(op)) {
    std::string part;
    auto bufferOf = [](Value value) { return cast<ttg::BufferType>(value.getType()).getLayout().layout(); };
    llvm::TypeSwitch<Operation *>(access)
        .Case([&](ttg::LoadSharedOp o) {
          Layout layout = ttg::layoutOf(o.getType());
          part = "read in " + tiles.nameOf(layout) + " " +
                 sharedAccessText(layout, bufferOf(o.getBuffer()), matricesRead(layout, bufferOf(o.getBuffer()), type.getElementType()));
        })
        .Case([&](ttg::StoreSharedOp o) {
          Layout layout = ttg::layoutOf(o.getSrc().getType());
          SharedLayout written = bufferOf(o.getBuffer());
          part = "written in " + tiles.nameOf(layout) + " " +
                 sharedAccessText(layout, written, matricesWritten(layout, written, type.getElementType(), target.stmatrix));
        })
        .Case([&](ttg::CopyAsyncOp o) { part = "written by cp.async in " + tiles.nameOf(ttg::layoutOf(o.getPointers().getType())); })
        .Case([&](ttg::TmaLoadOp) { part = "written by TMA"; })
        .Case([&](ttg::TmaStoreOp) { part = "read by TMA"; })
        .Case([&](ttg::MmaAsyncOp) { part = "read by wgmma"; })
        .Case([&](ttg::Tcgen05MmaOp) { part = "read by tcgen05.mma"; })
        .Case([&](ttg::FmaDotOp) { part = "read by multiply-add instructions, element by element"; });
    if (!part.empty() && !llvm::is_contained(parts, part)) parts.push_back(part);
  }
  buffers.push_back({op.getLoc(), text + " " + llvm::join(parts, "; ")});
}

} // namespace tilewright::gpu
