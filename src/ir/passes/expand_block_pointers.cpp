// Block pointers and tensor descriptors describe a block of a strided tensor by base, shape, strides and offsets. Back ends support only
// tiles of pointers and masks. So this pass replaces each by its scalars, also in loops, branches and selects.
//   before: %v = tt.load %block {boundaryCheck = array<i32: 0>, padding = 1 : i32} : !tt.ptr<tensor<64xf16>>
//   after:  %origin = tt.addptr %base, (%offset * %stride)                    scalar, i64
//           %ptrs = tt.addptr (splat %origin), (range * splat %stride)        the only part that depends on the element
//           %mask = range >= splat(-%offset) and range < splat(%shape - %offset)
//           %v = tt.load %ptrs, %mask, %zero
// All arithmetic is in i64, for tensors of more than 2^31 elements. A descriptor always checks its bounds.
// Parts of a block pointer:  base, shape i64, strides i64, offsets i32.     Parts of a descriptor: base, shape i64, strides i64, nan i1.
#include "ir/passes.h"
#include "ir/refusal.h"
#include "ir/tt.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/Transforms/DialectConversion.h"

using namespace mlir;
using namespace tilewright;

namespace {

RankedTensorType blockOf(Type type) {
  if (auto desc = dyn_cast<tt::TensorDescType>(type)) return desc.getBlockType();
  return tt::isBlockPointer(type) ? cast<RankedTensorType>(tt::pointeeTile(type)) : RankedTensorType();
}

/// The parts of one block, by name.
struct Block {
  Value base;
  ValueRange shape, strides, rest;

  Block(ValueRange parts, int64_t rank)
      : base(parts[0]), shape(parts.slice(1, rank)), strides(parts.slice(1 + rank, rank)), rest(parts.drop_front(1 + 2 * rank)) {}
};

/// Pointers and, where bounds are checked, the mask of a block.
struct Access {
  Value pointers, mask;
};

/// Emits the arithmetic of one block at one insertion point.
class Emitter {
public:
  Emitter(OpBuilder &builder, Location loc, RankedTensorType tile) : b(loc, builder), tile(tile) {}

  Value wide(Value v) {
    return v.getType().isInteger(64) ? v : arith::ExtSIOp::create(b, tt::withElement(v.getType(), b.getI64Type()), v).getResult();
  }

  /// Returns 0, 1, ... along `dim`, as i64, with size 1 in all other dimensions.
  Value range(int64_t dim) {
    int64_t size = tile.getDimSize(dim);
    Value range = tt::MakeRangeOp::create(b, RankedTensorType::get({size}, b.getI32Type()), 0, size);
    return along(wide(range), dim);
  }

  /// Expands a 1-D tile along `dim`.
  Value along(Value v, int64_t dim) {
    for (int64_t axis = 0; axis < tile.getRank(); ++axis)
      if (axis != dim) {
        SmallVector<int64_t> shape(cast<RankedTensorType>(v.getType()).getShape());
        shape.insert(shape.begin() + axis, 1);
        v = tt::ExpandDimsOp::create(b, RankedTensorType::get(shape, getElementTypeOrSelf(v.getType())), v, axis);
      }
    return v;
  }

  Value splatLike(Value scalar, Value like) { return tt::SplatOp::create(b, tt::withElement(like.getType(), scalar.getType()), scalar); }

  Value broadcast(Value v) {
    Type type = tt::withElement(tile, getElementTypeOrSelf(v.getType()));
    return v.getType() == type ? v : tt::BroadcastOp::create(b, type, v).getResult();
  }

  Value both(Value mask, Value other) { return mask ? arith::AndIOp::create(b, mask, other).getResult() : other; }

  /// Returns low <= v < high for each element.
  Value within(Value v, Value low, Value high) {
    Value above = arith::CmpIOp::create(b, arith::CmpIPredicate::sge, v, splatLike(low, v));
    Value below = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, v, splatLike(high, v));
    return broadcast(arith::AndIOp::create(b, above, below));
  }

