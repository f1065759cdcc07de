// How matrix instructions are spelled. The names say the shape, which follows from the formats; the registers follow from the shape:
//     ptx.wgmma %da, %db, %c... {n = 64, bf16, bf16, f32}   asm "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {$0, ...}, $64, $65,
//     1, ..."
#include "codegen/ptx/asm.h"
#include "gpu/machine/ptx.h"
#include "gpu/machine/ptx_attributes.h"
#include "ir/refusal.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::spell {

// ---- matrix instructions

static int64_t depthOf(ptx::Format format) {
  switch (format) {
  case ptx::Format::f64: return 4;
  case ptx::Format::tf32: return 8;
  case ptx::Format::f16:
  case ptx::Format::bf16: return 16;
  default: return 32;
  }
}

static std::string formats(ptx::Format d, ptx::Format a, ptx::Format b) {
  return "." + ptx::stringifyFormat(d).str() + "." + ptx::stringifyFormat(a).str() + "." + ptx::stringifyFormat(b).str();
}

static LogicalResult lower(ptx::MmaOp op, PrintContext &at) {
  ptx::Format a = op.getAFormat(), c = op.getCFormat();
  if (failed(need(op, at, isFp8(a) ? at.target.fp8Mma : a == ptx::Format::tf32 ? at.target.tf32Mma : at.target.bf16Mma))) return failure();
  if (depthOf(a) != depthOf(op.getBFormat()) || op.getC().getTypes() != op.getD().getTypes())
    return bug(op, "operands of a product belong together");
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
  std::string shape = a == ptx::Format::f64 ? "m8n8k4" : "m16n8k" + std::to_string(depthOf(a));
  std::string text = "mma.sync.aligned." + shape + ".row.col" + formats(c, a, op.getBFormat()) + "." + ptx::stringifyFormat(c).str() + " ";
  for (ArrayRef<std::string> list : names)
    text += (text.back() == ' ' ? "" : ", ") + braces(list, true);
  replace(op, code.emit(text + ";", Effect::together));
  return success();
}

static LogicalResult lower(ptx::WgmmaFenceOp op, PrintContext &at) {
  return failed(need(op, at, at.target.wgmma)) ? failure() : plain(op, at, "wgmma.fence.sync.aligned;");
}
static LogicalResult lower(ptx::WgmmaCommitOp op, PrintContext &at) {
  return failed(need(op, at, at.target.wgmma)) ? failure() : plain(op, at, "wgmma.commit_group.sync.aligned;");
}

/// The count of columns is a multiple of 16 for 8-bit integers (from 32 on), and a multiple of 8 for all other types.
static LogicalResult checkWgmma(ptx::WgmmaOp op) {
  int64_t n = op.getN();
  ptx::Format a = op.getAFormat(), c = op.getCFormat();
  bool integer = a == ptx::Format::s8 || a == ptx::Format::u8;
  if (n % 8 || n < 8 || n > 256 || (integer && n > 24 && n % 16))
    return bug(op, "wgmma has no n " + std::to_string(n) + " for this format");
  int64_t accumulators = c == ptx::Format::f16 ? n / 4 : n / 2;
  if (static_cast<int64_t>(op.getC().size()) != accumulators || op.getC().getTypes() != op.getD().getTypes())
    return bug(op, "this wgmma has " + std::to_string(accumulators) + " accumulators");
  if (op.getA().size() != 4 && !(op.getA().size() == 1 && op.getA().front().getType().isInteger(64)))
    return bug(op, "a is a descriptor or four registers");
  bool sixteen = a == ptx::Format::f16 || a == ptx::Format::bf16;
  if ((op.getATransposed() || op.getBTransposed()) && !sixteen) return bug(op, "only 16-bit operands can be transposed");
  if (op.getATransposed() && op.getA().size() == 4) return bug(op, "registers cannot be transposed");
  return success();
}

