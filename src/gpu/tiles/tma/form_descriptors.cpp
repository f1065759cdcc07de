// Converts loads and stores of tiles to TMA. One TMA instruction copies a tile if a tensor map describes the tensor in memory. The kernel
// describes it by arithmetic:
//   before: %p = a + (m0 + i) * stride_am + (k0 + j)         %mask = m0 + i < M  and  k0 + j < K
//           %x = tt.load %p, %mask, 0
//   after:  %x = ttg.descriptor_load %map[k0, m0]            map: base a, dims {K, M}, strides {stride_am}, a new argument
// The bounds of a mask become the map's extents, because TMA fills elements out of bounds with zeros. map_plan.h finds the map. A condition
// for the whole tile has no extent: if it is false, the coordinates move the tile before the tensor, where TMA reads nothing.
//
// tensor_accesses.h says which tensors may have a map. A store that overwrites a tile, in a branch after all previous stores, stays a store
// by threads, which waits for the TMA stores.
//
// TMA can also combine tiles with memory (add, min, max, and, or, xor). An atomic addition becomes
//   ttg.descriptor_store reduce add %x to %map[k0, m0]
// if its result is unused and its ordering is relaxed, or there is nothing that it could order. TMA reductions of one tensor have no order,
// so the kernel must not access that tensor in any other way, or by different operations.
//
// A launch creates each map, and a CTA prefetches it before its first copy. That pays off if copies are prefetched in a loop. A kernel that
// copies each tile once keeps its loads, stores and atomic operations, which are as fast (docs/journal/2026-11-gpu.md).
#include "gpu/cost_model/thresholds.h"
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"
#include "gpu/tiles/mma/dot_choice.h"
#include "gpu/tiles/mma/reshaped_source.h"
#include "gpu/tiles/mma/scaled_dot_choice.h"
#include "gpu/tiles/tma/map_plan.h"
#include "gpu/tiles/tma/tensor_accesses.h"
#include "gpu/ttg/demanded_extent.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/tile_equivalence.h"
#include "gpu/ttg/ttg.h"
#include "ir/slice.h"
#include "ir/volatile_load.h"
#include "ir/zeros.h"
#include "support/artifact.h"
#include "support/target.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

using address::Conjunct, address::Indices, address::nameOf, address::Polynomial, address::Term;

constexpr int64_t farBefore = -(1 << 24);             // farther from 0 than the extent of any tile
constexpr int64_t signCoordinate = 1 << 30;           // the second coordinate of a signed dimension, where the index is negative
constexpr int64_t signStrideBytes = int64_t(1) << 38; // times signCoordinate: 0 modulo 2^64

//===------------------------------------------------------------------------------------------------------------- function

/// True if the tile is computed from a dot's result.
bool dependsOnDot(Value tile) {
  return tt::dependsOn(tile, [](Value value) {
    Operation *op = value.getDefiningOp();
    if (!isa<RankedTensorType>(value.getType())) return tt::Search::skip;
    if (isa_and_nonnull<tt::DotOp, tt::DotScaledOp>(op)) return tt::Search::found;
    bool passes =
        !op || isElementwiseOnTiles(op) || isa<scf::ForOp, scf::IfOp, tt::TransOp, ttg::ConvertLayoutOp, tt::SplitOp, tt::ReshapeOp>(op);
    return passes ? tt::Search::follow : tt::Search::skip;
  });
}

/// True if threads compute a dot's operand from the tile, element by element, and from no other dot. Then the tile can be prefetched to
/// shared memory in its narrow type, and takes no registers until it is dequantized.
bool isDequantizedForDot(Value tile) {
  Value operand;
  (void)tt::reaches(tile, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (isa<tt::DotOp, tt::DotScaledOp>(user) && use.getOperandNumber() < 2) {
      operand = use.get();
      return tt::Search::found;
    }
    bool passes =
        isElementwiseOnTiles(user) || isa<tt::TransOp, tt::BitcastOp, tt::ReshapeOp, ttg::ConvertLayoutOp, ttg::UnpackE2m1Op>(user);
    return passes ? tt::Search::follow : tt::Search::skip;
  });
  return operand && !dependsOnDot(operand);
}

