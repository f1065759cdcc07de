// Findings about tiles: which layout each has, how wide the accesses to memory are, how dots and reductions are computed.
#include "gpu/explain/findings.h"
#include "gpu/schedule/shared_memory/reduction_steps.h"
#include "gpu/tiles/layouts/layout_cost.h"
#include "gpu/tiles/mma/dot_choice.h"
#include "gpu/tiles/mma/scaled_dot_choice.h"
#include "gpu/ttg/kernel_target.h"
#include "ir/address/indices.h"
#include "ir/scaled_dot.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/TypeSwitch.h"

#include <bit>
#include <map>

using namespace mlir;

namespace tilewright::gpu {

std::string Explainer::Impl::takeRemarks(Operation *op) {
  std::string text;
  for (ttg::RemarkAttr remark : ttg::remarksOf(op->getParentOfType<tt::FuncOp>())) {
    if (remark.getAbout() != Attribute(op->getLoc())) continue;
    taken.insert(remark);
    text += "; " + remark.getText().str();
  }
  return text;
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
      if (ttg::hasLayout(result.getType()) && !TileLayouts::isPlumbing(op))
        found[lineOf(op->getLoc())].push_back(ttg::layoutOf(result.getType()));
  });
  for (const auto &[where, layouts] : found)
    if (where.line)
      for (const Layout &layout : layouts)
        tiles.indexOf(layout);
}

void Explainer::Impl::seeTiles(tt::FuncOp kernel) {
  file = sourceFileOf(kernel);
  target = ttg::targetOf(kernel);
  warps = ttg::configOf(kernel).getWarps();
  nameLayouts(kernel);
  for (ttg::RemarkAttr remark : ttg::remarksOf(kernel))
    if (auto about = dyn_cast<ttg::LayoutAttr>(remark.getAbout()))
      for (TileLayout &tile : tiles.all)
        if (tile.layout == about.layout()) tile.choice += (tile.choice.empty() ? "" : "; ") + remark.getText().str();
  AxisAnalysis axes(kernel);
  kernel.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op->getParentOfType<tt::ReduceOp>() || op->getParentOfType<tt::ScanOp>()) return;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      for (Value carried : loop.getRegionIterArgs())
        tiles.addUse(carried.getType(), {lineOf(op->getLoc()), "carried by the loop"}, true);
    bool moves = isa<tt::LoadOp, tt::StoreOp, tt::AtomicRMWOp, tt::AtomicCASOp, ttg::DescriptorLoadOp, ttg::DescriptorStoreOp>(op);
    bool worth = moves || isa<tt::DotOp, tt::DotScaledOp, tt::ReduceOp, tt::ScanOp, tt::HistogramOp, tt::GatherOp>(op);
    if (isa<tt::StoreOp, ttg::DescriptorStoreOp>(op))
      tiles.addUse((isa<tt::StoreOp>(op) ? cast<tt::StoreOp>(op).getValue() : op->getOperand(0)).getType(), {lineOf(op->getLoc()), "store"},
                   true);
    if (!isa<scf::ForOp, scf::IfOp>(op))
      for (Value result : op->getResults())
        tiles.addUse(result.getType(), TileLayouts::useBy(op, lineOf(op->getLoc())), worth);
    if (auto dot = dyn_cast<tt::DotOp>(op)) seeDot(dot);
    if (auto dot = dyn_cast<tt::DotScaledOp>(op)) seeScaledDot(dot);
    if (auto reduce = dyn_cast<tt::ReduceOp>(op)) seeReduction(reduce);
    if (auto scan = dyn_cast<tt::ScanOp>(op)) seeScan(scan);
    if (moves) seeAccess(op, axes);
  });
}

/// Records the strides of accesses, while the addresses have no layouts yet.
void Explainer::Impl::seeAddresses(tt::FuncOp kernel) {
  file = sourceFileOf(kernel);
  kernel.walk([&](Operation *op) {
    if (!isa<tt::LoadOp, tt::StoreOp>(op)) return;
    Value pointer = op->getOperand(0);
    if (std::string text = stepsText(kernel, pointer); !text.empty()) strides[op->getLoc()] = text;
  });
}

