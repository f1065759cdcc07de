#include "cpu/debug_variables.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/BinaryFormat/Dwarf.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

void declareVariables(Context &ctx, LLVM::LLVMFuncOp program, FuncOp source) {
  auto sourceLine = source.getLoc()->findInstanceOf<FileLineColLoc>();
  if (!sourceLine) return;
  MLIRContext *context = program.getContext();
  Builder b(context);
  llvm::StringRef path = sourceLine.getFilename().getValue();
  auto file = LLVM::DIFileAttr::get(context, path, "");
  auto unit =
      LLVM::DICompileUnitAttr::get(DistinctAttr::create(b.getUnitAttr()), llvm::dwarf::DW_LANG_C, file, b.getStringAttr("tilewright"),
                                   /*isOptimized=*/true, LLVM::DIEmissionKind::Full, LLVM::DINameTableKind::None);
  auto type = LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {});
  auto flags = LLVM::DISubprogramFlags::Definition | LLVM::DISubprogramFlags::Optimized;
  auto scope = LLVM::DISubprogramAttr::get(context, DistinctAttr::create(b.getUnitAttr()), unit, file, source.getNameAttr(),
                                           /*linkageName=*/StringAttr(), file, sourceLine.getLine(), sourceLine.getLine(), flags, type,
                                           /*retainedNodes=*/{}, /*annotations=*/{});
  program->setLoc(FusedLoc::get(context, {sourceLine}, scope));
  ctx.module->setLoc(FusedLoc::get(context, {ctx.module.getLoc()}, unit)); // the other functions belong to the same compile unit
}

/// Returns the debug scope; null if no variables are declared.
static LLVM::DISubprogramAttr scopeOf(Context &ctx) {
  Operation *program = ctx.arena.getParentBlock()->getParentOp();
  auto fused = program->getLoc()->findInstanceOf<FusedLocWith<LLVM::DISubprogramAttr>>();
  return fused ? fused.getMetadata() : LLVM::DISubprogramAttr();
}

bool namesVariables(Context &ctx) {
  return scopeOf(ctx) != nullptr;
}

//===------------------------------------------------------------------------------------------------------------------ types

static LLVM::DITypeAttr typeOf(Type type) {
  MLIRContext *context = type.getContext();
  auto basic = [&](const llvm::Twine &name, uint64_t bits, unsigned encoding) {
    return LLVM::DIBasicTypeAttr::get(context, llvm::dwarf::DW_TAG_base_type, name, bits, encoding);
  };
  if (auto pointer = dyn_cast<PointerType>(type))
    return LLVM::DIDerivedTypeAttr::get(context, llvm::dwarf::DW_TAG_pointer_type, StringAttr(), typeOf(pointer.getPointeeType()), 64, 0, 0,
                                        std::nullopt, LLVM::DINodeAttr());
  if (type.isInteger(1)) return basic("bool", 8, llvm::dwarf::DW_ATE_boolean);
  if (auto integer = dyn_cast<IntegerType>(type)) {
    uint64_t bits = std::max(integer.getWidth(), 8u);
    return basic("int" + llvm::Twine(bits), bits, llvm::dwarf::DW_ATE_signed);
  }
  uint64_t bits = type.getIntOrFloatBitWidth();
  // Debuggers know the IEEE formats; other formats are shown as bits.
  if (type.isF16() || type.isF32() || type.isF64()) return basic("float" + llvm::Twine(bits), bits, llvm::dwarf::DW_ATE_float);
  return basic(type.isBF16() ? "bfloat16_bits" : "float8_bits", bits, llvm::dwarf::DW_ATE_unsigned);
}

static LLVM::DITypeAttr arrayOf(Type element, llvm::ArrayRef<int64_t> shape) {
  MLIRContext *context = element.getContext();
  llvm::SmallVector<LLVM::DINodeAttr> ranges;
  uint64_t bits = 8 * static_cast<uint64_t>(elementBytes(element));
  for (int64_t extent : shape) {
    auto count = IntegerAttr::get(IntegerType::get(context, 64), extent);
    ranges.push_back(LLVM::DISubrangeAttr::get(context, count, {}, {}, {}));
    bits *= static_cast<uint64_t>(extent);
  }
  return LLVM::DICompositeTypeAttr::get(context, llvm::dwarf::DW_TAG_array_type, StringAttr(), LLVM::DIFileAttr(), 0, LLVM::DIScopeAttr(),
                                        typeOf(element), LLVM::DIFlags::Zero, bits, 0, LLVM::DIExpressionAttr(), LLVM::DIExpressionAttr(),
                                        LLVM::DIExpressionAttr(), LLVM::DIExpressionAttr(), ranges);
}

//===--------------------------------------------------------------------------------------------------------------- variables

/// Returns the name of the variable that a value defines; "" if it is not one of the kernel's own. Variables of inlined functions are
/// skipped: they would hide the kernel's variables of the same name.
static llvm::StringRef variableOf(Location location) {
  auto named = dyn_cast<NameLoc>(location);
  return named ? named.getName().getValue() : "";
}

namespace {
/// The location of a variable from here on: `value`, or the result of applying `operations` to it.
struct VariableLocation {
  Value value;
  LLVM::DITypeAttr type;
  llvm::SmallVector<LLVM::DIExpressionElemAttr, 2> operations;
};
} // namespace

static bool isRowMajor(llvm::ArrayRef<int64_t> strides, llvm::ArrayRef<int64_t> shape) {
  int64_t expected = 1;
  for (size_t d = shape.size(); d-- > 0; expected *= shape[d])
    if (shape[d] != 1 && strides[d] != expected) return false;
  return true;
}

