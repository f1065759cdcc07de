// The compiler's interface: a kernel and what it is specialised for go in,
// an artifact comes out. Only pipeline.cpp knows the order of the steps.
#pragma once

#include "driver/source.h"
#include "support/arena.h"
#include "support/launch_guards.h"
#include "support/options.h"
#include "support/slots.h"
#include "support/target.h"

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mlir {
class ModuleOp;
}

namespace tilewright {

struct GpuArtifact; // support/artifact.h
struct Explanation; // ir/explanation.h

/// A compiled kernel for a CPU. Relocatable object code; position independent; its one entry has the type KernelEntry.
struct CpuArtifact {
  std::string entry;      // symbol
  std::string object;     // ELF bytes
  int64_t arenaBytes = 0; // scratch that each worker must bring, 64-byte aligned
  Atomics atomics = Atomics::none;
  std::vector<SlotKind> slots;
  std::vector<bool> writes;      // for each slot: whether the kernel may write to the memory that it points to
  std::vector<LaunchGuard> facts; // what the code assumes about a launch
};

/// Runs the programs [first, last) of the grid, x fastest. `args`: one slot for each argument of the tt.func. `arena`: as in PoolJob.
using KernelEntry = void (*)(const uint64_t *args, const int32_t *grid, int64_t first, int64_t last, char *arena);

/// loops, assembly and object belong to processors; ttg, threads, ptx and cubin to GPUs.
enum class Stage { ast, tt, loops, llvm, assembly, object, ttg, threads, ptx, cubin };

/// What a step has done, for observers. The module is gone once code has been generated; `output` is the code, and empty before.
struct StepDone {
  llvm::StringRef step;
  double seconds = 0;
  mlir::ModuleOp *module = nullptr;
  llvm::StringRef output;
  llvm::StringRef suffix; // of a file that holds `output`: "ptx"
};

struct CompileRequest {
  KernelSource kernel;
  std::vector<ArgumentSpec> args; // of a Python function; IR text has its types
  KernelOptions options;
  CpuTarget target;
  std::optional<GpuTarget> gpu; // set: the code is for this GPU, and `target` is ignored
  /// What the function of an object is called, for programs that link it; empty: NAME.entry. Beside it the object then exports
  /// SYMBOL_scratch_bytes, a uint64_t: the scratch memory that each thread brings.
  std::string symbol;
  /// The names of the facts about launches (support/launch_guards.h) that the code must do without.
  std::vector<std::string> failedGuardsOf;
  std::function<void(const StepDone &)> onStep;
  std::function<void(const Explanation &)> onExplained; // for processors: what lower-to-loops has decided
  std::string dump; // for messages: the folder, if there is one, to which `onStep` writes what each step leaves
};

/// Null after an error.
std::unique_ptr<CpuArtifact> compileForCpu(const CompileRequest &request, Diagnostics &diagnostics);
/// For request.gpu, which must be set. Null after an error.
std::unique_ptr<GpuArtifact> compileForGpu(const CompileRequest &request, Diagnostics &diagnostics);
/// The kernel at one stage, as text (object and cubin: bytes). Nothing after an error.
std::optional<std::string> emitStage(const CompileRequest &request, Stage stage, Diagnostics &diagnostics);
/// The kernel after the step `until`. With `from`, request.kernel is a dump's text from before that
/// step; empty: from the beginning. Both are names of steps of the request's machine (driver/steps.h).
std::optional<std::string> emitAfter(const CompileRequest &request, llvm::StringRef from, llvm::StringRef until, Diagnostics &diagnostics);
/// The tt IR as the front end emits it, calls and all, with values by number. For tests that compare it as text.
std::optional<std::string> emittedTiles(const CompileRequest &request, Diagnostics &diagnostics);
/// The kernel at Stage::tt, each operation with its place in the source.
std::optional<std::string> locatedTiles(const CompileRequest &request, Diagnostics &diagnostics);
/// emitStage, going on from a dump with the step `from`.
std::optional<std::string> emitStageFrom(const CompileRequest &request, llvm::StringRef from, Stage stage, Diagnostics &diagnostics);

} // namespace tilewright
