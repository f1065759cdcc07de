// Collects the remarks of `explain`. Example:
//     matmul.py:60  a = tl.load(a_ptrs, mask=...)
//         128x64 f16 from a_ptr by TMA: dims {K, M}, strides {stride_am}, box {64, 128}, swizzle 128, in 4 stages
//     L2  128x256, 128 registers a thread for f32: accumulator of wgmma m64n256k16
// The decisions of passes are in the module: in types, in operations and, for their reasons, in attributes (`ttg.dot_choice`,
// `ttg.loop_schedule` and others, ttg.td) and remarks (ttg::remark). This file decides nothing again. It turns each decision into text
// while its operation exists; only what is grouped later stays a structure.
#include "gpu/explain.h"

#include "gpu/explain_layouts.h"
#include "gpu/schedule/loop_schedule.h"
#include "gpu/schedule/scratch.h"
#include "gpu/tiles/demanded_extent.h"
#include "gpu/tiles/layout_cost.h"
#include "gpu/tiles/split_k_in_cluster.h"
#include "ir/address/indices.h"
#include "support/target.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"

#include <bit>
#include <map>

using namespace mlir;

namespace tilewright::gpu {
namespace {

/// "{64, 128}".
template <typename Range> std::string braced(const Range &parts) {
  return "{" + llvm::join(parts, ", ") + "}";
}

std::string swizzleText(const SharedLayout &shared) {
  std::optional<TileSwizzle> swizzle = spanOf(shared);
  if (!swizzle) return "16-byte chunks swizzled";
  if (swizzle->spanBytes == 0) return "not swizzled";
  return "swizzle " + std::to_string(swizzle->spanBytes) +
         (swizzle->order[0] + 1 == int64_t(shared.shape.size()) ? "" : ", dimension " + std::to_string(swizzle->order[0]) + " contiguous");
}

/// A remark about an operation. Later steps find the operation again by its location.
struct FoundRemark {
  Location location;
  std::string text;
};

} // namespace

//===------------------------------------------------------------------------------------------------------------ collecting

struct Explainer::Impl {
  std::string name, file, heading;
  int64_t sharedMax = 0, stagesWanted = 0;
  TileLayouts tiles;
  std::vector<Timeline> timelines;
  std::vector<AccessWaste> waste;
  std::map<std::pair<SourceLine, std::string>, std::string> steps; // strides of the pointers of a line to an argument
  std::vector<FoundRemark> accesses, dots, reductions, loops, conversions, buffers;

  SourceLine lineOf(Location location) const { return sourceLineOf(location, file); }

  /// Returns the name of the kernel's argument that a pointer is derived from.
  static std::string baseOf(Value pointer) {
    BlockArgument base = address::baseArgument(pointer);
    return base ? address::nameOf(base) : "memory";
  }

  //===--------------------------------------------------------------------------------------------- after assign-layouts

  /// Numbers the layouts in source order, which differs from the order of the operations.
  void nameLayouts(tt::FuncOp kernel) {
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

  void seeTiles(tt::FuncOp kernel) {
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
      bool worth = moves || isa<tt::DotOp, tt::ReduceOp, tt::ScanOp, tt::HistogramOp, tt::GatherOp>(op);
      if (isa<tt::StoreOp, ttg::DescriptorStoreOp>(op))
        tiles.addUse((isa<tt::StoreOp>(op) ? cast<tt::StoreOp>(op).getValue() : op->getOperand(0)).getType(), lineOf(op->getLoc()), "store",
                     true);
      if (!isa<scf::ForOp, scf::IfOp>(op))
        for (Value result : op->getResults())
          tiles.addUse(result.getType(), lineOf(op->getLoc()), op->getName().stripDialect(), worth);
      if (auto dot = dyn_cast<tt::DotOp>(op)) visitDot(dot);
      if (auto reduce = dyn_cast<tt::ReduceOp>(op)) seeReduction(reduce);
      if (moves) seeAccess(op, axes);
    });
  }

  /// Returns the pass's remarks about an operation after "; ", or "".
  static std::string remarkText(Operation *op, StringRef pass) {
    auto kernel = isa<tt::FuncOp>(op) ? cast<tt::FuncOp>(op) : op->getParentOfType<tt::FuncOp>();
    std::string text = ttg::remarksOf(kernel, pass, op->getLoc());
    return text.empty() ? "" : "; " + text;
  }
  /// Returns how the CTAs of a cluster split the tile of an operation; "" for one CTA.
  static std::string splitText(Operation *op) { return remarkText(op, "split-ctas"); }

