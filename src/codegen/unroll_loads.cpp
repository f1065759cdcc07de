#include "codegen/unroll_loads.h"

#include "gpu/cost_model/thresholds.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AssumptionCache.h"
#include "llvm/Analysis/InstructionSimplify.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include "llvm/Transforms/Utils/LoopRotationUtils.h"
#include "llvm/Transforms/Utils/LoopSimplify.h"
#include "llvm/Transforms/Utils/LoopUtils.h"

#include <bit>
#include <optional>

using namespace llvm;

namespace tilewright {

namespace {
/// What an iteration has.
struct Body {
  int64_t instructions = 0;
  int64_t constants = 0; ///< of the instructions, those that fold to constants once each iteration has code of its own
  int64_t registers = 0; ///< 32-bit registers that the loads write
};
} // namespace

/// True if the assembly, which a kernel's author may have written, defines a label: "again:", but not "L1::evict_last". It may occur once.
static bool hasLabel(const CallBase &call) {
  const auto *code = dyn_cast<InlineAsm>(call.getCalledOperand());
  for (StringRef rest = code ? code->getAsmString() : StringRef(); rest.contains(':');) {
    rest = rest.drop_front(rest.find(':') + 1);
    if (!rest.consume_front(":")) return true;
  }
  return false;
}

/// Returns how many instructions compute constants once each iteration has code of its own: from constants, and from values that
/// iterations carry and that start as constants.
static int64_t countConstants(const Loop &loop) {
  const BasicBlock *preheader = loop.getLoopPreheader(), *latch = loop.getLoopLatch(), *header = loop.getHeader();
  if (!preheader || !latch) return 0;
  SmallVector<const PHINode *> carried; // supposed to be constant in each iteration
  for (const PHINode &phi : header->phis())
    if (isa<Constant>(phi.getIncomingValueForBlock(preheader))) carried.push_back(&phi);
  while (true) {
    SmallPtrSet<const Value *, 32> constants(carried.begin(), carried.end());
    auto isConstant = [&](const Value *value) { return isa<Constant>(value) || constants.contains(value); };
    int64_t count = 0;
    for (const BasicBlock *block : loop.blocks())
      for (const Instruction &instruction : *block) {
        if (isa<PHINode>(instruction) ? block == header : isa<CallBase>(instruction) || instruction.isTerminator()) continue;
        if (instruction.mayReadOrWriteMemory() || !llvm::all_of(instruction.operand_values(), isConstant)) continue;
        constants.insert(&instruction);
        count += !isa<PHINode>(instruction);
      }
    size_t supposed = carried.size();
    llvm::erase_if(carried, [&](const PHINode *phi) { return !isConstant(phi->getIncomingValueForBlock(latch)); });
    if (carried.size() == supposed) return count;
  }
}

/// Nothing, if iterations must stay apart: a loop that stores, or in which threads meet.
static std::optional<Body> bodyOf(const Loop &loop, const DataLayout &layout) {
  Body body;
  for (const BasicBlock *block : loop.blocks())
    for (const Instruction &instruction : *block) {
      if (instruction.isDebugOrPseudoInst() || isa<PHINode, ExtractValueInst>(instruction)) continue; // no code
      const auto *call = dyn_cast<CallBase>(&instruction);
      if (instruction.mayWriteToMemory() || (call && (call->isConvergent() || hasLabel(*call)))) return std::nullopt;
      ++body.instructions;
      if (instruction.mayReadFromMemory())
        body.registers += static_cast<int64_t>(divideCeil(layout.getTypeSizeInBits(instruction.getType()).getFixedValue(), 32));
    }
  body.constants = countConstants(loop);
  return body;
}

/// How many iterations become one: all of them, or a power of two. `trips` is their number, or 0 if it is known at run time.
static unsigned countFor(const Body &body, unsigned trips) {
  int64_t remaining = trips * (body.instructions - body.constants);
  bool compilesFast = trips * body.instructions <= 4 * gpu::maxUnrolledInstructions; // before they fold
  if (trips && compilesFast && remaining <= gpu::maxUnrolledInstructions) return trips;
  int64_t copies = gpu::maxUnrolledInstructions / body.instructions;
  int64_t count = std::min({copies, gpu::maxUnrolledRegisters / body.registers, gpu::maxUnrolledIterations});
  return count ? std::bit_floor(static_cast<unsigned>(count)) : 1;
}

PreservedAnalyses UnrollLoadsPass::run(Function &function, FunctionAnalysisManager &analyses) {
  auto &loops = analyses.getResult<LoopAnalysis>(function);
  if (loops.empty()) return PreservedAnalyses::all();
  auto &dominators = analyses.getResult<DominatorTreeAnalysis>(function);
  auto &evolution = analyses.getResult<ScalarEvolutionAnalysis>(function);
  auto &assumptions = analyses.getResult<AssumptionAnalysis>(function);
  auto &costs = analyses.getResult<TargetIRAnalysis>(function);
  bool changed = false;
  for (Loop *loop : loops.getLoopsInPreorder()) {
    if (!loop->isInnermost()) continue;
    std::optional<Body> body = bodyOf(*loop, function.getDataLayout());
    if (!body || !body->registers || !evolution.hasLoopInvariantBackedgeTakenCount(loop)) continue;
    unsigned count = countFor(*body, evolution.getSmallConstantTripCount(loop));
    if (count == 1) continue;
    changed = true;
    simplifyLoop(loop, &dominators, &loops, &evolution, &assumptions, nullptr, /*PreserveLCSSA=*/false);
    formLCSSARecursively(*loop, dominators, &loops, &evolution);
    // The pass unrolls loops whose last block has the exit, if the number of iterations is known at run time only.
    LoopRotation(loop, &loops, &costs, &assumptions, &dominators, &evolution, nullptr, SimplifyQuery(function.getDataLayout()),
                 /*RotationOnly=*/true, /*Threshold=*/gpu::maxUnrolledInstructions, /*IsUtilMode=*/true);
    addStringMetadataToLoop(loop, "llvm.loop.unroll.count", count);
  }
  return changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

} // namespace tilewright
