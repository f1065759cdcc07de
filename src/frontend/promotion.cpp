// The operators. First, both operands are converted to one type, by rules close to NumPy's. A Python number takes the type of the other
// operand unless its kind is higher (bool < int < float). Then they are broadcast. The type then selects the operation.

#include "frontend/semantics.h"

#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

static llvm::StringRef symbol(ast::BinaryOp op) {
  static constexpr llvm::StringRef symbols[] = {"+", "-", "*", "@", "/", "//", "%", "**", "<<", ">>", "&", "|", "^"};
  return symbols[static_cast<size_t>(op)];
}
static llvm::StringRef symbol(ast::CompareOp op) {
  static constexpr llvm::StringRef symbols[] = {"==", "!=", "<", "<=", ">", ">=", "is", "is not", "in", "not in"};
  return symbols[static_cast<size_t>(op)];
}

static int kindOf(Scalar scalar) {
  if (scalar == Scalar::int1) return 0;
  return isFloat(scalar) ? 2 : 1;
}

// C's rule: the wider type, or the unsigned one of two types of one width.
static Scalar promotedInteger(Scalar x, Scalar y) {
  if (isSigned(x) == isSigned(y)) return bitWidth(x) > bitWidth(y) ? x : y;
  if (!isSigned(x)) return bitWidth(x) >= bitWidth(y) ? x : y;
  return bitWidth(y) >= bitWidth(x) ? y : x;
}

std::optional<Scalar> Semantics::promotedScalar(Scalar x, bool xNumber, Scalar y, bool yNumber, bool division, llvm::StringRef what) {
  auto halves = [](Scalar scalar) { return scalar == Scalar::fp16 || scalar == Scalar::bf16; };
  if (xNumber != yNumber) {
    Scalar number = xNumber ? x : y, tile = xNumber ? y : x;
    if (kindOf(number) <= kindOf(tile)) {
      if (!follows39()) return division && halves(tile) ? Scalar::fp32 : tile;
      x = y = tile;
    }
  }
  if (x == Scalar::fp64 || y == Scalar::fp64) return Scalar::fp64;
  bool narrowDivision = division && (follows39() ? isFloat(x) || isFloat(y) : x == Scalar::fp16 || y == Scalar::fp16);
  if (x == Scalar::fp32 || y == Scalar::fp32 || narrowDivision) return Scalar::fp32;
  if (x == Scalar::fp16 || y == Scalar::fp16) return Scalar::fp16;
  if (x == Scalar::bf16 && y == Scalar::bf16) return division ? Scalar::fp32 : Scalar::bf16;
  if (x == Scalar::bf16 || y == Scalar::bf16) return Scalar::fp32;
  if (isFp8(x) && isFp8(y)) return x == y ? x : Scalar::fp16;
  if (!isInteger(x) || !isInteger(y)) {
    fail(Diag::operandTypes, {what.str(), Type(x).str(), Type(y).str()});
    return std::nullopt;
  }
  if (division && isSigned(x) != isSigned(y)) {
    fail(Diag::mixedSignedness, {what.str(), Type(x).str(), Type(y).str()});
    return std::nullopt;
  }
  return promotedInteger(x, y);
}

// True if the integer type `scalar` can represent `number`.
static bool holds(Scalar scalar, const Value &number) {
  std::optional<Int> value = number.toInt();
  if (!value) return true;
  const Int one = 1;
  int64_t bits = bitWidth(scalar);
  if (isSigned(scalar)) return *value >= -(one << (bits - 1)) && *value < (one << (bits - 1));
  return *value >= 0 && *value < (one << bits);
}

Maybe Semantics::asComputed(const Operand &given, Scalar scalar) {
  if (!given.isNumber()) return cast(given, Type(scalar));
  if (isInteger(scalar) && !holds(scalar, given.constant))
    return fail(Diag::scalarRange, {given.constant.repr(), scalarName(scalar).str()});
  return scalarConstant(given.constant, scalar);
}

