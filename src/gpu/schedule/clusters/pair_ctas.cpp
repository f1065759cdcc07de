// Two CTAs of a cluster that multiply rows of their own by the same columns do that together (tcgen05.mma with cta_group::2). Each copies
// its half of the columns, and the tensor cores of both read both halves:
//   before: %b = descriptor_load %map[%k, %n] : 256x64                store %b, %q    %d = mma_async %p, %q, %c : 128x64 * 64x256
//   after:  %b = descriptor_load %map[%k, %n + rank * 128] : 128x64   store %b, %q    %d = mma_async %p, %q, %c {paired}
// A CTA alone waits for its shared memory: for 128x256 sums and 128 bytes of K, TMA writes and the MMA reads 128 + 256 rows, at 128 bytes a
// cycle (768 cycles). A pair writes and reads 128 + 128 rows in each CTA, as fast as tensor cores multiply (512 cycles). With more rows a
// CTA alone still takes longer (docs/stages/gpu_cta_pairs.md), so every pair that is possible pays. An MMA of a pair needs partitions: a
// warp of the first CTA multiplies for both, when the copies of both have reported to its mbarriers. Of block scales, each CTA copies those
// of its rows of A, and those of all columns of B. All MMAs of a kernel are those of pairs, or none is. Whether the partitions are
// possible, the steps up to place-accumulators show for a copy of the kernel.
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"
#include "gpu/schedule/buffers.h"
#include "gpu/schedule/clusters/attempt.h"
#include "gpu/schedule/loops/multicast.h"
#include "gpu/schedule/mma_loops.h"
#include "gpu/schedule/stage_index.h"
#include "gpu/ttg/buffer_accesses.h"
#include "gpu/ttg/copied_boxes.h"
#include "support/gpu_hardware.h"
#include "support/result.h"
#include "support/target.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/BuiltinOps.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

constexpr int64_t ctasOfPair = 2;

/// The second operand of MMAs, of which each CTA copies one half.
struct Columns {
  ttg::DescriptorLoadOp load;
  size_t dim = 0;       ///< of the loaded tile: the columns
  ttg::BufferType half; ///< the buffer of one half
};

class Pairer {
public:
  Pairer(tt::FuncOp function, ttg::ConfigAttr config) : function(function), config(config) {}

  /// Finds the operands that are halved. The failure says why the CTAs do not multiply together.
  Result<void> plan() {
    function.walk([&](ttg::MmaAsyncOp mma) { mmas.push_back(mma); });
    if (function->hasAttr(ttg::operandRegistersName)) return Failure{"threads compute an operand"};
    for (ttg::MmaAsyncOp mma : mmas) {
      if (Result<void> fits = check(mma); !fits) return fits;
      Result<Columns> columns = columnsOf(mma);
      if (!columns) return Failure{columns.error()};
      operands[allocOf(mma.getB())] = *columns;
      if (!mma.getScales()) continue;
      for (Value scales : {Value(mma.getAScale()), Value(mma.getBScale())})
        if (!isCopiedByTma(allocOf(scales))) return Failure{"the scales of a dot are not copied by TMA"};
    }
    return {};
  }

  void apply() {
    OpBuilder b(function.getContext());
    b.setInsertionPointToStart(&function.getBody().front());
    Value rank = ptx::ClusterRankOp::create(b, function.getLoc(), b.getI32Type());
    for (auto &[alloc, columns] : operands)
      halve(cast<ttg::AllocOp>(alloc), columns, rank);
    for (ttg::MmaAsyncOp mma : mmas)
      mma.setPaired(true);
  }

private:
  Result<void> check(ttg::MmaAsyncOp mma) {
    ArrayRef<int64_t> shape = cast<RankedTensorType>(mma.getD().getType()).getShape();
    if (!isa<ttg::BufferType>(mma.getA().getType())) return Failure{"a dot's first operand is not in shared memory"};
    if (!isFilledByTma(allocOf(mma.getA()))) return Failure{"a dot's first operand is not copied by TMA"};
    if (shape[0] < tcgen05MinRows) return Failure{"a CTA has fewer than 64 rows of a dot"};
    if (mma.getScales() && shape[0] < tensorMemoryLanes) return Failure{"a CTA has fewer than 128 rows of a dot with block scales"};
    if (shape[1] > tcgen05MaxColumns || shape[1] < ctasOfPair * tcgen05ColumnStep)
      return Failure{"a dot has fewer than 32 columns, or more than 256"};
    // The warps that load sums of 64 rows have half of the columns each.
    if (shape[0] < tensorMemoryLanes && shape[1] / 2 < tcgen05ColumnStep * config.getWarps() / warpsOfGroup)
      return Failure{"a CTA has 64 rows of a dot, and too few columns for its warps"};
    return {};
  }

