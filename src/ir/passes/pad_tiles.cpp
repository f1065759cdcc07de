// Pads tiles of any size (@triton.jit(any_size=True)) to powers of two, because the lowerings support only these. Padding elements are
// computed and not used: they are masked in memory accesses, and neutral elements in reductions.
//   before: %i = tt.make_range {end = 96} : tensor<96xi32>          after: %i = tt.make_range {end = 128} : tensor<128xi32>
//           %x = tt.load %p : tensor<96x!tt.ptr<f32>>                      %m = arith.cmpi slt, %range, 96
//           %s = tt.reduce %x, add                                        %x = tt.load %p, %m, 0.0
//                                                                         %s = tt.reduce (arith.select %m, %x, -0.0), add
// First, the pass inserts masks and neutral elements. "Index < 96" is true for every element of a tile of 96, so this does not change the
// result. Then all types grow at once. After that, only reshapes need work: if the rows of the old shape are not contiguous in the new
// shape, the elements are gathered.
#include "ir/passes.h"
#include "ir/refusal.h"
#include "ir/tt.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;

namespace {

RankedTensorType tileOf(Type type) {
  return dyn_cast<RankedTensorType>(type);
}

bool isUneven(int64_t size) {
  return !llvm::isPowerOf2_64(static_cast<uint64_t>(size));
}

bool isUneven(Type type) {
  auto tile = tileOf(type);
  return tile && llvm::any_of(tile.getShape(), [](int64_t size) { return isUneven(size); });
}

int64_t paddedSize(int64_t size) {
  return static_cast<int64_t>(llvm::PowerOf2Ceil(static_cast<uint64_t>(size)));
}

SmallVector<int64_t> paddedShape(ArrayRef<int64_t> shape) {
  return llvm::map_to_vector(shape, paddedSize);
}

//===----------------------------------------------------------------------------------- first: masks and neutral elements

using B = ImplicitLocOpBuilder;

TypedAttr splatOf(RankedTensorType type, Attribute element) {
  return DenseElementsAttr::get(cast<ShapedType>(type), element);
}

Value constantTile(B &b, RankedTensorType type, int64_t value) {
  Type element = type.getElementType();
  Attribute attribute = isa<FloatType>(element) ? Attribute(b.getFloatAttr(element, static_cast<double>(value)))
                                                : Attribute(b.getIntegerAttr(element, value));
  return arith::ConstantOp::create(b, splatOf(type, attribute));
}

/// Returns the index along `dim` of each element of a tile of this shape (i32).
Value indexAlong(B &b, ArrayRef<int64_t> shape, int64_t dim) {
  Type i32 = b.getI32Type();
  Value index = tt::MakeRangeOp::create(b, RankedTensorType::get({shape[dim]}, i32), 0, static_cast<uint32_t>(shape[dim]));
  SmallVector<int64_t> grown = {shape[dim]};
  for (int64_t other = 0, rank = static_cast<int64_t>(shape.size()); other < rank; ++other) {
    if (other == dim) continue;
    grown.insert(grown.begin() + other, 1);
    index = tt::ExpandDimsOp::create(b, RankedTensorType::get(grown, i32), index, static_cast<uint32_t>(other));
  }
  if (shape.size() == 1) return index;
  return tt::BroadcastOp::create(b, RankedTensorType::get(shape, i32), index);
}

/// Returns the mask of the valid elements, in the dimensions selected by `counts`; null if all are valid.
Value validElements(B &b, Type type, llvm::function_ref<bool(int64_t)> counts) {
  ArrayRef<int64_t> shape = tileOf(type).getShape();
  Value valid;
  for (int64_t dim = 0, rank = static_cast<int64_t>(shape.size()); dim < rank; ++dim) {
    if (!isUneven(shape[dim]) || !counts(dim)) continue;
    Value index = indexAlong(b, shape, dim);
    Value size = constantTile(b, RankedTensorType::get(shape, b.getI32Type()), shape[dim]);
    Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::slt, index, size);
    valid = valid ? Value(arith::AndIOp::create(b, valid, inside)) : inside;
  }
  return valid;
}
Value validElements(B &b, Type type) {
  return validElements(b, type, [](int64_t) { return true; });
}

