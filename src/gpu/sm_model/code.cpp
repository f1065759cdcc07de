#include "gpu/sm_model/code.h"

#include "gpu/cost_model/hardware.h"
#include "gpu/machine/ptx.h"
#include "gpu/machine/tcgen05.h"
#include "gpu/ttg/element_sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "llvm/ADT/TypeSwitch.h"

#include <algorithm>
#include <array>
#include <limits>
#include <queue>

using namespace mlir;

namespace tilewright::gpu::model {

int32_t Code::number(Value value) {
  auto [it, inserted] = numbers.try_emplace(value, values);
  if (inserted) ++values;
  return it->second;
}

//===---------------------------------------------------------------------------------------------------------------- costs

int64_t bytesOf(TypeRange types) {
  int64_t bits = 0;
  for (Type type : types)
    bits += ttg::memoryBits(type);
  return bits / 8;
}

static void setUnit(Node &node, Unit unit, double lanes, double instructions = 1, double latency = arithmeticLatency) {
  node.unit = unit, node.issue = instructions, node.occupancy = 32 * instructions / lanes, node.latency = latency;
}

/// An access to shared memory by a warp, without bank conflicts.
static void setShared(Node &node, double bytesOfThread) {
  node.unit = Unit::shared, node.latency = sharedLatency;
  node.occupancy = std::max(1.0, 32 * bytesOfThread / sharedBytesPerCycle);
}

static void setMma(Node &node, const SmRates &rates) {
  node.unit = Unit::tensor;
  if (auto mma = dyn_cast<ptx::MmaOp>(node.op)) {
    constexpr double multiplied = mmaRows * mmaColumns * mmaDepthBytes;
    node.occupancy = multiplied / (rates.mmaBytesPerCycle / schedulers * rates.warpMmaFraction);
    node.latency = mmaLatency;
    return;
  }
  auto wgmma = cast<ptx::WgmmaOp>(node.op);
  constexpr double rowsOfWarp = wgmmaRows / warpsOfGroup;
  node.occupancy = rowsOfWarp * wgmma.getN() * mmaDepthBytes / (rates.mmaBytesPerCycle / schedulers);
  node.latency = 0; // accumulators are waited for by wgmma_wait
}

/// The tensor cores of an SM execute a tcgen05.mma together. Its operands come from shared memory, and half of the rows take as long as
/// all.
static void setTensorMma(Node &node, ptx::Tcgen05MmaOp mma, const SmRates &rates) {
  APInt bits;
  if (!matchPattern(mma.getInstruction(), m_ConstantInt(&bits))) return;
  auto instruction = decodeInstruction(kindOf(mma.getKind()), uint32_t(bits.getZExtValue()));
  if (!instruction) return;
  node.unit = Unit::tensor;
  auto m = double(instruction->m / mma.getCtaGroup()), n = double(instruction->n);
  node.occupancy = std::max(m, double(tensorMemoryLanes)) * n * mmaDepthBytes / rates.mmaBytesPerCycle;
  double rowsOfA = mma.getA().getType().isInteger(64) ? m : 0;
  node.sharedCycles = (rowsOfA + n / double(mma.getCtaGroup())) * mmaDepthBytes / sharedBytesPerCycle;
  node.latency = 0; // tcgen05.commit says when it is complete
}

/// Loads from tensor memory and stores to it.
static void setTensorMemory(Node &node, size_t registers, const SmRates &rates) {
  node.unit = Unit::tensorMemory, node.latency = tensorLatency;
  node.occupancy = 32.0 * 4 * double(registers) / std::max(rates.tensorBytesPerCycle, 1.0);
}

/// Returns the bytes of shared memory that a tcgen05.cp reads.
static double bytesOf(ptx::TensorCopy shape) {
  switch (shape) {
  case ptx::TensorCopy::m128x256b: return 128 * 32;
  case ptx::TensorCopy::m4x256b: return 4 * 32;
  case ptx::TensorCopy::m128x128b: return 128 * 16;
  case ptx::TensorCopy::m64x128b_02_13:
  case ptx::TensorCopy::m64x128b_01_23: return 64 * 16;
  case ptx::TensorCopy::m32x128b: return 32 * 16;
  }
}

/// True for operations that take no instruction.
static bool isFree(Operation *op) {
  return isa<arith::ConstantOp, arith::IndexCastOp, arith::ExtUIOp, arith::ExtSIOp, arith::TruncIOp, arith::BitcastOp, ptx::UnpackOp,
             ptx::SharedBaseOp>(op);
}

static bool isFloatArithmetic(Operation *op) {
  return isa<arith::AddFOp, arith::SubFOp, arith::MulFOp, arith::NegFOp, ptx::FmaOp, math::FmaOp>(op);
}

//===----------------------------------------------------------------------------------------------------- merged instructions

/// True for a multiplication whose users all add to the result: they become multiply-adds.
static bool isFusedMultiplication(Operation *op) {
  return isa<arith::MulFOp>(op) && op->getResult(0).getType().isF32() && !op->use_empty() &&
         llvm::all_of(op->getUsers(), [](Operation *user) { return isa<arith::AddFOp, arith::SubFOp>(user); });
}

static bool isMaximum(Operation *op) {
  return isa_and_nonnull<arith::MaxNumFOp, arith::MaximumFOp>(op) && op->getResult(0).getType().isF32();
}
static bool isMinimum(Operation *op) {
  return isa_and_nonnull<arith::MinNumFOp, arith::MinimumFOp>(op) && op->getResult(0).getType().isF32();
}

/// The operand of a maximum or minimum that one instruction with three operands computes, too. Null if it takes two.
static Operation *mergedOperand(Operation *op) {
  if (!isMaximum(op) && !isMinimum(op)) return nullptr;
  for (Value operand : op->getOperands()) {
    Operation *from = operand.getDefiningOp();
    bool isSame = isMaximum(op) ? isMaximum(from) : isMinimum(from);
    if (isSame && from->hasOneUse() && from->getBlock() == op->getBlock() && !mergedOperand(from)) return from;
  }
  return nullptr;
}

static bool isMergedIntoUser(Operation *op, const SmRates &rates, bool fusesMultiplyAdd) {
  if (fusesMultiplyAdd && isFusedMultiplication(op)) return true;
  if (!rates.threeOperandMaximum || !(isMaximum(op) || isMinimum(op)) || !op->hasOneUse()) return false;
  return mergedOperand(*op->getUsers().begin()) == op;
}

/// True for an f32 that is converted to 16 bits. Two of them are one instruction, whose result needs no packing.
static bool isHalfOfConversion(Operation *op) {
  auto convert = dyn_cast_or_null<arith::TruncFOp>(op);
  return convert && convert.getIn().getType().isF32() && isa<Float16Type, BFloat16Type>(convert.getType());
}

static bool packsConversions(Operation *op) {
  return isa<ptx::PackOp>(op) && llvm::all_of(op->getOperands(), [](Value value) { return isHalfOfConversion(value.getDefiningOp()); });
}

//===---------------------------------------------------------------------------------------------------------------- all costs

static void setCosts(Node &node, const SmRates &rates, bool fusesMultiplyAdd) {
  Operation *op = node.op;
  bool isDouble = op->getNumResults() == 1 && ttg::elementBits(op->getResult(0).getType()) == 64;
  if (isMergedIntoUser(op, rates, fusesMultiplyAdd) || isFree(op) || packsConversions(op)) {
    node.unit = Unit::none, node.issue = 0, node.latency = 0;
  } else if (isFloatArithmetic(op)) {
    setUnit(node, Unit::fp32, isDouble ? lanesOfFp32 / 2 : lanesOfFp32);
  } else if (isa<arith::DivFOp, math::SqrtOp>(op)) {
    setUnit(node, Unit::fp32, lanesOfFp32, floatDivisionInstructions, floatDivisionLatency);
  } else if (isa<ptx::DivideOp>(op)) {
    setUnit(node, Unit::special, rates.specialPerCycle, 1, specialLatency);
    node.issue = fastDivisionInstructions;
  } else if (isa<ptx::SpecialOp>(op)) {
    setUnit(node, Unit::special, rates.specialPerCycle, 1, specialLatency);
  } else if (isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op)) {
    setUnit(node, Unit::alu, lanesOfAlu, integerDivisionInstructions, integerDivisionLatency);
  } else if (isa<math::MathDialect>(op->getDialect())) {
    setUnit(node, Unit::alu, lanesOfAlu, functionInstructions);
  } else if (isHalfOfConversion(op)) {
    setUnit(node, Unit::alu, lanesOfAlu, 0.5);
  } else if (isa<arith::ArithDialect>(op->getDialect()) || isa<ptx::PackOp, ptx::PermuteOp, ptx::ConvertOp, ptx::ConvertPairOp>(op)) {
    setUnit(node, Unit::alu, lanesOfAlu, isDouble ? 2 : 1);
  } else if (isa<ptx::ShuffleOp, ptx::ReduxOp, ptx::BallotOp, ptx::MatchAnyOp>(op)) {
    node.unit = Unit::shared, node.occupancy = 1, node.latency = shuffleLatency;
  } else if (auto load = dyn_cast<ptx::LoadSharedOp>(op)) {
    setShared(node, static_cast<double>(bytesOf(load.getValues().getTypes())));
  } else if (auto store = dyn_cast<ptx::StoreSharedOp>(op)) {
    setShared(node, static_cast<double>(bytesOf(store.getValues().getTypes())));
  } else if (isa<ptx::ClcQueryOp>(op)) {
    setShared(node, clcResponseBytes);
  } else if (auto load = dyn_cast<ptx::LdmatrixOp>(op)) {
    setShared(node, 4.0 * load.getValues().size());
  } else if (auto store = dyn_cast<ptx::StmatrixOp>(op)) {
    setShared(node, 4.0 * store.getValues().size());
  } else if (isa<ptx::MmaOp, ptx::WgmmaOp>(op)) {
    setMma(node, rates);
  } else if (auto mma = dyn_cast<ptx::Tcgen05MmaOp>(op)) {
    setTensorMma(node, mma, rates);
  } else if (auto copy = dyn_cast<ptx::Tcgen05CpOp>(op)) {
    node.sharedCycles = bytesOf(copy.getShape()) / sharedBytesPerCycle;
  } else if (auto load = dyn_cast<ptx::Tcgen05LdOp>(op)) {
    setTensorMemory(node, load.getValues().size(), rates);
  } else if (auto store = dyn_cast<ptx::Tcgen05StOp>(op)) {
    setTensorMemory(node, store.getValues().size(), rates);
  }
}

