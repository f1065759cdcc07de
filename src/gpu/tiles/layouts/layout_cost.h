// The cost of a layout in issue slots of one warp. It serves to choose between layouts, not to predict times.
//     load of 16 bytes a lane, a row of 512 bytes a warp    1 instruction x (16 sectors + 4)
//     the same bytes one by one, lanes 16 bytes apart       4 instructions x (16 sectors + 4)
//     through shared memory into another layout             two barriers and the traffic
#pragma once

#include "gpu/layout/layout.h"
#include "gpu/tiles/axis_info.h"

namespace tilewright::gpu {

/// Describes one access to global memory: its AxisInfo, in the dimension order in which a layout should walk the tile.
struct AccessProperties {
  int64_t bytes = 1;       ///< of an element
  Dims order;              ///< dimensions, the most contiguous first, then those with the smallest stride
  int64_t contiguity = 1;  ///< along order[0]
  Dims runs;               ///< adjacent elements along each dimension whose distance in memory is known
  Dims strides;            ///< bytes from one element of a run to the next one
  int64_t vectorLimit = 1; ///< AxisAnalysis::vectorWidth along order[0]
  Dims repeats;            ///< of a load: how many adjacent elements along each dimension have one address; empty if none
};
AccessProperties accessProperties(const AxisAnalysis &axes, mlir::Value pointer, mlir::Value mask);

/// Returns layouts that coalesce the access, the preferred one first. Lanes run along order[0]. Warps first fill the slowest dimension, so
/// that few warps take part in a row reduction, or else the fastest.
llvm::SmallVector<Layout, 2> coalescedLayouts(const Dims &shape, const AccessProperties &properties, int64_t warps);
/// Returns a layout with the same elements in each warp. It exchanges lane bits for register bits until a thread holds `vectorLimit`
/// contiguous elements, so a conversion needs only shuffles. For accumulators: lanes hold two contiguous elements of a row; in the result
/// every second lane holds four.
Layout gatheredInWarps(const Layout &layout, const AccessProperties &properties);
/// Returns the layout for tiles without requirements: like coalescedLayouts, with one element for each thread.
Layout defaultLayout(const Dims &shape, int64_t warps);
/// Returns a layout in which each thread has `count` contiguous elements of a row in consecutive registers. Reorders registers of `layout`
/// if that suffices. Returns `layout` itself if rows are shorter.
Layout withContiguous(const Layout &layout, int64_t count, int64_t warps);
/// Returns the layout for scans along `dim`: no warps along it, if the other dimensions have room for them.
Layout scanLayout(const Dims &shape, int64_t dim, int64_t warps);

/// Returns the key of the access for register `reg` of a thread. Registers with equal keys share one access.
Dims accessKey(const Layout &layout, const Dims &repeats, int64_t reg);
/// Returns the `ttg.block_repeats` of a load or a comparison; empty if it has none.
Dims repeatsOf(mlir::Operation *op);
/// Returns how many of a thread's registers share one access. 1 where `repeats` is empty.
int64_t sharedAccesses(const Layout &layout, const Dims &repeats);
/// Returns the number of elements in one access of a thread.
int64_t vectorIn(const AccessProperties &properties, const Layout &layout);
/// Returns the lines of memory that a warp touches with one access: for each, the number of its sectors.
llvm::SmallVector<int64_t, 32> accessLines(const AccessProperties &properties, const Layout &layout);
int64_t accessSectors(const AccessProperties &properties, const Layout &layout);
int64_t accessCost(const AccessProperties &properties, const Layout &layout);
/// Returns the cost of a store. A partial sector costs more than for a load, where a cache keeps the rest for the next load.
int64_t storeCost(const AccessProperties &properties, const Layout &layout);
/// Returns the cost of a store whose rows are much longer than a thread's part of them. It includes memory bandwidth, where partial lines
/// cost more than whole ones.
int64_t streamedStoreCost(const AccessProperties &properties, const Layout &layout);
/// More than any cost, and far from overflow.
constexpr int64_t impossibleConversion = INT64_MAX / 2;
/// Returns the issue slots of the conversion that is planned for elements of this width (gpu/schedule/shared_memory/scratch). It is
/// impossible if it passes through shared memory, of which a CTA has `sharedBytes`, and the tile does not fit there.
int64_t plannedConversionCost(const Layout &from, const Layout &to, int64_t elementBits, int64_t sharedBytes);
int64_t conversionCost(const Layout &from, const Layout &to, int64_t elementBits);
int64_t reductionCost(const Layout &layout, int64_t dim);
/// Returns how many warps hold partial values of each result of a reduction. If there are several, threads read them from shared memory, in
/// the layout that the result has afterwards.
int64_t warpsOfReduction(const Layout &layout, int64_t dim);
int64_t scanCost(const Layout &layout, int64_t dim);

} // namespace tilewright::gpu
