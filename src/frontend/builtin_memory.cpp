// Loads, stores and atomics through pointers, block pointers included.

#include "frontend/builtin_emitters.h"

#include <set>

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

// ---- options given as strings

template <typename Enum>
static std::optional<Enum> option(Arguments &args, size_t i, Enum none, std::initializer_list<std::pair<llvm::StringRef, Enum>> choices) {
  std::optional<std::string> text = args.string(i);
  if (!text) return std::nullopt;
  if (text->empty()) return none;
  std::string known;
  for (auto &[name, value] : choices) {
    if (name == *text) return value;
    known += (known.empty() ? "'" : ", '") + name.str() + "'";
  }
  args.emitter.ops.failAt(args.ranges[i], Diag::badOption, {"'" + *text + "'", args.names[i], known});
  return std::nullopt;
}

static std::optional<tt::CacheModifier> loadCache(Arguments &args, size_t i) {
  return option(
      args, i, tt::CacheModifier::NONE,
      {{".ca", tt::CacheModifier::CA}, {".cg", tt::CacheModifier::CG}, {".cs", tt::CacheModifier::CS}, {".cv", tt::CacheModifier::CV}});
}
static std::optional<tt::CacheModifier> storeCache(Arguments &args, size_t i) {
  return option(
      args, i, tt::CacheModifier::NONE,
      {{".wb", tt::CacheModifier::WB}, {".cg", tt::CacheModifier::CG}, {".cs", tt::CacheModifier::CS}, {".wt", tt::CacheModifier::WT}});
}
static std::optional<tt::EvictionPolicy> eviction(Arguments &args, size_t i) {
  return option(args, i, tt::EvictionPolicy::NORMAL,
                {{"evict_first", tt::EvictionPolicy::EVICT_FIRST},
                 {"evict_last", tt::EvictionPolicy::EVICT_LAST},
                 {"evict_normal", tt::EvictionPolicy::NORMAL}});
}

// ---- shared by loads, stores and atomics

/// Converts a run-time value or a number to the representation of `scalar` in memory.
static Maybe converted(Emitter &e, Arguments &args, size_t i, const Type &scalar) {
  if (args[i].isNumber() && scalar == Type(Scalar::int1))
    return e.ops.scalarConstant(Value::integer(args[i].constant.truth()), Scalar::int8);
  if (args[i].isNumber() && scalar.isScalar() && scalar != Type(Scalar::void_))
    return e.ops.scalarConstant(args[i].constant, scalar.scalar());
  Maybe value = args.tensor(i);
  return value ? e.ops.castForMemory(*value, scalar) : std::nullopt;
}

/// Reads the mask as i1 values. `mask` is empty if none is given.
static bool readMask(Emitter &e, Arguments &args, size_t i, Maybe &mask) {
  if (args.isNone(i)) return true;
  mask = args.tensor(i);
  if (!mask) return false;
  if (mask->type.scalarType() == Type(Scalar::int1)) return true;
  e.ops.failAt(args.ranges[i], Diag::maskType, {mask->describe()});
  return false;
}

/// True for pointers to elements. Pointers to void must be converted first.
static bool isPointer(const Operand &x) {
  return x.isRuntime() && x.type.scalarType().isPointer() && !x.isBlockPointer() && x.type.scalarType().element() != Type(Scalar::void_);
}

/// Converts a pointer to booleans to a pointer to int8, because booleans are bytes in memory.
static Maybe bytePointer(Emitter &e, const Operand &pointer) {
  Type type = pointer.type.scalarType();
  if (type.element() != Type(Scalar::int1)) return pointer;
  return e.ops.cast(pointer, Type::pointer(Type(Scalar::int8), type.isConst(), type.addressSpace()));
}

static std::optional<std::vector<int32_t>> boundaryCheck(Arguments &args, size_t i, int64_t rank) {
  std::optional<std::vector<int64_t>> given = args.integers(i);
  if (!given) return std::nullopt;
  std::set<int64_t> dims(given->begin(), given->end());
  if (dims.size() != given->size() || (!dims.empty() && (*dims.begin() < 0 || *dims.rbegin() >= rank)))
    return args.typeError(i, "different dimensions of the block, from 0 to " + std::to_string(rank - 1));
  return std::vector<int32_t>(dims.begin(), dims.end());
}

static std::nullopt_t blockOnly(Emitter &e, Arguments &args, size_t i) {
  return e.ops.failAt(args.ranges[i], Diag::blockPointerOnly, {args.names[i]});
}

