// Prints each instruction of the kernel. LLVM IR cannot express a warp's view of memory and of its threads, so most instructions are
// inline assembly whose operands are the registers:
//     ptx.load_shared %a if %p {offset = 16 : i32} -> f32, f32
// becomes
//     asm "@$3 ld.shared.v2.b32 {$0, $1}, [$2+16];", "=f,=f,r,b,~{memory}"(%a, %p)
// Where LLVM has an intrinsic that it understands (thread ids, shuffles), the intrinsic is used, so that LLVM can analyze the values.
// Each function below prints one operation, with the rule that makes the PTX correct.
#include "codegen/ptx/print.h"

#include "codegen/ptx/asm.h"
#include "gpu/machine/ptx.h"
#include "gpu/machine/ptx_attributes.h"
#include "ir/float_range.h"
#include "ir/refusal.h"
#include "ir/text_constant.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::ptx_print {

/// The value as 32-bit registers, and back; small values are in the low bits.
static SmallVector<Value> toI32(PrintContext &at, Value value) {
  int64_t bits = bitsOf(value.getType());
  if (bits == 64) return unpackBits(at, value, SmallVector<Type>(2, at.integer(32)));
  Value integer = at.bitcast(value, at.integer(bits));
  return {bits == 32 ? integer : LLVM::ZExtOp::create(at.b, at.integer(32), integer).getResult()};
}

static Value fromI32(PrintContext &at, ValueRange words, Type type) {
  int64_t bits = bitsOf(type);
  if (bits >= 32) return packBits(at, words, type);
  return at.bitcast(LLVM::TruncOp::create(at.b, at.integer(bits), words.front()), type);
}

// ---- place

/// A special register with values in [0, end): LLVM can then fold divisions and sign tests.
static Value special(PrintContext &at, StringRef name, int64_t end) {
  auto call =
      LLVM::CallIntrinsicOp::create(at.b, at.integer(32), at.b.getStringAttr(("llvm.nvvm.read.ptx.sreg." + name).str()), ValueRange{});
  auto range = LLVM::ConstantRangeAttr::get(at.b.getContext(), APInt(32, 0), APInt(32, static_cast<uint64_t>(end)));
  call.setResAttrsAttr(at.b.getArrayAttr(at.b.getDictionaryAttr(NamedAttribute(at.b.getStringAttr("llvm.range"), range))));
  return call.getResult(0);
}

static Value threadId(PrintContext &at) {
  auto kernel = at.function->getAttrOfType<ptx::KernelAttr>(ptx::kernelName);
  return special(at, "tid.x", kernel ? kernel.getThreads() : 1024);
}

static constexpr StringLiteral axes[] = {"x", "y", "z"};
static constexpr int64_t gridLimits[] = {gpu::maxGridX, gpu::maxGridYZ, gpu::maxGridYZ};

static LogicalResult lower(ptx::ThreadIdOp op, PrintContext &at) {
  replace(op, threadId(at));
  return success();
}

/// ptxas cannot see that thread_id / 32 is uniform in a warp. After a shuffle it can, and uses uniform registers.
static LogicalResult lower(ptx::WarpIdOp op, PrintContext &at) {
  Value own = LLVM::LShrOp::create(at.b, threadId(at), at.i32(5));
  replace(op, at.intrinsic("llvm.nvvm.shfl.sync.idx.i32", at.integer(32), {at.i32(-1), own, at.i32(0), at.i32(31)}));
  return success();
}

static LogicalResult lower(ptx::LaneIdOp op, PrintContext &at) {
  replace(op, LLVM::AndOp::create(at.b, threadId(at), at.i32(31)).getResult());
  return success();
}

static LogicalResult lower(ptx::BlockIdOp op, PrintContext &at) {
  replace(op, special(at, ("ctaid." + axes[op.getAxis()]).str(), gridLimits[op.getAxis()]));
  return success();
}

static LogicalResult lower(ptx::BlockCountOp op, PrintContext &at) {
  replace(op, special(at, ("nctaid." + axes[op.getAxis()]).str(), gridLimits[op.getAxis()] + 1));
  return success();
}

