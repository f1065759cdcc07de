// The compiler's face: a kernel function and what it is specialised for go in, an artifact comes out. compile.cpp is the one place that
// knows the order of things.
#pragma once

#include "frontend/frontend.h"
#include "support/slots.h"
#include "support/target.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace tilewright {

struct GpuArtifact; // support/artifact.h

/// A compiled kernel for a CPU. Relocatable object code; position independent; its one entry has the type KernelEntry.
struct CpuArtifact {
  std::string entry;      // symbol
  std::string object;     // ELF bytes
  int64_t arenaBytes = 0; // scratch that each worker must bring, 64-byte aligned
  std::vector<SlotKind> slots;
};

/// Runs the programs [first, last) of the grid, x fastest. `args`: one slot an argument of the tt.func. `arena`: 64-byte aligned.
using KernelEntry = void (*)(const uint64_t *args, const int32_t *grid, int64_t first, int64_t last, char *arena);

/// loops, assembly and object are of processors; ttg, threads, ptx and cubin of GPUs.
enum class Stage { ast, tt, loops, llvm, assembly, object, ttg, threads, ptx, cubin };

struct CompileRequest {
  const JitFunction *kernel = nullptr;
  std::vector<ArgumentSpec> args;
  KernelOptions options;
  CpuTarget target;
  std::optional<GpuTarget> gpu; // set: for this GPU, and `target` is of no meaning
  /// Facts about launches (support/launch_facts.h) that the code must do without, by their names.
  std::vector<std::string> refutedFacts;
  /// Seconds each step took, by name, if wanted.
  std::function<void(llvm::StringRef step, double seconds)> onStep;
  /// The module after each step for a GPU, if wanted.
  std::function<void(llvm::StringRef step, mlir::ModuleOp module)> onModule;
};

/// Null after an error.
std::unique_ptr<CpuArtifact> compileForCpu(const CompileRequest &request, Diagnostics &diagnostics);
/// For request.gpu, which must be set. Null after an error.
std::unique_ptr<GpuArtifact> compileForGpu(const CompileRequest &request, Diagnostics &diagnostics);
/// The kernel at one stage, as text (object: bytes). Nothing after an error.
std::optional<std::string> emitStage(const CompileRequest &request, Stage stage, Diagnostics &diagnostics);
/// The same from TTIR text instead of a kernel file; `name` may be empty where there is one public function.
std::unique_ptr<CpuArtifact> compileTextForCpu(const std::string &text, const std::string &fileName, llvm::StringRef name,
                                               const CpuTarget &target, Diagnostics &diagnostics);

/// As emitStage, from TTIR text: of the request, target, options and onStep are used. There is no Stage::ast of it.
std::optional<std::string> emitTextStage(const std::string &text, const std::string &fileName, const CompileRequest &request,
                                         llvm::StringRef name, Stage stage, Diagnostics &diagnostics);

/// The tt module, ready for the interpreter. It owns its context.
class TileProgram {
public:
  static std::unique_ptr<TileProgram> create(const CompileRequest &request, Diagnostics &diagnostics);
  ~TileProgram();
  mlir::ModuleOp module() const;

private:
  TileProgram();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// The ptx program of a kernel for request.gpu, ready for the simulator. It lives as long as the thread that made it.
class ThreadProgram {
public:
  static std::unique_ptr<ThreadProgram> create(const CompileRequest &request, Diagnostics &diagnostics);
  ~ThreadProgram();
  mlir::ModuleOp module() const;
  /// What it asks of a launch; without code.
  const GpuArtifact &artifact() const;

private:
  ThreadProgram();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

/// Identifies this build of the compiler in cache keys.
std::string buildId();

} // namespace tilewright