// ---- load

Maybe emitLoad(Emitter &e, Arguments &args) {
  const Operand &given = args[0];
  std::optional<tt::CacheModifier> cache = loadCache(args, 5);
  std::optional<tt::EvictionPolicy> evict = cache ? eviction(args, 6) : std::nullopt;
  std::optional<bool> isVolatile = evict ? args.boolean(7) : std::nullopt;
  std::optional<std::string> padding = isVolatile ? args.string(4) : std::nullopt;
  if (!padding) return std::nullopt;
  if (!padding->empty() && *padding != "zero" && *padding != "nan")
    return e.ops.failAt(args.ranges[4], Diag::badOption, {"'" + *padding + "'", "padding_option", "'zero', 'nan'"});
  auto &b = e.ops.b;

  if (given.isBlockPointer()) {
    for (size_t i : {1, 2})
      if (!args.isNone(i)) return e.ops.failAt(args.ranges[i], Diag::blockPointerMask, {args.names[i]});
    Type type = given.type.element();
    if (isInteger(type.scalar()) && *padding == "nan") return e.ops.failAt(args.ranges[4], Diag::nanPadding, {type.element().str()});
    auto check = boundaryCheck(args, 3, static_cast<int64_t>(type.shape().size()));
    if (!check) return std::nullopt;
    auto op = tt::LoadOp::create(b, given.handle);
    op.setBoundaryCheck(*check);
    if (!padding->empty()) op.setPadding(*padding == "nan" ? tt::PaddingOption::PAD_NAN : tt::PaddingOption::PAD_ZERO);
    op.setCache(*cache);
    op.setEvict(*evict);
    op.setIsVolatile(*isVolatile);
    bool isBool = type.element() == Type(Scalar::int1); // booleans are bytes in memory, as upstream
    return Operand::of(op.getResult(), isBool ? type.withElement(Type(Scalar::int8)) : type);
  }
  if (!isPointer(given)) return e.ops.failAt(args.ranges[0], Diag::notAPointer, {"load", given.describe()});
  if (args.isNone(1) && !args.isNone(2)) return e.ops.failAt(args.ranges[2], Diag::otherWithoutMask, {});
  if (!padding->empty()) return blockOnly(e, args, 4);
  if (!args[3].isTuple() || !args[3].items.empty()) return blockOnly(e, args, 3);

  Operand pointer = given;
  Maybe mask, other;
  if (!readMask(e, args, 1, mask)) return std::nullopt;
  Type element = pointer.type.scalarType().element();
  bool isBool = element == Type(Scalar::int1);
  if (isBool) element = Type(Scalar::int8);
  if (!args.isNone(2)) {
    other = converted(e, args, 2, isBool ? Type(Scalar::int1) : element);
    if (!other) return std::nullopt;
  }
  for (auto [value, index] : {std::pair(&mask, 1), std::pair(&other, 2)}) {
    if (!*value) continue;
    if (!pointer.isBlock() && (*value)->isBlock())
      return e.ops.failAt(args.ranges[index], Diag::scalarPointer, {args.names[index], (*value)->describe()});
    if (pointer.isBlock() && !e.ops.broadcast(pointer, **value)) return std::nullopt;
  }
  if (mask && other && pointer.isBlock() && !e.ops.broadcast(pointer, *mask)) return std::nullopt;
  Maybe bytes = bytePointer(e, pointer);
  if (!bytes) return std::nullopt;
  auto op = tt::LoadOp::create(b, bytes->handle, mask ? mask->handle : mlir::Value(), other ? other->handle : mlir::Value());
  op.setCache(*cache);
  op.setEvict(*evict);
  op.setIsVolatile(*isVolatile);
  Operand result = Operand::of(op.getResult(), pointer.type.withElement(element));
  return isBool ? e.ops.cast(result, Type(Scalar::int1)) : Maybe(result);
}

// ---- store

