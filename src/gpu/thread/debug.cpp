// A kernel's output (print, assert), and code that this compiler does not analyze: inline PTX, and functions mapped over tiles.
#include "gpu/thread/control_flow.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/math.h"
#include "ir/assembly.h"
#include "ir/location.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::gpu {

//===-------------------------------------------------------------------------------------------------------------- print

static std::string escaped(StringRef text) {
  std::string result;
  for (char c : text)
    result += c == '%' ? "%%" : std::string(1, c);
  return result;
}

/// A value as printf takes it (i32, i64 or f64), and its format.
static std::pair<Value, std::string> printable(ImplicitLocOpBuilder &b, Value value, Type element, bool isSigned, bool hex) {
  int64_t bits = value.getType().getIntOrFloatBitWidth();
  if (isa<tt::PointerType>(element)) return {value, "0x%llx"};
  if (hex) {
    std::string digits = "0x%0" + std::to_string((bits + 3) / 4);
    if (!value.getType().isInteger()) value = arith::BitcastOp::create(b, b.getIntegerType(static_cast<unsigned>(bits)), value);
    if (bits < 32) value = arith::ExtUIOp::create(b, b.getI32Type(), value);
    return {value, digits + (bits == 64 ? "llx" : "x")};
  }
  if (isa<FloatType>(value.getType()))
    return {value.getType().isF64() ? value : Value(arith::ExtFOp::create(b, b.getF64Type(), value)), "%f"};
  if (bits == 64) return {value, isSigned ? "%lld" : "%llu"};
  if (bits < 32) {
    Type extended = b.getI32Type();
    value = isSigned ? Value(arith::ExtSIOp::create(b, extended, value)) : Value(arith::ExtUIOp::create(b, extended, value));
  }
  return {value, isSigned ? "%d" : "%u"};
}

/// Prints one line per element, from the first thread that holds it: `pid (0, 1, 0) idx ( 7, 12) prefix: value`. A scalar is printed by
/// every thread.
static LogicalResult lowerPrint(ThreadContext &t, tt::PrintOp op) {
  SmallVector<Value> start;
  for (int32_t axis = 0; axis < 3; ++axis)
    start.push_back(programId(t, axis));
  std::string head = "pid (%u, %u, %u)", prefix = escaped(op.getPrefix());
  auto line = [&](Value printsHere, const std::string &format, ArrayRef<Value> values) {
    OpBuilder::InsertionGuard guard(t.b);
    if (printsHere) {
      auto branch = scf::IfOp::create(t.b, printsHere, /*withElseRegion=*/false);
      t.b.setInsertionPointToStart(branch.thenBlock());
    }
    SmallVector<Value> all(start);
    llvm::append_range(all, values);
    ptx::PrintOp::create(t.b, format + "\n", all);
  };
  if (op.getArgs().empty()) {
    line({}, head + prefix, {});
    return success();
  }
  for (auto [number, argument] : llvm::enumerate(op.getArgs())) {
    Type element = getElementTypeOrSelf(argument.getType());
    bool isSigned = number < op.getIsSigned().size() && op.getIsSigned()[number] > 0;
    std::string which = op.getArgs().size() > 1 ? "(operand " + std::to_string(number) + ") " : "";
    auto tile = dyn_cast<RankedTensorType>(argument.getType());
    ThreadValues values = t.get(argument);
    if (auto number8 = dyn_cast<FloatType>(element); number8 && number8.getWidth() == 8 && !op.getHex())
      values = upcastBytes(t, values, element);
    Layout layout;
    if (tile) layout = ttg::layoutOf(tile);
    Value printsHere = tile ? holdsFirstCopy(t, layout) : Value();
    for (auto [reg, value] : llvm::enumerate(values)) {
      SmallVector<Value> printed;
      SmallVector<std::string> indexFormats;
      for (int64_t dim = 0, innerElements = tile ? tile.getNumElements() : 1; tile && dim < tile.getRank(); ++dim) {
        int64_t size = tile.getDimSize(dim);
        innerElements /= size;
        Value coordinate = arith::ShRUIOp::create(t.b, flatIndex(t, layout, static_cast<int64_t>(reg)),
                                                  t.i32(llvm::Log2_64(static_cast<uint64_t>(innerElements))));
        printed.push_back(arith::AndIOp::create(t.b, coordinate, t.i32(size - 1)));
        int64_t width = std::to_string(size - 1).size();
        indexFormats.push_back("%" + (width > 1 ? std::to_string(width) : std::string()) + "u");
      }
      auto [shown, format] = printable(t.b, value, element, isSigned, op.getHex());
      printed.push_back(shown);
      line(printsHere, head + " idx (" + llvm::join(indexFormats, ", ") + ")" + prefix + which + format, printed);
    }
  }
  return success();
}

static LogicalResult lowerAssert(ThreadContext &t, tt::AssertOp op) {
  Value fails;
  for (Value condition : t.get(op.getCondition())) {
    Value one = arith::XOrIOp::create(t.b, condition, arith::ConstantOp::create(t.b, t.b.getBoolAttr(true)));
    fails = fails ? Value(arith::OrIOp::create(t.b, fails, one)) : one;
  }
  std::string file = "unknown";
  int64_t line = 0;
  if (FileLineColLoc location = locationOf(op.getLoc())) {
    file = location.getFilename().str();
    line = location.getLine();
  }
  ptx::AssertFailOp::create(t.b, op.getMessage(), file, op->getParentOfType<tt::FuncOp>().getName(), static_cast<uint32_t>(line), fails);
  return success();
}

