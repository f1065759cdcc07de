// Prints matrix instructions. The name has the shape, which follows from the formats; the registers follow from the shape:
//     ptx.wgmma %da, %db, %c... {n = 64, bf16, bf16, f32}   asm "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, ...}, $64, $65,
//     1, ..."
#include "codegen/ptx/asm.h"
#include "gpu/cost_model/thresholds.h"
#include "gpu/machine/ptx.h"
#include "gpu/machine/ptx_attributes.h"
#include "ir/refusal.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::ptx_print {

// ---- matrix instructions

static int64_t depthOf(ptx::Format format) {
  switch (format) {
  case ptx::Format::tf32: return 8;
  case ptx::Format::f16:
  case ptx::Format::bf16: return 16;
  default: return 32;
  }
}

static std::string formats(ptx::Format d, ptx::Format a, ptx::Format b) {
  return "." + ptx::stringifyFormat(d).str() + "." + ptx::stringifyFormat(a).str() + "." + ptx::stringifyFormat(b).str();
}

/// True if the GPU has an mma.sync of this format. `deep`: of 32 bytes along K, with 16 rows.
static bool hasMma(ptx::Format a, bool deep, const GpuTarget &target) {
  if (isFp8(a)) return target.fp8Mma;
  if (a == ptx::Format::tf32) return target.tf32Mma;
  if (a == ptx::Format::bf16) return target.bf16Mma;
  return target.deepMma || !deep;
}

/// The number of registers of A decides the shape: "m16n8k16" (4), "m16n8k8" (2), "m8n8k16" (1).
static std::string mmaShape(ptx::MmaOp op) {
  int64_t registers = op.getA().size(), depth = depthOf(op.getAFormat());
  return std::string(registers == 1 ? "m8" : "m16") + "n8k" + std::to_string(registers == 4 ? depth : depth / 2);
}

static LogicalResult lower(ptx::MmaOp op, PrintContext &at) {
  ptx::Format a = op.getAFormat(), c = op.getCFormat();
  if (failed(need(op, at, hasMma(a, op.getA().size() == 4, at.target)))) return failure();
  if (depthOf(a) != depthOf(op.getBFormat()) || op.getC().getTypes() != op.getD().getTypes())
    return bug(op, "the operands of an mma do not match");
  Asm code(at);
  SmallVector<std::string> names[4]; // d a b c
  for (Value value : op.getD())
    names[0].push_back(code.out(value.getType()));
  int64_t part = 1;
  for (ValueRange values : {ValueRange(op.getA()), ValueRange(op.getB()), ValueRange(op.getC())}) {
    for (Value value : values)
      names[part].push_back(code.in(value));
    ++part;
  }
  std::string text =
      "mma.sync.aligned." + mmaShape(op) + ".row.col" + formats(c, a, op.getBFormat()) + "." + ptx::stringifyFormat(c).str() + " ";
  for (ArrayRef<std::string> list : names)
    text += (text.back() == ' ' ? "" : ", ") + braces(list, true);
  replace(op, code.emit(text + ";", Effect::together));
  return success();
}

/// ".kind::mxf8f6f4.block_scale.scale_vec::1X" and the like.
static std::string kindOf(ptx::ScaledMmaOp op) {
  if (!op.getVector()) return ".kind::f8f6f4";
  return std::string(op.getK() == 32 ? ".kind::mxf8f6f4" : ".kind::mxf4nvf4") +
         ".block_scale.scale_vec::" + std::to_string(op.getVector()) + "X";
}

