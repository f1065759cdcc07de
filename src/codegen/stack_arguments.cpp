#include "codegen/stack_arguments.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/CodeGen/MachineFrameInfo.h"
#include "llvm/CodeGen/MachineFunction.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/IR/DebugInfoMetadata.h"

using namespace llvm;

namespace tilewright {

namespace {
class StackArguments : public MachineFunctionPass {
public:
  static char identity;
  StackArguments() : MachineFunctionPass(identity) {}
  StringRef getPassName() const override { return "Describe arguments in memory"; }
  void getAnalysisUsage(AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }
  bool runOnMachineFunction(MachineFunction &function) override;
};
char StackArguments::identity = 0;
} // namespace

/// True for an argument in a stack slot that the caller has written and that is never overwritten.
static bool isUnchangingArgument(const MachineInstr &record, const MachineFrameInfo &frame) {
  const MachineOperand &operand = record.getDebugOperand(0);
  return record.isDebugOffsetImm() && operand.isFI() && frame.isFixedObjectIndex(operand.getIndex()) &&
         frame.isImmutableObjectIndex(operand.getIndex());
}

bool StackArguments::runOnMachineFunction(MachineFunction &function) {
  if (!function.getFunction().getSubprogram()) return false;
  DenseMap<const DILocalVariable *, int64_t> assignments;
  for (const MachineBasicBlock &block : function)
    for (const MachineInstr &instruction : block)
      if (instruction.isDebugValue()) ++assignments[instruction.getDebugVariable()];
  for (MachineInstr &record : make_early_inc_range(function.front())) {
    if (!record.isNonListDebugValue() || !record.getDebugVariable()->isParameter() || assignments[record.getDebugVariable()] != 1) continue;
    if (!isUnchangingArgument(record, function.getFrameInfo())) continue;
    function.setVariableDbgInfo(record.getDebugVariable(), record.getDebugExpression(), record.getDebugOperand(0).getIndex(),
                                record.getDebugLoc());
    record.eraseFromParent();
  }
  return true;
}

MachineFunctionPass *createStackArgumentsPass() {
  return new StackArguments;
}

} // namespace tilewright