static LogicalResult lower(ptx::ClusterRankOp op, PrintContext &at) {
  replace(op, at.target.clusters ? special(at, "cluster.ctarank", 16) : at.i32(0));
  return success();
}

/// The launch sets the size, so the symbol is external and has no size. It is aligned for the widest swizzle pattern.
static LogicalResult lower(ptx::SharedBaseOp op, PrintContext &at) {
  static constexpr StringLiteral name = "shared_memory";
  if (!at.module.lookupSymbol(name)) {
    OpBuilder::InsertionGuard guard(at.b);
    at.b.setInsertionPointToStart(at.module.getBody());
    LLVM::GlobalOp::create(at.b, LLVM::LLVMArrayType::get(at.integer(8), 0), /*isConstant=*/false, LLVM::Linkage::External, name,
                           Attribute(),
                           /*alignment=*/gpu::swizzleAlignment, /*addrSpace=*/3);
  }
  Value address = LLVM::AddressOfOp::create(at.b, LLVM::LLVMPointerType::get(at.b.getContext(), 3), name);
  replace(op, LLVM::PtrToIntOp::create(at.b, at.integer(32), address).getResult());
  return success();
}

/// elect.sync selects a lane, with a predicate that is known to be uniform. Older GPUs use lane 0.
static LogicalResult lower(ptx::ElectOp op, PrintContext &at) {
  if (!at.target.elect) {
    Value lane = LLVM::AndOp::create(at.b, threadId(at), at.i32(31));
    replace(op, LLVM::ICmpOp::create(at.b, LLVM::ICmpPredicate::eq, lane, at.i32(0)).getResult());
    return success();
  }
  Type pair = LLVM::LLVMStructType::getLiteral(at.b.getContext(), {at.integer(32), at.integer(1)});
  Value both = at.intrinsic("llvm.nvvm.elect.sync", pair, at.i32(-1));
  replace(op, LLVM::ExtractValueOp::create(at.b, both, 1).getResult());
  return success();
}

// ---- the threads of a warp and of a block. All 32 lanes take part, so the mask is full.

/// The last operand clamps the lane number: at most 31 for idx, bfly and down, at least 0 for up.
static LogicalResult lower(ptx::ShuffleOp op, PrintContext &at) {
  std::string name = "llvm.nvvm.shfl.sync." + ptx::stringifyShuffle(op.getKind()).str() + ".i32";
  Value clamp = at.i32(op.getKind() == ptx::Shuffle::up ? 0 : 31);
  SmallVector<Value> words;
  for (Value word : toI32(at, op.getValue()))
    words.push_back(at.intrinsic(name, at.integer(32), {at.i32(-1), word, op.getLane(), clamp}));
  replace(op, fromI32(at, words, op.getResult().getType()));
  return success();
}

static LogicalResult lower(ptx::ReduxOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.redux))) return failure();
  std::string name = "llvm.nvvm.redux.sync." + ptx::stringifyRedux(op.getKind()).str();
  replace(op, at.intrinsic(name, at.integer(32), {op.getValue(), at.i32(-1)}));
  return success();
}

static LogicalResult lower(ptx::BallotOp op, PrintContext &at) {
  replace(op, at.intrinsic("llvm.nvvm.vote.ballot.sync", at.integer(32), {at.i32(-1), op.getPredicate()}));
  return success();
}

static LogicalResult lower(ptx::MatchAnyOp op, PrintContext &at) {
  replace(op, at.intrinsic("llvm.nvvm.match.any.sync.i32", at.integer(32), {at.i32(-1), op.getValue()}));
  return success();
}

/// Barrier numbers are constants where possible: with a register, ptxas reserves all sixteen barriers.
static LogicalResult barrier(Operation *op, PrintContext &at, StringRef name, int64_t id, int64_t threads) {
  std::string text = name.str() + " " + std::to_string(id);
  if (threads) text += ", " + std::to_string(threads);
  return plain(op, at, text + ";");
}