//===---------------------------------------------------------------------------------------------------------------- decoding

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

static Node decodeNode(Operation &op, Code &code, const Costs &costs) {
  Node node;
  node.op = &op;
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
  if (isa<scf::WhileOp>(op)) node.isProgramLoop = op.walk([](ptx::ClcQueryOp) { return WalkResult::interrupt(); }).wasInterrupted();
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

//===-------------------------------------------------------------------------------------------------------------- scheduling

/// True for operations that the assembler moves others across only rarely: branches, barriers, waits.
static bool endsRun(const Node &node) {
  if (!node.bodies.empty()) return true;
  if (!isa<ptx::PtxDialect>(node.op->getDialect()) || isPure(node.op)) return false;
  return !isa<ptx::LoadGlobalOp, ptx::StoreGlobalOp, ptx::LoadSharedOp, ptx::StoreSharedOp, ptx::LdmatrixOp, ptx::StmatrixOp, ptx::MmaOp,
              ptx::ShuffleOp, ptx::ThreadIdOp, ptx::LaneIdOp>(node.op);
}

namespace {
/// Orders operations as the assembler's list scheduler does: one that can issue first comes first. Each operation takes issue slots and its
/// unit. Of those that can issue at the same time, the first in the text comes first.
class ListScheduler {
public:
  ListScheduler(MutableArrayRef<Node> nodes, const SmRates &rates)
      : nodes(nodes), rates(rates), missing(nodes.size()), users(nodes.size()) {
    llvm::DenseMap<int32_t, size_t> definedBy;
    for (auto [index, node] : llvm::enumerate(nodes)) {
      for (int32_t operand : node.waits)
        if (auto found = definedBy.find(operand); found != definedBy.end()) users[found->second].push_back(index), ++missing[index];
      for (int32_t result : node.results)
        definedBy[result] = index;
    }
    readyAt.resize(nodes.size());
  }

  void run() {
    for (size_t index = 0; index < nodes.size(); ++index)
      if (!missing[index]) queueOf(index).waiting.push({0, index});
    std::vector<Node> ordered;
    ordered.reserve(nodes.size());
    while (ordered.size() < nodes.size()) {
      size_t index = takeFirst();
      ordered.push_back(std::move(nodes[index]));
    }
    std::move(ordered.begin(), ordered.end(), nodes.begin());
  }

private:
  using Entry = std::pair<double, size_t>;
  /// Operations of one unit whose operands are known.
  struct Queue {
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> waiting;     ///< by the time at which these are ready
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> available; ///< ready
    double free = 0;                                                            ///< when the unit is
  };

  Queue &queueOf(size_t index) { return queues[static_cast<size_t>(nodes[index].unit)]; }

  size_t takeFirst() {
    Queue *best = nullptr;
    Entry first{std::numeric_limits<double>::infinity(), 0};
    for (Queue &queue : queues) {
      double from = std::max(now, queue.free);
      for (; !queue.waiting.empty() && queue.waiting.top().first <= from; queue.waiting.pop())
        queue.available.push(queue.waiting.top().second);
      if (queue.available.empty() && queue.waiting.empty()) continue;
      Entry next = queue.available.empty() ? queue.waiting.top() : Entry(from, queue.available.top());
      if (next < first) best = &queue, first = next;
    }
    auto [start, index] = first;
    const Node &node = nodes[index];
    best->available.empty() ? best->waiting.pop() : best->available.pop();
    best->free = start + node.occupancy;
    now = start + node.issue;
    double done = start + node.occupancy + (isa<ptx::LoadGlobalOp>(node.op) ? rates.l2Latency : node.latency);
    if (node.isFree()) done = readyAt[index];
    for (size_t user : users[index]) {
      readyAt[user] = std::max(readyAt[user], done);
      if (--missing[user] == 0) queueOf(user).waiting.push({readyAt[user], user});
    }
    return index;
  }

  MutableArrayRef<Node> nodes;
  const SmRates &rates;
  std::vector<size_t> missing; // for each operation: operands of the run that are not known yet
  std::vector<SmallVector<size_t, 2>> users;
  std::vector<double> readyAt;
  std::array<Queue, static_cast<size_t>(Unit::other) + 1> queues;
  double now = 0;
};
} // namespace

static void orderRun(MutableArrayRef<Node> nodes, const SmRates &rates) {
  ListScheduler(nodes, rates).run();
}

static void orderNodes(Body &body, const SmRates &rates) {
  size_t first = 0;
  for (size_t i = 0; i <= body.nodes.size(); ++i) {
    if (i < body.nodes.size() && !endsRun(body.nodes[i])) continue;
    orderRun(MutableArrayRef(body.nodes).slice(first, i - first), rates);
    first = i + 1;
    if (i < body.nodes.size())
      for (Body &nested : body.nodes[i].bodies)
        orderNodes(nested, rates);
  }
}

Code decode(Region &region, const SmRates &rates, bool fusesMultiplyAdd) {
  Code code;
  decodeInto(region, code.body, code, {rates, fusesMultiplyAdd});
  orderNodes(code.body, rates);
  code.differsInWarp.resize(static_cast<size_t>(code.values), false);
  return code;
}

} // namespace tilewright::gpu::model
