// What explain has found in a kernel so far. Each part of this folder records findings from one stage of the pipeline, while the operations
// exist. print.cpp makes texts of them. A reason, or a remark of a pass, is a text already.
//     tiles.cpp    after configure and assign-layouts: tiles, accesses to memory, dots, reductions
//     buffers.cpp  after allocate-shared: copies, buffers in shared memory, conversions; after specialize-warps: partitions
//     loops.cpp    after allocate-shared: the software pipelines of loops
#pragma once

#include "gpu/explain/explain.h"
#include "gpu/explain/layouts.h"
#include "gpu/tiles/axis_info.h"
#include "support/target.h"

#include "llvm/ADT/STLFunctionalExtras.h"

namespace tilewright::gpu {

/// How a warp accesses a buffer in shared memory.
struct BankAccess {
  bool asMatrices = false; ///< of 8x8 elements, by ldmatrix or stmatrix
  bool transposed = false;
  int64_t bytes = 0;           ///< that a thread accesses at a time, otherwise
  int64_t extraWavefronts = 0; ///< for bank conflicts
};

//===-------------------------------------------------------------------------------------------------------------------- accesses to memory

/// The sectors of 32 bytes that one access of a warp takes.
struct AccessSectors {
  size_t layout = 0;    ///< in TileLayouts
  int64_t accesses = 0; ///< of a thread
  int64_t bytes = 0;    ///< of one access of a thread
  int64_t warpBytes = 0, sectors = 0;
  int64_t neededSectors = 1;
  bool isUnaligned = false; ///< threads load aligned words, and shift them
  bool isNarrowed = false;  ///< a wider access would need one mask value for all its elements
  bool isCoalesced() const { return sectors <= neededSectors; }
  /// Of an access that is not coalesced.
  double waste() const { return static_cast<double>(sectors) / static_cast<double>(neededSectors); }
};

/// How a tile gets to or from shared memory, or to registers early.
struct Transfer {
  enum class By { tma, copyAsync, registers, none } by = By::tma;
  ttg::TensorMapAttr map{};        ///< of TMA; null if it is not known
  std::optional<int64_t> stages{}; ///< of the buffer that it fills
  std::string obstacle{};          ///< why no asynchronous copy prefetches what a load reads
  std::string remarks{};           ///< of passes
  bool multicasts = false;
  bool isCarried = false; ///< by a loop, which loads it to registers an iteration early
};

struct FoundAccess {
  enum class Direction { load, store, atomic, add, combine };
  mlir::Location location;
  mlir::Type tile;
  Direction direction;
  std::string base{}; ///< the argument; "": a tensor map that is not complete yet
  std::optional<AccessSectors> sectors{};
  std::string strides{};              ///< of the pointers, where sectors are wasted
  std::string remarks{};              ///< of passes: how CTAs split it, why there is no tensor map
  std::optional<Transfer> transfer{}; ///< steps after assign-layouts decide it
};

//===---------------------------------------------------------------------------------------------------------------------------------- dots

/// Where a dot reads an operand. A dequantize partition decides later than assign-layouts.
enum class OperandStorage { shared, registers, tensorMemory, dequantizedInRegisters };

struct DotOperand {
  mlir::Type tile;
  int64_t rows = 0, columns = 0;                ///< with a format: of the numbers that the tile holds
  std::optional<tt::ScaleDotElemType> format{}; ///< of a dot with scales
  OperandStorage storage = OperandStorage::shared;
};

/// How a dot is computed.
struct FoundDot {
  mlir::Location location;
  DotOperand a, b;
  mlir::Type result;
  MmaInstruction instruction{};
  std::string reason{};                  ///< why there is no better instruction; "" for the best one
  std::string remarks{};                 ///< of passes: how the CTAs of a cluster split it
  bool hasScales = false;                ///< stored like the operands
  int64_t firstColumns = 0, columns = 0; ///< of A: the MMA starts when the first ones are stored; 0: when all are
};

//===------------------------------------------------------------------------------------------------------ reductions, loops, shared memory

/// A reduction or a scan.
struct FoundReduction {
  mlir::Location location;
  mlir::Type tile;
  size_t layout = 0; ///< in TileLayouts
  int64_t dim = 0;
  bool isScan = false;
  bool converts = false;                         ///< to another layout, which the rest does not describe
  int64_t elements = 1, shuffles = 0, steps = 0; ///< of a thread, and of a warp
  int64_t warps = 1;                             ///< that exchange through shared memory
  std::string remarks{};                         ///< of passes: how the CTAs of a cluster split it
};

/// A loop with a schedule.
struct FoundLoop {
  struct Buffer {
    mlir::Type tile;
    bool byTma = false;
  };
  mlir::Location location;
  int64_t stages = 1, requested = 1;
  int64_t computedStages = 0;    ///< buffers for operands that the loop's threads compute; 0 for one or none
  std::vector<Buffer> buffers{}; ///< circular ones, which copies fill
  int64_t stageBytes = 0;        ///< of all these
  std::string reason{};          ///< why there are fewer stages than requested
  int64_t dotsInFlight = 0;
  std::string remarks{}; ///< of passes
  bool crossTile = false, shiftsMma = false;
  bool loadsEarly = false;    ///< it carries tiles that it loads to registers an iteration early
  bool storesLoaded = false;  ///< it stores tiles that it loads to registers in shared memory
  bool hasOtherLoads = false; ///< of tiles to registers
};

struct FoundConversion {
  mlir::Location location;
  mlir::Type tile;
  size_t from = 0, to = 0;              ///< layouts
  std::optional<ShufflePlan> shuffle{}; ///< within warps
  int64_t scratchBytes = 0;             ///< of shared memory; 0, without a shuffle: between CTAs
  BankAccess write{}, read{};
};

struct FoundBuffer {
  enum class Order { padded, reordered, chunks, span };
  struct Access {
    std::string what; ///< "read by TMA"
    std::optional<size_t> layout{};
    std::optional<BankAccess> shared{};
  };
  mlir::Location location;
  mlir::Type tile;
  int64_t stages = 1, bytes = 0;
  std::optional<int64_t> offset{};
  Order order = Order::span;
  int64_t swizzleBytes = 0;     ///< of a span; 0: not swizzled
  std::optional<int64_t> dim{}; ///< contiguous, if that is not the last one
  std::vector<Access> accesses{};
};

struct FoundPartition {
  int64_t warps = 0;
  const char *work = ""; ///< "copies"
};

//===-------------------------------------------------------------------------------------------------------------------------------- kernel

struct Explainer::Impl {
  std::string name, file;
  std::vector<std::string> argumentNames;
  int64_t warps = 0, stages = 0;
  std::string kernelRemarks, noWarpSpecialization;
  std::optional<GpuTarget> target;
  TileLayouts tiles;
  std::vector<Timeline> timelines;
  llvm::DenseMap<mlir::Location, std::string> strides; ///< of the pointers of an access
  llvm::DenseSet<ttg::RemarkAttr> taken;               ///< remarks that a finding has
  std::vector<FoundPartition> partitions;
  std::vector<FoundDot> dots;
  std::vector<FoundAccess> accesses;
  std::vector<FoundReduction> reductions;
  std::vector<FoundLoop> loops;
  std::vector<FoundConversion> conversions;
  std::vector<FoundBuffer> buffers;