/// Whether the only use of this product is another product that adds to its result, with only
/// scalars computed between the two. First operands in registers would have to be available earlier.
static bool goesOn(ptx::WgmmaOp op) {
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

/// One instruction, whose accumulators are named `d`. After the descriptors follow scale-d (a predicate, 1, or 0 for
/// a new sum), scale-a and scale-b (only for floats), trans-a (only for descriptors) and trans-b (only for 16 bits).
static std::string mlirText(ptx::WgmmaOp op, bool fresh, ArrayRef<std::string> d, Asm &code) {
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

/// One branch around all of it, since ptxas would make one of each predicate, with fences of its own: without one behind each way to a
/// product, ptxas lets each product wait for the one before (C7520).
static std::string isPartial(const std::string &text, int64_t warps) {
  constexpr int64_t threadsOfWarp = 32;
  return "{ .reg .pred others; .reg .b32 thread; mov.u32 thread, %tid.x; setp.ge.u32 others, thread, " +
         std::to_string(warps * threadsOfWarp) + "; @others bra behind;\n\twgmma.fence.sync.aligned;\n\t" + text +
         "\n\tbehind: }\n\twgmma.fence.sync.aligned;";
}

/// The accumulators are read and written in place: each output is tied to its input. Products that add to one sum are one piece of
/// assembly, at the place of the last: each names up to 128 registers, and that number accounts for most of a product's time in LLVM.
static LogicalResult lower(ptx::WgmmaOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.wgmma)) || failed(checkWgmma(op))) return failure();
  if (goesOn(op)) return success();
  SmallVector<ptx::WgmmaOp> chain = {op}; // products that this one adds to and that were not spelled yet
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
    text += (text.empty() ? "" : "\n\t") + mlirText(each, fresh && each == first, d, code);
  if (auto warps = op->getAttrOfType<IntegerAttr>(ptx::partialWarpsName)) text = isPartial(text, warps.getInt());
  replace(op, code.emit(text, Effect::product));
  for (ptx::WgmmaOp each : ArrayRef(chain).drop_front())
    each->erase();
  return success();
}

/// A store to shared memory whose predicate depends on values: ptxas computes them first, and leaves the store in
/// its place. The store never happens, because there are always multiprocessors, but ptxas cannot know how many.
static std::string emitSchedulingBarrier(ArrayRef<std::string> values, const std::string &multiprocessors) {
  std::string text = "{ .reg .pred never; .reg .b32 bits; mov.b32 bits, " + values.front() + "; ";
  for (const std::string &value : values.drop_front())
    text += "or.b32 bits, bits, " + value + "; ";
  return text + "setp.eq.s32 never, " + multiprocessors +
         ", 0; setp.eq.and.b32 never, bits, 0x7fa00001, never; @never st.shared.b32 [bits], bits; } ";
}

/// The accumulators pass through the instruction, although it does not name them: nothing that uses
/// them can move above it. It names a few, or all, of the values that must be computed before it.
static LogicalResult lower(ptx::WgmmaWaitOp op, PrintContext &at) {
  constexpr int64_t named = 8;
  if (failed(need(op, at, at.target.wgmma))) return failure();
  if (op.getValues().getTypes() != op.getResults().getTypes()) return bug(op, "what goes through a wait keeps its types");
  Asm code(at);
  SmallVector<std::string> names;
  for (Value value : op.getResults())
    names.push_back(code.out(value.getType()));
  for (auto [index, value] : llvm::enumerate(op.getValues()))
    code.tie(value, index);
  std::string text;
  if (auto computed = op->getAttrOfType<IntegerAttr>(ptx::computeBeforeWaitName)) {
    Asm count(at);
    std::string result = count.out(IntegerType::get(op.getContext(), 32));
    std::string multiprocessors = code.in(count.emit("mov.u32 " + result + ", %nsmid;", Effect::none).front());
    int64_t step = op->hasAttr(ptx::nameEveryValueName) ? 1 : std::max<int64_t>(1, computed.getInt() / named);
    SmallVector<std::string> values;
    for (size_t i = names.size(); i > names.size() - static_cast<size_t>(computed.getInt()); i -= static_cast<size_t>(step))
      if (op.getValues()[i - 1].getType().isF32()) values.push_back(names[i - 1]);
    if (!values.empty()) text += emitSchedulingBarrier(values, multiprocessors);
  }
  replace(op, code.emit(text + "wgmma.wait_group.sync.aligned " + std::to_string(op.getPending()) + ";", Effect::writes));
  return success();
}

static LogicalResult lower(ptx::MaxRegistersOp op, PrintContext &at) {
  int64_t count = op.getCount();
  if (failed(need(op, at, at.target.setmaxnreg))) return failure();
  if (count % 8 || count < 24 || count > 256)
    return bug(op, "setmaxnreg takes a multiple of 8 from 24 to 256, not " + std::to_string(count));
  return plain(op, at,
               std::string("setmaxnreg.") + (op.getIncrease() ? "inc" : "dec") + ".sync.aligned.u32 " + std::to_string(count) + ";");
}

LogicalResult printMatrix(Operation *op, PrintContext &at) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ptx::MmaOp, ptx::WgmmaFenceOp, ptx::WgmmaCommitOp, ptx::WgmmaOp, ptx::WgmmaWaitOp, ptx::MaxRegistersOp>(
          [&](auto concrete) { return lower(concrete, at); })
      .Default([](Operation *unknown) { return bug(unknown, "this instruction has no spelling"); });
}

} // namespace tilewright::spell
