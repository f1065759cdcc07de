// Arguments that a caller leaves in memory (the seventh and later ones of a processor's functions) stay there as long as the function
// runs. LLVM describes each by an instruction at the function's beginning, and then carries it through every block like a value in a
// register, which takes most of debug info's time where a kernel has thirty arguments. This pass describes it once for the whole function:
//
//     before:  DBG_VALUE %fixed-stack.3, 0, !"stride_qn", !DIExpression()      in each block, and a list of ranges in the object
//     after:   a variable of the function's stack slots, and one expression in the object
#pragma once

namespace llvm {
class MachineFunctionPass;
}

namespace tilewright {

/// Runs after instruction selection. It changes no machine instruction.
llvm::MachineFunctionPass *createStackArgumentsPass();

} // namespace tilewright
