// Verifiers, folders and memory effects of the tt dialect's operations. A verifier checks a single operation; the stage of a module is not
// checked here. Folders only change shapes and constants. Patterns that need new operations are in simplify.cpp.
#include "ir/tt.h"

#include "ir/volatile_load.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionImplementation.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tt;

//===-------------------------------------------------------------------------------------------------------------- types

bool tt::isPointerOrTileOfPointers(Type type) {
  return isa<PointerType>(getElementTypeOrSelf(type));
}

bool tt::isBlockPointer(Type type) {
  auto pointer = dyn_cast<PointerType>(type);
  return pointer && isa<RankedTensorType>(pointer.getPointeeType());
}

Type tt::withElement(Type type, Type element) {
  if (auto tile = dyn_cast<RankedTensorType>(type)) return RankedTensorType::get(tile.getShape(), element, tile.getEncoding());
  return element;
}

// These three accept every type, even an invalid one, because the parser calls them before the verifier runs.
Type tt::pointeeTile(Type type) {
  auto pointer = dyn_cast<PointerType>(getElementTypeOrSelf(type));
  return pointer ? withElement(type, pointer.getPointeeType()) : type;
}

Type tt::maskOf(Type type) {
  return withElement(pointeeTile(type), IntegerType::get(type.getContext(), 1));
}

Type tt::elementPointer(Type blockPointer) {
  auto pointer = dyn_cast<PointerType>(blockPointer);
  return pointer ? PointerType::get(getElementTypeOrSelf(pointer.getPointeeType()), pointer.getAddressSpace()) : blockPointer;
}

RankedTensorType TensorDescType::getBlockType() const {
  RankedTensorType stored = getStoredType();
  auto integer = dyn_cast<IntegerType>(stored.getElementType());
  if (!integer || integer.isSignless()) return stored;
  return cast<RankedTensorType>(withElement(stored, IntegerType::get(getContext(), integer.getWidth())));
}

/// Called only for tiles whose sizes are not powers of two, because it searches the enclosing function.
static bool allowsAnySize(Operation *op) {
  auto function = op->getParentOfType<FuncOp>();
  return function && function->hasAttr(anySizeName);
}

static LogicalResult verifyTileSize(Operation *op, Type type) {
  if (auto pointer = dyn_cast<PointerType>(type)) type = pointer.getPointeeType();
  if (auto desc = dyn_cast<TensorDescType>(type)) type = desc.getBlockType();
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile) return success();
  if (!tile.hasStaticShape()) return op->emitOpError("has a tile of unknown shape: ") << tile;
  int64_t elements = 1;
  for (int64_t size : tile.getShape()) {
    if (size <= 0 || (!llvm::isPowerOf2_64(size) && !allowsAnySize(op)))
      return op->emitOpError("has a tile with a dimension of ") << size << " elements, which is not a power of two: " << tile;
    if (size > maxTileElements || (elements *= size) > maxTileElements)
      return op->emitOpError("has a tile of more than ") << maxTileElements << " elements: " << tile;
  }
  return success();
}

LogicalResult tt::verifyTileSizes(Operation *op) {
  for (Type type : op->getOperandTypes())
    if (failed(verifyTileSize(op, type))) return failure();
  for (Type type : op->getResultTypes())
    if (failed(verifyTileSize(op, type))) return failure();
  return success();
}

//===------------------------------------------------------------------------------------------------------------ dialect

Operation *TTDialect::materializeConstant(OpBuilder &builder, Attribute value, Type type, Location loc) {
  return arith::ConstantOp::materialize(builder, value, type, loc);
}

//===---------------------------------------------------------------------------------------------------------- functions

