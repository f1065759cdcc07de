// The kernel's own assembly (tl.inline_asm_elementwise): x86's in AT&T syntax, or AArch64's. One piece takes `pack` adjacent elements of
// each tile and returns as many of each result. The element's type and the constraint determine the registers:
//   "r", pack 4, int8:   four bytes are one word of 32 bits, as on GPUs
//   "r", pack 2, int32:  two registers, so there are two constraints
//   "x", pack 8, fp32:   one vector register, where the elements fill one of 16, 32 or 64 bytes
#include "cpu/evaluate.h"
#include "cpu/loop_nests.h"
#include "cpu/loops.h"
#include "cpu/scratch.h"
#include "ir/assembly.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

namespace {

/// The registers of `pack` elements of an operand: `count` registers of `type`, each with `elements` of them.
struct Registers {
  Type type;
  int64_t elements, count;
};

/// The registers of each result and of each operand.
struct Plan {
  SmallVector<Registers> results, operands;
};

/// The elements of one piece: their indices and, if they are contiguous in the last dimension, the index of all of them as a vector.
struct Group {
  SmallVector<TileIndex> elements;
  std::optional<TileIndex> run;
};

/// The part of each dimension that belongs to one group.
struct Grouping {
  SmallVector<int64_t> taken, groups;
};

} // namespace

//===-------------------------------------------------------------------------------------------------------- registers

/// Returns the type of an element in a register: i1 is a byte, a pointer i64, a float below 32 bits an integer of its bits.
static Type registerElement(Type element) {
  MLIRContext *context = element.getContext();
  if (isa<PointerType>(element)) return IntegerType::get(context, 64);
  if (element.isInteger(1)) return IntegerType::get(context, 8);
  bool isSmallFloat = isa<FloatType>(element) && element.getIntOrFloatBitWidth() < 32;
  return isSmallFloat ? Type(IntegerType::get(context, element.getIntOrFloatBitWidth())) : element;
}

static Value toRegister(ImplicitLocOpBuilder &b, Value value) {
  Type element = getElementTypeOrSelf(value.getType()), wanted = registerElement(element);
  Type type = vectorOf(wanted, lanesOf(value.getType()));
  if (element == wanted) return value;
  if (element.isInteger(1)) return arith::ExtUIOp::create(b, type, value);
  return arith::BitcastOp::create(b, type, value);
}

static Value fromRegister(ImplicitLocOpBuilder &b, Value value, Type element) {
  Type type = vectorOf(element, lanesOf(value.getType()));
  if (value.getType() == type || isa<PointerType>(element)) return value;
  if (element.isInteger(1)) return arith::TruncIOp::create(b, type, value);
  return arith::BitcastOp::create(b, type, value);
}

static Registers registersOf(Type element, int64_t pack, bool isVectorClass) {
  Type type = registerElement(element);
  auto bits = static_cast<int64_t>(type.getIntOrFloatBitWidth());
  if (isVectorClass && pack > 1 && llvm::is_contained({128, 256, 512}, pack * bits)) return {vectorOf(type, pack), pack, 1};
  int64_t perWord = std::min(pack, std::max<int64_t>(1, 32 / bits));
  if (perWord > 1) type = IntegerType::get(type.getContext(), static_cast<unsigned>(perWord * bits));
  return {type, perWord, pack / perWord};
}

/// nullopt after a refusal.
static std::optional<Plan> planOf(Context &ctx, ElementwiseInlineAsmOp op) {
  AssemblyOperands named = assemblyOperands(op.getConstraints());
  auto isVectorClass = [&](StringRef constraint) {
    size_t tied;
    if (!constraint.getAsInteger(10, tied)) constraint = tied < named.outputs.size() ? named.outputs[tied] : StringRef();
    constraint.consume_front("&");
    return ctx.target.isa == Isa::aarch64 ? constraint == "w" : constraint == "x" || constraint == "v";
  };
  auto take = [&](Type type, ArrayRef<StringRef> constraints, SmallVectorImpl<Type> &types) {
    bool isVector = types.size() < constraints.size() && isVectorClass(constraints[types.size()]);
    Registers registers = registersOf(getElementTypeOrSelf(type), op.getPackedElement(), isVector);
    types.append(static_cast<size_t>(registers.count), registers.type);
    return registers;
  };
  Plan plan;
  SmallVector<Type> outputs, inputs;
  for (Type type : op->getResultTypes())
    plan.results.push_back(take(type, named.outputs, outputs));
  for (Type type : op->getOperandTypes())
    plan.operands.push_back(take(type, named.inputs, inputs));
  AssemblyKind kind = ctx.target.isa == Isa::aarch64 ? AssemblyKind::aarch64 : AssemblyKind::x86;
  if (!ctx.failedAny && succeeded(checkAssembly(op, kind, outputs, inputs))) return plan;
  ctx.failedAny = true;
  return std::nullopt;
}

//===----------------------------------------------------------------------------------------------------------- pieces

static Grouping groupingOf(ArrayRef<int64_t> shape, int64_t pack) {
  Grouping grouping{SmallVector<int64_t>(shape.size(), 1), SmallVector<int64_t>(shape)};
  for (int64_t dim = int64_t(shape.size()) - 1; dim >= 0; --dim) {
    grouping.taken[dim] = std::min(pack, shape[dim]);
    grouping.groups[dim] = shape[dim] / grouping.taken[dim];
    pack /= grouping.taken[dim];
  }
  return grouping;
}