  /// Returns the tile of pointers to `block` at `offsets`, and the mask of the elements inside the tensor in the dimensions `checked`.
  Access access(const Block &block, ValueRange offsets, ArrayRef<int32_t> checked) {
    Value origin = block.base;
    for (auto [offset, stride] : llvm::zip(offsets, block.strides))
      origin = tt::AddPtrOp::create(b, origin, arith::MulIOp::create(b, wide(offset), stride));
    Value pointers = tt::SplatOp::create(b, tt::withElement(tile, origin.getType()), origin), mask;
    for (int64_t dim = 0; dim < tile.getRank(); ++dim) {
      Value index = range(dim);
      pointers = tt::AddPtrOp::create(b, pointers, broadcast(arith::MulIOp::create(b, index, splatLike(block.strides[dim], index))));
      if (llvm::is_contained(checked, int32_t(dim))) mask = both(mask, inside(index, wide(offsets[dim]), block.shape[dim]));
    }
    return {pointers, mask};
  }

  /// Returns the access to rows `rows` of a two-dimensional tensor, from `column` on.
  Access rows(const Block &block, Value rows, Value column) {
    Value start = tt::AddPtrOp::create(b, block.base, arith::MulIOp::create(b, wide(column), block.strides[1]));
    Value row = along(wide(rows), 0), index = range(1);
    Value pointers = tt::SplatOp::create(b, tt::withElement(tile, start.getType()), start);
    pointers = tt::AddPtrOp::create(b, pointers, broadcast(arith::MulIOp::create(b, row, splatLike(block.strides[0], row))));
    pointers = tt::AddPtrOp::create(b, pointers, broadcast(arith::MulIOp::create(b, index, splatLike(block.strides[1], index))));
    Value mask = both(within(row, constant(0), block.shape[0]), inside(index, wide(column), block.shape[1]));
    return {pointers, mask};
  }

  Value constant(int64_t value) { return arith::ConstantOp::create(b, b.getI64IntegerAttr(value)); }

  /// Returns the value of an element outside the tensor.
  Value padding(bool nan) {
    Type element = tile.getElementType();
    if (auto type = dyn_cast<FloatType>(element); type && nan)
      return arith::ConstantOp::create(b, DenseElementsAttr::get(tile, FloatAttr::get(type, APFloat::getNaN(type.getFloatSemantics()))));
    if (isa<tt::PointerType>(element)) {
      auto address = RankedTensorType::get(tile.getShape(), b.getI64Type());
      return tt::IntToPtrOp::create(b, tile, arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(address))));
    }
    return arith::ConstantOp::create(b, cast<TypedAttr>(b.getZeroAttr(tile)));
  }
  /// The same, selected at run time by the last part of the descriptor.
  Value padding(Value nan) {
    if (std::optional<int64_t> known = getConstantIntValue(nan)) return padding(*known != 0);
    return isa<FloatType>(tile.getElementType()) ? arith::SelectOp::create(b, nan, padding(true), padding(false)).getResult()
                                                 : padding(false);
  }

  Value shaped(Value v, Type type) { return v.getType() == type ? v : tt::ReshapeOp::create(b, type, v).getResult(); }

  ImplicitLocOpBuilder b;

private:
  /// True if the offset is provably at least 0, so that only the upper bound needs a check.
  static bool isNonNegative(Value v) {
    if (std::optional<int64_t> known = getConstantIntValue(v)) return *known >= 0;
    if (auto extended = v.getDefiningOp<arith::ExtSIOp>()) return isNonNegative(extended.getIn());
    if (auto arg = dyn_cast<BlockArgument>(v))
      if (auto loop = dyn_cast<scf::ForOp>(arg.getOwner()->getParentOp()); loop && !loop.getUnsignedCmp() && arg == loop.getInductionVar())
        return isNonNegative(loop.getLowerBound());
    return isa_and_present<tt::GetProgramIdOp, tt::GetNumProgramsOp>(v.getDefiningOp());
  }

  /// Returns 0 <= offset + index < shape, with the uniform operands on one side.
  Value inside(Value index, Value offset, Value shape) {
    if (isNonNegative(offset)) {
      Value rest = arith::SubIOp::create(b, shape, offset);
      return broadcast(arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, splatLike(rest, index)));
    }
    return within(index, arith::SubIOp::create(b, constant(0), offset), arith::SubIOp::create(b, shape, offset));
  }

  RankedTensorType tile;
};

