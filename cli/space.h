// A space of configurations as the command line describes it: 'BLOCK_M=32,64,128 BLOCK_N=64,128 num_warps=4,8' is all combinations.
#pragma once

#include "evaluate/value.h"
#include "support/result.h"

namespace tilewright {

/// All combinations, the last name changing fastest. Names are parameters of the kernel, or launch options of a Config.
Result<std::vector<Config>> readSpace(const std::string &text, const JitFunction &kernel);
/// "90s", "2m", "1.5": seconds.
Result<double> readSeconds(const std::string &text);
/// A configuration as source text: triton.Config({"BLOCK_M": 64}, num_warps=4).
std::string configSource(const Config &config);

} // namespace tilewright
