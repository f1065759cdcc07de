// The compiler's interface: from a kernel and its specialization to an artifact. Only driver.cpp knows the order of the steps.
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

/// A compiled kernel for a CPU: relocatable, position-independent object code. Its one entry has the type KernelEntry.
struct CpuArtifact {
  std::string entry;      // symbol
  std::string object;     // ELF bytes
  int64_t arenaBytes = 0; // scratch memory of each worker, 64-byte aligned
  Atomics atomics = Atomics::none;
  std::vector<SlotKind> slots;
  std::vector<bool> writes;        // for each slot: true if the kernel may write to the memory that it points to
  std::vector<LaunchGuard> guards; // the code's assumptions about a launch
};

/// Runs the programs [first, last) of the grid, x fastest. `args`: one slot for each argument of the tt.func. `arena`: as in PoolJob.
using KernelEntry = void (*)(const uint64_t *args, const int32_t *grid, int64_t first, int64_t last, char *arena);

/// loops, assembly and object are for CPUs; ttg, threads, ptx and cubin are for GPUs.
enum class Stage { ast, tt, loops, llvm, assembly, object, ttg, threads, ptx, cubin };

/// The result of a step, for observers. After code generation there is no module; `output` is the code, and empty before.
struct StepDone {
  llvm::StringRef step;
  double seconds = 0;
  mlir::ModuleOp *module = nullptr;
  llvm::StringRef output;
  llvm::StringRef suffix; // the suffix for a file with `output`: "ptx"
};

struct CompileRequest {
  KernelSource kernel;
  std::vector<ArgumentSpec> args; // of a Python function; IR text has its types
  KernelOptions options;
  CpuTarget target;
  std::optional<GpuTarget> gpu; // set: the code is for this GPU, and `target` is ignored
  /// The symbol of an object's entry function, for programs that link it; empty: NAME.entry. With a symbol, the object also exports
  /// SYMBOL_scratch_bytes, a uint64_t: the size of the scratch memory for each thread.
  std::string symbol;
  /// The names of the launch guards (support/launch_guards.h) that have failed: the code must not assume them.
  std::vector<std::string> failedGuards;
  std::function<void(const StepDone &)> onStep;
  std::function<void(const Explanation &)> onExplained; // for CPUs: the decisions of lower-to-loops
  std::string dump;                                     // for messages: the folder of the dump that `onStep` writes, or empty
};

/// Null after an error.
std::unique_ptr<CpuArtifact> compileForCpu(const CompileRequest &request, Diagnostics &diagnostics);
/// For request.gpu, which must be set. Null after an error.
std::unique_ptr<GpuArtifact> compileForGpu(const CompileRequest &request, Diagnostics &diagnostics);
/// The kernel at one stage, as text (object and cubin: bytes). Nothing after an error.
std::optional<std::string> emitStage(const CompileRequest &request, Stage stage, Diagnostics &diagnostics);
/// The kernel after the step `until`. With `from`, request.kernel is a dump's text before that step; empty: from the start. Both are
/// names of steps for the request's target (driver/steps.h).
std::optional<std::string> emitAfter(const CompileRequest &request, llvm::StringRef from, llvm::StringRef until, Diagnostics &diagnostics);
/// The tt IR as the front end emits it, before calls are inlined, with numbered values. For tests that compare it as text.
std::optional<std::string> emittedTiles(const CompileRequest &request, Diagnostics &diagnostics);
/// The kernel at Stage::tt, with the source location of each operation.
std::optional<std::string> locatedTiles(const CompileRequest &request, Diagnostics &diagnostics);
/// Like emitStage, but continues from a dump with the step `from`.
std::optional<std::string> emitStageFrom(const CompileRequest &request, llvm::StringRef from, Stage stage, Diagnostics &diagnostics);

} // namespace tilewright
