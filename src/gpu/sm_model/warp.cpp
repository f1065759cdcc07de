#include "gpu/sm_model/warp.h"

#include "gpu/machine/ptx.h"
#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include <algorithm>

using namespace mlir;

namespace tilewright::gpu::model {

constexpr int64_t sharedBase = 1024;
constexpr int maxDepth = 512; // of a computation that is followed for each lane, by recursion

Warp::Warp(const Code &code, const Place &place)
    : code(code), place(place), values(static_cast<size_t>(code.values)), ready(static_cast<size_t>(code.values), 0.0) {
  for (auto [value, number] : llvm::zip(code.body.arguments, place.arguments))
    values[static_cast<size_t>(value)] = number;
  stack.push_back({nullptr, &code.body, 0, 0, ~0u});
}

void Warp::define(int32_t value, Integer number, double time) {
  values[static_cast<size_t>(value)] = number;
  ready[static_cast<size_t>(value)] = time;
}

void Warp::pass(ArrayRef<int32_t> from, ArrayRef<int32_t> to) {
  SmallVector<std::pair<Integer, double>> held;
  for (int32_t value : from)
    held.push_back({values[static_cast<size_t>(value)], ready[static_cast<size_t>(value)]});
  for (auto [value, state] : llvm::zip(to, held))
    define(value, state.first, state.second);
}

static Integer special(Operation *op, const Place &place, int64_t lane) {
  if (isa<ptx::LaneIdOp>(op)) return lane;
  if (isa<ptx::ThreadIdOp>(op)) return place.warp * lanesOfWarp + lane;
  if (isa<ptx::WarpIdOp>(op)) return place.warp;
  if (isa<ptx::ElectOp>(op)) return lane == 0;
  if (isa<ptx::SharedBaseOp>(op)) return sharedBase;
  if (isa<ptx::ClusterRankOp>(op)) return 0;
  if (auto block = dyn_cast<ptx::BlockIdOp>(op)) return place.block[static_cast<size_t>(block.getAxis())];
  if (auto count = dyn_cast<ptx::BlockCountOp>(op)) return place.grid[static_cast<size_t>(count.getAxis())];
  return std::nullopt;
}

static Integer inProgramFrom(Value value, const Place &place, llvm::DenseMap<Value, Integer> &known) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    bool isOfKernel = isa<tt::FuncOp>(argument.getOwner()->getParentOp()) && argument.getArgNumber() < place.arguments.size();
    return isOfKernel ? place.arguments[argument.getArgNumber()] : std::nullopt;
  }
  if (auto found = known.find(value); found != known.end()) return found->second;
  Operation *op = value.getDefiningOp();
  Integer result = special(op, place, 0);
  if (!result && op->getNumRegions() == 0 && op->getNumResults() == 1) {
    SmallVector<Integer, 3> operands;
    for (Value operand : op->getOperands())
      operands.push_back(inProgramFrom(operand, place, known));
    result = computeInteger(op, operands);
  }
  known[value] = result;
  return result;
}

Integer inProgram(Value value, const Place &place) {
  llvm::DenseMap<Value, Integer> known;
  return inProgramFrom(value, place, known);
}

namespace {
/// Computes values in one lane, each of them once.
class LaneValues {
public:
  LaneValues(const Warp &warp, int64_t lane) : warp(warp), lane(lane) {}

  Integer get(Value value, int depth = 0) {
    auto found = warp.code.numbers.find(value);
    if (found == warp.code.numbers.end() || depth > maxDepth) return std::nullopt;
    if (!warp.code.differsInWarp[static_cast<size_t>(found->second)]) return warp.get(found->second);
    if (auto before = known.find(value); before != known.end()) return before->second;
    Integer result = compute(value, depth + 1);
    known[value] = result;
    return result;
  }

private:
  Integer compute(Value value, int depth) {
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<LoopLikeOpInterface>(argument.getOwner()->getParentOp());
      OpOperand *init = loop ? loop.getTiedLoopInit(argument) : nullptr;
      return init ? get(init->get(), depth) : std::nullopt;
    }
    Operation *op = value.getDefiningOp();
    if (Integer ofLane = special(op, warp.place, lane)) return ofLane;
    if (op->getNumRegions() != 0 || op->getNumResults() != 1) return std::nullopt;
    SmallVector<Integer, 3> operands;
    for (Value operand : op->getOperands())
      operands.push_back(get(operand, depth));
    return computeInteger(op, operands);
  }

  const Warp &warp;
  int64_t lane;
  llvm::SmallDenseMap<Value, Integer, 16> known;
};
} // namespace

Integer Warp::inLane(Value value, int64_t lane) const {
  return LaneValues(*this, lane).get(value);
}

uint32_t Warp::lanesWhere(Value predicate) const {
  uint32_t lanes = mask();
  if (!predicate) return lanes;
  int32_t number = code.numbers.lookup(predicate);
  if (!code.differsInWarp[static_cast<size_t>(number)]) {
    Integer known = get(number);
    return known && *known == 0 ? 0 : lanes;
  }
  for (int64_t lane = 0; lane < lanesOfWarp; ++lane) {
    Integer known = (lanes >> lane & 1) ? inLane(predicate, lane) : Integer(0);
    if (known && *known == 0) lanes &= ~(1u << lane);
  }
  return lanes;
}

