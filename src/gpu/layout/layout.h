// Where the elements of a tile live, as linear maps over F2 (Zhou et al., "Linear Layouts", 2025).
//
// A tile has extents that are powers of two; an element is named by its flat row-major index, so that the coordinates are bit fields of the
// name and XOR of names is XOR of coordinates. A distributed layout says which element bit each bit of (register, lane, warp, block) adds:
//   16 x 8 accumulator of mma.sync: reg=[[0,1],[8,0]] lane=[[0,2],[0,4],[1,0],[2,0],[4,0]] warp=[] block=[]
//   register 3 of lane 5 = binary 11, 00101: [0,1]^[8,0]^[0,2]^[1,0] = row 9, column 3
// A shared layout says the same about the bits of an offset in shared memory. Whatever a compiler asks (may these registers
// be stored at once? which lanes must exchange data? do banks conflict?) is then linear algebra, and all families of
// layouts share one implementation. This library does not use MLIR: layouts are values and can be tested alone.
#pragma once

#include "gpu/layout/map.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tilewright::gpu {

enum class Axis : uint8_t { reg, lane, warp, block };
inline constexpr std::array<Axis, 4> allAxes = {Axis::reg, Axis::lane, Axis::warp, Axis::block};
inline constexpr int64_t laneBits = 5;

/// Extents or coordinates, one per dimension; orders list dimensions, the fastest first.
using Dims = std::vector<int64_t>;

/// Product of the extents.
int64_t elementCount(const Dims &shape);
/// Flat row-major index to coordinates, and back.
Dims coordinatesOf(const Dims &shape, uint32_t flat);
uint32_t flatOf(const Dims &shape, const Dims &coordinates);
/// {rank-1, ..., 0}: the last dimension is the fastest.
Dims rowMajorOrder(int64_t rank);

/// One place of a distributed tile.
struct HardwareLocation {
  int64_t reg = 0, lane = 0, warp = 0, block = 0;
  bool operator==(const HardwareLocation &) const = default;
};

struct Halves;

/// Distributed: bits of (register, lane, warp, block) -> flat index. Layouts of values are canonical: no register basis
/// depends on other register bases (dropRepeatedRegisters). A lane, warp or block basis may be 0: that bit changes nothing, so
/// its threads hold copies. Constructors and operations return canonical layouts. Extents and counts must be powers of two.
class Layout {
public:
  Dims shape;
  std::array<std::vector<uint32_t>, 4> bases; ///< bases[axis][bit]

  //------------------------------------------------------------------------------------------------------------------- constructors

  /// Takes the bases as they are, and does not make them canonical.
  static Layout fromBases(Dims shape, std::array<std::vector<uint32_t>, 4> bases);
  /// Each thread has a block of sizePerThread; lanes and warps form grids; all are counted along `order`. A larger tile repeats the
  /// whole in further registers (along `order`, too), a smaller one is held in several copies. threadsPerWarp multiplies to 32.
  static Layout blocked(const Dims &shape, const Dims &sizePerThread, const Dims &threadsPerWarp, const Dims &warps, const Dims &order);
  /// The blocked layout for access to memory: `vector` elements a thread along order[0], then lanes, then warps fill along `order`.
  static Layout coalesced(const Dims &shape, int64_t vector, int64_t warps, const Dims &order);
  /// Accumulators of mma.sync m16n8 (32-bit). The last two dimensions are M and N, one before them is a batch. Warp bits: M's, then N's.
  static Layout mmaAccumulator(const Dims &shape, int64_t warpsM, int64_t warpsN);
  /// Operands of mma.sync: which 0 = A [.., M, K], 1 = B [.., K, N]. kWidth elements along K lie side by side in a thread: 32 / bits for
  /// what the instruction expects (tf32: 1). Warps of the other dimension hold copies. Warp bits as in mmaAccumulator.
  static Layout mmaOperand(const Dims &shape, int64_t which, int64_t warpsM, int64_t warpsN, int64_t kWidth);
  /// Which column of the tile each bit of a column of mmaAccumulator and mmaOperand (B) is to be, where rows of B are N: columns that a
  /// thread has of two or four instructions are neighbors. The bits of a lane's column are those that keep rows of 32-bit elements,
  /// swizzled as TMA does, apart in the banks. Empty: an instruction has all columns of a warp.
  static std::vector<int64_t> adjacentColumns(int64_t columns, int64_t warpsN);
  /// Accumulators of wgmma m64nNk*, N = instrN. Warpgroups split M first, then N in contiguous parts; what is left repeats in registers,
  /// N first. Registers of one instruction are consecutive: instruction i of a thread uses registers i * instrN / 2 and on. instrN: a power
  /// of two from 8.
  static Layout wgmmaAccumulator(const Dims &shape, int64_t warps, int64_t instrN);
  /// How many columns one wgmma of the accumulator [M, N] has if `warps` share it as above: all columns of a warpgroup, at most 256.
  static int64_t wgmmaColumns(const Dims &shape, int64_t warps);
  /// Operand A [M, K] of wgmma in registers; repeats along K first, then M. For 16 bits it equals the
  /// accumulator layout of [M, K] wherever no warpgroups split the latter's columns.
  static Layout wgmmaOperandA(const Dims &shape, int64_t warps, int64_t elementBits);

