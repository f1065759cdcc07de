// The specializations of a tuned kernel: the configurations that won in measurements, each with the problems for which it won.
#pragma once

#include "aot/build.h"
#include "tune/store.h"

namespace tilewright::aot {

/// Replaces each of the signatures by one specialization for each winning configuration among `entries`. Entries of CPUs give code for
/// CPUs, those of GPUs code for GPUs. Null after an error: the kernel has no @triton.autotune, or nothing was measured for a signature.
std::optional<std::vector<Specialization>> tunedSpecializations(const JitFunction &kernel, const std::vector<std::string> &signatures,
                                                                const KernelOptions &options, llvm::ArrayRef<TunedEntry> entries,
                                                                const std::vector<Target> &targets, Diagnostics &diagnostics);

} // namespace tilewright::aot