Maybe emitStore(Emitter &e, Arguments &args) {
  const Operand &given = args[0];
  std::optional<tt::CacheModifier> cache = storeCache(args, 4);
  std::optional<tt::EvictionPolicy> evict = cache ? eviction(args, 5) : std::nullopt;
  if (!evict) return std::nullopt;
  auto &b = e.ops.b;
  bool isConst = given.isRuntime() && (given.type.isConst() || given.type.scalarType().isConst());
  if (isConst) return e.ops.failAt(args.ranges[0], Diag::constStore, {given.describe()});

  if (given.isBlockPointer()) {
    if (!args.isNone(2)) return e.ops.failAt(args.ranges[2], Diag::blockPointerMask, {"mask"});
    Type type = given.type.element();
    Maybe value = converted(e, args, 1, type.element());
    if (!value) return std::nullopt;
    if (!value->isBlock()) value = e.ops.splat(*value, type.shape());
    if (value->type.shape() != type.shape()) return e.ops.failAt(args.ranges[1], Diag::storeShape, {args[1].describe(), type.str()});
    auto check = boundaryCheck(args, 3, static_cast<int64_t>(type.shape().size()));
    if (!check) return std::nullopt;
    auto op = tt::StoreOp::create(b, given.handle, value->handle);
    op.setBoundaryCheck(*check);
    op.setCache(*cache);
    op.setEvict(*evict);
    return Operand::none();
  }
  if (!isPointer(given)) return e.ops.failAt(args.ranges[0], Diag::notAPointer, {"store", given.describe()});
  if (!args[3].isTuple() || !args[3].items.empty()) return blockOnly(e, args, 3);
  Type element = given.type.scalarType().element();
  bool isAddress = args[1].isRuntime() && args[1].type.scalarType().isPointer(); // stored as an integer of 64 bits
  bool needsSame = element.isPointer() || (isAddress && element != Type(Scalar::int64));
  bool isSame = args[1].isRuntime() && args[1].type.scalarType() == element;
  if ((needsSame && !isSame) || (!args[1].isRuntime() && !args[1].isNumber()))
    return e.ops.failAt(args.ranges[1], Diag::storeType, {args[1].describe(), element.str()});
  Operand pointer = given;
  Maybe mask;
  if (!readMask(e, args, 2, mask)) return std::nullopt;
  Maybe value = args[1].isRuntime() ? Maybe(args[1]) : converted(e, args, 1, element);
  if (!value) return std::nullopt;
  for (auto [operand, index] : {std::pair(&value, 1), std::pair(&mask, 2)}) {
    if (!*operand) continue;
    if (!pointer.isBlock()) {
      if ((*operand)->isBlock()) return e.ops.failAt(args.ranges[index], Diag::scalarPointer, {args.names[index], (*operand)->describe()});
      continue;
    }
    Operand wide = pointer;
    if (!e.ops.broadcast(wide, **operand)) return std::nullopt;
    if (wide.type.shape() != pointer.type.shape())
      return e.ops.failAt(args.ranges[index], Diag::storeShape, {args[index].describe(), given.describe()});
  }
  // As upstream, converts after the broadcast: this keeps the IR comparable with upstream's.
  Maybe bytes = bytePointer(e, pointer), stored = args[1].isRuntime() ? e.ops.castForMemory(*value, element) : value;
  if (!bytes || !stored) return std::nullopt;
  auto op = tt::StoreOp::create(b, bytes->handle, stored->handle, mask ? mask->handle : mlir::Value());
  op.setCache(*cache);
  op.setEvict(*evict);
  return Operand::none();
}

// ---- atomics

namespace {
struct Atomic {
  Operand pointer, value, mask;
  tt::MemSemantic order;
  tt::MemSyncScope scope;
};
} // namespace

static std::optional<tt::MemSemantic> memoryOrder(Arguments &args, size_t i) {
  return option(args, i, tt::MemSemantic::ACQUIRE_RELEASE,
                {{"acquire", tt::MemSemantic::ACQUIRE},
                 {"release", tt::MemSemantic::RELEASE},
                 {"acq_rel", tt::MemSemantic::ACQUIRE_RELEASE},
                 {"relaxed", tt::MemSemantic::RELAXED}});
}
static std::optional<tt::MemSyncScope> memoryScope(Arguments &args, size_t i) {
  return option(args, i, tt::MemSyncScope::GPU,
                {{"gpu", tt::MemSyncScope::GPU}, {"cta", tt::MemSyncScope::CTA}, {"sys", tt::MemSyncScope::SYSTEM}});
}

