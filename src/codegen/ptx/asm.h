// Part of the lowering of the ptx dialect: inline assembly, built one operand at a time.
//     Asm code(at);
//     std::string to = code.out(f32), address = code.address(pointer, 16);
//     code.emit("ld.shared.b32 " + to + ", " + address + ";", Effect::reads)
// makes  asm "ld.shared.b32 $0, [$1+16];", "=f,r,~{memory}"(pointer).
#pragma once

#include "codegen/ptx/effect.h"
#include "gpu/machine/ptx.h"
#include "ir/refusal.h"
#include "support/gpu_hardware.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/StringExtras.h"

#include <string>

namespace tilewright::ptx_print {

using llvm::ArrayRef, llvm::LogicalResult, llvm::SmallVector, llvm::StringRef;
using mlir::ArrayAttr, mlir::ImplicitLocOpBuilder, mlir::ModuleOp, mlir::Operation, mlir::Type, mlir::TypeRange, mlir::Value,
    mlir::ValueRange;
namespace LLVM = mlir::LLVM;

/// The insertion point and the target of emitted code.
struct PrintContext {
  ImplicitLocOpBuilder b;
  ModuleOp module;
  Operation *function;
  const GpuTarget &target;
  bool pairsConversions; ///< packs pairs of values that become 16-bit floats (pairs.cpp), as ptx.kernel says

  Value i32(int64_t value) { return LLVM::ConstantOp::create(b, b.getI32Type(), b.getI32IntegerAttr(static_cast<int32_t>(value))); }
  Value i64(uint64_t value) { return LLVM::ConstantOp::create(b, b.getI64Type(), b.getI64IntegerAttr(static_cast<int64_t>(value))); }
  Value bitcast(Value value, Type type) { return value.getType() == type ? value : LLVM::BitcastOp::create(b, type, value).getResult(); }
  Type integer(int64_t bits) { return b.getIntegerType(static_cast<unsigned>(bits)); }
  Value intrinsic(StringRef name, Type result, ValueRange operands) {
    return LLVM::CallIntrinsicOp::create(b, result, b.getStringAttr(name), operands).getResult(0);
  }
};

inline int64_t bitsOf(Type type) {
  return type.isIntOrFloat() ? type.getIntOrFloatBitWidth() : 64;
}

/// One piece of inline assembly. Outputs are named before inputs; the names are "$0", "$1", ...
class Asm {
public:
  explicit Asm(PrintContext &at) : at(at) {}

  std::string out(Type type) {
    types.push_back(type);
    constraint("=" + letter(type));
    return name();
  }
  std::string in(Value value) {
    constraint(letter(value.getType()));
    operands.push_back(toRegister(value));
    return name();
  }
  /// Output number `index` starts as `value`: both share one register.
  void tie(Value value, int64_t index) {
    constraint(std::to_string(index));
    operands.push_back(toRegister(value));
    name();
  }
  /// The address operand "[$2+16]". Constants that are added to the base become part of it.
  std::string address(Value base, int64_t offset = 0) {
    while (auto add = base.getDefiningOp<mlir::arith::AddIOp>()) {
      llvm::APInt distance;
      if (!mlir::matchPattern(add.getRhs(), mlir::m_ConstantInt(&distance))) break;
      int64_t sum = offset + distance.getSExtValue();
      if (sum < -gpu::immediateOffsetRange || sum >= gpu::immediateOffsetRange) break;
      offset = sum;
      base = add.getLhs();
    }
    std::string text = "[" + in(base);
    if (offset) text += "+" + std::to_string(offset);
    return text + "]";
  }
  /// "@$5 ", or an empty string without a predicate.
  std::string when(Value predicate) { return predicate ? "@" + in(predicate) + " " : std::string(); }

  SmallVector<Value> emit(const std::string &text, Effect effect) {
    if (touchesMemory(effect)) constraint("~{memory}");
    SmallVector<Type> registers;
    for (Type type : types)
      registers.push_back(registerType(type));
    TypeRange result;
    Type whole;
    if (registers.size() == 1) whole = registers.front();
    if (registers.size() > 1) whole = LLVM::LLVMStructType::getLiteral(at.b.getContext(), registers);
    if (whole) result = TypeRange(whole);
    auto call = LLVM::InlineAsmOp::create(at.b, result, operands, text, constraints, staysInPlace(effect), false,
                                          LLVM::tailcallkind::TailCallKind::None, LLVM::AsmDialectAttr(), ArrayAttr());
    setEffect(call, effect);
    SmallVector<Value> values;
    for (auto [index, type] : llvm::enumerate(types)) {
      Value value = registers.size() == 1 ? call.getResult(0)
                                          : LLVM::ExtractValueOp::create(at.b, call.getResult(0), static_cast<int64_t>(index)).getResult();
      values.push_back(fromRegister(value, type));
    }
    return values;
  }

private:
  void constraint(const std::string &text) {
    if (!constraints.empty()) constraints += ",";
    constraints += text;
  }
  std::string name() { return "$" + std::to_string(count++); }

