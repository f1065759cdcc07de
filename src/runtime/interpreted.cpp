// Turns the arguments of a launch into the interpreter's values; simulated.cpp does that for the simulator.
#include "runtime/interpreted.h"

#include "ir/interpret/interpret.h"
#include "ir/work.h"
#include "ir/written_arguments.h"
#include "driver/program.h"

#include "mlir/IR/BuiltinOps.h"

#include <chrono>

namespace tilewright {

struct InterpretedKernel::Impl {
  std::unique_ptr<TileProgram> program;
  std::shared_ptr<SimulatedKernel> simulated; // if set, it takes the place of the program
  std::string name;
  std::vector<ArgumentSpec> specs;
  std::vector<std::string> parameters, slotNames;
  std::vector<bool> writes; // of each run-time value
  bool debug = false;
};

InterpretedKernel::InterpretedKernel() : impl(std::make_unique<Impl>()) {}
InterpretedKernel::~InterpretedKernel() = default;

std::shared_ptr<InterpretedKernel> InterpretedKernel::create(const CompileRequest &request, Diagnostics &diagnostics) {
  std::shared_ptr<InterpretedKernel> kernel(new InterpretedKernel);
  kernel->impl->name = request.kernel.name();
  kernel->impl->specs = request.args;
  kernel->impl->slotNames = namesOfSlots(*request.kernel.face(), request.args);
  kernel->impl->debug = request.options.debug;
  for (const JitFunction::Parameter &parameter : request.kernel.face()->parameters)
    kernel->impl->parameters.push_back(parameter.name);
  if (request.gpu) {
    kernel->impl->simulated = SimulatedKernel::create(request, diagnostics);
    if (!kernel->impl->simulated) return nullptr;
    kernel->impl->writes = kernel->impl->simulated->writes();
    return kernel;
  }
  kernel->impl->program = TileProgram::create(request, diagnostics);
  if (!kernel->impl->program) return nullptr;
  {
    HeldModule module = kernel->impl->program->hold();
    if (auto function = (*module).lookupSymbol<tt::FuncOp>(request.kernel.name())) kernel->impl->writes = writtenArguments(function);
  }
  return kernel;
}

/// `memory`: the number of pointers and descriptors so far.
static void append(const ArgumentSpec &spec, const Argument &argument, std::vector<InterpretArg> &args, int64_t &memory) {
  if (spec.constant) return;
  if (!spec.members.empty()) {
    for (size_t i = 0; i < spec.members.size(); ++i)
      append(spec.members[i], argument.members()[i], args, memory);
    return;
  }
  bool isDescriptor = argument.kind() == Argument::Kind::descriptor;
  if (isDescriptor) {
    args.push_back(InterpretArg::ofPointer(argument.address()));
    args.back().memory = memory++;
    for (int64_t extent : argument.shape())
      args.push_back(InterpretArg::ofInteger(extent));
    for (int64_t stride : argument.strides())
      args.push_back(InterpretArg::ofInteger(stride));
  } else if (spec.type.isPointer()) {
    args.push_back(InterpretArg::ofPointer(argument.isPointer() ? argument.address() : reinterpret_cast<void *>(argument.asInteger())));
    args.back().memory = memory++;
  } else if (isFloat(spec.type.scalar())) {
    double value = argument.asDouble();
    args.push_back(InterpretArg::ofFloat(spec.type.scalar() == Scalar::fp32 ? static_cast<double>(static_cast<float>(value)) : value));
  } else {
    args.push_back(InterpretArg::ofInteger(argument.asInteger()));
  }
}

std::vector<std::string> InterpretedKernel::unchecked(llvm::ArrayRef<Argument> arguments) const {
  std::vector<std::string> names;
  for (const ArgumentMemory &memory : memoryOfArguments(impl->parameters, impl->specs, arguments))
    if (!memory.isKnown) names.push_back(memory.name);
  return names;
}

bool InterpretedKernel::checkMemory(llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics) const {
  return tilewright::checkMemory(impl->name, impl->specs, arguments, impl->slotNames, impl->writes, diagnostics);
}

std::string InterpretedKernel::run(const Grid &grid, llvm::ArrayRef<Argument> arguments, const SimulateLaunch &launch) const {
  if (impl->simulated) return impl->simulated->run(grid, arguments, launch);
  std::vector<InterpretArg> args;
  InterpretOptions options;
  int64_t memory = 0;
  for (size_t i = 0; i < impl->specs.size(); ++i)
    append(impl->specs[i], arguments[i], args, memory);
  options.checkBounds = options.checkRaces = options.tagsArguments = launch.checkBounds;
  if (launch.checkBounds) options.maxSteps = sanitizedSteps;
  for (ArgumentMemory &range : memoryOfArguments(impl->parameters, impl->specs, arguments))
    options.memory.push_back({range.begin, range.end, std::move(range.name), range.isKnown});
  options.skipAsserts = !impl->debug;
  options.stop = launch.stop;
  options.print = launch.print;
  options.onBreakpoint = launch.onBreakpoint;
  options.onWarning = launch.onWarning;
  int64_t programs = grid.extent[0] * grid.extent[1] * grid.extent[2];
  llvm::Error error = interpret(*impl->program->hold(), impl->name, args, grid.extent, 0, programs, options);
  return error ? llvm::toString(std::move(error)) : std::string();
}

SanitizedRun InterpretedKernel::sanitize(const Grid &grid, llvm::ArrayRef<Argument> arguments, int64_t maxWork) const {
  if (!impl->program) return {SanitizedRun::unknown, "the simulator runs in place of the interpreter"};
  std::vector<InterpretArg> args;
  InterpretOptions options;
  int64_t memory = 0;
  for (size_t i = 0; i < impl->specs.size(); ++i)
    append(impl->specs[i], arguments[i], args, memory);
  options.checkBounds = options.checkRaces = options.tagsArguments = true;
  options.maxWork = maxWork;
  for (ArgumentMemory &range : memoryOfArguments(impl->parameters, impl->specs, arguments))
    options.memory.push_back({range.begin, range.end, std::move(range.name), range.isKnown});
  options.skipAsserts = !impl->debug;
  int64_t programs = grid.extent[0] * grid.extent[1] * grid.extent[2];
  llvm::Error error = interpret(*impl->program->hold(), impl->name, args, grid.extent, 0, programs, options);
  SanitizedRun run;
  llvm::handleAllErrors(std::move(error), [&](const InterpretError &found) {
    run.outcome = found.isFault ? SanitizedRun::bad : SanitizedRun::unknown;
    llvm::raw_string_ostream(run.text) << found.message();
  });
  return run;
}

double InterpretedKernel::arithmetic(const Grid &grid, llvm::ArrayRef<Argument> arguments, const std::atomic<bool> *stop) const {
  constexpr int64_t maxPrograms = 5;
  constexpr double maxSeconds = 2;
  int64_t programs = grid.extent[0] * grid.extent[1] * grid.extent[2];
  if (!impl->program || programs == 0) return 0;
  std::vector<InterpretArg> args;
  int64_t memory = 0;
  for (size_t i = 0; i < impl->specs.size(); ++i)
    append(impl->specs[i], arguments[i], args, memory);
  double counted = 0;
  InterpretOptions options;
  options.skipAsserts = true;
  options.stop = stop;
  options.maxSteps = sanitizedSteps;
  options.onStep = [&](const InterpretStep &step) {
    counted += arithmeticOf(step.op);
    return true;
  };
  int64_t samples = std::min(programs, maxPrograms), ran = 0;
  auto start = std::chrono::steady_clock::now();
  // Spread evenly over the grid, because programs may do different amounts of work, for instance in a causal kernel.
  for (int64_t sample = 0; sample < samples; ++sample) {
    int64_t program = (2 * sample + 1) * programs / (2 * samples);
    llvm::consumeError(interpret(*impl->program->hold(), impl->name, args, grid.extent, program, program + 1, options));
    ++ran;
    if (std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() > maxSeconds) break;
  }
  return counted / static_cast<double>(ran) * static_cast<double>(programs);
}

} // namespace tilewright
