// Operands, constants, shapes and error reporting, which the operators and builtins use.

#include "frontend/semantics.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/APInt.h"

#include <cmath>

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

// ---- operands

// Returns the number of values in a tuple of tuples, up to `limit`.
static int64_t countItems(const Value &value, int64_t limit, int64_t level) {
  constexpr int64_t deepest = 64;
  const Sequence *sequence = value.asSequence();
  if (!sequence) return 1;
  if (level > deepest) return limit + 1;
  int64_t count = 1;
  for (const Value &item : sequence->items)
    if (count <= limit) count += countItems(item, limit - count, level + 1);
  return count;
}

int64_t countItems(const Operand &x) {
  int64_t count = 1;
  for (const Operand &item : x.items)
    count += countItems(item);
  return count;
}

Operand Operand::of(Value value) {
  if (value.asSequence() && countItems(value, maxItems, 0) > maxItems)
    value = Value::host(value.describe() + " of more than " + std::to_string(maxItems) + " items, or one nested too deeply,");
  if (const Sequence *sequence = value.asSequence()) {
    Operand result;
    result.kind = Kind::tuple;
    for (const Value &item : sequence->items)
      result.items.push_back(of(item));
    result.fields = sequence->fieldNames;
    result.cls = sequence->type;
    return result;
  }
  Operand result;
  result.constant = std::move(value);
  return result;
}

Operand Operand::of(mlir::Value handle, Type type) {
  Operand result;
  result.kind = Kind::runtime;
  result.handle = handle;
  result.type = std::move(type);
  return result;
}

Operand Operand::tuple(std::vector<Operand> items) {
  Operand result;
  result.kind = Kind::tuple;
  result.items = std::move(items);
  return result;
}

Operand Operand::instance(std::shared_ptr<Namespace> cls, std::vector<Operand> items) {
  Operand result = tuple(std::move(items));
  result.fields = cls->classInfo()->fieldNames();
  result.cls = std::move(cls);
  return result;
}

Type Operand::languageType() const {
  if (isRuntime() || kind == Kind::descriptor) return type;
  if (std::optional<Value> known = cls ? std::nullopt : value()) return Type::ofConstant(known->repr());
  std::vector<std::string> types;
  for (const Operand &item : items)
    types.push_back(item.languageType().str());
  return Type::ofTuple(types);
}

bool Operand::isNumber() const {
  return isConstant() && (constant.asBool() || constant.asInt() || constant.asFloat());
}

std::optional<Value> Operand::value() const {
  if (isConstant()) return constant;
  if (!isTuple()) return std::nullopt;
  std::vector<Value> values;
  for (const Operand &item : items) {
    std::optional<Value> value = item.value();
    if (!value) return std::nullopt;
    values.push_back(std::move(*value));
  }
  if (cls) return Value::instance(cls, std::move(values));
  return fields.empty() ? Value::tuple(std::move(values)) : Value::namedTuple(fields, std::move(values));
}

std::string Operand::describe() const {
  switch (kind) {
  case Kind::constant:
    if (constant.isNone()) return "None";
    if (isNumber() || constant.asString()) return "the constexpr " + constant.repr();
    return constant.describe();
  case Kind::runtime:
  case Kind::descriptor: return type.str();
  case Kind::tuple: return cls ? "an instance of " + cls->classInfo()->name : "a tuple of " + std::to_string(items.size());
  case Kind::method: return "a method";
  }
  return "a value";
}

std::string Operand::describeWhole() const {
  if (!isTuple() || items.empty()) return describe();
  std::string text = describe();
  for (const Operand &item : items)
    text += (&item == &items.front() ? " (" : ", ") + item.describeWhole();
  return text + ")";
}

void flatten(const Operand &x, llvm::SmallVectorImpl<mlir::Value> &handles) {
  if (x.handle) handles.push_back(x.handle);
  for (const Operand &item : x.items)
    flatten(item, handles);
}

Operand rebuild(const Operand &shape, llvm::ArrayRef<mlir::Value> &handles) {
  Operand result = shape;
  if (shape.kind == Operand::Kind::runtime || shape.kind == Operand::Kind::descriptor) {
    result.handle = handles.front();
    handles = handles.drop_front();
  }
  for (Operand &item : result.items)
    item = rebuild(item, handles);
  return result;
}

bool sameType(const Operand &x, const Operand &y) {
  if (x.kind != y.kind || x.items.size() != y.items.size()) return false;
  if (x.isConstant()) return x.constant.repr() == y.constant.repr();
  if (!x.isTuple() && x.type != y.type) return false;
  if (!x.cls != !y.cls || (x.cls && x.cls->classInfo()->lineage[0] != y.cls->classInfo()->lineage[0])) return false;
  for (size_t i = 0; i < x.items.size(); ++i)
    if (!sameType(x.items[i], y.items[i])) return false;
  return true;
}

