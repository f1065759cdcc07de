// Prints tcgen05 and cluster launch control.
//     ptx.tcgen05_mma f16 %d, %a, %b, %i, %p if %q : i64     asm "@$5 tcgen05.mma.cta_group::1.kind::f16 [$0], $1, $2, $3, $4;"
#include "codegen/ptx/asm.h"
#include "gpu/machine/ptx.h"
#include "ir/refusal.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::ptx_print {

static std::string group(uint32_t ctaGroup) {
  return ".cta_group::" + std::to_string(ctaGroup);
}

static LogicalResult needTcgen05(Operation *op, PrintContext &at, uint32_t ctaGroup = 1) {
  return need(op, at, at.target.tcgen05 && (ctaGroup == 1 || at.target.ctaPairs));
}

/// Emits one instruction and drops the operation, which has no results.
static LogicalResult finish(Operation *op, Asm &code, const std::string &text) {
  code.emit(text + ";", Effect::writes);
  replace(op, {});
  return success();
}

// ---- allocation

static LogicalResult lower(ptx::Tcgen05AllocOp op, PrintContext &at) {
  if (failed(needTcgen05(op, at, op.getCtaGroup()))) return failure();
  Asm code(at);
  std::string shared = code.address(op.getShared());
  return finish(op, code,
                "tcgen05.alloc" + group(op.getCtaGroup()) + ".sync.aligned.shared::cta.b32 " + shared + ", " +
                    std::to_string(op.getColumns()));
}

static LogicalResult lower(ptx::Tcgen05DeallocOp op, PrintContext &at) {
  if (failed(needTcgen05(op, at, op.getCtaGroup()))) return failure();
  Asm code(at);
  std::string address = code.in(op.getAddress());
  return finish(op, code,
                "tcgen05.dealloc" + group(op.getCtaGroup()) + ".sync.aligned.b32 " + address + ", " + std::to_string(op.getColumns()));
}

static LogicalResult lower(ptx::Tcgen05RelinquishOp op, PrintContext &at) {
  if (failed(needTcgen05(op, at, op.getCtaGroup()))) return failure();
  return plain(op, at, "tcgen05.relinquish_alloc_permit" + group(op.getCtaGroup()) + ".sync.aligned;");
}

// ---- registers

/// ".32x32b.x8": the repetitions follow from the number of registers.
static std::string shapeSuffix(ptx::TensorShape shape, size_t registers) {
  StringRef name = ptx::stringifyTensorShape(shape).drop_front();
  size_t perRepetition = shape == ptx::TensorShape::m16x256b ? 4 : shape == ptx::TensorShape::m16x128b ? 2 : 1;
  return "." + name.str() + ".x" + std::to_string(registers / perRepetition);
}

/// ", 16": the offset of the second half.
static std::string halfText(std::optional<uint32_t> offset) {
  return offset ? ", " + std::to_string(*offset) : "";
}

static LogicalResult lower(ptx::Tcgen05LdOp op, PrintContext &at) {
  if (failed(needTcgen05(op, at))) return failure();
  Asm code(at);
  SmallVector<std::string> names;
  for (Value value : op.getValues())
    names.push_back(code.out(value.getType()));
  std::string address = code.address(op.getAddress());
  std::string text = "tcgen05.ld.sync.aligned" + shapeSuffix(op.getShape(), names.size()) + (op.getPack() ? ".pack::16b" : "") + ".b32 " +
                     braces(names, true) + ", " + address + halfText(op.getHalfOffset()) + ";";
  replace(op, code.emit(text, Effect::writes));
  return success();
}

static LogicalResult lower(ptx::Tcgen05StOp op, PrintContext &at) {
  if (failed(needTcgen05(op, at))) return failure();
  Asm code(at);
  std::string address = code.address(op.getAddress());
  SmallVector<std::string> names;
  for (Value value : op.getValues())
    names.push_back(code.in(value));
  return finish(op, code,
                "tcgen05.st.sync.aligned" + shapeSuffix(op.getShape(), names.size()) + (op.getUnpack() ? ".unpack::16b" : "") + ".b32 " +
                    address + halfText(op.getHalfOffset()) + ", " + braces(names, true));
}

static LogicalResult lower(ptx::Tcgen05WaitOp op, PrintContext &at) {
  if (failed(needTcgen05(op, at))) return failure();
  return plain(op, at, "tcgen05.wait::" + ptx::stringifyTensorWait(op.getKind()).str() + ".sync.aligned;");
}

static LogicalResult lower(ptx::Tcgen05FenceOp op, PrintContext &at) {
  if (failed(needTcgen05(op, at))) return failure();
  return plain(op, at, "tcgen05.fence::" + ptx::stringifyTensorFence(op.getSide()).str() + "_thread_sync;");
}

// ---- asynchronous operations

static std::string copySuffix(ptx::TensorCopy shape) {
  switch (shape) {
  case ptx::TensorCopy::m64x128b_02_13: return ".64x128b.warpx2::02_13";
  case ptx::TensorCopy::m64x128b_01_23: return ".64x128b.warpx2::01_23";
  case ptx::TensorCopy::m32x128b: return ".32x128b.warpx4";
  default: return "." + ptx::stringifyTensorCopy(shape).drop_front().str();
  }
}

static LogicalResult lower(ptx::Tcgen05CpOp op, PrintContext &at) {
  if (failed(needTcgen05(op, at, op.getCtaGroup()))) return failure();
  Asm code(at);
  std::string address = code.address(op.getAddress()), matrix = code.in(op.getMatrix()), when = code.when(op.getPredicate());
  std::string source = op.getSource() ? ".b8x16." + ptx::stringifyTensorSource(*op.getSource()).str() : "";
  return finish(op, code,
                when + "tcgen05.cp" + group(op.getCtaGroup()) + copySuffix(op.getShape()) + source + " " + address + ", " + matrix);
}

