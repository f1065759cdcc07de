// The interface of the CPU lowering to LLVM: each operation that becomes a machine vector instruction is a plain function here. Only
// emit.cpp includes the LLVM dialect. Loops are scf with i64 induction variables, arithmetic is arith on scalars and 1-D vectors, and
// memory is !llvm.ptr.
#pragma once

#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright::cpu {

using mlir::ImplicitLocOpBuilder;
using mlir::Type;
using mlir::Value;
using mlir::ValueRange;

/// Sets the builder's source location for the lifetime of this object.
class LocationGuard {
public:
  LocationGuard(ImplicitLocOpBuilder &b, mlir::Location location) : b(b), before(b.getLoc()) { b.setLoc(location); }
  ~LocationGuard() { b.setLoc(before); }
  LocationGuard(const LocationGuard &) = delete;
  LocationGuard &operator=(const LocationGuard &) = delete;

private:
  ImplicitLocOpBuilder &b;
  mlir::Location before;
};

Type pointerType(mlir::MLIRContext *context);
/// vector<lanes x element>, or `element` itself for one lane. Pointers become i64 in vectors.
Type vectorOf(Type element, int64_t lanes);
int64_t lanesOf(Type type);

Value constantInt(ImplicitLocOpBuilder &b, Type type, int64_t value);                        // i1..i64 scalar or vector of them
Value constantFloat(ImplicitLocOpBuilder &b, Type type, double value);                       // float scalar or vector of them
Value constantIndex(ImplicitLocOpBuilder &b, int64_t value);                                 // i64
Value constantVector(ImplicitLocOpBuilder &b, Type element, llvm::ArrayRef<int64_t> values); // of integers
/// 0, step, 2 * step, ... of an integer type.
Value iota(ImplicitLocOpBuilder &b, Type element, int64_t lanes, int64_t step);
Value splat(ImplicitLocOpBuilder &b, Value scalar, int64_t lanes);
Value extractLane(ImplicitLocOpBuilder &b, Value vector, int64_t lane);
Value insertLane(ImplicitLocOpBuilder &b, Value vector, Value scalar, int64_t lane);
/// Selects lanes of `first` and `second` by `mask`; lanes of `second` are numbered after those of `first`.
Value shuffle(ImplicitLocOpBuilder &b, Value first, Value second, llvm::ArrayRef<int32_t> mask);
/// Reinterprets the bits as another type of equal size; the number of lanes may change.
Value reinterpret(ImplicitLocOpBuilder &b, Type type, Value value);

/// base + index * bytes.
Value pointerAt(ImplicitLocOpBuilder &b, Value base, Value index, int64_t bytes);
Value pointerAtConstant(ImplicitLocOpBuilder &b, Value base, int64_t bytes);
Value pointerToInt(ImplicitLocOpBuilder &b, Value pointer);
Value intToPointer(ImplicitLocOpBuilder &b, Value integer);
Value load(ImplicitLocOpBuilder &b, Type type, Value pointer, int64_t alignment);
void store(ImplicitLocOpBuilder &b, Value value, Value pointer, int64_t alignment, bool nonTemporal);
/// Lanes with a false mask bit are not accessed and return `other`.
Value maskedLoad(ImplicitLocOpBuilder &b, Type type, Value pointer, Value mask, Value other, int64_t alignment);
void maskedStore(ImplicitLocOpBuilder &b, Value value, Value pointer, Value mask, int64_t alignment);
/// Each lane has its own address (vector of i64). `mask` may be null.
Value gather(ImplicitLocOpBuilder &b, Type type, Value addresses, Value mask, Value other, int64_t alignment);
void scatter(ImplicitLocOpBuilder &b, Value value, Value addresses, Value mask, int64_t alignment);

Value fma(ImplicitLocOpBuilder &b, Value x, Value y, Value z); // x * y + z, rounded once (floats); x * y + z for integers
Value callIntrinsic(ImplicitLocOpBuilder &b, llvm::StringRef name, Type result, ValueRange operands);
/// Calls a C function, which is declared at module level on first use.
Value callFunction(ImplicitLocOpBuilder &b, llvm::StringRef name, Type result, ValueRange operands); // result null: void, returns null
/// Returns the address of a constant, zero-terminated string.
Value constantText(ImplicitLocOpBuilder &b, llvm::StringRef text);
/// Emits assembly (x86's in AT&T syntax) with LLVM's constraints; one value per entry of `results`.
llvm::SmallVector<Value> inlineAssembly(ImplicitLocOpBuilder &b, llvm::StringRef text, llvm::StringRef constraints, mlir::TypeRange results,
                                        ValueRange operands, bool hasEffects);
void memoryFence(ImplicitLocOpBuilder &b);

} // namespace tilewright::cpu