void FuncOp::build(OpBuilder &builder, OperationState &state, StringRef name, FunctionType type) {
  state.addAttribute(SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  state.addAttribute(getFunctionTypeAttrName(state.name), TypeAttr::get(type));
  state.addRegion();
}

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  auto buildType = [](Builder &builder, ArrayRef<Type> args, ArrayRef<Type> results, function_interface_impl::VariadicFlag, std::string &) {
    return builder.getFunctionType(args, results);
  };
  return function_interface_impl::parseFunctionOp(parser, result, /*allowVariadic=*/false, getFunctionTypeAttrName(result.name), buildType,
                                                  getArgAttrsAttrName(result.name), getResAttrsAttrName(result.name));
}

void FuncOp::print(OpAsmPrinter &printer) {
  function_interface_impl::printFunctionOp(printer, *this, /*isVariadic=*/false, getFunctionTypeAttrName(), getArgAttrsAttrName(),
                                           getResAttrsAttrName());
}

LogicalResult ReturnOp::verify() {
  auto func = cast<FuncOp>((*this)->getParentOp());
  ArrayRef<Type> expected = func.getResultTypes();
  if (expected.size() != getNumOperands())
    return emitOpError("returns ") << getNumOperands() << " values, but @" << func.getName() << " has " << expected.size() << " results";
  for (auto [index, want] : llvm::enumerate(expected))
    if (getOperand(index).getType() != want)
      return emitOpError("returns ") << getOperand(index).getType() << " as result " << index << " of @" << func.getName() << ", which is "
                                     << want;
  return success();
}

LogicalResult CallOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto func = symbols.lookupNearestSymbolFrom<FuncOp>(*this, getCalleeAttr());
  if (!func) return emitOpError("calls @") << getCallee() << ", but this module has no such function";
  FunctionType type = func.getFunctionType();
  if (TypeRange(type.getInputs()) != TypeRange(getArgs()) || TypeRange(type.getResults()) != TypeRange(getResults()))
    return emitOpError("does not fit @") << getCallee() << ", whose type is " << type;
  return success();
}

//===--------------------------------------------------------------------------------------------------- creation and shape

static RankedTensorType tileType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Returns a constant splat with another shape.
static OpFoldResult reshapedSplat(Attribute source, Type result) {
  if (auto splat = dyn_cast_if_present<SplatElementsAttr>(source)) return splat.resizeSplat(cast<ShapedType>(result));
  return {};
}

static LogicalResult verifySameElement(Operation *op, Type source, Type result) {
  if (getElementTypeOrSelf(source) != getElementTypeOrSelf(result))
    return op->emitOpError("changes the element type from ") << getElementTypeOrSelf(source) << " to " << getElementTypeOrSelf(result);
  return success();
}

LogicalResult MakeRangeOp::verify() {
  RankedTensorType type = tileType(getResult());
  int64_t size = int64_t(getEnd()) - int64_t(getStart());
  if (type.getRank() != 1 || !type.getElementType().isInteger(32))
    return emitOpError("returns a one-dimensional tile of i32, not ") << type;
  if (size <= 0) return emitOpError("must end (") << int32_t(getEnd()) << ") after its start (" << int32_t(getStart()) << ")";
  if (type.getDimSize(0) != size) return emitOpError("has ") << size << " elements, but its type is " << type;
  return success();
}

OpFoldResult SplatOp::fold(FoldAdaptor adaptor) {
  if (isa_and_present<IntegerAttr, FloatAttr>(adaptor.getSrc()))
    return SplatElementsAttr::get(cast<ShapedType>(getType()), adaptor.getSrc());
  return {};
}
LogicalResult SplatOp::verify() {
  if (isa<RankedTensorType>(getSrc().getType())) return emitOpError("repeats a scalar; a tile is repeated by tt.broadcast");
  return verifySameElement(*this, getSrc().getType(), getType());
}

LogicalResult UnsplatOp::inferReturnTypes(MLIRContext *, std::optional<Location>, ValueRange operands, DictionaryAttr, OpaqueProperties,
                                          RegionRange, SmallVectorImpl<Type> &types) {
  types.push_back(getElementTypeOrSelf(operands.front().getType()));
  return success();
}
LogicalResult UnsplatOp::verify() {
  if (tileType(getSrc()).getNumElements() != 1) return emitOpError("needs a tile of one element, not ") << getSrc().getType();
  return verifySameElement(*this, getSrc().getType(), getType());
}

