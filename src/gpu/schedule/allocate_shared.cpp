// Gives every buffer, barrier and scratch reservation its offset in shared memory, and makes sharing safe.
//   before: %buffer = ttg.alloc : !ttg.buffer<4 x f16, ...>                         %out = ttg.alloc : !ttg.buffer<1 x f16, ...>
//   after:  %buffer = ttg.alloc {ttg.offset = 0} : !ttg.buffer<4 x f16, ...>        %out = ttg.alloc {ttg.offset = 0} : ...
// The rule for bytes that had another use before: a thread is done with the earlier use when the reservation's time begins (shared_plan.h);
// before the reservation's first access all threads must pass a barrier, and if TMA makes that access, each has fenced before that barrier.
// A reservation's first access stands where its alloc stands, so that one barrier there serves all iterations of a loop after it. Scratch
// needs nothing: its operations have a barrier before they write. Barriers with no access to shared memory since the last one are removed,
// and in loops those that others make redundant (redundant_barriers.cpp).
#include "gpu/passes.h"
#include "gpu/schedule/dequantize_partition.h"
#include "gpu/schedule/loop_schedule.h"
#include "gpu/schedule/shared_plan.h"
#include "ir/refusal.h"
#include "support/target.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

class Allocator {
public:
  Allocator(tt::FuncOp function, const GpuTarget &target) : function(function), target(target), b(function.getContext()) {}

  LogicalResult run() {
    plan = planShared(function);
    if (plan.bytes > target.sharedBytes) return tooMuch();
    if (std::optional<std::string> error = verify(plan)) return bug(function, "the plan of its shared memory is invalid: " + *error);
    for (const Reservation &reservation : plan.reservations)
      reservation.op->setAttr(ttg::offsetName, b.getI64IntegerAttr(reservation.offset));
    function->setAttr(ttg::sharedBytesName, b.getI64IntegerAttr(plan.bytes));
    for (const Reservation &reservation : plan.reservations)
      if (auto alloc = dyn_cast<ttg::AllocOp>(reservation.op)) protect(alloc, reservation);
    eliminateRedundantBarriers(function);
    bool synced = true;
    dropBarriers(function.getBody().front(), synced);
    return success();
  }

private:
  LogicalResult tooMuch() {
    InFlightDiagnostic error =
        refuse(function, Diag::outOfResources, {"shared memory", std::to_string(plan.bytes), std::to_string(target.sharedBytes)});
    SmallVector<const Reservation *> largest;
    for (const Reservation &reservation : plan.reservations)
      largest.push_back(&reservation);
    llvm::sort(largest, [](const Reservation *x, const Reservation *y) { return x->bytes != y->bytes ? x->bytes > y->bytes : x < y; });
    constexpr size_t notes = 4;
    for (const Reservation *reservation : ArrayRef(largest).take_front(notes)) {
      mlir::Diagnostic &note = error.attachNote(reservation->op->getLoc()) << reservation->bytes << " bytes";
      if (auto alloc = dyn_cast<ttg::AllocOp>(reservation->op)) {
        note << ": " << alloc.getType().getDepth() << " x tile of ";
        llvm::interleave(alloc.getType().getShape(), note, "x");
        note << " " << alloc.getType().getElementType();
      } else {
        note << " for " << reservation->op->getName().getStringRef();
      }
    }
    return error;
  }

  /// The reservations that an operation, and what is inside of it, uses.
  bool usesAnyOf(Operation *op, ArrayRef<const Reservation *> reservations) {
    bool found = false;
    op->walk([&](Operation *inner) {
      for (const Reservation *reservation : reservations) {
        found |= inner == reservation->op && !isa<ttg::AllocOp>(inner); // scratch
        if (auto alloc = dyn_cast<ttg::AllocOp>(reservation->op))
          found |= llvm::any_of(inner->getOperands(), [&](Value operand) {
            return isa<ttg::BufferType>(operand.getType()) && !isa<ttg::StageOp, ttg::ViewOp>(inner) && allocOf(operand) == alloc;
          });
      }
    });
    return found;
  }