void Warp::evaluate(const Node &node) {
  if (node.results.size() != 1 || !node.op->getResult(0).getType().isIntOrIndex()) return;
  if (Integer known = special(node.op, place, 0)) {
    values[static_cast<size_t>(node.results[0])] = known;
    return;
  }
  if (!isa<arith::ArithDialect>(node.op->getDialect())) return;
  SmallVector<Integer, 3> operands;
  for (int32_t operand : node.operands)
    operands.push_back(get(operand));
  values[static_cast<size_t>(node.results[0])] = computeInteger(node.op, operands);
}

int64_t Warp::iterationsOf(const Node &loop) const {
  Integer low = get(loop.operands[0]), high = get(loop.operands[1]), step = get(loop.operands[2]);
  if (!low || !high || !step || *step <= 0) return 1;
  if (auto unsignedLoop = cast<scf::ForOp>(loop.op); unsignedLoop.getUnsignedCmp() && unsignedLoop.getStep().getType().isInteger(32))
    low = static_cast<uint32_t>(*low), high = static_cast<uint32_t>(*high);
  return std::max<int64_t>((*high - *low + *step - 1) / *step, 0);
}

bool Warp::enter(const Node &node) {
  if (isa<scf::ForOp>(node.op)) {
    int64_t iterations = iterationsOf(node);
    ArrayRef<int32_t> inits = ArrayRef(node.operands).drop_front(3);
    if (iterations == 0) {
      pass(inits, node.results);
      return false;
    }
    const Body &body = node.bodies[0];
    pass(inits, ArrayRef(body.arguments).drop_front());
    define(body.arguments[0], get(node.operands[0]), now);
    stack.push_back({&node, &body, 0, iterations - 1, mask(), iterations, counted});
    return true;
  }
  if (isa<scf::WhileOp>(node.op)) { // what it waits for is not known: its condition is evaluated once
    pass(node.operands, node.bodies[0].arguments);
    stack.push_back({&node, &node.bodies[0], 0, 0, mask()});
    return true;
  }
  uint32_t before = mask(), taken = takenLanes(node);
  const Body &body = node.bodies[taken ? 0 : 1];
  stack.push_back({&node, &body, 0, 0, taken ? taken : before});
  return true;
}

/// Returns the lanes that take the first arm of a branch. If that depends on data, the longer of two arms counts. A single arm is for rare
/// values, and does not.
uint32_t Warp::takenLanes(const Node &node) const {
  Value condition = cast<scf::IfOp>(node.op).getCondition();
  int64_t first = llvm::countr_zero(mask());
  if (inLane(condition, first)) return lanesWhere(condition);
  size_t size = node.bodies[0].size, elseSize = node.bodies[1].size;
  bool takesElse = elseSize == 0 || elseSize > size;
  return takesElse ? 0 : mask();
}

/// At the end of a part of a program loop or a spin loop, enters the other one. False if the loop ends, or if its condition is not known.
bool Warp::goOnInLoop(Frame &frame) {
  if (!frame.node->isProgramLoop && !frame.node->isSpinLoop) return false;
  const Body &condition = frame.node->bodies[0], &body = frame.node->bodies[1];
  if (frame.body == &body) {
    pass(body.yielded, condition.arguments);
    frame.body = &condition;
  } else {
    Integer goesOn = get(condition.yielded[0]);
    if (!goesOn || *goesOn == 0) return false;
    pass(ArrayRef(condition.yielded).drop_front(), body.arguments);
    frame.body = &body;
  }
  frame.next = 0;
  return true;
}

const Node *Warp::next() {
  while (!stack.empty()) {
    Frame &frame = stack.back();
    if (frame.next < frame.body->nodes.size()) return &frame.body->nodes[frame.next++];
    if (!frame.node) {
      stack.clear();
      return nullptr;
    }
    if (frame.left > 0) countOtherIterations(frame);
    if (frame.left > 0) {
      --frame.left, frame.next = 0;
      pass(frame.body->yielded, ArrayRef(frame.body->arguments).drop_front());
      Integer index = get(frame.body->arguments[0]), step = get(frame.node->operands[2]);
      define(frame.body->arguments[0], index && step ? Integer(*index + *step) : std::nullopt, now);
      continue;
    }
    if (goOnInLoop(frame)) continue;
    ArrayRef<int32_t> yielded = frame.body->yielded;
    if (isa<scf::WhileOp>(frame.node->op)) yielded = yielded.drop_front();
    const Node *done = frame.node;
    stack.pop_back();
    pass(yielded, done->results);
  }
  return nullptr;
}

//===---------------------------------------------------------------------------------------------------------------- counting

double Warp::countSteps(int64_t budget) {
  auto isProgram = [](const Frame &frame) { return frame.node && frame.node->isProgramLoop; };
  for (toWalk = budget; const Node *node = next(); --*toWalk) {
    if (!spins()) {
      ++counted.all;
      counted.ofProgram += llvm::any_of(stack, isProgram);
    }
    if (node->bodies.empty())
      evaluate(*node);
    else
      enter(*node);
  }
  return counted.ofProgram > 0 ? counted.ofProgram : counted.all;
}

/// While operations are counted, the iterations of a loop without inner loops are alike, and so are those beyond the budget: they have as
/// many operations as the ones so far, on average.
void Warp::countOtherIterations(Frame &frame) {
  if (!toWalk || (*toWalk > 0 && !frame.body->isFlat)) return;
  double more = static_cast<double>(frame.left) / static_cast<double>(frame.iterations - frame.left);
  counted.all += more * (counted.all - frame.before.all);
  counted.ofProgram += more * (counted.ofProgram - frame.before.ofProgram);
  frame.left = 0;
}

} // namespace tilewright::gpu::model
