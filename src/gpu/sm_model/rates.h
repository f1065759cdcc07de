// The rates and latencies of a streaming multiprocessor (SM), in cycles of its clock. Sources: the CUDA programming guide's table of
// arithmetic throughput, the PTX ISA, and public microbenchmarks (docs/stages/gpu_sm_model.md says which rate is from where). What differs
// between GPUs is a row of rates.def. Limits that the compiler also uses are those of GpuTarget.
#pragma once

#include <cstdint>
#include <string_view>

namespace tilewright::gpu {

/// One GPU. "per cycle" means per cycle of one SM.
struct SmRates {
  std::string_view target;          ///< GpuTarget::name
  std::string_view gpu;             ///< "H200"
  int64_t sms = 0;                  ///< SMs of the GPU
  int64_t ctasPerSM = 32;           ///< CTAs that an SM holds at most
  double clock = 0;                 ///< Hz, with idle tensor cores
  double busyClock = 0;             ///< Hz, with tensor cores that are always busy: the power limit lowers the clock
  double memoryBytes = 0;           ///< bytes per second that memory sustains
  double l2BytesPerCycle = 0;       ///< bytes from the L2 cache to one SM per cycle
  double l2Bytes = 0;               ///< of the L2 cache
  double mmaBytesPerCycle = 0;      ///< rows of A times bytes of K times columns of B that one SM's tensor cores multiply per cycle
  double tensorBytesPerCycle = 0;   ///< of tensor memory that the warps of one scheduler load or store per cycle; 0: there is none
  double warpMmaFraction = 1;       ///< the rate of mma.sync as a fraction of the above
  double specialPerCycle = 4;       ///< special functions of one scheduler per cycle
  double l2Latency = 0;             ///< cycles of a load from the L2 cache
  double memoryLatency = 0;         ///< more cycles of a load from memory
  bool threeOperandMaximum = false; ///< the maximum or minimum of three f32 is one instruction
  double launchSeconds = 0;         ///< from an event before a launch to an event after it, for an empty kernel

  /// Cycles in which memory moves a byte from or to one SM, if all SMs share it.
  double memoryCyclesPerByte() const { return clock * static_cast<double>(sms) / memoryBytes; }
};

/// Returns the row of a target whose GPU is part of this text ("NVIDIA H200"), else the target's first row. Null if it has none.
const SmRates *smRates(std::string_view target, std::string_view machine);

// Of every GPU since Volta: four schedulers, each issues one instruction per cycle.
constexpr int64_t schedulers = 4;
constexpr double lanesOfFp32 = 32;          ///< additions and multiplications of f32, per scheduler and cycle
constexpr double lanesOfAlu = 16;           ///< integers, comparisons, conversions, minimum and maximum
constexpr double sharedBytesPerCycle = 128; ///< of shared memory, per SM
constexpr double arithmeticLatency = 4;     ///< cycles until a result can be used
constexpr double specialLatency = 20;
constexpr double sharedLatency = 29;
constexpr double tensorLatency = 25;          ///< of loads from tensor memory
constexpr double shuffleLatency = 24;         ///< of exchanges within a warp, which the unit of shared memory executes
constexpr double clusterBarrierLatency = 150; ///< of a wait at the barrier of a cluster, after the last arrival
constexpr double tensorQueue = 4;             ///< MMAs of one warp that wait for the tensor core before the warp has to

// Operations that take several instructions.
constexpr double floatDivisionInstructions = 10; ///< of a division or square root that is rounded correctly
constexpr double floatDivisionLatency = 40;
constexpr double fastDivisionInstructions = 3;     ///< of a division that is not, one of them special
constexpr double integerDivisionInstructions = 20; ///< of a division or remainder
constexpr double integerDivisionLatency = 100;
constexpr double functionInstructions = 2; ///< of other functions of math
constexpr double mmaLatency = 33;          ///< of mma.sync, and of a wait for wgmma or a tcgen05.commit after the last MMA
constexpr double barrierLatency = 20;
constexpr double ctaStartLatency = 700; ///< from the end of a CTA to the first instruction of the next one in its place
constexpr double clcLatency = 700;      ///< from a request to cancel a launch to its response: as the start of a CTA
constexpr double atomicCycles = 2.4;    ///< of the L2 cache, for a warp's atomics at one address
constexpr double releaseLatency = 1040; ///< of a fence after writes
constexpr double tmaLatency = 250;      ///< of a TMA copy, more than of a load

} // namespace tilewright::gpu
