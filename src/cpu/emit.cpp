// A lane value has two forms: the language's (a pointer, an i1, an 8-bit float), and the storage form of a vector register or of memory
// (i64, i8, i8). The lowering uses the first form. This file converts at the interface, in storageOf/toStorage/fromStorage. So no other
// file needs to know that LLVM has no 8-bit floats, packs vectors of i1 into bits, and masks only vectors.
#include "cpu/emit.h"
#include "ir/text_constant.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace tilewright::cpu {

static Type elementOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type)) return vector.getElementType();
  return type;
}

static Type likeVector(Type element, Type shape) {
  if (auto vector = dyn_cast<VectorType>(shape)) return VectorType::get(vector.getShape(), element);
  return element;
}

static bool isByteFloat(Type element) {
  return isa<FloatType>(element) && element.getIntOrFloatBitWidth() == 8;
}

/// Returns the storage form of a lane of this type.
static Type storageOf(Type type) {
  Type element = elementOf(type);
  if (isByteFloat(element) || element.isInteger(1)) return likeVector(IntegerType::get(type.getContext(), 8), type);
  return type;
}

static Value toStorage(ImplicitLocOpBuilder &b, Value value) {
  Type type = value.getType(), storage = storageOf(type);
  if (type == storage) return value;
  if (isByteFloat(elementOf(type))) return arith::BitcastOp::create(b, storage, value);
  return arith::ExtUIOp::create(b, storage, value);
}

static Value fromStorage(ImplicitLocOpBuilder &b, Value value, Type type) {
  if (type == value.getType()) return value;
  if (isByteFloat(elementOf(type))) return arith::BitcastOp::create(b, type, value);
  return arith::TruncIOp::create(b, type, value);
}

/// LLVM's shuffles and masked accesses take only vectors: a scalar goes through a vector of one lane.
static Value asVector(ImplicitLocOpBuilder &b, Value value) {
  if (isa<VectorType>(value.getType())) return value;
  if (isa<LLVM::LLVMPointerType>(value.getType())) value = pointerToInt(b, value);
  Type type = VectorType::get({1}, value.getType());
  Value zero = LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(0));
  return LLVM::InsertElementOp::create(b, type, LLVM::PoisonOp::create(b, type), value, zero);
}

static Value asScalar(ImplicitLocOpBuilder &b, Value vector) {
  Value zero = LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(0));
  return LLVM::ExtractElementOp::create(b, vector, zero);
}

static Type asVectorType(Type type) {
  return isa<VectorType>(type) ? type : VectorType::get({1}, type);
}

static Value laneIndex(ImplicitLocOpBuilder &b, int64_t lane) {
  return LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(lane));
}

/// Returns the value of a mask that is the same constant in all lanes.
static std::optional<bool> constantMask(Value mask) {
  Attribute attribute;
  if (!matchPattern(mask, m_Constant(&attribute))) return std::nullopt;
  if (auto integer = dyn_cast<IntegerAttr>(attribute)) return !integer.getValue().isZero();
  if (auto dense = dyn_cast<DenseElementsAttr>(attribute); dense && dense.isSplat()) return dense.getSplatValue<bool>();
  return std::nullopt;
}

Type pointerType(MLIRContext *context) {
  return LLVM::LLVMPointerType::get(context);
}

Type vectorOf(Type element, int64_t lanes) {
  if (lanes == 1) return element;
  if (isa<LLVM::LLVMPointerType>(element)) element = IntegerType::get(element.getContext(), 64);
  return VectorType::get({lanes}, element);
}

int64_t lanesOf(Type type) {
  if (auto vector = dyn_cast<VectorType>(type)) return vector.getNumElements();
  return 1;
}

Value constantInt(ImplicitLocOpBuilder &b, Type type, int64_t value) {
  auto element = cast<IntegerType>(elementOf(type));
  auto attribute = IntegerAttr::get(element, APInt(element.getWidth(), value, /*isSigned=*/true, /*implicitTrunc=*/true));
  if (auto vector = dyn_cast<VectorType>(type)) return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, Attribute(attribute)));
  return arith::ConstantOp::create(b, attribute);
}

