// Layouts of tiles as linear maps over F2 (Zhou et al., "Linear Layouts", 2025).
//
// The extents of a tile are powers of two. An element's name is its flat row-major index. So the coordinates are bit fields of the index,
// and XOR of indices is XOR of coordinates. A distributed layout maps each bit of (register, lane, warp) to the index bits that it
// adds:
//   16 x 8 accumulator of mma.sync: reg=[[0,1],[8,0]] lane=[[0,2],[0,4],[1,0],[2,0],[4,0]] warp=[]
//   register 3 of lane 5 = binary 11, 00101: [0,1]^[8,0]^[0,2]^[1,0] = row 9, column 3
// A shared layout does the same for the bits of an offset in shared memory. The compiler's questions (which registers can one store cover,
// which lanes must exchange data, are there bank conflicts) are linear algebra. All families of layouts share one implementation. This
// library does not use MLIR, so its layouts are plain values that can be tested alone.
#pragma once

#include "gpu/layout/map.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tilewright::gpu {

enum class Axis : uint8_t { reg, lane, warp };
inline constexpr std::array<Axis, 3> allAxes = {Axis::reg, Axis::lane, Axis::warp};
inline constexpr int64_t laneBits = 5;

/// Extents or coordinates, one per dimension; orders list dimensions, the fastest first.
using Dims = std::vector<int64_t>;

/// Returns the product of the extents.
int64_t elementCount(const Dims &shape);
/// Converts a flat row-major index to coordinates, and back.
Dims coordinatesOf(const Dims &shape, uint32_t flat);
uint32_t flatOf(const Dims &shape, const Dims &coordinates);
/// Returns {rank-1, ..., 0}: the last dimension is the fastest.
Dims rowMajorOrder(int64_t rank);

/// A register of a thread, which holds one element of a distributed tile.
struct HardwareLocation {
  int64_t reg = 0, lane = 0, warp = 0;
  bool operator==(const HardwareLocation &) const = default;
};

struct Halves;

/// A distributed layout: bits of (register, lane, warp) -> flat index. Layouts of values are canonical: no register basis depends on
/// other register bases (dropRepeatedRegisters). If a lane or warp basis is 0, the threads that differ in this bit hold copies.
/// Constructors and operations return canonical layouts. Extents and counts must be powers of two.
class Layout {
public:
  Dims shape;
  std::array<std::vector<uint32_t>, 3> bases; ///< bases[axis][bit]

  //------------------------------------------------------------------------------------------------------------------- constructors

