// The reference interpreter and the simulator as engines for launches.

#include "core.h"

#include "ir/interpret/interpret.h"
#include "ir/written_arguments.h"
#include "pipeline/program.h"
#include "runtime/simulated.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright::python {

struct InterpretedKernel::Impl {
  std::unique_ptr<TileProgram> program;
  std::shared_ptr<SimulatedKernel> simulated; // set: in place of the program
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
  kernel->impl->debug = request.options.debug;
  for (const JitFunction::Parameter &parameter : request.kernel.face()->parameters)
    kernel->impl->parameters.push_back(parameter.name);
  return kernel;
}

static void append(const ArgumentSpec &spec, const Argument &argument, const std::string &name, std::vector<InterpretArg> &args,
                   std::vector<MemoryRange> &memory, bool &allKnown) {
  if (spec.constant) return;
  if (!spec.members.empty()) {
    for (size_t i = 0; i < spec.members.size(); ++i)
      append(spec.members[i], argument.members()[i], name + "[" + std::to_string(i) + "]", args, memory, allKnown);
    return;
  }
  bool isDescriptor = argument.kind() == Argument::Kind::descriptor;
  if (isDescriptor) {
    args.push_back(InterpretArg::ofPointer(argument.address()));
    for (int64_t extent : argument.shape())
      args.push_back(InterpretArg::ofInteger(extent));
    for (int64_t stride : argument.strides())
      args.push_back(InterpretArg::ofInteger(stride));
  } else if (spec.type.isPointer()) {
    args.push_back(InterpretArg::ofPointer(argument.isPointer() ? argument.address() : reinterpret_cast<void *>(argument.asInteger())));
  } else if (isFloat(spec.type.scalar())) {
    double value = argument.asDouble();
    args.push_back(InterpretArg::ofFloat(spec.type.scalar() == Scalar::fp32 ? static_cast<double>(static_cast<float>(value)) : value));
  } else {
    args.push_back(InterpretArg::ofInteger(argument.asInteger()));
  }
  if (!isDescriptor && !argument.isPointer()) return;
  uint64_t begin = reinterpret_cast<uint64_t>(argument.address());
  if (argument.bytes() > 0)
    memory.push_back({begin, begin + static_cast<uint64_t>(argument.bytes()), name});
  else if (begin)
    allKnown = false;
}

bool InterpretedKernel::checkMemory(llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics) const {
  return tilewright::checkMemory(impl->name, impl->specs, arguments, impl->slotNames, impl->writes, diagnostics);
}

std::string InterpretedKernel::run(const Grid &grid, llvm::ArrayRef<Argument> arguments, bool checkBounds, const std::atomic<bool> *stop,
                                   std::string &printed) const {
  if (impl->simulated) return impl->simulated->run(grid, arguments, {checkBounds, [&](llvm::StringRef text) { printed += text; }, stop});
  std::vector<InterpretArg> args;
  InterpretOptions options;
  bool allKnown = true;
  for (size_t i = 0; i < impl->specs.size(); ++i)
    append(impl->specs[i], arguments[i], impl->parameters[i], args, options.memory, allKnown);
  options.checkBounds = checkBounds && allKnown;
  options.skipAsserts = !impl->debug;
  options.stop = stop;
  options.print = [&](llvm::StringRef line) { printed += line; };
  int64_t programs = grid.extent[0] * grid.extent[1] * grid.extent[2];
  llvm::Error error = interpret(*impl->program->hold(), impl->name, args, grid.extent, 0, programs, options);
  return error ? llvm::toString(std::move(error)) : std::string();
}

} // namespace tilewright::python
