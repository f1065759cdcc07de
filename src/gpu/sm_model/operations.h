// The table of modeled operations (operations.def).
#pragma once

#include "gpu/sm_model/rates.h"

#include "mlir/IR/Operation.h"

namespace tilewright::gpu::model {

struct Node;
struct Step;
class Sm;

struct ModeledOperation {
  void (*costs)(Node &node, const SmRates &rates); ///< sets the node's costs
  bool isCrossed;                                  ///< the assembler moves other operations across it
  void (Sm::*effect)(Step &step);
};

/// Returns the row of an operation of the ptx dialect; null for another dialect's.
const ModeledOperation *modeled(mlir::OperationName name);

} // namespace tilewright::gpu::model