  /// Takes the bases unchanged, without making them canonical.
  static Layout fromBases(Dims shape, std::array<std::vector<uint32_t>, 3> bases);
  /// Each thread has a block of sizePerThread; lanes and warps form grids; all are counted along `order`. A larger tile repeats the whole
  /// in additional registers (along `order`, too). A smaller tile is held in several copies. threadsPerWarp multiplies to 32.
  static Layout blocked(const Dims &shape, const Dims &sizePerThread, const Dims &threadsPerWarp, const Dims &warps, const Dims &order);
  /// Returns the blocked layout for memory access: `vector` elements a thread along order[0], then lanes, then warps fill along `order`.
  static Layout coalesced(const Dims &shape, int64_t vector, int64_t warps, const Dims &order);
  /// Accumulators of mma.sync m16n8 (32-bit). The last two dimensions are M and N, one before them is a batch. Warp bits: M's, then N's.
  static Layout mmaAccumulator(const Dims &shape, int64_t warpsM, int64_t warpsN);
  /// Operands of mma.sync: which 0 = A [.., M, K], 1 = B [.., K, N]. A thread holds kWidth adjacent elements along K: 32 / bits for the
  /// instruction (tf32: 1). Warps of the other dimension hold copies. Warp bits are those of mmaAccumulator. Registers of B repeat along N
  /// once, then along K: an ldmatrix of 16-bit elements reads 16 columns for one step along K. ptxas multiplies all columns of a step
  /// before the next step, so no words wait for that.
  static Layout mmaOperand(const Dims &shape, int64_t which, int64_t warpsM, int64_t warpsN, int64_t kWidth);
  /// Scales [rows, groups] of A (which 0, a row for each of M) or B (1, of N) of mma.sync with block scales. Row r of an instruction is in
  /// lane 4 * (r % 8) + r / 8 and the lane two after it. A thread holds all groups of its rows. Warp bits are those of mmaAccumulator.
  static Layout mmaScale(const Dims &shape, int64_t which, int64_t warpsM, int64_t warpsN);
  /// Returns the target bit for each bit of a column of mmaAccumulator and mmaOperand (B), if rows of B are contiguous along N. A thread
  /// then holds contiguous columns of two or four instructions. The bits of a lane's column avoid bank conflicts between rows of 32-bit
  /// elements with TMA's swizzle. Empty: one instruction has all columns of a warp.
  static std::vector<int64_t> adjacentColumns(int64_t columns, int64_t warpsN);
  /// Accumulators of wgmma m64nNk*, N = instrN. Warp groups split M first, then N in contiguous parts; the remainder repeats in registers,
  /// N first. Registers of one instruction are consecutive: instruction i of a thread uses registers from i * instrN / 2 on. instrN: a
  /// power of two from 8.
  static Layout wgmmaAccumulator(const Dims &shape, int64_t warps, int64_t instrN);
  /// Returns the columns of one wgmma of the accumulator [M, N] if `warps` split it as above: all columns of a warp group, at most 256.
  static int64_t wgmmaColumns(const Dims &shape, int64_t warps);
  /// Operand A [M, K] of wgmma in registers; repeats along K first, then M. For 16 bits it equals the accumulator layout of [M, K] unless
  /// warp groups split the latter's columns.
  static Layout wgmmaOperandA(const Dims &shape, int64_t warps, int64_t elementBits);
  /// Accumulators [M, N] of tcgen05.mma as warps load them from tensor memory: warp w of a warp group accesses lanes 32 w to 32 w + 31. M =
  /// 64 or a multiple of 128. A thread holds columns of one row of each 128 rows; of M = 64, lanes 16 to 31 hold later columns of the rows
  /// of lanes 0 to 15. Each warp group has rows of its own if there are 128 for each; further groups split the columns.
  static Layout tensorMemory(const Dims &shape, int64_t warps);

  //------------------------------------------------------------------------------------------------------------ layouts from layouts

  /// Removes register bits that only repeat other ones.
  Layout dropRepeatedRegisters() const;
  /// Projects the dimension away, like a reduction: threads along it hold copies.
  Layout withoutDim(int64_t dim) const;
  /// Moves register bits to lane bits of the mask, which hold copies: the last one to the lowest bit, and so on while registers remain.
  Layout withRegistersInLanes(uint64_t laneMask) const;
  /// Collapses the dimension to extent 1: the layout of a broadcast's source.
  Layout collapsedDim(int64_t dim) const;
  /// Inserts a dimension of extent 1 before dimension `dim`.
  Layout withUnitDim(int64_t dim) const;
  /// Returns the layout of a tile of another shape with the same flat indices.
  Layout reshaped(const Dims &newShape) const;
  /// Dimension i of the result is dimension order[i] of this.
  Layout transposed(const Dims &order) const;
  /// Permutes the bits of the last coordinate: bit i becomes bit `to[i]`. Sorts the registers by element.
  Layout withColumnBits(const std::vector<int64_t> &to) const;
  /// Adds a last dimension of extent 2 in the first register bit: registers 2r and 2r+1 are register r of the two halves.
  Layout joined() const;
  /// Returns the halves along a last dimension of extent 2, if a register bit alone distinguishes them.
  std::optional<Halves> splitHalves() const;
  /// Concatenates two tiles of this layout along `dim`: the registers of the first one, then those of the second one.
  Layout concatenated(int64_t dim) const;

  //------------------------------------------------------------------------------------------------------------------------- algebra

  int64_t bits(Axis axis) const { return static_cast<int64_t>(basesOf(axis).size()); }
  const std::vector<uint32_t> &basesOf(Axis axis) const { return bases[static_cast<size_t>(axis)]; }
  std::vector<uint32_t> &basesOf(Axis axis) { return bases[static_cast<size_t>(axis)]; }
  int64_t registersPerThread() const { return int64_t(1) << bits(Axis::reg); }
  /// Returns log2 of the number of elements.
  int64_t elementBits() const;