static LogicalResult lower(ptx::BarrierOp op, PrintContext &at) {
  if (op.getPerWarpGroup()) {
    Asm code(at);
    std::string group = op.getWarp() ? "shr.u32 id, " + code.in(op.getWarp()) + ", 2;" : "mov.u32 id, %tid.x; shr.u32 id, id, 7;";
    code.emit("{ .reg .b32 id; " + group + " add.u32 id, id, " + std::to_string(op.getId()) + "; bar.sync id, " +
                  std::to_string(op.getThreads()) + "; }",
              Effect::writes);
    replace(op, {});
    return success();
  }
  return barrier(op, at, "bar.sync", op.getId(), op.getThreads());
}
static LogicalResult lower(ptx::BarrierArriveOp op, PrintContext &at) {
  return barrier(op, at, "bar.arrive", op.getId(), op.getThreads());
}
static LogicalResult lower(ptx::WarpBarrierOp op, PrintContext &at) {
  return plain(op, at, "bar.warp.sync 0xffffffff;");
}
static LogicalResult lower(ptx::ClusterArriveOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.clusters))) return failure();
  return plain(op, at, std::string("barrier.cluster.arrive") + (op.getRelaxed() ? ".relaxed" : "") + ".aligned;");
}
static LogicalResult lower(ptx::ClusterWaitOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.clusters))) return failure();
  return plain(op, at, "barrier.cluster.wait.aligned;");
}

// ---- arithmetic

/// "NAME $0, $1, ...;" for a value that depends only on its operands.
static Value compute(PrintContext &at, const std::string &name, Type type, ValueRange operands) {
  Asm code(at);
  std::string text = name + " " + code.out(type);
  for (Value operand : operands)
    text += ", " + code.in(operand);
  return code.emit(text + ";", Effect::none).front();
}

/// LLVM knows these operations, and folds them.
static std::string roundingIntrinsic(ptx::Unit kind) {
  switch (kind) {
  case ptx::Unit::floor: return "llvm.floor";
  case ptx::Unit::ceil: return "llvm.ceil";
  case ptx::Unit::trunc: return "llvm.trunc";
  case ptx::Unit::rint: return "llvm.rint";
  default: return "";
  }
}

/// Without .ftz, unless requested, to keep denormals. For f64 only 1/sqrt is an approximation; the others are correctly rounded.
static LogicalResult lower(ptx::SpecialOp op, PrintContext &at) {
  Type type = op.getValue().getType();
  std::string name = ptx::stringifyUnit(op.getKind()).str();
  if (std::string intrinsic = roundingIntrinsic(op.getKind()); !intrinsic.empty() && (type.isF32() || type.isF64())) {
    replace(op, at.intrinsic(intrinsic, type, op.getValue()));
    return success();
  }
  if (type.isF64()) {
    if (op.getKind() == ptx::Unit::rsqrt)
      name = "rsqrt.approx.f64";
    else if (op.getKind() == ptx::Unit::rcp)
      name = "rcp.rn.f64";
    else if (op.getKind() == ptx::Unit::sqrt || op.getKind() == ptx::Unit::sqrt_rn)
      name = "sqrt.rn.f64";
    else
      return bug(op, "there is no " + name + " of f64");
  } else if (type.isF32()) {
    name = op.getKind() == ptx::Unit::sqrt_rn ? "sqrt.rn.f32" : name + (op.getFlushes() ? ".approx.ftz.f32" : ".approx.f32");
  } else {
    return bug(op, "there is no " + name + " of " + mlirText(type));
  }
  replace(op, compute(at, name, type, op.getValue()));
  return success();
}

static LogicalResult lower(ptx::FmaOp op, PrintContext &at) {
  replace(op, at.intrinsic("llvm.fma", op.getType(), op.getOperands()));
  return success();
}

static LogicalResult lower(ptx::DivideOp op, PrintContext &at) {
  replace(op, compute(at, "div.full.f32", at.b.getF32Type(), {op.getLhs(), op.getRhs()}));
  return success();
}

