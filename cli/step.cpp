// Stepping shows each operation before it runs, with its line in the kernel file, and its results after it has run:
//   program (0, 0, 0)  add.py:9:11  %pid = tt.get_program_id x : i32
//       = 0
// Commands: Enter or s: one operation. n: to the next program. c: to the end. p NAME: a value by its name in the IR. q: stop.

#include "cli/step.h"

#include "cli/command.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Location.h"
#include "mlir/IR/OperationSupport.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include <cstdio>
#include <iostream>

using namespace mlir;

namespace tilewright {
namespace {

std::string locationOf(Location location) {
  FileLineColLoc place = location->findInstanceOf<FileLineColLoc>();
  if (!place) return "";
  llvm::StringRef file = place.getFilename().getValue();
  size_t slash = file.rfind('/');
  if (slash != llvm::StringRef::npos) file = file.drop_front(slash + 1);
  return (file + ":" + std::to_string(place.getLine()) + ":" + std::to_string(place.getColumn())).str();
}

class Stepper {
public:
  Stepper(ModuleOp module, int64_t limit) : state(module, OpPrintingFlags().skipRegions().elideLargeElementsAttrs(8)), limit(limit) {}

  /// Shows the operation. True if the run continues.
  bool operator()(const InterpretStep &step) {
    bool newProgram = step.program != program;
    if (!newProgram && previous) showResults(step);
    program = step.program;
    previous = step.op;
    if (mode == Mode::toEnd || (mode == Mode::nextProgram && !newProgram)) return true;
    if (limit > 0 && shown >= limit) return false;
    show(step);
    ++shown;
    return limit > 0 || ask(step);
  }

private:
  enum class Mode { one, nextProgram, toEnd };

  std::string nameOf(mlir::Value value) {
    std::string name;
    llvm::raw_string_ostream stream(name);
    value.printAsOperand(stream, state);
    return name;
  }

  void show(const InterpretStep &step) {
    std::string text;
    llvm::raw_string_ostream stream(text);
    step.op->print(stream, state);
    // A trailing location would repeat the location that is printed before.
    std::printf("program (%lld, %lld, %lld)  %s  %s\n", static_cast<long long>(step.program[0]), static_cast<long long>(step.program[1]),
                static_cast<long long>(step.program[2]), locationOf(step.op->getLoc()).c_str(), text.c_str());
    for (mlir::Value operand : step.op->getOperands())
      known[nameOf(operand)] = operand;
  }

  void showResults(const InterpretStep &step) {
    for (mlir::Value result : previous->getResults()) {
      known[nameOf(result)] = result;
      if (mode != Mode::one || previous->getNumRegions() != 0) continue;
      std::printf("    = %s\n", step.text(result).c_str());
    }
  }

  bool ask(const InterpretStep &step) {
    while (true) {
      std::printf("(step) ");
      std::fflush(stdout);
      std::string line;
      if (!std::getline(std::cin, line)) return false;
      mode = Mode::one;
      if (line.empty() || line == "s") return true;
      if (line == "q") return false;
      if (line == "n" || line == "c") {
        mode = line == "n" ? Mode::nextProgram : Mode::toEnd;
        return true;
      }
      if (line.rfind("p ", 0) == 0) {
        std::string name = line.substr(2);
        auto found = known.find(name[0] == '%' ? name : "%" + name);
        std::printf("    %s\n", found == known.end() ? "no such value has been seen" : step.text(found->second).c_str());
        continue;
      }
      std::printf("    Enter or s: one operation, n: next program, c: to the end, p NAME: a value, q: stop\n");
    }
  }

  AsmState state;
  int64_t limit, shown = 0;
  Mode mode = Mode::one;
  Operation *previous = nullptr;
  std::array<int64_t, 3> program{-1, -1, -1};
  llvm::StringMap<mlir::Value> known;
};

/// `memory`: the number of pointers and descriptors so far.
void appendArguments(llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments, std::vector<InterpretArg> &result,
                     int64_t &memory) {
  for (size_t i = 0; i < specs.size(); ++i) {
    if (specs[i].constant) continue;
    const Argument &argument = arguments[i];
    if (!specs[i].members.empty()) {
      appendArguments(specs[i].members, argument.members(), result, memory);
    } else if (argument.isNumber()) {
      bool wantsFloat = specs[i].type.isScalar() && isFloat(specs[i].type.scalar());
      result.push_back(wantsFloat ? InterpretArg::ofFloat(argument.asDouble()) : InterpretArg::ofInteger(argument.asInteger()));
    } else {
      result.push_back(InterpretArg::ofPointer(argument.address()));
      result.back().memory = memory++;
      for (int64_t extent : argument.shape())
        result.push_back(InterpretArg::ofInteger(extent));
      for (int64_t stride : argument.strides())
        result.push_back(InterpretArg::ofInteger(stride));
    }
  }
}

} // namespace

int interpretKernel(const InterpretRun &run) {
  Diagnostics diagnostics;
  std::unique_ptr<TileProgram> program = TileProgram::create(run.request, diagnostics);
  if (!program) return report(diagnostics, ourError);
  std::optional<int64_t> programs = programCount(run.grid, diagnostics);
  if (!programs) return report(diagnostics, userError);
  std::vector<InterpretArg> args;
  int64_t memory = 0;
  appendArguments(run.request.args, run.arguments, args, memory);

  InterpretOptions options;
  options.print = [](llvm::StringRef text) { std::fwrite(text.data(), 1, text.size(), stdout); };
  options.skipAsserts = !run.request.options.debug;
  options.checkBounds = options.checkRaces = options.tagsArguments = run.checkBounds;
  if (run.checkBounds) options.maxSteps = sanitizedSteps;
  std::vector<std::string> parameters;
  for (const JitFunction::Parameter &parameter : run.request.kernel.face()->parameters)
    parameters.push_back(parameter.name);
  for (ArgumentMemory &range : memoryOfArguments(parameters, run.request.args, run.arguments))
    options.memory.push_back({range.begin, range.end, std::move(range.name), range.isKnown});
  HeldModule held = program->hold();
  Stepper stepper(*held, run.stepLimit);
  if (run.step) options.onStep = [&](const InterpretStep &step) { return stepper(step); };
  std::array<int64_t, 3> grid{run.grid.extent[0], run.grid.extent[1], run.grid.extent[2]};
  llvm::Error error = interpret(*held, run.request.kernel.name(), args, grid, 0, *programs, options);
  if (!error) return success;
  return fail(llvm::toString(std::move(error)));
}

} // namespace tilewright
