// Remarks on tiles: which layout each has, how wide the accesses to memory are, how dots and reductions are computed.
#include "gpu/cost_model/hardware.h"
#include "gpu/explain/findings.h"
#include "gpu/tiles/layouts/layout_cost.h"
#include "gpu/tiles/mma/scaled_dot_choice.h"
#include "gpu/ttg/demanded_extent.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/kernel_target.h"
#include "gpu/ttg/mma_extent.h"
#include "ir/address/indices.h"
#include "ir/scaled_dot.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/TypeSwitch.h"

#include <bit>
#include <map>

using namespace mlir;

namespace tilewright::gpu {

std::string remarkText(Operation *op, StringRef pass) {
  auto kernel = isa<tt::FuncOp>(op) ? cast<tt::FuncOp>(op) : op->getParentOfType<tt::FuncOp>();
  std::string text = ttg::remarksOf(kernel, pass, op->getLoc());
  return text.empty() ? "" : "; " + text;
}

std::string splitText(Operation *op) {
  return remarkText(op, "split-ctas");
}

/// Returns the name of the kernel's argument that a pointer is derived from.
static std::string baseOf(Value pointer) {
  BlockArgument base = address::baseArgument(pointer);
  return base ? address::nameOf(base) : "memory";
}

/// Numbers the layouts in source order, which differs from the order of the operations.
void Explainer::Impl::nameLayouts(tt::FuncOp kernel) {
  std::map<SourceLine, std::vector<Layout>> found;
  kernel.walk([&](Operation *op) {
    for (Value result : op->getResults())
      if (ttg::hasLayout(result.getType()) && !TileLayouts::isPlumbing(op->getName().stripDialect()))
        found[lineOf(op->getLoc())].push_back(ttg::layoutOf(result.getType()));
  });
  for (const auto &[where, layouts] : found)
    if (where.line)
      for (const Layout &layout : layouts)
        tiles.indexOf(layout);
}

void Explainer::Impl::seeTiles(tt::FuncOp kernel) {
  file = sourceFileOf(kernel);
  nameLayouts(kernel);
  for (TileLayout &tile : tiles.all)
    tile.choice = ttg::remarksOf(kernel, "assign-layouts", ttg::LayoutAttr::get(kernel.getContext(), tile.layout));
  AxisAnalysis axes(kernel);
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getParentOfType<tt::ReduceOp>() || op->getParentOfType<tt::ScanOp>()) return;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (Value carried : loop.getRegionIterArgs())
        tiles.addUse(carried.getType(), lineOf(op->getLoc()), "carried by the loop", true);
    bool moves = isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, ttg::DescriptorLoadOp, ttg::DescriptorStoreOp>(op);
    bool worth = moves || isa<tt::DotOp, tt::DotScaledOp, tt::ReduceOp, tt::ScanOp, tt::HistogramOp, tt::GatherOp>(op);
    if (isa<tt::StoreOp, ttg::DescriptorStoreOp>(op))
      tiles.addUse((isa<tt::StoreOp>(op) ? cast<tt::StoreOp>(op).getValue() : op->getOperand(0)).getType(), lineOf(op->getLoc()), "store",
                   true);
    if (!isa<scf::ForOp, scf::IfOp>(op))
      for (Value result : op->getResults())
        tiles.addUse(result.getType(), lineOf(op->getLoc()), op->getName().stripDialect(), worth);
    if (auto dot = dyn_cast<tt::DotOp>(op)) seeDot(dot);
    if (auto dot = dyn_cast<tt::DotScaledOp>(op)) seeScaledDot(dot);
    if (auto reduce = dyn_cast<tt::ReduceOp>(op)) seeReduction(reduce);
    if (moves) seeAccess(op, axes);
  });
}

/// Records the strides of accesses, while the addresses have no layouts yet.
void Explainer::Impl::seeAddresses(tt::FuncOp kernel) {
  file = sourceFileOf(kernel);
  kernel.walk([&](Operation *op) {
    if (!isa<tt::LoadOp, tt::StoreOp>(op)) return;
    Value pointer = op->getOperand(0);
    if (std::string text = stepsText(kernel, pointer); !text.empty()) steps[op->getLoc()] = text;
  });
}

/// Returns the instruction for operands of this width.
static std::string mmaOf(Operation *dot, int64_t bits) {
  if (ttg::targetOf(dot)->deepMma) return "mma.sync m16n8k" + std::to_string(256 / bits);
  return bits == 8 ? "mma.sync m8n8k16" : "mma.sync m16n8k" + std::to_string(128 / bits);
}

