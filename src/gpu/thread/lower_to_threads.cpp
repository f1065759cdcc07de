// A kernel in terms of tiles becomes the program of one thread:
//   before: %z = arith.addf %x, %y : tensor<256xf32, #a>      where #a gives each of 128 threads two elements
//   after:  %z0 = arith.addf %x0, %y0 : f32                   %z1 = arith.addf %x1, %y1 : f32
// This pass makes no decisions: layouts say which thread holds which element, and each operation is lowered according to its types.
#include "gpu/machine/ptx_attributes.h"
#include "gpu/passes.h"
#include "gpu/thread/lowerings.h"
#include "gpu/tiles/layout_cost.h"
#include "gpu/tiles/row_length.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

#include "llvm/ADT/DenseMap.h"

#include <map>

using namespace mlir;

namespace tilewright::gpu {

//===------------------------------------------------------------------------------------------------------- elementwise

LogicalResult lowerElements(ThreadContext &t, Operation *op, llvm::function_ref<Value(ValueRange)> element) {
  int64_t count = t.threadValueCount(op->getResult(0).getType());
  ThreadValues results;
  for (int64_t reg = 0; reg < count; ++reg) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      const ThreadValues &from = t.get(operand);
      operands.push_back(from[from.size() == 1 ? 0 : static_cast<size_t>(reg)]);
    }
    Value result = element(operands);
    if (!result) return failure();
    results.push_back(result);
  }
  t.set(op->getResult(0), std::move(results));
  return success();
}

/// Lowers a constant tile with different elements: the bits of the element's index select between halves of the table.
static LogicalResult lowerTable(ThreadContext &t, Operation *op, DenseElementsAttr table) {
  constexpr int64_t largest = 256; // one select per element and register
  if (table.getNumElements() > largest)
    return refuse(op, Diag::notOnGpus, {"a constant tile of more than " + std::to_string(largest) + " different elements", "load it"});
  Layout layout = ttg::layoutOf(op->getResult(0).getType());
  Type type = t.scalarType(getElementTypeOrSelf(op->getResult(0).getType()));
  ThreadValues elements, results;
  for (Attribute element : table.getValues<Attribute>())
    elements.push_back(t.constant(type, element));
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg) {
    Value index = flatIndex(t, layout, reg);
    ThreadValues left = elements;
    for (int64_t bit = 0; left.size() > 1; ++bit) {
      Value isSet =
          arith::CmpIOp::create(t.b, arith::CmpIPredicate::ne, arith::AndIOp::create(t.b, index, t.i32(int64_t(1) << bit)), t.i32(0));
      ThreadValues chosen;
      for (size_t i = 0; i < left.size(); i += 2)
        chosen.push_back(arith::SelectOp::create(t.b, isSet, left[i + 1], left[i]));
      left = std::move(chosen);
    }
    results.push_back(left.front());
  }
  t.set(op->getResult(0), std::move(results));
  return success();
}

static LogicalResult lowerConstant(ThreadContext &t, arith::ConstantOp op) {
  Type type = t.scalarType(getElementTypeOrSelf(op->getResult(0).getType()));
  Attribute value = op.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (!dense.isSplat()) return lowerTable(t, op, dense);
    value = dense.getSplatValue<Attribute>();
  }
  Value scalar = t.constant(type, value);
  t.set(op->getResult(0), ThreadValues(static_cast<size_t>(t.threadValueCount(op->getResult(0).getType())), scalar));
  return success();
}

static LogicalResult lowerAddPtr(ThreadContext &t, tt::AddPtrOp op) {
  Type pointee = cast<tt::PointerType>(getElementTypeOrSelf(op.getType())).getPointeeType();
  int64_t bytes = isa<tt::PointerType>(pointee) ? 8 : std::max<int64_t>(1, pointee.getIntOrFloatBitWidth() / 8);
  return lowerElements(t, op, [&](ValueRange operands) -> Value {
    Value offset = operands[1];
    if (!offset.getType().isInteger(64)) {
      auto extended = arith::ExtSIOp::create(t.b, t.b.getI64Type(), offset);
      if (op->hasAttr(ttg::noWrapName)) extended->setAttr(ttg::noWrapName, t.b.getUnitAttr());
      offset = extended;
    }
    return arith::AddIOp::create(t.b, operands[0], arith::MulIOp::create(t.b, offset, t.i64(bytes)));
  });
}