/// The scales of each operand are a register, and the byte and the thread in which they are.
static LogicalResult lower(ptx::ScaledMmaOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.scaledMma))) return failure();
  if (op.getScales().size() != (op.getVector() ? 2U : 0U)) return bug(op, "it has a register of scales for each operand, or none");
  Asm code(at);
  SmallVector<std::string> names[4]; // d a b c
  for (Value value : op.getD())
    names[0].push_back(code.out(value.getType()));
  for (auto [part, values] : llvm::enumerate(SmallVector<ValueRange>{op.getA(), op.getB(), op.getC()}))
    for (Value value : values)
      names[part + 1].push_back(code.in(value));
  std::string text = "mma.sync.aligned.m16n8k" + std::to_string(op.getK()) + ".row.col" + kindOf(op) +
                     formats(ptx::Format::f32, op.getAFormat(), op.getBFormat()) + ".f32" +
                     (op.getVector() ? "." + ptx::stringifyFormat(op.getScaleFormat()).str() : "") + " ";
  for (ArrayRef<std::string> list : names)
    text += (text.back() == ' ' ? "" : ", ") + braces(list, true);
  std::array<std::pair<uint32_t, uint32_t>, 2> selectors = {{{op.getAByte(), op.getAThread()}, {op.getBByte(), op.getBThread()}}};
  for (auto [scale, selector] : llvm::zip(op.getScales(), selectors))
    text += ", {" + code.in(scale) + "}, {" + std::to_string(selector.first) + ", " + std::to_string(selector.second) + "}";
  replace(op, code.emit(text + ";", Effect::together));
  return success();
}

static LogicalResult lower(ptx::WgmmaFenceOp op, PrintContext &at) {
  return failed(need(op, at, at.target.wgmma)) ? failure() : plain(op, at, "wgmma.fence.sync.aligned;");
}
static LogicalResult lower(ptx::WgmmaCommitOp op, PrintContext &at) {
  return failed(need(op, at, at.target.wgmma)) ? failure() : plain(op, at, "wgmma.commit_group.sync.aligned;");
}

/// True if the only use of this MMA is another MMA that adds to its result, with only side-effect-free operations between the two. An A
/// operand in registers would have to be available earlier.
static bool isChained(ptx::WgmmaOp op) {
  if (op.getD().front().use_empty()) return false;
  auto next = dyn_cast<ptx::WgmmaOp>(*op.getD().front().user_begin());
  if (!next || next->getBlock() != op->getBlock() || next.getUseC() || next.getA().size() != 1 || !llvm::equal(next.getC(), op.getD()))
    return false;
  for (Value value : op.getD())
    if (!value.hasOneUse()) return false;
  for (Operation *between = op->getNextNode(); between != next; between = between->getNextNode())
    if (!isMemoryEffectFree(between)) return false;
  return true;
}

/// One instruction with the accumulators `d`. The descriptors are followed by scale-d (a predicate, 1, or 0 for a new sum), scale-a and
/// scale-b (only for floats), trans-a (only for descriptors) and trans-b (only for 16 bits).
static std::string wgmmaText(ptx::WgmmaOp op, bool fresh, ArrayRef<std::string> d, Asm &code) {
  ptx::Format a = op.getAFormat();
  SmallVector<std::string> registers;
  for (Value value : op.getA())
    registers.push_back(code.in(value));
  std::string b = code.in(op.getB());
  std::string tail = fresh ? "0" : op.getUseC() ? code.in(op.getUseC()) : "1";
  if (a != ptx::Format::s8 && a != ptx::Format::u8) tail += ", 1, 1";
  if (a == ptx::Format::f16 || a == ptx::Format::bf16) {
    if (registers.size() == 1) tail += op.getATransposed() ? ", 1" : ", 0";
    tail += op.getBTransposed() ? ", 1" : ", 0";
  }
  return "wgmma.mma_async.sync.aligned.m64n" + std::to_string(op.getN()) + "k" + std::to_string(depthOf(a)) +
         formats(op.getCFormat(), a, op.getBFormat()) + " " + braces(d, true) + ", " + braces(registers) + ", " + b + ", " + tail + ";";
}

/// One branch around all instructions. With a predicate for each, ptxas would make a branch for each, with fences of its own. Both paths
/// need a fence after the branch, or ptxas serializes the MMAs (C7520).
static std::string branchAround(const std::string &text, int64_t warps) {
  constexpr int64_t threadsOfWarp = 32;
  return "{ .reg .pred skip; .reg .b32 thread; mov.u32 thread, %tid.x; setp.ge.u32 skip, thread, " + std::to_string(warps * threadsOfWarp) +
         "; @skip bra after;\n\twgmma.fence.sync.aligned;\n\t" + text + "\n\tafter: }\n\twgmma.fence.sync.aligned;";
}