//===------------------------------------------------------------------------------------------------------- foreign code

/// Each piece of inline assembly takes `packed_element` registers of each operand. Small elements are packed in words of 32 bits.
static LogicalResult lowerInlineAsm(ThreadContext &t, tt::ElementwiseInlineAsmOp op) {
  int64_t pack = op.getPackedElement();
  auto perWordOf = [&](Type type) {
    return std::min<int64_t>(pack, std::max<int64_t>(1, 32 / static_cast<int64_t>(type.getIntOrFloatBitWidth())));
  };
  auto wordOf = [&](Type type, int64_t perWord) -> Type {
    return perWord == 1 ? type : t.b.getIntegerType(static_cast<unsigned>(perWord) * type.getIntOrFloatBitWidth());
  };
  int64_t count = threadValueCount(op->getResult(0).getType());
  std::vector<ThreadValues> results(op->getNumResults());
  for (int64_t first = 0; first < count; first += pack) {
    SmallVector<Value> operands;
    for (Value argument : op.getArgs()) {
      // A tile with fewer elements than `packed_element` repeats them.
      const ThreadValues &parts = t.get(argument);
      Type type = parts.front().getType();
      int64_t perWord = perWordOf(type);
      for (int64_t i = 0; i < pack; i += perWord) {
        SmallVector<Value> values;
        for (int64_t k = 0; k < perWord; ++k)
          values.push_back(parts[static_cast<size_t>(first + i + k) % parts.size()]);
        operands.push_back(perWord == 1 ? values.front() : packed(t, values));
      }
    }
    SmallVector<Type> types;
    for (Type result : op->getResultTypes()) {
      Type type = scalarType(getElementTypeOrSelf(result));
      int64_t perWord = perWordOf(type);
      types.append(static_cast<size_t>(pack / perWord), wordOf(type, perWord));
    }
    SmallVector<Type> inputs(ValueRange(operands).getTypes());
    if (first == 0 && failed(checkAssembly(op, AssemblyKind::ptx, types, inputs))) return failure();
    auto code = ptx::InlineOp::create(t.b, types, op.getAsmString(), op.getConstraints(), op.getPure(), operands);
    size_t word = 0;
    for (auto [number, result] : llvm::enumerate(op->getResultTypes())) {
      Type type = scalarType(getElementTypeOrSelf(result));
      for (int64_t i = 0; i < pack; i += perWordOf(type))
        llvm::append_range(results[number], unpacked(t, code.getResult(static_cast<unsigned>(word++)), type));
      if (static_cast<int64_t>(results[number].size()) > count) results[number].resize(static_cast<size_t>(count));
    }
  }
  for (auto [result, values] : llvm::zip(op->getResults(), results))
    t.set(result, std::move(values));
  return success();
}

/// True if each `pack` registers of a thread hold adjacent elements.
static bool holdsGroups(const Layout &layout, int64_t pack) {
  ArrayRef<uint32_t> bases = layout.basesOf(Axis::reg);
  if (!llvm::isPowerOf2_64(uint64_t(pack)) || layout.registersPerThread() % pack != 0) return false;
  return llvm::all_of(llvm::enumerate(bases.take_front(llvm::Log2_64(uint64_t(pack)))),
                      [](auto basis) { return basis.value() == uint32_t(1) << basis.index(); });
}

static LogicalResult lowerMapElementwise(ThreadContext &t, tt::MapElementwiseOp op) {
  if (!llvm::hasSingleElement(op.getScalarOp())) return bug(op, "control flow in the mapped function was not structured");
  Block &block = op.getScalarOp().front();
  int64_t pack = op.getPack(), count = threadValueCount(op->getResult(0).getType());
  if (!holdsGroups(ttg::layoutOf(op->getResult(0).getType()), pack))
    return refuse(
        op, Diag::notOnGpus,
        {"a mapped function that takes more elements of a row than a thread holds", "use a larger tile, fewer warps, or a smaller pack"});
  std::vector<ThreadValues> results(op->getNumResults());
  for (int64_t first = 0; first < count; first += pack) {
    unsigned argument = 0;
    for (Value source : op.getSrcs())
      for (int64_t i = 0; i < pack; ++i)
        t.set(block.getArgument(argument++), {t.get(source)[static_cast<size_t>(first + i)]});
    Location location = t.b.getLoc();
    if (failed(lowerBlock(t, block))) return failure();
    t.b.setLoc(location);
    for (auto [index, value] : llvm::enumerate(block.getTerminator()->getOperands()))
      results[index / static_cast<size_t>(pack)].push_back(t.getScalar(value));
  }
  for (auto [result, values] : llvm::zip(op->getResults(), results))
    t.set(result, std::move(values));
  return success();
}

void addDebugLowerings(LoweringTable &table) {
  addLowerings<lowerPrint, lowerAssert, lowerInlineAsm, lowerMapElementwise>(table);
}

} // namespace tilewright::gpu
