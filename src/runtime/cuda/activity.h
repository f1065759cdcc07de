// Times of kernels on a GPU, from CUPTI, the library that NVIDIA's own profilers use.
//
// Two events around a launch also measure the time between them and the kernel: about two microseconds if the stream is full, and all work
// of the host in between if it is empty. CUPTI records when each kernel began and ended:
//     if (!startActivities(...)) ...           not installed, or in use by another profiler: use events
//     uint64_t mark = enterActivity();
//     ...launches of this thread...
//     leaveActivity(mark);
//     activityTimes(mark, device)              waits for the device
//
// The library is opened at run time, like the driver, and costs nothing until recording starts. Only one tool of a process can use it:
// PyTorch's profiler (which keeps it from its first use on), Nsight and debuggers have precedence. While this library records, other tools
// get no records.
#pragma once

#include "runtime/cuda/device.h"

namespace tilewright::gpu {

struct ActivityTimes {
  int64_t begin = 0, end = 0; // nanoseconds of the host's steady clock: of the first piece, and of the last
  int64_t busy = 0;           // nanoseconds of all kernels, copies and fills
  int64_t count = 0;
};

/// Starts recording, until stopActivities has been called as often. Null, or the reason why it cannot.
std::optional<std::string> startActivities();
void stopActivities();

/// Marks the launches of this thread from now on, until the thread leaves the mark. Marks may be nested; the innermost one counts.
uint64_t enterActivity();
void leaveActivity(uint64_t mark);

/// Returns the times of the work with a mark, and drops the mark. Null if CUPTI recorded nothing: the mark belongs to a graph capture, or
/// another tool has taken CUPTI.
std::optional<ActivityTimes> activityTimes(uint64_t mark, const CudaDevice &device);

} // namespace tilewright::gpu
