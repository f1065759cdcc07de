// The reference interpreter runs the programs of a kernel one after another, and each operation by its meaning (program.h). This file has
// the control flow, calls, locations of errors, and the scheduler of the grid.
//
// A region runs block by block until a terminator leaves it. The terminator's operands are the region's results. So tt.return, scf.yield,
// scf.condition and the terminators of combine regions need no meaning, and branches between blocks are the only jumps.
#include "ir/interpret/program.h"
#include "ir/location.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <ucontext.h>

using namespace mlir;

namespace tilewright {

char InterpretError::ID = 0;

void InterpretError::log(llvm::raw_ostream &out) const {
  if (!file.empty()) out << file << ':' << line << ':' << column << ": ";
  out << "program (" << program[0] << ", " << program[1] << ", " << program[2] << "): " << text;
}

namespace interp {
namespace {

SmallVector<Tile> copies(Program &program, ValueRange values) {
  SmallVector<Tile> tiles;
  for (Value value : values)
    tiles.push_back(program.get(value));
  return tiles;
}

LogicalResult setResults(Program &program, Operation *op, FailureOr<SmallVector<Tile>> tiles) {
  if (failed(tiles)) return failure();
  for (auto [result, tile] : llvm::zip_equal(op->getResults(), *tiles))
    program.set(result, std::move(tile));
  return success();
}

LogicalResult runFor(Program &program, Operation *op) {
  auto loop = cast<scf::ForOp>(op);
  Format format = formatOf(loop.getInductionVar().getType());
  bool isUnsigned = loop.getUnsignedCmp();
  auto bound = [&](Value value) -> __int128 { // wide enough for the step after the last iteration
    uint64_t bits = program.get(value).scalar();
    if (isUnsigned) return bits;
    return signExtend(bits, format.bits);
  };
  __int128 upper = bound(loop.getUpperBound()), step = bound(loop.getStep());
  if (step <= 0) return program.fail(op, "the step of a loop must be positive");
  SmallVector<Tile> carried = copies(program, loop.getInitArgs());
  for (__int128 i = bound(loop.getLowerBound()); i < upper; i += step) {
    SmallVector<Tile> args{Tile(uint64_t(i) & format.mask())};
    args.append(std::make_move_iterator(carried.begin()), std::make_move_iterator(carried.end()));
    FailureOr<SmallVector<Tile>> next = program.run(loop.getRegion(), std::move(args));
    if (failed(next)) return failure();
    carried = std::move(*next);
  }
  return setResults(program, op, std::move(carried));
}

bool sameTiles(ArrayRef<Tile> a, ArrayRef<Tile> b) {
  return llvm::equal(a, b, [](const Tile &x, const Tile &y) { return x.elements == y.elements && x.block == y.block; });
}

/// Runs a while loop. An iteration that changes neither memory nor the carried values would repeat forever, so other programs run next.
LogicalResult runWhile(Program &program, Operation *op) {
  auto loop = cast<scf::WhileOp>(op);
  SmallVector<Tile> carried = copies(program, loop.getInits());
  while (true) {
    SmallVector<Tile> before = carried;
    uint64_t changes = program.launch.changes;
    FailureOr<SmallVector<Tile>> tested =
        program.run(loop.getBefore(), std::move(carried)); // the condition, then the values that it passes
    if (failed(tested)) return failure();
    bool goesOn = tested->front().scalar();
    tested->erase(tested->begin());
    if (!goesOn) return setResults(program, op, std::move(*tested));
    FailureOr<SmallVector<Tile>> next = program.run(loop.getAfter(), std::move(*tested));
    if (failed(next)) return failure();
    carried = std::move(*next);
    if (changes != program.launch.changes || !sameTiles(before, carried)) continue;
    if (!program.waitForOthers || !program.waitForOthers(op)) return failure();
  }
}

LogicalResult runIf(Program &program, Operation *op) {
  auto choice = cast<scf::IfOp>(op);
  Region &arm = program.get(choice.getCondition()).scalar() ? choice.getThenRegion() : choice.getElseRegion();
  return arm.empty() ? success() : setResults(program, op, program.run(arm, {}));
}

LogicalResult runExecuteRegion(Program &program, Operation *op) {
  return setResults(program, op, program.run(op->getRegion(0), {}));
}

LogicalResult runCall(Program &program, Operation *op) {
  auto call = cast<tt::CallOp>(op);
  return setResults(program, op, program.call(op, call.getCallee(), copies(program, call.getArgs())));
}

/// Does nothing: for barriers, because each program is one thread here, and for the kernel's assumptions.
LogicalResult nothing(Program &, Operation *) {
  return success();
}

/// Returns the target block of a branch and its arguments; null for an operation that leaves the region.
std::pair<Block *, ValueRange> target(Program &program, Operation *op) {
  if (auto branch = dyn_cast<cf::BranchOp>(op)) return {branch.getDest(), branch.getDestOperands()};
  if (auto branch = dyn_cast<cf::CondBranchOp>(op)) {
    if (program.get(branch.getCondition()).scalar()) return {branch.getTrueDest(), branch.getTrueDestOperands()};
    return {branch.getFalseDest(), branch.getFalseDestOperands()};
  }
  if (auto choice = dyn_cast<cf::SwitchOp>(op)) {
    uint64_t flag = program.get(choice.getFlag()).scalar();
    if (std::optional<DenseIntElementsAttr> values = choice.getCaseValues())
      for (auto [number, value] : llvm::enumerate(values->getValues<APInt>()))
        if (value.getZExtValue() == flag) return {choice.getCaseDestinations()[number], choice.getCaseOperands(number)};
    return {choice.getDefaultDestination(), choice.getDefaultOperands()};
  }
  return {nullptr, {}};
}

/// Returns the first operation in `function` with a value of an unsupported type, or null.
Operation *findUnsupportedType(tt::FuncOp function) {
  Operation *found = nullptr;
  function.walk([&](Operation *op) {
    bool all = llvm::all_of(op->getResultTypes(), isSupported);
    for (Region &region : op->getRegions())
      for (Block &block : region)
        all = all && llvm::all_of(block.getArgumentTypes(), isSupported);
    if (!all) found = op;
    return all ? WalkResult::advance() : WalkResult::interrupt();
  });
  return found;
}

} // namespace

Meaning findControl(StringRef name) {
  static const llvm::StringMap<Meaning> table = {
      {"scf.for", runFor},
      {"scf.while", runWhile},
      {"scf.if", runIf},
      {"scf.execute_region", runExecuteRegion},
      {"tt.call", runCall},
      {"gpu.barrier", nothing},
      {"llvm.intr.assume", nothing},
  };
  return table.lookup(name);
}

std::string locationText(Operation *op) {
  FileLineColLoc fileLoc = locationOf(op->getLoc());
  return fileLoc ? (fileLoc.getFilename().getValue() + ":" + Twine(fileLoc.getLine()) + ":" + Twine(fileLoc.getColumn())).str() : "";
}

uint32_t Launch::numberOf(Operation *op) {
  auto [entry, isNew] = numbers.try_emplace(op, operations.size());
  if (isNew) operations.push_back(op);
  return entry->second;
}

void Program::start(int64_t which) {
  number = which;
  id = {which % grid[0], which / grid[0] % grid[1], which / (grid[0] * grid[1])};
  values.clear();
  steps = 0;
}

FileLineColLoc Program::locationOf(Operation *op) const {
  FileLineColLoc fileLoc = tilewright::locationOf(op->getLoc());
  for (Operation *caller : llvm::reverse(callers)) {
    if (fileLoc && !isInLibrary(fileLoc)) break;
    if (FileLineColLoc outer = tilewright::locationOf(caller->getLoc())) fileLoc = outer;
  }
  return fileLoc;
}

LogicalResult Program::fail(Operation *op, const Twine &text) {
  error = std::make_unique<InterpretError>(text.str(), id);
  if (FileLineColLoc fileLoc = locationOf(op)) {
    error->file = fileLoc.getFilename().str();
    error->line = fileLoc.getLine();
    error->column = fileLoc.getColumn();
  }
  return failure();
}

LogicalResult Program::giveUp(Operation *op, const Twine &text) {
  LogicalResult failed = fail(op, text);
  error->isFault = false;
  return failed;
}

/// Returns the number of elements that an operation computes. Eight multiplications of a dot count as one element.
static int64_t workOf(Operation &op) {
  auto sizeOf = [](Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile ? tile.getNumElements() : 1;
  };
  int64_t size = 1;
  for (Value operand : op.getOperands())
    size = std::max<int64_t>(size, sizeOf(operand.getType()));
  for (Type type : op.getResultTypes())
    size = std::max<int64_t>(size, sizeOf(type));
  if (auto dot = dyn_cast<tt::DotOp>(op))
    size += sizeOf(dot.getType()) * cast<RankedTensorType>(dot.getA().getType()).getShape().back() / 8;
  return size;
}

LogicalResult Program::step(Operation &op) {
  if (options.stop && options.stop->load(std::memory_order_relaxed)) return giveUp(&op, "interrupted");
  if (options.maxWork && (launch.work += workOf(op)) > options.maxWork) return giveUp(&op, "the launch is too large");
  if (options.maxSteps && ++steps > options.maxSteps)
    return fail(&op, "no end after " + Twine(options.maxSteps) + " operations: the program waits for an event that never occurs");
  if (options.onStep) {
    auto text = [this](Value value) {
      auto found = values.find(value);
      return found == values.end() ? std::string("not computed") : describe(value.getType(), found->second);
    };
    if (!options.onStep({&op, id, text})) {
      stopped = true;
      return failure();
    }
  }
  if (op.hasTrait<OpTrait::IsTerminator>()) return success();
  auto [entry, isNew] = meanings.try_emplace(op.getName().getAsOpaquePointer(), nullptr);
  if (isNew) {
    StringRef name = op.getName().getStringRef();
    for (auto find : {findElementwise, findTile, findMemory, findControl})
      if (!entry->second) entry->second = find(name);
  }
  Meaning meaning = entry->second; // a copy, because the map may grow while a nested region runs
  if (!meaning) return giveUp(&op, "the interpreter does not support the operation '" + op.getName().getStringRef() + "'");
  if (!options.checkBounds) return options.onWarning ? runWatched(*this, &op, meaning) : meaning(*this, &op);
  if (failed(checkDefined(*this, &op)) || failed(meaning(*this, &op))) return failure();
  return followUndefined(*this, &op, meaning);
}

FailureOr<SmallVector<Tile>> Program::run(Region &region, SmallVector<Tile> args) {
  Block *block = &region.front();
  while (true) {
    for (auto [argument, tile] : llvm::zip_equal(block->getArguments(), args))
      set(argument, std::move(tile));
    for (Operation &op : *block)
      if (failed(step(op))) return failure();
    auto [next, operands] = target(*this, block->getTerminator());
    if (!next) return copies(*this, block->getTerminator()->getOperands());
    args = copies(*this, operands);
    block = next;
  }
}

FailureOr<SmallVector<Tile>> Program::call(Operation *from, StringRef callee, SmallVector<Tile> args) {
  auto function = module.lookupSymbol<tt::FuncOp>(callee);
  if (!function || function.isExternal()) return fail(from, "there is no function '" + callee + "' to call");
  constexpr size_t deepest = 256; // the language has no recursion, but IR text may have
  if (callers.size() == deepest) return fail(from, "calls are nested too deeply");
  if (checked.insert(function.getOperation()).second)
    if (Operation *op = findUnsupportedType(function))
      return giveUp(op, "the interpreter cannot compute with a type of '" + op->getName().getStringRef() + "'");
  // A recursive function must not overwrite its caller's values.
  llvm::DenseMap<Value, Tile> callerValues = std::exchange(values, llvm::DenseMap<Value, Tile>());
  callers.push_back(from);
  llvm::scope_exit restore([&] {
    values = std::move(callerValues);
    callers.pop_back();
  });
  return run(function.getBody(), std::move(args));
}

/// Returns the value of a kernel's argument, or an error if its kind does not match its type.
static llvm::Expected<Tile> argumentValue(const InterpretArg &arg, Type type, int64_t number, bool checkBounds) {
  uint64_t address = checkBounds ? taggedPointer(arg.bits, arg.memory) : arg.bits;
  auto mismatch = [&](const char *expected) {
    return llvm::make_error<InterpretError>("argument " + std::to_string(number) + " must be " + expected, std::array<int64_t, 3>{});
  };
  if (auto descriptor = dyn_cast<tt::TensorDescType>(type)) {
    int64_t rank = descriptor.getBlockType().getRank();
    if (arg.kind != InterpretArg::descriptor || int64_t(arg.shape.size()) != rank || int64_t(arg.strides.size()) != rank)
      return mismatch("a tensor descriptor of its block's rank");
    auto block = std::make_shared<MemoryBlock>();
    block->base = address;
    block->shape.assign(arg.shape.begin(), arg.shape.end());
    block->strides.assign(arg.strides.begin(), arg.strides.end());
    block->offsets.assign(rank, 0);
    block->padWithNan = arg.padWithNan;
    Tile tile;
    tile.block = std::move(block);
    return tile;
  }
  if (isa<RankedTensorType>(type) || tt::isBlockPointer(type)) return mismatch("a scalar, a pointer or a descriptor");
  Format format = formatOf(type);
  if (isa<tt::PointerType>(type)) {
    if (arg.kind == InterpretArg::pointer) return Tile(address);
    return mismatch("a pointer");
  }
  if (format.kind != Format::integer) {
    if (arg.kind == InterpretArg::floating) return Tile(encodeFloat(format, arg.value));
    return mismatch("a float");
  }
  if (arg.kind == InterpretArg::integer) return Tile(arg.bits & format.mask());
  return mismatch("an integer");
}

// ---- the programs of a launch
//
// Each program has its own stack, so that it can stop in a loop that waits for another program, and continue later.

namespace {

/// Runs the programs [first, last) in order. Waiting programs continue when memory has changed.
class Scheduler {
public:
  Scheduler(Launch &launch, tt::FuncOp kernel, ArrayRef<Tile> args) : launch(launch), kernel(kernel), args(args) {
    kernel->getParentOfType<ModuleOp>().walk([&](scf::WhileOp) { mayWait = true; });
  }
  llvm::Error run(int64_t first, int64_t last);

private:
  struct Runner {
    Program program;
    ucontext_t context{};
    Scheduler &scheduler;
    std::unique_ptr<char[]> stack;
    Operation *waitsAt = nullptr;
    uint64_t seen = 0; // the number of memory changes when it began to wait
    bool finished = false, succeeded = false, giveUp = false;
    Runner(Launch &launch, Scheduler &scheduler) : program(launch), scheduler(scheduler) {}
  };