  //------------------------------------------------------------------------------------------------------------ layouts from layouts

  /// The layout without register bits that only repeat what others hold.
  Layout dropRepeatedRegisters() const;
  /// The layout with the dimension projected away (what a reduction leaves): threads along it hold copies.
  Layout withoutDim(int64_t dim) const;
  /// The dimension of extent 1: the source of a broadcast along it.
  Layout collapsedDim(int64_t dim) const;
  /// A new dimension of extent 1 before dimension `dim`.
  Layout withUnitDim(int64_t dim) const;
  /// The same flat indices as a tile of another shape and equal size.
  Layout reshaped(const Dims &newShape) const;
  /// Dimension i of the result is dimension order[i] of this.
  Layout transposed(const Dims &order) const;
  /// Bit i of the last coordinate becomes bit `to[i]`, a permutation. Registers are then in the order of elements.
  Layout withColumnBits(const std::vector<int64_t> &to) const;
  /// Adds a last dimension of extent 2, held in the first register bit: registers 2r and 2r+1 are register r of the two halves.
  Layout joined() const;
  /// The halves along a last dimension of extent 2, if a register bit alone distinguishes them.
  std::optional<Halves> splitHalves() const;
  /// Puts two tiles one after the other along `dim`: first the registers of the first, then those of the second.
  Layout concatenated(int64_t dim) const;

  //------------------------------------------------------------------------------------------------------------------------- algebra

  int64_t bits(Axis axis) const { return static_cast<int64_t>(basesOf(axis).size()); }
  const std::vector<uint32_t> &basesOf(Axis axis) const { return bases[static_cast<size_t>(axis)]; }
  std::vector<uint32_t> &basesOf(Axis axis) { return bases[static_cast<size_t>(axis)]; }
  int64_t registersPerThread() const { return int64_t(1) << bits(Axis::reg); }
  /// log2 of the number of elements.
  int64_t elementBits() const;

  /// The element at a place.
  uint32_t apply(const HardwareLocation &place) const;
  uint32_t apply(int64_t reg, int64_t lane, int64_t warp, int64_t block) const { return apply(HardwareLocation{reg, lane, warp, block}); }
  Dims coordinates(uint32_t flat) const { return coordinatesOf(shape, flat); }

  /// All bits as one map: registers lowest, then lanes, warps, blocks.
  LinearMap map() const;
  /// A place as an input of map(), and back.
  uint64_t inputOf(const HardwareLocation &place) const;
  HardwareLocation locationOf(uint64_t input) const;
  int64_t rank() const { return map().rank(); }
  /// Every element is held somewhere.
  bool isSurjective() const { return map().isSurjective(elementBits()); }
  /// No element is held twice, except by bits whose basis is 0.
  bool isInjectiveModuloBroadcast() const;
  /// Flat index -> the one place that holds it with all free bits 0 (as an input of map(); see locationOf).
  LinearMap inverse() const { return map().pseudoInverse(elementBits()); }
  /// Where an element is held, with all free bits 0.
  std::optional<HardwareLocation> find(uint32_t flat) const;

