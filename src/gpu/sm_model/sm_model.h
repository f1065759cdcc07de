// A static model of one streaming multiprocessor (SM): it predicts the time of a launch from the kernel's threads-level IR, without running
// it. The warps of the CTAs that one SM gets are stepped through the IR. Integers that follow from the arguments, the block and the warp
// are evaluated, so loops have their true trip counts; no data is read. Each instruction waits for its operands, for its scheduler, and for
// its unit; copies, MMAs and barriers complete as the hardware orders them.
//
//     scheduler:  issue 1 instruction per cycle      units: FP32, ALU, special functions, shared memory, tensor cores, L2 and memory
//
// What is not known without data counts as taken once: branches, and loops that wait for memory, but for locks. Bank conflicts, the L1
// cache and the traffic of other kernels are not modeled. A tcgen05.mma occupies all tensor cores of the SM for as long as it multiplies,
// or as long as shared memory takes for its operands.
#pragma once

#include "gpu/sm_model/rates.h"

#include "llvm/ADT/ArrayRef.h"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace tilewright::gpu {

struct ModeledLaunch {
  llvm::SmallVector<std::optional<int64_t>> arguments; ///< of the kernel, tensor maps excluded; nothing for pointers and floats
  std::array<int64_t, 3> grid{1, 1, 1};                ///< programs
  std::optional<int64_t> registers;                    ///< of a thread, as the assembler has chosen; nothing: not known
  llvm::SmallVector<double> tensorBytes;               ///< for each argument: the bytes of its tensor; 0: not known, or none
  bool fusesMultiplyAdd = true;                        ///< option enable_fp_fusion
  int64_t programs() const { return grid[0] * grid[1] * grid[2]; }
};

struct LaunchPrediction {
  double seconds = 0;
  // Fractions of the time in which these are busy: what limits the kernel is close to 1.
  double tensorCores = 0, issue = 0, arithmetic = 0, special = 0, shared = 0, tensorMemory = 0, l2 = 0, memory = 0;
  double clock = 0;      ///< Hz
  int64_t ctasPerSM = 0; ///< resident at the same time
  /// Returns these fractions with the names of the units, the busiest first.
  std::vector<std::pair<std::string, double>> busyUnits() const;
  bool isComplete = true;     ///< false: the model met a wait that it could not resolve, and `seconds` is the time until there
  bool knowsRegisters = true; ///< false: nothing says how many registers a thread has, and they do not limit `ctasPerSM`
};

/// Predicts the launch of the only kernel in `module`, which is at the step choose-occupancy.
LaunchPrediction predictLaunch(mlir::ModuleOp module, const ModeledLaunch &launch, const SmRates &rates);

} // namespace tilewright::gpu
