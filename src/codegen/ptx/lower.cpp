// Turns the tt.func of a GPU kernel into an llvm.func, with the launch parameters as attributes:
//     tt.func public @add(%x: i64, %m: !ptx.tensor_map) attributes {ptx.kernel = #ptx.kernel<threads = 128, sharedBytes = 0>}
// becomes
//     llvm.func ptx_kernelcc @add(%x: i64, %m: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64})
//         attributes {passthrough = [["nvvm.reqntid", "128"]]}
// The instructions are printed first (print.cpp), then the function is converted. Then the upstream patterns turn loops and arithmetic
// into the LLVM dialect, as for the CPU.
#include "codegen/ptx/lower.h"

#include "codegen/lower.h"
#include "codegen/ptx/print.h"
#include "gpu/machine/ptx.h"
#include "gpu/machine/tcgen05.h"
#include "ir/refusal.h"
#include "ir/tt.h"
#include "support/target.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

using namespace mlir;

namespace tilewright {

static LogicalResult checkArguments(tt::FuncOp function) {
  for (Type type : function.getArgumentTypes()) {
    if (isa<ptx::TensorMapType, Float16Type, BFloat16Type, Float32Type, Float64Type>(type)) continue;
    if (type.isSignlessInteger() && llvm::is_contained({1u, 8u, 16u, 32u, 64u}, type.getIntOrFloatBitWidth())) continue;
    return refuse(function, Diag::argumentSlot, {mlirText(type)});
  }
  return success();
}

/// The attributes for the driver and ptxas. The number of threads is exact (reqntid).
static ArrayAttr launchAttributes(Builder &b, ptx::KernelAttr kernel) {
  SmallVector<Attribute> attributes;
  auto add = [&](StringRef name, int64_t value) { attributes.push_back(b.getStrArrayAttr({name, std::to_string(value)})); };
  add("nvvm.reqntid", kernel.getThreads());
  if (kernel.getMaxRegisters() > 0) add("nvvm.maxnreg", kernel.getMaxRegisters());
  if (kernel.getMinCtas() > 0) add("nvvm.minctasm", kernel.getMinCtas());
  if (kernel.getCluster() > 1) add("nvvm.cluster_dim", kernel.getCluster());
  return b.getArrayAttr(attributes);
}

static void changeFrame(tt::FuncOp function, ptx::KernelAttr kernel) {
  OpBuilder b(function);
  MLIRContext *context = b.getContext();
  SmallVector<Type> types;
  SmallVector<Attribute> argumentAttributes;
  for (Type type : function.getArgumentTypes()) {
    bool map = isa<ptx::TensorMapType>(type);
    types.push_back(map ? LLVM::LLVMPointerType::get(context) : type);
    // The 128 bytes themselves are the parameter. generatePtx adds nvvm.grid_constant. Without it, LLVM copies them to local memory,
    // which TMA cannot read.
    NamedAttribute byValue(b.getStringAttr("llvm.byval"), TypeAttr::get(LLVM::LLVMArrayType::get(b.getI8Type(), 128)));
    NamedAttribute align(b.getStringAttr("llvm.align"), b.getI64IntegerAttr(64));
    argumentAttributes.push_back(map ? b.getDictionaryAttr({byValue, align}) : b.getDictionaryAttr({}));
  }
  auto type = LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(context), types);
  auto lowered = LLVM::LLVMFuncOp::create(b, function.getLoc(), function.getName(), type);
  lowered.setCConv(LLVM::CConv::PTX_Kernel);
  lowered.setPassthroughAttr(launchAttributes(b, kernel));
  lowered.setArgAttrsAttr(b.getArrayAttr(argumentAttributes));
  lowered.getBody().takeBody(function.getBody());
  lowered.walk([](tt::ReturnOp op) {
    OpBuilder at(op);
    LLVM::ReturnOp::create(at, op.getLoc(), ValueRange{});
    op.erase();
  });
  function.erase();
}

static LogicalResult lowerKernel(ModuleOp module, tt::FuncOp function, const GpuTarget &target) {
  auto kernel = function->getAttrOfType<ptx::KernelAttr>(ptx::kernelName);
  if (!kernel) return bug(function, "it has no number of threads");
  if (function.isExternal() || !function.getResultTypes().empty()) return bug(function, "a kernel has a body and no results");
  if (kernel.getThreads() <= 0 || kernel.getThreads() > target.threadsPerBlock || kernel.getThreads() % 32)
    return bug(function, "a CTA has whole warps, not " + std::to_string(kernel.getThreads()) + " threads");
  if (kernel.getCluster() > 1 && !target.clusters)
    return refuse(function, Diag::noClusters, {std::to_string(kernel.getCluster()), target.name});
  if (failed(checkArguments(function))) return failure();
  if (gpu::findOtherCtaGroup(function)) return bug(function, "all tcgen05 operations of a kernel have one cta_group");
  for (BlockArgument argument : function.getBody().getArguments())
    if (isa<ptx::TensorMapType>(argument.getType())) argument.setType(LLVM::LLVMPointerType::get(module.getContext()));
  if (failed(lowerPtx(module, function, target))) return failure();
  changeFrame(function, kernel);
  return success();
}

LogicalResult lowerPtxToLlvm(ModuleOp module, const GpuTarget &target) {
  SmallVector<tt::FuncOp> functions(module.getOps<tt::FuncOp>());
  for (tt::FuncOp function : functions)
    if (failed(lowerKernel(module, function, target))) return failure();
  module.walk([](scf::ForOp loop) { loop->setAttr(tt::kernelLoopName, UnitAttr::get(loop.getContext())); });
  return lowerToLlvm(module);
}

} // namespace tilewright