template <typename Op> struct Pattern : OpConversionPattern<Op> {
  using OpConversionPattern<Op>::OpConversionPattern;
  using Operands = typename OpConversionPattern<Op>::OneToNOpAdaptor;
};

SmallVector<int32_t> allDims(RankedTensorType tile) {
  return llvm::to_vector(llvm::seq<int32_t>(0, tile.getRank()));
}

struct ExpandMakeTensorPtr : Pattern<tt::MakeTensorPtrOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(tt::MakeTensorPtrOp op, Operands, ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> parts(op->getOperands());
    rewriter.replaceOpWithMultiple(op, {ValueRange(parts)});
    return success();
  }
};

struct ExpandMakeTensorDesc : Pattern<tt::MakeTensorDescOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(tt::MakeTensorDescOp op, Operands, ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> parts{op.getBase()};
    for (Value size : op.getShape())
      parts.push_back(arith::ExtSIOp::create(rewriter, op.getLoc(), rewriter.getI64Type(), size));
    llvm::append_range(parts, op.getStrides());
    bool nan = op.getPadding() == tt::PaddingOption::PAD_NAN;
    parts.push_back(arith::ConstantOp::create(rewriter, op.getLoc(), rewriter.getBoolAttr(nan)));
    rewriter.replaceOpWithMultiple(op, {ValueRange(parts)});
    return success();
  }
};

struct ExpandAdvance : Pattern<tt::AdvanceOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(tt::AdvanceOp op, Operands operands, ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> parts(operands.getPtr());
    int64_t rank = op.getOffsets().size();
    for (int64_t dim = 0; dim < rank; ++dim) {
      Value &offset = parts[1 + 2 * rank + dim];
      offset = arith::AddIOp::create(rewriter, op.getLoc(), offset, op.getOffsets()[dim]);
    }
    rewriter.replaceOpWithMultiple(op, {ValueRange(parts)});
    return success();
  }
};

struct ExpandLoad : Pattern<tt::LoadOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(tt::LoadOp op, Operands operands, ConversionPatternRewriter &rewriter) const override {
    RankedTensorType tile = blockOf(op.getPtr().getType());
    if (!tile) return failure();
    Emitter emit(rewriter, op.getLoc(), tile);
    Block block(operands.getPtr(), tile.getRank());
    Access access = emit.access(block, block.rest, op.getBoundaryCheck());
    Value other = access.mask ? emit.padding(op.getPadding() == tt::PaddingOption::PAD_NAN) : Value();
    rewriter.replaceOpWithNewOp<tt::LoadOp>(op, access.pointers, access.mask, other, ArrayRef<int32_t>(), tt::PaddingOptionAttr(),
                                            op.getCache(), op.getEvict(), op.getIsVolatile());
    return success();
  }
};

struct ExpandStore : Pattern<tt::StoreOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(tt::StoreOp op, Operands operands, ConversionPatternRewriter &rewriter) const override {
    RankedTensorType tile = blockOf(op.getPtr().getType());
    if (!tile) return failure();
    Emitter emit(rewriter, op.getLoc(), tile);
    Block block(operands.getPtr(), tile.getRank());
    Access access = emit.access(block, block.rest, op.getBoundaryCheck());
    rewriter.replaceOpWithNewOp<tt::StoreOp>(op, access.pointers, op.getValue(), access.mask, ArrayRef<int32_t>(), op.getCache(),
                                             op.getEvict());
    return success();
  }
};

struct ExpandDescriptorLoad : Pattern<tt::DescriptorLoadOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(tt::DescriptorLoadOp op, Operands operands, ConversionPatternRewriter &rewriter) const override {
    RankedTensorType tile = op.getDesc().getType().getBlockType();
    Emitter emit(rewriter, op.getLoc(), tile);
    Block block(operands.getDesc(), tile.getRank());
    Access access = emit.access(block, op.getIndices(), allDims(tile));
    Value loaded = tt::LoadOp::create(emit.b, access.pointers, access.mask, emit.padding(block.rest[0]), ArrayRef<int32_t>(),
                                      tt::PaddingOptionAttr(), op.getCache(), op.getEvict(), false);
    rewriter.replaceOp(op, emit.shaped(loaded, op.getType()));
    return success();
  }
};

