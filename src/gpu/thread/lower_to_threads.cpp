// A kernel in terms of tiles becomes the program of one thread:
//   before: %z = arith.addf %x, %y : tensor<256xf32, #a>      where #a gives each of 128 threads two elements
//   after:  %z0 = arith.addf %x0, %y0 : f32                   %z1 = arith.addf %x1, %y1 : f32
// Nothing is decided here: layouts say who holds what, and each operation becomes what its own types ask for.
#include "gpu/passes.h"
#include "gpu/thread/thread_lowering.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"

#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;

namespace tilewright::gpu {

//===--------------------------------------------------------------------------------------------------- types and values

Type ThreadLowering::scalarType(Type element) {
  if (isa<ttg::BufferType, ttg::BarriersType>(element)) return b.getI32Type();
  if (isa<tt::PointerType>(element)) return b.getI64Type();
  if (auto number = dyn_cast<FloatType>(element); number && number.getWidth() == 8) return b.getI8Type();
  return element;
}

int64_t ThreadLowering::partsOf(Type type) {
  return isa<RankedTensorType>(type) ? ttg::layoutOf(type).registersPerThread() : 1;
}

void ThreadLowering::appendTypes(Type type, SmallVectorImpl<Type> &types) {
  types.append(static_cast<size_t>(partsOf(type)), scalarType(getElementTypeOrSelf(type)));
}

Parts ThreadLowering::gather(ValueRange values) {
  Parts all;
  for (Value value : values)
    llvm::append_range(all, get(value));
  return all;
}

void ThreadLowering::scatter(ValueRange values, ValueRange scalars) {
  for (Value value : values) {
    size_t count = static_cast<size_t>(partsOf(value.getType()));
    set(value, Parts(scalars.take_front(count)));
    scalars = scalars.drop_front(count);
  }
}

Value ThreadLowering::i32(int64_t value) {
  return arith::ConstantOp::create(b, b.getI32IntegerAttr(static_cast<int32_t>(value)));
}
Value ThreadLowering::i64(int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}
Value ThreadLowering::constant(Type type, Attribute value) {
  // An 8-bit float is its bits.
  if (auto number = dyn_cast<FloatAttr>(value); number && number.getType() != type)
    value = b.getIntegerAttr(type, number.getValue().bitcastToAPInt());
  return arith::ConstantOp::create(b, cast<TypedAttr>(value));
}
Value ThreadLowering::zero(Type type) {
  return arith::ConstantOp::create(b, b.getZeroAttr(type));
}

Value ThreadLowering::programId(int64_t axis) {
  Value block = ptx::BlockIdOp::create(b, b.getI32Type(), static_cast<uint32_t>(axis));
  return axis == 0 && config.getCtas() > 1 ? Value(arith::DivUIOp::create(b, block, i32(config.getCtas()))) : block;
}

Value ThreadLowering::programCount(int64_t axis) {
  Value blocks = ptx::BlockCountOp::create(b, b.getI32Type(), static_cast<uint32_t>(axis));
  return axis == 0 && config.getCtas() > 1 ? Value(arith::DivUIOp::create(b, blocks, i32(config.getCtas()))) : blocks;
}

Value ThreadLowering::xorBases(Value place, const std::vector<uint32_t> &bases) {
  // Bits that move equally far go together: one mask and one shift.
  std::map<int64_t, int64_t> masks; // by distance
  for (size_t from = 0; from < bases.size(); ++from)
    for (uint32_t rest = bases[from]; rest; rest &= rest - 1)
      masks[llvm::countr_zero(rest) - static_cast<int64_t>(from)] |= int64_t(1) << from;
  Value sum;
  for (auto [distance, mask] : masks) {
    Value part = arith::AndIOp::create(b, place, i32(mask));
    if (distance > 0) part = arith::ShLIOp::create(b, part, i32(distance));
    if (distance < 0) part = arith::ShRUIOp::create(b, part, i32(-distance));
    sum = sum ? Value(arith::XOrIOp::create(b, sum, part)) : part;
  }
  return sum ? sum : i32(0);
}

Value ThreadLowering::flatIndex(const Layout &layout, int64_t reg) {
  Value place = arith::XOrIOp::create(b, xorBases(lane, layout.basesOf(Axis::lane)), xorBases(warp, layout.basesOf(Axis::warp)));
  uint32_t moved = 0, own = layout.apply(reg, 0, 0, 0);
  for (Axis axis : {Axis::lane, Axis::warp})
    for (uint32_t basis : layout.basesOf(axis))
      moved |= basis;
  // Bits that only registers set are added: what differs by a constant can share an address.
  if (moved & own) return arith::XOrIOp::create(b, place, i32(own));
  return arith::AddIOp::create(b, place, i32(own));
}

Value ThreadLowering::holdsFirstCopy(const Layout &layout) {
  uint64_t lanes = layout.freeMask(Axis::lane), warps = layout.freeMask(Axis::warp);
  if (!lanes && !warps) return {};
  Value copies = arith::AndIOp::create(b, thread, i32(static_cast<int64_t>(lanes | warps << 5)));
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, copies, i32(0));
}

