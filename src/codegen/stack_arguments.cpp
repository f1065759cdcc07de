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

/// A place where a caller has left a value, and which nothing overwrites.
static bool isUnchangingArgument(const MachineInstr &says, const MachineFrameInfo &frame) {
  const MachineOperand &place = says.getDebugOperand(0);
  return says.isDebugOffsetImm() && place.isFI() && frame.isFixedObjectIndex(place.getIndex()) &&
         frame.isImmutableObjectIndex(place.getIndex());
}

bool StackArguments::runOnMachineFunction(MachineFunction &function) {
  if (!function.getFunction().getSubprogram()) return false;
  DenseMap<const DILocalVariable *, int64_t> assignments;
  for (const MachineBasicBlock &block : function)
    for (const MachineInstr &instruction : block)
      if (instruction.isDebugValue()) ++assignments[instruction.getDebugVariable()];
  for (MachineInstr &says : make_early_inc_range(function.front())) {
    if (!says.isNonListDebugValue() || !says.getDebugVariable()->isParameter() || assignments[says.getDebugVariable()] != 1) continue;
    if (!isUnchangingArgument(says, function.getFrameInfo())) continue;
    function.setVariableDbgInfo(says.getDebugVariable(), says.getDebugExpression(), says.getDebugOperand(0).getIndex(), says.getDebugLoc());
    says.eraseFromParent();
  }
  return true;
}

MachineFunctionPass *createStackArgumentsPass() {
  return new StackArguments;
}

} // namespace tilewright