bool Semantics::promote(Operand &x, Operand &y, Promotion how, llvm::StringRef what) {
  if ((!x.isRuntime() && !x.isNumber()) || (!y.isRuntime() && !y.isNumber())) {
    fail(Diag::operandTypes, {what.str(), x.describe(), y.describe()});
    return false;
  }
  bool xNumber = x.isNumber(), yNumber = y.isNumber();
  Operand xGiven = x, yGiven = y;
  // The decision uses the number's own type. The constant is created once the type is known.
  auto typed = [&](Operand &operand) {
    if (!operand.isNumber()) return true;
    Maybe tensor = toTensor(operand);
    if (!tensor) return false;
    operand = *tensor;
    return true;
  };
  if (!typed(x) || !typed(y)) return false;
  Type xType = x.type.scalarType(), yType = y.type.scalarType();
  bool bad = false;
  for (int side = 0; side < 2; ++side) {
    const Type &self = side ? yType : xType, &other = side ? xType : yType;
    if (!self.isPointer()) continue;
    bad |= !(side ? how.rightPointer : how.leftPointer);
    bad |= other.isPointer() && self != other;
    bad |= other.isScalar() && isFloat(other.scalar());
  }
  if (bad || x.isBlockPointer() || y.isBlockPointer()) {
    fail(Diag::operandTypes, {what.str(), xGiven.describe(), yGiven.describe()});
    return false;
  }
  if (how.arithmetic && !xType.isPointer() && !yType.isPointer()) {
    std::optional<Scalar> scalar = promotedScalar(xType.scalar(), xNumber, yType.scalar(), yNumber, how.division, what);
    if (!scalar) return false;
    if (*scalar == Scalar::fp8e4b15 && what != "where") scalar = Scalar::fp16; // it has no arithmetic; fp16 represents all its values
    for (int side = 0; side < 2; ++side) {
      Operand &operand = side ? y : x;
      if (operand.type.scalarType() == Type(*scalar)) {
        const Operand &given = side ? yGiven : xGiven;
        if (given.isNumber() && isInteger(*scalar) && !holds(*scalar, given.constant))
          return fail(Diag::scalarRange, {given.constant.repr(), scalarName(*scalar).str()}), false;
        continue;
      }
      if ((side ? yNumber : xNumber) && operand.handle.use_empty()) operand.handle.getDefiningOp()->erase();
      Maybe converted = asComputed(side ? yGiven : xGiven, *scalar);
      if (!converted) return false;
      operand = *converted;
    }
  }
  return broadcast(x, y);
}

// With the rules of 3.8, promotes the operands pairwise, as tiles. With the rules of 3.9, finds one type for the tiles and one for the
// numbers, and promotes these two. Then the order of the operands does not matter.
bool Semantics::promoteThree(Operand (&operands)[3], llvm::StringRef what) {
  std::optional<Scalar> tiles, numbers;
  for (const Operand &each : operands) {
    bool isNumber = each.isNumber();
    std::optional<Scalar> own = isNumber ? ownType(each.constant) : std::optional<Scalar>();
    if (isNumber && !own) return fail(Diag::scalarRange, {each.constant.repr(), "64 bits"}), false;
    if (!isNumber && (!each.isRuntime() || !each.type.scalarType().isScalar()))
      return fail(Diag::operandType, {what.str(), each.describe()}), false;
    Scalar scalar = own ? *own : each.type.scalarType().scalar();
    std::optional<Scalar> &common = isNumber ? numbers : tiles;
    common = common ? promotedScalar(*common, isNumber, scalar, isNumber, false, what) : std::optional<Scalar>(scalar);
    if (!common) return false;
  }
  std::optional<Scalar> common = !numbers ? tiles : !tiles ? numbers : promotedScalar(*tiles, false, *numbers, true, false, what);
  if (!common) return false;
  if (*common == Scalar::fp8e4b15) common = Scalar::fp16; // as in promote
  for (Operand &each : operands) {
    Maybe converted = asComputed(each, *common);
    if (!converted) return false;
    each = *converted;
  }
  auto &[x, y, z] = operands;
  return broadcast(x, y) && broadcast(x, z) && broadcast(y, z);
}

static bool isOfLibdevice(const SourceRange &range) {
  return range.file && range.file->name() == "<prelude> libdevice";
}

