// Levels of 64-bit ARM CPUs. A level is a set of extensions, as on x86. LLVM's "generic" CPU adds none; `tuneCpu` only orders instructions.
//
// Code for SVE has vectors of a fixed size: `sve` has the 16 bytes that every implementation has, and runs on all of them; `sve256` needs
// registers of at least 32 bytes. Code of unknown vector length would not be faster: the back end blocks, unrolls and packs for a known
// number of lanes, and CPUs with registers of 16 bytes are the majority (Neoverse N2, V2, Cortex-X).
#include "support/arm_target.h"

#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Host.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace tilewright {

static CpuTarget armv8() {
  CpuTarget target;
  target.name = "armv8";
  target.isa = Isa::aarch64;
  target.cpu = "generic";
  target.tuneCpu = "neoverse-n1";
  target.features = "+v8a,+neon,-outline-atomics";
  target.vectorBytes = 16;
  target.registers = 32;
  target.fmaInFlight = 16;
  target.fma = target.f16c = target.rounding = target.laneOperand = true;
  return target;
}

// ARMv8.2 with its fp16 arithmetic and the atomic instructions of 8.1 (LSE). Neoverse N1, Cortex-A76, Apple M1.
static CpuTarget neon() {
  CpuTarget target = armv8();
  target.name = "neon";
  target.features = "+v8.2a,+neon,+fullfp16,+lse,-outline-atomics";
  target.fp16Arithmetic = true;
  return target;
}

// ARMv8.6's dot products and 2x2 blocks of bytes and bf16. Neoverse V1, N2, V2, Apple M2.
static CpuTarget neonDot() {
  CpuTarget target = neon();
  target.name = "neon-dot";
  target.tuneCpu = "neoverse-v2";
  target.features += ",+fp16fml,+dotprod,+i8mm,+bf16";
  target.bf16Dot = target.byteDot = target.signedByteDot = target.matrixDot = true;
  return target;
}

static CpuTarget sve() {
  CpuTarget target = neonDot();
  target.name = "sve";
  target.features += ",+sve";
  target.maskedMemory = true;
  target.scalableBytes = 16;
  return target;
}

static CpuTarget sve256() {
  CpuTarget target = sve();
  target.name = "sve256";
  target.tuneCpu = "neoverse-v1";
  target.vectorBytes = target.scalableBytes = 32;
  target.gather = true;
  target.fmaInFlight = 8;
  return target;
}

const std::vector<CpuTarget (*)()> &armLevels() {
  static const std::vector<CpuTarget (*)()> levels = {armv8, neon, neonDot, sve, sve256};
  return levels;
}

/// True if this machine has all extensions of a level.
static bool runsHere([[maybe_unused]] const CpuTarget &target) {
#if defined(__aarch64__)
  unsigned long has = ::getauxval(AT_HWCAP), hasMore = ::getauxval(AT_HWCAP2);
  constexpr unsigned long ofNeon = HWCAP_FPHP | HWCAP_ASIMDHP | HWCAP_ATOMICS;
  constexpr unsigned long ofDots = HWCAP_ASIMDDP | HWCAP_ASIMDFHM, moreOfDots = HWCAP2_I8MM | HWCAP2_BF16;
  if (target.fp16Arithmetic && (has & ofNeon) != ofNeon) return false;
  if (target.matrixDot && ((has & ofDots) != ofDots || (hasMore & moreOfDots) != moreOfDots)) return false;
  if (!target.scalableBytes) return true;
  int length = has & HWCAP_SVE ? ::prctl(PR_SVE_GET_VL) : -1; // bytes of a register
  return length >= 0 && (length & PR_SVE_VL_LEN_MASK) >= target.scalableBytes;
#else
  return false;
#endif
}

CpuTarget detectArm(std::string_view limit) {
  CpuTarget best = armv8();
  for (CpuTarget (*level)() : armLevels()) {
    CpuTarget target = level();
    if (runsHere(target)) best = target;
    if (target.name == limit) break;
  }
  bool isTuned = limit.empty() || limit == "native";
  if (std::string cpu = llvm::sys::getHostCPUName().str(); isTuned && cpu != "generic") best.tuneCpu = cpu;
  return best;
}

} // namespace tilewright