Value bothOf(B &b, Value mask, Value other) {
  return mask ? Value(arith::AndIOp::create(b, mask, other)) : other;
}

/// Masks a load. Padding elements are zero unless the load has `other`: dots need zeros there.
void maskLoad(B &b, tt::LoadOp load) {
  Value valid = validElements(b, load.getType());
  bool isNumber = !isa<tt::PointerType>(getElementTypeOrSelf(load.getType()));
  if (!load.getOther() && isNumber) load.getOtherMutable().assign(constantTile(b, tileOf(load.getType()), 0));
  load.getMaskMutable().assign(bothOf(b, load.getMask(), valid));
}

/// True if the padding elements of a tile are known to be zero.
bool isZeroBeyond(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (auto load = dyn_cast_or_null<tt::LoadOp>(op)) return load.getOther() && isZeroBeyond(load.getOther());
  if (isa_and_nonnull<tt::TransOp, tt::FpToFpOp, arith::ExtFOp, arith::TruncFOp, arith::SIToFPOp, arith::UIToFPOp>(op))
    return isZeroBeyond(op->getOperand(0));
  return matchPattern(tile, m_Zero()) || matchPattern(tile, m_AnyZeroFloat());
}

/// Sets the padding of a dot's operand along K to zero.
void clearAlongK(B &b, OpOperand &operand, int64_t dim) {
  auto type = tileOf(operand.get().getType());
  if (!isUneven(type.getDimSize(dim)) || isZeroBeyond(operand.get())) return;
  Value valid = validElements(b, type, [&](int64_t other) { return other == dim; });
  operand.set(arith::SelectOp::create(b, valid, operand.get(), constantTile(b, type, 0)));
}

/// Returns the neutral element of a region that is one operation of both arguments; null for others. It is -0.0 for sums (0.0 + -0.0 is
/// 0.0), and NaN for extrema that ignore NaN.
TypedAttr neutralElement(Region &combine) {
  Block &body = combine.front();
  if (body.getNumArguments() != 2 || !llvm::hasNItems(body, 2)) return {};
  Operation &op = body.front();
  bool combinesBoth = op.getNumOperands() == 2 && op.getNumResults() == 1 && op.getOperand(0) != op.getOperand(1) &&
                      llvm::all_of(op.getOperands(), [&](Value v) { return v.getParentBlock() == &body && isa<BlockArgument>(v); });
  if (!combinesBoth || body.getTerminator()->getOperand(0) != op.getResult(0)) return {};
  Type type = op.getResult(0).getType();
  Builder b(type.getContext());
  if (auto format = dyn_cast<FloatType>(type)) {
    const llvm::fltSemantics &semantics = format.getFloatSemantics();
    auto extreme = [&](bool isNegative) -> TypedAttr {
      if (!llvm::APFloat::semanticsHasInf(semantics)) return {};
      return b.getFloatAttr(type, llvm::APFloat::getInf(semantics, isNegative));
    };
    return llvm::TypeSwitch<Operation *, TypedAttr>(&op)
        .Case([&](arith::AddFOp) { return b.getFloatAttr(type, -0.0); })
        .Case([&](arith::MulFOp) { return b.getFloatAttr(type, 1.0); })
        .Case<arith::MaxNumFOp, arith::MinNumFOp>([&](auto) { return b.getFloatAttr(type, llvm::APFloat::getNaN(semantics)); })
        .Case([&](arith::MaximumFOp) { return extreme(true); })
        .Case([&](arith::MinimumFOp) { return extreme(false); })
        .Default([](Operation *) { return TypedAttr(); });
  }
  auto bits = static_cast<unsigned>(type.getIntOrFloatBitWidth());
  auto number = [&](const APInt &value) -> TypedAttr { return b.getIntegerAttr(type, value); };
  return llvm::TypeSwitch<Operation *, TypedAttr>(&op)
      .Case<arith::AddIOp, arith::OrIOp, arith::XOrIOp, arith::MaxUIOp>([&](auto) { return number(APInt::getZero(bits)); })
      .Case<arith::AndIOp, arith::MinUIOp>([&](auto) { return number(APInt::getAllOnes(bits)); })
      .Case([&](arith::MulIOp) { return number(APInt(bits, 1)); })
      .Case([&](arith::MaxSIOp) { return number(APInt::getSignedMinValue(bits)); })
      .Case([&](arith::MinSIOp) { return number(APInt::getSignedMaxValue(bits)); })
      .Default([](Operation *) { return TypedAttr(); });
}