/// True if shared memory holds two stages of each tile to dequantize, and two of each operand of the iteration's dots.
bool fitsDequantized(scf::ForOp loop, const GpuTarget &target) {
  int64_t bytes = 0;
  for (Operation &op : loop.getBody()->getOperations()) {
    if (auto dot = dyn_cast<tt::DotOp>(op)) bytes += 2 * (ttg::bytesOfTile(dot.getA().getType()) + ttg::bytesOfTile(dot.getB().getType()));
    if (auto load = dyn_cast<tt::LoadOp>(op); load && isa<RankedTensorType>(load.getType()) && isDequantizedForDot(load) && !feedsDot(load))
      bytes += 2 * ttg::bytesOfTile(load.getType());
  }
  return bytes <= target.sharedBytes;
}

/// Stops carrying scalars that only computed addresses: only their own next value still depends on them.
void dropDeadCarried(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [index, carried] : llvm::enumerate(loop.getRegionIterArgs())) {
    if (isa<RankedTensorType>(carried.getType()) || !loop.getResult(unsigned(index)).use_empty()) continue;
    bool isUsed = tt::reaches(carried, [&](OpOperand &use) {
      Operation *user = use.getOwner();
      if (user == yield) return use.getOperandNumber() == index ? tt::Search::skip : tt::Search::found;
      bool passes = isPure(user) && user->getNumRegions() == 0 && !user->hasTrait<OpTrait::IsTerminator>();
      return passes ? tt::Search::follow : tt::Search::found;
    });
    if (!isUsed) yield->setOperand(unsigned(index), carried);
  }
}

class DescriptorFormer {
public:
  DescriptorFormer(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target)
      : function(function), config(config), target(target), b(function.getContext()), failedGuards(ttg::failedGuardsOf(function)),
        accesses(function) {}

  void run() {
    SmallVector<Operation *> candidates;
    function.walk([&](Operation *op) {
      if (isCandidate(op)) candidates.push_back(op);
    });
    function.walk([&](scf::ForOp loop) {
      if (copiesLittle(loop)) small.insert(loop);
    });
    copiesInLoop = llvm::any_of(candidates, [&](Operation *op) {
      bool inLoop = op->getParentOfType<scf::ForOp>() || op->getParentOfType<scf::WhileOp>();
      return isa<tt::LoadOp>(op) && inLoop && !small.contains(op->getParentOp());
    });
    accesses.mergeDisjointStores();
    for (Operation *op : candidates) {
      Result<void> converted = convert(op);
      if (!converted) ttg::remark(function, "form-descriptors", op->getLoc(), "no tensor map: " + converted.error());
    }
    function.walk([&](tt::LoadOp load) {
      if (goesWithTiles(load)) (void)convertLoad(load);
    });
    function.walk(dropDeadCarried);
  }

private:
  /// True for a row that each iteration loads next to a dot's tiles (softmax sums, scales). TMA copies it with them, and no thread holds it
  /// in registers before its use.
  static bool goesWithTiles(tt::LoadOp load) {
    auto row = dyn_cast<RankedTensorType>(load.getType());
    if (!row || row.getRank() != 1 || row.getDimSize(0) > tmaMaxExtent || !isa<scf::ForOp>(load->getParentOp())) return false;
    if (!row.getElementType().isIntOrFloat() || row.getDimSize(0) * ttg::elementBits(row) / 8 % tmaAlignment != 0) return false;
    return !load->getBlock()->getOps<ttg::DescriptorLoadOp>().empty();
  }

  /// True for a load in a loop whose tile threads dequantize for a dot.
  bool isDequantized(tt::LoadOp load) {
    auto loop = dyn_cast<scf::ForOp>(load->getParentOp());
    return loop && isDequantizedForDot(load) && fitsDequantized(loop, target);
  }

  /// True if the tiles of an iteration's dots are small, and threads read them. Before TMA refills a buffer that threads have read, each
  /// iteration needs a fence, and these fences delay one another on an SM with many small CTAs. cp.async needs no fence
  /// (`maxBytesWithoutTma`).
  bool copiesLittle(scf::ForOp loop) {
    auto dots = loop.getBody()->getOps<tt::DotOp>();
    if (dots.empty() || config.getCtas() != 1) return false;
    int64_t bytes = 0;
    for (auto each : loop.getBody()->getOps<tt::LoadOp>())
      if (isTmaTile(each.getType()) && feedsDot(each)) bytes += ttg::bytesOfTile(each.getType());
    bool isLittle = bytes <= maxBytesWithoutTma;
    return isLittle && llvm::all_of(dots, [&](tt::DotOp dot) { return !readsByDescriptor(mmaKind(dot, config.getWarps(), target)); });
  }

