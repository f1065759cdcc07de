#include "gpu/sm_model/operations.h"

#include "gpu/machine/ptx.h"
#include "gpu/sm_model/costs.h"
#include "gpu/sm_model/sm.h"

namespace tilewright::gpu::model {

const ModeledOperation *modeled(mlir::OperationName name) {
  static const llvm::DenseMap<mlir::TypeID, ModeledOperation> rows = {
#define MODELED(op, cost, isCrossed, effect) {mlir::TypeID::get<ptx::op>(), {costs::cost, isCrossed, &Sm::effect}},
#include "gpu/sm_model/operations.def"
#undef MODELED
  };
  auto row = rows.find(name.getTypeID());
  return row == rows.end() ? nullptr : &row->second;
}

} // namespace tilewright::gpu::model