// ---- places and errors

mlir::Location Semantics::locationOf(SourceRange range) {
  if (!range.file) return UnknownLoc::get(unit.context);
  SourceFile::Position position = range.file->position(range.begin);
  return FileLineColLoc::get(unit.context, range.file->name(), position.line, position.column);
}

void Semantics::at(SourceRange range) {
  where = range;
  b.setLoc(locationOf(range));
}

// True for the source of the library. An error in it is reported at the user's call.
static bool isLibrary(const SourceRange &range) {
  return range.file && range.file->name().rfind("<prelude>", 0) == 0;
}

// Adds notes for the innermost calls and for the kernel's own call. A long chain omits the calls between them.
static void addNotes(const Unit &unit, size_t calls, Diagnostic &diagnostic) {
  constexpr size_t maxNotes = 8;
  for (size_t i = calls; i-- > 0;)
    if (!isLibrary(unit.calls[i]) && (diagnostic.notes.size() < maxNotes || i == 0))
      diagnostic.notes.push_back(Diagnostics::note(unit.calls[i], "called from here"));
}

std::nullopt_t Semantics::failAt(SourceRange range, Diag id, std::initializer_list<std::string> args) {
  size_t calls = unit.calls.size();
  while (isLibrary(range) && calls > 0)
    range = unit.calls[--calls];
  addNotes(unit, calls, unit.diagnostics->error(range, id, args));
  return std::nullopt;
}

std::nullopt_t Semantics::fail(Diag id, std::initializer_list<std::string> args) {
  return failAt(where, id, args);
}

void Semantics::addCallNotes() {
  if (unit.diagnostics->all().empty() || unit.calls.empty()) return;
  // An evaluator without the chain of calls has added the error. The const_cast is valid: the diagnostics object itself is not const.
  Diagnostic &last = const_cast<Diagnostic &>(unit.diagnostics->all().back());
  if (last.notes.empty()) addNotes(unit, unit.calls.size(), last);
}

// ---- types and constants

/// Returns the type in memory: booleans are bytes there.
static Type inMemory(const Type &pointee) {
  bool isBools = pointee.isBlock() && pointee.element() == Type(Scalar::int1);
  return isBools ? pointee.withElement(Type(Scalar::int8)) : pointee;
}

mlir::Type Semantics::irType(const Type &type) {
  MLIRContext *context = unit.context;
  switch (type.kind()) {
  case Type::Kind::pointer: return tt::PointerType::get(irType(inMemory(type.element())), static_cast<int>(type.addressSpace()));
  case Type::Kind::block: return RankedTensorType::get(type.shape(), irType(type.element()));
  case Type::Kind::descriptor: { // unlike other IR types, it marks unsigned elements, for minimum and maximum
    Type stored = type.element() == Type(Scalar::int1) ? Type(Scalar::int8) : type.element();
    mlir::Type element = irType(stored);
    if (stored.isScalar() && isInteger(stored.scalar()) && !isSigned(stored.scalar()))
      element = IntegerType::get(context, element.getIntOrFloatBitWidth(), IntegerType::Unsigned);
    return tt::TensorDescType::get(context, RankedTensorType::get(type.shape(), element));
  }
  case Type::Kind::constant:
  case Type::Kind::tuple: return mlir::NoneType::get(context); // only compared, never created
  case Type::Kind::scalar: break;
  }
  switch (type.scalar()) {
  case Scalar::void_: return mlir::NoneType::get(context);
  case Scalar::int1: return IntegerType::get(context, 1);
  case Scalar::int8:
  case Scalar::uint8:
  case Scalar::fp8e4b15: return IntegerType::get(context, 8); // the IR has no type for fp8e4b15
  case Scalar::int16:
  case Scalar::uint16: return IntegerType::get(context, 16);
  case Scalar::int32:
  case Scalar::uint32: return IntegerType::get(context, 32);
  case Scalar::int64:
  case Scalar::uint64: return IntegerType::get(context, 64);
  case Scalar::fp8e5: return Float8E5M2Type::get(context);
  case Scalar::fp8e5b16: return Float8E5M2FNUZType::get(context);
  case Scalar::fp8e4nv: return Float8E4M3FNType::get(context);
  case Scalar::fp8e4b8: return Float8E4M3FNUZType::get(context);
  case Scalar::fp16: return Float16Type::get(context);
  case Scalar::bf16: return BFloat16Type::get(context);
  case Scalar::fp32: return Float32Type::get(context);
  case Scalar::fp64: return Float64Type::get(context);
  }
  return mlir::NoneType::get(context);
}