OpFoldResult ExpandDimsOp::fold(FoldAdaptor adaptor) {
  return reshapedSplat(adaptor.getSrc(), getType());
}
LogicalResult ExpandDimsOp::verify() {
  SmallVector<int64_t> want(tileType(getSrc()).getShape());
  if (getAxis() > want.size())
    return emitOpError("has axis ") << int32_t(getAxis()) << ", but the result has dimensions 0 to " << want.size();
  want.insert(want.begin() + getAxis(), 1);
  if (tileType(getResult()).getShape() != ArrayRef<int64_t>(want))
    return emitOpError("of ") << getSrc().getType() << " at axis " << getAxis() << " cannot be " << getType();
  return verifySameElement(*this, getSrc().getType(), getType());
}

OpFoldResult BroadcastOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType()) return getSrc();
  return reshapedSplat(adaptor.getSrc(), getType());
}
LogicalResult BroadcastOp::verify() {
  RankedTensorType from = tileType(getSrc()), to = tileType(getResult());
  if (from.getRank() != to.getRank()) return emitOpError("cannot change the rank: ") << from << " to " << to;
  for (auto [index, source, result] : llvm::enumerate(from.getShape(), to.getShape()))
    if (source != result && source != 1)
      return emitOpError("cannot repeat dimension ") << index << ": " << source << " to " << result << ", only a dimension of 1 can be";
  return verifySameElement(*this, from, to);
}

OpFoldResult ReshapeOp::fold(FoldAdaptor adaptor) {
  if (getSrc().getType() == getType()) return getSrc();
  if (auto before = getSrc().getDefiningOp<ReshapeOp>())
    if (!before.getAllowReorder() && !getAllowReorder()) {
      setOperand(before.getSrc());
      return getResult();
    }
  return reshapedSplat(adaptor.getSrc(), getType());
}
LogicalResult ReshapeOp::verify() {
  if (tileType(getSrc()).getNumElements() != tileType(getResult()).getNumElements())
    return emitOpError("cannot change the number of elements: ") << getSrc().getType() << " to " << getType();
  return verifySameElement(*this, getSrc().getType(), getType());
}

OpFoldResult TransOp::fold(FoldAdaptor adaptor) {
  bool identity = llvm::all_of(llvm::enumerate(getOrder()), [](auto it) { return int64_t(it.index()) == it.value(); });
  if (identity) return getSrc();
  if (auto before = getSrc().getDefiningOp<TransOp>()) {
    SmallVector<int32_t> order;
    for (int32_t dim : getOrder())
      order.push_back(before.getOrder()[dim]);
    setOrder(order);
    setOperand(before.getSrc());
    return getResult();
  }
  return reshapedSplat(adaptor.getSrc(), getType());
}
LogicalResult TransOp::verify() {
  RankedTensorType from = tileType(getSrc()), to = tileType(getResult());
  SmallVector<bool> seen(from.getRank(), false);
  if (int64_t(getOrder().size()) != from.getRank())
    return emitOpError("names ") << getOrder().size() << " dimensions of a tile that has " << from.getRank();
  SmallVector<int64_t> want;
  for (int32_t dim : getOrder()) {
    if (dim < 0 || dim >= from.getRank() || seen[dim]) return emitOpError("order is not a permutation of 0 to ") << from.getRank() - 1;
    seen[dim] = true;
    want.push_back(from.getDimSize(dim));
  }
  if (to.getShape() != ArrayRef<int64_t>(want)) return emitOpError("of ") << from << " in this order cannot be " << to;
  return verifySameElement(*this, from, to);
}

LogicalResult CatOp::verify() {
  RankedTensorType from = tileType(getLhs()), to = tileType(getResult());
  if (from.getRank() != 1 || to.getRank() != 1 || to.getDimSize(0) != 2 * from.getDimSize(0))
    return emitOpError("concatenates two one-dimensional tiles: ") << from << " twice is not " << to;
  return verifySameElement(*this, from, to);
}