  /// Returns the element at a hardware location.
  uint32_t apply(const HardwareLocation &location) const;
  uint32_t apply(int64_t reg, int64_t lane, int64_t warp) const { return apply(HardwareLocation{reg, lane, warp}); }
  Dims coordinates(uint32_t flat) const { return coordinatesOf(shape, flat); }

  /// Returns all bits as one map: registers lowest, then lanes, warps.
  LinearMap map() const;
  /// Returns the hardware location of an input of map().
  HardwareLocation locationOf(uint64_t input) const;
  int64_t rank() const { return map().rank(); }
  /// True if every element is held by some register.
  bool isSurjective() const { return map().isSurjective(elementBits()); }
  /// Flat index -> the location that holds it with all free bits 0 (as an input of map(); see locationOf).
  LinearMap inverse() const { return map().pseudoInverse(elementBits()); }
  /// Returns the redundant bits of an axis: their basis is 0, or depends on earlier bits (in the order registers, lanes, warps).
  /// The locations with all free bits 0 hold every element exactly once: only these store.
  uint64_t freeMask(Axis axis) const;

  bool operator==(const Layout &) const = default;
};

struct Halves {
  Layout layout;           ///< of each half
  int64_t registerBit = 0; ///< the register bit that selects the half; without this bit, the register number is that of the half
};

/// Maps bits of the element offset in one buffer to a flat index: a bijection of the tile, but for bits of the offset whose basis is 0.
/// These are padding: an element is where they are 0. Elements have 8, 16, 32 or 64 bits (constructors round smaller ones up to 8).
class SharedLayout {
public:
  Dims shape;
  std::vector<uint32_t> bases;
  int64_t elementBits = 8;

  /// Returns the unswizzled order without padding, order[0] the fastest dimension.
  static SharedLayout rowMajor(const Dims &shape, int64_t elementBits, const Dims &order);
  /// Returns the layout that TMA writes and wgmma reads. The extent of order[0] is cut into blocks of `spanBytes`. A block is all rows of
  /// span bytes, packed. Inside it 16-byte chunks are permuted: byte offset bits 4^=7 (32), also 5^=8 (64), also 6^=9 (128). A span wider
  /// than the extent is reduced to the widest that fits; 0 (or an extent of less than 32 bytes) is rowMajor.
  static SharedLayout swizzled(const Dims &shape, int64_t elementBits, int64_t spanBytes, const Dims &order);
  /// Returns the order of the scales [rows, scales of a row] of an MMA with block scales, as tcgen05.cp reads them: blocks of 128 rows with
  /// 4 scales each, all of the first 128 rows first. In a block, rows r, r + 32, r + 64 and r + 96 are next to each other. One byte each;
  /// the rows are a multiple of 128, and the scales of a row one of 4.
  static SharedLayout scales(const Dims &shape);
  /// Dimension i of the result is dimension order[i] of this; the same bytes.
  SharedLayout transposed(const Dims &order) const;
  /// Returns the layout of a tile with half the extent along `dim`: its elements are those with 0 as this bit of their index along `dim`.
  /// The bytes of the other ones are padding.
  SharedLayout padded(int64_t dim, int64_t bit) const;

  int64_t elementBytes() const { return elementBits / 8; }
  int64_t bytes() const { return (int64_t(1) << bases.size()) * elementBytes(); }
  uint32_t apply(uint32_t elementOffset) const { return map().apply(elementOffset); }
  LinearMap map() const { return LinearMap{bases}; }
  /// Flat index -> element offset.
  LinearMap inverse() const { return map().pseudoInverse(static_cast<int64_t>(bases.size())); }
  bool isBijection() const;
  /// True if every element has its own offset; the other offsets are padding.
  bool isInjective() const;

  bool operator==(const SharedLayout &) const = default;
};

//===-------------------------------------------------------------------------------------------------- registers and conversions

/// Returns for each register of dst the register of src in the same thread with the same element in all threads, or nothing. Equal shapes.
std::vector<std::optional<int64_t>> sameThreadRegisters(const Layout &dst, const Layout &src);
/// As above, where element x of dst is element map(x) of src (broadcast, expand_dims, transpose); map must be linear over XOR.
std::vector<std::optional<int64_t>> sourceRegisters(const Layout &dst, const Layout &src, const std::function<uint32_t(uint32_t)> &map);

