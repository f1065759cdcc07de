// Reads the text of newer Triton versions as equivalent operations of version 3.6:
//   3.8   !tt.tensordesc<32x64xf16>                                                 !tt.tensordesc<tensor<32x64xf16>>
//   3.9   tt.load %p {cachePolicy = #tt.cache_policy<cache_modifier = cg, ...>}     tt.load %p cacheModifier = cg
//   3.9   tt.approx_divf %x, %y                                                     arith.divf %x, %y
//   3.9   tt.atomic_load acquire, gpu, %p, %mask                                    an atomic "or" of 0 with the element's bits
//   3.9   tt.atomic_store release, gpu, %p, %v, %mask                               an atomic exchange of the element's bits
//   3.9   tt.atomic_poll acquire, gpu, %p, %expected timeout %ns                    a loop of atomic reads
// The dialect's hooks parse operations without a single counterpart as unregistered operations, and upgrade() replaces them.
#include "ir/newer_text.h"

#include "ir/tt.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tilewright;
using namespace tilewright::tt;

constexpr llvm::StringLiteral policyName = "cachePolicy", modifierName = "cache_modifier", evictionName = "eviction_policy";
constexpr llvm::StringLiteral semName = "sem", scopeName = "scope";

//===-------------------------------------------------------------------------------------------------- types and attributes

mlir::Type TensorDescType::parse(AsmParser &parser) {
  Type stored;
  SmallVector<int64_t> shape;
  Attribute layout; // of shared memory, in IR of upstream's later stages
  if (parser.parseLess()) return {};
  llvm::SMLoc at = parser.getCurrentLocation();
  OptionalParseResult whole = parser.parseOptionalType(stored);
  if (whole.has_value() && failed(*whole)) return {};
  if (!whole.has_value()) {
    Type element;
    if (parser.parseDimensionList(shape, /*allowDynamic=*/false) || parser.parseType(element)) return {};
    if (!RankedTensorType::isValidElementType(element)) return parser.emitError(at, "a descriptor has no blocks of ") << element, Type();
    stored = RankedTensorType::get(shape, element);
  }
  if (succeeded(parser.parseOptionalComma()) && parser.parseAttribute(layout)) return {};
  if (parser.parseGreater()) return {};
  auto tile = dyn_cast<RankedTensorType>(stored);
  if (!tile) return parser.emitError(at, "a descriptor has blocks, which are tensors, not ") << stored, Type();
  return TensorDescType::get(parser.getContext(), tile);
}

void TensorDescType::print(AsmPrinter &printer) const {
  printer << "<" << getStoredType() << ">";
}

/// Parses `<cache_modifier = cg, eviction_policy = evict_last>` into a dictionary of its words.
static Attribute parseCachePolicy(AsmParser &parser) {
  NamedAttrList words;
  auto field = [&]() -> ParseResult {
    StringRef name, word;
    if (parser.parseKeyword(&name) || parser.parseEqual() || parser.parseKeyword(&word)) return failure();
    words.set(name, parser.getBuilder().getStringAttr(word));
    return success();
  };
  if (parser.parseCommaSeparatedList(AsmParser::Delimiter::LessGreater, field)) return {};
  return words.getDictionary(parser.getContext());
}

Attribute TTDialect::parseAttribute(DialectAsmParser &parser, Type) const {
  StringRef name;
  llvm::SMLoc at = parser.getCurrentLocation();
  if (failed(parser.parseKeyword(&name))) return {};
  if (name == "cache_policy") return parseCachePolicy(parser);
  return parser.emitError(at, "the tt dialect has no attribute '") << name << "'", Attribute();
}

//===--------------------------------------------------------------------------------------------------------- operations

static ParseResult parseOrder(OpAsmParser &parser, OperationState &result) {
  StringRef sem, scope;
  llvm::SMLoc at = parser.getCurrentLocation();
  if (parser.parseKeyword(&sem) || parser.parseComma() || parser.parseKeyword(&scope) || parser.parseComma()) return failure();
  std::optional<MemSemantic> order = symbolizeMemSemantic(sem);
  std::optional<MemSyncScope> reach = symbolizeMemSyncScope(scope);
  if (!order || !reach) return parser.emitError(at, "no memory order and scope: ") << sem << ", " << scope;
  result.addAttribute(semName, MemSemanticAttr::get(parser.getContext(), *order));
  result.addAttribute(scopeName, MemSyncScopeAttr::get(parser.getContext(), *reach));
  return success();
}

using Operands = SmallVector<OpAsmParser::UnresolvedOperand, 4>;

