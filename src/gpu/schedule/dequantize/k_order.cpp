#include "gpu/schedule/dequantize/k_order.h"

#include "gpu/ttg/tile_shapes.h"

using namespace mlir;

namespace tilewright::gpu {

// Fragments of an MMA's operand of 16 bits: a register holds 2 elements. Of an instruction, each of the 4 threads of a row has 2 registers.
constexpr int64_t threadsOfRow = 4, registersOfInstruction = 2, elementsOfRegister = 2;
constexpr int64_t instructionDepth = threadsOfRow * registersOfInstruction * elementsOfRegister; // along K

KOrder::KOrder(RankedTensorType tile, int64_t along, bool evenOddInterleave) : tile(tile) {
  int64_t depth = tile.getDimSize(static_cast<unsigned>(along)), other = tile.getDimSize(static_cast<unsigned>(1 - along));
  extents = {threadsOfRow, depth / instructionDepth, registersOfInstruction, elementsOfRegister};
  order = {1, 2, 0, 3};
  if (evenOddInterleave) std::swap(order[1], order[3]);
  if (along == 0) {
    extents.push_back(other);
    order.push_back(4);
  } else {
    extents.insert(extents.begin(), other);
    for (int32_t &dim : order)
      ++dim;
    order.insert(order.begin(), 0);
  }
}

Value KOrder::apply(OpBuilder &b, Value value) const {
  return reshaped(b, transposed(b, reshaped(b, value, extents), order), tile.getShape());
}

Layout KOrder::before(const Layout &result) const {
  Dims inOrder, back(order.size());
  for (auto [dim, from] : llvm::enumerate(order)) {
    inOrder.push_back(extents[static_cast<size_t>(from)]);
    back[static_cast<size_t>(from)] = static_cast<int64_t>(dim);
  }
  return result.reshaped(inOrder).transposed(back).reshaped(ttg::shapeOf(tile));
}

} // namespace tilewright::gpu