/// The accumulators are updated in place: each output is tied to its input. MMAs that add to one sum are one piece of assembly, at the
/// position of the last. Each piece names up to 128 registers, which accounts for most of LLVM's compile time for an MMA.
static LogicalResult lower(ptx::WgmmaOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.wgmma))) return failure();
  if (isChained(op)) return success();
  SmallVector<ptx::WgmmaOp> chain = {op}; // MMAs that this one adds to and that are not printed yet
  while (auto before = chain.back().getC().front().getDefiningOp<ptx::WgmmaOp>())
    chain.push_back(before);
  ptx::WgmmaOp first = chain.back();
  Asm code(at);
  SmallVector<std::string> d;
  for (Value value : op.getD())
    d.push_back(code.out(value.getType()));
  bool fresh = first.getUseC() && matchPattern(first.getUseC(), m_Zero());
  if (!fresh)
    for (auto [index, value] : llvm::enumerate(first.getC()))
      code.tie(value, index);
  std::string text;
  for (ptx::WgmmaOp each : llvm::reverse(chain))
    text += (text.empty() ? "" : "\n\t") + wgmmaText(each, fresh && each == first, d, code);
  if (std::optional<uint32_t> warps = op.getPartialWarps()) text = branchAround(text, *warps);
  replace(op, code.emit(text, Effect::mma));
  for (ptx::WgmmaOp each : ArrayRef(chain).drop_front())
    each->erase();
  return success();
}

/// A store to shared memory whose predicate depends on values: ptxas computes them first, and does not move the store. The store never
/// executes, because the number of SMs is never 0, but ptxas cannot know that.
static std::string schedulingBarrierText(ArrayRef<std::string> values, const std::string &smCount) {
  std::string text = "{ .reg .pred never; .reg .b32 bits; mov.b32 bits, " + values.front() + "; ";
  for (const std::string &value : values.drop_front())
    text += "or.b32 bits, bits, " + value + "; ";
  return text + "setp.eq.s32 never, " + smCount +
         ", 0; setp.eq.and.b32 never, bits, 0x7fa00001, never; @never st.shared.b32 [bits], bits; } ";
}

/// The accumulators pass through the wait, although it does not name them, so that no use moves above it. It names some or all of the
/// values that must be computed before it.
static LogicalResult lower(ptx::WgmmaWaitOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.wgmma))) return failure();
  Asm code(at);
  SmallVector<std::string> names;
  for (Value value : op.getResults())
    names.push_back(code.out(value.getType()));
  for (auto [index, value] : llvm::enumerate(op.getValues()))
    code.tie(value, index);
  std::string text;
  if (int64_t computed = op.getComputeBeforeWait()) {
    Asm count(at);
    std::string result = count.out(IntegerType::get(op.getContext(), 32));
    std::string smCount = code.in(count.emit("mov.u32 " + result + ", %nsmid;", Effect::none).front());
    int64_t step = op.getNamesAll() ? 1 : std::max<int64_t>(1, computed / gpu::namedBeforeWait);
    ArrayRef<std::string> last = ArrayRef(names).take_back(static_cast<size_t>(computed));
    ValueRange operands = ValueRange(op.getValues()).take_back(last.size());
    SmallVector<std::string> values;
    for (int64_t i = computed - 1; i >= 0; i -= step)
      if (operands[static_cast<size_t>(i)].getType().isF32()) values.push_back(last[static_cast<size_t>(i)]);
    if (!values.empty()) text += schedulingBarrierText(values, smCount);
  }
  replace(op, code.emit(text + "wgmma.wait_group.sync.aligned " + std::to_string(op.getPending()) + ";", Effect::writes));
  return success();
}

static LogicalResult lower(ptx::MaxRegistersOp op, PrintContext &at) {
  int64_t count = op.getCount();
  if (failed(need(op, at, at.target.setmaxnreg))) return failure();
  return plain(op, at,
               std::string("setmaxnreg.") + (op.getIncrease() ? "inc" : "dec") + ".sync.aligned.u32 " + std::to_string(count) + ";");
}

LogicalResult printMatrix(Operation *op, PrintContext &at) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ptx::MmaOp, ptx::ScaledMmaOp, ptx::WgmmaFenceOp, ptx::WgmmaCommitOp, ptx::WgmmaOp, ptx::WgmmaWaitOp, ptx::MaxRegistersOp>(
          [&](auto concrete) { return lower(concrete, at); })
      .Default([&](Operation *) { return printTensor(op, at); });
}

} // namespace tilewright::ptx_print