/// Declares a value that is not stored as a whole, or not in row-major order.
static VariableLocation optimizedOut(Context &ctx, Type type) {
  LLVM::DITypeAttr of =
      isa<RankedTensorType>(type) ? arrayOf(getElementTypeOrSelf(type), cast<RankedTensorType>(type).getShape()) : typeOf(type);
  return {LLVM::PoisonOp::create(ctx.b, ctx.b.getI64Type()), of, {}};
}

/// Returns the byte offset of a tile in the arena; nullopt if the tile is elsewhere. An arena-relative location stays valid if LLVM folds
/// the address into the accesses.
static std::optional<uint64_t> offsetInArena(Context &ctx, const Buffer &buffer) {
  int64_t offset = buffer.offset * elementBytes(buffer.element);
  if (buffer.base == ctx.arena) return static_cast<uint64_t>(offset);
  auto sum = buffer.base.getDefiningOp<LLVM::GEPOp>();
  if (!sum || sum.getBase() != ctx.arena || !sum.getElemType().isInteger(8) || !sum.getDynamicIndices().empty()) return std::nullopt;
  return static_cast<uint64_t>(sum.getRawConstantIndices()[0] + offset);
}

static VariableLocation variableLocationOf(Context &ctx, Value value) {
  MLIRContext *context = value.getContext();
  if (!isTile(value)) {
    auto found = ctx.scalars.find(value);
    if (found == ctx.scalars.end()) return optimizedOut(ctx, value.getType());
    Value at = found->second;
    // LLVM has no 8-bit floats.
    if (auto number = dyn_cast<FloatType>(at.getType()); number && number.getWidth() == 8)
      at = arith::BitcastOp::create(ctx.b, ctx.b.getI8Type(), at);
    return {at, typeOf(value.getType()), {}};
  }
  auto found = ctx.buffers.find(value);
  auto shape = shapeOf(value);
  if (found == ctx.buffers.end() || !isRowMajor(found->second.strides, shape)) return optimizedOut(ctx, value.getType());
  std::optional<uint64_t> offset = offsetInArena(ctx, found->second);
  if (!offset) return optimizedOut(ctx, value.getType());
  VariableLocation at{ctx.arena, arrayOf(found->second.element, shape), {}};
  if (*offset) at.operations.push_back(LLVM::DIExpressionElemAttr::get(context, llvm::dwarf::DW_OP_plus_uconst, {*offset}));
  at.operations.push_back(LLVM::DIExpressionElemAttr::get(context, llvm::dwarf::DW_OP_deref, {}));
  return at;
}

static void note(Context &ctx, Location location, const VariableLocation &at, uint64_t argument) {
  LLVM::DISubprogramAttr scope = scopeOf(ctx);
  llvm::StringRef name = variableOf(location);
  auto sourceLine = location->findInstanceOf<FileLineColLoc>();
  if (!scope || name.empty() || !sourceLine) return;
  MLIRContext *context = location.getContext();
  // All assignments to a variable share one declaration, so its line does not matter.
  auto variable = LLVM::DILocalVariableAttr::get(scope, name, scope.getFile(), scope.getLine(), static_cast<unsigned>(argument), 0, at.type,
                                                 LLVM::DIFlags::Zero);
  LocationGuard guard(ctx.b, sourceLine);
  LLVM::DbgValueOp::create(ctx.b, at.value, variable, LLVM::DIExpressionAttr::get(context, at.operations));
}

static void noteValue(Context &ctx, Value value, Location location) {
  if (!variableOf(location).empty()) note(ctx, location, variableLocationOf(ctx, value), 0);
}

void noteArguments(Context &ctx, Block &block) {
  if (!scopeOf(ctx)) return;
  bool isKernel = isa<FuncOp>(block.getParentOp()) && block.isEntryBlock();
  for (BlockArgument argument : block.getArguments()) // the first iteration has not written these: they have no location yet
    if (!variableOf(argument.getLoc()).empty() && !ctx.firstIterations.contains(argument))
      note(ctx, argument.getLoc(), variableLocationOf(ctx, argument), isKernel ? argument.getArgNumber() + 1 : 0);
}

/// After a loop or a branch: the results hold the values that a loop carried, and the scratch memory of all other tiles inside is free
/// again. A variable gets one record, because instruction selection does not preserve the order of several.
static void leaveRegions(Context &ctx, Operation *op) {
  llvm::DenseSet<llvm::StringRef> recorded;
  if (auto loop = dyn_cast<scf::ForOp>(op))
    for (auto [carried, result] : llvm::zip(loop.getRegionIterArgs(), loop.getResults()))
      if (recorded.insert(variableOf(carried.getLoc())).second) noteValue(ctx, result, carried.getLoc());
  op->walk([&](Operation *inner) {
    if (inner == op || inner->getNumResults() != 1 || !ctx.buffers.count(inner->getResult(0))) return;
    llvm::StringRef name = variableOf(inner->getLoc());
    if (!name.empty() && recorded.insert(name).second) note(ctx, inner->getLoc(), optimizedOut(ctx, inner->getResult(0).getType()), 0);
  });
}

void noteVariables(Context &ctx, Operation *op) {
  if (!scopeOf(ctx)) return;
  if (op->getNumRegions() > 0 && isa<scf::ForOp, scf::IfOp, scf::WhileOp>(op)) return leaveRegions(ctx, op);
  // A tile that the next reduction will store is declared after that reduction.
  if (op->getNumResults() == 1 && !ctx.pending.count(op->getResult(0))) noteValue(ctx, op->getResult(0), op->getLoc());
  // A reduction stores tiles that it reads.
  if (isa<ReduceOp>(op))
    for (Value source : op->getOperands())
      if (Operation *made = source.getDefiningOp(); made && made->getNumResults() == 1 && ctx.buffers.count(source))
        noteValue(ctx, source, made->getLoc());
}

} // namespace tilewright::cpu
