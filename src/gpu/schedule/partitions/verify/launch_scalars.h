// The scalars of a kernel that are known in a small launch.
#pragma once

#include "ir/integer_value.h"

#include "mlir/IR/Value.h"

#include "llvm/ADT/DenseMap.h"

namespace tilewright::gpu {

class LaunchScalars {
public:
  Integer of(mlir::Value value) const {
    if (auto found = fixed.find(value); found != fixed.end()) return found->second;
    return known.lookup(value);
  }
  void set(mlir::Value value, Integer number) { known[value] = number; }
  void fix(mlir::Value value, int64_t number) { fixed[value] = number; }
  /// Sets the results of an operation.
  void compute(mlir::Operation *op);

private:
  llvm::DenseMap<mlir::Value, Integer> known;
  llvm::DenseMap<mlir::Value, int64_t> fixed; ///< by the launch
};

} // namespace tilewright::gpu