void Explainer::Impl::seeDot(tt::DotOp dot) {
  auto choice = dot->getAttrOfType<ttg::DotChoiceAttr>(ttg::dotChoiceName);
  Type a = dot.getA().getType(), b = dot.getB().getType();
  int64_t step = 256 / ttg::memoryBits(a);
  FoundDot found{
      dot.getLoc(), tileText(a) + " * " + tileText(b) + " -> " + tileText(dot.getType()), {}, choice.getReason().str(), splitText(dot)};
  switch (choice.getKind()) {
  case ttg::MmaKind::wgmma:
    found.instruction = "wgmma m64n" + std::to_string(std::min(choice.getColumns(), mmaExtent(dot)[1])) + "k" + std::to_string(step);
    if (!choice.getAInRegisters()) break;
    found.a = OperandStorage::registers;
    tiles.families.push_back({ttg::layoutOf(a), "operand A of " + found.instruction});
    break;
  case ttg::MmaKind::tcgen05:
    found.instruction = "tcgen05.mma m" + std::to_string(std::min(ttg::shapeOf(a)[0], tensorMemoryLanes)) + "n" +
                        std::to_string(choice.getColumns()) + "k" + std::to_string(step);
    if (!choice.getAInRegisters()) break;
    found.a = OperandStorage::tensorMemory;
    break;
  case ttg::MmaKind::mma:
    found.instruction = mmaOf(dot, ttg::memoryBits(a));
    found.a = found.b = OperandStorage::registers;
    tiles.families.push_back({ttg::layoutOf(a), "operand A of " + found.instruction});
    tiles.families.push_back({ttg::layoutOf(b), "operand B of " + found.instruction});
    break;
  case ttg::MmaKind::fma: found.instruction = "multiply-add"; break;
  }
  bool threads = choice.getKind() == ttg::MmaKind::fma;
  tiles.families.push_back({ttg::layoutOf(dot.getType()), (threads ? "result of " : "accumulator of ") + found.instruction});
  if (threads) found.instruction += " instructions";
  std::string better = threads ? "tensor cores" : ttg::targetOf(dot)->tcgen05 ? "tcgen05.mma" : "wgmma";
  if (!found.reason.empty()) found.reason = "; no " + better + ": " + found.reason;
  dots.push_back(std::move(found));
}

void Explainer::Impl::seeScaledDot(tt::DotScaledOp dot) {
  ScaledMma mma = *scaledMma(dot, *ttg::targetOf(dot), ttg::configOf(dot->getParentOfType<tt::FuncOp>()).getWarps());
  tt::ScaledOperand a = tt::leftOf(dot), b = tt::rightOf(dot);
  std::string depth = std::to_string(a.depth());
  std::string instruction = "mma.sync m16n8k";
  if (mma.tcgen05) instruction = "tcgen05.mma m128n" + std::to_string(std::min(b.outer(), tcgen05MaxColumns)) + "k";
  OperandStorage storage = mma.tcgen05 ? OperandStorage::shared : OperandStorage::registers;
  FoundDot found{dot.getLoc(),
                 std::to_string(a.outer()) + "x" + depth + " " + tt::stringifyScaleDotElemType(a.format).str() + " * " + depth + "x" +
                     std::to_string(b.outer()) + " " + tt::stringifyScaleDotElemType(b.format).str() + " -> " + tileText(dot.getType()),
                 instruction + std::to_string(mma.k()) + " " + std::string(nameOf(mma.kind)),
                 "",
                 splitText(dot),
                 storage,
                 storage,
                 /*hasScales=*/mma.tcgen05 || mma.vector};
  if (!mma.tcgen05) {
    tiles.families.push_back({ttg::layoutOf(dot.getA().getType()), "operand A of " + found.instruction});
    tiles.families.push_back({ttg::layoutOf(dot.getB().getType()), "operand B of " + found.instruction});
  }
  tiles.families.push_back({ttg::layoutOf(dot.getType()), "accumulator of " + found.instruction});
  dots.push_back(std::move(found));
}