/// True if `whole` is `half` with a new last dimension of 2.
static bool isJoined(RankedTensorType half, RankedTensorType whole) {
  SmallVector<int64_t> want(half.getShape());
  want.push_back(2);
  return whole.getShape() == ArrayRef<int64_t>(want);
}
LogicalResult JoinOp::verify() {
  if (!isJoined(tileType(getLhs()), tileType(getResult())))
    return emitOpError("of ") << getLhs().getType() << " must add a last dimension of 2, but the result is " << getType();
  return verifySameElement(*this, getLhs().getType(), getType());
}
LogicalResult SplitOp::verify() {
  if (!isJoined(tileType(getOutLHS()), tileType(getSrc())))
    return emitOpError("needs a last dimension of 2 and drops it: ") << getSrc().getType() << " to " << getOutLHS().getType();
  return verifySameElement(*this, getSrc().getType(), getOutLHS().getType());
}

//===---------------------------------------------------------------------------------------------------------- elementwise

OpFoldResult AddPtrOp::fold(FoldAdaptor adaptor) {
  if (matchPattern(adaptor.getOffset(), m_Zero())) return getPtr();
  return {};
}
LogicalResult AddPtrOp::verify() {
  auto pointers = dyn_cast<RankedTensorType>(getPtr().getType()), offsets = dyn_cast<RankedTensorType>(getOffset().getType());
  if (isBlockPointer(getPtr().getType())) return emitOpError("does not move a block pointer; tt.advance does");
  if (bool(pointers) != bool(offsets) || (pointers && pointers.getShape() != offsets.getShape()))
    return emitOpError("has pointers and offsets of different shapes: ") << getPtr().getType() << " and " << getOffset().getType();
  return success();
}

static int64_t bitWidth(Type type) {
  Type element = getElementTypeOrSelf(type);
  if (isa<PointerType>(element)) return 64;
  return element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
}
LogicalResult BitcastOp::verify() {
  Type from = getSrc().getType(), to = getType();
  if (bitWidth(from) == 0 || bitWidth(from) != bitWidth(to))
    return emitOpError("cannot read ") << from << " as " << to << ": they have " << bitWidth(from) << " and " << bitWidth(to) << " bits";
  return success();
}
OpFoldResult BitcastOp::fold(FoldAdaptor) {
  return getSrc().getType() == getType() ? OpFoldResult(getSrc()) : OpFoldResult();
}

//===--------------------------------------------------------------------------------------------------------------- memory

using Effects = SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>;

static void reads(Effects &effects) {
  effects.emplace_back(MemoryEffects::Read::get());
}
static void writes(Effects &effects) {
  effects.emplace_back(MemoryEffects::Write::get());
}
static void updates(Effects &effects) {
  reads(effects);
  writes(effects);
}

void LoadOp::getEffects(Effects &effects) {
  isVolatileLoad(*this) ? updates(effects) : reads(effects);
}
void StoreOp::getEffects(Effects &effects) {
  writes(effects);
}
void AtomicRMWOp::getEffects(Effects &effects) {
  updates(effects);
}
void AtomicCASOp::getEffects(Effects &effects) {
  updates(effects);
}
void DescriptorLoadOp::getEffects(Effects &effects) {
  reads(effects);
}
void DescriptorStoreOp::getEffects(Effects &effects) {
  writes(effects);
}
void DescriptorReduceOp::getEffects(Effects &effects) {
  updates(effects);
}
void DescriptorGatherOp::getEffects(Effects &effects) {
  reads(effects);
}
void DescriptorScatterOp::getEffects(Effects &effects) {
  writes(effects);
}
void ExternElementwiseOp::getEffects(Effects &effects) {
  if (!getPure()) updates(effects);
}
void ElementwiseInlineAsmOp::getEffects(Effects &effects) {
  if (!getPure()) updates(effects);
}
LogicalResult ElementwiseInlineAsmOp::verify() {
  int64_t packed = static_cast<int32_t>(getPackedElement());
  if (packed >= 1 && packed <= maxPackedElements && llvm::isPowerOf2_64(static_cast<uint64_t>(packed))) return success();
  return emitOpError("takes a power of two of elements at once, at most ") << maxPackedElements << ", not " << packed;
}

