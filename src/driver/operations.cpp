#include "driver/operations.h"

#include "driver/ir_text.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"

#include "llvm/ADT/DenseMap.h"

using namespace mlir;

namespace tilewright {

namespace {

class Numbering {
public:
  explicit Numbering(TileOperations &out) : out(out) {}

  void add(Operation *op) {
    TileOperation row{op->getName().getStringRef().str(), {}, {}, {}, std::nullopt, {}};
    for (mlir::Value operand : op->getOperands())
      row.operands.push_back(numberOf(operand));
    for (mlir::Value result : op->getResults())
      row.results.push_back(numberOf(result));
    for (Region &region : op->getRegions())
      row.regions.push_back(numberOf(region));
    if (Block *block = op->getBlock()) row.block = numberOf(*block);
    for (NamedAttribute attribute : op->getAttrs())
      addAttribute(row, attribute.getName().getValue(), attribute.getValue());
    out.operations.push_back(std::move(row));
  }

private:
  static void addAttribute(TileOperation &row, llvm::StringRef name, Attribute value) {
    auto add = [&](auto known) { row.attributes.emplace_back(name.str(), known); };
    if (auto tile = dyn_cast<SplatElementsAttr>(value)) value = tile.getSplatValue<Attribute>();
    if (auto truth = dyn_cast<BoolAttr>(value)) return add(truth.getValue());
    if (auto number = dyn_cast<IntegerAttr>(value); number && number.getValue().isSignedIntN(64))
      return add(number.getValue().getSExtValue());
    if (auto text = dyn_cast<StringAttr>(value)) return add(text.getValue().str());
    if (auto symbol = dyn_cast<FlatSymbolRefAttr>(value)) return add(symbol.getValue().str());
  }

  int64_t numberOf(mlir::Value value) {
    auto [known, isNew] = values.try_emplace(value, values.size());
    if (!isNew) return known->second;
    auto tile = dyn_cast<RankedTensorType>(value.getType());
    out.shapes.push_back(tile ? std::vector<int64_t>(tile.getShape()) : std::vector<int64_t>());
    return known->second;
  }

  int64_t numberOf(Region &region) { return regions.try_emplace(&region, regions.size()).first->second; }

  int64_t numberOf(Block &block) {
    auto [known, isNew] = blocks.try_emplace(&block, blocks.size());
    if (!isNew) return known->second;
    int64_t number = known->second;
    TileBlock row;
    if (Region *region = block.getParent()) row.region = numberOf(*region);
    for (BlockArgument argument : block.getArguments())
      row.arguments.push_back(numberOf(argument));
    out.blocks.push_back(std::move(row));
    return number;
  }

  TileOperations &out;
  llvm::DenseMap<mlir::Value, int64_t> values;
  llvm::DenseMap<Block *, int64_t> blocks;
  llvm::DenseMap<Region *, int64_t> regions;
};

} // namespace

TileOperations operationsOf(ModuleOp module) {
  TileOperations out;
  out.text = irText(module);
  Numbering numbering(out);
  module->walk([&](Operation *op) { numbering.add(op); });
  return out;
}

} // namespace tilewright