struct ExpandDescriptorStore : Pattern<tt::DescriptorStoreOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(tt::DescriptorStoreOp op, Operands operands, ConversionPatternRewriter &rewriter) const override {
    RankedTensorType tile = op.getDesc().getType().getBlockType();
    Emitter emit(rewriter, op.getLoc(), tile);
    Block block(operands.getDesc(), tile.getRank());
    Access access = emit.access(block, op.getIndices(), allDims(tile));
    rewriter.replaceOpWithNewOp<tt::StoreOp>(op, access.pointers, emit.shaped(op.getSrc(), tile), access.mask);
    return success();
  }
};

std::optional<tt::RMWOp> atomicOf(tt::DescriptorReduceKind kind, tt::TensorDescType desc) {
  bool isFloat = isa<FloatType>(desc.getBlockType().getElementType()), isUnsigned = desc.hasUnsignedElements();
  switch (kind) {
  case tt::DescriptorReduceKind::ADD: return isFloat ? tt::RMWOp::FADD : tt::RMWOp::ADD;
  case tt::DescriptorReduceKind::MIN: return isFloat ? std::nullopt : std::optional(isUnsigned ? tt::RMWOp::UMIN : tt::RMWOp::MIN);
  case tt::DescriptorReduceKind::MAX: return isFloat ? std::nullopt : std::optional(isUnsigned ? tt::RMWOp::UMAX : tt::RMWOp::MAX);
  case tt::DescriptorReduceKind::AND: return tt::RMWOp::AND;
  case tt::DescriptorReduceKind::OR: return tt::RMWOp::OR;
  case tt::DescriptorReduceKind::XOR: return tt::RMWOp::XOR;
  case tt::DescriptorReduceKind::INC:
  case tt::DescriptorReduceKind::DEC: return std::nullopt;
  }
  return std::nullopt;
}

/// Emits the minimum or maximum of 16-bit floats by two integer atomics. The bits of non-negative numbers have the order of the numbers,
/// the bits of negative numbers the reverse order. For the minimum with a non-negative number, the signed minimum of the bits is right. For
/// the minimum with a negative number, the unsigned maximum of the bits is right. The maximum is symmetric.
void reduceHalves(Emitter &emit, Value numbers, const Access &access, bool isMinimum) {
  auto asIntegers = [&](Type type) { return tt::withElement(type, emit.b.getI16Type()); };
  Type pointer = tt::withElement(access.pointers.getType(), tt::PointerType::get(emit.b.getI16Type(), 1));
  Value bits = tt::BitcastOp::create(emit.b, asIntegers(numbers.getType()), numbers);
  Value pointers = tt::BitcastOp::create(emit.b, pointer, access.pointers);
  Value zero = arith::ConstantOp::create(emit.b, cast<TypedAttr>(emit.b.getZeroAttr(bits.getType())));
  auto update = [&](arith::CmpIPredicate sign, tt::RMWOp kind) {
    Value chosen = emit.both(access.mask, arith::CmpIOp::create(emit.b, sign, bits, zero));
    tt::AtomicRMWOp::create(emit.b, bits.getType(), kind, pointers, bits, chosen, tt::MemSemantic::RELAXED, tt::MemSyncScope::GPU);
  };
  update(arith::CmpIPredicate::sge, isMinimum ? tt::RMWOp::MIN : tt::RMWOp::MAX);
  update(arith::CmpIPredicate::slt, isMinimum ? tt::RMWOp::UMAX : tt::RMWOp::UMIN);
}

