// The LLVM dialect -> LLVM IR -> PTX, and PTX -> one GPU's machine code (cubin). No file beyond this border includes headers of LLVM IR.
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

/// Cleans up a module that lowerPtxToLlvm made and returns it as LLVM IR (CodeKind::llvm) or PTX
/// (CodeKind::assembly). If LLVM refuses the module, returns null and reports an error on it.
std::optional<std::string> generatePtx(mlir::ModuleOp module, const GpuTarget &target, CodeKind kind);

/// What ptxas made of a PTX module; for several kernels, the largest numbers.
struct Cubin {
  std::string bytes;       // an ELF file
  int64_t registers = 0;   // of a thread, when the kernel starts
  int64_t spillBytes = 0;  // stored to local memory because registers did not suffice
  int64_t localBytes = 0;  // stack of a thread, spills included
  int64_t sharedBytes = 0; // static
  std::string log;         // its messages, including warnings about serialised wgmma (C75xx)
};

/// The assembler: TILEWRIGHT_PTXAS, or ptxas on PATH. Empty if there is none.
std::string findPtxas();
/// What identifies an assembler, for cache keys: its path, size and age. "driver" where there is none, so that the driver assembles.
std::string assemblerIdentity();
/// Assembles `ptx`; `options`: more words for the assembler. Null, with the reason in `error`, if there is none or it refuses.
std::optional<Cubin> assemblePtx(const std::string &ptx, const GpuTarget &target, const std::string &options, std::string &error);

} // namespace tilewright