  /// The bit of an offset that only says in which half of the extent along `dim` an element is.
  static std::optional<size_t> bitOfHalf(const SharedLayout &layout, size_t dim) {
    Dims middle(layout.shape.size(), 0);
    middle[dim] = layout.shape[dim] / ctasOfPair;
    auto isOfLaterHalf = [&](uint32_t basis) { return coordinatesOf(layout.shape, basis)[dim] >= middle[dim]; };
    const auto *found = llvm::find(ArrayRef(layout.bases), flatOf(layout.shape, middle));
    if (middle[dim] == 0 || llvm::count_if(layout.bases, isOfLaterHalf) != 1 || found == ArrayRef(layout.bases).end()) return std::nullopt;
    return static_cast<size_t>(found - layout.bases.data());
  }

  /// The layout of the first half along `dim`, with the padding of the whole; nothing if the halves are interleaved.
  static std::optional<SharedLayout> firstHalf(const SharedLayout &layout, size_t dim) {
    std::optional<size_t> bit = bitOfHalf(layout, dim);
    if (!bit) return std::nullopt;
    SharedLayout half{layout.shape, {}, layout.elementBits};
    half.shape[dim] /= ctasOfPair;
    for (auto [number, basis] : llvm::enumerate(layout.bases))
      if (number != *bit) half.bases.push_back(flatOf(half.shape, coordinatesOf(layout.shape, basis)));
    return half;
  }

  static ttg::BufferType withLayout(ttg::BufferType type, const SharedLayout &layout) {
    return ttg::BufferType::get(type.getDepth(), type.getElementType(), layout);
  }

  /// The buffer of one half of the columns, which TMA and the MMA can use; null if there is none.
  static ttg::BufferType halfOf(ttg::BufferType type, size_t dim, ArrayRef<int32_t> order) {
    SharedLayout layout = type.getLayout().layout();
    std::optional<TileSwizzle> swizzle = spanOf(layout);
    if (!swizzle && !layout.isBijection()) { // it has padding
      std::optional<SharedLayout> half = firstHalf(layout, dim);
      ttg::BufferType made = half ? withLayout(type, *half) : ttg::BufferType();
      return made && boxOf(made, order) ? made : ttg::BufferType();
    }
    if (!swizzle || swizzle->spanBytes == 0) return {};
    Dims shape = layout.shape;
    shape[dim] /= ctasOfPair;
    SharedLayout half = SharedLayout::swizzled(shape, layout.elementBits, swizzle->spanBytes, swizzle->order);
    std::optional<TileSwizzle> narrow = spanOf(half);
    ttg::BufferType made = withLayout(type, half);
    return narrow && narrow->spanBytes != 0 && boxOf(made, order) ? made : ttg::BufferType();
  }

  /// The dimension of the buffer's tile that is the columns of the MMA. A view with padding tells by the bit of its halves.
  static std::optional<size_t> columnsDimOf(ttg::MmaAsyncOp mma) {
    auto view = mma.getB().getDefiningOp<ttg::ViewOp>();
    if (!view) return 1;
    if (!view.getOrder().empty()) return static_cast<size_t>(view.getOrder()[1]);
    SharedLayout seen = view.getType().getLayout().layout(), stored = view.getBuffer().getType().getLayout().layout();
    std::optional<size_t> bit = bitOfHalf(seen, 1);
    for (size_t dim = 0; bit && dim < stored.shape.size(); ++dim)
      if (bitOfHalf(stored, dim) == bit) return dim;
    return std::nullopt;
  }

  static ttg::DescriptorLoadOp loadOf(ttg::StoreSharedOp store) { return store.getSrc().getDefiningOp<ttg::DescriptorLoadOp>(); }

  bool isFilledByTma(ttg::AllocOp alloc) {
    return llvm::all_of(writersIn(function, alloc), [](Operation *writer) {
      auto store = dyn_cast<ttg::StoreSharedOp>(writer);
      return store && loadOf(store);
    });
  }

  bool isCopiedByTma(ttg::AllocOp alloc) {
    return isFilledByTma(alloc) && llvm::all_of(accessesOf(alloc), llvm::IsaPred<ttg::StoreSharedOp, ttg::MmaAsyncOp>);
  }

