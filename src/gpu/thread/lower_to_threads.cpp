// A kernel in terms of tiles becomes the program of one thread:
//   before: %z = arith.addf %x, %y : tensor<256xf32, #a>      where #a gives each of 128 threads two elements
//   after:  %z0 = arith.addf %x0, %y0 : f32                   %z1 = arith.addf %x1, %y1 : f32
// Layouts say which thread holds which element, and each operation is lowered according to its types and its properties.
#include "gpu/cost_model/choose_occupancy.h"
#include "gpu/machine/ptx_attributes.h"
#include "gpu/passes.h"
#include "gpu/thread/control_flow.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/math.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu {

static const LoweringTable &loweringTable() {
  static const LoweringTable table = [] {
    LoweringTable made;
    for (auto *add : {addControlFlowLowerings, addProgramLoopLowerings,  addPartitionLowerings, addShapeLowerings,  addElementLowerings,
                      addMathLowerings,        addSmallFloatLowerings,   addMemoryLowerings,    addAtomicLowerings, addBufferLowerings,
                      addSharedTileLowerings,  addBarrierLowerings,      addTmaLowerings,       addMmaLowerings,    addScaledDotLowerings,
                      addWgmmaLowerings,       addTensorMemoryLowerings, addTcgen05Lowerings,   addFmaDotLowerings, addConvertLowerings,
                      addReductionLowerings,   addScanLowerings,         addGatherLowerings,    addDebugLowerings})
      add(made);
    return made;
  }();
  return table;
}

/// Instructions of one thread stay, with the scalars of their operands.
static LogicalResult lowerInstruction(ThreadContext &t, Operation *op) {
  IRMapping scalars;
  for (Value operand : op->getOperands())
    scalars.map(operand, t.getScalar(operand));
  Operation *copy = t.b.clone(*op, scalars);
  for (auto [result, scalar] : llvm::zip(op->getResults(), copy->getResults()))
    t.set(result, {scalar});
  return success();
}

LogicalResult lowerOp(ThreadContext &t, Operation *op) {
  if (Lowering lowering = loweringTable().lookup(op->getName().getTypeID())) return lowering(t, op);
  StringRef dialect = op->getName().getDialectNamespace(), name = op->getName().getStringRef();
  if (dialect == "math") return lowerMath(t, op);
  if ((dialect == "arith" || dialect == "ub") && op->getNumResults() == 1) return lowerElementwise(t, op);
  if (dialect == "ptx") return lowerInstruction(t, op);
  if (name == "llvm.intr.assume") return success();
  return refuse(op, Diag::notOnGpus, {"'" + name.str() + "'", ""});
}

/// Prefetches the tensor maps. TMA reads a map from memory before its first copy; the prefetch overlaps this with the first address
/// computation.
static void prefetchMaps(ImplicitLocOpBuilder &b, Value thread, ValueRange arguments) {
  SmallVector<Value> maps = llvm::filter_to_vector(arguments, [](Value argument) { return isa<ptx::TensorMapType>(argument.getType()); });
  if (maps.empty()) return;
  Value zero = arith::ConstantOp::create(b, b.getI32IntegerAttr(0));
  auto first = scf::IfOp::create(b, arith::CmpIOp::create(b, arith::CmpIPredicate::eq, thread, zero), /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(first.thenBlock());
  for (Value map : maps)
    ptx::PrefetchTensorMapOp::create(b, map);
}

/// True if accumulators of wgmma become 16-bit floats in pairs: one by one, ptxas would pair the conversions itself. It then sees a use of
/// the accumulators between the MMAs, and serializes them (C7514, in kernels that reallocate registers between warps).
static bool pairsConversions(tt::FuncOp kernel) {
  bool multiplies = false, reallocatesRegisters = false;
  kernel.walk([&](Operation *op) {
    multiplies |= isa<ptx::WgmmaOp>(op);
    reallocatesRegisters |= isa<ptx::MaxRegistersOp>(op);
  });
  return multiplies && reallocatesRegisters;
}

static KernelProperties propertiesOf(tt::FuncOp kernel, ttg::WarpSpecializeOp partitions, ttg::ConfigAttr config, const GpuTarget &target) {
  KernelProperties properties{config, target};
  if (auto allocated = kernel->getAttrOfType<IntegerAttr>(ttg::sharedBytesName)) properties.sharedBytes = allocated.getInt();
  properties.allWarps = config.getWarps();
  if (partitions)
    for (int64_t warps : partitions.getPartitionNumWarps())
      properties.allWarps += warps;
  properties.usesTensorMemory = !kernel.getBody().getOps<ttg::TensorAllocOp>().empty();
  return properties;
}

static LogicalResult lowerFunction(tt::FuncOp source, ttg::ConfigAttr config, const GpuTarget &target) {
  Block &body = source.getBody().front();
  ttg::WarpSpecializeOp partitions = ttg::partitionsAtEnd(source);
  ThreadContext t(source.getLoc(), propertiesOf(source, partitions, config, target));
  SmallVector<Type> arguments;
  for (Type type : source.getArgumentTypes()) {
    if (isa<tt::TensorDescType>(type)) return bug(source, "one of its arguments is a tensor descriptor that was not expanded");
    if (isa<RankedTensorType>(type)) return bug(source, "one of its arguments is a tile");
    arguments.push_back(scalarType(type));
  }
  t.b.setInsertionPoint(source);
  auto lowered = tt::FuncOp::create(t.b, source.getName(), t.b.getFunctionType(arguments, {}));
  Block *entry = t.b.createBlock(&lowered.getBody(), {}, arguments, SmallVector<Location>(arguments.size(), source.getLoc()));
  t.threads.index = ptx::ThreadIdOp::create(t.b, t.b.getI32Type());
  t.threads.lane = ptx::LaneIdOp::create(t.b, t.b.getI32Type());
  t.threads.warp = ptx::WarpIdOp::create(t.b, t.b.getI32Type());
  for (auto [from, to] : llvm::zip(body.getArguments(), entry->getArguments()))
    t.set(from, {to});
  prefetchMaps(t.b, t.threads.index, entry->getArguments());
  if (failed(lowerBlock(t, body)) || !t.isComplete()) {
    lowered.erase();
    return failure();
  }
  tt::ReturnOp::create(t.b, ValueRange());
  lowered.setVisibility(source.getVisibility());
  for (unsigned i = 0; i < source.getNumArguments(); ++i)
    if (Attribute recipe = source.getArgAttr(i, ttg::tensorMapName)) lowered.setArgAttr(i, ttg::tensorMapName, recipe);
  int64_t warps = partitions ? partitions.firstWarp(config.getWarps(), partitions.getPartitions().size()) : config.getWarps();
  int64_t minCtas = partitions ? minCtasWithPartitions(partitions, config, target, t.kernel.sharedBytes) : 0;
  lowered->setAttr(ptx::kernelName,
                   ptx::KernelAttr::get(t.b.getContext(), warps << laneBits, t.kernel.sharedBytes, config.getCtas(),
                                        config.getMaxRegisters(), minCtas, /*tryMoreCtas=*/false, pairsConversions(lowered)));
  if (Attribute guards = source->getAttr(ttg::guardsName)) lowered->setAttr(ttg::guardsName, guards);
  source.erase();
  return success();
}

LogicalResult lowerToThreads(ModuleOp module) {
  return ttg::onKernelsWithLayouts(module, lowerFunction);
}

} // namespace tilewright::gpu