  /// PTX has no 8-bit registers, and moves the bits of 16-bit floats as integers.
  Type registerType(Type type) {
    if (type.isInteger(8)) return at.integer(16);
    return bitsOf(type) == 16 ? at.integer(16) : type;
  }
  static std::string letter(Type type) {
    if (type.isF32()) return "f";
    if (type.isF64()) return "d";
    switch (bitsOf(type)) {
    case 1: return "b";
    case 8:
    case 16: return "h";
    case 32: return "r";
    default: return "l";
    }
  }
  Value toRegister(Value value) {
    if (value.getType().isInteger(8)) return LLVM::ZExtOp::create(at.b, at.integer(16), value);
    return at.bitcast(value, registerType(value.getType()));
  }
  Value fromRegister(Value value, Type type) {
    if (type.isInteger(8)) return LLVM::TruncOp::create(at.b, type, value);
    return at.bitcast(value, type);
  }

  PrintContext &at;
  SmallVector<Type> types;
  SmallVector<Value> operands;
  std::string constraints;
  int64_t count = 0;
};

inline std::string braces(ArrayRef<std::string> names, bool always = false) {
  std::string text = llvm::join(names, ", ");
  return names.size() == 1 && !always ? text : "{" + text + "}";
}

inline LogicalResult need(Operation *op, const PrintContext &at, bool has) {
  if (has) return llvm::success();
  return refuse(op, Diag::gpuInstruction, {at.target.name, op->getName().getStringRef().str() + " in this form"});
}

inline void replace(Operation *op, ValueRange values) {
  op->replaceAllUsesWith(values);
  op->erase();
}

/// Emits an instruction without operands.
inline LogicalResult plain(Operation *op, PrintContext &at, const std::string &text) {
  Asm(at).emit(text, Effect::writes);
  replace(op, {});
  return llvm::success();
}

// ---- bits in words

/// Two 16-bit floats as a vector. Multiplications of both become one packed instruction, recursively as far as their operands are pairs.
Value pairOf(PrintContext &at, Value low, Value high, int64_t depth);
constexpr int64_t maxPairDepth = 4;
/// True if `pairOf` finds an instruction for both.
bool isSameComputation(Value low, Value high);
/// The packed conversion of two f32 values to 16 bits, if this kernel packs them: of both values, or of one value and a constant. Null
/// otherwise.
Value convertedPair(PrintContext &at, Value low, Value high);
/// Converts the remaining f32 values to 16 bits in pairs with a zero.
void convertNextToZeros(PrintContext &at);

/// Packs the bits of the values into one integer, the first value in the lowest bits.
inline Value packBits(PrintContext &at, ValueRange values, Type to) {
  if (values.size() == 1) return at.bitcast(values.front(), to);
  if (values.size() == 2 && isSameComputation(values[0], values[1])) return at.bitcast(pairOf(at, values[0], values[1], maxPairDepth), to);
  if (values.size() == 2)
    if (Value vector = convertedPair(at, values[0], values[1])) return at.bitcast(vector, to);
  Type element = values.front().getType();
  Value vector = LLVM::PoisonOp::create(at.b, mlir::VectorType::get({static_cast<int64_t>(values.size())}, element));
  for (auto [index, value] : llvm::enumerate(values))
    vector = LLVM::InsertElementOp::create(at.b, vector, value, at.i32(index));
  return at.bitcast(vector, to);
}

inline SmallVector<Value> unpackBits(PrintContext &at, Value value, TypeRange to) {
  if (to.size() == 1) return {at.bitcast(value, to.front())};
  Value vector = at.bitcast(value, mlir::VectorType::get({static_cast<int64_t>(to.size())}, to.front()));
  SmallVector<Value> parts;
  for (size_t index = 0; index < to.size(); ++index)
    parts.push_back(LLVM::ExtractElementOp::create(at.b, vector, at.i32(index)));
  return parts;
}

inline bool isFp8(ptx::Format format) {
  return format == ptx::Format::e4m3 || format == ptx::Format::e5m2;
}

/// The groups of operations, each in a file of its own. They report their failures.
LogicalResult printMemory(Operation *op, PrintContext &at);
LogicalResult printMatrix(Operation *op, PrintContext &at);
LogicalResult printTensor(Operation *op, PrintContext &at);

} // namespace tilewright::ptx_print