struct ExpandDescriptorReduce : Pattern<tt::DescriptorReduceOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(tt::DescriptorReduceOp op, Operands operands, ConversionPatternRewriter &rewriter) const override {
    RankedTensorType tile = op.getDesc().getType().getBlockType();
    std::optional<tt::RMWOp> atomic = atomicOf(op.getKind(), op.getDesc().getType());
    bool isMinimum = op.getKind() == tt::DescriptorReduceKind::MIN;
    if (isa<Float16Type, BFloat16Type>(tile.getElementType()) && (isMinimum || op.getKind() == tt::DescriptorReduceKind::MAX)) {
      Emitter emit(rewriter, op.getLoc(), tile);
      Access access = emit.access(Block(operands.getDesc(), tile.getRank()), op.getIndices(), allDims(tile));
      reduceHalves(emit, emit.shaped(op.getSrc(), tile), access, isMinimum);
      rewriter.eraseOp(op);
      return success();
    }
    if (!atomic)
      return refuse(op, Diag::descriptorReduceType,
                    {tt::stringifyDescriptorReduceKind(op.getKind()).str(), mlirText(tile.getElementType())});
    Emitter emit(rewriter, op.getLoc(), tile);
    Access access = emit.access(Block(operands.getDesc(), tile.getRank()), op.getIndices(), allDims(tile));
    tt::AtomicRMWOp::create(emit.b, tile, *atomic, access.pointers, emit.shaped(op.getSrc(), tile), access.mask, tt::MemSemantic::RELAXED,
                            tt::MemSyncScope::GPU);
    rewriter.eraseOp(op);
    return success();
  }
};

struct ExpandGather : Pattern<tt::DescriptorGatherOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(tt::DescriptorGatherOp op, Operands operands, ConversionPatternRewriter &rewriter) const override {
    Emitter emit(rewriter, op.getLoc(), cast<RankedTensorType>(op.getType()));
    Block block(operands.getDesc(), 2);
    Access access = emit.rows(block, op.getXOffsets(), op.getYOffset());
    rewriter.replaceOpWithNewOp<tt::LoadOp>(op, access.pointers, access.mask, emit.padding(block.rest[0]));
    return success();
  }
};

struct ExpandScatter : Pattern<tt::DescriptorScatterOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(tt::DescriptorScatterOp op, Operands operands, ConversionPatternRewriter &rewriter) const override {
    Emitter emit(rewriter, op.getLoc(), cast<RankedTensorType>(op.getSrc().getType()));
    Access access = emit.rows(Block(operands.getDesc(), 2), op.getXOffsets(), op.getYOffset());
    rewriter.replaceOpWithNewOp<tt::StoreOp>(op, access.pointers, op.getSrc(), access.mask);
    return success();
  }
};

struct ExpandSelect : Pattern<arith::SelectOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(arith::SelectOp op, Operands operands, ConversionPatternRewriter &rewriter) const override {
    SmallVector<Value> parts;
    for (auto [yes, no] : llvm::zip(operands.getTrueValue(), operands.getFalseValue()))
      parts.push_back(arith::SelectOp::create(rewriter, op.getLoc(), op.getCondition(), yes, no));
    rewriter.replaceOpWithMultiple(op, {ValueRange(parts)});
    return success();
  }
};

/// A block that is undefined on some path. Its parts are never read.
struct ExpandPoison : Pattern<ub::PoisonOp> {
  using Pattern::Pattern;
  LogicalResult matchAndRewrite(ub::PoisonOp op, Operands, ConversionPatternRewriter &rewriter) const override {
    SmallVector<Type> types;
    if (failed(getTypeConverter()->convertType(op.getType(), types))) return failure();
    SmallVector<Value> parts;
    for (Type type : types)
      parts.push_back(ub::PoisonOp::create(rewriter, op.getLoc(), type));
    rewriter.replaceOpWithMultiple(op, {ValueRange(parts)});
    return success();
  }
};

/// Replaces a kernel's descriptor argument by its base. Its shape (i32) and strides (i64) follow as arguments.
LogicalResult openArguments(tt::FuncOp func) {
  SmallVector<Type> types(func.getArgumentTypes());
  for (auto [index, type] : llvm::enumerate(func.getArgumentTypes())) {
    auto desc = dyn_cast<tt::TensorDescType>(type);
    if (!desc || func.isExternal()) continue;
    int64_t rank = desc.getBlockType().getRank();
    auto follows = [&](int64_t from, int64_t width) {
      for (int64_t i = index + from; i < int64_t(index) + from + rank; ++i)
        if (i >= int64_t(types.size()) || !types[i].isInteger(width)) return false;
      return true;
    };
    if (!follows(1, 32) || !follows(1 + rank, 64))
      return refuse(func, Diag::descriptorSizes, {std::to_string(index), std::to_string(rank)});
    BlockArgument arg = func.getArgument(index);
    types[index] = tt::PointerType::get(desc.getBlockType().getElementType());
    OpBuilder b = OpBuilder::atBlockBegin(&func.getBody().front());
    ValueRange args = func.getArguments();
    arg.setType(types[index]);
    auto made = tt::MakeTensorDescOp::create(b, arg.getLoc(), desc, arg, args.slice(index + 1, rank), args.slice(index + 1 + rank, rank));
    arg.replaceAllUsesExcept(made, made);
  }
  func.setFunctionType(FunctionType::get(func.getContext(), types, func.getResultTypes()));
  return success();
}