/// A tile with fewer elements than `pack` repeats them.
static Group groupAt(Context &ctx, const Grouping &grouping, int64_t pack, const TileIndex &tileIndex) {
  ImplicitLocOpBuilder &b = ctx.b;
  Group group;
  for (int64_t i = 0; i < pack; ++i) {
    TileIndex element = tileIndex;
    int64_t rest = i;
    for (int64_t dim = int64_t(grouping.taken.size()) - 1; dim >= 0; --dim) {
      int64_t taken = grouping.taken[dim];
      if (taken == 1) continue;
      Value first = arith::MulIOp::create(b, tileIndex.at[dim].value, constantIndex(b, taken));
      element.at[dim] = {arith::AddIOp::create(b, first, constantIndex(b, rest % taken)), int64_t(ctx.levels.size()) - 1};
      rest /= taken;
    }
    group.elements.push_back(std::move(element));
  }
  if (pack > 1 && !grouping.taken.empty() && grouping.taken.back() == pack) {
    group.run = group.elements.front();
    group.run->vector = int64_t(grouping.taken.size()) - 1;
    group.run->lanes = pack;
  }
  return group;
}

/// Reads the registers of one operand.
static void readOperand(Context &ctx, Value operand, const Registers &registers, const Group &group, SmallVectorImpl<Value> &words) {
  ImplicitLocOpBuilder &b = ctx.b;
  bool isVector = isa<VectorType>(registers.type);
  if (isVector && group.run) {
    Type element = getElementTypeOrSelf(operand.getType());
    words.push_back(toRegister(b, asVector(ctx, evaluate(ctx, operand, *group.run), element, *group.run)));
    return;
  }
  for (int64_t word = 0; word < registers.count; ++word) {
    Value packed;
    for (int64_t i = 0; i < registers.elements; ++i) {
      Value element = toRegister(b, evaluateScalar(ctx, operand, group.elements[word * registers.elements + i]));
      if (registers.elements == 1)
        packed = element;
      else
        packed = i == 0 ? splat(b, element, registers.elements) : insertLane(b, packed, element, i);
    }
    words.push_back(registers.elements == 1 || isVector ? packed : reinterpret(b, registers.type, packed));
  }
}

/// Emits one piece on one group of elements; returns its outputs register by register.
static SmallVector<Value> emitPiece(Context &ctx, ElementwiseInlineAsmOp op, const Plan &plan, const Group &group) {
  SmallVector<Value> words;
  for (auto [operand, registers] : llvm::zip(op.getArgs(), plan.operands))
    readOperand(ctx, operand, registers, group, words);
  SmallVector<Type> types;
  for (const Registers &registers : plan.results)
    types.append(static_cast<size_t>(registers.count), registers.type);
  std::string constraints = op.getConstraints().str();
  llvm::erase(constraints, ' ');
  constraints += constraints.empty() ? "" : ",";
  constraints += ctx.target.isa == Isa::aarch64 ? "~{cc}" : "~{dirflag},~{fpsr},~{flags}"; // the CPU's flags
  return inlineAssembly(ctx.b, op.getAsmString(), constraints, types, words, /*hasEffects=*/!op.getPure());
}

/// Returns element `index` of those in a result's registers.
static Value elementOf(Context &ctx, ArrayRef<Value> words, const Registers &registers, int64_t index, Type element) {
  ImplicitLocOpBuilder &b = ctx.b;
  Value word = words[index / registers.elements];
  if (registers.elements > 1) {
    Type lanes = vectorOf(registerElement(element), registers.elements);
    if (word.getType() != lanes) word = reinterpret(b, lanes, word);
    word = extractLane(b, word, index % registers.elements);
  }
  return fromRegister(b, word, element);
}

void lowerAssembly(Context &ctx, ElementwiseInlineAsmOp op) {
  ImplicitLocOpBuilder &b = ctx.b;
  std::optional<Plan> plan = planOf(ctx, op);
  if (!plan) return;
  int64_t pack = op.getPackedElement();
  if (op->getNumResults() == 0 || !isTile(op->getResult(0))) {
    SmallVector<Value> made = emitPiece(ctx, op, *plan, Group{SmallVector<TileIndex>(pack), {}});
    ArrayRef<Value> words = made;
    for (auto [result, registers] : llvm::zip(op->getResults(), plan->results)) {
      Value value = elementOf(ctx, words, registers, 0, result.getType());
      ctx.scalars[result] = isa<PointerType>(result.getType()) ? intToPointer(b, value) : value;
      words = words.drop_front(static_cast<size_t>(registers.count));
    }
    return;
  }
  Grouping grouping = groupingOf(shapeOf(op->getResult(0)), pack);
  SmallVector<Buffer> buffers;
  for (Value result : op->getResults())
    buffers.push_back(allocateFor(ctx, result));
  auto store = [&](ArrayRef<TileIndex> tileIndices) {
    Group group = groupAt(ctx, grouping, pack, tileIndices[0]);
    SmallVector<Value> made = emitPiece(ctx, op, *plan, group);
    ArrayRef<Value> words = made;
    for (auto [result, registers, buffer] : llvm::zip(op->getResults(), plan->results, buffers)) {
      Type element = getElementTypeOrSelf(result.getType());
      if (isa<VectorType>(registers.type) && group.run)
        storeChunk(ctx, buffer, fromRegister(b, words[0], element), *group.run);
      else
        for (int64_t i = 0, count = llvm::product_of(grouping.taken); i < count; ++i)
          storeChunk(ctx, buffer, elementOf(ctx, words, registers, i, element), group.elements[i]);
      words = words.drop_front(static_cast<size_t>(registers.count));
    }
  };
  emitLoops(ctx, loopsOver(grouping.groups, -1, 1), store, -1);
  for (auto [result, buffer] : llvm::zip(op->getResults(), buffers))
    ctx.buffers[result] = buffer;
}

} // namespace tilewright::cpu
