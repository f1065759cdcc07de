// TMA moves a box of a tensor, and swizzles it as the buffer's layout says: which buffer a tile gets that goes through a tensor
// map, and which map belongs to a buffer. One tensor may be copied in several boxes: each is a map of its own.
#include "gpu/schedule/buffers.h"

#include "gpu/schedule/stage_index.h"
#include "gpu/ttg/copied_boxes.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "ir/refusal.h"

#include "mlir/IR/Builders.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace tilewright::gpu {

static Dims dimsOf(ArrayRef<int32_t> order) {
  return Dims(order.begin(), order.end());
}

std::optional<TmaBox> boxOf(ttg::BufferType type, ArrayRef<int32_t> order) {
  std::optional<TmaBox> box = tmaBox(type.getLayout().layout());
  if (!box || box->order.size() != order.size() || box->order[0] != order[0]) return {};
  auto isLong = [&](int64_t dim) { return type.getShape()[static_cast<size_t>(dim)] > 1; };
  Dims has = box->order, wants = dimsOf(order);
  std::erase_if(has, std::not_fn(isLong));
  std::erase_if(wants, std::not_fn(isLong));
  if (has != wants) return {};
  box->order = dimsOf(order);
  for (size_t i = 1; i < order.size(); ++i)
    box->box[i] = type.getShape()[static_cast<size_t>(order[i])];
  return box;
}

FailureOr<ttg::BufferType> bufferForCopies(Operation *op, Type tile, ArrayRef<int32_t> order) {
  auto type = cast<RankedTensorType>(tile);
  int64_t bits = ttg::memoryBits(type);
  auto shared = type.getRank() == 1 ? SharedLayout::rowMajor(ttg::shapeOf(type), bits, dimsOf(order))
                                    : SharedLayout::swizzled(ttg::shapeOf(type), bits, 128, dimsOf(order));
  auto buffer = ttg::BufferType::get(1, type.getElementType(), shared);
  if (!boxOf(buffer, order)) return bug(op, "TMA has no box for " + mlirText(tile));
  return buffer;
}

FailureOr<Value> mapFor(tt::FuncOp function, Operation *op, Value map, size_t dims, ttg::BufferType buffer, ArrayRef<int32_t> order,
                        const BoxParts &parts) {
  Builder b(op->getContext());
  auto argument = dyn_cast<BlockArgument>(map);
  if (!argument || argument.getOwner() != &function.getBody().front()) return bug(op, "its tensor map is not an argument of the kernel");
  constexpr StringLiteral name = ttg::tensorMapName;
  ttg::TensorMapAttr recipe = ttg::tensorMapOf(argument);
  if (!recipe) return bug(op, "its tensor map has no " + name.str());
  std::optional<TmaBox> box = boxOf(buffer, order);
  if (!box) return bug(op, "TMA has no box for its buffer");
  SmallVector<int64_t> extents(box->box.begin(), box->box.end());
  auto load = dyn_cast<ttg::DescriptorLoadOp>(op);
  ArrayRef<int64_t> copied = load ? load.getCopiedExtent() : ArrayRef<int64_t>();
  for (size_t i = 1; i < copied.size(); ++i)
    extents[i] = copied[static_cast<size_t>(order[i])];
  extents.resize(dims, 1);
  if (parts.count != 1) extents[parts.dim] /= parts.count;
  Type element = box->isPadded ? Type(b.getType<Float4E2M1FNType>()) : recipe.getElement();
  auto wanted = ttg::TensorMapAttr::get(b.getContext(), recipe.getBase(), recipe.getOffset(), recipe.getDims(), recipe.getStrides(),
                                        b.getDenseI64ArrayAttr(extents), element, box->spanBytes);
  if (recipe == wanted) return map;
  if (recipe.getBox().empty()) {
    function.setArgAttr(argument.getArgNumber(), name, wanted);
    return map;
  }
  for (BlockArgument other : function.getArguments())
    if (ttg::tensorMapOf(other) == wanted) return Value(other);
  auto attributes = b.getDictionaryAttr(b.getNamedAttr(name, wanted));
  unsigned last = function.getNumArguments();
  if (failed(function.insertArgument(last, map.getType(), attributes, argument.getLoc()))) return failure();
  return Value(function.getArgument(last));
}

void eraseStore(ttg::StoreSharedOp store) {
  Operation *before = store->getPrevNode(), *after = store->getNextNode();
  store->erase();
  if (isa_and_nonnull<ttg::StoreSharedOp>(before) || isa_and_nonnull<ttg::StoreSharedOp>(after)) return;
  if (isa_and_nonnull<ttg::FenceAsyncOp>(after)) after->erase();
}

Operation *waitingPoint(Operation *reader) {
  Operation *point = reader;
  if (!isa<ttg::LoadSharedOp>(reader)) return point;
  auto multipliesBoth = [&](Operation *user) {
    return isa<tt::DotOp, tt::DotScaledOp>(user) && llvm::is_contained(user->getOperands(), reader->getResult(0));
  };
  auto isPassed = [](Operation *op) {
    bool isFree = isMemoryEffectFree(op) && op->getNumRegions() == 0 && !isa<tt::DotOp, tt::DotScaledOp>(op);
    return isFree || isa<ttg::LoadSharedOp, ttg::BarrierWaitOp>(op);
  };
  for (Operation *op = reader->getPrevNode(); op && isPassed(op); op = op->getPrevNode())
    if (isa<ttg::LoadSharedOp>(op) && llvm::any_of(op->getUsers(), multipliesBoth)) point = op;
  return point;
}

} // namespace tilewright::gpu