//===------------------------------------------------------------------------------------------------------- elementwise

LogicalResult ThreadLowering::lower(Operation *op, llvm::function_ref<Value(ValueRange)> element) {
  int64_t count = partsOf(op->getResult(0).getType());
  Parts results;
  for (int64_t reg = 0; reg < count; ++reg) {
    SmallVector<Value> operands;
    for (Value operand : op->getOperands()) {
      const Parts &from = get(operand);
      operands.push_back(from[from.size() == 1 ? 0 : static_cast<size_t>(reg)]);
    }
    Value result = element(operands);
    if (!result) return failure();
    results.push_back(result);
  }
  set(op->getResult(0), std::move(results));
  return success();
}

LogicalResult ThreadLowering::lowerConstant(Operation *op) {
  auto constantOp = cast<arith::ConstantOp>(op);
  Type type = scalarType(getElementTypeOrSelf(op->getResult(0).getType()));
  Attribute value = constantOp.getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (!dense.isSplat()) return lowerTable(op, dense);
    value = dense.getSplatValue<Attribute>();
  }
  Value scalar = constant(type, value);
  set(op->getResult(0), Parts(static_cast<size_t>(partsOf(op->getResult(0).getType())), scalar));
  return success();
}

/// A constant tile of different elements: halves are chosen between by the bits of the element's index.
LogicalResult ThreadLowering::lowerTable(Operation *op, DenseElementsAttr table) {
  constexpr int64_t largest = 256; // one select an element and register
  if (table.getNumElements() > largest)
    return op->emitError("a constant tile of more than ") << largest << " different elements is not built for GPUs";
  Layout layout = ttg::layoutOf(op->getResult(0).getType());
  Type type = scalarType(getElementTypeOrSelf(op->getResult(0).getType()));
  Parts elements, results;
  for (Attribute element : table.getValues<Attribute>())
    elements.push_back(constant(type, element));
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg) {
    Value index = flatIndex(layout, reg);
    Parts left = elements;
    for (int64_t bit = 0; left.size() > 1; ++bit) {
      Value isSet = arith::CmpIOp::create(b, arith::CmpIPredicate::ne, arith::AndIOp::create(b, index, i32(int64_t(1) << bit)), i32(0));
      Parts chosen;
      for (size_t i = 0; i < left.size(); i += 2)
        chosen.push_back(arith::SelectOp::create(b, isSet, left[i + 1], left[i]));
      left = std::move(chosen);
    }
    results.push_back(left.front());
  }
  set(op->getResult(0), std::move(results));
  return success();
}