// With debug on, an integer overflow is a run-time error: the operation is repeated in 64 bits and compared with the bounds. Integers in
// the library's mathematical functions may wrap around.
void Semantics::checkOverflow(ast::BinaryOp op, const Operand &x, const Operand &y) {
  Scalar scalar = x.type.scalarType().scalar();
  if (!unit.options->debug || !unit.options->sanitizeOverflow || bitWidth(scalar) >= 64 || isOfLibdevice(where)) return;
  Maybe wideX = cast(x, Type(Scalar::int64)), wideY = cast(y, Type(Scalar::int64));
  Maybe result = op == ast::BinaryOp::add   ? add(*wideX, *wideY, false)
                 : op == ast::BinaryOp::sub ? sub(*wideX, *wideY, false)
                                            : mul(*wideX, *wideY, false);
  int64_t bits = bitWidth(scalar);
  int64_t low = isSigned(scalar) ? -(int64_t(1) << (bits - 1)) : 0;
  int64_t high = isSigned(scalar) ? (int64_t(1) << (bits - 1)) - 1 : (int64_t(1) << bits) - 1;
  Maybe below = compare(ast::CompareOp::le, *result, integerConstant(high, Scalar::int64));
  Maybe above = compare(ast::CompareOp::ge, *result, integerConstant(low, Scalar::int64));
  Maybe fits = bitwise(ast::BinaryOp::bitand_, *below, *above);
  static constexpr llvm::StringRef names[] = {"add", "sub", "mul"};
  std::string message = scalarName(scalar).str() + " overflow detected for operation " + names[static_cast<size_t>(op)].str();
  tt::AssertOp::create(b, fits->handle, b.getStringAttr(message));
}

Maybe Semantics::add(Operand x, Operand y, bool checked) {
  if (!promote(x, y, {.leftPointer = true, .rightPointer = true}, "+")) return std::nullopt;
  if (x.type.scalarType().isPointer() && y.type.scalarType().isPointer())
    return fail(Diag::operandTypes, {"+", x.type.str(), y.type.str()});
  if (y.type.scalarType().isPointer()) std::swap(x, y);
  if (x.type.scalarType().isPointer()) {
    if (x.type.scalarType().element() == Type(Scalar::void_)) return fail(Diag::operandTypes, {"+", x.type.str(), y.type.str()});
    Scalar offset = y.type.scalar();
    // tt.addptr takes signed offsets, so an unsigned offset is zero-extended.
    if (!isSigned(offset) && bitWidth(offset) < 64) {
      Maybe wide = cast(y, Type(Scalar::int64));
      if (!wide) return std::nullopt;
      y = *wide;
    }
    return Operand::of(tt::AddPtrOp::create(b, x.handle.getType(), x.handle, y.handle).getResult(), x.type);
  }
  if (isFloat(x.type.scalar())) return Operand::of(arith::AddFOp::create(b, x.handle, y.handle).getResult(), x.type);
  if (checked) checkOverflow(ast::BinaryOp::add, x, y);
  return Operand::of(arith::AddIOp::create(b, x.handle, y.handle).getResult(), x.type);
}

Maybe Semantics::sub(Operand x, Operand y, bool checked) {
  if (!promote(x, y, {.leftPointer = true}, "-")) return std::nullopt;
  if (x.type.scalarType().isPointer()) {
    if (y.type.scalarType().isPointer()) return fail(Diag::operandTypes, {"-", x.type.str(), y.type.str()});
    Maybe negative = unary(ast::UnaryOp::minus, y);
    return negative ? add(x, *negative, false) : std::nullopt;
  }
  if (isFloat(x.type.scalar())) return Operand::of(arith::SubFOp::create(b, x.handle, y.handle).getResult(), x.type);
  if (checked) checkOverflow(ast::BinaryOp::sub, x, y);
  return Operand::of(arith::SubIOp::create(b, x.handle, y.handle).getResult(), x.type);
}

Maybe Semantics::mul(Operand x, Operand y, bool checked) {
  if (!promote(x, y, {}, "*")) return std::nullopt;
  if (isFloat(x.type.scalar())) return Operand::of(arith::MulFOp::create(b, x.handle, y.handle).getResult(), x.type);
  if (checked) checkOverflow(ast::BinaryOp::mul, x, y);
  return Operand::of(arith::MulIOp::create(b, x.handle, y.handle).getResult(), x.type);
}

