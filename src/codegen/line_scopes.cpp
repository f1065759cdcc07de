#include "codegen/line_scopes.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include "llvm/BinaryFormat/Dwarf.h"

using namespace mlir;

namespace tilewright {

static LLVM::DIFileAttr fileOf(Location place) {
  auto line = place->findInstanceOf<FileLineColLoc>();
  return LLVM::DIFileAttr::get(place.getContext(), line ? line.getFilename().getValue() : "<unknown>", "");
}

static LLVM::DICompileUnitAttr unitOf(ModuleOp module, bool isPtx) {
  if (auto brought = module->getLoc()->findInstanceOf<FusedLocWith<LLVM::DICompileUnitAttr>>()) return brought.getMetadata();
  Builder b(module.getContext());
  return LLVM::DICompileUnitAttr::get(DistinctAttr::create(b.getUnitAttr()), llvm::dwarf::DW_LANG_C, fileOf(module.getLoc()),
                                      b.getStringAttr("tilewright"), /*isOptimized=*/true,
                                      isPtx ? LLVM::DIEmissionKind::DebugDirectivesOnly : LLVM::DIEmissionKind::Full);
}

static LLVM::DISubprogramAttr scopeOf(LLVM::LLVMFuncOp function, LLVM::DICompileUnitAttr unit) {
  if (auto brought = function.getLoc()->findInstanceOf<FusedLocWith<LLVM::DISubprogramAttr>>()) return brought.getMetadata();
  MLIRContext *context = function.getContext();
  auto place = function.getLoc()->findInstanceOf<FileLineColLoc>();
  unsigned line = place ? place.getLine() : 1;
  LLVM::DIFileAttr file = fileOf(function.getLoc());
  auto flags = LLVM::DISubprogramFlags::Optimized;
  if (!function.isExternal()) flags = flags | LLVM::DISubprogramFlags::Definition;
  DistinctAttr identity = function.isExternal() ? DistinctAttr() : DistinctAttr::create(UnitAttr::get(context));
  auto scope = LLVM::DISubprogramAttr::get(context, identity, function.isExternal() ? LLVM::DICompileUnitAttr() : unit, file,
                                           function.getNameAttr(), function.getNameAttr(), file, line, line, flags,
                                           LLVM::DISubroutineTypeAttr::get(context, llvm::dwarf::DW_CC_normal, {}),
                                           /*retainedNodes=*/{}, /*annotations=*/{});
  function->setLoc(FusedLoc::get(context, {function.getLoc()}, scope));
  return scope;
}

namespace {
/// The line scopes of one function.
class LineScopes {
public:
  explicit LineScopes(LLVM::DISubprogramAttr scope) : scope(scope) {}

  Location scoped(Location place) {
    auto inlined = dyn_cast<CallSiteLoc>(place);
    if (!inlined) return place;
    if (auto found = known.find(place); found != known.end()) return found->second;
    Location callee = isa<CallSiteLoc>(inlined.getCallee()) ? scoped(inlined.getCallee()) : inFile(inlined.getCallee());
    Location result = CallSiteLoc::get(callee, scoped(inlined.getCaller()));
    known.try_emplace(place, result);
    return result;
  }

private:
  Location inFile(Location place) {
    return FusedLoc::get(place.getContext(), {place}, LLVM::DILexicalBlockFileAttr::get(place.getContext(), scope, fileOf(place), 0));
  }

  LLVM::DISubprogramAttr scope;
  llvm::DenseMap<Location, Location> known;
};
} // namespace

void addLineScopes(ModuleOp module, bool isPtx) {
  LLVM::DICompileUnitAttr unit = unitOf(module, isPtx);
  for (auto function : module.getOps<LLVM::LLVMFuncOp>()) {
    LineScopes places(scopeOf(function, unit));
    function->walk([&](Operation *op) {
      if (isa<CallSiteLoc>(op->getLoc())) op->setLoc(places.scoped(op->getLoc()));
    });
  }
}

} // namespace tilewright