LogicalResult ThreadLowering::lowerAddPtr(tt::AddPtrOp op) {
  Type pointee = cast<tt::PointerType>(getElementTypeOrSelf(op.getType())).getPointeeType();
  int64_t bytes = isa<tt::PointerType>(pointee) ? 8 : std::max<int64_t>(1, pointee.getIntOrFloatBitWidth() / 8);
  return lower(op, [&](ValueRange operands) -> Value {
    Value offset = operands[1];
    if (!offset.getType().isInteger(64)) offset = arith::ExtSIOp::create(b, b.getI64Type(), offset);
    return arith::AddIOp::create(b, operands[0], arith::MulIOp::create(b, offset, i64(bytes)));
  });
}

//===------------------------------------------------------------------------------------------------------------- shapes

LogicalResult ThreadLowering::lowerRange(tt::MakeRangeOp op) {
  Layout layout = ttg::layoutOf(op.getType());
  Parts results;
  for (int64_t reg = 0; reg < layout.registersPerThread(); ++reg)
    results.push_back(arith::AddIOp::create(b, flatIndex(layout, reg), i32(op.getStart())));
  set(op.getResult(), std::move(results));
  return success();
}

LogicalResult ThreadLowering::mapRegisters(Operation *op, Value from, const std::function<uint32_t(uint32_t)> &map) {
  Layout result = ttg::layoutOf(op->getResult(0).getType());
  const Parts &held = get(from);
  Parts results;
  for (std::optional<int64_t> reg : sourceRegisters(result, ttg::layoutOf(from.getType()), map)) {
    if (!reg) return op->emitError("the layouts of this operation and its operand do not fit");
    results.push_back(held[static_cast<size_t>(*reg)]);
  }
  set(op->getResult(0), std::move(results));
  return success();
}

LogicalResult ThreadLowering::lowerJoin(tt::JoinOp op) {
  Parts results;
  for (auto [first, second] : llvm::zip(get(op.getLhs()), get(op.getRhs()))) {
    results.push_back(first);
    results.push_back(second);
  }
  set(op.getResult(), std::move(results));
  return success();
}

/// The one element is held by everybody.
LogicalResult ThreadLowering::lowerUnsplat(tt::UnsplatOp op) {
  set(op.getResult(), {get(op.getSrc()).front()});
  return success();
}

LogicalResult ThreadLowering::lowerSplit(tt::SplitOp op) {
  std::optional<Halves> halves = ttg::layoutOf(op.getSrc().getType()).splitHalves();
  if (!halves) return op.emitError("a thread does not hold both halves of what is split");
  Parts first, second;
  for (auto [reg, value] : llvm::enumerate(get(op.getSrc())))
    (reg >> halves->registerBit & 1 ? second : first).push_back(value);
  set(op.getOutLHS(), std::move(first));
  set(op.getOutRHS(), std::move(second));
  return success();
}

//===------------------------------------------------------------------------------------------------------- control flow

LogicalResult ThreadLowering::lowerFor(Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  SmallVector<GlobalAccess> before = sinceBarrier;
  expectTurn(op);
  auto fresh = scf::ForOp::create(b, getScalar(loop.getLowerBound()), getScalar(loop.getUpperBound()), getScalar(loop.getStep()),
                                  gather(loop.getInitArgs()));
  set(loop.getInductionVar(), {fresh.getInductionVar()});
  scatter(loop.getRegionIterArgs(), fresh.getRegionIterArgs());
  {
    OpBuilder::InsertionGuard guard(b);
    if (!fresh.getBody()->empty()) fresh.getBody()->back().erase();
    b.setInsertionPointToEnd(fresh.getBody());
    if (failed(lowerBlock(*loop.getBody()))) return failure();
    scf::YieldOp::create(b, gather(loop.getBody()->getTerminator()->getOperands()));
  }
  llvm::append_range(sinceBarrier, before); // there may have been no turn
  scatter(loop.getResults(), fresh.getResults());
  return success();
}