Maybe Semantics::divide(Operand x, Operand y) {
  if (!promote(x, y, {.division = true}, "/")) return std::nullopt;
  if (!isFloat(x.type.scalar())) {
    Maybe left = cast(x, Type(Scalar::fp32)), right = cast(y, Type(Scalar::fp32));
    if (!left || !right) return std::nullopt;
    x = *left;
    y = *right;
  }
  return Operand::of(arith::DivFOp::create(b, x.handle, y.handle).getResult(), x.type);
}

Maybe Semantics::floorDivide(Operand x, Operand y) {
  if (!promote(x, y, {.division = true}, "//")) return std::nullopt;
  if (!isInteger(x.type.scalar())) return fail(Diag::operandTypes, {"//", x.type.str(), y.type.str()});
  if (isSigned(x.type.scalar())) return Operand::of(arith::DivSIOp::create(b, x.handle, y.handle).getResult(), x.type);
  return Operand::of(arith::DivUIOp::create(b, x.handle, y.handle).getResult(), x.type);
}

Maybe Semantics::remainder(Operand x, Operand y) {
  if (!promote(x, y, {.division = true}, "%")) return std::nullopt;
  if (isFloat(x.type.scalar())) return Operand::of(arith::RemFOp::create(b, x.handle, y.handle).getResult(), x.type);
  if (isSigned(x.type.scalar())) return Operand::of(arith::RemSIOp::create(b, x.handle, y.handle).getResult(), x.type);
  return Operand::of(arith::RemUIOp::create(b, x.handle, y.handle).getResult(), x.type);
}

Maybe Semantics::bitwise(ast::BinaryOp op, Operand x, Operand y) {
  // The type of the left operand decides if >> repeats the sign, not the common type. A number takes the type of the other operand.
  const Type &shifted = (x.isNumber() ? y : x).type;
  bool arithmetic = shifted.scalarType().isScalar() && isSigned(shifted.scalarType().scalar());
  if (!promote(x, y, {}, symbol(op))) return std::nullopt;
  if (!isInteger(x.type.scalar())) return fail(Diag::operandTypes, {symbol(op).str(), x.type.str(), y.type.str()});
  auto made = [&](auto operation) { return Operand::of(operation.getResult(), x.type); };
  switch (op) {
  case ast::BinaryOp::bitand_: return made(arith::AndIOp::create(b, x.handle, y.handle));
  case ast::BinaryOp::bitor_: return made(arith::OrIOp::create(b, x.handle, y.handle));
  case ast::BinaryOp::bitxor: return made(arith::XOrIOp::create(b, x.handle, y.handle));
  case ast::BinaryOp::lshift: return made(arith::ShLIOp::create(b, x.handle, y.handle));
  default: break;
  }
  if (arithmetic) return made(arith::ShRSIOp::create(b, x.handle, y.handle));
  return made(arith::ShRUIOp::create(b, x.handle, y.handle));
}

Maybe Semantics::binary(ast::BinaryOp op, const Operand &x, const Operand &y) {
  switch (op) {
  case ast::BinaryOp::add: return add(x, y, true);
  case ast::BinaryOp::sub: return sub(x, y, true);
  case ast::BinaryOp::mul: return mul(x, y, true);
  case ast::BinaryOp::div: return divide(x, y);
  case ast::BinaryOp::floordiv: return floorDivide(x, y);
  case ast::BinaryOp::mod: return remainder(x, y);
  case ast::BinaryOp::matmul: return fail(Diag::unsupportedSyntax, {"the operator '@'", "call tl.dot"});
  case ast::BinaryOp::pow: return fail(Diag::unsupportedSyntax, {"'**' with a run-time value", "call tl.exp2, tl.exp or libdevice.pow"});
  default: return bitwise(op, x, y);
  }
}

