// What a tuned configuration is right for: a kernel, a machine, the values of the declared key and the types of the tensors.
// It is text, so that the command line, C++ and Python all ask with the same words, and a person can read what was found.
//
//   kernel   matmul
//   source   5b1c9e...                                    the hash of its text and of all that it depends on
//   device   cpu znver4 avx512, 8 threads
//   key      a_ptr=*fp16, b_ptr=*fp16, c_ptr=*fp32, M=512, N=512, K=64
#pragma once

#include "runtime/kernel.h"

#include <string>
#include <vector>

namespace tilewright {

struct TuneProblem {
  std::string kernel, source, device, key;
  bool operator==(const TuneProblem &) const = default;
};

/// `isKey`: for each parameter, whether its value counts. `known`: the arguments of
/// the launch, without those that the tuner chooses. The options must be placed.
TuneProblem tuneProblem(const JitFunction &kernel, std::string source, const std::vector<bool> &isKey, llvm::ArrayRef<Argument> known,
                        const LaunchOptions &options);

/// For each parameter, whether it is among those names; names that are no parameters are ignored, as upstream does.
std::vector<bool> namedParameters(const JitFunction &kernel, llvm::ArrayRef<std::string> names);

/// "BLOCK_SIZE=1024, num_warps=4, num_stages=3": the name of a configuration in messages and files.
std::string configText(const Config &config);

/// For each configuration, the first one with the same meaning: code for processors has
/// no warps, stages or registers of threads, unless the kernel has them as parameters.
std::vector<size_t> firstAlike(const JitFunction &kernel, llvm::ArrayRef<Config> configs, bool onCpu);

/// For each configuration, the first one with the same values for the kernel's parameters, whatever the launch options are.
std::vector<size_t> sameConstants(llvm::ArrayRef<Config> configs);

} // namespace tilewright
