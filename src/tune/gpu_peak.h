// What a GPU reaches at best, measured with its driver's copy and with kernels in the tile language (gpu_peak.py): the roof of kernels on
// it, as runtime/roof measures a processor's. No library of NVIDIA's is asked.
#pragma once

#include "tune/machine_peaks.h"

namespace tilewright {

namespace gpu {
class CudaDevice;
} // namespace gpu

/// A card's name for a person and in the cache folder.
std::string gpuText(const gpu::CudaDevice &device);

/// Bytes a second of a copy, and operations a second by type. Takes a second or two, and a few hundred megabytes there. Nothing, after an
/// error, where the card has no memory or fails.
std::optional<MachinePeaks> measureGpu(const gpu::CudaDevice &device, Diagnostics &diagnostics);

} // namespace tilewright