  static void enter(uint32_t low, uint32_t high);
  void begin(Runner &runner);
  /// Continues the runner. Returns false if this ends the launch.
  bool resume(Runner &runner);
  /// Continues the programs for which memory has changed, until none is left. Returns false if this ends the launch.
  bool resumeWaiting();

  Launch &launch;
  tt::FuncOp kernel;
  ArrayRef<Tile> args;
  bool mayWait = false;
  ucontext_t context{};
  std::vector<std::unique_ptr<Runner>> waiting, idle;
  std::unique_ptr<InterpretError> error;
  bool isOver = false; // by an error, or by onStep
};

void Scheduler::enter(uint32_t low, uint32_t high) {
  Runner *runner = reinterpret_cast<Runner *>(uint64_t(high) << 32 | low);
  Scheduler &scheduler = runner->scheduler;
  runner->succeeded = succeeded(runner->program.call(scheduler.kernel, scheduler.kernel.getName(), SmallVector<Tile>(scheduler.args)));
  runner->finished = true;
  swapcontext(&runner->context, &scheduler.context);
}

void Scheduler::begin(Runner &runner) {
  constexpr size_t stackBytes = 8 << 20; // only used pages take memory
  runner.finished = runner.succeeded = runner.giveUp = false;
  if (!runner.stack) runner.stack = std::unique_ptr<char[]>(new char[stackBytes]);
  runner.program.waitForOthers = [this, self = &runner](Operation *loop) {
    self->waitsAt = loop;
    self->seen = launch.changes;
    swapcontext(&self->context, &context);
    return !self->giveUp;
  };
  getcontext(&runner.context);
  runner.context.uc_stack.ss_sp = runner.stack.get();
  runner.context.uc_stack.ss_size = stackBytes;
  runner.context.uc_link = nullptr;
  auto address = reinterpret_cast<uint64_t>(&runner);
  makecontext(&runner.context, reinterpret_cast<void (*)()>(enter), 2, uint32_t(address), uint32_t(address >> 32));
}

bool Scheduler::resume(Runner &runner) {
  swapcontext(&context, &runner.context);
  if (!runner.finished || runner.succeeded) return true;
  error = std::move(runner.program.error);
  isOver = true;
  return false;
}

bool Scheduler::resumeWaiting() {
  for (bool again = true; again;) {
    again = false;
    for (size_t i = 0; i < waiting.size(); ++i) {
      if (waiting[i]->seen == launch.changes) continue;
      if (!resume(*waiting[i])) return false;
      again = true;
      if (!waiting[i]->finished) continue;
      idle.push_back(std::move(waiting[i]));
      waiting.erase(waiting.begin() + int64_t(i--));
    }
  }
  return true;
}

llvm::Error Scheduler::run(int64_t first, int64_t last) {
  constexpr size_t maxWaiting = 4096; // more than any GPU runs at once
  for (int64_t number = first; number < last; ++number) {
    if (idle.empty()) idle.push_back(std::make_unique<Runner>(launch, *this));
    std::unique_ptr<Runner> runner = std::move(idle.back());
    idle.pop_back();
    runner->program.start(number);
    if (mayWait) {
      begin(*runner);
      resume(*runner);
    } else if (failed(runner->program.call(kernel, kernel.getName(), SmallVector<Tile>(args)))) {
      error = std::move(runner->program.error);
      isOver = true;
    }
    bool waits = mayWait && !runner->finished;
    (waits ? waiting : idle).push_back(std::move(runner));
    if (isOver || !resumeWaiting() || waiting.size() > maxWaiting) break;
  }
  if (!isOver && !waiting.empty()) {
    Program &program = waiting.front()->program;
    (void)program.fail(waiting.front()->waitsAt,
                       "deadlock: an iteration of this loop changes nothing, and no other program can run and end it; " +
                           Twine(waiting.size()) + (waiting.size() == 1 ? " program waits" : " programs wait") +
                           " for a lock that is never released or a flag that is never set");
    error = std::move(program.error);
  }
  for (std::unique_ptr<Runner> &runner : waiting) { // its stack holds values that must be destroyed
    runner->giveUp = true;
    while (!runner->finished)
      swapcontext(&context, &runner->context);
  }
  return error ? llvm::Error(std::move(error)) : llvm::Error::success();
}

} // namespace
} // namespace interp

llvm::Error interpret(ModuleOp module, StringRef name, ArrayRef<InterpretArg> args, std::array<int64_t, 3> grid, int64_t first,
                      int64_t last, const InterpretOptions &options) {
  using namespace interp;
  auto mismatch = [](const Twine &text) { return llvm::make_error<InterpretError>(text.str(), std::array<int64_t, 3>{}); };
  auto kernel = module.lookupSymbol<tt::FuncOp>(name);
  if (!kernel || kernel.isExternal()) return mismatch("there is no kernel '" + name + "'");
  ArrayRef<Type> types = kernel.getFunctionType().getInputs();
  if (types.size() != args.size())
    return mismatch("kernel '" + name + "' takes " + Twine(types.size()) + " arguments, not " + Twine(args.size()));
  if (grid[0] < 0 || grid[1] < 0 || grid[2] < 0 || first < 0 || last < first || last > grid[0] * grid[1] * grid[2])
    return mismatch("programs " + Twine(first) + " to " + Twine(last) + " are not all in the grid");

  SmallVector<Tile> values;
  for (auto [number, arg] : llvm::enumerate(args)) {
    llvm::Expected<Tile> value = argumentValue(arg, types[number], number, options.checkBounds);
    if (!value) return value.takeError();
    values.push_back(std::move(*value));
  }
  Launch launch(module, grid, options);
  if (options.checkRaces) launch.history.emplace();
  return Scheduler(launch, kernel, values).run(first, last);
}

} // namespace tilewright