Value constantFloat(ImplicitLocOpBuilder &b, Type type, double value) {
  auto element = cast<FloatType>(elementOf(type));
  APFloat number(value);
  bool inexact = false;
  number.convert(element.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
  if (isByteFloat(element)) {
    Type bytes = likeVector(b.getI8Type(), type);
    return arith::BitcastOp::create(b, type, constantInt(b, bytes, number.bitcastToAPInt().getZExtValue()));
  }
  auto attribute = FloatAttr::get(element, number);
  if (auto vector = dyn_cast<VectorType>(type)) return arith::ConstantOp::create(b, DenseElementsAttr::get(vector, Attribute(attribute)));
  return arith::ConstantOp::create(b, attribute);
}

Value constantIndex(ImplicitLocOpBuilder &b, int64_t value) {
  return arith::ConstantOp::create(b, b.getI64IntegerAttr(value));
}

Value constantVector(ImplicitLocOpBuilder &b, Type element, ArrayRef<int64_t> values) {
  if (values.size() == 1) return constantInt(b, element, values[0]);
  unsigned width = element.getIntOrFloatBitWidth();
  SmallVector<APInt> lanes;
  for (int64_t value : values)
    lanes.push_back(APInt(width, value, /*isSigned=*/true, /*implicitTrunc=*/true));
  auto type = VectorType::get({static_cast<int64_t>(values.size())}, element);
  return arith::ConstantOp::create(b, DenseElementsAttr::get(type, ArrayRef<APInt>(lanes)));
}

Value iota(ImplicitLocOpBuilder &b, Type element, int64_t lanes, int64_t step) {
  SmallVector<int64_t> values;
  for (int64_t lane = 0; lane < lanes; ++lane)
    values.push_back(lane * step);
  return constantVector(b, element, values);
}

Value splat(ImplicitLocOpBuilder &b, Value scalar, int64_t lanes) {
  if (isa<LLVM::LLVMPointerType>(scalar.getType()) && lanes > 1) scalar = pointerToInt(b, scalar);
  if (lanes == 1) return scalar;
  Type original = scalar.getType();
  auto type = cast<VectorType>(vectorOf(original, lanes));
  Attribute constant;
  if (matchPattern(scalar, m_Constant(&constant)) && isa<IntegerAttr, FloatAttr>(constant))
    return arith::ConstantOp::create(b, DenseElementsAttr::get(type, constant));
  if (isByteFloat(original)) return fromStorage(b, splat(b, toStorage(b, scalar), lanes), type);
  Value poison = LLVM::PoisonOp::create(b, type);
  Value first = LLVM::InsertElementOp::create(b, type, poison, scalar, laneIndex(b, 0));
  return LLVM::ShuffleVectorOp::create(b, first, poison, SmallVector<int32_t>(lanes, 0));
}

Value extractLane(ImplicitLocOpBuilder &b, Value vector, int64_t lane) {
  if (!isa<VectorType>(vector.getType())) return vector;
  Type element = elementOf(vector.getType());
  if (isByteFloat(element)) return fromStorage(b, extractLane(b, toStorage(b, vector), lane), element);
  return LLVM::ExtractElementOp::create(b, vector, laneIndex(b, lane));
}

Value insertLane(ImplicitLocOpBuilder &b, Value vector, Value scalar, int64_t lane) {
  if (!isa<VectorType>(vector.getType())) return scalar;
  if (isa<LLVM::LLVMPointerType>(scalar.getType())) scalar = pointerToInt(b, scalar);
  Type type = vector.getType();
  if (isByteFloat(elementOf(type))) return fromStorage(b, insertLane(b, toStorage(b, vector), toStorage(b, scalar), lane), type);
  return LLVM::InsertElementOp::create(b, type, vector, scalar, laneIndex(b, lane));
}

Value shuffle(ImplicitLocOpBuilder &b, Value first, Value second, ArrayRef<int32_t> mask) {
  Type element = elementOf(first.getType());
  Type type = vectorOf(element, mask.size());
  if (isByteFloat(element)) return fromStorage(b, shuffle(b, toStorage(b, first), toStorage(b, second), mask), type);
  Value result = LLVM::ShuffleVectorOp::create(b, asVector(b, first), asVector(b, second), mask);
  return mask.size() == 1 ? asScalar(b, result) : result;
}

Value reinterpret(ImplicitLocOpBuilder &b, Type type, Value value) {
  return LLVM::BitcastOp::create(b, type, value);
}

Value pointerAt(ImplicitLocOpBuilder &b, Value base, Value index, int64_t bytes) {
  APInt constant;
  if (matchPattern(index, m_ConstantInt(&constant))) return pointerAtConstant(b, base, constant.getSExtValue() * bytes);
  // A constant summand becomes part of the addressing mode, even if another block computes the sum.
  if (auto sum = index.getDefiningOp<arith::AddIOp>(); sum && matchPattern(sum.getRhs(), m_ConstantInt(&constant)))
    return pointerAtConstant(b, pointerAt(b, base, sum.getLhs(), bytes), constant.getSExtValue() * bytes);
  // Indexing an array of bytes lets instruction selection use the scaled addressing modes for 2, 4 and 8.
  Type unit = bytes == 1 ? Type(b.getI8Type()) : Type(LLVM::LLVMArrayType::get(b.getI8Type(), bytes));
  return LLVM::GEPOp::create(b, base.getType(), unit, base, ArrayRef<LLVM::GEPArg>{index});
}

Value pointerAtConstant(ImplicitLocOpBuilder &b, Value base, int64_t bytes) {
  if (bytes == 0) return base;
  // A constant index of a GEP has 29 bits and a sign; a longer one becomes an operand.
  constexpr int64_t maxOffset = int64_t(1) << 28;
  if (bytes >= -maxOffset && bytes < maxOffset)
    return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(bytes)});
  Value offset = constantIndex(b, bytes);
  return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base, ArrayRef<LLVM::GEPArg>{offset});
}

