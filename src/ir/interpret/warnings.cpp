// Warnings that NumPy would give. With TRITON_INTERPRET=1, upstream runs kernels on NumPy, and users find the first NaN of a program by its
// warnings:
//     x / y      where y has a zero        divide by zero encountered in divide
//     x - y      where both are infinite   invalid value encountered in subtract
// The CPU records such results in its floating-point status flags. For each watched operation, the interpreter clears, runs, and reads
// them.
#include "ir/interpret/program.h"

#include "llvm/ADT/StringSwitch.h"

#include <cfenv>
#include <cmath>

using namespace mlir;

namespace tilewright::interp {

/// Returns NumPy's name of the operation's function; empty if NumPy does not warn.
static StringRef numpyName(Operation *op) {
  StringRef name = op->getName().getStringRef();
  StringRef found = llvm::StringSwitch<StringRef>(name)
                        .Case("arith.addf", "add")
                        .Case("arith.subf", "subtract")
                        .Cases({"arith.mulf", "math.fma"}, "multiply")
                        .Cases({"arith.divf", "tt.precise_divf"}, "divide")
                        .Case("arith.remf", "fmod")
                        .Case("arith.truncf", "cast")
                        .Case("tt.precise_sqrt", "sqrt")
                        .Case("math.powf", "power")
                        .Default("");
  if (found.empty() && name.consume_front("math."))
    for (StringRef same : {"sqrt", "rsqrt", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh"})
      if (name == same) return same;
  return found;
}

static bool hasNan(const Program &program, Value value) {
  Format format = formatOf(value.getType());
  return llvm::any_of(program.get(value).elements, [&](uint64_t bits) { return std::isnan(decodeFloat(format, bits)); });
}

/// For a maximum or minimum that ignores NaN: true if a reduced line of the tile has only NaN.
static bool isOfNansAlone(Program &program, Operation *op) {
  auto reduce = dyn_cast<tt::ReduceOp>(op);
  if (!reduce || reduce->getNumResults() != 1 || !isa<FloatType>(getElementTypeOrSelf(reduce->getResult(0).getType()))) return false;
  Operation *combined = &reduce->getRegion(0).front().front();
  if (auto call = dyn_cast<tt::CallOp>(combined))
    if (auto function = program.module.lookupSymbol<tt::FuncOp>(call.getCallee())) combined = &function.getBody().front().front();
  StringRef name = combined->getName().getStringRef();
  return (name == "arith.maxnumf" || name == "arith.minnumf") && hasNan(program, reduce->getResult(0));
}

LogicalResult runWatched(Program &program, Operation *op, Meaning meaning) {
  StringRef name = numpyName(op);
  if (!name.empty()) std::feclearexcept(FE_ALL_EXCEPT);
  if (failed(meaning(program, op))) return failure();
  auto warn = [&](const Twine &text) {
    FileLineColLoc fileLoc = program.locationOf(op);
    program.options.onWarning(fileLoc ? fileLoc.getFilename().getValue() : "", fileLoc ? fileLoc.getLine() : 0, text.str());
  };
  if (isOfNansAlone(program, op)) warn("All-NaN slice encountered");
  int raised = name.empty() ? 0 : std::fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID);
  if (!raised) return success();
  if (name == "rsqrt") name = raised & FE_INVALID ? "sqrt" : "divide";
  auto isIn = [&](auto isKind) { return isKind(op) || (!program.callers.empty() && isKind(program.callers.back())); };
  if (isIn([](Operation *inner) { return isa<tt::ReduceOp>(inner->getParentOp()); })) name = "reduce";
  if (isIn([](Operation *inner) { return isa<tt::ScanOp>(inner->getParentOp()); })) name = "accumulate";
  if (raised & FE_DIVBYZERO) warn("divide by zero encountered in " + name);
  if (raised & FE_OVERFLOW) warn("overflow encountered in " + name);
  if (raised & FE_INVALID) warn("invalid value encountered in " + name);
  return success();
}

} // namespace tilewright::interp