void Explainer::Impl::seeDot(tt::DotOp dot) {
  auto choice = dot->getAttrOfType<ttg::DotChoiceAttr>(ttg::dotChoiceName);
  Type a = dot.getA().getType(), b = dot.getB().getType();
  auto [m, n, k] = instructionShape(dot, choice, *target);
  MmaInstruction instruction{choice.getKind(), m, n, k};
  FoundDot found{dot.getLoc(), {a}, {b}, dot.getType(), instruction, choice.getReason().str(), takeRemarks(dot)};
  bool isMma = choice.getKind() == ttg::MmaKind::mma, isFma = choice.getKind() == ttg::MmaKind::fma;
  if (isMma) found.b.storage = OperandStorage::registers;
  if (isMma || (choice.getKind() == ttg::MmaKind::wgmma && choice.getAInRegisters())) found.a.storage = OperandStorage::registers;
  if (choice.getKind() == ttg::MmaKind::tcgen05 && choice.getAInRegisters()) found.a.storage = OperandStorage::tensorMemory;
  if (found.a.storage == OperandStorage::registers) tiles.families.push_back({ttg::layoutOf(a), "operand A", instruction});
  if (isMma) tiles.families.push_back({ttg::layoutOf(b), "operand B", instruction});
  tiles.families.push_back({ttg::layoutOf(dot.getType()), isFma ? "result" : "accumulator", instruction});
  dots.push_back(std::move(found));
}

void Explainer::Impl::seeScaledDot(tt::DotScaledOp dot) {
  ScaledMma mma = *scaledMma(dot, *target, warps);
  OperandStorage storage = mma.tcgen05 ? OperandStorage::shared : OperandStorage::registers;
  auto operand = [&](const tt::ScaledOperand &of, Value tile, int64_t rows, int64_t columns) {
    return DotOperand{tile.getType(), rows, columns, of.format, storage};
  };
  tt::ScaledOperand a = tt::leftOf(dot), b = tt::rightOf(dot);
  auto [rows, columns, depth] = instructionShape(dot, mma);
  MmaInstruction instruction{mma.tcgen05 ? ttg::MmaKind::tcgen05 : ttg::MmaKind::mma, rows, columns, depth, std::string(nameOf(mma.kind))};
  FoundDot found{dot.getLoc(),
                 operand(a, dot.getA(), a.outer(), a.depth()),
                 operand(b, dot.getB(), a.depth(), b.outer()),
                 dot.getType(),
                 instruction,
                 "",
                 takeRemarks(dot),
                 /*hasScales=*/mma.tcgen05 || mma.vector};
  if (!mma.tcgen05) {
    tiles.families.push_back({ttg::layoutOf(dot.getA().getType()), "operand A", instruction});
    tiles.families.push_back({ttg::layoutOf(dot.getB().getType()), "operand B", instruction});
  }
  tiles.families.push_back({ttg::layoutOf(dot.getType()), "accumulator", instruction});
  dots.push_back(std::move(found));
}

void Explainer::Impl::seeReduction(tt::ReduceOp reduce) {
  Type tile = reduce.getSrcs().front().getType();
  Layout layout = ttg::layoutOf(tile);
  std::optional<ReductionPlan> plan = reductionPlan(layout, reduce.getAxis());
  FoundReduction found{reduce.getLoc(), tile, tiles.indexOf(layout), reduce.getAxis(), /*isScan=*/false, /*converts=*/!plan};
  if (plan) {
    auto count = [](auto mask) { return int64_t(1) << std::popcount(mask); };
    found.elements = count(plan->registerMask), found.steps = std::popcount(plan->laneMask), found.warps = count(plan->warpMask);
    found.shuffles = reductionSteps(reduce)->shuffles;
  }
  found.remarks = takeRemarks(reduce);
  reductions.push_back(std::move(found));
}