void LoadOp::build(OpBuilder &builder, OperationState &state, Value ptr, Value mask, Value other) {
  build(builder, state, pointeeTile(ptr.getType()), ptr, mask, other, ArrayRef<int32_t>(), PaddingOptionAttr(), CacheModifier::NONE,
        EvictionPolicy::NORMAL, false);
}
void StoreOp::build(OpBuilder &builder, OperationState &state, Value ptr, Value value) {
  build(builder, state, ptr, value, Value(), ArrayRef<int32_t>(), CacheModifier::NONE, EvictionPolicy::NORMAL);
}

/// Verifies bounds checks: a block pointer has boundaryCheck, other pointers a mask.
static LogicalResult verifyBounds(Operation *op, Type pointer, ArrayRef<int32_t> boundaryCheck, bool masked) {
  if (!isBlockPointer(pointer)) {
    if (!boundaryCheck.empty()) return op->emitOpError("has boundaryCheck, which only a block pointer has");
    return success();
  }
  if (masked) return op->emitOpError("has a mask, but a block pointer's bounds are checked by boundaryCheck");
  int64_t rank = cast<RankedTensorType>(pointeeTile(pointer)).getRank();
  for (int32_t dim : boundaryCheck)
    if (dim < 0 || dim >= rank) return op->emitOpError("checks dimension ") << dim << " of a tile that has " << rank;
  return success();
}
LogicalResult LoadOp::verify() {
  if (getOther() && !getMask()) return emitOpError("has 'other', but no mask");
  if (getPadding() && !isBlockPointer(getPtr().getType())) return emitOpError("has padding, which only a block pointer has");
  return verifyBounds(*this, getPtr().getType(), getBoundaryCheck(), bool(getMask()));
}
LogicalResult StoreOp::verify() {
  return verifyBounds(*this, getPtr().getType(), getBoundaryCheck(), bool(getMask()));
}

static LogicalResult verifyAtomic(Operation *op, Value ptr, ArrayRef<Value> values, Value result) {
  Type want = pointeeTile(ptr.getType());
  if (isBlockPointer(ptr.getType())) return op->emitOpError("needs pointers to elements, not a block pointer");
  for (Value value : values)
    if (value.getType() != want) return op->emitOpError("has an operand of ") << value.getType() << " for pointers to " << want;
  if (result.getType() != want) return op->emitOpError("gives ") << result.getType() << " from pointers to " << want;
  return success();
}
LogicalResult AtomicRMWOp::verify() {
  if (getMask() && getMask().getType() != maskOf(getPtr().getType()))
    return emitOpError("has a mask of ") << getMask().getType() << ", which has another shape than its pointers";
  Type element = getElementTypeOrSelf(getType());
  bool isFloat = isa<FloatType>(element), wantsFloat = getAtomicRmwOp() == RMWOp::FADD;
  if (isFloat != wantsFloat && getAtomicRmwOp() != RMWOp::XCHG)
    return emitOpError("cannot do '") << stringifyRMWOp(getAtomicRmwOp()) << "' on " << element;
  return verifyAtomic(*this, getPtr(), {getVal()}, getResult());
}
LogicalResult AtomicCASOp::verify() {
  return verifyAtomic(*this, getPtr(), {getCmp(), getVal()}, getResult());
}

//===--------------------------------------------------------------------------------------- block pointers and descriptors

