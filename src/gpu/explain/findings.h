// What explain has found in a kernel so far. Each part of this folder collects remarks from one stage of the pipeline, while the operations
// exist, and explain.cpp makes an explanation of them:
//     tiles.cpp       after configure and assign-layouts: tiles, accesses to memory, dots, reductions
//     buffers.cpp     after allocate-shared: copies, buffers in shared memory, conversions; after specialize-warps: partitions
//     loops.cpp       after allocate-shared: the software pipelines of loops
#pragma once

#include "gpu/explain/explain.h"
#include "gpu/explain/layouts.h"
#include "gpu/tiles/axis_info.h"

#include "llvm/ADT/STLFunctionalExtras.h"

#include <map>

namespace tilewright::gpu {

/// A remark about an operation. Later steps find the operation again by its location.
struct FoundRemark {
  mlir::Location location;
  std::string text;
};

/// Where a dot reads an operand. A dequantize partition decides later than assign-layouts.
enum class OperandPlace { shared, registers, tensorMemory, dequantizedInRegisters };

/// How a dot is computed.
struct FoundDot {
  mlir::Location location;
  std::string tiles;                     ///< the types of its operands and its result
  std::string instruction;               ///< "wgmma m64n256k16"
  std::string reason;                    ///< why there is no better instruction; "" for the best one
  std::string split;                     ///< across the CTAs of a cluster
  OperandPlace a = OperandPlace::shared; ///< of the first operand
  OperandPlace b = OperandPlace::shared; ///< of the second one
  bool hasScales = false;                ///< in the same place as the operands
  int64_t firstColumns = 0, columns = 0; ///< of A: the MMA starts when the first ones are stored; 0: when all are
};

struct Explainer::Impl {
  std::string name, file, heading;
  int64_t sharedMax = 0, stagesWanted = 0;
  TileLayouts tiles;
  std::vector<Timeline> timelines;
  std::vector<AccessWaste> waste;
  std::map<std::pair<SourceLine, std::string>, std::string> steps; // strides of the pointers of a line to an argument
  std::vector<FoundDot> dots;
  std::vector<FoundRemark> accesses, reductions, loops, conversions, buffers;

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
  void visitDot(tt::DotOp dot);
  void visitScaledDot(tt::DotScaledOp dot);
  void seeReduction(tt::ReduceOp reduce);
  void seeAccess(mlir::Operation *op, const AxisAnalysis &axes);
  std::string accessText(mlir::Operation *op, mlir::Value pointers, mlir::Value mask, const AxisAnalysis &axes);
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