static std::optional<Atomic> readAtomic(Emitter &e, Arguments &args) {
  const Operand &pointer = args[0];
  if (!isPointer(pointer)) return e.ops.failAt(args.ranges[0], Diag::notAPointer, {args.builtin.path.str(), pointer.describe()});
  if (pointer.type.scalarType().isConst()) return e.ops.failAt(args.ranges[0], Diag::constStore, {pointer.describe()});
  Type element = pointer.type.scalarType().element();
  bool isAdd = args.builtin.path == "atomic_add";
  bool isHalf = element == Type(Scalar::fp16) || element == Type(Scalar::bf16);
  if (!element.isScalar() || bitWidth(element.scalar()) < 32)
    if (!(isHalf && isAdd)) return e.ops.failAt(args.ranges[0], Diag::atomicType, {args.builtin.path.str(), element.str()});
  Maybe mask;
  if (!readMask(e, args, 2, mask)) return std::nullopt;
  Maybe value = converted(e, args, 1, element);
  std::optional<tt::MemSemantic> order = value ? memoryOrder(args, 3) : std::nullopt;
  std::optional<tt::MemSyncScope> scope = order ? memoryScope(args, 4) : std::nullopt;
  if (!scope) return std::nullopt;
  if (!pointer.isBlock()) {
    if (value->isBlock() || (mask && mask->isBlock())) {
      size_t index = value->isBlock() ? 1 : 2;
      return e.ops.failAt(args.ranges[index], Diag::scalarPointer, {args.names[index], args[index].describe()});
    }
  } else {
    value = e.ops.broadcastTo(*value, pointer.type.shape());
    if (value && mask) mask = e.ops.broadcastTo(*mask, pointer.type.shape());
    if (!value || (!args.isNone(2) && !mask)) return std::nullopt;
  }
  if (!mask) mask = e.ops.splat(e.ops.scalarConstant(Value::boolean(true), Scalar::int1), pointer.type.shape());
  return Atomic{pointer, *value, *mask, *order, *scope};
}

static Operand rmw(Emitter &e, tt::RMWOp op, const Atomic &atomic, const Operand &pointer, const Operand &value, const Operand &mask) {
  auto made =
      tt::AtomicRMWOp::create(e.ops.b, value.handle.getType(), op, pointer.handle, value.handle, mask.handle, atomic.order, atomic.scope);
  return Operand::of(made.getResult(), value.type);
}

static Maybe simpleAtomic(Emitter &e, Arguments &args, tt::RMWOp op, bool integersOnly) {
  std::optional<Atomic> atomic = readAtomic(e, args);
  if (!atomic) return std::nullopt;
  Scalar scalar = atomic->value.type.scalar();
  if (integersOnly && isFloat(scalar))
    return e.ops.failAt(args.ranges[0], Diag::atomicType, {args.builtin.path.str(), scalarName(scalar).str()});
  if (op == tt::RMWOp::ADD && isFloat(scalar)) op = tt::RMWOp::FADD;
  return rmw(e, op, *atomic, atomic->pointer, atomic->value, atomic->mask);
}

Maybe emitAtomicAdd(Emitter &e, Arguments &args) {
  return simpleAtomic(e, args, tt::RMWOp::ADD, false);
}
Maybe emitAtomicAnd(Emitter &e, Arguments &args) {
  return simpleAtomic(e, args, tt::RMWOp::AND, true);
}
Maybe emitAtomicOr(Emitter &e, Arguments &args) {
  return simpleAtomic(e, args, tt::RMWOp::OR, true);
}
Maybe emitAtomicXor(Emitter &e, Arguments &args) {
  return simpleAtomic(e, args, tt::RMWOp::XOR, true);
}
Maybe emitAtomicXchg(Emitter &e, Arguments &args) {
  return simpleAtomic(e, args, tt::RMWOp::XCHG, false);
}