static LogicalResult lower(ptx::Tcgen05ShiftOp op, PrintContext &at) {
  if (failed(needTcgen05(op, at, op.getCtaGroup()))) return failure();
  Asm code(at);
  std::string address = code.address(op.getAddress()), when = code.when(op.getPredicate());
  return finish(op, code, when + "tcgen05.shift" + group(op.getCtaGroup()) + ".down " + address);
}

/// PTX before 8.8 names the number of scales of a row, not the block.
static std::string scaleSuffix(ptx::Tcgen05MmaOp op) {
  if (!op.getScaleBlock()) return "";
  bool one = op.getKind() == ptx::MmaKind::mxf8f6f4;
  return std::string(".block_scale.scale_vec::") + (one ? "1X" : *op.getScaleBlock() == 32 ? "2X" : "4X");
}

static LogicalResult lower(ptx::Tcgen05MmaOp op, PrintContext &at) {
  if (failed(needTcgen05(op, at, op.getCtaGroup())) || failed(need(op, at, !op.getScaleA() || at.target.tcgen05BlockScales)) ||
      failed(need(op, at, op.getKind() != ptx::MmaKind::i8 || at.target.tcgen05Int8)) ||
      failed(need(op, at, !op.getScaleInputD() || at.target.tcgen05ScaleInput)))
    return failure();
  Asm code(at);
  std::string operands = code.address(op.getD());
  bool aInTensorMemory = op.getA().getType().isInteger(32);
  operands += ", " + (aInTensorMemory ? code.address(op.getA()) : code.in(op.getA()));
  operands += ", " + code.in(op.getB()) + ", " + code.in(op.getInstruction());
  if (op.getScaleA()) operands += ", " + code.address(op.getScaleA()) + ", " + code.address(op.getScaleB());
  SmallVector<std::string> disabled;
  for (Value word : op.getDisable())
    disabled.push_back(code.in(word));
  if (!disabled.empty()) operands += ", " + braces(disabled, true);
  operands += ", " + code.in(op.getAccumulate());
  if (op.getScaleInputD()) operands += ", " + std::to_string(*op.getScaleInputD());
  std::string when = code.when(op.getPredicate());
  return finish(op, code,
                when + "tcgen05.mma" + group(op.getCtaGroup()) + ".kind::" + ptx::stringifyMmaKind(op.getKind()).str() + scaleSuffix(op) +
                    " " + operands);
}

static LogicalResult lower(ptx::Tcgen05CommitOp op, PrintContext &at) {
  if (failed(needTcgen05(op, at, op.getCtaGroup()))) return failure();
  Asm code(at);
  std::string operands = code.address(op.getBarrier());
  if (op.getCtas()) operands += ", " + code.in(op.getCtas());
  std::string when = code.when(op.getPredicate());
  return finish(op, code,
                when + "tcgen05.commit" + group(op.getCtaGroup()) + ".mbarrier::arrive::one.shared::cluster" +
                    (op.getCtas() ? ".multicast::cluster" : "") + ".b64 " + operands);
}

// ---- cluster launch control

static LogicalResult lower(ptx::ClcTryCancelOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.launchControl && (!op.getMulticast() || at.target.launchMulticast)))) return failure();
  Asm code(at);
  std::string response = code.address(op.getResponse()), barrier = code.address(op.getBarrier()), when = code.when(op.getPredicate());
  return finish(op, code,
                when + "clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes" +
                    (op.getMulticast() ? ".multicast::cluster::all" : "") + ".b128 " + response + ", " + barrier);
}

/// The response is a register of 128 bits, which inline assembly cannot return.
static LogicalResult lower(ptx::ClcQueryOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.launchControl))) return failure();
  Asm code(at);
  Type word = IntegerType::get(op.getContext(), 32);
  std::string canceled = code.out(word), x = code.out(word), y = code.out(word), z = code.out(word);
  std::string response = code.address(op.getResponse());
  std::string text = "{ .reg .b128 response; .reg .pred canceled; ld.shared.b128 response, " + response +
                     "; clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 canceled, response; selp.b32 " + canceled +
                     ", 1, 0, canceled; mov.b32 " + x + ", 0; mov.b32 " + y + ", 0; mov.b32 " + z +
                     ", 0; @canceled clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {" + x + ", " + y + ", " + z +
                     ", _}, response; }";
  SmallVector<Value> values = code.emit(text, Effect::reads);
  values[0] = LLVM::TruncOp::create(at.b, at.integer(1), values[0]);
  replace(op, values);
  return success();
}

LogicalResult printTensor(Operation *op, PrintContext &at) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ptx::Tcgen05AllocOp, ptx::Tcgen05DeallocOp, ptx::Tcgen05RelinquishOp, ptx::Tcgen05LdOp, ptx::Tcgen05StOp, ptx::Tcgen05WaitOp,
            ptx::Tcgen05FenceOp, ptx::Tcgen05CpOp, ptx::Tcgen05ShiftOp, ptx::Tcgen05MmaOp, ptx::Tcgen05CommitOp, ptx::ClcTryCancelOp,
            ptx::ClcQueryOp>([&](auto concrete) { return lower(concrete, at); })
      .Default([](Operation *unknown) { return bug(unknown, "this instruction cannot be printed"); });
}

} // namespace tilewright::ptx_print