static LogicalResult lower(ptx::PermuteOp op, PrintContext &at) {
  replace(op, at.intrinsic("llvm.nvvm.prmt", at.integer(32), {op.getA(), op.getB(), op.getSelector()}));
  return success();
}

/// Checks that all parts have one type, and have as many bits in total as the whole.
static LogicalResult checkParts(Operation *op, Type whole, TypeRange parts) {
  if (parts.empty() || !llvm::all_equal(parts) || bitsOf(parts.front()) * static_cast<int64_t>(parts.size()) != bitsOf(whole))
    return bug(op, "the parts do not have the bits of " + mlirText(whole));
  return success();
}

static LogicalResult lower(ptx::PackOp op, PrintContext &at) {
  if (failed(checkParts(op, op.getResult().getType(), op.getValues().getTypes()))) return failure();
  replace(op, packBits(at, op.getValues(), op.getResult().getType()));
  return success();
}

static LogicalResult lower(ptx::UnpackOp op, PrintContext &at) {
  if (failed(checkParts(op, op.getValue().getType(), op->getResultTypes()))) return failure();
  replace(op, unpackBits(at, op.getValue(), op->getResultTypes()));
  return success();
}

/// The first source becomes the upper half.
static LogicalResult lower(ptx::ConvertPairOp op, PrintContext &at) {
  ptx::Format format = op.getFormat();
  bool sixteen = format == ptx::Format::f16 || format == ptx::Format::bf16;
  if (!sixteen && !isFp8(format)) return bug(op, "no conversion of a pair to this format");
  if (isFp8(format) && failed(need(op, at, at.target.fp8Convert))) return failure();
  if (bitsOf(op.getResult().getType()) != (sixteen ? 32 : 16)) return bug(op, "the result has the bits of two values");
  std::string name = std::string("cvt.rn.") + (sixteen ? "" : "satfinite.") + ptx::stringifyFormat(format).str() + "x2.f32";
  replace(op, compute(at, name, op.getResult().getType(), {op.getHigh(), op.getLow()}));
  return success();
}

static LogicalResult lower(ptx::ConvertOp op, PrintContext &at) {
  Type from = op.getValue().getType(), to = op.getResult().getType();
  if (op.getFrom() == ptx::Format::f32 && op.getTo() == ptx::Format::tf32 && from.isF32() && to.isF32()) {
    if (failed(need(op, at, at.target.tf32Mma))) return failure();
    replace(op, at.bitcast(compute(at, "cvt.rna.tf32.f32", at.integer(32), op.getValue()), to));
    return success();
  }
  if (isFp8(op.getFrom()) && op.getTo() == ptx::Format::f16 && from.isInteger(16) && to.isInteger(32)) {
    if (failed(need(op, at, at.target.fp8Convert))) return failure();
    replace(op, compute(at, "cvt.rn.f16x2." + ptx::stringifyFormat(op.getFrom()).str() + "x2", to, op.getValue()));
    return success();
  }
  return bug(op, "there is no instruction for this conversion");
}

/// Floats to integers: saturated, and 0 for NaN. LLVM's operation is poison there, and converts to 8 bits by way of 16. The instruction
/// saturates to 8 bits as well. From f64 and to 64 bits it does not convert NaN to 0, which takes a select.
static Value convertToInteger(PrintContext &at, Value value, Type to, bool isSigned, bool checksNan) {
  int64_t bits = bitsOf(to), fromBits = bitsOf(value.getType());
  auto number = [&](double constant) -> Value {
    return LLVM::ConstantOp::create(at.b, value.getType(), at.b.getFloatAttr(value.getType(), constant));
  };
  if (bits == 1) // -1 or 0; 0 or 1
    return LLVM::FCmpOp::create(at.b, isSigned ? LLVM::FCmpPredicate::ole : LLVM::FCmpPredicate::oge, value, number(isSigned ? -1 : 1));
  Value result;
  if (bits >= 32) { // an intrinsic, which LLVM folds
    std::string name = fromBits == 64 ? "llvm.nvvm.d2" : "llvm.nvvm.f2";
    result = at.intrinsic(name + (isSigned ? "" : "u") + (bits == 64 ? "ll" : "i") + ".rz", to, value);
  } else {
    result =
        compute(at, std::string("cvt.rzi.") + (isSigned ? "s" : "u") + std::to_string(bits) + ".f" + std::to_string(fromBits), to, value);
  }
  if (!checksNan || (fromBits == 32 && bits < 64)) return result;
  Value isNumber = LLVM::FCmpOp::create(at.b, LLVM::FCmpPredicate::ord, value, value);
  return LLVM::SelectOp::create(at.b, isNumber, result, LLVM::ConstantOp::create(at.b, to, at.b.getIntegerAttr(to, 0)));
}