  /// Bits of an axis that add nothing new: their basis is 0, or depends on earlier bits (registers, lanes, warps, blocks
  /// in this order). The places with all free bits 0 hold every element exactly once: they are the ones that store.
  uint64_t freeMask(Axis axis) const;

  /// "reg=[[0,1],[8,0]] lane=[...] warp=[...] block=[]": one coordinate list per bit.
  std::string text() const;
  static std::optional<Layout> parse(const Dims &shape, std::string_view text);

  bool operator==(const Layout &) const = default;
};

struct Halves {
  Layout layout;           ///< of either half
  int64_t registerBit = 0; ///< the bit of the whole's register number that selects the half; without it: the half's register number
};

/// Direct sum: a grid of `outer` whose cells are tiles of `inner` (same rank; extents multiply; inner's bits come first on every axis).
Layout product(const Layout &inner, const Layout &outer);
/// The grid, if `layout` is product(tile, grid): its low bits on every axis are the tile's and the other bits move whole tiles.
std::optional<Layout> divideLeft(const Layout &layout, const Layout &tile);
/// The same, but the tile's register bits may be anywhere among the layout's. Result i: which register bit of `layout` is bit i of the
/// register number in product order (the tile's bits first).
std::optional<std::vector<int64_t>> registersForTile(const Layout &layout, const Layout &tile);

/// Bits of the element offset in one buffer -> flat index: always a bijection of the tile. Elements have 8, 16, 32 or 64 bits
/// (constructors give smaller ones 8).
class SharedLayout {
public:
  Dims shape;
  std::vector<uint32_t> bases;
  int64_t elementBits = 8;

  /// Plain order without padding, order[0] the fastest dimension.
  static SharedLayout rowMajor(const Dims &shape, int64_t elementBits, const Dims &order);
  /// What TMA writes and wgmma reads. The extent of order[0] is cut into blocks of `spanBytes`; a block is all rows of span bytes, packed,
  /// and within it 16-byte chunks are permuted: byte offset bits 4^=7 (32), also 5^=8 (64), also 6^=9 (128). A span wider than the extent
  /// is narrowed to the widest that fits; 0 (or an extent of less than 32 bytes) is rowMajor.
  static SharedLayout swizzled(const Dims &shape, int64_t elementBits, int64_t spanBytes, const Dims &order);
  /// Chunks of `vec` elements of a row are permuted: chunk ^= (row / perPhase) % maxPhase, as far as the row has chunks.
  static SharedLayout vectorSwizzled(const Dims &shape, int64_t elementBits, const Dims &order, int64_t vec, int64_t perPhase,
                                     int64_t maxPhase);

  /// Dimension i of the result is dimension order[i] of this; the same bytes.
  SharedLayout transposed(const Dims &order) const;
  SharedLayout reshaped(const Dims &newShape) const;

  int64_t elementBytes() const { return elementBits / 8; }
  int64_t bytes() const { return elementCount(shape) * elementBytes(); }
  uint32_t apply(uint32_t elementOffset) const { return map().apply(elementOffset); }
  LinearMap map() const { return LinearMap{bases}; }
  /// Flat index -> element offset.
  LinearMap inverse() const { return map().pseudoInverse(static_cast<int64_t>(bases.size())); }
  bool isBijection() const;

  /// "bits=16 offset=[[0,1],[0,2],...]".
  std::string text() const;
  static std::optional<SharedLayout> parse(const Dims &shape, std::string_view text);

  bool operator==(const SharedLayout &) const = default;
};

size_t hashOf(const Layout &layout);
size_t hashOf(const SharedLayout &layout);

//===-------------------------------------------------------------------------------------------------- registers and conversions

/// For each register of dst, the register of src in the same thread that holds the same element in all threads, or nothing. Equal shapes.
std::vector<std::optional<int64_t>> sameThreadRegisters(const Layout &dst, const Layout &src);
/// The same where element x of dst is element map(x) of src (broadcast, expand_dims, transpose); map must be linear over XOR.
std::vector<std::optional<int64_t>> sourceRegisters(const Layout &dst, const Layout &src, const std::function<uint32_t(uint32_t)> &map);