LogicalResult ThreadLowering::lowerIf(Operation *op) {
  auto branch = cast<scf::IfOp>(op);
  SmallVector<Type> types;
  for (Type type : branch.getResultTypes())
    appendTypes(type, types);
  auto fresh = scf::IfOp::create(b, types, getScalar(branch.getCondition()), /*withElseRegion=*/!branch.getElseRegion().empty());
  SmallVector<GlobalAccess> before = sinceBarrier, after = before;
  for (auto [from, to] : llvm::zip(branch->getRegions(), fresh->getRegions())) {
    if (from.empty()) continue;
    sinceBarrier = before;
    OpBuilder::InsertionGuard guard(b);
    if (!to.front().empty()) to.front().back().erase();
    b.setInsertionPointToEnd(&to.front());
    if (failed(lowerBlock(from.front()))) return failure();
    scf::YieldOp::create(b, gather(from.front().getTerminator()->getOperands()));
    llvm::append_range(after, sinceBarrier);
  }
  // Behind it either part may have run, or none.
  sinceBarrier = std::move(after);
  scatter(branch.getResults(), fresh.getResults());
  return success();
}

LogicalResult ThreadLowering::lowerWhile(Operation *op) {
  auto loop = cast<scf::WhileOp>(op);
  SmallVector<GlobalAccess> before = sinceBarrier;
  expectTurn(op);
  SmallVector<Type> types, beforeTypes;
  for (Type type : loop.getResultTypes())
    appendTypes(type, types);
  for (Value init : loop.getInits())
    appendTypes(init.getType(), beforeTypes);
  auto fresh = scf::WhileOp::create(b, types, gather(loop.getInits()));
  auto fill = [&](Region &to, Block &from, ArrayRef<Type> arguments) -> LogicalResult {
    OpBuilder::InsertionGuard guard(b);
    Block *block = b.createBlock(&to, to.end(), arguments, SmallVector<Location>(arguments.size(), b.getLoc()));
    scatter(from.getArguments(), block->getArguments());
    if (failed(lowerBlock(from))) return failure();
    Operation *end = from.getTerminator();
    if (auto condition = dyn_cast<scf::ConditionOp>(end))
      scf::ConditionOp::create(b, getScalar(condition.getCondition()), gather(condition.getArgs()));
    else
      scf::YieldOp::create(b, gather(end->getOperands()));
    return success();
  };
  if (failed(fill(fresh.getBefore(), loop.getBefore().front(), beforeTypes)) ||
      failed(fill(fresh.getAfter(), loop.getAfter().front(), types)))
    return failure();
  llvm::append_range(sinceBarrier, before); // there may have been no turn
  scatter(loop.getResults(), fresh.getResults());
  return success();
}

LogicalResult ThreadLowering::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator()) {
    b.setLoc(op.getLoc());
    if (failed(lowerOp(&op))) return failure();
  }
  return success();
}

