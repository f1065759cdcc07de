// What a layout costs, in issue slots of one warp: good enough to choose between layouts, not to predict time.
//     load of 16 bytes a lane, a row of 512 bytes a warp    1 instruction x (16 sectors + 4)
//     the same bytes one by one, lanes 16 bytes apart       4 instructions x (16 sectors + 4)
//     through shared memory into another layout             two barriers and the traffic
#pragma once

#include "gpu/layout/layout.h"
#include "gpu/tiles/axis_info.h"

namespace tilewright::gpu {

/// How the elements of one access to global memory lie: what AxisInfo says, put into the order in which a layout should walk the tile.
struct AccessFacts {
  int64_t bytes = 1;       ///< of an element
  Dims order;              ///< dimensions, the most contiguous first
  int64_t contiguity = 1;  ///< along order[0]
  Dims constancy;          ///< of the pointers, along each dimension
  int64_t vectorLimit = 1; ///< AxisAnalysis::vectorWidth along order[0]
};
AccessFacts accessFacts(const AxisAnalysis &axes, mlir::Value pointer, mlir::Value mask);

/// Layouts that coalesce the access, the preferred first: lanes along order[0], warps first along the slowest dimension, so that few warps
/// meet in a reduction of rows; or along the fastest.
llvm::SmallVector<Layout, 2> coalescedLayouts(const Dims &shape, const AccessFacts &facts, int64_t warps);
/// The same elements in each warp, with bits of lanes exchanged for bits of registers until a thread holds facts.vectorLimit neighbors:
/// shuffles take a tile there. Of accumulators: lanes hold two neighbors of a row each; behind it every second lane holds four.
Layout gatheredInWarps(const Layout &layout, const AccessFacts &facts);
/// Where nothing asks for a layout: as coalescedLayouts, an element a thread.
Layout defaultLayout(const Dims &shape, int64_t warps);
/// A layout in which each thread has `count` neighbours of a row in consecutive registers: this one in another order, if that will do.
/// Where rows are shorter, this one.
Layout withNeighbors(const Layout &layout, int64_t count, int64_t warps);
/// For scans along `dim`: no warps along it if the other dimensions can take them.
Layout scanLayout(const Dims &shape, int64_t dim, int64_t warps);

/// Elements of one access of a thread.
int64_t vectorIn(const AccessFacts &facts, const Layout &layout);
/// 32-byte sectors of memory that a warp touches with one access.
int64_t accessSectors(const AccessFacts &facts, const Layout &layout);
int64_t accessCost(const AccessFacts &facts, const Layout &layout);
/// Of a store whose rows are much longer than what a thread holds of them: what memory takes counts, too, and parts of a line cost it more
/// than whole ones.
int64_t streamedStoreCost(const AccessFacts &facts, const Layout &layout);
/// Issue slots of the conversion that is planned for elements of this width (gpu/schedule/scratch).
int64_t plannedConversionCost(const Layout &from, const Layout &to, int64_t elementBits);
int64_t conversionCost(const Layout &from, const Layout &to, int64_t elementBits);
int64_t reductionCost(const Layout &layout, int64_t dim);
int64_t scanCost(const Layout &layout, int64_t dim);

} // namespace tilewright::gpu