  /// True if tcgen05.cp reads the tile, as the scales of a dot, from a buffer that TMA can fill.
  bool feedsScales(tt::LoadOp load) {
    return tt::reaches(load, [&](OpOperand &use) {
      auto dot = dyn_cast<tt::DotScaledOp>(use.getOwner());
      if (!dot) return onlyRenumbers(use.getOwner()) ? tt::Search::follow : tt::Search::skip;
      std::optional<ScaledMma> mma = scaledMma(dot, target, config.getWarps());
      bool isScale = use.get() == dot.getAScale() || use.get() == dot.getBScale();
      if (!isScale || !mma || !mma->tcgen05) return tt::Search::skip;
      return tmaBox(scaleBuffer(use.get(), use.get() == dot.getAScale()).stored) ? tt::Search::found : tt::Search::skip;
    });
  }

  /// True if tcgen05.mma reads the tile as pairs of 4-bit numbers with padding.
  bool feedsPadded(Value tile) {
    return tt::reaches(tile, [&](OpOperand &use) {
      auto dot = dyn_cast<tt::DotScaledOp>(use.getOwner());
      if (!dot) return isa<tt::TransOp, tt::BitcastOp>(use.getOwner()) ? tt::Search::follow : tt::Search::skip;
      std::optional<ScaledMma> mma = scaledMma(dot, target, config.getWarps());
      return mma && mma->tcgen05 && readsWithPadding(dot, use.get()) ? tt::Search::found : tt::Search::skip;
    });
  }

  /// TMA inserts padding in whole rows of 128 numbers that start at a multiple of 128. The launch checks extents and strides.
  Result<void> checkPadding(Indices &indices, const MapPlan &plan, Type tile) {
    constexpr int64_t rowBytes = swizzleSpanBytes / 2;
    const MapDimension &inner = plan.dims.front();
    if (cast<RankedTensorType>(tile).getDimSize(static_cast<unsigned>(inner.tileDim)) < rowBytes)
      return Failure{"its rows are shorter than 128 numbers of 4 bits"};
    for (const Term &term : inner.start.terms)
      if (indices.divisorOf(term) % rowBytes != 0)
        return Failure{"its rows of 4-bit numbers start at " + indices.text(inner.start) + ", which is not known to be a multiple of 64"};
    return {};
  }

  /// True for loads of operands of dots and their scales, for stores of results of dots, and for atomic operations.
  bool isCandidate(Operation *op) {
    if (auto load = dyn_cast<tt::LoadOp>(op))
      return isTmaTile(load.getType()) && (feedsDot(load) || isDequantized(load) || feedsScales(load));
    auto store = dyn_cast<tt::StoreOp>(op); // overwriting stores stay: they wait for the previous ones
    if (store && !store->hasAttr(tt::overwritesName)) return isTmaTile(store.getValue().getType()) && dependsOnDot(store.getValue());
    auto atomic = dyn_cast<tt::AtomicRMWOp>(op);
    return atomic && isTmaTile(atomic.getVal().getType());
  }

  Result<void> checkWorth() {
    if (copiesInLoop) return {};
    return Failure{"no loop loads tiles that TMA could prefetch"};
  }

  Result<void> checkElement(Type tile) {
    Type element = cast<RankedTensorType>(tile).getElementType();
    int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
    if (bits == 8 || bits == 16 || bits == 32 || bits == 64) return {};
    return Failure{"its elements are not 1, 2, 4 or 8 bytes wide"};
  }

  Result<void> convertLoad(tt::LoadOp op) {
    if (tt::isVolatileLoad(op)) return Failure{"it is volatile"};
    if (Result<void> fits = checkElement(op.getType()); !fits) return fits;
    Value other = op.getOther();
    if (op.getMask() && other && !tt::isZeros(other)) return Failure{"elements outside its mask are not 0"};
    Indices indices(function, failedGuards, cudaGridLimits);
    Result<MapPlan> plan = planVerifiedMap(op, indices, op.getPtr(), op.getMask(), demandedExtent(op));
    if (!plan) return Failure{plan.error()};
    if (Result<void> pads = feedsPadded(op) ? checkPadding(indices, *plan, op.getType()) : Result<void>(); !pads) return pads;
    Result<LaunchGuards> disjoint = accesses.checkRead(plan->base);
    if (!disjoint) return Failure{disjoint.error()};
    if (isTmaTile(op.getType()) && small.contains(op->getParentOp()))
      return Failure{"the tiles of an iteration are small and are read by threads"};
    if (Result<void> worth = checkWorth(); !worth) return worth;
    ttg::relyOn(function, *disjoint);
    ttg::relyOn(function, indices.guards());
    b.setInsertionPoint(op);
    Value map = addMap(indices, *plan, cast<RankedTensorType>(op.getType()).getElementType());
    auto loaded = ttg::DescriptorLoadOp::create(b, op.getLoc(), op.getType(), map, coordinates(indices, *plan, op.getLoc()), order(*plan),
                                                static_cast<uint32_t>(op.getEvict()));
    if (ArrayRef<int64_t>(plan->box) != cast<RankedTensorType>(op.getType()).getShape()) loaded.setCopiedExtent(plan->box);
    op.getResult().replaceAllUsesWith(loaded.getResult());
    op.erase();
    return {};
  }

