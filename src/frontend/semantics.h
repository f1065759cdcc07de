// The meaning of the language's operators: result types, conversion and broadcast of operands, and the emitted operations. One Semantics
// serves one function. It holds the insertion point and the current source location.
#pragma once

#include "frontend/frontend.h"
#include "ir/tt.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright {

/// The value of an expression in a kernel. A constexpr has no IR. A run-time value is a scalar, a tile or a block pointer.
struct Operand {
  enum class Kind : uint8_t { constant, runtime, tuple, descriptor, method };
  Kind kind = Kind::constant;
  Value constant;                  // constant; for a method, the callee
  mlir::Value handle;              // runtime, descriptor
  Type type;                       // runtime, descriptor
  std::vector<Operand> items;      // tuple: its members; descriptor: shape..., strides...; method: the object
  std::vector<std::string> fields; // of a namedtuple or an aggregate
  std::shared_ptr<Namespace> cls;  // the class of an instance, if it is known

  static Operand of(Value value); // tuples and lists of constants become tuples
  static Operand of(mlir::Value handle, Type type);
  static Operand tuple(std::vector<Operand> items);
  static Operand instance(std::shared_ptr<Namespace> cls, std::vector<Operand> items);
  static Operand none() { return {}; }

  bool isConstant() const { return kind == Kind::constant; }
  bool isRuntime() const { return kind == Kind::runtime; }
  bool isTuple() const { return kind == Kind::tuple; }
  bool isAggregate() const { return isTuple() && cls && cls->classInfo()->isAggregate; }
  bool isNone() const { return isConstant() && constant.isNone(); }
  bool isNumber() const; // an int, float or bool constant
  bool isBlock() const { return isRuntime() && type.isBlock(); }
  bool isBlockPointer() const { return isRuntime() && type.isPointer() && type.element().isBlock(); }
  /// Returns the compile-time value, also for a tuple of constants.
  std::optional<Value> value() const;
  /// Returns the value of its attribute `.type`, for run-time values, constants and tuples.
  Type languageType() const;
  /// Describes the operand in messages: "int32", "<['64'], fp32>", "the constexpr 4", "a tuple of 2".
  std::string describe() const;
  /// The same, with the members of a tuple, to distinguish two tuples.
  std::string describeWhole() const;
};

using Maybe = std::optional<Operand>;

/// The state that the functions of one module share during emission.
struct Unit {
  struct Function {
    tt::FuncOp op;
    Operand result; // handles are placeholders
    bool finished = false;
    int64_t operations = 0, levels = 0; // including the functions that it calls
  };
  mlir::MLIRContext *context;
  mlir::ModuleOp module;
  const KernelOptions *options;
  Diagnostics *diagnostics;
  llvm::StringMap<Function> functions;
  std::vector<SourceRange> calls;                          // the chain of calls to the current function
  int64_t operations = 0;                                  // estimated, in the kernel after inlining
  std::vector<std::shared_ptr<const ast::Module>> helpers; // the sources of helpers, which locations refer to
  bool anySize = false;                                    // tiles may have sizes that are not powers of two
};

class Semantics {
public:
  explicit Semantics(Unit &unit) : unit(unit), b(mlir::UnknownLoc::get(unit.context), unit.context) {}

  Unit &unit;
  mlir::ImplicitLocOpBuilder b;
  SourceRange where; // the current source range, for errors and new operations

  /// Sets the current source range.
  void at(SourceRange range);
  mlir::Location locationOf(SourceRange range);
  /// Reports at `where` (`failAt`: elsewhere) with the chain of calls as notes.
  std::nullopt_t fail(Diag id, std::initializer_list<std::string> args);
  std::nullopt_t failAt(SourceRange range, Diag id, std::initializer_list<std::string> args);
  /// Adds the chain of calls to an error that another part reported last.
  void addCallNotes();