/// Handles any combine region: a flag for each element says if it is valid. Combining with an invalid element returns the other one.
///   before: tt.reduce(%x)     { (a, b): combine(a, b) }
///   after:  tt.reduce(%x, %m) { (a, ma, b, mb): ma & mb ? combine(a, b) : ma ? a : b, ma | mb }
template <typename Op> void combineValidElements(Op op, Value valid) {
  B b(op.getLoc(), op);
  auto count = static_cast<unsigned>(op.getSrcs().size());
  SmallVector<Value> sources(op.getSrcs());
  sources.push_back(valid);
  Op wide;
  if constexpr (std::is_same_v<Op, tt::ScanOp>)
    wide = tt::ScanOp::create(b, sources, static_cast<int32_t>(op.getAxis()), op.getReverse());
  else
    wide = tt::ReduceOp::create(b, sources, static_cast<int32_t>(op.getAxis()));
  wide.getCombineOp().takeBody(op.getCombineOp());
  Block &body = wide.getCombineOp().front();
  Value first = body.insertArgument(count, b.getI1Type(), op.getLoc());
  Value second = body.addArgument(b.getI1Type(), op.getLoc());
  Operation *end = body.getTerminator();
  b.setInsertionPoint(end);
  Value both = arith::AndIOp::create(b, first, second);
  for (unsigned i = 0; i < count; ++i) {
    Value one = arith::SelectOp::create(b, first, body.getArgument(i), body.getArgument(count + 1 + i));
    end->setOperand(i, arith::SelectOp::create(b, both, end->getOperand(i), one));
  }
  Value any = arith::OrIOp::create(b, first, second);
  end->insertOperands(count, any);
  for (unsigned i = 0; i < count; ++i)
    op->getResult(i).replaceAllUsesWith(wide->getResult(i));
  op.erase();
}

template <typename Op> void neutralizeBeyond(B &b, Op op) {
  auto type = tileOf(op.getSrcs().front().getType());
  auto axis = static_cast<int64_t>(op.getAxis());
  if (!isUneven(type.getDimSize(axis))) return;
  Value valid = validElements(b, type, [&](int64_t dim) { return dim == axis; });
  if (op.getSrcs().size() > 1) return combineValidElements(op, valid);
  TypedAttr neutral = neutralElement(op.getCombineOp());
  if (!neutral) return combineValidElements(op, valid);
  Value filled = arith::ConstantOp::create(b, splatOf(type, neutral));
  op->setOperand(0, arith::SelectOp::create(b, valid, op->getOperand(0), filled));
}

/// Sets padding indices to 0, so that they are inside the source.
void keepIndicesInside(B &b, tt::GatherOp gather) {
  auto type = tileOf(gather.getIndices().getType());
  if (Value valid = validElements(b, type))
    gather.getIndicesMutable().assign(arith::SelectOp::create(b, valid, gather.getIndices(), constantTile(b, type, 0)));
}