/// Bounds of the index of the elements that threads hold in a register: the smallest and the largest one, or values beyond them.
static std::pair<int64_t, int64_t> indicesOf(const Layout &layout, int64_t reg) {
  uint32_t first = layout.apply(reg, 0, 0, 0), other = 0;
  for (Axis axis : {Axis::lane, Axis::warp, Axis::block})
    for (uint32_t basis : layout.basesOf(axis))
      other |= basis;
  return {first & ~other, first | other};
}

/// Contiguous elements with a uniform comparison use the result of the first one. If 16 divides the length of a row, its mask takes one
/// comparison for every 16 bytes.
static void compareOnce(ThreadContext &t, arith::CmpIOp op) {
  Dims repeats = repeatsOf(op);
  if (repeats.empty()) return;
  Layout layout = ttg::layoutOf(op.getType());
  std::map<Dims, Value> first;
  ThreadValues results = t.get(op.getResult());
  for (auto [reg, result] : llvm::enumerate(results))
    result = first.try_emplace(accessKey(layout, repeats, static_cast<int64_t>(reg)), result).first->second;
  t.set(op.getResult(), std::move(results));
}

/// Columns that are always inside a row, or always outside in this version of the kernel, are not compared with its length.
static LogicalResult lowerCompare(ThreadContext &t, arith::CmpIOp op) {
  if (failed(lowerElementwise(t, op))) return failure();
  compareOnce(t, op);
  std::optional<RowLength> row = rowLengthOf(op);
  if (!row || row->isBroadcast) return success();
  std::optional<int64_t> minLength = row->constant, maxLength = row->constant;
  if (row->length) {
    auto function = cast<tt::FuncOp>(row->length.getOwner()->getParentOp());
    if (auto known = function.getArgAttrOfType<IntegerAttr>(row->length.getArgNumber(), ttg::maxValueName)) maxLength = known.getInt();
  }
  Layout layout = ttg::layoutOf(op.getType());
  ThreadValues results = t.get(op.getResult());
  for (auto [reg, result] : llvm::enumerate(results)) {
    auto [first, last] = indicesOf(layout, static_cast<int64_t>(reg));
    bool isOutside = maxLength && first >= *maxLength, isInside = minLength && last < *minLength;
    if (isOutside || isInside) result = t.constant(t.b.getI1Type(), t.b.getBoolAttr(isInside));
  }
  t.set(op.getResult(), std::move(results));
  return success();
}

//===------------------------------------------------------------------------------------------------------------- shapes

static LogicalResult lowerRange(ThreadContext &t, tt::MakeRangeOp op) {
  Layout layout = ttg::layoutOf(op.getType());
  ThreadValues results;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    results.push_back(arith::AddIOp::create(t.b, flatIndex(t, layout, reg), t.i32(op.getStart())));
  t.set(op.getResult(), std::move(results));
  return success();
}

static LogicalResult mapRegisters(ThreadContext &t, Operation *op, Value from, const std::function<uint32_t(uint32_t)> &map) {
  Layout result = ttg::layoutOf(op->getResult(0).getType());
  const ThreadValues &held = t.get(from);
  ThreadValues results;
  for (std::optional<int64_t> reg : sourceRegisters(result, ttg::layoutOf(from.getType()), map)) {
    if (!reg) return bug(op, "its layout does not match that of its operand");
    results.push_back(held[static_cast<size_t>(*reg)]);
  }
  t.set(op->getResult(0), std::move(results));
  return success();
}

static LogicalResult lowerJoin(ThreadContext &t, tt::JoinOp op) {
  ThreadValues results;
  for (auto [first, second] : llvm::zip(t.get(op.getLhs()), t.get(op.getRhs()))) {
    results.push_back(first);
    results.push_back(second);
  }
  t.set(op.getResult(), std::move(results));
  return success();
}