LogicalResult ThreadLowering::lowerOp(Operation *op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<scf::ForOp>([&](auto o) { return lowerFor(o); })
      .Case<scf::IfOp>([&](auto o) { return lowerIf(o); })
      .Case<scf::WhileOp>([&](auto o) { return lowerWhile(o); })
      .Case<arith::ConstantOp>([&](auto o) { return lowerConstant(o); })
      .Case<tt::GetProgramIdOp>([&](auto o) {
        set(o.getResult(), {programId(static_cast<int64_t>(o.getAxis()))});
        return success();
      })
      .Case<tt::GetNumProgramsOp>([&](auto o) {
        set(o.getResult(), {programCount(static_cast<int64_t>(o.getAxis()))});
        return success();
      })
      .Case<ptx::ClusterRankOp>([&](auto o) {
        set(o.getResult(), {ptx::ClusterRankOp::create(b, b.getI32Type())});
        return success();
      })
      .Case<ttg::ReadBlocksOp>([&](auto o) { return lowerReadBlocks(o); })
      .Case<tt::MakeRangeOp>([&](auto o) { return lowerRange(o); })
      .Case<tt::SplatOp>([&](auto o) {
        set(o.getResult(), Parts(static_cast<size_t>(partsOf(o.getType())), getScalar(o.getSrc())));
        return success();
      })
      .Case<tt::ExpandDimsOp, tt::ReshapeOp>([&](auto o) { return mapRegisters(o, o.getSrc(), [](uint32_t flat) { return flat; }); })
      .Case<tt::BroadcastOp>([&](auto o) {
        Dims fromShape = ttg::shapeOf(o.getSrc().getType()), toShape = ttg::shapeOf(o.getType());
        return mapRegisters(o, o.getSrc(), [=](uint32_t flat) {
          std::vector<int64_t> at = coordinatesOf(toShape, flat);
          for (size_t i = 0; i < at.size(); ++i)
            if (fromShape[i] == 1) at[i] = 0;
          return flatOf(fromShape, at);
        });
      })
      .Case<tt::TransOp>([&](auto o) {
        Dims fromShape = ttg::shapeOf(o.getSrc().getType()), toShape = ttg::shapeOf(o.getType());
        SmallVector<int32_t> order(o.getOrder());
        return mapRegisters(o, o.getSrc(), [=](uint32_t flat) {
          std::vector<int64_t> at = coordinatesOf(toShape, flat), back(at.size());
          for (size_t i = 0; i < at.size(); ++i)
            back[static_cast<size_t>(order[i])] = at[i];
          return flatOf(fromShape, back);
        });
      })
      .Case<tt::JoinOp>([&](auto o) { return lowerJoin(o); })
      .Case<tt::SplitOp>([&](auto o) { return lowerSplit(o); })
      .Case<tt::AddPtrOp>([&](auto o) { return lowerAddPtr(o); })
      .Case<tt::PtrToIntOp, tt::IntToPtrOp>([&](auto o) { return lower(o, [](ValueRange x) { return x[0]; }); })
      .Case<tt::BitcastOp>([&](auto o) {
        Type type = scalarType(getElementTypeOrSelf(o.getType()));
        return lower(o,
                     [&](ValueRange x) -> Value { return x[0].getType() == type ? x[0] : Value(arith::BitcastOp::create(b, type, x[0])); });
      })
      .Case<tt::PreciseDivFOp>(
          [&](auto o) { return lower(o, [&](ValueRange x) -> Value { return arith::DivFOp::create(b, x[0], x[1]); }); })
      .Case<tt::PreciseSqrtOp>([&](auto o) { return lower(o, [&](ValueRange x) { return mathFunction("sqrt_rn", x); }); })
      .Case<tt::FpToFpOp>([&](auto o) { return lowerFloatConversion(o, o.getRounding() == tt::RoundingMode::RTZ); })
      .Case<tt::ExternElementwiseOp>([&](auto o) { return lowerExtern(o); })
      .Case<tt::ElementwiseInlineAsmOp>([&](auto o) { return lowerInlineAsm(o); })
      .Case<tt::MapElementwiseOp>([&](auto o) { return lowerMapElementwise(o); })
      .Case<tt::UnsplatOp>([&](auto o) { return lowerUnsplat(o); })
      .Case<tt::ScanOp>([&](auto o) { return lowerScan(o); })
      .Case<tt::GatherOp>([&](auto o) { return lowerGather(o); })
      .Case<tt::HistogramOp>([&](auto o) { return lowerHistogram(o); })
      .Case<tt::CatOp>([&](auto o) { return lowerCat(o); })
      .Case<tt::PrintOp>([&](auto o) { return lowerPrint(o); })
      .Case<tt::AssertOp>([&](auto o) { return lowerAssert(o); })
      .Case<tt::AtomicCASOp>([&](auto o) { return lowerCompareSwap(o); })
      .Case<tt::MulhiUIOp>(
          [&](auto o) { return lower(o, [&](ValueRange x) -> Value { return arith::MulUIExtendedOp::create(b, x[0], x[1]).getHigh(); }); })
      .Case<tt::ClampFOp>([&](auto o) {
        bool propagate = o.getPropagateNan() == tt::PropagateNan::ALL;
        return lower(o, [&](ValueRange x) -> Value {
          if (propagate) return arith::MinimumFOp::create(b, arith::MaximumFOp::create(b, x[0], x[1]), x[2]);
          return arith::MinNumFOp::create(b, arith::MaxNumFOp::create(b, x[0], x[1]), x[2]);
        });
      })
      .Case<tt::DotOp>([&](auto o) { return lowerDot(o); })
      .Case<ttg::WgmmaOp>([&](auto o) { return lowerWgmma(o); })
      .Case<ttg::WgmmaWaitOp>([&](auto o) { return lowerWgmmaWait(o); })
      .Case<ttg::FmaDotOp>([&](auto o) { return lowerFmaDot(o); })
      .Case<tt::LoadOp>([&](auto o) { return lowerLoad(o); })
      .Case<tt::StoreOp>([&](auto o) { return lowerStore(o); })
      .Case<tt::AtomicRMWOp>([&](auto o) { return lowerAtomic(o); })
      .Case<ttg::ConvertLayoutOp>([&](auto o) { return lowerConvert(o); })
      .Case<tt::ReduceOp>([&](auto o) { return lowerReduce(o); })
      .Default([&](Operation *o) -> LogicalResult {
        StringRef dialect = o->getName().getDialectNamespace(), name = o->getName().getStringRef();
        if (std::optional<LogicalResult> shared = lowerShared(o)) return *shared;
        if (dialect == "math") return lowerMath(o);
        if ((dialect == "arith" || dialect == "ub") && o->getNumResults() == 1) return lowerElementwise(o);
        if (name == "llvm.intr.assume") return success();
        if (name == "gpu.barrier") {
          meet();
          return success();
        }
        return o->emitError("this operation is not built for GPUs: ") << name;
      });
}