/// Fills the padding with copies of the last valid elements, because a mapped function may loop until a value satisfies a condition.
void repeatLastElements(B &b, OpOperand &operand) {
  auto type = tileOf(operand.get().getType());
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (!isUneven(type.getDimSize(dim))) continue;
    auto indices = RankedTensorType::get(type.getShape(), b.getI32Type());
    Value last = constantTile(b, indices, type.getDimSize(dim) - 1);
    Value index = arith::MinSIOp::create(b, indexAlong(b, type.getShape(), dim), last);
    operand.set(tt::GatherOp::create(b, type, operand.get(), index, static_cast<uint32_t>(dim)));
  }
}

LogicalResult refuseTile(Operation *op, Value tile, const char *advice) {
  return refuse(op, Diag::anySize, {op->getName().getStringRef().str(), mlirText(tile.getType()), advice});
}

LogicalResult guard(Operation *op) {
  B b(op->getLoc(), op);
  auto unevenOperand = llvm::find_if(op->getOperands(), [](Value v) { return isUneven(v.getType()); });
  if (unevenOperand == op->operand_end()) return success();
  Value tile = *unevenOperand;
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case([&](tt::LoadOp load) { return maskLoad(b, load), success(); })
      .Case<tt::StoreOp, tt::AtomicRMWOp>([&](auto access) {
        return access.getMaskMutable().assign(bothOf(b, access.getMask(), validElements(b, access.getPtr().getType()))), success();
      })
      .Case([&](tt::HistogramOp histogram) {
        Value valid = validElements(b, histogram.getSrc().getType());
        return histogram.getMaskMutable().assign(bothOf(b, histogram.getMask(), valid)), success();
      })
      .Case([&](tt::DotOp dot) {
        int64_t rank = tileOf(dot.getA().getType()).getRank();
        if (rank == 2 && isUneven(dot.getType()))
          dot->setAttr(tt::validExtentName, b.getDenseI64ArrayAttr(tileOf(dot.getType()).getShape()));
        clearAlongK(b, dot.getAMutable(), rank - 1);
        return clearAlongK(b, dot.getBMutable(), rank - 2), success();
      })
      .Case([&](tt::ReduceOp reduce) { return neutralizeBeyond(b, reduce), success(); })
      .Case([&](tt::ScanOp scan) {
        if (scan.getReverse()) neutralizeBeyond(b, scan); // in index order, the valid elements come first
        return success();
      })
      .Case([&](tt::GatherOp gather) { return keepIndicesInside(b, gather), success(); })
      .Case([&](tt::MapElementwiseOp map) {
        // Elements of one group, in row-major order, must stay in one group.
        int64_t pack = map.getPack(), last = tileOf(tile.getType()).getShape().back();
        if (last % pack != 0 || paddedShape({last})[0] % pack != 0)
          return refuseTile(op, tile, "let `pack` divide the last size, and be a power of 2");
        for (OpOperand &operand : map->getOpOperands())
          repeatLastElements(b, operand);
        return success();
      })
      .Case([&](tt::AssertOp check) {
        Value valid = validElements(b, tile.getType()), all = constantTile(b, tileOf(valid.getType()), 1);
        Value beyond = arith::XOrIOp::create(b, valid, all);
        return check->setOperand(0, arith::OrIOp::create(b, tile, beyond)), success();
      })
      .Case([&](tt::AtomicCASOp) { return refuseTile(op, tile, "use another atomic, which has a mask, or a size that is a power of 2"); })
      .Case([&](tt::PrintOp) { return refuseTile(op, tile, "print a tile whose size is a power of 2, or a reduction of this one"); })
      .Default([&](Operation *other) {
        bool hasEffects = !other->hasTrait<OpTrait::HasRecursiveMemoryEffects>() && !isMemoryEffectFree(other);
        return hasEffects ? refuseTile(other, tile, "an operation that has side effects and no mask needs sizes that are powers of 2")
                          : success();
      });
}