void Explainer::Impl::seeScan(tt::ScanOp scan) {
  Type tile = scan.getSrcs().front().getType();
  Layout layout = ttg::layoutOf(tile);
  std::optional<std::vector<AxisBit>> order = scanOrder(layout, scan.getAxis());
  FoundReduction found{scan.getLoc(), tile, tiles.indexOf(layout), scan.getAxis(), /*isScan=*/true, /*converts=*/!order};
  auto bitsOf = [&](Axis axis) { return llvm::count_if(*order, [&](AxisBit bit) { return bit.axis == axis; }); };
  if (order) {
    found.elements = int64_t(1) << bitsOf(Axis::reg), found.steps = bitsOf(Axis::lane), found.warps = int64_t(1) << bitsOf(Axis::warp);
  }
  found.remarks = takeRemarks(scan);
  reductions.push_back(std::move(found));
}

/// Returns what one access of a warp takes.
static AccessSectors sectorsOf(Operation *op, Value pointers, Value mask, const AxisAnalysis &axes, size_t index) {
  Layout layout = ttg::layoutOf(pointers.getType());
  AccessProperties properties = accessProperties(axes, pointers, mask);
  auto vector = op->getAttrOfType<IntegerAttr>(ttg::vectorName);
  bool isAtomic = isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op), isUnaligned = op->hasAttr(ttg::unalignedName);
  bool isNarrowed = !isAtomic && !isUnaligned && accessProperties(axes, pointers, Value()).vectorLimit > properties.vectorLimit;
  int64_t each = vector ? vector.getInt() : 1, lanes = 32 >> std::popcount(layout.freeMask(Axis::lane));
  int64_t bytes = each * properties.bytes, accesses = layout.registersPerThread() / each;
  return {index,
          accesses,
          bytes,
          bytes * lanes,
          accessSectors(properties, layout),
          std::max<int64_t>(1, bytes * lanes / sectorBytes),
          isUnaligned,
          isNarrowed && accesses > 1};
}

void Explainer::Impl::seeAccess(Operation *op, const AxisAnalysis &axes) {
  using Direction = FoundAccess::Direction;
  Value pointer, mask;
  Type type;
  Direction direction = Direction::load;
  llvm::TypeSwitch<Operation *>(op)
      .Case([&](tt::LoadOp o) { pointer = o.getPtr(), mask = o.getMask(), type = o.getType(); })
      .Case([&](tt::StoreOp o) { pointer = o.getPtr(), mask = o.getMask(), type = o.getValue().getType(), direction = Direction::store; })
      .Case(
          [&](tt::AtomicRMWOp o) { pointer = o.getPtr(), mask = o.getMask(), type = o.getVal().getType(), direction = Direction::atomic; })
      .Case([&](tt::AtomicCASOp o) { pointer = o.getPtr(), type = o.getVal().getType(), direction = Direction::atomic; })
      .Case([&](ttg::DescriptorLoadOp o) { type = o.getType(); })
      .Case([&](ttg::DescriptorStoreOp o) {
        type = o.getSrc().getType();
        direction = !o.getReduce() ? Direction::store : *o.getReduce() == ttg::Reduction::add ? Direction::add : Direction::combine;
      });
  if (!isa<RankedTensorType>(type)) return; // a scalar
  FoundAccess found{op->getLoc(), type, direction};
  if (pointer) { // a descriptor's map is not complete yet
    found.base = baseOf(pointer);
    found.sectors = sectorsOf(op, pointer, mask, axes, tiles.indexOf(ttg::layoutOf(pointer.getType())));
    if (!found.sectors->isCoalesced()) found.strides = strides.lookup(op->getLoc());
    found.remarks = takeRemarks(op);
  }
  accesses.push_back(std::move(found));
}

} // namespace tilewright::gpu