void Explainer::Impl::seeReduction(tt::ReduceOp reduce) {
  Type tile = reduce.getSrcs().front().getType();
  Layout layout = ttg::layoutOf(tile);
  int64_t dim = reduce.getAxis();
  std::optional<ReductionPlan> plan = reductionPlan(layout, dim);
  std::string text = tileText(tile) + " in " + tiles.nameOf(layout) + " along dimension " + std::to_string(dim) + ": ";
  if (!plan) {
    text += "after a conversion to another layout";
  } else {
    int64_t results = layout.registersPerThread() >> std::popcount(plan->registerMask), steps = std::popcount(plan->laneMask);
    results *= static_cast<int64_t>(reduce.getSrcs().size());
    text += countText(int64_t(1) << std::popcount(plan->registerMask), "element") + " in each thread, " +
            (steps ? countText(results * steps, "shuffle") + " in " + countText(steps, "step") : "no shuffles") + ", " +
            (plan->warpMask ? std::to_string(int64_t(1) << std::popcount(plan->warpMask)) + " warps exchange through shared memory"
                            : "within one warp");
  }
  reductions.push_back({reduce.getLoc(), text + splitText(reduce)});
}

static const char *verbOf(std::optional<ttg::Reduction> reduction) {
  if (!reduction) return " to ";
  return *reduction == ttg::Reduction::add ? " added to " : " atomically combined with ";
}

void Explainer::Impl::seeAccess(Operation *op, const AxisAnalysis &axes) {
  Value pointer, mask;
  Type type;
  const char *verb = " from ";
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tt::LoadOp o) { pointer = o.getPtr(), mask = o.getMask(), type = o.getType(); })
      .Case([&](tt::StoreOp o) { pointer = o.getPtr(), mask = o.getMask(), type = o.getValue().getType(), verb = " to "; })
      .Case([&](tt::AtomicRMWOp o) { pointer = o.getPtr(), mask = o.getMask(), type = o.getVal().getType(), verb = " atomically to "; })
      .Case([&](tt::AtomicCASOp o) { pointer = o.getPtr(), type = o.getVal().getType(), verb = " atomically to "; })
      .Case([&](ttg::DescriptorLoadOp o) { type = o.getType(); })
      .Case([&](ttg::DescriptorStoreOp o) { type = o.getSrc().getType(), verb = verbOf(o.getReduce()); });
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile) return; // a scalar
  FoundAccess found{op->getLoc(), tileText(type) + verb};
  if (pointer) { // a descriptor's map is not complete yet
    found.text += baseOf(pointer);
    seeSectors(found, op, pointer, mask, axes);
    found.text += splitText(op);
    std::string strides = found.waste > 1 ? steps.lookup(op->getLoc()) : "";
    found.text += (strides.empty() ? "" : "; " + strides) + remarkText(op, "form-descriptors");
  }
  accesses.push_back(std::move(found));
}

/// Adds " in L7: 4 accesses of 16 bytes a thread; each access of a warp takes 512 bytes from 16 sectors of 32 bytes, coalesced".
void Explainer::Impl::seeSectors(FoundAccess &found, Operation *op, Value pointers, Value mask, const AxisAnalysis &axes) {
  Layout layout = ttg::layoutOf(pointers.getType());
  AccessProperties properties = accessProperties(axes, pointers, mask);
  auto vector = op->getAttrOfType<IntegerAttr>(ttg::vectorName);
  bool isAtomic = isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op), isUnaligned = op->hasAttr(ttg::unalignedName);
  bool isNarrowed = !isAtomic && !isUnaligned && accessProperties(axes, pointers, Value()).vectorLimit > properties.vectorLimit;
  int64_t each = vector ? vector.getInt() : 1, lanes = 32 >> std::popcount(layout.freeMask(Axis::lane));
  int64_t bytes = each * properties.bytes, warpBytes = bytes * lanes, accesses = layout.registersPerThread() / each;
  int64_t sectors = accessSectors(properties, layout), needed = std::max<int64_t>(1, warpBytes / sectorBytes);
  found.waste = static_cast<double>(std::max(sectors, needed)) / static_cast<double>(needed);
  found.text += " in " + tiles.nameOf(layout) + ": " + countText(accesses, "access", "accesses") + " of " + countText(bytes, "byte") +
                " a thread; each access of a warp takes " + countText(warpBytes, "byte") + " from " + countText(sectors, "sector") +
                " of 32 bytes" + (sectors > needed ? ", not coalesced (" + std::to_string(needed) + " would suffice)" : ", coalesced") +
                (isUnaligned ? ", as aligned words that threads shift, because rows are unaligned" : "") +
                (isNarrowed && accesses > 1 ? "; a wider access would need one mask value for all its elements" : "");
}

} // namespace tilewright::gpu