//===------------------------------------------------------------------------------------------------------------ function

/// The copy engine reads a map from memory before its first copy. Asked for at once, the map comes while the first address is computed.
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

LogicalResult ThreadLowering::run() {
  SmallVector<Type> arguments;
  for (Type type : source.getArgumentTypes()) {
    if (isa<tt::TensorDescType>(type)) return source.emitError("a tensor descriptor argument must be expanded before");
    arguments.push_back(scalarType(type));
  }
  b.setInsertionPoint(source);
  auto thread_ = tt::FuncOp::create(b, source.getName(), b.getFunctionType(arguments, {}));
  Block *entry = b.createBlock(&thread_.getBody(), {}, arguments, SmallVector<Location>(arguments.size(), source.getLoc()));
  thread = ptx::ThreadIdOp::create(b, b.getI32Type());
  lane = ptx::LaneIdOp::create(b, b.getI32Type());
  warp = ptx::WarpIdOp::create(b, b.getI32Type());
  Block &body = source.getBody().front();
  for (auto [from, to] : llvm::zip(body.getArguments(), entry->getArguments()))
    set(from, {to});
  prefetchMaps(b, thread, entry->getArguments());
  if (failed(lowerBlock(body))) {
    thread_.erase();
    return failure();
  }
  tt::ReturnOp::create(b, ValueRange());
  thread_.setVisibility(source.getVisibility());
  for (unsigned i = 0; i < source.getNumArguments(); ++i)
    if (Attribute recipe = source.getArgAttr(i, ttg::tensorMapName)) thread_.setArgAttr(i, ttg::tensorMapName, recipe);
  if (auto allocated = source->getAttrOfType<IntegerAttr>(ttg::sharedBytesName)) sharedBytes = std::max(sharedBytes, allocated.getInt());
  thread_->setAttr("ptx.kernel",
                   ptx::KernelAttr::get(b.getContext(), config.getWarps() * 32, sharedBytes, config.getCtas(), config.getMaxRegisters()));
  source.erase();
  return success();
}

LogicalResult lowerToThreads(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
    return ThreadLowering(function, config, target).run();
  });
}

} // namespace tilewright::gpu