  Result<Columns> columnsOf(ttg::MmaAsyncOp mma) {
    ttg::AllocOp alloc = allocOf(mma.getB());
    ttg::StoreSharedOp store;
    Columns columns;
    std::optional<size_t> dim = columnsDimOf(mma);
    if (!dim) return Failure{"a dot's second operand is stored in another order"};
    columns.dim = *dim;
    for (Operation *access : accessesOf(alloc)) {
      auto reader = dyn_cast<ttg::MmaAsyncOp>(access);
      auto writer = dyn_cast<ttg::StoreSharedOp>(access);
      bool isColumns = reader && allocOf(reader.getA()) != alloc && columnsDimOf(reader) == columns.dim;
      if (!isColumns && (!writer || store)) return Failure{"a dot's second operand has another use"};
      if (writer) store = writer;
    }
    columns.load = store ? loadOf(store) : ttg::DescriptorLoadOp();
    if (!columns.load || !columns.load->hasOneUse() || columns.load->getBlock() != mma->getBlock())
      return Failure{"a dot's second operand is not copied by TMA"};
    if (!alloc.getCopiedExtent().empty()) return Failure{"a dot's second operand is padded"};
    if (!isSameInAllCtas(columns.load)) return Failure{"the CTAs may have other columns, or another number of iterations"};
    columns.half = halfOf(alloc.getType(), columns.dim, columns.load.getOrder());
    if (!columns.half) return Failure{"half of the columns are fewer than TMA or an MMA needs"};
    return columns;
  }

  void halve(ttg::AllocOp alloc, const Columns &columns, Value rank) {
    ttg::DescriptorLoadOp load = columns.load;
    OpBuilder b(load.getContext());
    b.setInsertionPointAfterValue(rank);
    int64_t extent = columns.half.getShape()[columns.dim];
    Value first = arith::MulIOp::create(b, load.getLoc(), rank, i32Constant(b, load.getLoc(), extent));
    b.setInsertionPoint(load);
    auto along = static_cast<unsigned>(llvm::find(load.getOrder(), static_cast<int32_t>(columns.dim)) - load.getOrder().begin());
    OpOperand &coordinate = load.getCoordinatesMutable()[along];
    coordinate.set(arith::AddIOp::create(b, load.getLoc(), coordinate.get(), first));
    Dims order(load.getOrder().begin(), load.getOrder().end());
    Dims shape(columns.half.getShape().begin(), columns.half.getShape().end());
    auto layout = ttg::LayoutAttr::get(b.getContext(), Layout::coalesced(shape, 1, config.getWarps(), order));
    auto tile = cast<RankedTensorType>(load.getType());
    load.getResult().setType(RankedTensorType::get(shape, tile.getElementType(), layout));
    alloc.getResult().setType(columns.half);
    for (Operation *user : alloc.getResult().getUsers())
      if (auto view = dyn_cast<ttg::ViewOp>(user)) {
        Dims viewed(view.getOrder().begin(), view.getOrder().end());
        SharedLayout half =
            viewed.empty() ? *firstHalf(view.getType().getLayout().layout(), 1) : columns.half.getLayout().layout().transposed(viewed);
        view.getResult().setType(withLayout(view.getType(), half));
      }
  }

  tt::FuncOp function;
  ttg::ConfigAttr config;
  SmallVector<ttg::MmaAsyncOp> mmas;
  llvm::MapVector<Operation *, Columns> operands; // by buffer
};

} // namespace

/// Pairs the CTAs of a copy of the kernel. False if that is impossible.
static bool pair(tt::FuncOp copy, ttg::ConfigAttr config) {
  Pairer pairer(copy, config);
  if (!pairer.plan()) return false;
  pairer.apply();
  return true;
}

static LogicalResult pairCtas(tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) {
  llvm::SetVector<Location> loops = locationsOfMmaLoops(function);
  if (!target.tcgen05 || !target.ctaPairs || config.getCtas() != ctasOfPair || loops.empty()) return success();
  Pairer pairer(function, config);
  Result<void> planned = pairer.plan();
  if (planned) {
    FailureOr<Attempt> paired = attempt(function, {config, target}, [&](tt::FuncOp copy) { return pair(copy, config); });
    if (failed(paired)) return failure();
    planned = paired->mmaWarp;
  }
  if (planned) pairer.apply();
  std::string text = planned ? "the two CTAs multiply together (cta_group::2), and each copies half of the second operand"
                             : "each CTA multiplies by itself: " + planned.error();
  remarkOnLoops(function, "pair-ctas", loops, text);
  return success();
}

LogicalResult pairCtas(ModuleOp module) {
  return ttg::onKernelsWithLayouts(
      module, [](tt::FuncOp function, ttg::ConfigAttr config, const GpuTarget &target) { return pairCtas(function, config, target); });
}

} // namespace tilewright::gpu