// Atomic maximum or minimum of floats by two masked integer atomics, without a loop. If the new value is not negative, the larger of two
// floats is the larger signed integer. If it is negative, the larger one is the smaller unsigned integer.
static Maybe atomicExtremum(Emitter &e, Arguments &args, bool isMax) {
  std::optional<Atomic> atomic = readAtomic(e, args);
  if (!atomic) return std::nullopt;
  Scalar scalar = atomic->value.type.scalar();
  tt::RMWOp signedOp = isMax ? tt::RMWOp::MAX : tt::RMWOp::MIN;
  if (isInteger(scalar))
    return rmw(e,
               isSigned(scalar) ? signedOp
               : isMax          ? tt::RMWOp::UMAX
                                : tt::RMWOp::UMIN,
               *atomic, atomic->pointer, atomic->value, atomic->mask);
  if (scalar != Scalar::fp32 && scalar != Scalar::fp64)
    return e.ops.failAt(args.ranges[0], Diag::atomicType, {args.builtin.path.str(), scalarName(scalar).str()});
  bool narrow = scalar == Scalar::fp32;
  Type asSigned(narrow ? Scalar::int32 : Scalar::int64), asUnsigned(narrow ? Scalar::uint32 : Scalar::uint64);
  Maybe signedValue = e.ops.bitcast(atomic->value, asSigned), unsignedValue = e.ops.bitcast(atomic->value, asUnsigned);
  Maybe signedPointer = e.ops.bitcast(atomic->pointer, Type::pointer(asSigned, false, 1));
  Maybe unsignedPointer = e.ops.bitcast(atomic->pointer, Type::pointer(asUnsigned, false, 1));
  Maybe sign =
      unsignedValue ? e.ops.bitwise(ast::BinaryOp::rshift, *unsignedValue, Operand::of(Value::integer(narrow ? 31 : 63))) : std::nullopt;
  Maybe negative = sign ? e.ops.cast(*sign, Type(Scalar::int1)) : std::nullopt;
  Maybe positive = negative ? e.ops.unary(ast::UnaryOp::not_, *negative) : std::nullopt;
  if (!positive || !signedValue || !signedPointer || !unsignedPointer) return std::nullopt;
  Maybe ifPositive = e.ops.bitwise(ast::BinaryOp::bitand_, atomic->mask, *positive),
        ifNegative = e.ops.bitwise(ast::BinaryOp::bitand_, atomic->mask, *negative);
  if (!ifPositive || !ifNegative) return std::nullopt;
  Operand first = rmw(e, signedOp, *atomic, *signedPointer, *signedValue, *ifPositive);
  Operand second = rmw(e, isMax ? tt::RMWOp::UMIN : tt::RMWOp::UMAX, *atomic, *unsignedPointer, *unsignedValue, *ifNegative);
  second.type = first.type; // the same bits
  Maybe before = e.ops.where_(*positive, first, second);
  return before ? e.ops.bitcast(*before, Type(scalar)) : std::nullopt;
}
Maybe emitAtomicMax(Emitter &e, Arguments &args) {
  return atomicExtremum(e, args, true);
}
Maybe emitAtomicMin(Emitter &e, Arguments &args) {
  return atomicExtremum(e, args, false);
}

Maybe emitAtomicCas(Emitter &e, Arguments &args) {
  const Operand &pointer = args[0];
  if (!isPointer(pointer)) return e.ops.failAt(args.ranges[0], Diag::notAPointer, {"atomic_cas", pointer.describe()});
  if (pointer.type.scalarType().isConst()) return e.ops.failAt(args.ranges[0], Diag::constStore, {pointer.describe()});
  Type element = pointer.type.scalarType().element();
  if (!element.isScalar() || bitWidth(element.scalar()) < 16)
    return e.ops.failAt(args.ranges[0], Diag::atomicType, {"atomic_cas", element.str()});
  Maybe expected = converted(e, args, 1, element), value = expected ? converted(e, args, 2, element) : std::nullopt;
  std::optional<tt::MemSemantic> order = value ? memoryOrder(args, 3) : std::nullopt;
  std::optional<tt::MemSyncScope> scope = order ? memoryScope(args, 4) : std::nullopt;
  if (!scope) return std::nullopt;
  for (auto [operand, index] : {std::pair(&expected, 1), std::pair(&value, 2)}) {
    if (!pointer.isBlock() && (*operand)->isBlock())
      return e.ops.failAt(args.ranges[index], Diag::scalarPointer, {args.names[index], (*operand)->describe()});
    if (pointer.isBlock()) *operand = e.ops.broadcastTo(**operand, pointer.type.shape());
    if (!*operand) return std::nullopt;
  }
  auto op = tt::AtomicCASOp::create(e.ops.b, value->handle.getType(), pointer.handle, expected->handle, value->handle, *order, *scope);
  // Integers of one width need no conversion: the old value has the type of the new one.
  Type type = value->type, given = args[2].type.scalarType();
  bool isInteger =
      args[2].isRuntime() && given.isScalar() && tilewright::isInteger(given.scalar()) && tilewright::isInteger(element.scalar());
  if (isInteger && bitWidth(given.scalar()) == bitWidth(element.scalar())) type = type.withElement(given);
  return Operand::of(op.getResult(), type);
}

} // namespace tilewright
