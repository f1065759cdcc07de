// See tensor_map.h.
#include "gpu/tiles/tma/tensor_map.h"

#include "gpu/machine/ptx.h"
#include "gpu/ttg/tensor_map_recipe.h"
#include "ir/refusal.h"

#include "llvm/ADT/BitVector.h"

using namespace mlir;

namespace tilewright::gpu {

static std::optional<MapElement> elementOf(Type type) {
  if (type.isF16()) return MapElement::f16;
  if (type.isBF16()) return MapElement::bf16;
  if (type.isF32()) return MapElement::f32;
  if (type.isF64()) return MapElement::f64;
  if (isa<Float4E2M1FNType>(type)) return MapElement::paddedPairs;
  if (!type.isIntOrFloat()) return std::nullopt;
  switch (type.getIntOrFloatBitWidth()) { // 8-bit floats as bytes
  case 8: return MapElement::u8;
  case 16: return MapElement::u16;
  case 32: return type.isUnsignedInteger() ? MapElement::u32 : MapElement::s32;
  case 64: return type.isUnsignedInteger() ? MapElement::u64 : MapElement::s64;
  default: return std::nullopt;
  }
}

/// Converts a list of terms [coefficient, argument, argument, ...]. The number of an argument is that of its slot.
static HostExpr exprOf(Attribute terms) {
  HostExpr expr;
  for (Attribute attribute : cast<ArrayAttr>(terms)) {
    ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(attribute).asArrayRef();
    expr.terms.push_back({numbers.front(), numbers.drop_front().vec()});
  }
  return expr;
}

static std::optional<TensorMapSpec> specOf(tt::FuncOp kernel, ttg::TensorMapAttr recipe) {
  std::optional<MapElement> element = elementOf(recipe.getElement());
  if (!element) {
    bug(kernel, "there is no tensor map for elements of type " + mlirText(recipe.getElement()));
    return std::nullopt;
  }
  if (recipe.getBox().size() != static_cast<int64_t>(recipe.getDims().size())) {
    bug(kernel, "a tensor map is used, but has no box");
    return std::nullopt;
  }
  TensorMapSpec spec;
  spec.baseSlot = recipe.getBase();
  spec.baseOffset = exprOf(recipe.getOffset());
  spec.element = *element;
  spec.elementBytes = std::max<int64_t>(1, recipe.getElement().getIntOrFloatBitWidth() / 8);
  for (Attribute dim : recipe.getDims()) {
    HostExpr extent = exprOf(dim);
    spec.dims.push_back(extent.terms.empty() ? MapDim::withoutBound() : MapDim(std::move(extent)));
  }
  for (Attribute stride : recipe.getStrides())
    spec.strides.push_back(exprOf(stride));
  spec.box = recipe.getBox().asArrayRef().vec();
  spec.swizzle = recipe.getSwizzle();
  return spec;
}

std::optional<std::vector<TensorMapSpec>> takeTensorMaps(tt::FuncOp kernel) {
  std::vector<TensorMapSpec> specs;
  llvm::BitVector unused(kernel.getNumArguments());
  for (BlockArgument argument : kernel.getArguments()) {
    if (!isa<ptx::TensorMapType>(argument.getType())) continue;
    if (argument.use_empty()) {
      unused.set(argument.getArgNumber());
      continue;
    }
    ttg::TensorMapAttr recipe = ttg::tensorMapOf(argument);
    if (!recipe) {
      bug(kernel, "argument " + std::to_string(argument.getArgNumber()) + " has no " + ttg::tensorMapName.str());
      return std::nullopt;
    }
    std::optional<TensorMapSpec> spec = specOf(kernel, recipe);
    if (!spec) return std::nullopt;
    spec->stores = llvm::any_of(argument.getUsers(), [](Operation *user) { return isa<ptx::TmaStoreOp>(user); });
    specs.push_back(std::move(*spec));
  }
  (void)kernel.eraseArguments(unused);
  return specs;
}

std::optional<std::vector<LaunchGuard>> collectLaunchGuards(tt::FuncOp kernel) {
  std::vector<LaunchGuard> guards;
  auto list = kernel->getAttrOfType<ArrayAttr>(ttg::guardsName);
  if (!list) return guards;
  for (auto attribute : list.getAsRange<ttg::LaunchGuardAttr>()) {
    std::optional<LaunchGuard> guard = guardOf(attribute.getName().str(), attribute.getNumbers(), kernel.getNumArguments());
    if (!guard) {
      bug(kernel, "no launch can check '" + attribute.getName().str() + "'");
      return std::nullopt;
    }
    guards.push_back(std::move(*guard));
  }
  return guards;
}

} // namespace tilewright::gpu
