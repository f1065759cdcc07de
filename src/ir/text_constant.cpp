#include "ir/text_constant.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/xxhash.h"

using namespace mlir;

namespace tilewright {

LLVM::GlobalOp textConstant(OpBuilder &b, ModuleOp module, StringRef text, unsigned addressSpace) {
  std::string content = text.str() + std::string(1, '\0');
  std::string name = "text_" + llvm::utohexstr(llvm::xxh3_64bits(content), /*LowerCase=*/true);
  while (auto known = module.lookupSymbol<LLVM::GlobalOp>(name)) {
    if (cast<StringAttr>(known.getValueAttr()).getValue() == content) return known;
    name += "_"; // another text with the same hash
  }
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), content.size());
  return LLVM::GlobalOp::create(b, module.getLoc(), type, /*isConstant=*/true, LLVM::Linkage::Internal, name, b.getStringAttr(content),
                                /*alignment=*/1, addressSpace);
}

} // namespace tilewright
