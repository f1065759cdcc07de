// Arguments that a caller passes in memory (from the seventh on, on x86) stay there while the function runs. LLVM describes each by an
// instruction at the function's start, and propagates it through every block like a value in a register. With thirty arguments that takes
// most of the time for debug info. This pass describes each argument once for the whole function:
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
