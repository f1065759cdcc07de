// What a layout costs, in issue slots of one warp: good enough to choose between layouts, but not to predict times.
//     load of 16 bytes a lane, a row of 512 bytes a warp    1 instruction x (16 sectors + 4)
//     the same bytes one by one, lanes 16 bytes apart       4 instructions x (16 sectors + 4)
//     through shared memory into another layout             two barriers and the traffic
#pragma once

#include "gpu/layout/layout.h"
#include "gpu/tiles/axis_info.h"

namespace tilewright::ttg {
/// On a tt.load (an array of integers): AccessProperties::repeats. On a comparison of tiles: how many neighbors along each dimension have one
/// result, as where a length that 16 divides is compared with indices.
constexpr llvm::StringLiteral blockRepeatsName = "ttg.block_repeats";
} // namespace tilewright::ttg

namespace tilewright::gpu {

/// How the elements of one access to global memory lie: AxisInfo's facts, put into the order in which a layout should walk the tile.
struct AccessProperties {
  int64_t bytes = 1;       ///< of an element
  Dims order;              ///< dimensions, the most contiguous first
  int64_t contiguity = 1;  ///< along order[0]
  Dims constancy;          ///< of the pointers, along each dimension
  int64_t vectorLimit = 1; ///< AxisAnalysis::vectorWidth along order[0]
  Dims repeats;            ///< of a load: how many neighbors along each dimension are the same element of memory; empty if none are
};
AccessProperties accessProperties(const AxisAnalysis &axes, mlir::Value pointer, mlir::Value mask);

/// Layouts that coalesce the access, the preferred one first: lanes along order[0], and warps first
/// along the slowest dimension, so that few warps meet in a reduction of rows; or along the fastest.
llvm::SmallVector<Layout, 2> coalescedLayouts(const Dims &shape, const AccessProperties &guards, int64_t warps);
/// The same elements in each warp, with bits of lanes exchanged for bits of registers until a thread holds facts.vectorLimit neighbors:
/// shuffles take a tile there. Of accumulators: lanes hold two neighbors of a row each; behind it every second lane holds four.
Layout gatheredInWarps(const Layout &layout, const AccessProperties &guards);
/// Where nothing requires a layout: like coalescedLayouts, with one element for each thread.
Layout defaultLayout(const Dims &shape, int64_t warps);
/// A layout in which each thread has `count` neighbours of a row in consecutive registers:
/// this one with its registers reordered, if that suffices. Where rows are shorter, this one.
Layout withContiguous(const Layout &layout, int64_t count, int64_t warps);
/// For scans along `dim`: no warps along it, if the other dimensions have room for them.
Layout scanLayout(const Dims &shape, int64_t dim, int64_t warps);

/// Which access of a thread, `reg` of its registers, is the same as another one's: those with equal keys.
Dims accessKey(const Layout &layout, const Dims &repeats, int64_t reg);
/// What `ttg.block_repeats` says of a load or a comparison; empty if nothing.
Dims repeatsOf(mlir::Operation *op);
/// How many of a thread's registers share one access. 1 where `repeats` is empty.
int64_t sharedAccesses(const Layout &layout, const Dims &repeats);
/// The elements that one access of a thread takes.
int64_t vectorIn(const AccessProperties &guards, const Layout &layout);
/// 32-byte sectors of memory that a warp touches with one access.
int64_t accessSectors(const AccessProperties &guards, const Layout &layout);
int64_t accessCost(const AccessProperties &guards, const Layout &layout);
/// The same for a store. Parts of sectors cost more than they do where a cache keeps the rest of a sector for the next load.
int64_t storeCost(const AccessProperties &guards, const Layout &layout);
/// For a store whose rows are much longer than what a thread holds of them: memory's
/// share counts, too, and memory takes longer for parts of a line than for whole lines.
int64_t streamedStoreCost(const AccessProperties &guards, const Layout &layout);
/// Issue slots of the conversion that is planned for elements of this width (gpu/schedule/scratch).
int64_t plannedConversionCost(const Layout &from, const Layout &to, int64_t elementBits);
int64_t conversionCost(const Layout &from, const Layout &to, int64_t elementBits);
int64_t reductionCost(const Layout &layout, int64_t dim);
int64_t scanCost(const Layout &layout, int64_t dim);

} // namespace tilewright::gpu
