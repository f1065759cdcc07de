// Measures the peaks of a GPU, with its driver's copy and kernels in the tile language (measure_gpu_peaks.py), without NVIDIA libraries.
// runtime/cpu_peaks does the same for a CPU.
#pragma once

#include "tune/machine_peaks.h"

namespace tilewright {

namespace gpu {
class CudaDevice;
} // namespace gpu

/// Returns the GPU's name in messages and in the cache folder.
std::string gpuText(const gpu::CudaDevice &device);

/// Measures the bytes per second of a copy, and the operations per second by type. Takes a second or two, and a few hundred megabytes of
/// the GPU's memory. Nothing, after an error, if the GPU has too little memory or fails.
std::optional<MachinePeaks> measureGpu(const gpu::CudaDevice &device, Diagnostics &diagnostics);

} // namespace tilewright