//===----------------------------------------------------------------------------------------------------- then: all types

SmallVector<int64_t> stridesOf(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t dim = static_cast<int64_t>(shape.size()) - 2; dim >= 0; --dim)
    strides[dim] = strides[dim + 1] * shape[dim + 1];
  return strides;
}

/// Returns the row-major index in the padded tile of the valid element `number`.
int64_t paddedIndex(int64_t number, ArrayRef<int64_t> shape) {
  int64_t index = 0;
  SmallVector<int64_t> valid = stridesOf(shape), padded = stridesOf(paddedShape(shape));
  for (size_t dim = 0; dim < shape.size(); ++dim)
    index += number / valid[dim] % shape[dim] * padded[dim];
  return index;
}

RankedTensorType flat(RankedTensorType type, int64_t elements) {
  return RankedTensorType::get({elements}, type.getElementType());
}

/// Arithmetic on a tile of i32 and a constant.
Value times(B &b, Value tile, int64_t value) {
  return value == 1 ? tile : Value(arith::MulIOp::create(b, tile, constantTile(b, tileOf(tile.getType()), value)));
}
Value dividedBy(B &b, Value tile, int64_t value) {
  return value == 1 ? tile : Value(arith::DivUIOp::create(b, tile, constantTile(b, tileOf(tile.getType()), value)));
}
Value remainder(B &b, Value tile, int64_t value) {
  return arith::RemUIOp::create(b, tile, constantTile(b, tileOf(tile.getType()), value));
}

/// Converts linear element indices: the strides `from` give the coordinates, the strides `to` the new index.
Value renumbered(B &b, Value number, ArrayRef<int64_t> from, ArrayRef<int64_t> sizes, ArrayRef<int64_t> to) {
  Value sum = constantTile(b, tileOf(number.getType()), 0);
  for (size_t dim = 0; dim < sizes.size(); ++dim)
    sum = arith::AddIOp::create(b, sum, times(b, remainder(b, dividedBy(b, number, from[dim]), sizes[dim]), to[dim]));
  return sum;
}

/// Reshapes `from`, a padded tile of the valid shape `fromShape`, to the valid shape `toShape`. The valid elements keep their row-major
/// order.
Value gatherShape(B &b, Value from, ArrayRef<int64_t> fromShape, ArrayRef<int64_t> toShape, RankedTensorType to) {
  auto type = tileOf(from.getType());
  Value source = tt::ReshapeOp::create(b, flat(type, type.getNumElements()), from, false, false);
  int64_t count = to.getNumElements();
  auto indexType = RankedTensorType::get({count}, b.getI32Type());
  Value position = tt::MakeRangeOp::create(b, indexType, 0, static_cast<uint32_t>(count));
  SmallVector<int64_t> padded = paddedShape(toShape), fromPadded = paddedShape(fromShape);
  Value number = renumbered(b, position, stridesOf(padded), padded, stridesOf(toShape));
  // The index of a padding element may be that of any element, but is never outside of the source.
  Value index = renumbered(b, number, stridesOf(fromShape), fromShape, stridesOf(fromPadded));
  Value gathered = tt::GatherOp::create(b, flat(to, count), source, index, 0);
  return tt::ReshapeOp::create(b, to, gathered, false, false);
}

/// The valid shapes of a reshape, before all types grow.
struct ShapeChange {
  Operation *op;
  SmallVector<int64_t> from, to;
};

