#include "driver/limits.h"

#include "mlir/IR/BuiltinTypes.h"

#include "llvm/Support/raw_ostream.h"

namespace tilewright {

CompileLimits::CompileLimits() : control(currentControl()) {
  if (!control) return;
  start = WorkControl::Clock::now();
  if (control->limits.memoryBytes) startBytes = residentBytes();
}

/// Returns the number of operations, and the type of the first tile of more than `maxElements` elements.
static std::pair<int64_t, mlir::ShapedType> survey(mlir::ModuleOp module, int64_t maxElements) {
  int64_t operations = 0;
  mlir::ShapedType large;
  module->walk([&](mlir::Operation *op) {
    ++operations;
    for (mlir::Type type : op->getResultTypes())
      if (auto tile = mlir::dyn_cast<mlir::RankedTensorType>(type); tile && !large && maxElements && tile.getNumElements() > maxElements)
        large = tile;
  });
  return {operations, large};
}

/// Reports a limit that is exceeded. Returns false.
static bool refuse(const WorkControl &control, const std::string &text, Diagnostics &diagnostics) {
  control.exceed();
  diagnostics.error({}, Diag::invalidOption, {"the compilation stops: " + text, ""});
  return false;
}

bool CompileLimits::areKept(mlir::ModuleOp module, Diagnostics &diagnostics) const {
  const WorkLimits &limits = control->limits;
  std::chrono::duration<double> spent = WorkControl::Clock::now() - start;
  if (limits.compileSeconds > 0 && spent.count() > limits.compileSeconds)
    return refuse(*control, "it takes longer than its limit of " + std::to_string(limits.compileSeconds) + " seconds", diagnostics);
  if (limits.memoryBytes && residentBytes() - startBytes > limits.memoryBytes)
    return refuse(*control, "it needs more memory than its limit of " + std::to_string(limits.memoryBytes) + " bytes", diagnostics);
  if (!module || (!limits.operations && !limits.tileElements)) return true;
  auto [operations, large] = survey(module, limits.tileElements);
  if (large) {
    std::string shape;
    llvm::raw_string_ostream(shape) << large;
    return refuse(*control, "a tile (" + shape + ") has more elements than the limit of " + std::to_string(limits.tileElements),
                  diagnostics);
  }
  if (limits.operations && operations > limits.operations)
    return refuse(*control,
                  "the kernel has " + std::to_string(operations) + " operations; the limit is " + std::to_string(limits.operations),
                  diagnostics);
  return true;
}

bool CompileLimits::mayContinue(mlir::ModuleOp module, Diagnostics &diagnostics) const {
  if (!control) return true;
  if (control->mayContinue()) return areKept(module, diagnostics);
  diagnostics.error({}, Diag::invalidOption, {"the compilation stops: " + control->describe(), ""});
  return false;
}

} // namespace tilewright