/// All threads hold the single element.
static LogicalResult lowerUnsplat(ThreadContext &t, tt::UnsplatOp op) {
  t.set(op.getResult(), {t.get(op.getSrc()).front()});
  return success();
}

static LogicalResult lowerSplit(ThreadContext &t, tt::SplitOp op) {
  std::optional<Halves> halves = ttg::layoutOf(op.getSrc().getType()).splitHalves();
  if (!halves) return bug(op, "a thread does not hold both halves of what is split");
  ThreadValues first, second;
  for (auto [reg, value] : llvm::enumerate(t.get(op.getSrc())))
    (reg >> halves->registerBit & 1 ? second : first).push_back(value);
  t.set(op.getOutLHS(), std::move(first));
  t.set(op.getOutRHS(), std::move(second));
  return success();
}

static LogicalResult lowerSplat(ThreadContext &t, tt::SplatOp op) {
  t.set(op.getResult(), ThreadValues(static_cast<size_t>(t.threadValueCount(op.getType())), t.getScalar(op.getSrc())));
  return success();
}

/// Elements keep their row-major index.
static LogicalResult lowerExpandDims(ThreadContext &t, tt::ExpandDimsOp op) {
  return mapRegisters(t, op, op.getSrc(), [](uint32_t flat) { return flat; });
}

static LogicalResult lowerReshape(ThreadContext &t, tt::ReshapeOp op) {
  return mapRegisters(t, op, op.getSrc(), [](uint32_t flat) { return flat; });
}

static LogicalResult lowerBroadcast(ThreadContext &t, tt::BroadcastOp op) {
  Dims fromShape = ttg::shapeOf(op.getSrc().getType()), toShape = ttg::shapeOf(op.getType());
  return mapRegisters(t, op, op.getSrc(), [=](uint32_t flat) {
    std::vector<int64_t> at = coordinatesOf(toShape, flat);
    for (size_t i = 0; i < at.size(); ++i)
      if (fromShape[i] == 1) at[i] = 0;
    return flatOf(fromShape, at);
  });
}

static LogicalResult lowerTrans(ThreadContext &t, tt::TransOp op) {
  Dims fromShape = ttg::shapeOf(op.getSrc().getType()), toShape = ttg::shapeOf(op.getType());
  SmallVector<int32_t> order(op.getOrder());
  return mapRegisters(t, op, op.getSrc(), [=](uint32_t flat) {
    std::vector<int64_t> at = coordinatesOf(toShape, flat), back(at.size());
    for (size_t i = 0; i < at.size(); ++i)
      back[static_cast<size_t>(order[i])] = at[i];
    return flatOf(fromShape, back);
  });
}

//===------------------------------------------------------------------------------------------------- places, small functions

static LogicalResult lowerProgramId(ThreadContext &t, tt::GetProgramIdOp op) {
  t.set(op.getResult(), {programId(t, static_cast<int64_t>(op.getAxis()))});
  return success();
}

static LogicalResult lowerProgramCount(ThreadContext &t, tt::GetNumProgramsOp op) {
  t.set(op.getResult(), {programCount(t, static_cast<int64_t>(op.getAxis()))});
  return success();
}

static LogicalResult lowerClusterRank(ThreadContext &t, ptx::ClusterRankOp op) {
  t.set(op.getResult(), {ptx::ClusterRankOp::create(t.b, t.b.getI32Type())});
  return success();
}

static LogicalResult lowerWarpId(ThreadContext &t, ptx::WarpIdOp op) {
  t.set(op.getResult(), {t.warp});
  return success();
}

static LogicalResult lowerNamed(ThreadContext &t, ptx::BarrierOp op) {
  ptx::BarrierOp::create(t.b, op.getId(), op.getThreads(), op.getPerWarpGroup());
  return success();
}

static LogicalResult lowerNamedArrive(ThreadContext &t, ptx::BarrierArriveOp op) {
  ptx::BarrierArriveOp::create(t.b, op.getId(), op.getThreads());
  return success();
}

static LogicalResult lowerWarpBarrier(ThreadContext &t, ptx::WarpBarrierOp) {
  ptx::WarpBarrierOp::create(t.b);
  return success();
}