void addConversions(TypeConverter &converter) {
  converter.addConversion([](Type type) { return type; });
  converter.addConversion([](Type type, SmallVectorImpl<Type> &parts) -> std::optional<LogicalResult> {
    RankedTensorType block = blockOf(type);
    if (!block) return std::nullopt;
    int64_t rank = block.getRank();
    MLIRContext *context = type.getContext();
    Type i64 = IntegerType::get(context, 64);
    parts.push_back(isa<tt::TensorDescType>(type) ? Type(tt::PointerType::get(block.getElementType())) : tt::elementPointer(type));
    parts.append(2 * rank, i64);
    if (isa<tt::TensorDescType>(type))
      parts.push_back(IntegerType::get(context, 1));
    else
      parts.append(rank, IntegerType::get(context, 32));
    return success();
  });
}

/// Reports operations that take or return a block pointer or a descriptor as a value. These have no bits and cannot be elements of a tile.
LogicalResult checkUses(ModuleOp module) {
  auto isExpanded = [](Operation *op) {
    return isa<tt::MakeTensorPtrOp, tt::MakeTensorDescOp, tt::AdvanceOp, tt::LoadOp, tt::StoreOp, tt::DescriptorLoadOp,
               tt::DescriptorStoreOp, tt::DescriptorReduceOp, tt::DescriptorGatherOp, tt::DescriptorScatterOp, arith::SelectOp,
               ub::PoisonOp, scf::ForOp, scf::IfOp, scf::WhileOp, scf::YieldOp, scf::ConditionOp>(op);
  };
  auto isBlock = [](Type type) { return blockOf(getElementTypeOrSelf(type)) != nullptr; };
  Operation *found = nullptr;
  module.walk([&](Operation *op) {
    bool uses = llvm::any_of(op->getOperandTypes(), isBlock) || llvm::any_of(op->getResultTypes(), isBlock);
    if (auto func = dyn_cast<tt::FuncOp>(op)) uses = llvm::any_of(func.getArgumentTypes(), isBlock); // descriptors have been replaced
    bool isMoved = isa<tt::LoadOp>(op) ? isBlock(op->getResult(0).getType()) : isa<tt::StoreOp>(op) && isBlock(op->getOperand(1).getType());
    if (!uses || (isExpanded(op) && !isMoved)) return WalkResult::advance();
    found = op;
    return WalkResult::interrupt();
  });
  if (!found) return success();
  return refuse(found, Diag::blockPointerUse, {found->getName().getStringRef().str()});
}

} // namespace

LogicalResult tilewright::expandBlockPointers(ModuleOp module) {
  for (tt::FuncOp func : module.getOps<tt::FuncOp>())
    if (failed(openArguments(func))) return failure();
  if (failed(checkUses(module))) return failure();

  MLIRContext *context = module.getContext();
  TypeConverter converter;
  addConversions(converter);
  RewritePatternSet patterns(context);
  patterns.add<ExpandMakeTensorPtr, ExpandMakeTensorDesc, ExpandAdvance, ExpandLoad, ExpandStore, ExpandDescriptorLoad,
               ExpandDescriptorStore, ExpandDescriptorReduce, ExpandGather, ExpandScatter, ExpandSelect, ExpandPoison>(converter, context);
  scf::populateSCFStructuralTypeConversions(converter, patterns);
  ConversionTarget target(*context);
  target.markUnknownOpDynamicallyLegal([&](Operation *op) { return converter.isLegal(op); });
  ConversionConfig config;
  config.allowPatternRollback = false;
  return applyPartialConversion(module, target, std::move(patterns), config);
}