Value pointerToInt(ImplicitLocOpBuilder &b, Value pointer) {
  return LLVM::PtrToIntOp::create(b, b.getI64Type(), pointer);
}

Value intToPointer(ImplicitLocOpBuilder &b, Value integer) {
  return LLVM::IntToPtrOp::create(b, pointerType(b.getContext()), integer);
}

Value load(ImplicitLocOpBuilder &b, Type type, Value pointer, int64_t alignment) {
  Value loaded = LLVM::LoadOp::create(b, storageOf(type), pointer, alignment);
  return fromStorage(b, loaded, type);
}

void store(ImplicitLocOpBuilder &b, Value value, Value pointer, int64_t alignment, bool nonTemporal) {
  LLVM::StoreOp::create(b, toStorage(b, value), pointer, alignment, /*isVolatile=*/false, /*isNonTemporal=*/nonTemporal);
}

Value maskedLoad(ImplicitLocOpBuilder &b, Type type, Value pointer, Value mask, Value other, int64_t alignment) {
  if (std::optional<bool> all = constantMask(mask)) return *all ? load(b, type, pointer, alignment) : other;
  if (isa<LLVM::LLVMPointerType>(type)) {
    Value address = maskedLoad(b, b.getI64Type(), pointer, mask, pointerToInt(b, other), alignment);
    return intToPointer(b, address);
  }
  Type storage = storageOf(type);
  Value loaded =
      LLVM::MaskedLoadOp::create(b, asVectorType(storage), pointer, asVector(b, mask), asVector(b, toStorage(b, other)), alignment);
  if (!isa<VectorType>(type)) loaded = asScalar(b, loaded);
  return fromStorage(b, loaded, type);
}

void maskedStore(ImplicitLocOpBuilder &b, Value value, Value pointer, Value mask, int64_t alignment) {
  if (std::optional<bool> all = constantMask(mask)) {
    if (*all) store(b, value, pointer, alignment, /*nonTemporal=*/false);
    return;
  }
  LLVM::MaskedStoreOp::create(b, asVector(b, toStorage(b, value)), pointer, asVector(b, mask), alignment);
}