/// What a conversion needs, from the cheapest to the dearest.
enum class Conversion : uint8_t {
  none,      ///< every register stays
  registers, ///< registers of a thread change their numbers: no instruction
  shuffle,   ///< within warps: planShuffle
  shared,    ///< through shared memory of the block: optimalScratch
  cluster    ///< between the blocks of a cluster
};
Conversion classifyConversion(const Layout &src, const Layout &dst);

/// A conversion within warps, in three steps.
///   1. Every thread permutes its registers: sent[s] = src[s ^ XOR of sendSelect[bit] over the set bits of (lane, warp)]: for each bit with
///   a
///      nonzero mask, sent'[s] = bit ? sent[s ^ mask] : sent[s] for all s.
///   2. Round: got[receive] = shfl.idx(sent[send], laneXor ^ XOR of laneFrom[bit] over the set bits of (lane, warp)); no shuffle if local.
///      Rounds are sorted by laneXor: narrow values of neighbours with equal laneXor can share one 32-bit shuffle.
///   3. dst[r] = got[r ^ XOR of receiveSelect[bit] over the set bits of (lane, warp)], as in step 1.
/// Masks are listed for the lane bits, then the warp bits, then the block bits.
struct ShufflePlan {
  struct Round {
    int64_t send = 0, receive = 0;
    uint32_t laneXor = 0;
    bool local = false; ///< every lane reads from itself
  };
  std::vector<uint32_t> sendSelect, laneFrom, receiveSelect;
  std::vector<Round> rounds;   ///< one per register of dst
  bool butterfly = false;      ///< the source lane is lane ^ laneXor: shfl.bfly does
  int64_t shuffles() const;    ///< rounds that are not local
  int64_t selectCount() const; ///< nonzero masks of steps 1 and 3; each costs one select a register
};
/// Nothing if elements must cross warps, or if lanes would need several elements of one lane at once (some selections by warp).
std::optional<ShufflePlan> planShuffle(const Layout &src, const Layout &dst);

//===------------------------------------------------------------------------------------------- along dimensions: memory, reduction, scan

/// Register masks: XOR with the i-th moves 2^i along `dim`, in every thread, from aligned starts; as many as there are.
std::vector<uint32_t> contiguousSteps(const Layout &layout, int64_t dim);
/// How many consecutive registers hold consecutive, aligned elements along order[0] in every thread (1, 2, 4, ...).
int64_t contiguousRun(const Layout &layout, const Dims &order);

/// Which bits of each axis run along a dimension. Combine registers that differ in registerMask, then lanes (one butterfly shuffle per bit
/// of laneMask), then warps (through shared memory) and blocks.
struct ReductionPlan {
  uint64_t registerMask = 0, laneMask = 0, warpMask = 0, blockMask = 0;
  Layout result;                       ///< withoutDim(dim)
  std::vector<int64_t> resultRegister; ///< register of the source -> register of the result it adds to
};
/// Nothing if a bit runs along the dimension and another one at once, or copies along it would be counted twice: convert first.
std::optional<ReductionPlan> reductionPlan(const Layout &layout, int64_t dim);

struct AxisBit {
  Axis axis = Axis::reg;
  int64_t bit = 0;
  bool operator==(const AxisBit &) const = default;
};
/// Who holds each bit of the coordinate along a dimension, lowest first: a scan combines them in this order. Nothing unless each bit is
/// held by exactly one place bit that moves nothing else.
std::optional<std::vector<AxisBit>> scanOrder(const Layout &layout, int64_t dim);

//===------------------------------------------------------------------------------------------------------------- shared memory

/// Byte offsets that each bit of the place adds, by XOR: shared^-1 o layout.
using OffsetBases = std::array<std::vector<uint32_t>, 4>;
OffsetBases offsetBases(const Layout &layout, const SharedLayout &shared);
uint32_t offsetBasis(const Layout &layout, const SharedLayout &shared, Axis axis, int64_t bit);
/// Which register bits may be added (as immediates) instead of XORed: they touch no offset bit that lanes, warps, blocks or non-additive
/// register bits touch. address = base + (thread ^ XOR of the non-additive bits' offsets) + (XOR of the additive bits' offsets).
uint64_t splitAdd(const OffsetBases &offsets);

/// Extra wavefronts of one access by a warp, vectorBytes a lane: 0 is as good as can be, 8-way conflicts of four 8-lane phases give 28.
int64_t bankConflicts(const Layout &layout, const SharedLayout &shared, int64_t vectorBytes);