LogicalResult MakeTensorPtrOp::verify() {
  if (!isBlockPointer(getType())) return emitOpError("makes a pointer to a tile, not ") << getType();
  size_t rank = cast<RankedTensorType>(pointeeTile(getType())).getRank();
  if (getNumOperands() != 1 + 3 * rank || getShape().size() != rank)
    return emitOpError("needs shape, strides and offsets for each of the ") << rank << " dimensions of its tile";
  if (getOrder().size() != rank) return emitOpError("has an order of ") << getOrder().size() << " dimensions for a tile that has " << rank;
  return success();
}

LogicalResult AdvanceOp::verify() {
  if (!isBlockPointer(getType())) return emitOpError("moves a block pointer, not ") << getType();
  size_t rank = cast<RankedTensorType>(pointeeTile(getType())).getRank();
  if (getOffsets().size() != rank) return emitOpError("has ") << getOffsets().size() << " offsets for a tile of " << rank << " dimensions";
  return success();
}

LogicalResult MakeTensorDescOp::verify() {
  RankedTensorType block = getType().getBlockType();
  size_t rank = block.getRank();
  if (getNumOperands() != 1 + 2 * rank || getShape().size() != rank)
    return emitOpError("needs shape and strides for each of the ") << rank << " dimensions of its block";
  if (getBase().getType().getPointeeType() != block.getElementType())
    return emitOpError("has a base of ") << getBase().getType() << " for blocks of " << block.getElementType();
  return success();
}

/// Verifies the type of a block. It may omit leading dimensions of one element, as the language allows.
static LogicalResult verifyBlockAccess(Operation *op, TensorDescType desc, RankedTensorType tile, size_t indices) {
  RankedTensorType block = desc.getBlockType();
  if (indices != size_t(block.getRank()))
    return op->emitOpError("has ") << indices << " offsets into a tensor of " << block.getRank() << " dimensions";
  if (tile.getElementType() != block.getElementType() || tile.getNumElements() != block.getNumElements())
    return op->emitOpError("has a tile of ") << tile << " for a descriptor of blocks of " << block;
  return success();
}
LogicalResult DescriptorLoadOp::verify() {
  return verifyBlockAccess(*this, getDesc().getType(), tileType(getResult()), getIndices().size());
}
LogicalResult DescriptorStoreOp::verify() {
  return verifyBlockAccess(*this, getDesc().getType(), tileType(getSrc()), getIndices().size());
}
LogicalResult DescriptorReduceOp::verify() {
  return verifyBlockAccess(*this, getDesc().getType(), tileType(getSrc()), getIndices().size());
}

static LogicalResult verifyRows(Operation *op, TensorDescType desc, RankedTensorType rows, RankedTensorType tile) {
  RankedTensorType block = desc.getBlockType();
  if (block.getRank() != 2 || block.getDimSize(0) != 1) return op->emitOpError("needs a descriptor of single rows, not of ") << block;
  if (rows.getRank() != 1 || !rows.getElementType().isInteger())
    return op->emitOpError("needs a one-dimensional tile of row indices, not ") << rows;
  if (tile.getRank() != 2 || tile.getDimSize(0) != rows.getDimSize(0) || tile.getDimSize(1) != block.getDimSize(1) ||
      tile.getElementType() != block.getElementType())
    return op->emitOpError("has a tile of ") << tile << " for " << rows.getDimSize(0) << " rows of " << block;
  return success();
}
LogicalResult DescriptorGatherOp::verify() {
  return verifyRows(*this, getDesc().getType(), tileType(getXOffsets()), tileType(getResult()));
}
LogicalResult DescriptorScatterOp::verify() {
  return verifyRows(*this, getDesc().getType(), tileType(getXOffsets()), tileType(getSrc()));
}

//===----------------------------------------------------------------------------------- contractions, reductions and scans

