#include "api/host_call.h"

#include "api/handles.h"
#include "runtime/interpreted.h"
#include "tune/program_work.h"

namespace tilewright::api {

static thread_local HostCall *running = nullptr;

HostCall::HostCall(Mode mode) : own(mode), before(running) {
  running = this;
}
HostCall::~HostCall() {
  running = before;
}
HostCall *HostCall::current() {
  return running;
}

/// Counts operations by running a few programs on the interpreter. Used if the length of a loop depends on data, so the IR cannot give it.
static double interpretedWork(const CompileRequest &request, const Grid &grid, llvm::ArrayRef<Argument> arguments) {
  for (const Argument &argument : arguments)
    if (argument.device() >= 0) return 0; // the interpreter cannot read there
  Diagnostics ignored;
  std::shared_ptr<InterpretedKernel> program = InterpretedKernel::create(request, ignored);
  return program ? program->arithmetic(grid, arguments, nullptr) : 0;
}

void HostCall::count(const TwKernel &kernel, const Grid &grid, llvm::ArrayRef<Argument> arguments, const LaunchOptions &options) {
  Diagnostics ignored; // the launch reports errors, with more detail than a count could
  std::optional<int64_t> programs = programCount(grid, ignored);
  std::optional<CompileRequest> request = requestOf(kernel, arguments, options, ignored);
  std::optional<ProgramWork> work = programs && request ? workOfRequest(*request, arguments, grid, ignored) : std::nullopt;
  if (!work) return;
  hasDot |= work->dots > 0;
  operations +=
      work->isExact ? (work->arithmetic + work->dots) * static_cast<double>(*programs) : interpretedWork(*request, grid, arguments);
}

} // namespace tilewright::api
