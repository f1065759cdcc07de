// What a tuned configuration is right for: a kernel, a machine, the values of the declared key and the types of the tensors. As text, so
// that whoever asks, the command line, C++ or Python, asks with the same words, and a person can read what was found.
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

/// `isKey`: by parameter, whether its value counts. `known`: the arguments of the launch, those of the tuner missing. The options are
/// placed.
TuneProblem tuneProblem(const JitFunction &kernel, std::string source, const std::vector<bool> &isKey, llvm::ArrayRef<Argument> known,
                        const LaunchOptions &options);

/// For each parameter, whether it is among those names; names of no parameter are passed over, as upstream does.
std::vector<bool> namedParameters(const JitFunction &kernel, llvm::ArrayRef<std::string> names);

/// "BLOCK_SIZE=1024, num_warps=4, num_stages=3": what a configuration is called in messages and in files.
std::string configText(const Config &config);

/// By configuration, the first one that means the same: for a processor's code there are no warps, stages and registers of threads, unless
/// the kernel has them as parameters.
std::vector<size_t> firstAlike(const JitFunction &kernel, llvm::ArrayRef<Config> configs, bool onProcessor);

} // namespace tilewright
