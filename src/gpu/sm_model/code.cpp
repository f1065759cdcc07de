#include "gpu/sm_model/code.h"

#include "gpu/machine/ptx.h"
#include "gpu/sm_model/costs.h"
#include "gpu/sm_model/list_scheduler.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace tilewright::gpu::model {

int32_t Code::number(Value value) {
  auto [it, inserted] = numbers.try_emplace(value, values);
  if (inserted) ++values;
  return it->second;
}

/// True for operands that an instruction reads when it issues. Accumulators in flight are not.
static bool isWaitedFor(Operation *op, OpOperand &operand) {
  if (isa<ptx::WgmmaWaitOp>(op)) return false;
  if (auto wgmma = dyn_cast<ptx::WgmmaOp>(op)) return !llvm::is_contained(wgmma.getC(), operand.get());
  return true;
}

static bool differs(const Code &code, Operation *op) {
  if (isa<ptx::ThreadIdOp, ptx::LaneIdOp, ptx::ElectOp>(op)) return true;
  if (!isa<arith::ArithDialect>(op->getDialect())) return false;
  return llvm::any_of(op->getOperands(), [&](Value value) {
    auto found = code.numbers.find(value);
    return found != code.numbers.end() && code.differsInWarp[static_cast<size_t>(found->second)];
  });
}

static int32_t define(Code &code, Value value, bool differsInWarp) {
  int32_t number = code.number(value);
  code.differsInWarp.resize(static_cast<size_t>(code.values), false);
  code.differsInWarp[static_cast<size_t>(number)] = differsInWarp;
  return number;
}

namespace {
/// What the costs depend on, besides the operation.
struct Costs {
  const SmRates &rates;
  bool fusesMultiplyAdd;
};
} // namespace

static void decodeInto(Region &region, Body &body, Code &code, const Costs &costs);

//===------------------------------------------------------------------------------------------------------------------- locks

/// Returns the address of an atomic or a store; null for other operations.
static Value writtenAddress(Operation *op) {
  if (auto atomic = dyn_cast<ptx::AtomicOp>(op)) return atomic.getAddress();
  if (auto store = dyn_cast<ptx::StoreGlobalOp>(op)) return store.getAddress();
  auto swap = dyn_cast<ptx::CompareSwapOp>(op);
  return swap ? swap.getAddress() : Value();
}

/// True for a compare-and-swap that a loop repeats until it has succeeded.
static bool isRepeatedSwap(Operation *op) {
  auto loop = dyn_cast<scf::WhileOp>(op->getParentOp());
  return loop && isa<ptx::CompareSwapOp>(op) && op->getParentRegion() == &loop.getBefore();
}

/// True for an attempt to acquire a lock: something else in the kernel writes to its address, which releases it.
static bool acquiresLock(Operation *op) {
  if (!isRepeatedSwap(op)) return false;
  Value address = writtenAddress(op);
  return llvm::any_of(address.getUsers(), [&](Operation *user) { return !isRepeatedSwap(user) && writtenAddress(user) == address; });
}

static bool releasesLock(Operation *op) {
  Value address = isRepeatedSwap(op) ? Value() : writtenAddress(op);
  return address && llvm::any_of(address.getUsers(), isRepeatedSwap);
}

static Node decodeNode(Operation &op, Code &code, const Costs &costs) {
  Node node;
  node.op = &op;
  node.modeled = modeled(op.getName());
  setCosts(node, costs.rates, costs.fusesMultiplyAdd);
  for (OpOperand &operand : op.getOpOperands()) {
    node.operands.push_back(code.number(operand.get()));
    if (isWaitedFor(&op, operand)) node.waits.push_back(node.operands.back());
  }
  bool differing = differs(code, &op);
  node.bodies.resize(op.getNumRegions());
  for (auto [nested, into] : llvm::zip(op.getRegions(), node.bodies)) {
    if (auto loop = dyn_cast<LoopLikeOpInterface>(op); loop && !nested.empty())
      for (auto [index, argument] : llvm::enumerate(nested.getArguments())) {
        auto init = loop.getTiedLoopInit(argument);
        define(code, argument, init && code.differsInWarp[static_cast<size_t>(code.number(init->get()))]);
      }
    decodeInto(nested, into, code, costs);
  }
  for (Value result : op.getResults())
    node.results.push_back(define(code, result, differing));
  if (isa<scf::ForOp, scf::WhileOp, scf::IfOp>(op)) node.waits.clear();
  node.acquires = acquiresLock(&op), node.releases = releasesLock(&op);
  if (isa<scf::WhileOp>(op)) {
    node.isProgramLoop = op.walk([](ptx::ClcQueryOp) { return WalkResult::interrupt(); }).wasInterrupted();
    node.isSpinLoop = llvm::any_of(node.bodies[0].nodes, [](const Node &each) { return each.acquires; });
  }
  return node;
}

static void decodeInto(Region &region, Body &body, Code &code, const Costs &costs) {
  if (region.empty()) return;
  Block &block = region.front();
  for (BlockArgument argument : block.getArguments())
    body.arguments.push_back(code.number(argument));
  code.differsInWarp.resize(static_cast<size_t>(code.values), false);
  for (Operation &op : block) {
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      for (Value operand : op.getOperands())
        body.yielded.push_back(code.number(operand));
      continue;
    }
    body.nodes.push_back(decodeNode(op, code, costs));
    bool holdsLoop = isa<scf::ForOp, scf::WhileOp>(op);
    ++body.size;
    for (const Body &nested : body.nodes.back().bodies)
      holdsLoop |= !nested.isFlat, body.size += nested.size;
    body.isFlat &= !holdsLoop;
  }
}

Code decode(Region &region, const SmRates &rates, bool fusesMultiplyAdd) {
  Code code;
  decodeInto(region, code.body, code, {rates, fusesMultiplyAdd});
  orderAsAssembler(code.body);
  code.differsInWarp.resize(static_cast<size_t>(code.values), false);
  return code;
}

} // namespace tilewright::gpu::model