static ParseResult parseAtomicLoad(OpAsmParser &parser, OperationState &result) {
  Operands operands;
  FunctionType type;
  llvm::SMLoc at = parser.getCurrentLocation();
  if (parseOrder(parser, result) || parser.parseOperandList(operands) || parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) || parser.resolveOperands(operands, type.getInputs(), at, result.operands))
    return failure();
  result.addTypes(type.getResults());
  return success();
}

static ParseResult parseAtomicStore(OpAsmParser &parser, OperationState &result) {
  Operands operands;
  Type pointer;
  llvm::SMLoc at = parser.getCurrentLocation();
  if (parseOrder(parser, result) || parser.parseOperandList(operands) || parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(pointer))
    return failure();
  SmallVector<Type> types = {pointer, pointeeTile(pointer), maskOf(pointer)};
  if (operands.size() < 2 || operands.size() > 3) return parser.emitError(at, "needs an address, a value and an optional mask");
  return parser.resolveOperands(operands, ArrayRef<Type>(types).take_front(operands.size()), at, result.operands);
}

static ParseResult parseAtomicPoll(OpAsmParser &parser, OperationState &result) {
  Operands operands;
  OpAsmParser::UnresolvedOperand timeout;
  SmallVector<Type> types;
  Type made;
  llvm::SMLoc at = parser.getCurrentLocation();
  if (parseOrder(parser, result) || parser.parseOperandList(operands)) return failure();
  bool limited = succeeded(parser.parseOptionalKeyword("timeout"));
  if (limited && parser.parseOperand(timeout)) return failure();
  if (parser.parseOptionalAttrDict(result.attributes) || parser.parseColonTypeList(types) || parser.parseArrow() ||
      parser.parseType(made) || parser.resolveOperands(operands, types, at, result.operands))
    return failure();
  if (limited && parser.resolveOperand(timeout, parser.getBuilder().getI64Type(), result.operands)) return failure();
  result.addTypes(made);
  return success();
}

static ParseResult parseDivision(OpAsmParser &parser, OperationState &result) {
  result.name = OperationName(arith::DivFOp::getOperationName(), parser.getContext());
  Operands operands;
  Type type;
  llvm::SMLoc at = parser.getCurrentLocation();
  if (parser.parseOperandList(operands, 2) || parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type) ||
      parser.resolveOperands(operands, type, at, result.operands))
    return failure();
  result.addTypes(type);
  return success();
}

std::optional<Dialect::ParseOpHook> TTDialect::getParseOperationHook(StringRef name) const {
  if (name == "tt.atomic_load") return ParseOpHook(parseAtomicLoad);
  if (name == "tt.atomic_store") return ParseOpHook(parseAtomicStore);
  if (name == "tt.atomic_poll") return ParseOpHook(parseAtomicPoll);
  if (name == "tt.approx_divf") return ParseOpHook(parseDivision);
  return Dialect::getParseOperationHook(name);
}

//===------------------------------------------------------------------------------------------------------------ upgrade

namespace {
/// An atomic access to be replaced: its parts, with the element's bits as integers.
struct Access {
  ImplicitLocOpBuilder b;
  Value pointer; ///< to integers of the element's width
  Type element, bits;
  MemSemantic sem;
  MemSyncScope scope;

  Value constant(Type type, int64_t value) {
    TypedAttr number = IntegerAttr::get(getElementTypeOrSelf(type), value);
    if (auto tile = dyn_cast<RankedTensorType>(type)) number = DenseElementsAttr::get(tile, Attribute(number));
    return arith::ConstantOp::create(b, number);
  }
  Value read(Value mask) { return AtomicRMWOp::create(b, bits, RMWOp::OR, pointer, constant(bits, 0), mask, sem, scope); }
  Value asBits(Value value) { return value.getType() == bits ? value : Value(BitcastOp::create(b, bits, value)); }
  Value asElement(Value value) { return element == bits ? value : Value(BitcastOp::create(b, element, value)); }
};
} // namespace