  /// Verifies that a TMA store stays inside its tensor. An H100 clips a store past the end of a row to 16 bytes instead of to elements. A
  /// box that starts before the tensor is an illegal instruction. Loads have neither restriction.
  Result<void> checkStore(Indices &indices, const MapPlan &plan, Type tile) {
    int64_t bytes = ttg::elementBits(tile) / 8;
    const MapDimension &inner = plan.dims.front();
    for (const Term &term : inner.bound.terms)
      if (indices.divisorOf(term) * bytes % tmaAlignment != 0)
        return Failure{"its rows may end inside a 16-byte chunk: " + indices.text(inner.bound) + " is not known to be a multiple of " +
                       std::to_string(tmaAlignment / bytes)};
    if (!plan.tileMask.conditions.empty() || !plan.tileMask.conjuncts.empty()) return Failure{"its mask may be false for the whole tile"};
    for (const MapDimension &dim : plan.dims)
      if (!indices.assumeNonNegative(dim.start)) return Failure{"its tile may start before the tensor"};
    return {};
  }

  Result<void> convert(Operation *op) {
    return llvm::TypeSwitch<Operation *, Result<void>>(op)
        .Case([&](tt::LoadOp load) { return convertLoad(load); })
        .Case([&](tt::StoreOp store) {
          Result<void> fits = checkElement(store.getValue().getType());
          return fits ? convertStore(op, store.getPtr(), store.getMask(), store.getValue(), ttg::ReductionAttr()) : fits;
        })
        .Case([&](tt::AtomicRMWOp atomic) {
          Result<ttg::Reduction> kind = tmaReduction(atomic);
          if (!kind) return Result<void>(Failure{kind.error()});
          return convertStore(op, atomic.getPtr(), atomic.getMask(), atomic.getVal(), ttg::ReductionAttr::get(b.getContext(), *kind));
        });
  }

  /// The type of a tensor map's elements. It decides whether TMA compares integers as signed numbers.
  Type mapElement(Type element, ttg::ReductionAttr reduce) {
    auto integer = dyn_cast<IntegerType>(element);
    if (!integer || !reduce || reduce.getValue() == ttg::Reduction::min || reduce.getValue() == ttg::Reduction::max) return element;
    return b.getIntegerType(integer.getWidth(), /*isSigned=*/false);
  }

  Result<void> convertStore(Operation *op, Value pointers, Value mask, Value tile, ttg::ReductionAttr reduce) {
    if (ttg::bytesOfTile(tile.getType()) / config.getCtas() > target.sharedBytes) return Failure{"shared memory is too small for its tile"};
    Indices indices(function, failedGuards, cudaGridLimits);
    Result<MapPlan> plan = planVerifiedMap(op, indices, pointers, mask, ttg::shapeOf(tile.getType()));
    if (!plan) return Failure{plan.error()};
    Result<LaunchGuards> disjoint = reduce ? accesses.checkReductions(plan->base) : accesses.checkStore(plan->base);
    if (!disjoint) return Failure{disjoint.error()};
    if (Result<void> fits = checkStore(indices, *plan, tile.getType()); !fits) return fits;
    if (Result<void> worth = checkWorth(); !worth) return worth;
    ttg::relyOn(function, *disjoint);
    ttg::relyOn(function, indices.guards());
    b.setInsertionPoint(op);
    Value map = addMap(indices, *plan, mapElement(cast<RankedTensorType>(tile.getType()).getElementType(), reduce));
    ttg::DescriptorStoreOp::create(b, op->getLoc(), tile, map, coordinates(indices, *plan, op->getLoc()), order(*plan), reduce);
    op->erase();
    return {};
  }