static LogicalResult lowerMaxRegisters(ThreadContext &t, ptx::MaxRegistersOp op) {
  ptx::MaxRegistersOp::create(t.b, op.getIncrease(), op.getCount());
  return success();
}

/// Pointers are integers already.
static LogicalResult lowerPtrToInt(ThreadContext &t, tt::PtrToIntOp op) {
  return lowerElements(t, op, [](ValueRange x) { return x[0]; });
}

static LogicalResult lowerIntToPtr(ThreadContext &t, tt::IntToPtrOp op) {
  return lowerElements(t, op, [](ValueRange x) { return x[0]; });
}

static LogicalResult lowerBitcast(ThreadContext &t, tt::BitcastOp op) {
  Type type = t.scalarType(getElementTypeOrSelf(op.getType()));
  return lowerElements(
      t, op, [&](ValueRange x) -> Value { return x[0].getType() == type ? x[0] : Value(arith::BitcastOp::create(t.b, type, x[0])); });
}

static LogicalResult lowerPreciseDiv(ThreadContext &t, tt::PreciseDivFOp op) {
  return lowerElements(t, op, [&](ValueRange x) -> Value { return arith::DivFOp::create(t.b, x[0], x[1]); });
}

static LogicalResult lowerPreciseSqrt(ThreadContext &t, tt::PreciseSqrtOp op) {
  return lowerElements(t, op, [&](ValueRange x) { return mathFunction(t, "sqrt_rn", x); });
}

static LogicalResult lowerFpToFp(ThreadContext &t, tt::FpToFpOp op) {
  return lowerFloatConversion(t, op, op.getRounding() == tt::RoundingMode::RTZ);
}

static LogicalResult lowerMulhi(ThreadContext &t, tt::MulhiUIOp op) {
  return lowerElements(t, op, [&](ValueRange x) -> Value { return arith::MulUIExtendedOp::create(t.b, x[0], x[1]).getHigh(); });
}

static LogicalResult lowerClamp(ThreadContext &t, tt::ClampFOp op) {
  bool propagate = op.getPropagateNan() == tt::PropagateNan::ALL;
  return lowerElements(t, op, [&](ValueRange x) -> Value {
    if (propagate) return arith::MinimumFOp::create(t.b, arith::MaximumFOp::create(t.b, x[0], x[1]), x[2]);
    return arith::MinNumFOp::create(t.b, arith::MaxNumFOp::create(t.b, x[0], x[1]), x[2]);
  });
}

//===------------------------------------------------------------------------------------------------------- control flow

LogicalResult lowerPart(ThreadContext &t, Block &block) {
  if (failed(lowerBlock(t, block))) return failure();
  waitAtBarrier(t);
  return success();
}

/// For each value that a loop carries, whether it stays packed in 32-bit words: small elements that are loaded for a later iteration in
/// such words.
static SmallVector<bool> carriedInWords(ThreadContext &t, scf::ForOp loop) {
  return llvm::map_to_vector(loop.getYieldedValues(), [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value); // a value loaded several iterations ahead
    if (argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar())
      value = loop.getTiedLoopYieldedValue(argument)->get();
    auto load = value.getDefiningOp<tt::LoadOp>();
    if (!load || !isa<RankedTensorType>(value.getType())) return false;
    auto width = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
    Type element = t.scalarType(getElementTypeOrSelf(value.getType()));
    int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 64;
    return (bits == 8 || bits == 16) && width && width.getInt() * bits % 32 == 0 && t.threadValueCount(value.getType()) * bits % 32 == 0;
  });
}

static ThreadValues gatherCarried(ThreadContext &t, ValueRange values, ArrayRef<bool> inWords) {
  ThreadValues all;
  for (auto [value, isInWords] : llvm::zip(values, inWords)) {
    ThreadValues parts = t.get(value);
    size_t each = isInWords ? 32 / parts.front().getType().getIntOrFloatBitWidth() : 1;
    for (size_t i = 0; i < parts.size(); i += each)
      all.push_back(isInWords ? packed(t, ValueRange(parts).slice(i, each)) : parts[i]);
  }
  return all;
}