Maybe Semantics::unary(ast::UnaryOp op, const Operand &x) {
  Type scalar = x.type.scalarType();
  if (op == ast::UnaryOp::plus) return x;
  if (op == ast::UnaryOp::not_) {
    Maybe truth_ = truth(x);
    if (!truth_) return std::nullopt;
    return unary(ast::UnaryOp::invert, *truth_);
  }
  if (scalar.isPointer() || (op == ast::UnaryOp::invert && isFloat(scalar.scalar())))
    return fail(Diag::operandType, {op == ast::UnaryOp::minus ? "-" : "~", x.type.str()});
  if (op == ast::UnaryOp::minus && isFloat(scalar.scalar()) && !isFp8(scalar.scalar())) // a sign flip: 0 - 0.0 would be +0.0
    return Operand::of(arith::NegFOp::create(b, x.handle).getResult(), x.type);
  if (op == ast::UnaryOp::minus) return sub(scalarConstant(Value::integer(0), scalar.scalar()), x, true);
  Operand ones = scalarConstant(Value::integer(scalar.scalar() == Scalar::int1 ? 1 : -1), scalar.scalar());
  return bitwise(ast::BinaryOp::bitxor, x, ones);
}

Maybe Semantics::compare(ast::CompareOp op, const Operand &left, const Operand &right) {
  Operand x = left, y = right;
  bool equality = op == ast::CompareOp::eq || op == ast::CompareOp::ne;
  if (x.isRuntime() && y.isRuntime() && x.type.scalarType().isPointer() && y.type.scalarType().isPointer()) {
    Maybe leftAddress = cast(x, Type(Scalar::uint64)), rightAddress = cast(y, Type(Scalar::uint64)); // addresses compare as numbers
    if (!leftAddress || !rightAddress) return std::nullopt;
    x = *leftAddress;
    y = *rightAddress;
  }
  if (!promote(x, y, {}, symbol(op))) return std::nullopt;
  Scalar scalar = x.type.scalar();
  Type type = x.type.withElement(Type(Scalar::int1));
  size_t index = static_cast<size_t>(op);
  if (index > 5) return fail(Diag::unsupportedSyntax, {"'" + symbol(op).str() + "' with a run-time value", ""});
  if (isFloat(scalar)) {
    static constexpr arith::CmpFPredicate predicates[] = {arith::CmpFPredicate::OEQ, arith::CmpFPredicate::UNE, arith::CmpFPredicate::OLT,
                                                          arith::CmpFPredicate::OLE, arith::CmpFPredicate::OGT, arith::CmpFPredicate::OGE};
    return Operand::of(arith::CmpFOp::create(b, predicates[index], x.handle, y.handle).getResult(), type);
  }
  static constexpr arith::CmpIPredicate signedOnes[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,  arith::CmpIPredicate::slt,
                                                        arith::CmpIPredicate::sle, arith::CmpIPredicate::sgt, arith::CmpIPredicate::sge};
  static constexpr arith::CmpIPredicate unsignedOnes[] = {arith::CmpIPredicate::eq,  arith::CmpIPredicate::ne,  arith::CmpIPredicate::ult,
                                                          arith::CmpIPredicate::ule, arith::CmpIPredicate::ugt, arith::CmpIPredicate::uge};
  arith::CmpIPredicate predicate = (isSigned(scalar) || equality ? signedOnes : unsignedOnes)[index];
  return Operand::of(arith::CmpIOp::create(b, predicate, x.handle, y.handle).getResult(), type);
}

Maybe Semantics::logical(bool isAnd, const Operand &x, const Operand &y) {
  Maybe left = truth(x), right = truth(y);
  if (!left || !right) return std::nullopt;
  return bitwise(isAnd ? ast::BinaryOp::bitand_ : ast::BinaryOp::bitor_, *left, *right);
}

Maybe Semantics::where_(Operand condition, Operand x, Operand y) {
  Maybe truth_ = truth(condition);
  if (!truth_) return std::nullopt;
  condition = *truth_;
  if (!promote(x, y, {.leftPointer = true, .rightPointer = true}, "where")) return std::nullopt;
  if (x.type.scalarType() != y.type.scalarType()) return fail(Diag::operandTypes, {"where", x.type.str(), y.type.str()});
  if (condition.isBlock()) {
    if (!broadcast(condition, x) || !broadcast(x, y) || !broadcast(condition, x)) return std::nullopt;
  } else if (x.isBlock()) {
    // Broadcasts a scalar condition, as upstream's IR does, although arith.select would accept the scalar.
    if (!broadcast(condition, x)) return std::nullopt;
  }
  return Operand::of(arith::SelectOp::create(b, condition.handle, x.handle, y.handle).getResult(), x.type);
}

} // namespace tilewright