/// Returns the access, or null after an error if the operation does not support its address.
static std::optional<Access> accessOf(Operation *op, bool floats) {
  auto sem = op->getAttrOfType<MemSemanticAttr>(semName);
  auto scope = op->getAttrOfType<MemSyncScopeAttr>(scopeName);
  if (!sem || !scope || op->getNumOperands() < 1) return op->emitOpError("has no memory order, scope or address"), std::nullopt;
  Value pointer = op->getOperand(0);
  Type element = pointeeTile(pointer.getType()), scalar = getElementTypeOrSelf(element);
  bool isNumber = isPointerOrTileOfPointers(pointer.getType()) && !isBlockPointer(pointer.getType()) &&
                  (scalar.isInteger() || (floats && isa<FloatType>(scalar)));
  if (!isNumber || (scalar.getIntOrFloatBitWidth() != 32 && scalar.getIntOrFloatBitWidth() != 64))
    return op->emitOpError("takes pointers to integers") << (floats ? " or floats" : "") << " of 32 or 64 bits, not " << pointer.getType(),
           std::nullopt;
  Access access{ImplicitLocOpBuilder(op->getLoc(), op), pointer, element, {}, sem.getValue(), scope.getValue()};
  Type integer = access.b.getIntegerType(scalar.getIntOrFloatBitWidth());
  access.bits = withElement(element, integer);
  if (element == access.bits) return access;
  auto addresses = cast<PointerType>(getElementTypeOrSelf(pointer.getType()));
  Type pointers = withElement(pointer.getType(), PointerType::get(integer, addresses.getAddressSpace()));
  access.pointer = BitcastOp::create(access.b, pointers, pointer);
  return access;
}

/// Checks the types of the operation's operands and results. An empty type stands for an optional operand.
static LogicalResult expect(Operation *op, ArrayRef<Type> operands, size_t needed, TypeRange results) {
  size_t count = op->getNumOperands();
  bool fits = count >= needed && count <= operands.size() && TypeRange(op->getOperandTypes()) == TypeRange(operands.take_front(count)) &&
              TypeRange(op->getResultTypes()) == results;
  return fits ? success() : op->emitOpError("has operands or a result whose types do not match");
}

static LogicalResult upgradeLoad(Operation *op) {
  std::optional<Access> access = accessOf(op, true);
  Type pointer = access ? op->getOperand(0).getType() : Type();
  if (!access || failed(expect(op, {pointer, maskOf(pointer)}, 1, access->element))) return failure();
  Value mask = op->getNumOperands() > 1 ? op->getOperand(1) : Value();
  op->replaceAllUsesWith(ValueRange(access->asElement(access->read(mask))));
  return success();
}

static LogicalResult upgradeStore(Operation *op) {
  std::optional<Access> access = accessOf(op, true);
  Type pointer = access ? op->getOperand(0).getType() : Type();
  if (!access || failed(expect(op, {pointer, access->element, maskOf(pointer)}, 2, TypeRange()))) return failure();
  Value mask = op->getNumOperands() > 2 ? op->getOperand(2) : Value(), value = access->asBits(op->getOperand(1));
  AtomicRMWOp::create(access->b, access->bits, RMWOp::XCHG, access->pointer, value, mask, access->sem, access->scope);
  return success();
}

/// Returns an i1 that is true if all elements are true.
static Value allOf(ImplicitLocOpBuilder &b, Value found) {
  auto tile = dyn_cast<RankedTensorType>(found.getType());
  if (!tile) return found;
  auto line = RankedTensorType::get({tile.getNumElements()}, b.getI1Type());
  if (tile.getRank() != 1) found = ReshapeOp::create(b, line, found, /*allow_reorder=*/false, /*efficient_layout=*/false);
  auto reduce = ReduceOp::create(b, ValueRange(found), 0);
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&reduce.getCombineOp(), {}, {b.getI1Type(), b.getI1Type()}, {b.getLoc(), b.getLoc()});
  Value both = arith::AndIOp::create(b, body->getArgument(0), body->getArgument(1));
  ReduceReturnOp::create(b, ValueRange(both));
  return reduce->getResult(0);
}

/// Reads a GPU's clock, with one value for all threads of a program: each of up to 1024 threads reads it, and the result is the latest
/// value.
static Value nanoseconds(ImplicitLocOpBuilder &b) {
  constexpr int32_t threads = 1024;
  Value thread = MakeRangeOp::create(b, RankedTensorType::get({threads}, b.getI32Type()), 0, threads);
  auto times = RankedTensorType::get({threads}, b.getI64Type());
  auto read = ElementwiseInlineAsmOp::create(b, TypeRange(times), "mov.u64 $0, %globaltimer;", "=l,r", false, 1, ValueRange(thread));
  auto reduce = ReduceOp::create(b, read->getResults(), 0);
  OpBuilder::InsertionGuard guard(b);
  Block *body = b.createBlock(&reduce.getCombineOp(), {}, {b.getI64Type(), b.getI64Type()}, {b.getLoc(), b.getLoc()});
  Value latest = arith::MaxSIOp::create(b, body->getArgument(0), body->getArgument(1));
  ReduceReturnOp::create(b, ValueRange(latest));
  return reduce->getResult(0);
}