static void scatterCarried(ThreadContext &t, ValueRange values, ArrayRef<bool> inWords, ValueRange scalars) {
  for (auto [value, isInWords] : llvm::zip(values, inWords)) {
    auto count = static_cast<size_t>(t.threadValueCount(value.getType()));
    ThreadValues parts;
    while (parts.size() < count) {
      if (isInWords)
        llvm::append_range(parts, unpacked(t, scalars.front(), t.scalarType(getElementTypeOrSelf(value.getType()))));
      else
        parts.push_back(scalars.front());
      scalars = scalars.drop_front();
    }
    t.set(value, std::move(parts));
  }
}

static LogicalResult lowerFor(ThreadContext &t, scf::ForOp loop) {
  waitAtBarrier(t);
  AccessLog::Mark before = t.sinceBarrier.mark();
  expectIteration(t, loop);
  SmallVector<bool> inWords = carriedInWords(t, loop);
  auto fresh = scf::ForOp::create(t.b, t.getScalar(loop.getLowerBound()), t.getScalar(loop.getUpperBound()), t.getScalar(loop.getStep()),
                                  gatherCarried(t, loop.getInitArgs(), inWords));
  fresh.setUnsignedCmp(loop.getUnsignedCmp());
  t.set(loop.getInductionVar(), {fresh.getInductionVar()});
  {
    OpBuilder::InsertionGuard guard(t.b);
    if (!fresh.getBody()->empty()) fresh.getBody()->back().erase();
    t.b.setInsertionPointToEnd(fresh.getBody());
    scatterCarried(t, loop.getRegionIterArgs(), inWords, fresh.getRegionIterArgs());
    if (failed(lowerPart(t, *loop.getBody()))) return failure();
    scf::YieldOp::create(t.b, gatherCarried(t, loop.getBody()->getTerminator()->getOperands(), inWords));
  }
  t.sinceBarrier.add(t.sinceBarrier.takeSince(before)); // added to the accesses before the loop, which may have no iteration
  scatterCarried(t, loop.getResults(), inWords, fresh.getResults());
  return success();
}

static LogicalResult lowerIf(ThreadContext &t, scf::IfOp branch) {
  waitAtBarrier(t);
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes())
    t.appendTypes(type, types);
  auto fresh = scf::IfOp::create(t.b, types, t.getScalar(branch.getCondition()), /*withElseRegion=*/!branch.getElseRegion().empty());
  AccessLog::Mark before = t.sinceBarrier.mark();
  SmallVector<GlobalAccess> added;
  for (auto [from, to] : llvm::zip(branch->getRegions(), fresh->getRegions())) {
    if (from.empty()) continue;
    OpBuilder::InsertionGuard guard(t.b);
    if (!to.front().empty()) to.front().back().erase();
    t.b.setInsertionPointToEnd(&to.front());
    if (failed(lowerPart(t, from.front()))) return failure();
    scf::YieldOp::create(t.b, t.gather(from.front().getTerminator()->getOperands()));
    llvm::append_range(added, t.sinceBarrier.takeSince(before));
  }
  // After the branch, either region may have run, or none.
  t.sinceBarrier.add(added);
  t.scatter(branch.getResults(), fresh.getResults());
  return success();
}