LogicalResult DotOp::verify() {
  RankedTensorType a = tileType(getA()), b = tileType(getB()), c = tileType(getC());
  int64_t rank = a.getRank();
  if ((rank != 2 && rank != 3) || b.getRank() != rank || c.getRank() != rank)
    return emitOpError("multiplies tiles of rank 2, or of rank 3 with a batch first, not ") << a << " by " << b << " to " << c;
  if (a.getDimSize(rank - 1) != b.getDimSize(rank - 2))
    return emitOpError("cannot multiply ") << a << " by " << b << ": inner sizes differ";
  if (c.getDimSize(rank - 2) != a.getDimSize(rank - 2) || c.getDimSize(rank - 1) != b.getDimSize(rank - 1))
    return emitOpError("of ") << a << " by " << b << " cannot be " << c;
  if (rank == 3 && (a.getDimSize(0) != b.getDimSize(0) || a.getDimSize(0) != c.getDimSize(0)))
    return emitOpError("has different batch sizes: ") << a << ", " << b << " and " << c;
  if (bitWidth(a) != bitWidth(b) || isa<FloatType>(a.getElementType()) != isa<FloatType>(b.getElementType()))
    return emitOpError("cannot multiply ") << a.getElementType() << " by " << b.getElementType();
  return success();
}

/// Verifies the region of a reduction or a scan, which takes two elements of each tile and returns one of each.
static LogicalResult verifyCombine(Operation *op, ValueRange srcs, Region &combine) {
  if (srcs.empty()) return op->emitOpError("needs a tile");
  Block &body = combine.front();
  size_t count = srcs.size();
  if (body.getNumArguments() != 2 * count)
    return op->emitOpError("combines pairs of ") << count << " values, but its region has " << body.getNumArguments() << " arguments";
  for (size_t i = 0; i < 2 * count; ++i)
    if (body.getArgument(i).getType() != getElementTypeOrSelf(srcs[i % count].getType()))
      return op->emitOpError("has a region argument of ")
             << body.getArgument(i).getType() << " for elements of " << srcs[i % count].getType();
  Operation *end = body.getTerminator();
  if (end->getNumOperands() != count)
    return op->emitOpError("combines ") << count << " values, but its region ends with " << end->getNumOperands();
  for (size_t i = 0; i < count; ++i)
    if (end->getOperand(i).getType() != getElementTypeOrSelf(srcs[i].getType()))
      return op->emitOpError("has a region that ends with ") << end->getOperand(i).getType() << " for elements of " << srcs[i].getType();
  return success();
}

/// Verifies that the values are `pack` elements of the first tile, then of the second, and so on.
static LogicalResult verifyElements(Operation *op, ValueRange elements, ValueRange tiles, int64_t pack, StringRef what) {
  if (int64_t(elements.size()) != int64_t(tiles.size()) * pack)
    return op->emitOpError("has ") << elements.size() << " " << what << " for " << pack << " elements of each of " << tiles.size()
                                   << " tiles";
  for (auto [i, element] : llvm::enumerate(elements))
    if (Type tile = tiles[i / size_t(pack)].getType(); element.getType() != getElementTypeOrSelf(tile))
      return op->emitOpError("has ") << what << " of type " << element.getType() << " for elements of " << tile;
  return success();
}

LogicalResult MapElementwiseOp::verifyRegions() {
  int64_t pack = int32_t(getPack()), count = tileType(getSrcs().front()).getNumElements();
  if (pack < 1 || count % pack != 0) return emitOpError("cannot take ") << pack << " elements at a time of a tile of " << count;
  if (failed(verifyElements(*this, getScalarOp().getArguments(), getSrcs(), pack, "region arguments"))) return failure();
  for (Block &block : getScalarOp())
    if (auto end = dyn_cast<MapElementwiseReturnOp>(block.getTerminator());
        end && failed(verifyElements(*this, end.getOperands(), getResults(), pack, "returned values")))
      return failure();
  return success();
}

/// Returns the type without its layout. The code that chooses layouts checks them.
static Type withoutLayout(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? RankedTensorType::get(tile.getShape(), tile.getElementType()) : type;
}

static Type reducedType(Type source, int64_t axis) {
  auto tile = cast<RankedTensorType>(source);
  if (tile.getRank() == 1) return tile.getElementType();
  SmallVector<int64_t> shape(tile.getShape());
  shape.erase(shape.begin() + axis);
  return RankedTensorType::get(shape, tile.getElementType());
}

