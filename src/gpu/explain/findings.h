// What explain has found in a kernel so far. Each part of this folder collects remarks from one stage of the pipeline, while the operations
// exist, and explain.cpp makes an explanation of them:
//     tiles.cpp       after configure and assign-layouts: tiles, accesses to memory, dots, reductions
//     buffers.cpp     after allocate-shared: copies, buffers in shared memory, conversions; after specialize-warps: partitions
//     loops.cpp       after allocate-shared: the software pipelines of loops
#pragma once

#include "gpu/explain/explain.h"
#include "gpu/explain/layouts.h"
#include "gpu/tiles/axis_info.h"
#include "support/target.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::gpu {

/// A remark about an operation. Later steps find the operation again by its location.
struct FoundRemark {
  mlir::Location location;
  std::string text;
};

/// An access to memory.
struct FoundAccess {
  mlir::Location location;
  std::string text;        ///< "128x64 f16 from x_ptr in L7: ..."
  double waste = 1;        ///< the sectors that it takes, compared with those that would suffice
  std::string copies = {}; ///< what TMA or cp.async copies, and how far ahead: steps after assign-layouts decide that
};

/// Where a dot reads an operand. A dequantize partition decides later than assign-layouts.
enum class OperandStorage { shared, registers, tensorMemory, dequantizedInRegisters };

/// How a dot is computed.
struct FoundDot {
  mlir::Location location;
  std::string tiles;                         ///< the types of its operands and its result
  std::string instruction;                   ///< "wgmma m64n256k16"
  std::string reason;                        ///< why there is no better instruction; "" for the best one
  std::string split;                         ///< across the CTAs of a cluster
  OperandStorage a = OperandStorage::shared; ///< of the first operand
  OperandStorage b = OperandStorage::shared; ///< of the second one
  bool hasScales = false;                    ///< stored like the operands
  int64_t firstColumns = 0, columns = 0;     ///< of A: the MMA starts when the first ones are stored; 0: when all are
};

struct Explainer::Impl {
  std::string name, file, heading;
  int64_t sharedMax = 0;
  TileLayouts tiles;
  std::vector<Timeline> timelines;
  llvm::DenseMap<mlir::Location, std::string> steps; ///< strides of the pointers of an access
  std::vector<FoundDot> dots;
  std::vector<FoundAccess> accesses;
  std::vector<FoundRemark> reductions, loops, conversions, buffers;

  SourceLine lineOf(mlir::Location location) const { return sourceLineOf(location, file); }

  // ---- tiles.cpp
  void seeAddresses(tt::FuncOp kernel);
  void seeTiles(tt::FuncOp kernel);
  // ---- buffers.cpp
  void seeMachine(tt::FuncOp kernel);
  void seePartitions(tt::FuncOp kernel);
  // ---- loops.cpp
  void seeLoop(mlir::scf::ForOp loop);

private:
  void nameLayouts(tt::FuncOp kernel);
  void seeDot(tt::DotOp dot);
  void seeScaledDot(tt::DotScaledOp dot);
  void seeReduction(tt::ReduceOp reduce);
  void seeAccess(mlir::Operation *op, const AxisAnalysis &axes);
  void seeSectors(FoundAccess &found, mlir::Operation *op, mlir::Value pointers, mlir::Value mask, const AxisAnalysis &axes);
  void seeOperand(ttg::MmaAsyncOp op);
  void seePart(ttg::Tcgen05MmaOp op);
  void seeConversion(ttg::ConvertLayoutOp op, const GpuTarget &target);
  void seeBuffer(ttg::AllocOp op, const GpuTarget &target);
  void seeTimeline(mlir::scf::ForOp loop, int64_t stages);
};

/// Returns the pass's remarks about an operation after "; ", or "".
std::string remarkText(mlir::Operation *op, llvm::StringRef pass);
/// Returns how the CTAs of a cluster split the tile of an operation; "" for one CTA.
std::string splitText(mlir::Operation *op);

} // namespace tilewright::gpu