static LogicalResult lowerWhile(ThreadContext &t, scf::WhileOp loop) {
  waitAtBarrier(t);
  if (Operation *attempt = triedBy(loop); attempt && t.config.getCtas() == 1) return lowerSpin(t, loop, attempt);
  AccessLog::Mark before = t.sinceBarrier.mark();
  expectIteration(t, loop);
  SmallVector<Type> types, beforeTypes;
  for (Type type : loop.getResultTypes())
    t.appendTypes(type, types);
  for (Value init : loop.getInits())
    t.appendTypes(init.getType(), beforeTypes);
  auto fresh = scf::WhileOp::create(t.b, types, t.gather(loop.getInits()));
  auto fill = [&](Region &to, Block &from, ArrayRef<Type> arguments) -> LogicalResult {
    OpBuilder::InsertionGuard guard(t.b);
    Block *block = t.b.createBlock(&to, to.end(), arguments, SmallVector<Location>(arguments.size(), t.b.getLoc()));
    t.scatter(from.getArguments(), block->getArguments());
    if (failed(lowerPart(t, from))) return failure();
    Operation *end = from.getTerminator();
    if (auto condition = dyn_cast<scf::ConditionOp>(end))
      scf::ConditionOp::create(t.b, t.getScalar(condition.getCondition()), t.gather(condition.getArgs()));
    else
      scf::YieldOp::create(t.b, t.gather(end->getOperands()));
    return success();
  };
  if (failed(fill(fresh.getBefore(), loop.getBefore().front(), beforeTypes)) ||
      failed(fill(fresh.getAfter(), loop.getAfter().front(), types)))
    return failure();
  t.sinceBarrier.add(t.sinceBarrier.takeSince(before)); // added to the accesses before the loop, which may have no iteration
  t.scatter(loop.getResults(), fresh.getResults());
  return success();
}

//===---------------------------------------------------------------------------------------------------------- the table

namespace {
using Lowering = LogicalResult (*)(ThreadContext &, Operation *);
using Row = std::pair<TypeID, Lowering>;

/// A row of the table: the operation is the type of the function's second parameter.
template <auto function> struct RowOf;
template <typename Op, LogicalResult (*function)(ThreadContext &, Op)> struct RowOf<function> {
  static LogicalResult lower(ThreadContext &t, Operation *op) { return function(t, cast<Op>(op)); }
  static Row row() { return {TypeID::get<Op>(), &lower}; }
};
} // namespace

template <auto... functions> static DenseMap<TypeID, Lowering> tableOf() {
  DenseMap<TypeID, Lowering> table;
  for (const Row &row : {RowOf<functions>::row()...})
    table.insert(row);
  return table;
}

/// The lowerings of the GPU back end. Operations of arith and math on tiles are lowered by name: math.cpp.
static Lowering loweringOf(Operation *op) {
  // clang-format off
  static const DenseMap<TypeID, Lowering> table = tableOf<
      // control flow
      lowerFor, lowerIf, lowerWhile, lowerWarpSpecialize,
      // program and partition ids, constants, shapes
      lowerConstant, lowerProgramId, lowerProgramCount, lowerClusterRank, lowerWarpId, lowerWarpBarrier, lowerMaxRegisters, lowerNamed, lowerNamedArrive, lowerRange, lowerSplat, lowerUnsplat, lowerExpandDims,
      lowerReshape, lowerBroadcast, lowerTrans, lowerJoin, lowerSplit, lowerCat,
      // element by element
      lowerAddPtr, lowerCompare, lowerPtrToInt, lowerIntToPtr, lowerBitcast, lowerPreciseDiv, lowerPreciseSqrt, lowerFpToFp, lowerMulhi, lowerClamp,
      lowerExtern, lowerInlineAsm, lowerMapElementwise, lowerUnpackE2m1,
      // between threads
      lowerConvert, lowerReduce, lowerScan, lowerGather, lowerHistogram, lowerReadCluster,
      // global memory
      lowerLoad, lowerStore, lowerAtomic, lowerCompareSwap,
      // buffers in shared memory
      lowerAlloc, lowerAllocBarriers, lowerStage, lowerView, lowerLoadShared, lowerStoreShared, lowerCtaBarrier, lowerFenceAsync,
      // asynchronous copies
      lowerBarrierExpect, lowerBarrierWait, lowerBarrierArrive, lowerCopyAsync, lowerCopyCommit, lowerCopyWait, lowerTmaLoad, lowerTmaStore, lowerTmaStoreWait,
      // matrix multiplication
      lowerDot, lowerScaledDot, lowerWgmma, lowerWgmmaWait, lowerFmaDot,
      // print and assert
      lowerPrint, lowerAssert>();
  // clang-format on
  return table.lookup(op->getName().getTypeID());
}