static void printConversion(Operation *op, PrintContext &at) {
  Value value = op->getOperand(0);
  Type to = op->getResult(0).getType();
  bool isSigned = isa<arith::FPToSIOp>(op);
  IntegerBounds bounds = neededBounds(floatRange(value), bitsOf(to), isSigned);
  if (!bounds.clampsLow && !bounds.clampsHigh && !bounds.checksNan) return; // LLVM's operation is right
  if (bitsOf(value.getType()) < 32) value = arith::ExtFOp::create(at.b, at.b.getF32Type(), value);
  replace(op, convertToInteger(at, value, to, isSigned, bounds.checksNan));
}

/// Text and constraints come from the kernel; LLVM checks them.
static LogicalResult lower(ptx::InlineOp op, PrintContext &at) {
  SmallVector<Type> types(op->getResultTypes());
  Type whole;
  if (types.size() == 1) whole = types.front();
  if (types.size() > 1) whole = LLVM::LLVMStructType::getLiteral(at.b.getContext(), types);
  auto call = LLVM::InlineAsmOp::create(at.b, whole ? TypeRange(whole) : TypeRange(), op.getOperands(), op.getText(), op.getConstraints(),
                                        !op.getPure(), false, LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
  bool memory = op.getConstraints().contains("~{memory}"); // declared by the kernel's constraints
  setEffect(call, op.getPure() ? (memory ? Effect::reads : Effect::none) : (memory ? Effect::writes : Effect::together));
  SmallVector<Value> values;
  for (int64_t i = 0, count = types.size(); i < count; ++i)
    values.push_back(count == 1 ? call.getResult(0) : LLVM::ExtractValueOp::create(at.b, call.getResult(0), i).getResult());
  replace(op, values);
  return success();
}

// ---- debugging

/// The address of `text`, with a terminating zero byte, in global memory.
static Value literal(PrintContext &at, StringRef text) {
  Value address = LLVM::AddressOfOp::create(at.b, textConstant(at.b, at.module, text, /*addressSpace=*/1));
  return LLVM::AddrSpaceCastOp::create(at.b, LLVM::LLVMPointerType::get(at.b.getContext()), address);
}

static LLVM::LLVMFuncOp declare(PrintContext &at, StringRef name, Type result, ArrayRef<Type> arguments) {
  if (auto known = at.module.lookupSymbol<LLVM::LLVMFuncOp>(name)) return known;
  OpBuilder::InsertionGuard guard(at.b);
  at.b.setInsertionPointToStart(at.module.getBody());
  return LLVM::LLVMFuncOp::create(at.b, name, LLVM::LLVMFunctionType::get(result, arguments));
}

/// vprintf reads the values from a buffer in which each is aligned to its size, like the members of a C struct.
static LogicalResult lower(ptx::PrintOp op, PrintContext &at) {
  Type pointer = LLVM::LLVMPointerType::get(at.b.getContext());
  Value buffer;
  if (op.getValues().empty()) {
    buffer = LLVM::ZeroOp::create(at.b, pointer);
  } else {
    SmallVector<Type> types(op.getValues().getTypes());
    for (Type type : types)
      if (!type.isInteger(32) && !type.isInteger(64) && !type.isF64())
        return bug(op, "a value of type " + mlirText(type) + " cannot be printed");
    Type record = LLVM::LLVMStructType::getLiteral(at.b.getContext(), types);
    {
      OpBuilder::InsertionGuard guard(at.b); // in the entry block; inside a loop, each iteration would use more stack
      at.b.setInsertionPointToStart(&at.function->getRegion(0).front());
      buffer = LLVM::AllocaOp::create(at.b, pointer, record, at.i32(1), /*alignment=*/8);
    }
    for (auto [index, value] : llvm::enumerate(op.getValues())) {
      SmallVector<LLVM::GEPArg> path = {0, static_cast<int32_t>(index)};
      LLVM::StoreOp::create(at.b, value, LLVM::GEPOp::create(at.b, pointer, record, buffer, path));
    }
  }
  LLVM::LLVMFuncOp print = declare(at, "vprintf", at.integer(32), {pointer, pointer});
  LLVM::CallOp::create(at.b, print, ValueRange{literal(at, op.getFormat()), buffer});
  replace(op, {});
  return success();
}

/// __assertfail(message, file, line, function, size of a character) prints with CTA and thread, and traps.
static LogicalResult lower(ptx::AssertFailOp op, PrintContext &at) {
  Type pointer = LLVM::LLVMPointerType::get(at.b.getContext());
  LLVM::LLVMFuncOp fail =
      declare(at, "__assertfail", LLVM::LLVMVoidType::get(at.b.getContext()), {pointer, pointer, at.integer(32), pointer, at.integer(64)});
  auto branch = scf::IfOp::create(at.b, op.getPredicate(), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(at.b);
  at.b.setInsertionPointToStart(branch.thenBlock());
  Value message = literal(at, op.getMessage()), file = literal(at, op.getFile()), function = literal(at, op.getFunction());
  LLVM::CallOp::create(at.b, fail, ValueRange{message, file, at.i32(op.getLine()), function, at.i64(1)});
  replace(op, {});
  return success();
}

static LogicalResult printOne(Operation *op, PrintContext &at) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ptx::ThreadIdOp, ptx::WarpIdOp, ptx::LaneIdOp, ptx::BlockIdOp, ptx::BlockCountOp, ptx::ClusterRankOp, ptx::SharedBaseOp,
            ptx::ElectOp, ptx::ShuffleOp, ptx::ReduxOp, ptx::BallotOp, ptx::MatchAnyOp, ptx::BarrierOp, ptx::BarrierArriveOp,
            ptx::WarpBarrierOp, ptx::ClusterArriveOp, ptx::ClusterWaitOp, ptx::SpecialOp, ptx::FmaOp, ptx::DivideOp, ptx::PermuteOp,
            ptx::PackOp, ptx::UnpackOp, ptx::ConvertPairOp, ptx::ConvertOp, ptx::InlineOp, ptx::PrintOp, ptx::AssertFailOp>(
          [&](auto concrete) { return lower(concrete, at); })
      .Case<arith::FPToSIOp, arith::FPToUIOp>([&](Operation *convert) {
        printConversion(convert, at);
        return success();
      })
      .Default([&](Operation *) { return printMemory(op, at); });
}

} // namespace tilewright::ptx_print

namespace tilewright {

LogicalResult lowerPtx(ModuleOp module, Operation *function, const GpuTarget &target) {
  auto kernel = function->getAttrOfType<ptx::KernelAttr>(ptx::kernelName);
  ptx_print::PrintContext at{ImplicitLocOpBuilder(function->getLoc(), module.getContext()), module, function, target,
                             kernel.getPairConversions()};
  SmallVector<Operation *> operations;
  function->walk([&](Operation *op) {
    if (isa_and_nonnull<ptx::PtxDialect>(op->getDialect()) || isa<arith::FPToSIOp, arith::FPToUIOp>(op)) operations.push_back(op);
  });
  for (Operation *op : operations) {
    at.b.setInsertionPoint(op);
    at.b.setLoc(op->getLoc());
    if (failed(ptx_print::printOne(op, at))) return failure();
  }
  if (at.pairsConversions) ptx_print::convertNextToZeros(at);
  return success();
}

} // namespace tilewright
