// Scheduling policies. Each is a way of pipelining one kind of loop, in a file of its own in the folder `policies`, with a row in the table
// (policies/policies.def). A policy only writes the LoopSchedule: distances of copies, where stages are released, which MMAs stay in flight
// or run for another iteration. It changes no IR. verify() checks what it has written, and pipeline-loops rewrites the loop.
#pragma once

#include "gpu/schedule/loops/loop_schedule.h"

namespace tilewright::gpu {

/// What a policy knows about the kernel.
struct PolicyContext {
  ttg::ConfigAttr config;
  const GpuTarget &target;
};

struct Policy {
  llvm::StringLiteral name;
  /// Schedules the loop, whose circular buffers are found and `stages` deep, and returns true. Returns false and changes nothing if it does
  /// not suit the loop.
  bool (*apply)(LoopSchedule &schedule, const PolicyContext &context);
};

/// The policies of the compiler. The first one that suits a loop schedules it.
llvm::ArrayRef<Policy> allPolicies();
/// Schedules the loop with circular buffers of `stages` stages. Forgets what has been scheduled before.
void applyPolicies(LoopSchedule &schedule, int64_t stages, const PolicyContext &context, llvm::ArrayRef<Policy> policies = allPolicies());

//===--------------------------------------------------------------------------------------------------------- for policies

/// Copies of all circular buffers, and releases, stand after `op` (null: at the top of the iteration). A copy goes to the stage that was
/// read `releaseDistance` iterations ago. A producer fills the circular buffers in the order of their loads.
void copyAndReleaseAfter(LoopSchedule &schedule, mlir::Operation *op, int64_t releaseDistance);
/// True if an MMA's operand is in a circular buffer, or in a buffer that the loop does not write.
bool staysInBuffer(const LoopSchedule &schedule, mlir::Value operand);
/// Returns the MMAs of a loop if all of them may stay in flight across its back edge: their sums stay in the accumulators, and nothing that
/// they read is written meanwhile. If one must be waited for in its iteration, the others would gain nothing.
llvm::SmallVector<ttg::MmaAsyncOp> mmasInFlight(const LoopSchedule &schedule);
/// The MMAs stay in flight until the last one of the next iteration has been issued.
void keepInFlightUntilNext(LoopSchedule &schedule, llvm::ArrayRef<ttg::MmaAsyncOp> mmas);
/// The last MMA of an iteration stays in flight until `wait` of the next iteration. After that wait the previous iteration's stages are
/// released and copies into them are issued.
void drainLastMmaAt(LoopSchedule &schedule, ttg::MmaAsyncWaitOp wait);
/// Returns the operation after which everything that an iteration reads from circular buffers has been read: its last wait, or the last
/// reader.
mlir::Operation *endOfAllReads(const LoopSchedule &schedule);
/// Schedules the loop's loads to registers one iteration ahead, as far as they can be; none if `registers` of a thread do not suffice.
void addRegisterLoads(LoopSchedule &schedule, int64_t registers);

#define POLICY(name, apply) bool apply(LoopSchedule &schedule, const PolicyContext &context);
#include "gpu/schedule/policies/policies.def"
#undef POLICY

} // namespace tilewright::gpu