static LogicalResult lowerOp(ThreadContext &t, Operation *op) {
  if (Lowering lowering = loweringOf(op)) return lowering(t, op);
  StringRef dialect = op->getName().getDialectNamespace(), name = op->getName().getStringRef();
  if (dialect == "math") return lowerMath(t, op);
  if ((dialect == "arith" || dialect == "ub") && op->getNumResults() == 1) return lowerElementwise(t, op);
  if (name == "llvm.intr.assume") return success();
  if (name == "gpu.barrier") {
    clusterBarrier(t);
    return success();
  }
  return refuse(op, Diag::notOnGpus, {"'" + name.str() + "'", ""});
}

LogicalResult lowerBlock(ThreadContext &t, Block &block) {
  for (Operation &op : block.without_terminator()) {
    t.b.setLoc(op.getLoc());
    if (failed(lowerOp(t, &op))) return failure();
  }
  return success();
}

//===------------------------------------------------------------------------------------------------------------ function

/// Prefetches the tensor maps. TMA reads a map from memory before its first copy; the prefetch overlaps this with the first address
/// computation.
static void prefetchMaps(ImplicitLocOpBuilder &b, Value thread, ValueRange arguments) {
  SmallVector<Value> maps = llvm::filter_to_vector(arguments, [](Value argument) { return isa<ptx::TensorMapType>(argument.getType()); });
  if (maps.empty()) return;
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  auto first = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, zero), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(first.thenBlock());
  for (Value map : maps)
    ptx::PrefetchTensorMapOp::create(b, map);
}

static LogicalResult lowerFunction(tt::FuncOp source, ttg::ConfigAttr config, const GpuTarget &target) {
  ThreadContext t(source.getLoc(), config, target);
  SmallVector<Type> arguments;
  for (Type type : source.getArgumentTypes()) {
    if (isa<tt::TensorDescType>(type)) return bug(source, "one of its arguments is a tensor descriptor that was not expanded");
    arguments.push_back(t.scalarType(type));
  }
  t.partialSums = partialSums(source);
  Block &body = source.getBody().front();
  t.partitions = dyn_cast_or_null<ttg::WarpSpecializeOp>(body.getTerminator()->getPrevNode());
  if (t.partitions) t.partitions.captureImplicitly();
  t.b.setInsertionPoint(source);
  auto lowered = tt::FuncOp::create(t.b, source.getName(), t.b.getFunctionType(arguments, {}));
  Block *entry = t.b.createBlock(&lowered.getBody(), {}, arguments, SmallVector<Location>(arguments.size(), source.getLoc()));
  t.thread = ptx::ThreadIdOp::create(t.b, t.b.getI32Type());
  t.lane = ptx::LaneIdOp::create(t.b, t.b.getI32Type());
  t.warp = ptx::WarpIdOp::create(t.b, t.b.getI32Type());
  for (auto [from, to] : llvm::zip(body.getArguments(), entry->getArguments()))
    t.set(from, {to});
  prefetchMaps(t.b, t.thread, entry->getArguments());
  if (failed(lowerPart(t, body))) {
    lowered.erase();
    return failure();
  }
  tt::ReturnOp::create(t.b, ValueRange());
  lowered.setVisibility(source.getVisibility());
  for (unsigned i = 0; i < source.getNumArguments(); ++i)
    if (Attribute recipe = source.getArgAttr(i, ttg::tensorMapName)) lowered.setArgAttr(i, ttg::tensorMapName, recipe);
  int64_t sharedBytes = t.sharedBytes;
  if (auto allocated = source->getAttrOfType<IntegerAttr>(ttg::sharedBytesName)) sharedBytes = std::max(sharedBytes, allocated.getInt());
  int64_t warps = t.partitions ? t.partitions.firstWarp(config.getWarps(), t.partitions.getPartitions().size()) : config.getWarps();
  lowered->setAttr(ptx::kernelName, ptx::KernelAttr::get(t.b.getContext(), warps << laneBits, sharedBytes, config.getCtas(),
                                                         config.getMaxRegisters(), /*minCtas=*/0, /*tryTwoCtas=*/false));
  if (Attribute guards = source->getAttr(ttg::guardsName)) lowered->setAttr(ttg::guardsName, guards);
  source.erase();
  return success();
}

LogicalResult lowerToThreads(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, lowerFunction);
}

} // namespace tilewright::gpu