  // ---- types and constants
  mlir::Type irType(const Type &type);
  /// Checks that a tile may have this shape: powers of two (unless the kernel allows any size), and not too many elements.
  bool checkShape(llvm::ArrayRef<int64_t> shape);
  Operand scalarConstant(const Value &number, Scalar type);
  Operand integerConstant(int64_t number, Scalar type) { return scalarConstant(Value::integer(number), type); }
  /// Converts numbers to scalars of their own type. Run-time values stay.
  Maybe toTensor(const Operand &x);
  /// Converts numbers in (tuples of) constants to scalars, as a plain assignment does.
  Maybe decay(const Operand &x);

  // ---- shape
  Operand splat(const Operand &scalar, llvm::ArrayRef<int64_t> shape);
  Operand expandDims(const Operand &x, int64_t axis);
  Operand reshape(const Operand &x, llvm::ArrayRef<int64_t> shape, bool reorder);
  Maybe broadcastTo(const Operand &x, llvm::ArrayRef<int64_t> shape);
  bool broadcast(Operand &x, Operand &y);
  Operand item(const Operand &x); // the element of a tile with one element

  // ---- conversion
  Maybe cast(const Operand &x, const Type &type);
  Maybe castPointer(const Operand &x, const Type &type);                           // one of the two is a pointer
  Maybe castRounded(const Operand &x, const Type &type, llvm::StringRef rounding); // rounding "", "rtne", "rtz"
  Maybe bitcast(const Operand &x, const Type &type);
  /// Converts to i1: compares a float or integer with zero.
  Maybe truth(const Operand &x);
  /// Converts `x` to the value that a store to memory of `type` writes. A boolean becomes the byte 0 or 1.
  Maybe castForMemory(const Operand &x, const Type &type);

  // ---- operators; operands are run-time values or numbers, at least one of them a run-time value
  struct Promotion {
    bool leftPointer = false, rightPointer = false, arithmetic = true, division = false;
  };
  bool promote(Operand &x, Operand &y, Promotion how, llvm::StringRef what);
  /// Converts three operands to one type and shape. The numbers among them are promoted last, as a group.
  bool promoteThree(Operand (&operands)[3], llvm::StringRef what);
  /// True if the language follows the rules of 3.9.
  bool follows39() const { return unit.options->rules == LanguageRules::triton39; }
  Maybe binary(ast::BinaryOp op, const Operand &x, const Operand &y);
  Maybe unary(ast::UnaryOp op, const Operand &x);
  Maybe compare(ast::CompareOp op, const Operand &x, const Operand &y);
  Maybe logical(bool isAnd, const Operand &x, const Operand &y);
  Maybe add(Operand x, Operand y, bool checked);
  Maybe sub(Operand x, Operand y, bool checked);
  Maybe mul(Operand x, Operand y, bool checked);
  Maybe bitwise(ast::BinaryOp op, Operand x, Operand y);
  Maybe where_(Operand condition, Operand x, Operand y);

private:
  std::optional<Scalar> promotedScalar(Scalar x, bool xNumber, Scalar y, bool yNumber, bool division, llvm::StringRef what);
  /// Converts a number or a run-time value to this element type.
  Maybe asComputed(const Operand &given, Scalar scalar);
  Maybe divide(Operand x, Operand y);
  Maybe floorDivide(Operand x, Operand y);
  Maybe remainder(Operand x, Operand y);
  void checkOverflow(ast::BinaryOp op, const Operand &x, const Operand &y);
};

/// Returns the type of a number without other operands: the first of int32, uint32, int64, uint64 that can represent it; fp32, or fp64 if
/// necessary. Null for an integer of more than 64 bits.
std::optional<Scalar> ownType(const Value &number);

/// The maximum length of tuples and lists in a kernel. It bounds the compiler's use of memory.
constexpr int64_t maxItems = 65536;
/// Returns the number of operands in `x`, including itself.
int64_t countItems(const Operand &x);
/// Appends all handles in `x`, in order.
void flatten(const Operand &x, llvm::SmallVectorImpl<mlir::Value> &handles);
/// Returns `shape` with its handles replaced by the first of `handles`, and removes these from `handles`.
Operand rebuild(const Operand &shape, llvm::ArrayRef<mlir::Value> &handles);
/// True for equal types, constants and structure.
bool sameType(const Operand &x, const Operand &y);

} // namespace tilewright
