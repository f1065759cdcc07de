#include "driver/program.h"

#include "support/artifact.h"

namespace tilewright {

OwnedModule::OwnedModule(std::shared_ptr<SharedContext> context, mlir::OwningOpRef<mlir::ModuleOp> module)
    : context(std::move(context)), module(std::move(module)) {}

OwnedModule::~OwnedModule() {
  destroyIn(context, std::move(module));
}

HeldModule OwnedModule::hold() const {
  return HeldModule(ContextHold(context), module.get());
}

TileProgram::TileProgram(std::shared_ptr<SharedContext> context, mlir::OwningOpRef<mlir::ModuleOp> module)
    : owned(std::move(context), std::move(module)) {}

ThreadProgram::ThreadProgram(std::shared_ptr<SharedContext> context, mlir::OwningOpRef<mlir::ModuleOp> module,
                             std::unique_ptr<GpuArtifact> launch)
    : owned(std::move(context), std::move(module)), launch(std::move(launch)) {}
ThreadProgram::~ThreadProgram() = default;

} // namespace tilewright
