// The LLVM dialect -> LLVM IR -> PTX, and PTX -> a GPU's machine code (cubin). Only files in codegen/ include headers of LLVM IR.
#pragma once

#include "codegen/object.h"
#include "support/target.h"

#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <optional>
#include <string>

namespace mlir {
class ModuleOp;
}

namespace tilewright {

/// The attribute of a call in LLVM IR: ptxas must not unroll the loop around it.
constexpr llvm::StringLiteral keepRolledName = "tilewright-keep-rolled";

/// Optimizes a module from lowerPtxToLlvm and returns it as LLVM IR (CodeKind::llvm) or PTX (CodeKind::assembly). If LLVM rejects the
/// module, returns null and reports an error on it.
std::optional<std::string> generatePtx(mlir::ModuleOp module, const GpuTarget &target, CodeKind kind);

/// The result of assembling a PTX module; for several kernels, the largest numbers.
struct Cubin {
  std::string bytes;       // an ELF file
  int64_t registers = 0;   // per thread, when the kernel starts
  int64_t spillBytes = 0;  // stored to local memory for lack of registers
  int64_t localBytes = 0;  // stack per thread, including spills
  int64_t sharedBytes = 0; // static
  std::string log;         // its messages, including warnings about serialized wgmma (C75xx)
};

/// The path of ptxas: TILEWRIGHT_PTXAS, or ptxas on PATH. Empty if there is none.
std::string findPtxas();
/// Identifies an assembler in cache keys: its path, size and modification time. "driver" without ptxas, when the driver assembles.
std::string assemblerIdentity();
/// Why there is no cubin. `isOfSystem`: the program or its files, not the PTX, are the reason.
struct AssemblerProblem {
  bool isOfSystem = false;
  std::string text;
};
/// Assembles `ptx`; `options`: more command-line options for ptxas. Null, with the reason in `problem`, if there is no ptxas or it fails.
std::optional<Cubin> assemblePtx(const std::string &ptx, const GpuTarget &target, const std::string &options, AssemblerProblem &problem);
/// The option of ptxas that promises so many CTAs per SM, for PTX without such a promise (minnctapersm).
std::string minCtasOption(int64_t ctas);

} // namespace tilewright