  /// Records the strides of accesses, while the addresses have no layouts yet.
  void seeAddresses(tt::FuncOp kernel) {
    file = sourceFileOf(kernel);
    kernel.walk([&](Operation *op) {
      if (!isa<tt::LoadOp, tt::StoreOp>(op)) return;
      Value pointer = op->getOperand(0);
      if (std::string text = stepsText(kernel, pointer); !text.empty()) steps[{lineOf(op->getLoc()), baseOf(pointer)}] = text;
    });
  }

  void visitDot(tt::DotOp dot) {
    auto choice = dot->getAttrOfType<ttg::DotChoiceAttr>(ttg::dotChoiceName);
    Type a = dot.getA().getType(), b = dot.getB().getType();
    int64_t step = 256 / tileBits(getElementTypeOrSelf(a));
    std::string held = choice.getAInRegisters() ? "A in registers, B in shared memory" : "A and B in shared memory", family, how;
    switch (choice.getKind()) {
    case ttg::MmaKind::wgmma:
      family = "wgmma m64n" + std::to_string(std::min(choice.getColumns(), mmaExtent(dot)[1])) + "k" + std::to_string(step);
      how = family + ", " + held;
      if (choice.getAInRegisters()) tiles.families.push_back({ttg::layoutOf(a), "operand A of " + family});
      break;
    case ttg::MmaKind::mma:
      family = "mma.sync m16n8k" + std::to_string(step);
      how = family + ", A and B in registers; no wgmma: " + choice.getReason().str();
      tiles.families.push_back({ttg::layoutOf(a), "operand A of " + family});
      tiles.families.push_back({ttg::layoutOf(b), "operand B of " + family});
      break;
    case ttg::MmaKind::fma:
      family = "multiply-add";
      how = "multiply-add instructions, " + held + "; no tensor cores: " + choice.getReason().str();
      break;
    }
    bool threads = choice.getKind() == ttg::MmaKind::fma;
    tiles.families.push_back({ttg::layoutOf(dot.getType()), (threads ? "result of " : "accumulator of ") + family});
    dots.push_back({dot.getLoc(), tileText(a) + " * " + tileText(b) + " -> " + tileText(dot.getType()) + ": " + how + splitText(dot)});
  }

  void seeReduction(tt::ReduceOp reduce) {
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

  void seeAccess(Operation *op, const AxisAnalysis &axes) {
    Value pointer, mask;
    Type type;
    const char *verb = " from ";
    llvm::TypeSwitch<Operation *>(op)
        .Case([&](tt::LoadOp o) { pointer = o.getPtr(), mask = o.getMask(), type = o.getType(); })
        .Case([&](tt::StoreOp o) { pointer = o.getPtr(), mask = o.getMask(), type = o.getValue().getType(), verb = " to "; })
        .Case([&](tt::AtomicRMWOp o) { pointer = o.getPtr(), mask = o.getMask(), type = o.getVal().getType(), verb = " atomically to "; })
        .Case([&](tt::AtomicCASOp o) { pointer = o.getPtr(), type = o.getVal().getType(), verb = " atomically to "; })
        .Case([&](ttg::DescriptorLoadOp o) { type = o.getType(); })
        .Case([&](ttg::DescriptorStoreOp o) { type = o.getSrc().getType(), verb = o.getAdds() ? " added to " : " to "; });
    auto tile = dyn_cast<RankedTensorType>(type);
    if (!tile) return; // a scalar
    std::string text = tileText(type) + verb;
    if (pointer) { // a descriptor's map is not complete yet
      size_t before = waste.size();
      text += baseOf(pointer) + accessText(op, pointer, mask, axes) + splitText(op);
      auto found = steps.find({lineOf(op->getLoc()), baseOf(pointer)});
      if (waste.size() > before && found != steps.end()) text += "; " + found->second;
      text += remarkText(op, "form-descriptors");
    }
    accesses.push_back({op->getLoc(), text});
  }

  /// Returns " in L7: 4 accesses of 16 bytes a thread; each access of a warp takes 512 bytes from 16 sectors of 32 bytes, coalesced".
  std::string accessText(Operation *op, Value pointers, Value mask, const AxisAnalysis &axes) {
    Layout layout = ttg::layoutOf(pointers.getType());
    AccessProperties properties = accessProperties(axes, pointers, mask);
    auto vector = op->getAttrOfType<IntegerAttr>(ttg::vectorName);
    int64_t elementBytes = properties.bytes, sectors = accessSectors(properties, layout);
    bool isAtomic = isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op), isUnaligned = op->hasAttr(ttg::unalignedName);
    bool isNarrowed = !isAtomic && !isUnaligned && accessProperties(axes, pointers, Value()).vectorLimit > properties.vectorLimit;
    int64_t each = vector ? vector.getInt() : 1, lanes = 32 >> std::popcount(layout.freeMask(Axis::lane));
    int64_t bytes = each * elementBytes * lanes, needed = std::max<int64_t>(1, bytes / 32);
    if (sectors > needed) waste.push_back({lineOf(op->getLoc()), static_cast<double>(sectors) / static_cast<double>(needed)});
    return " in " + tiles.nameOf(layout) + ": " + countText(layout.registersPerThread() / each, "access", "accesses") + " of " +
           countText(each * elementBytes, "byte") + " a thread; each access of a warp takes " + countText(bytes, "byte") + " from " +
           countText(sectors, "sector") + " of 32 bytes" +
           (sectors > needed ? ", not coalesced (" + std::to_string(needed) + " would suffice)" : ", coalesced") +
           (isUnaligned ? ", as aligned words that threads shift, because rows are unaligned" : "") +
           (isNarrowed && layout.registersPerThread() > each ? "; a wider access would need one mask value for all its elements" : "");
  }

