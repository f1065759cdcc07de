// Small elements that are loaded in 32-bit words for a later iteration are carried in such words:
//   before: scf.for iter_args(%x: tensor<..xf16>) { .. yield (tt.load %p) }     after: .. {ttg.packed_words = [0]}
#include "gpu/thread/prepare/steps.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

static void packCarriedOf(scf::ForOp loop) {
  SmallVector<int64_t> packed;
  for (auto [number, value] : llvm::enumerate(loop.getYieldedValues())) {
    auto argument = dyn_cast<BlockArgument>(value); // a value loaded several iterations ahead
    if (argument && argument.getOwner() == loop.getBody() && argument != loop.getInductionVar())
      value = loop.getTiedLoopYieldedValue(argument)->get();
    auto load = value.getDefiningOp<tt::LoadOp>();
    if (!load || !isa<RankedTensorType>(value.getType())) continue;
    auto width = load->getAttrOfType<IntegerAttr>(ttg::vectorName);
    int64_t bits = ttg::elementBits(value.getType()), registers = ttg::layoutOf(value.getType()).registersPerThread();
    if ((bits == 8 || bits == 16) && width && width.getInt() * bits % 32 == 0 && registers * bits % 32 == 0)
      packed.push_back(static_cast<int64_t>(number));
  }
  if (!packed.empty()) loop->setAttr(ttg::packedWordsName, DenseI64ArrayAttr::get(loop.getContext(), packed));
}

LogicalResult packCarried(tt::FuncOp kernel, ttg::ConfigAttr) {
  kernel.walk(packCarriedOf);
  return success();
}

} // namespace tilewright::gpu
