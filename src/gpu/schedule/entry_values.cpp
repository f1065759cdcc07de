#include "gpu/schedule/entry_values.h"

#include "gpu/schedule/stage_index.h"

using namespace mlir;

namespace tilewright::gpu {

Value entryConstant(tt::FuncOp function, int64_t value) {
  OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
  return i32Constant(b, function.getLoc(), value);
}

Value allocBarriers(tt::FuncOp function, int64_t count, int64_t arrivals) {
  OpBuilder b = OpBuilder::atBlockBegin(&function.getBody().front());
  return ttg::AllocBarriersOp::create(b, function.getLoc(), ttg::BarriersType::get(b.getContext(), count), static_cast<uint32_t>(arrivals));
}

} // namespace tilewright::gpu