  //===-------------------------------------------------------------------------------------------- after allocate-shared

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
    auto argument = cast<BlockArgument>(map);
    auto recipe = kernel.getArgAttrOfType<ttg::TensorMapAttr>(argument.getArgNumber(), ttg::tensorMapName);
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

  void seeMachine(tt::FuncOp kernel) {
    ttg::ConfigAttr config = ttg::configOf(kernel);
    std::optional<GpuTarget> target = gpuTarget(config.getTarget().getValue());
    stagesWanted = config.getStages();
    name = kernel.getName().str();
    sharedMax = target ? target->sharedBytes : 0;
    heading = name + " for cuda:" + config.getTarget().str() + ": " + countText(config.getWarps(), "warp") + ", num_stages " +
              std::to_string(stagesWanted);
    heading += remarkText(kernel, "choose-warps") + remarkText(kernel, "split-ctas");
    if (auto why = kernel->getAttrOfType<StringAttr>(ttg::notWarpSpecializedName)) heading += "; no warp specialization: " + why.str();
    llvm::SmallPtrSet<const void *, 16> reported; // a loop and its prologue of copies have the same location
    auto add = [&](Operation *op, const std::string &text) {
      if (!reported.insert(op->getLoc().getAsOpaquePointer()).second) return;
      for (FoundRemark &remark : accesses) // several, if a loop was unrolled
        if (remark.location == op->getLoc()) remark.text += text;
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
          .Case([&](ttg::ConvertLayoutOp o) { seeConversion(o, *target); })
          .Case([&](ttg::AllocOp o) { seeBuffer(o, *target); })
          .Case([&](ttg::WgmmaOp o) { seeOperand(o); })
          .Case([&](scf::ForOp o) { seeLoop(o); });
    });
  }

  void seePartitions(tt::FuncOp kernel) {
    kernel.walk([&](ttg::WarpSpecializeOp op) {
      bool dequantizes = op.getPartitions().size() > 1;
      heading += dequantizes ? "; one extra warp starts the copies of a loop, " + countText(op.getPartitionNumWarps()[1], "extra warp") +
                                   " dequantize the second operand of its dot"
                             : "; one extra warp starts the copies of the loops (warp specialization)";
    });
  }

  /// Updates the remark of a dot whose first operand stays in registers, because a dequantize partition writes the second one.
  void seeOperand(ttg::WgmmaOp op) {
    static constexpr llvm::StringLiteral before = "A and B in shared memory";
    if (!isa<RankedTensorType>(op.getA().getType())) return;
    for (FoundRemark &remark : dots)
      if (size_t at = remark.text.find(before); remark.location == op->getLoc() && at != std::string::npos)
        remark.text.replace(at, before.size(), "A dequantized in registers, B in shared memory");
  }

  static std::string notPipelinedText(Operation *load) {
    auto reason = load->getAttrOfType<StringAttr>(ttg::notPipelinedName);
    return reason ? "; not prefetched: " + reason.str() : "";
  }

  static std::string depthText(Value buffer) {
    ttg::AllocOp alloc = allocOf(buffer);
    int64_t depth = alloc ? alloc.getType().getDepth() : 1;
    return depth > 1 ? ", in " + std::to_string(depth) + " stages" : ", without prefetching";
  }

  void seeConversion(ttg::ConvertLayoutOp op, const GpuTarget &target) {
    Layout from = ttg::layoutOf(op.getSrc().getType()), to = ttg::layoutOf(op.getType());
    auto tile = cast<RankedTensorType>(op.getType());
    ConversionPlan plan = planConversion(from, to, tile.getElementType(), target);
    if (plan.kind <= Conversion::registers || (plan.shuffle && plan.shuffle->shuffles() == 0)) return; // costs nothing
    std::string text = tileText(tile) + " from " + tiles.nameOf(from) + " to " + tiles.nameOf(to) + ": ";
    if (plan.shuffle) {
      text += countText(plan.shuffle->shuffles(), "shuffle") + " within warps";
    } else if (plan.scratch) {
      const ScratchPlan &scratch = *plan.scratch;
      text +=
          "through " + std::to_string(scratch.shared.bytes()) + " bytes of shared memory, written " +
          accessText(from, scratch.shared, matricesWritten(from, scratch.shared, tile.getElementType(), scratch.storeMatrix.has_value())) +
          ", read " + accessText(to, scratch.shared, matricesRead(to, scratch.shared, tile.getElementType()));
    } else {
      text += "between CTAs";
    }
    conversions.push_back({op.getLoc(), text});
  }

  static std::string accessText(const Layout &layout, const SharedLayout &shared, const std::optional<MatrixPlan> &matrix) {
    auto conflicts = [](int64_t extra) {
      return extra ? " with " + countText(extra, "extra wavefront") + " for bank conflicts" : std::string(" without bank conflicts");
    };
    if (matrix) return std::string("as 8x8 matrices") + (matrix->transposed ? ", transposed," : "") + conflicts(matrix->conflicts);
    int64_t bytes = vectorAccess(layout, shared).bytes;
    return countText(bytes, "byte") + " at a time" + conflicts(bankConflicts(layout, shared, bytes));
  }

  void seeBuffer(ttg::AllocOp op, const GpuTarget &target) {
    ttg::BufferType type = op.getType();
    SharedLayout shared = type.getLayout().layout();
    auto offset = op->getAttrOfType<IntegerAttr>(ttg::offsetName);
    std::string text = tileText(RankedTensorType::get(type.getShape(), type.getElementType())) + ", " +
                       (type.getDepth() > 1 ? std::to_string(type.getDepth()) + " stages, " : "") +
                       std::to_string(type.getDepth() * type.tileBytes()) + " bytes" +
                       (offset ? " at offset " + std::to_string(offset.getInt()) : std::string()) + ", " + swizzleText(shared) + ":";
    std::vector<std::string> parts;
    for (Operation *access : accessesOf(op)) {
      std::string part;
      auto bufferOf = [](Value value) { return cast<ttg::BufferType>(value.getType()).getLayout().layout(); };
      llvm::TypeSwitch<Operation *>(access)
          .Case([&](ttg::LoadSharedOp o) {
            Layout layout = ttg::layoutOf(o.getType());
            part = "read in " + tiles.nameOf(layout) + " " +
                   accessText(layout, bufferOf(o.getBuffer()), matricesRead(layout, bufferOf(o.getBuffer()), type.getElementType()));
          })
          .Case([&](ttg::StoreSharedOp o) {
            Layout layout = ttg::layoutOf(o.getSrc().getType());
            SharedLayout written = bufferOf(o.getBuffer());
            part = "written in " + tiles.nameOf(layout) + " " +
                   accessText(layout, written, matricesWritten(layout, written, type.getElementType(), target.stmatrix));
          })
          .Case([&](ttg::CopyAsyncOp o) { part = "written by cp.async in " + tiles.nameOf(ttg::layoutOf(o.getPointers().getType())); })
          .Case([&](ttg::TmaLoadOp) { part = "written by TMA"; })
          .Case([&](ttg::TmaStoreOp) { part = "read by TMA"; })
          .Case([&](ttg::WgmmaOp) { part = "read by wgmma"; })
          .Case([&](ttg::FmaDotOp) { part = "read by multiply-add instructions, element by element"; });
      if (!part.empty() && !llvm::is_contained(parts, part)) parts.push_back(part);
    }
    buffers.push_back({op.getLoc(), text + " " + llvm::join(parts, "; ")});
  }

  /// Returns the number of buffers for operands that the loop's threads compute (multi_buffer.cpp); 0 for one or none.
  static int64_t computedStages(scf::ForOp loop) {
    int64_t stages = 0;
    loop.getBody()->walk([&](ttg::StoreSharedOp store) {
      ttg::AllocOp alloc = allocOf(store.getBuffer());
      if (alloc && alloc.getType().getDepth() > 1) stages = std::max(stages, alloc.getType().getDepth());
    });
    return stages;
  }

  /// Returns the loop, and before it the producer's loop if a producer warp starts its copies.
  static SmallVector<scf::ForOp, 2> loopAndProducer(scf::ForOp loop) {
    SmallVector<scf::ForOp, 2> parts;
    for (Operation *op = loop->getPrevNode(); op; op = op->getPrevNode()) {
      auto before = dyn_cast<scf::ForOp>(op);
      if (!before) continue;
      if (before->hasAttr(ttg::producerName)) parts.push_back(before);
      break;
    }
    parts.push_back(loop);
    return parts;
  }

  /// Visits the operations of the loop and its producer, without those of nested loops.
  static void walkLoop(scf::ForOp loop, llvm::function_ref<void(Operation *)> see) {
    for (scf::ForOp part : loopAndProducer(loop))
      part.getBody()->walk([&](Operation *op) {
        if (op->getParentOfType<scf::ForOp>() == part) see(op);
      });
  }

  void seeLoop(scf::ForOp loop) {
    auto made = loop->getAttrOfType<ttg::LoopScheduleAttr>(ttg::loopScheduleName);
    if (!made) return;
    std::string reason = made.getReason() ? made.getReason().getValue().str() : "";
    if (made.getBuffers().empty() && reason.empty()) return; // only its stores are scheduled
    llvm::MapVector<Operation *, bool> circularBuffers;      // and whether TMA fills them
    bool loads = false;
    auto see = [&](Operation *op) {
      loads |= isa<tt::LoadOp>(op) && isa<RankedTensorType>(op->getResult(0).getType());
      Value buffer = llvm::TypeSwitch<Operation *, Value>(op)
                         .Case([](ttg::TmaLoadOp o) { return o.getBuffer(); })
                         .Case([](ttg::CopyAsyncOp o) { return o.getBuffer(); })
                         .Default([](Operation *) { return Value(); });
      ttg::AllocOp alloc = buffer ? allocOf(buffer) : ttg::AllocOp();
      if (alloc && alloc.getType().getDepth() == made.getStages()) circularBuffers.insert({alloc, isa<ttg::TmaLoadOp>(op)});
    };
    walkLoop(loop, see);
    int64_t bytes = 0;
    std::vector<std::string> parts;
    for (auto [alloc, tma] : circularBuffers) {
      ttg::BufferType type = cast<ttg::AllocOp>(alloc).getType();
      bytes += type.tileBytes();
      parts.push_back(tileText(RankedTensorType::get(type.getShape(), type.getElementType())) + (tma ? " by TMA" : " by cp.async"));
    }
    std::string text;
    if (made.getStages() > 1) {
      text = countText(made.getStages(), "stage") + " of " + countText(bytes, "byte") + ": " + llvm::join(parts, ", ");
      if (!reason.empty()) text += "; num_stages asks for " + std::to_string(made.getRequested()) + ", but " + reason;
    } else if (int64_t stages = computedStages(loop)) {
      text = "threads write computed operands to " + countText(stages, "buffer") +
             ", while the previous dot reads another one; no loads are prefetched: " + reason;
    } else if (reason.empty()) {
      text = "loads to registers are issued an iteration early";
    } else {
      text = "not pipelined, each iteration waits for its loads: " + reason;
    }
    if (!made.getEdges().empty()) text += "; " + countText(int64_t(made.getEdges().size()), "dot") + " may be in flight";
    if (made.getCrossTile()) text += "; prefetches across tiles";
    if (made.shiftsMma()) text += "; a dot of the next iteration starts early";
    if (made.getStages() > 1 && loads) text += "; other loads are not prefetched and go to registers";
    loops.push_back({loop.getLoc(), text});
    if (made.getStages() > 1) seeTimeline(loop, made.getStages());
  }

  /// Records which warps execute each operation of an iteration. Copies belong to a later one, by the number of stages minus one.
  void seeTimeline(scf::ForOp loop, int64_t stages) {
    Timeline timeline{lineOf(loop.getLoc()), stages, {}};
    bool isWarpSpecialized = loop->getParentOfType<tt::FuncOp>()->hasAttr(ttg::warpSpecializedName);
    auto add = [&](Operation *op, const char *worker, int64_t distance) {
      if (auto shift = op->getAttrOfType<IntegerAttr>(ttg::iterationOffsetName)) distance += shift.getInt();
      TimelineEvent event{lineOf(op->getLoc()), worker, op->getName().stripDialect().str(), distance};
      bool again = !timeline.events.empty() && timeline.events.back().worker == event.worker && timeline.events.back().where == event.where;
      if (!again && !event.where.file.empty()) timeline.events.push_back(std::move(event));
    };
    walkLoop(loop, [&](Operation *op) {
      if (isa<ttg::TmaLoadOp, ttg::CopyAsyncOp>(op))
        add(op, isWarpSpecialized ? "producer warp" : "copies", stages - 1);
      else if (isa<ttg::WgmmaOp, ttg::FmaDotOp, tt::DotOp>(op))
        add(op, "dots", 0);
      else if (isa<tt::LoadOp, tt::StoreOp>(op) && op->getParentOp() == loop)
        add(op, "memory", 0);
      else if (isa<tt::ReduceOp>(op) || (isa<math::MathDialect>(op->getDialect()) && llvm::any_of(op->getResultTypes(), ttg::hasLayout)))
        add(op, isWarpSpecialized ? "consumer warps" : "threads", 0);
    });
    int64_t last = 0; // distances count from the last operation's iteration
    for (const TimelineEvent &event : timeline.events)
      last = std::min(last, event.prefetchDistance);
    for (TimelineEvent &event : timeline.events)
      event.prefetchDistance -= last;
    timelines.push_back(std::move(timeline));
  }

  //===----------------------------------------------------------------------------------------------------------- as text

  RemarkSection section(const char *title, const std::vector<FoundRemark> &found) const {
    RemarkSection section{title, {}};
    for (const FoundRemark &remark : found)
      section.remarks.push_back({lineOf(remark.location), remark.text});
    return section;
  }

  std::vector<RemarkSection> sections() const {
    return {section("Dots", dots),
            section("Loops", loops),
            section("Memory", accesses),
            section("Reductions", reductions),
            section("Conversions between layouts", conversions),
            section("Buffers in shared memory", buffers)};
  }
};

