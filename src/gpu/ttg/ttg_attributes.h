// The discardable attributes of the ttg dialect: what each means, on which operation it stands, which steps write it and which read it.
// tools/check_attributes.py compares that with the code. Strings that give a reason are for people; only explain reads them. ttg.td
// describes the attributes that have a type of their own.
#pragma once

#include "llvm/ADT/StringRef.h"

#include <cstdint>

namespace tilewright::ttg {

// ---- on a kernel (tt.func) or its arguments
/// A Config: warps, CTAs, stages, registers, target. Written by configure and choose-warps-and-ctas; read by every step.
constexpr llvm::StringLiteral configName = "ttg.config";
/// On a tensor map argument: a TensorMap. Written by form-descriptors, stage-tma-transfers, pipeline-loops, copy-unpipelined and
/// lower-to-threads; read by every step.
constexpr llvm::StringLiteral tensorMapName = "ttg.tensor_map";
/// What the kernel assumes about its launches (LaunchGuards). Written by every step; read by lower-to-threads and collect-launch-guards.
constexpr llvm::StringLiteral guardsName = "ttg.launch_guards";
/// The names of guards that a launch has failed, and that the kernel must not assume (strings; `everyGuard`: none at all). Written by
/// configure; read by every step.
constexpr llvm::StringLiteral failedGuardsName = "ttg.failed_guards";
/// On an argument (a unit attribute): the author excludes it from specialization. Written by configure; read by
/// specialize-divisibility and specialize-lengths.
constexpr llvm::StringLiteral notSpecializedName = "ttg.not_specialized";
/// On an argument (an integer): an upper bound of its value. Written by specialize-lengths; read by lower-to-threads.
constexpr llvm::StringLiteral maxValueName = "ttg.max_value";
/// What passes have decided and why (Remarks, ttg::remark). Written by every step; read by explain.
constexpr llvm::StringLiteral remarksName = "ttg.remarks";
/// Shared memory of a CTA in bytes (an integer). Written by allocate-shared; read by lower-to-threads.
constexpr llvm::StringLiteral sharedBytesName = "ttg.shared_bytes";
/// A unit attribute: the kernel is warp-specialized, one warp starts the async copies and does nothing else. Written by schedule-loops;
/// read by place-accumulators, schedule-mmas, insert-barriers, explain and specialize-warps, which replaces it by ttg.warp_specialize.
constexpr llvm::StringLiteral warpSpecializedName = "ttg.warp_specialized";
/// Why the kernel is not warp-specialized (a string). Written by schedule-loops; read by explain.
constexpr llvm::StringLiteral notWarpSpecializedName = "ttg.not_warp_specialized";

// ---- on accesses to global memory
/// On an access (an integer): that many consecutive registers of a thread are contiguous in memory, aligned to their common size (16 bytes
/// at most), and share one mask element. Written by assign-layouts, partition-dequantize and pipeline-loops; read by
/// stage-rows, partition-dequantize, schedule-loops, pipeline-loops, explain and lower-to-threads.
constexpr llvm::StringLiteral vectorName = "ttg.vector";
/// On a tt.load (a unit attribute): its ttg.vector elements are contiguous, but may start at any address. Rows that start anywhere (of 1025
/// halves, for example) permit no wide access; a thread loads the aligned words around its elements and shifts them
/// (gpu/thread/unaligned_load.cpp). Written by assign-layouts; read by schedule-loops, pipeline-loops, explain and lower-to-threads.
constexpr llvm::StringLiteral unalignedName = "ttg.unaligned";
/// On a tt.load (a unit attribute): its elements are aligned words, some bytes of which may lie outside the tensor (widen_loads.cpp).
/// Written by pipeline-loops; read by lower-to-threads.
constexpr llvm::StringLiteral alignedWordsName = "ttg.aligned_words";
/// On a tt.load (a unit attribute): it was hoisted above a branch to run while the branch waits. Written by hoist-loads; read by
/// lower-to-threads.
constexpr llvm::StringLiteral hoistedName = "ttg.hoisted";
/// On a tt.load (integers): AccessProperties::repeats. On a comparison of tiles: the number of adjacent elements along each dimension that
/// have one result, as where a length that is a multiple of 16 is compared with indices. Written by assign-layouts; read by
/// assign-layouts, schedule-loops and lower-to-threads.
constexpr llvm::StringLiteral blockRepeatsName = "ttg.block_repeats";
/// On an operation that extends 32 bits to 64 (arith.extsi, tt.addptr; a unit attribute): the 32-bit arithmetic before it does not wrap
/// around. Written by assume-no-wrap and lower-to-threads; read by pipeline-loops, lower-to-threads and cse-addresses.
constexpr llvm::StringLiteral noWrapName = "ttg.no_wrap";
/// On a load in a loop: why it is not pipelined (a string). Written by schedule-loops and copy-unpipelined; read by copy-unpipelined and
/// explain.
constexpr llvm::StringLiteral notPipelinedName = "ttg.not_pipelined";

// ---- dots
/// On a tt.dot: a DotChoice, the instruction that computes it. Written by assign-layouts; read by select-tensor-cores and
/// explain.
constexpr llvm::StringLiteral dotChoiceName = "ttg.dot_choice";
/// On a ttg.descriptor_load and the ttg.alloc that it fills (integers): how much of each dimension TMA copies. Shared memory holds nothing
/// after that. Written by form-descriptors, select-tensor-cores and pipeline-loops; read by select-tensor-cores, stage-tma-transfers,
/// schedule-loops, pipeline-loops and copy-unpipelined.
constexpr llvm::StringLiteral copiedExtentName = "ttg.copied_extent";

// ---- CTAs of a cluster
/// On an atomic operation (a unit attribute): only the first CTA of the cluster performs it. Written by split-ctas; read by
/// lower-to-threads.
constexpr llvm::StringLiteral firstCtaName = "ttg.first_cta";

// ---- shared memory
/// On an allocation, or an operation that needs scratch memory (an integer): its offset in shared memory, in bytes. Written by
/// allocate-shared; read by insert-barriers, explain and lower-to-threads.
constexpr llvm::StringLiteral offsetName = "ttg.offset";
/// On a ttg.alloc (a unit attribute): its bytes are never shared with another allocation. Written by partition-dequantize, cancel-launches,
/// schedule-loops, pipeline-loops and place-accumulators; read by schedule-loops, pipeline-loops and allocate-shared.
constexpr llvm::StringLiteral liveThroughoutName = "ttg.live_throughout";
/// On a ttg.alloc (a unit attribute): its bytes are not shared with an allocation that is used before it, because other CTAs write to it.
/// Written by schedule-loops and pipeline-loops; read by schedule-loops, pipeline-loops and allocate-shared.
constexpr llvm::StringLiteral liveFromStartName = "ttg.live_from_start";

// ---- the schedule of a loop
/// On an scf.for: its LoopSchedule. Written by schedule-loops; read by pair-ctas, cancel-launches, pipeline-loops,
/// schedule-mmas and explain.
constexpr llvm::StringLiteral loopScheduleName = "ttg.loop_schedule";
/// On an scf.for: its MmaSchedule. Written by schedule-mmas; read and removed by overlap-mmas.
constexpr llvm::StringLiteral mmaScheduleName = "ttg.mma_schedule";
/// On an operation (an integer): its number in the schedules of the kernel. Written by schedule-loops, pipeline-loops and schedule-mmas;
/// read and removed by pipeline-loops and overlap-mmas.
constexpr llvm::StringLiteral idName = "ttg.id";
/// On an operation in a pipelined loop (an integer): how many iterations later the one is that it works for. Written by pipeline-loops;
/// read by explain.
constexpr llvm::StringLiteral iterationOffsetName = "ttg.iteration_offset";
/// On an operation, loop or branch of a warp-specialized kernel (a Partition): the warps that run it, if they are not the consumers.
/// Written by pipeline-loops, partition-dequantize and place-accumulators; read by schedule-loops, pipeline-loops, schedule-mmas,
/// place-accumulators, allocate-shared, insert-barriers, explain and specialize-warps, which makes a region of each partition.
constexpr llvm::StringLiteral partitionName = "ttg.partition";
/// On a kernel with an operand partition (an integer): registers of a thread of that partition. Written by partition-dequantize; read by
/// place-accumulators, pair-ctas, cancel-launches, schedule-loops and specialize-warps.
constexpr llvm::StringLiteral operandRegistersName = "ttg.operand_registers";
/// On a ttg.mma_async_wait in a loop whose iteration has several MMAs for one dot (a unit attribute): after it, the MMAs of the previous
/// iteration have finished. Written by partition-dequantize; read by schedule-loops and pipeline-loops.
constexpr llvm::StringLiteral drainsName = "ttg.drains";

} // namespace tilewright::ttg