static std::string shapeText(llvm::ArrayRef<int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

bool Semantics::checkShape(llvm::ArrayRef<int64_t> shape) {
  int64_t elements = 1;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t size = shape[i];
    if (size <= 0 || (!unit.anySize && (size & (size - 1)))) {
      int64_t next = 1;
      while (next < size && next < tt::maxTileElements)
        next *= 2;
      fail(Diag::powerOfTwo, {std::to_string(i), shapeText(shape), std::to_string(size), std::to_string(next)});
      return false;
    }
    elements = size > tt::maxTileElements ? tt::maxTileElements + 1 : elements * size;
    if (elements > tt::maxTileElements) {
      fail(Diag::tileTooLarge, {shapeText(shape), std::to_string(tt::maxTileElements)});
      return false;
    }
  }
  return true;
}

/// Converts a number as casts.cpp does: through truncated fp16, at most 1.75, ties away from zero.
static int64_t fp8e4b15Bits(double number) {
  APFloat half(number);
  bool inexact = false;
  half.convert(APFloat::IEEEhalf(), APFloat::rmTowardZero, &inexact);
  uint64_t bits = half.bitcastToAPInt().getZExtValue();
  return static_cast<int64_t>((bits >> 8 & 0x80) | (std::min<uint64_t>(bits & 0x7fff, 0x3f00) + 0x40) >> 7);
}

// The type of a number without other operands: the first of int32, uint32, int64, uint64 that can represent it; fp32, or fp64 if necessary.
std::optional<Scalar> ownType(const Value &number) {
  if (number.asBool()) return Scalar::int1;
  if (const Int *integer = number.asInt()) {
    const Int one = 1;
    if (*integer >= -(one << 31) && *integer < (one << 31)) return Scalar::int32;
    if (*integer >= 0 && *integer < (one << 32)) return Scalar::uint32;
    if (*integer >= -(one << 63) && *integer < (one << 63)) return Scalar::int64;
    if (*integer >= 0 && *integer < (one << 64)) return Scalar::uint64;
    return std::nullopt;
  }
  double size = std::fabs(*number.asFloat());
  bool fits = !(size > 0) || std::isinf(size) || (size >= 0x1p-126 && size <= 0x1.fffffep127);
  return fits ? Scalar::fp32 : Scalar::fp64;
}

/// Converts a literal to an 8-bit float as the conversion at run time does: from the number's own type, with saturation.
static APFloat asFp8(double number, const llvm::fltSemantics &semantics) {
  APFloat value(number);
  bool inexact = false;
  value.convert(semantics, APFloat::rmNearestTiesToEven, &inexact);
  return std::isnan(number) || value.isFinite() ? value : APFloat::getLargest(semantics, std::signbit(number));
}

Operand Semantics::scalarConstant(const Value &number, Scalar type) {
  double real = number.toDouble().value_or(0);
  if (isFp8(type) && ownType(number) != Scalar::fp64) real = static_cast<double>(static_cast<float>(real));
  if (type == Scalar::fp8e4b15) {
    Operand byte = scalarConstant(Value::integer(fp8e4b15Bits(real)), Scalar::uint8);
    return Operand::of(byte.handle, Type(type));
  }
  mlir::Type ir = irType(Type(type));
  TypedAttr attribute;
  if (auto floatType = dyn_cast<FloatType>(ir)) {
    APFloat value = isFp8(type) ? asFp8(real, floatType.getFloatSemantics()) : APFloat(real);
    bool inexact = false;
    value.convert(floatType.getFloatSemantics(), APFloat::rmNearestTiesToEven, &inexact);
    if (isFp8(type) && !value.isZero()) { // as bits, because MLIR's constant folding of these types does not saturate
      mlir::Value bits = arith::ConstantOp::create(b, b.getI8IntegerAttr(static_cast<int8_t>(value.bitcastToAPInt().getZExtValue())));
      return Operand::of(tt::BitcastOp::create(b, ir, bits).getResult(), Type(type));
    }
    attribute = FloatAttr::get(ir, value);
  } else {
    // Takes the lowest bits of an integer. Converts a float as at run time: toward zero, saturated, 0 for NaN.
    unsigned width = ir.getIntOrFloatBitWidth();
    llvm::APSInt bits(width, /*isUnsigned=*/!isSigned(type));
    bool isExact = false;
    if (std::optional<Int> integer = number.toInt())
      bits = APInt(64, static_cast<uint64_t>(*integer)).trunc(width);
    else
      APFloat(real).convertToInteger(bits, APFloat::rmTowardZero, &isExact);
    attribute = IntegerAttr::get(ir, bits);
  }
  return Operand::of(arith::ConstantOp::create(b, attribute).getResult(), Type(type));
}