Explainer::Explainer() : impl(std::make_unique<Impl>()) {}
Explainer::~Explainer() = default;

void Explainer::see(StringRef step, ModuleOp module) {
  for (auto kernel : module.getOps<tt::FuncOp>()) {
    if (step == "configure") impl->seeAddresses(kernel);
    if (step == "assign-layouts") impl->seeTiles(kernel);
    if (step == "allocate-shared") impl->seeMachine(kernel);
    if (step == "specialize-warps") impl->seePartitions(kernel);
  }
}

std::optional<std::string> Explainer::layouts(StringRef wanted) const {
  std::string text;
  int64_t line = 0;
  bool isLine = !wanted.getAsInteger(10, line);
  for (size_t i = 0; i < impl->tiles.all.size(); ++i) {
    bool isWanted = isLine ? llvm::any_of(impl->tiles.all[i].uses, [&](const TileUse &use) { return use.where.line == line; })
                           : wanted.equals_insensitive("L" + std::to_string(i + 1));
    if (isWanted) text += impl->tiles.text(i, true);
  }
  if (text.empty()) return std::nullopt;
  return text.substr(1);
}

Explanation Explainer::explanation(const GpuArtifact &artifact) const {
  Explanation made;
  made.kernel = impl->name, made.target = "cuda:" + artifact.target, made.file = impl->file, made.heading = impl->heading;
  made.resources.push_back("shared memory   " + std::to_string(artifact.sharedBytes) + " of " + std::to_string(impl->sharedMax) + " bytes");
  std::string spills = artifact.spillBytes > 0 ? countText(artifact.spillBytes, "byte") + " spilled" : "no spills";
  made.resources.push_back("registers       " + (artifact.registers < 0 ? "unknown without ptxas"
                                                                        : std::to_string(artifact.registers) + " a thread, " + spills));
  made.guards = artifact.guards;
  if (artifact.spillBytes > 0) made.sections.push_back(impl->tiles.spilled());
  for (RemarkSection &section : impl->sections())
    made.sections.push_back(std::move(section));
  for (size_t i = 0; i < impl->tiles.all.size(); ++i)
    made.layouts.push_back(impl->tiles.picture(i, impl->file));
  made.timelines = impl->timelines;
  made.waste = impl->waste;
  return made;
}

} // namespace tilewright::gpu