void ReduceOp::build(OpBuilder &builder, OperationState &state, ValueRange srcs, int32_t axis) {
  SmallVector<Type> types;
  for (Value src : srcs)
    types.push_back(reducedType(src.getType(), axis));
  build(builder, state, types, srcs, axis);
}
LogicalResult ReduceOp::verify() {
  if (failed(verifyCombine(*this, getSrcs(), getCombineOp()))) return failure();
  if (int64_t(getAxis()) >= tileType(getSrcs().front()).getRank())
    return emitOpError("has axis ") << int32_t(getAxis()) << " of " << getSrcs().front().getType();
  if (getNumResults() != getSrcs().size()) return emitOpError("has ") << getSrcs().size() << " tiles and " << getNumResults() << " results";
  for (auto [src, result] : llvm::zip(getSrcs(), getResults()))
    if (withoutLayout(result.getType()) != reducedType(src.getType(), getAxis()))
      return emitOpError("of ") << src.getType() << " along axis " << getAxis() << " cannot be " << result.getType();
  return success();
}

void ScanOp::build(OpBuilder &builder, OperationState &state, ValueRange srcs, int32_t axis, bool reverse) {
  build(builder, state, SmallVector<Type>(srcs.getTypes()), srcs, axis, reverse);
}
LogicalResult ScanOp::verify() {
  if (failed(verifyCombine(*this, getSrcs(), getCombineOp()))) return failure();
  if (int64_t(getAxis()) >= tileType(getSrcs().front()).getRank())
    return emitOpError("has axis ") << int32_t(getAxis()) << " of " << getSrcs().front().getType();
  if (getSrcs().getTypes() != getResultTypes()) return emitOpError("has results of other types than its tiles");
  return success();
}

LogicalResult HistogramOp::verify() {
  RankedTensorType from = tileType(getSrc()), to = tileType(getResult());
  if (from.getRank() != 1 || to.getRank() != 1 || !from.getElementType().isInteger() || !to.getElementType().isInteger())
    return emitOpError("counts a one-dimensional tile of integers into one-dimensional bins, not ") << from << " into " << to;
  return success();
}

LogicalResult SortOp::verify() {
  RankedTensorType from = tileType(getSrc()), to = tileType(getResult());
  if (!from.getElementType().isIntOrFloat()) return emitOpError("orders numbers, not ") << from;
  bool fits = from.getRank() == to.getRank() && from.getRank() > 0 && from.getShape().drop_back() == to.getShape().drop_back();
  int64_t length = fits ? from.getShape().back() : 0, kept = fits ? to.getShape().back() : 0;
  if (!fits || kept > length || !llvm::isPowerOf2_64(length) || !llvm::isPowerOf2_64(kept))
    return emitOpError("cannot make ") << to << " of " << from << ": the length of a line must be a power of two and must not grow";
  return verifySameElement(*this, from, to);
}

LogicalResult GatherOp::verify() {
  RankedTensorType src = tileType(getSrc()), indices = tileType(getIndices()), result = tileType(getResult());
  if (!indices.getElementType().isInteger()) return emitOpError("needs integer indices, not ") << indices;
  if (src.getRank() != indices.getRank() || int64_t(getAxis()) >= src.getRank())
    return emitOpError("along axis ") << int32_t(getAxis()) << " cannot take " << indices << " from " << src;
  for (int64_t dim = 0; dim < src.getRank(); ++dim)
    if (dim != int64_t(getAxis()) && src.getDimSize(dim) != indices.getDimSize(dim))
      return emitOpError("has indices whose dimension ")
             << dim << " is " << indices.getDimSize(dim) << ", but the source's is " << src.getDimSize(dim);
  if (result.getShape() != indices.getShape()) return emitOpError("has the shape of its indices, ") << indices << ", not " << result;
  return verifySameElement(*this, src, result);
}