/// How a conversion moves data, from the cheapest to the most expensive way.
enum class Conversion : uint8_t {
  none,      ///< every register stays
  registers, ///< registers of a thread are renumbered: no instruction
  shuffle,   ///< inside warps: planShuffle
  shared     ///< through shared memory of the CTA: optimalScratch
};
Conversion classifyConversion(const Layout &src, const Layout &dst);

/// A conversion inside warps, in three steps.
///   1. Every thread permutes its registers: sent[s] = src[s ^ XOR of sendSelect[bit] over the set bits of (lane, warp)].
///      For each bit with a nonzero mask, sent'[s] = bit ? sent[s ^ mask] : sent[s] for all s.
///   2. Round: got[receive] = shfl.idx(sent[send], laneXor ^ XOR of laneFrom[bit] over the set bits of (lane, warp)); no shuffle if local.
///      Rounds are sorted by laneXor: adjacent narrow values with equal laneXor can share one 32-bit shuffle.
///   3. dst[r] = got[r ^ XOR of receiveSelect[bit] over the set bits of (lane, warp)], as in step 1.
/// Masks are listed for the lane bits, then the warp bits.
struct ShufflePlan {
  struct Round {
    int64_t send = 0, receive = 0;
    uint32_t laneXor = 0;
    bool local = false; ///< every lane reads from itself
  };
  std::vector<uint32_t> sendSelect, laneFrom, receiveSelect;
  std::vector<Round> rounds;   ///< one per register of dst
  bool butterfly = false;      ///< the source lane is lane ^ laneXor: shfl.bfly suffices
  int64_t shuffles() const;    ///< rounds that are not local
  int64_t selectCount() const; ///< nonzero masks of steps 1 and 3; each costs one select a register
};
/// Returns nothing if elements must cross warps, or if lanes would need several elements of one lane at once (some selections by warp).
std::optional<ShufflePlan> planShuffle(const Layout &src, const Layout &dst);

//===------------------------------------------------------------------------------------------- along dimensions: memory, reduction, scan

/// Returns how many consecutive registers hold consecutive, aligned elements along order[0] in every thread (1, 2, 4, ...).
int64_t contiguousRun(const Layout &layout, const Dims &order);

/// Bits of each axis that run along a dimension. Combine registers that differ in registerMask, then lanes (one butterfly shuffle per bit
/// of laneMask), then warps (through shared memory).
struct ReductionPlan {
  uint64_t registerMask = 0, laneMask = 0, warpMask = 0;
  Layout result; ///< withoutDim(dim): its registers are those whose bits of registerMask are 0, in order
};
/// Returns nothing if a bit runs along the dimension and another one at once, or if copies along it would be counted twice: convert first.
std::optional<ReductionPlan> reductionPlan(const Layout &layout, int64_t dim);

struct AxisBit {
  Axis axis = Axis::reg;
  int64_t bit = 0;
  bool operator==(const AxisBit &) const = default;
};
/// Returns the axis bit that holds each bit of the coordinate along a dimension, lowest first: a scan combines them in this order. Returns
/// nothing unless exactly one axis bit holds each, and moves nothing else.
std::optional<std::vector<AxisBit>> scanOrder(const Layout &layout, int64_t dim);

//===------------------------------------------------------------------------------------------------------------- shared memory

/// Byte offsets that each bit of the location adds, by XOR: shared^-1 o layout.
using OffsetBases = std::array<std::vector<uint32_t>, 3>;
OffsetBases offsetBases(const Layout &layout, const SharedLayout &shared);
/// Returns the register bits that may be added (as immediates) instead of XORed. They share no offset bit with lanes, warps or
/// non-additive register bits. address = base + (thread ^ XOR of the non-additive bits' offsets) + (XOR of the additive bits' offsets).
uint64_t splitAdd(const OffsetBases &offsets);

/// Returns the extra wavefronts of one access by a warp, vectorBytes a lane: 0 is optimal; 8-way conflicts of four 8-lane phases give 28.
int64_t bankConflicts(const Layout &layout, const SharedLayout &shared, int64_t vectorBytes);

