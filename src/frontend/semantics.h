// The meaning of the language's operators: what type a result has, how operands are converted and broadcast, which operations come out.
// One Semantics serves one function; it holds the place where code is added and the place in the source that is at work.
#pragma once

#include "frontend/frontend.h"
#include "ir/tt.h"

#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tilewright {

/// What an expression of a kernel stands for. A constexpr carries no IR; a run-time value is a scalar, a tile or a block pointer.
struct Operand {
  enum class Kind : uint8_t { constant, runtime, tuple, descriptor, method };
  Kind kind = Kind::constant;
  Value constant;                  // constant; of a method, what is called
  mlir::Value handle;              // runtime, descriptor
  Type type;                       // runtime, descriptor
  std::vector<Operand> items;      // tuple: its members; descriptor: shape..., strides...; method: the object
  std::vector<std::string> fields; // of a namedtuple or an aggregate
  std::shared_ptr<Namespace> cls;  // the class of an instance, where it is known

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
  /// The compile-time value, a tuple of constants included.
  std::optional<Value> value() const;
  /// What `.type` of it is: the type of a run-time value; constants and tuples have types of their own.
  Type languageType() const;
  /// For messages: "int32", "<['64'], fp32>", "the constexpr 4", "a tuple of 2".
  std::string describe() const;
  /// The same, with the members of a tuple: where one tuple is told from another.
  std::string describeWhole() const;
};

using Maybe = std::optional<Operand>;

/// What the functions of one module share while they are emitted.
struct Unit {
  struct Function {
    tt::FuncOp op;
    Operand result; // handles are placeholders
    bool finished = false;
    int64_t operations = 0, levels = 0; // with those of the functions that it calls
  };
  mlir::MLIRContext *context;
  mlir::ModuleOp module;
  const KernelOptions *options;
  Diagnostics *diagnostics;
  llvm::StringMap<Function> functions;
  std::vector<SourceRange> calls;                          // the chain of calls that leads to the function at work
  int64_t operations = 0;                                  // in the kernel once its calls are inlined, about
  std::vector<std::shared_ptr<const ast::Module>> helpers; // the sources of helpers, which places in the code refer to
  bool anySize = false;                                    // tiles may have sizes that are no powers of two
};

class Semantics {
public:
  explicit Semantics(Unit &unit) : unit(unit), b(mlir::UnknownLoc::get(unit.context), unit.context) {}

  Unit &unit;
  mlir::ImplicitLocOpBuilder b;
  SourceRange where; // what is being emitted: place of errors and of new operations

  /// Moves to a place in the source.
  void at(SourceRange range);
  mlir::Location locationOf(SourceRange range);
  /// Reports at `where` (`failAt`: elsewhere) with the chain of calls as notes.
  std::nullopt_t fail(Diag id, std::initializer_list<std::string> args);
  std::nullopt_t failAt(SourceRange range, Diag id, std::initializer_list<std::string> args);
  /// Adds the chain of calls to an error that another part reported last.
  void addCallNotes();

  // ---- types and constants
  mlir::Type irType(const Type &type);
  /// A type that can be built: tile dimensions are powers of two (where the kernel does not ask for any size), not too many elements.
  bool checkShape(llvm::ArrayRef<int64_t> shape);
  Operand scalarConstant(const Value &number, Scalar type);
  Operand integerConstant(int64_t number, Scalar type) { return scalarConstant(Value::integer(number), type); }
  /// Numbers become scalars of the type they have on their own; run-time values stay.
  Maybe toTensor(const Operand &x);
  /// Numbers in (tuples of) constants become scalars: what a plain assignment does.
  Maybe decay(const Operand &x);

  // ---- shape
  Operand splat(const Operand &scalar, llvm::ArrayRef<int64_t> shape);
  Operand expandDims(const Operand &x, int64_t axis);
  Operand reshape(const Operand &x, llvm::ArrayRef<int64_t> shape, bool reorder);
  Maybe broadcastTo(const Operand &x, llvm::ArrayRef<int64_t> shape);
  bool broadcast(Operand &x, Operand &y);
  Operand item(const Operand &x); // of a tile with one element

  // ---- conversion
  Maybe cast(const Operand &x, const Type &type);
  Maybe castPointer(const Operand &x, const Type &type);                           // one of the two is a pointer
  Maybe castRounded(const Operand &x, const Type &type, llvm::StringRef rounding); // rounding "", "rtne", "rtz"
  Maybe bitcast(const Operand &x, const Type &type);
  /// As i1: a float or integer is compared with zero.
  Maybe truth(const Operand &x);
  /// `x` as what a store to memory of `type` writes: converted; of booleans the byte 0 or 1.
  Maybe castForMemory(const Operand &x, const Type &type);

  // ---- operators; operands are run-time values or numbers, at least one of them the former
  struct Promotion {
    bool leftPointer = false, rightPointer = false, arithmetic = true, division = false;
  };
  bool promote(Operand &x, Operand &y, Promotion how, llvm::StringRef what);
  /// Brings three operands to one type and shape. Numbers decide last, and together.
  bool promoteThree(Operand (&operands)[3], llvm::StringRef what);
  /// Whether the language follows the rules of 3.9.
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
  /// A number or a run-time value as one of this element type.
  Maybe asComputed(const Operand &given, Scalar scalar);
  Maybe divide(Operand x, Operand y);
  Maybe floorDivide(Operand x, Operand y);
  Maybe remainder(Operand x, Operand y);
  void checkOverflow(ast::BinaryOp op, const Operand &x, const Operand &y);
};

/// The type that a number has on its own: the first of int32, uint32, int64, uint64 that holds it; fp32 unless only fp64 can. Null for an
/// integer of more than 64 bits.
std::optional<Scalar> ownType(const Value &number);

/// A kernel's tuples and lists are short; a longer one is a mistake that would take the memory with it.
constexpr int64_t maxItems = 65536;
/// The operands in `x`, itself included.
int64_t countItems(const Operand &x);
/// All handles in `x`, in order.
void flatten(const Operand &x, llvm::SmallVectorImpl<mlir::Value> &handles);
/// `shape` with its handles replaced, front first; those used are taken off `handles`.
Operand rebuild(const Operand &shape, llvm::ArrayRef<mlir::Value> &handles);
/// Same types, constants and structure.
bool sameType(const Operand &x, const Operand &y);

} // namespace tilewright