Maybe Semantics::toTensor(const Operand &x) {
  if (x.isRuntime()) return x;
  if (!x.isNumber()) return fail(Diag::notANumber, {x.describe()});
  std::optional<Scalar> type = ownType(x.constant);
  if (!type) return fail(Diag::scalarRange, {x.constant.repr(), "64 bits"});
  return scalarConstant(x.constant, *type);
}

Maybe Semantics::decay(const Operand &x) {
  if (x.isNumber()) return toTensor(x);
  if (!x.isTuple() || x.isAggregate()) return x;
  Operand result = x;
  for (auto [i, item] : llvm::enumerate(result.items)) {
    if (x.cls && x.cls->classInfo()->fields[i].isConstexpr) continue;
    Maybe decayed = decay(item);
    if (!decayed) return std::nullopt;
    item = std::move(*decayed);
  }
  return result;
}

// ---- shape

Operand Semantics::splat(const Operand &scalar, llvm::ArrayRef<int64_t> shape) {
  if (shape.empty()) return scalar;
  Type type = Type::block(scalar.type, shape);
  return Operand::of(tt::SplatOp::create(b, irType(type), scalar.handle).getResult(), type);
}

Operand Semantics::expandDims(const Operand &x, int64_t axis) {
  llvm::SmallVector<int64_t> shape(x.type.shape());
  shape.insert(shape.begin() + axis, 1);
  if (!x.isBlock()) return splat(x, shape);
  Type type = Type::block(x.type.element(), shape);
  return Operand::of(tt::ExpandDimsOp::create(b, irType(type), x.handle, static_cast<int32_t>(axis)).getResult(), type);
}

Operand Semantics::reshape(const Operand &x, llvm::ArrayRef<int64_t> shape, bool reorder) {
  Type type = Type::block(x.type.scalarType(), shape);
  if (!x.isBlock()) return splat(x, shape);
  auto op = tt::ReshapeOp::create(b, irType(type), x.handle, reorder, false);
  return Operand::of(op.getResult(), type);
}

Maybe Semantics::broadcastTo(const Operand &x, llvm::ArrayRef<int64_t> shape) {
  if (!x.isBlock()) return splat(x, shape);
  llvm::ArrayRef<int64_t> from = x.type.shape();
  if (from == shape) return x;
  if (from.size() != shape.size()) return fail(Diag::broadcastRank, {shapeText(from), shapeText(shape)});
  for (size_t i = 0; i < shape.size(); ++i)
    if (from[i] != 1 && from[i] != shape[i])
      return fail(Diag::broadcastShapes,
                  {shapeText(from), shapeText(shape), std::to_string(i), std::to_string(from[i]), std::to_string(shape[i])});
  Type type = Type::block(x.type.element(), shape);
  return Operand::of(tt::BroadcastOp::create(b, irType(type), x.handle).getResult(), type);
}

bool Semantics::broadcast(Operand &x, Operand &y) {
  if (!x.isBlock() && !y.isBlock()) return true;
  if (!y.isBlock()) {
    y = splat(y, x.type.shape());
    return true;
  }
  if (!x.isBlock()) {
    x = splat(x, y.type.shape());
    return true;
  }
  std::string before = shapeText(x.type.shape()), after = shapeText(y.type.shape());
  while (x.type.shape().size() < y.type.shape().size())
    x = expandDims(x, 0);
  while (y.type.shape().size() < x.type.shape().size())
    y = expandDims(y, 0);
  llvm::SmallVector<int64_t> shape;
  for (size_t i = 0; i < x.type.shape().size(); ++i) {
    int64_t left = x.type.shape()[i], right = y.type.shape()[i];
    if (left != right && left != 1 && right != 1) {
      fail(Diag::broadcastShapes, {before, after, std::to_string(i), std::to_string(left), std::to_string(right)});
      return false;
    }
    shape.push_back(left == 1 ? right : left);
  }
  if (!checkShape(shape)) return false;
  Maybe left = broadcastTo(x, shape), right = broadcastTo(y, shape);
  if (!left || !right) return false;
  x = *left;
  y = *right;
  return true;
}

Operand Semantics::item(const Operand &x) {
  if (!x.isBlock()) return x;
  Type type = x.type.element();
  return Operand::of(tt::UnsplatOp::create(b, irType(type), x.handle).getResult(), type);
}

} // namespace tilewright