/// The accesses of ld.shared or st.shared with the widest vectors (up to 16 bytes).
struct VectorAccess {
  struct Vector {
    std::vector<int64_t> registers; ///< in the order of addresses
    uint32_t offset = 0;            ///< bytes, XORed with the thread's offset
  };
  int64_t bytes = 0;
  std::vector<Vector> vectors;
  OffsetBases offsets;
  int64_t wavefronts = 0; ///< of all vectors of a warp together
};
VectorAccess vectorAccess(const Layout &layout, const SharedLayout &shared);
/// Returns how many elements of a vector are in consecutive registers: global memory can use vectors of as many elements.
int64_t registersInOrder(const VectorAccess &access);

/// ldmatrix or stmatrix (b16 form) between registers in `layout` and shared memory. Lane i supplies the address: the XOR of
/// laneOffsets[bit] over the set bits of i, of warpOffsets over those of the warp, and of the instruction's
/// offset. Register j (32 bits) of an instruction holds the elements from firstRegister + j * perWord on.
struct MatrixPlan {
  struct Instruction {
    int64_t firstRegister = 0;
    uint32_t offset = 0;
  };
  bool transposed = false;
  int64_t matrices = 1; ///< 1, 2 or 4
  int64_t perWord = 2;  ///< elements in 32 bits
  std::array<uint32_t, laneBits> laneOffsets = {};
  std::vector<uint32_t> warpOffsets;
  std::vector<Instruction> instructions;
  int64_t conflicts = 0; ///< extra wavefronts of one instruction
};
/// Returns the plan if ldmatrix can fill registers of `dst` from `shared`; transposed only for 16-bit elements.
std::optional<MatrixPlan> ldmatrixPlan(const Layout &dst, const SharedLayout &shared);
std::optional<MatrixPlan> stmatrixPlan(const Layout &src, const SharedLayout &shared);

/// A shared layout for a conversion. Both sides have the widest useful vectors, and as few wavefronts as the banks allow. storeMatrix and
/// loadMatrix are set if stmatrix or ldmatrix may replace the vectors. Only instructions of the target count.
struct ScratchPlan {
  SharedLayout shared;
  VectorAccess store, load;
  std::optional<MatrixPlan> storeMatrix, loadMatrix;
};
struct MatrixInstructions {
  bool ldmatrix = false, stmatrix = false;
};
ScratchPlan optimalScratch(const Layout &src, const Layout &dst, int64_t elementBits, MatrixInstructions available);
ScratchPlan optimalScratch(const Layout &src, const Layout &dst, int64_t elementBits);

/// The parameters of a SharedLayout::swizzled; span 0: rowMajor.
struct TileSwizzle {
  int64_t spanBytes = 0;
  Dims order;
  bool operator==(const TileSwizzle &) const = default;
};
std::optional<TileSwizzle> spanOf(const SharedLayout &shared);
/// Returns the widest legal span for an inner extent: 128, 64, 32 or 0.
int64_t widestSpan(const Dims &shape, int64_t elementBits, const Dims &order);

/// How TMA fills a buffer: `copies` boxes, one for each block of columns. Box i starts `i * box[0]` elements later along order[0], and `i *
/// bytes` bytes later in the buffer.
struct TmaBox {
  std::vector<int64_t> box; ///< innermost first, all dimensions
  Dims order;               ///< dimension of the tile that box[i] runs along
  int64_t spanBytes = 0, copies = 1, bytes = 0;
  bool isPadded = false; ///< 8 bytes of padding follow each 8 bytes: bytes of two 4-bit numbers each (MapElement::paddedPairs)
};
/// Returns nothing if it is not a TMA layout, or a box would break a limit (256 elements, rank 5, inner bytes a multiple of 16).
std::optional<TmaBox> tmaBox(const SharedLayout &shared);

//===-------------------------------------------------------------------------------------------------------------------- pictures

/// Prints the tile as a grid; a cell shows which thread and register hold the element, T<thread>:<register>. Large tiles are cut to a
/// window of `rows` x `columns` at the origin; a legend says so.
std::string picture(const Layout &layout, int64_t rows, int64_t columns);

} // namespace tilewright::gpu
