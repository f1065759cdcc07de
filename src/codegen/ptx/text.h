// The LLVM dialect -> LLVM IR -> PTX, and PTX -> the machine code of one GPU (cubin). LLVM IR headers stay behind this border.
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

/// Of a call in LLVM IR: ptxas must not unroll the loop around it.
constexpr llvm::StringLiteral keepRolledName = "tilewright-keep-rolled";

/// Cleans up a module that lowerPtxToLlvm made and returns it as LLVM IR (CodeKind::llvm) or PTX (CodeKind::assembly). Nothing, and an
/// error on the module, if LLVM refuses it.
std::optional<std::string> generatePtx(mlir::ModuleOp module, const GpuTarget &target, CodeKind kind);

/// What ptxas made of a PTX module; of several kernels, the largest numbers.
struct Cubin {
  std::string bytes;       // an ELF file
  int64_t registers = 0;   // of a thread, when the kernel starts
  int64_t spillBytes = 0;  // stored to local memory because registers did not suffice
  int64_t localBytes = 0;  // stack of a thread, spills included
  int64_t sharedBytes = 0; // static
  std::string log;         // what it said, warnings about serialised wgmma (C75xx) included
};

/// The assembler: TILEWRIGHT_PTXAS, or ptxas on PATH. Empty if there is none.
std::string findPtxas();
/// What tells one assembler from another, for cache keys: its path, size and age. "driver" where there is none and the driver assembles.
std::string assemblerIdentity();
/// Assembles `ptx`; `options`: more words for the assembler. Nothing, and `error`, if there is none or it refuses.
std::optional<Cubin> assemblePtx(const std::string &ptx, const GpuTarget &target, const std::string &options, std::string &error);

} // namespace tilewright
