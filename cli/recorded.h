// Predictions for recorded launches (`tilewright explain --recorded`).
#pragma once

#include <string>

namespace tilewright {

/// Predicts each launch of a file that tests/gpu/run has written, and compares the times with the measured ones. Returns the exit status.
///
/// One JSON object a line. One with "launches" is a row: "name", "size", "dtype", "us" (measured), "peak" and "rate" in one unit, and for
/// each launch "kernel" (FILE:KERNEL), "signature", "grid", "values" (integers by name), "bytes" (of tensors by name), "num_warps",
/// "num_stages", "num_ctas", "registers". A row without "us" has not been measured: it is predicted as a fraction of the peak, and has
/// "work" in place of "rate": what is done in a second at a rate of 1. The first line may name the GPU ("card") and its "target".
int predictRecorded(const std::string &path);

} // namespace tilewright
