// The specializations of a tuned kernel: the configurations that won in measurements, each with the problems for which it won.
#pragma once

#include "aot/build.h"
#include "tune/store.h"

namespace tilewright::aot {

/// Replaces each of the signatures by specializations for the winning configurations among `entries`: one for each device and each result
/// of the heuristics. A target takes the entries of one
/// device: of a GPU of its compute capability, or of a CPU of its level or of the next higher one. `devices`: texts in the names of the
/// devices to choose among; empty: all. Null after an error: the kernel has no @triton.autotune, nothing was measured for a signature and a
/// target, or several devices were.
std::optional<std::vector<Specialization>> tunedSpecializations(const JitFunction &kernel, const std::vector<std::string> &signatures,
                                                                const KernelOptions &options, llvm::ArrayRef<TunedEntry> entries,
                                                                const std::vector<Target> &targets, const std::vector<std::string> &devices,
                                                                Diagnostics &diagnostics);

} // namespace tilewright::aot
