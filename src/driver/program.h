// Kernels as IR that an engine executes: tiles for the interpreter, threads for the simulator. A program may live as long as its owner
// wants, on any thread: it keeps the context of its module.
#pragma once

#include "driver/compile.h"
#include "driver/context.h"

namespace tilewright {

/// A program's module, with its context locked: other threads that run programs of the same context wait for this object's destruction.
class HeldModule {
public:
  HeldModule(ContextHold hold, mlir::ModuleOp module) : hold(std::move(hold)), module(module) {}
  mlir::ModuleOp operator*() const { return module; }

private:
  ContextHold hold;
  mlir::ModuleOp module;
};

/// A module and its context, which outlives it.
class OwnedModule {
public:
  OwnedModule(std::shared_ptr<SharedContext> context, mlir::OwningOpRef<mlir::ModuleOp> module);
  ~OwnedModule();
  OwnedModule(const OwnedModule &) = delete;
  OwnedModule &operator=(const OwnedModule &) = delete;
  HeldModule hold() const;

private:
  std::shared_ptr<SharedContext> context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
};

/// The tt module, ready for the interpreter.
class TileProgram {
public:
  static std::unique_ptr<TileProgram> create(const CompileRequest &request, Diagnostics &diagnostics);
  /// The same, simplified to one function that accesses memory only through tiles of pointers.
  static std::unique_ptr<TileProgram> createSimplified(const CompileRequest &request, Diagnostics &diagnostics);
  HeldModule hold() const { return owned.hold(); }
  TileProgram(std::shared_ptr<SharedContext> context, mlir::OwningOpRef<mlir::ModuleOp> module);

private:
  OwnedModule owned;
};

/// The ptx program of a kernel for request.gpu, ready for the simulator.
class ThreadProgram {
public:
  static std::unique_ptr<ThreadProgram> create(const CompileRequest &request, Diagnostics &diagnostics);
  ~ThreadProgram();
  HeldModule hold() const { return owned.hold(); }
  /// The launch requirements of the kernel, without code.
  const GpuArtifact &artifact() const { return *launch; }
  ThreadProgram(std::shared_ptr<SharedContext> context, mlir::OwningOpRef<mlir::ModuleOp> module, std::unique_ptr<GpuArtifact> launch);

private:
  OwnedModule owned;
  std::unique_ptr<GpuArtifact> launch;
};

} // namespace tilewright
