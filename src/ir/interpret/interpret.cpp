// The reference interpreter: runs the programs of a kernel one after another, each operation by its meaning (interpret_program.h). Here is
// what goes around single operations: control flow, calls, locations of errors, and the walk through the grid.
//
// A region is run block by block until an operation leaves it; that operation's operands are the region's results. So tt.return, scf.yield,
// scf.condition and the ends of combining regions need no meaning of their own, and branches between blocks are the only jumps.
#include "ir/interpret/program.h"

#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/raw_ostream.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

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
  auto bound = [&](Value value) -> __int128 { // wide enough for the step past the last turn
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

LogicalResult runWhile(Program &program, Operation *op) {
  auto loop = cast<scf::WhileOp>(op);
  SmallVector<Tile> carried = copies(program, loop.getInits());
  while (true) {
    FailureOr<SmallVector<Tile>> tested = program.run(loop.getBefore(), std::move(carried)); // the condition, then what it passes on
    if (failed(tested)) return failure();
    bool goesOn = tested->front().scalar();
    tested->erase(tested->begin());
    if (!goesOn) return setResults(program, op, std::move(*tested));
    FailureOr<SmallVector<Tile>> next = program.run(loop.getAfter(), std::move(*tested));
    if (failed(next)) return failure();
    carried = std::move(*next);
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

/// One program is one thread here: nothing to wait for. And what a kernel assumes has no effect.
LogicalResult nothing(Program &, Operation *) {
  return success();
}

/// The block that a branch goes to and the arguments it takes along; null for an operation that leaves the region.
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

std::optional<FileLineColLoc> placeIn(Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location)) return place;
  if (auto named = dyn_cast<NameLoc>(location)) return placeIn(named.getChildLoc());
  if (auto callSite = dyn_cast<CallSiteLoc>(location)) return placeIn(callSite.getCallee());
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (std::optional<FileLineColLoc> place = placeIn(part)) return place;
  return std::nullopt;
}

/// The first operation in `function` that has a value of a type that cannot be computed with, or null.
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

void Program::start(std::array<int64_t, 3> program) {
  id = program;
  values.clear();
  steps = 0;
}

LogicalResult Program::fail(Operation *op, const Twine &text) {
  error = std::make_unique<InterpretError>(text.str(), id);
  if (std::optional<FileLineColLoc> place = placeIn(op->getLoc())) {
    error->file = place->getFilename().str();
    error->line = place->getLine();
    error->column = place->getColumn();
  }
  return failure();
}

LogicalResult Program::step(Operation &op) {
  if (options.stop && options.stop->load(std::memory_order_relaxed)) return fail(&op, "interrupted");
  if (options.maxSteps && ++steps > options.maxSteps)
    return fail(&op, "no end after " + Twine(options.maxSteps) + " operations: the program waits for something that does not come");
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
  Meaning meaning = entry->second; // the map may grow while a nested region runs
  if (!meaning) return fail(&op, "the interpreter does not know the operation '" + op.getName().getStringRef() + "'");
  return meaning(*this, &op);
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
  constexpr int64_t deepest = 256; // the language has no recursion; a module read from text might
  if (depth == deepest) return fail(from, "calls are nested too deeply");
  if (checked.insert(function.getOperation()).second)
    if (Operation *op = findUnsupportedType(function))
      return fail(op, "the interpreter cannot compute with a type of '" + op->getName().getStringRef() + "'");
  // A function that calls itself must not overwrite its caller's values.
  llvm::DenseMap<Value, Tile> callerValues = std::exchange(values, llvm::DenseMap<Value, Tile>());
  ++depth;
  llvm::scope_exit restore([&] {
    values = std::move(callerValues);
    --depth;
  });
  return run(function.getBody(), std::move(args));
}

/// The value of a kernel's argument, or an error for one of another kind than its type.
static llvm::Expected<Tile> argumentValue(const InterpretArg &arg, Type type, int64_t number) {
  auto wrong = [&](const char *expected) {
    return llvm::make_error<InterpretError>("argument " + std::to_string(number) + " must be " + expected, std::array<int64_t, 3>{});
  };
  if (auto descriptor = dyn_cast<tt::TensorDescType>(type)) {
    int64_t rank = descriptor.getBlockType().getRank();
    if (arg.kind != InterpretArg::descriptor || int64_t(arg.shape.size()) != rank || int64_t(arg.strides.size()) != rank)
      return wrong("a tensor descriptor of its block's rank");
    auto block = std::make_shared<MemoryBlock>();
    block->base = arg.bits;
    block->shape.assign(arg.shape.begin(), arg.shape.end());
    block->strides.assign(arg.strides.begin(), arg.strides.end());
    block->offsets.assign(rank, 0);
    block->padWithNan = arg.padWithNan;
    Tile tile;
    tile.block = std::move(block);
    return tile;
  }
  if (isa<RankedTensorType>(type) || tt::isBlockPointer(type))
    return wrong("a scalar, a pointer or a descriptor: no other comes from outside");
  Format format = formatOf(type);
  if (isa<tt::PointerType>(type)) {
    if (arg.kind == InterpretArg::pointer) return Tile(arg.bits);
    return wrong("a pointer");
  }
  if (format.kind != Format::integer) {
    if (arg.kind == InterpretArg::floating) return Tile(encodeFloat(format, arg.value));
    return wrong("a float");
  }
  if (arg.kind == InterpretArg::integer) return Tile(arg.bits & format.mask());
  return wrong("an integer");
}

} // namespace interp

llvm::Error interpret(ModuleOp module, StringRef name, ArrayRef<InterpretArg> args, std::array<int64_t, 3> grid, int64_t first,
                      int64_t last, const InterpretOptions &options) {
  using namespace interp;
  auto wrong = [](const Twine &text) { return llvm::make_error<InterpretError>(text.str(), std::array<int64_t, 3>{}); };
  auto kernel = module.lookupSymbol<tt::FuncOp>(name);
  if (!kernel || kernel.isExternal()) return wrong("there is no kernel '" + name + "'");
  ArrayRef<Type> types = kernel.getFunctionType().getInputs();
  if (types.size() != args.size())
    return wrong("kernel '" + name + "' takes " + Twine(types.size()) + " arguments, not " + Twine(args.size()));
  if (grid[0] < 0 || grid[1] < 0 || grid[2] < 0 || first < 0 || last < first || last > grid[0] * grid[1] * grid[2])
    return wrong("programs " + Twine(first) + " to " + Twine(last) + " are not all in the grid");

  SmallVector<Tile> values;
  for (auto [number, arg] : llvm::enumerate(args)) {
    llvm::Expected<Tile> value = argumentValue(arg, types[number], number);
    if (!value) return value.takeError();
    values.push_back(std::move(*value));
  }
  Program program(module, grid, options);
  for (int64_t number = first; number < last; ++number) {
    program.start({number % grid[0], number / grid[0] % grid[1], number / (grid[0] * grid[1])});
    if (succeeded(program.call(kernel, name, values))) continue;
    if (program.stopped) return llvm::Error::success();
    return llvm::Error(std::move(program.error));
  }
  return llvm::Error::success();
}

} // namespace tilewright