static Value toPointers(ImplicitLocOpBuilder &b, Value addresses) {
  auto type = cast<VectorType>(addresses.getType());
  return LLVM::IntToPtrOp::create(b, VectorType::get(type.getShape(), pointerType(b.getContext())), addresses);
}

Value gather(ImplicitLocOpBuilder &b, Type type, Value addresses, Value mask, Value other, int64_t alignment) {
  int64_t lanes = lanesOf(addresses.getType());
  Type storage = storageOf(type);
  if (!mask) mask = constantInt(b, vectorOf(b.getI1Type(), lanes), 1);
  SmallVector<Value> passThrough;
  passThrough.push_back(other ? toStorage(b, other) : LLVM::PoisonOp::create(b, storage).getResult());
  Value loaded = LLVM::masked_gather::create(b, storage, toPointers(b, addresses), mask, passThrough, static_cast<uint32_t>(alignment));
  return fromStorage(b, loaded, type);
}

void scatter(ImplicitLocOpBuilder &b, Value value, Value addresses, Value mask, int64_t alignment) {
  int64_t lanes = lanesOf(addresses.getType());
  if (!mask) mask = constantInt(b, vectorOf(b.getI1Type(), lanes), 1);
  LLVM::masked_scatter::create(b, toStorage(b, value), toPointers(b, addresses), mask, static_cast<uint32_t>(alignment));
}

Value fma(ImplicitLocOpBuilder &b, Value x, Value y, Value z) {
  if (isa<FloatType>(elementOf(x.getType()))) return LLVM::FMAOp::create(b, x.getType(), x, y, z);
  return arith::AddIOp::create(b, arith::MulIOp::create(b, x, y), z);
}

Value callIntrinsic(ImplicitLocOpBuilder &b, StringRef name, Type result, ValueRange operands) {
  StringAttr attribute = b.getStringAttr(name);
  if (!result) {
    LLVM::CallIntrinsicOp::create(b, attribute, operands);
    return nullptr;
  }
  return LLVM::CallIntrinsicOp::create(b, result, attribute, operands).getResult(0);
}

Value callFunction(ImplicitLocOpBuilder &b, StringRef name, Type result, ValueRange operands) {
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  auto function = module.lookupSymbol<LLVM::LLVMFuncOp>(name);
  if (!function) {
    Type returned = result ? result : LLVM::LLVMVoidType::get(b.getContext());
    auto type = LLVM::LLVMFunctionType::get(returned, SmallVector<Type>(operands.getTypes()), /*isVarArg=*/false);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(module.getBody());
    function = LLVM::LLVMFuncOp::create(b, name, type);
  }
  auto call = LLVM::CallOp::create(b, function, operands);
  return result ? call.getResult() : Value();
}

Value constantText(ImplicitLocOpBuilder &b, StringRef text) {
  auto module = b.getInsertionBlock()->getParentOp()->getParentOfType<ModuleOp>();
  return LLVM::AddressOfOp::create(b, textConstant(b, module, text, /*addressSpace=*/0));
}

SmallVector<Value> inlineAssembly(ImplicitLocOpBuilder &b, StringRef text, StringRef constraints, TypeRange results, ValueRange operands,
                                  bool hasEffects) {
  SmallVector<Type> types(results);
  Type whole;
  if (types.size() == 1) whole = types.front();
  if (types.size() > 1) whole = LLVM::LLVMStructType::getLiteral(b.getContext(), types);
  auto code = LLVM::InlineAsmOp::create(b, whole ? TypeRange(whole) : TypeRange(), operands, text, constraints, hasEffects, false,
                                        LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  if (types.size() == 1) return {code.getResult(0)};
  SmallVector<Value> values;
  for (int64_t i = 0, count = static_cast<int64_t>(types.size()); i < count; ++i)
    values.push_back(LLVM::ExtractValueOp::create(b, code.getResult(0), i));
  return values;
}

void memoryFence(ImplicitLocOpBuilder &b) {
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::seq_cst);
}

} // namespace tilewright::cpu