/// Reads until each element has been equal once, or until the timeout. The result is true for elements that have been equal.
static LogicalResult upgradePoll(Operation *op) {
  std::optional<Access> access = accessOf(op, false);
  if (!access) return failure();
  ImplicitLocOpBuilder &b = access->b;
  Type found = maskOf(op->getOperand(0).getType());
  if (failed(expect(op, {op->getOperand(0).getType(), access->element, b.getI64Type()}, 2, found))) return failure();
  Value expected = op->getOperand(1), limit = op->getNumOperands() > 2 ? op->getOperand(2) : Value();
  auto isEqual = [&](Value read) { return Value(arith::CmpIOp::create(b, arith::CmpIPredicate::eq, read, expected)); };
  Value begin = limit ? nanoseconds(b) : Value(), first = isEqual(access->read({}));
  auto loop = scf::WhileOp::create(b, TypeRange(found), ValueRange(first));
  Block *before = b.createBlock(&loop.getBefore(), {}, found, b.getLoc());
  Value missing = arith::XOrIOp::create(b, allOf(b, before->getArgument(0)), access->constant(b.getI1Type(), 1));
  if (limit) {
    Value passed = arith::SubIOp::create(b, nanoseconds(b), begin);
    missing = arith::AndIOp::create(b, missing, arith::CmpIOp::create(b, arith::CmpIPredicate::slt, passed, limit));
  }
  scf::ConditionOp::create(b, missing, before->getArguments());
  Block *after = b.createBlock(&loop.getAfter(), {}, found, b.getLoc());
  Value seen = after->getArgument(0), mask = arith::XOrIOp::create(b, seen, access->constant(found, 1));
  Value now = arith::AndIOp::create(b, mask, isEqual(access->read(mask)));
  scf::YieldOp::create(b, ValueRange(arith::OrIOp::create(b, seen, now).getResult()));
  op->replaceAllUsesWith(loop->getResults());
  return success();
}

/// Splits the cache policy of an access, one attribute, into the two attributes of this IR.
template <typename OpTy> static LogicalResult upgradePolicy(OpTy op) {
  auto policy = dyn_cast_if_present<DictionaryAttr>(op->getDiscardableAttr(policyName));
  if (!policy) return success();
  auto modifier = policy.template getAs<StringAttr>(modifierName), eviction = policy.template getAs<StringAttr>(evictionName);
  std::optional<CacheModifier> cache = symbolizeCacheModifier(modifier ? modifier.getValue() : "none");
  StringRef word = eviction ? eviction.getValue() : "evict_normal";
  std::optional<EvictionPolicy> evict = symbolizeEvictionPolicy(word == "evict_normal" ? "normal" : word);
  if (!cache || !evict) return op->emitOpError("has an unknown cache policy: ") << policy;
  op.setCache(*cache);
  op.setEvict(*evict);
  op->removeDiscardableAttr(policyName);
  return success();
}

LogicalResult tt::upgrade(ModuleOp module) {
  SmallVector<Operation *> replaced;
  bool failedAny = false;
  module->walk([&](Operation *op) {
    if (auto load = dyn_cast<LoadOp>(op)) failedAny |= failed(upgradePolicy(load));
    if (auto store = dyn_cast<StoreOp>(op)) failedAny |= failed(upgradePolicy(store));
    if (auto load = dyn_cast<DescriptorLoadOp>(op)) failedAny |= failed(upgradePolicy(load));
    if (!op->isRegistered()) replaced.push_back(op);
  });
  for (Operation *op : replaced) {
    StringRef name = op->getName().getStringRef();
    auto *one = name == "tt.atomic_load"    ? upgradeLoad
                : name == "tt.atomic_store" ? upgradeStore
                : name == "tt.atomic_poll"  ? upgradePoll
                                            : nullptr;
    if (!one) continue;
    if (failed(one(op)))
      failedAny = true;
    else
      op->erase();
  }
  return failure(failedAny);
}

Operation *tt::createGridDependency(OpBuilder &builder, Location loc, bool waits) {
  StringRef text = waits ? "griddepcontrol.wait; mov.u32 $0, 0;" : "griddepcontrol.launch_dependents; mov.u32 $0, 0;";
  return ElementwiseInlineAsmOp::create(builder, loc, TypeRange(builder.getI32Type()), text, "=r,~{memory}", false, 1, ValueRange());
}

void tt::expandGridDependencies(ModuleOp module, bool exist) {
  SmallVector<Operation *> found;
  module->walk([&](Operation *op) {
    if (isa<GridDependencyWaitOp, GridDependencyLaunchDependentsOp>(op)) found.push_back(op);
  });
  for (Operation *op : found) {
    OpBuilder builder(op);
    if (exist) createGridDependency(builder, op->getLoc(), isa<GridDependencyWaitOp>(op));
    op->erase();
  }
}