/// ld.shared / st.shared: the widest vectors (up to 16 bytes).
struct VectorAccess {
  struct Vector {
    std::vector<int64_t> registers; ///< in the order of addresses
    uint32_t offset = 0;            ///< bytes, XORed to the thread's offset
  };
  int64_t bytes = 0;
  std::vector<Vector> vectors;
  OffsetBases offsets;
  int64_t wavefronts = 0; ///< of all vectors of a warp together
};
VectorAccess vectorAccess(const Layout &layout, const SharedLayout &shared);
/// How many elements of a vector are registers that follow one another: the neighbors that a thread may have in global memory, too.
int64_t registersInOrder(const VectorAccess &access);

/// ldmatrix or stmatrix (b16 form) between registers in `layout` and shared memory.
/// Lane i supplies the address: XOR of laneOffsets[bit] over the set bits of i, of warpOffsets, blockOffsets over those of the warp and
/// block, and of the instruction's offset. Register j (32 bits) of an instruction is made of the elements firstRegister + j * perWord and
/// on.
struct MatrixPlan {
  struct Instruction {
    int64_t firstRegister = 0;
    uint32_t offset = 0;
  };
  bool transposed = false;
  int64_t matrices = 1; ///< 1, 2 or 4
  int64_t perWord = 2;  ///< elements in 32 bits
  std::array<uint32_t, laneBits> laneOffsets = {};
  std::vector<uint32_t> warpOffsets, blockOffsets;
  std::vector<Instruction> instructions;
  int64_t conflicts = 0; ///< extra wavefronts of one instruction
};
/// Whether ldmatrix fills registers of `dst` from `shared`; transposed only for 16-bit elements.
std::optional<MatrixPlan> ldmatrixPlan(const Layout &dst, const SharedLayout &shared);
std::optional<MatrixPlan> stmatrixPlan(const Layout &src, const SharedLayout &shared);

/// A shared layout for a conversion: both sides with the widest vectors that pay and as few wavefronts as the banks allow. storeMatrix and
/// loadMatrix say that stmatrix or ldmatrix may replace the vectors; only instructions the target has are counted on.
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

/// Which SharedLayout::swizzled a layout is; span 0: rowMajor.
struct TileSwizzle {
  int64_t spanBytes = 0;
  Dims order;
  bool operator==(const TileSwizzle &) const = default;
};
std::optional<TileSwizzle> spanOf(const SharedLayout &shared);
/// The widest legal span for an inner extent: 128, 64, 32 or 0.
int64_t widestSpan(const Dims &shape, int64_t elementBits, const Dims &order);

/// How the copy engine fills a buffer: `copies` boxes, one a block of columns; box i starts `i * box[0]` elements further along order[0]
/// and `i * bytes` further in the buffer.
struct TmaBox {
  std::vector<int64_t> box; ///< innermost first, all dimensions
  Dims order;               ///< dimension of the tile that box[i] runs along
  int64_t spanBytes = 0, copies = 1, bytes = 0;
};
/// Nothing if it is no TMA layout, or a box would break a limit (256 elements, rank 5, inner bytes a multiple of 16).
std::optional<TmaBox> tmaBox(const SharedLayout &shared);

//===-------------------------------------------------------------------------------------------------------------------- pictures

/// The tile as a grid; a cell shows who holds the element, T<thread>:<register>. Large tiles are cut to a window at their origin, of
/// `rows` x `columns` where given; a legend says so.
std::string picture(const Layout &layout);
std::string picture(const Layout &layout, int64_t rows, int64_t columns);
/// A cell shows the byte offset and the bank.
std::string picture(const SharedLayout &shared);
std::string picture(const SharedLayout &shared, int64_t rows, int64_t columns);

} // namespace tilewright::gpu

template <> struct std::hash<tilewright::gpu::Layout> {
  size_t operator()(const tilewright::gpu::Layout &layout) const { return tilewright::gpu::hashOf(layout); }
};
template <> struct std::hash<tilewright::gpu::SharedLayout> {
  size_t operator()(const tilewright::gpu::SharedLayout &layout) const { return tilewright::gpu::hashOf(layout); }
};
