// How long kernels took on a GPU, according to CUPTI, the library behind NVIDIA's own profilers.
//
// Two events around a launch also measure what lies between them and the kernel: about two microseconds if the stream
// is full, and everything that the host did in between if it is empty. CUPTI records when each kernel began and ended:
//     if (!startActivities(...)) ...           it is not installed, or another profiler has it: measure by events
//     uint64_t mark = enterActivity();
//     ...launches of this thread...
//     leaveActivity(mark);
//     activityTimes(mark, device)              waits for the device
//
// The library is opened at run time, like the driver, and costs nothing until recording starts.
// Only one tool of a process can use it: PyTorch's profiler (which keeps it from its first use
// on), Nsight and debuggers have precedence; while this one records, the others get nothing.
#pragma once

#include "runtime/cuda/device.h"

namespace tilewright::gpu {

struct ActivityTimes {
  int64_t begin = 0, end = 0; // nanoseconds of the host's steady clock: of the first that ran, and of the last
  int64_t busy = 0;           // nanoseconds of all kernels, copies and fills
  int64_t count = 0;
};

/// Records from here on, until stopActivities has been called as often. Null, or the reason why it cannot.
std::optional<std::string> startActivities();
void stopActivities();

/// What this thread launches from here on has this mark, until the thread leaves it. Marks may be nested; the innermost one counts.
uint64_t enterActivity();
void leaveActivity(uint64_t mark);

/// What ran with a mark, which is then forgotten. Null if nothing was seen:
/// the mark belongs to a graph's capture, or another tool has taken CUPTI.
std::optional<ActivityTimes> activityTimes(uint64_t mark, const CudaDevice &device);

} // namespace tilewright::gpu