  /// Creates a coordinate. A clamped one may have any value in the kernel: -2^30 and the largest extent of a map are both outside the
  /// tensor.
  Value coordinate(Indices &indices, const MapDimension &dim, Location location) {
    if (!dim.clamped) return indices.make(b, location, dim.start, 32);
    auto constant = [&](int64_t number) { return arith::ConstantOp::create(b, location, b.getI64IntegerAttr(number)).getResult(); };
    Value value = indices.make(b, location, dim.start, 64);
    value = arith::MaxSIOp::create(b, location, value, constant(-(int64_t(1) << 30)));
    value = arith::MinSIOp::create(b, location, value, constant(largestMapExtent));
    return arith::TruncIOp::create(b, location, b.getI32Type(), value);
  }

  SmallVector<Value> coordinates(Indices &indices, const MapPlan &plan, Location location) {
    SmallVector<Value> result, signs;
    auto constant = [&](TypedAttr number) { return arith::ConstantOp::create(b, location, number).getResult(); };
    for (const MapDimension &dim : plan.dims) {
      Value start = coordinate(indices, dim, location);
      if (dim.isSigned) {
        Value half = arith::ShRUIOp::create(b, location, start, constant(b.getI32IntegerAttr(1)));
        signs.push_back(arith::AndIOp::create(b, location, half, constant(b.getI32IntegerAttr(signCoordinate))));
        start = arith::AndIOp::create(b, location, start, constant(b.getI32IntegerAttr(INT32_MAX)));
      }
      result.push_back(start);
    }
    llvm::append_range(result, signs);
    SmallVector<Value> conditions(plan.tileMask.conditions);
    for (const Conjunct &conjunct : plan.tileMask.conjuncts) // 64 bits, because a difference of two 32-bit values may need more than 32
      conditions.push_back(arith::CmpIOp::create(b, location, arith::CmpIPredicate::slt, indices.make(b, location, conjunct, 64),
                                                 constant(b.getI64IntegerAttr(0))));
    if (conditions.empty()) return result;
    Value exists = conditions.front();
    for (Value condition : ArrayRef(conditions).drop_front())
      exists = arith::AndIOp::create(b, location, exists, condition);
    result.back() = arith::SelectOp::create(b, location, exists, result.back(), constant(b.getI32IntegerAttr(farBefore)));
    return result;
  }

  static SmallVector<int32_t> order(const MapPlan &plan) {
    SmallVector<int32_t> result;
    for (const MapDimension &dim : plan.dims)
      if (dim.tileDim >= 0) result.push_back(static_cast<int32_t>(dim.tileDim));
    return result;
  }

  ArrayAttr attribute(Indices &indices, const Polynomial &value) {
    SmallVector<Attribute> terms;
    for (const Term &term : value.terms) {
      SmallVector<int64_t> numbers{term.coefficient};
      for (int64_t factor : term.factors)
        numbers.push_back(indices.argumentOf(factor));
      terms.push_back(b.getDenseI64ArrayAttr(numbers));
    }
    return b.getArrayAttr(terms);
  }

  Value addMap(Indices &indices, const MapPlan &plan, Type element) {
    SmallVector<Attribute> bounds, strides;
    int64_t bytes = std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
    for (auto [i, dim] : llvm::enumerate(plan.dims)) {
      bounds.push_back(attribute(indices, dim.bound));
      if (i > 0) strides.push_back(attribute(indices, dim.stride));
    }
    for (const MapDimension &dim : plan.dims) {
      if (!dim.isSigned) continue;
      bounds.push_back(attribute(indices, Polynomial()));
      strides.push_back(attribute(indices, Polynomial(signStrideBytes / bytes) - dim.stride - dim.stride));
    }
    auto recipe = ttg::TensorMapAttr::get(b.getContext(), int64_t(plan.base.getArgNumber()), attribute(indices, plan.offset),
                                          b.getArrayAttr(bounds), b.getArrayAttr(strides), b.getDenseI64ArrayAttr({}), element, 0);
    unsigned index = function.getNumArguments();
    NamedAttribute attribute(b.getStringAttr(ttg::tensorMapName), recipe);
    (void)function.insertArgument(index, ptx::TensorMapType::get(b.getContext()), b.getDictionaryAttr(attribute), plan.base.getLoc());
    return function.getArgument(index);
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  const GpuTarget &target;
  OpBuilder b;
  address::FailedGuards failedGuards;
  TensorAccesses accesses;
  llvm::SmallPtrSet<Operation *, 4> small; // loops that copy so little that threads do it faster
  bool copiesInLoop = false;
};

} // namespace

LogicalResult formDescriptors(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    if (target.tma) DescriptorFormer(function, config, target).run();
    return success();
  });
}

} // namespace tilewright::gpu
