// See unselectable.h.
#include "codegen/unselectable.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;

namespace tilewright {

/// The only true lane of a constant mask.
static std::optional<uint64_t> onlyLane(const Value *mask) {
  auto constant = dyn_cast<Constant>(mask);
  if (!constant) return std::nullopt;
  std::optional<uint64_t> only;
  for (unsigned lane = 0, lanes = cast<FixedVectorType>(mask->getType())->getNumElements(); lane < lanes; ++lane) {
    auto bit = dyn_cast_or_null<ConstantInt>(constant->getAggregateElement(lane));
    if (!bit || (bit->isOne() && only)) return std::nullopt;
    if (bit->isOne()) only = lane;
  }
  return only;
}

/// Turns masked stores of one element into scalar stores. LLVM 22's code generation for x86 does so as well, but it is wrong if the
/// vector is a truncation. Then it stores the wide element, and writes past the tile:
///   masked.store (trunc <8 x i64> %x to <8 x i8>), %p, <i1 true, i1 false, ...>      movq %x, (%p)
static void storeSingleElements(Function &function) {
  SmallVector<std::pair<IntrinsicInst *, uint64_t>> found;
  for (Instruction &instruction : instructions(function))
    if (auto store = dyn_cast<IntrinsicInst>(&instruction); store && store->getIntrinsicID() == Intrinsic::masked_store)
      if (std::optional<uint64_t> lane = onlyLane(store->getArgOperand(2))) found.push_back({store, *lane});
  for (auto [store, lane] : found) {
    IRBuilder<> b(store);
    Value *vector = store->getArgOperand(0);
    Type *element = cast<VectorType>(vector->getType())->getElementType();
    uint64_t bytes = function.getDataLayout().getTypeStoreSize(element);
    Value *pointer = b.CreateConstGEP1_64(element, store->getArgOperand(1), lane);
    b.CreateAlignedStore(b.CreateExtractElement(vector, lane), pointer,
                         commonAlignment(store->getParamAlign(1).valueOrOne(), lane * bytes));
    store->eraseFromParent();
  }
}

/// Turns masked loads and stores, gathers and scatters of bf16 into those of i16. LLVM 22's code generation for SVE cannot select them. Its
/// code generation for x86 converts each element to float and back, by calls of __truncsfbf2, which many systems lack.
///   masked.load <8 x bf16>, %p, %mask      bitcast (masked.load <8 x i16>, %p, %mask) to <8 x bf16>
static void accessBfloatsAsIntegers(Function &function) {
  SmallVector<IntrinsicInst *> found;
  for (Instruction &instruction : instructions(function)) {
    auto access = dyn_cast<IntrinsicInst>(&instruction);
    if (!access) continue;
    Intrinsic::ID id = access->getIntrinsicID();
    bool loads = id == Intrinsic::masked_load || id == Intrinsic::masked_gather;
    if (!loads && id != Intrinsic::masked_store && id != Intrinsic::masked_scatter) continue;
    Type *type = loads ? access->getType() : access->getArgOperand(0)->getType();
    if (type->getScalarType()->isBFloatTy()) found.push_back(access);
  }
  for (IntrinsicInst *access : found) {
    IRBuilder<> b(access);
    SmallVector<Value *> operands(access->args());
    for (Value *&operand : operands)
      if (operand->getType()->getScalarType()->isBFloatTy())
        operand = b.CreateBitCast(operand, operand->getType()->getWithNewType(b.getInt16Ty()));
    bool loads = !access->getType()->isVoidTy();
    Value *address = access->getArgOperand(loads ? 0 : 1);
    Type *data = loads ? access->getType()->getWithNewType(b.getInt16Ty()) : operands[0]->getType();
    CallInst *replaced = b.CreateIntrinsic(access->getIntrinsicID(), {data, address->getType()}, operands);
    if (loads) access->replaceAllUsesWith(b.CreateBitCast(replaced, access->getType()));
    for (unsigned i = 0; i < access->arg_size(); ++i)
      for (Attribute attribute : access->getAttributes().getParamAttrs(i))
        replaced->addParamAttr(i, attribute); // the alignment
    access->eraseFromParent();
  }
}

/// Compares bf16 as fp32, which is exact. LLVM 22's code generation for SVE cannot select comparisons of longer vectors of bf16.
static void compareBfloatsAsFloats(Function &function) {
  for (Instruction &instruction : make_early_inc_range(instructions(function))) {
    auto compare = dyn_cast<FCmpInst>(&instruction);
    if (!compare || !compare->getOperand(0)->getType()->getScalarType()->isBFloatTy()) continue;
    IRBuilder<> b(compare);
    for (Use &operand : compare->operands())
      operand = b.CreateFPExt(operand, operand->getType()->getWithNewType(b.getFloatTy()));
  }
}

void replaceUnselectable(Function &function, const Triple &triple) {
  if (triple.isX86()) storeSingleElements(function);
  if (!triple.isNVPTX()) accessBfloatsAsIntegers(function);
  if (triple.isAArch64()) compareBfloatsAsFloats(function);
}

} // namespace tilewright
