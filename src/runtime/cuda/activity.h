// What kernels took on a GPU, as CUPTI says it, the library that NVIDIA's own profilers stand on.
//
// Two events around a launch also measure what lies between them and the kernel: about two microseconds where the stream is full, and all
// that the host did in between where it is empty. CUPTI writes down when each kernel began and ended:
//     if (!startActivities(...)) ...           it is not installed, or another profiler has it: measure by events
//     uint64_t mark = enterActivity();
//     ...launches of this thread...
//     leaveActivity(mark);
//     activityTimes(mark, device)              waits for the device
//
// The library is opened at run time, as the driver is, and costs nothing until somebody records. One tool of a process may have it:
// PyTorch's profiler, which keeps it from its first use on, Nsight and the debuggers come first; while this one records, the others get
// nothing.
#pragma once

#include "runtime/cuda/device.h"

namespace tilewright::gpu {

struct ActivityTimes {
  int64_t begin = 0, end = 0; // nanoseconds of the host's steady clock: of the first that ran, and of the last
  int64_t busy = 0;           // nanoseconds of all kernels, copies and fills
  int64_t count = 0;
};

/// Records from here on, until stopActivities was called as often. Nothing, or why it cannot.
std::optional<std::string> startActivities();
void stopActivities();

/// What this thread launches from here on, until it leaves, has this mark. Marks may be nested; the innermost counts.
uint64_t enterActivity();
void leaveActivity(uint64_t mark);

/// What ran with a mark, which is forgotten. Nothing where nothing was seen: the mark is of a graph's capture, or another tool has taken
/// CUPTI.
std::optional<ActivityTimes> activityTimes(uint64_t mark, const CudaDevice &device);

} // namespace tilewright::gpu