void repairShape(const ShapeChange &change) {
  auto to = tileOf(change.op->getResult(0).getType());
  int64_t elements = 1;
  for (int64_t size : change.to)
    elements *= size;
  B b(change.op->getLoc(), change.op);
  if (auto cat = dyn_cast<tt::CatOp>(change.op)) {
    // Two padded tiles: a tile of 2 x the valid length, whose rows are padded.
    b.setInsertionPointAfter(cat);
    SmallVector<int64_t> rows = {2, change.from[0]};
    auto pairs = RankedTensorType::get(paddedShape(rows), to.getElementType());
    Value joined = tt::ReshapeOp::create(b, pairs, cat.getResult(), false, false);
    Operation *first = joined.getDefiningOp();
    Value gathered = gatherShape(b, joined, rows, change.to, to);
    cat.getResult().replaceAllUsesExcept(gathered, first);
    return;
  }
  auto reshape = cast<tt::ReshapeOp>(change.op);
  bool isSame = tileOf(reshape.getSrc().getType()).getNumElements() == to.getNumElements();
  for (int64_t i = 0; isSame && i < elements; ++i)
    isSame = paddedIndex(i, change.from) == paddedIndex(i, change.to);
  if (isSame) return;
  reshape.getResult().replaceAllUsesWith(gatherShape(b, reshape.getSrc(), change.from, change.to, to));
  reshape.erase();
}

void pad(Value value) {
  if (auto type = tileOf(value.getType())) value.setType(RankedTensorType::get(paddedShape(type.getShape()), type.getElementType()));
}

LogicalResult padTypes(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region)
      llvm::for_each(block.getArguments(), pad);
  if (llvm::none_of(op->getResultTypes(), [](Type type) { return isUneven(type); })) return success();
  llvm::for_each(op->getResults(), pad);
  for (Type result : op->getResultTypes())
    if (auto tile = tileOf(result); tile && tile.getNumElements() > tt::maxTileElements)
      return refuse(op, Diag::tileTooLarge, {mlirText(tile), std::to_string(tt::maxTileElements)});
  auto type = tileOf(op->getResult(0).getType());
  if (auto range = dyn_cast<tt::MakeRangeOp>(op)) {
    range->setAttr(tt::validExtentName, Builder(op->getContext()).getDenseI64ArrayAttr(range.getEnd() - range.getStart()));
    range.setEnd(range.getStart() + static_cast<uint32_t>(type.getNumElements()));
  }
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = cast<DenseElementsAttr>(constant.getValue());
    if (!dense.isSplat()) return refuseTile(op, op->getResult(0), "write it with sizes that are powers of 2");
    constant.setValueAttr(splatOf(type, dense.getSplatValue<Attribute>()));
  }
  return success();
}

LogicalResult padFunction(tt::FuncOp function) {
  SmallVector<Operation *> all;
  function.walk([&](Operation *op) { all.push_back(op); });
  for (Operation *op : all)
    if (failed(guard(op))) return failure();
  SmallVector<ShapeChange> changes;
  function.walk([&](Operation *op) {
    if (!isa<tt::ReshapeOp, tt::CatOp>(op)) return;
    Type from = op->getOperand(0).getType(), to = op->getResult(0).getType();
    if (!isUneven(from) && !isUneven(to)) return;
    changes.push_back({op, SmallVector<int64_t>(tileOf(from).getShape()), SmallVector<int64_t>(tileOf(to).getShape())});
  });
  WalkResult walk = function.walk([](Operation *op) { return failed(padTypes(op)) ? WalkResult::interrupt() : WalkResult::advance(); });
  if (walk.wasInterrupted()) return failure();
  llvm::for_each(changes, repairShape);
  auto padded = [](Type type) -> Type {
    auto tile = tileOf(type);
    return tile ? RankedTensorType::get(paddedShape(tile.getShape()), tile.getElementType()) : type;
  };
  SmallVector<Type> results = llvm::map_to_vector(function.getResultTypes(), padded);
  function.setType(FunctionType::get(function.getContext(), function.getBody().front().getArgumentTypes(), results));
  function->removeAttr(tt::anySizeName);
  return success();
}

} // namespace

LogicalResult tilewright::padTiles(ModuleOp module) {
  for (auto function : module.getOps<tt::FuncOp>())
    if (function->hasAttr(tt::anySizeName) && failed(padFunction(function))) return failure();
  return success();
}
