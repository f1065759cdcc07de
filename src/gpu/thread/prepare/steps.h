// The decisions of prepare-lowering, one file each. They are independent of each other.
#pragma once

#include "gpu/ttg/ttg.h"

namespace tilewright::gpu {

llvm::LogicalResult markRoundedArguments(tt::FuncOp kernel, ttg::ConfigAttr config);
llvm::LogicalResult boundRowLengths(tt::FuncOp kernel, ttg::ConfigAttr config);
llvm::LogicalResult packCarried(tt::FuncOp kernel, ttg::ConfigAttr config);
llvm::LogicalResult markSpins(tt::FuncOp kernel, ttg::ConfigAttr config);
llvm::LogicalResult setBufferSizes(tt::FuncOp kernel, ttg::ConfigAttr config);
llvm::LogicalResult initializeMbarriers(tt::FuncOp kernel, ttg::ConfigAttr config);
llvm::LogicalResult prepareMmaWaits(tt::FuncOp kernel, ttg::ConfigAttr config);
llvm::LogicalResult prepareMmaOperands(tt::FuncOp kernel, ttg::ConfigAttr config);
llvm::LogicalResult splitTensorAccesses(tt::FuncOp kernel, ttg::ConfigAttr config);

} // namespace tilewright::gpu