  SourceLine lineOf(mlir::Location location) const { return sourceLineOf(location, file); }

  // ---- tiles.cpp
  void seeAddresses(tt::FuncOp kernel);
  void seeTiles(tt::FuncOp kernel);
  // ---- buffers.cpp
  void seeBuffers(tt::FuncOp kernel);
  void seePartitions(tt::FuncOp kernel);
  // ---- loops.cpp
  void seeLoop(mlir::scf::ForOp loop);
  // ---- print.cpp
  std::string heading() const;
  std::vector<RemarkSection> sections() const;

private:
  /// Returns the remarks of passes about an operation, each after "; ". Those that no finding takes are the kernel's.
  std::string takeRemarks(mlir::Operation *op);
  void nameLayouts(tt::FuncOp kernel);
  void seeDot(tt::DotOp dot);
  void seeScaledDot(tt::DotScaledOp dot);
  void seeReduction(tt::ReduceOp reduce);
  void seeAccess(mlir::Operation *op, const AxisAnalysis &axes);
  void seeScan(tt::ScanOp scan);
  void seeRegisterOperand(ttg::MmaAsyncOp op);
  void seeOperandParts(ttg::Tcgen05MmaOp op);
  std::optional<Transfer> transferBy(mlir::Operation *op);
  void seeTransfer(mlir::Operation *op);
  void seeConversion(ttg::ConvertLayoutOp op);
  void seeBuffer(ttg::AllocOp op);
  void seeTimeline(mlir::scf::ForOp loop, int64_t stages);
};

/// True if a loop loads the tile for its next iteration, which it carries it to.
bool isCarried(tt::LoadOp load);
/// True if the tile is stored in shared memory as it was loaded, also by a later iteration.
bool isStoredShared(tt::LoadOp load);

} // namespace tilewright::gpu