  /// Whether threads themselves read or write the reservation.
  static bool threadsUse(const Reservation &reservation) {
    auto alloc = dyn_cast<ttg::AllocOp>(reservation.op);
    return !alloc || llvm::any_of(accessesOf(alloc), [](Operation *access) {
      return isa<ttg::LoadSharedOp, ttg::StoreSharedOp, ttg::FmaDotOp, ttg::CopyAsyncOp>(access);
    });
  }

  static bool shareLoop(Operation *x, Operation *y) {
    for (Operation *op = x->getParentOp(); op && !isa<tt::FuncOp>(op); op = op->getParentOp())
      if (isa<scf::ForOp, scf::WhileOp>(op) && op->isProperAncestor(y)) return true;
    return false;
  }

  /// Puts what the rule asks for before the first access of a reservation whose bytes had another use before.
  void protect(ttg::AllocOp alloc, const Reservation &reservation) {
    SmallVector<const Reservation *> earlier;
    for (const Reservation &other : plan.reservations)
      if (&other != &reservation && reservation.overlaps(other) && (other.first < reservation.first || shareLoop(alloc, other.op)))
        earlier.push_back(&other);
    if (earlier.empty()) return;
    Block *block = alloc->getBlock();
    Operation *first = nullptr;
    for (Operation *access : accessesOf(alloc)) {
      Operation *here = block->findAncestorOpInBlock(*access);
      if (!first || here->isBeforeInBlock(first)) first = here;
    }
    bool copied = llvm::any_of(accessesOf(alloc), [](Operation *access) { return isa<ttg::TmaLoadOp>(access); });
    bool fence = copied && llvm::any_of(earlier, [](const Reservation *other) { return threadsUse(*other); });

    Operation *sync = first->getPrevNode();
    while (sync && !isa<ttg::CtaBarrierOp>(sync) && !usesAnyOf(sync, earlier))
      sync = sync->getPrevNode();
    if (!isa_and_nonnull<ttg::CtaBarrierOp>(sync)) {
      b.setInsertionPoint(first);
      sync = ttg::CtaBarrierOp::create(b, alloc.getLoc());
    }
    // The producer or the dequantize partition that fills the reservation waits, too.
    if (llvm::any_of(accessesOf(alloc),
                     [](Operation *access) { return access->hasAttr(ttg::producerName) || access->hasAttr(ttg::dequantizePartitionName); }))
      cast<ttg::CtaBarrierOp>(sync).setAllWarps(true);
    if (fence && !isa_and_nonnull<ttg::FenceAsyncOp>(sync->getPrevNode())) {
      b.setInsertionPoint(sync);
      ttg::FenceAsyncOp::create(b, alloc.getLoc());
    }
  }

  /// Erases barriers that follow another one with nothing between them. `synced`: whether shared memory has not been touched since a
  /// barrier.
  void dropBarriers(Block &block, bool &synced) {
    for (Operation &op : llvm::make_early_inc_range(block)) {
      if (isa<ttg::CtaBarrierOp>(op)) {
        if (synced && !cast<ttg::CtaBarrierOp>(op).getAllWarps()) op.erase();
        synced = true;
      } else if (isa<ttg::AllocBarriersOp>(op)) {
        synced = true;
      } else if (op.getNumRegions() != 0 && !isa<tt::ReduceOp, tt::ScanOp, tt::MapElementwiseOp>(op)) {
        bool after = synced;
        for (Region &region : op.getRegions())
          for (Block &inner : region) {
            bool within = isa<scf::IfOp>(op) && synced; // a loop's first iteration is not its only one
            dropBarriers(inner, within);
            after &= within;
          }
        synced = after;
      } else if (op.getDialect()->getNamespace() == "ttg" || op.hasAttr(ttg::offsetName)) {
        synced &= isa<ttg::AllocOp, ttg::StageOp, ttg::ViewOp>(op) || (isa<ttg::ConvertLayoutOp>(op) && !op.hasAttr(ttg::offsetName));
      }
    }
  }

  tt::FuncOp function;
  const GpuTarget &target;
  OpBuilder b;
  SharedPlan plan;
};

} // namespace

LogicalResult allocateShared(ModuleOp module) {
  return ttg::onKernelsWithLayouts(
      module, [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &target) { return Allocator(function, target).run(); });
}

} // namespace tilewright::gpu
