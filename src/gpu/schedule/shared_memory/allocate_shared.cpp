// Gives every buffer, barrier and scratch reservation its offset in shared memory.
//   before: %buffer = ttg.alloc : !ttg.buffer<4 x f16, ...>                         %out = ttg.alloc : !ttg.buffer<1 x f16, ...>
//   after:  %buffer = ttg.alloc {ttg.offset = 0} : !ttg.buffer<4 x f16, ...>        %out = ttg.alloc {ttg.offset = 0} : ...
// A thread is done with the earlier use of its bytes when a reservation's time begins (shared_plan.h). insert-barriers makes sure that all
// other threads are done, too.
#include "gpu/passes.h"
#include "gpu/schedule/shared_memory/shared_plan.h"
#include "ir/refusal.h"
#include "support/gpu_hardware.h"
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
    if (Result<void> valid = verify(plan); !valid) return bug(function, "the plan of its shared memory is invalid: " + valid.error());
    for (const Reservation &reservation : plan.reservations)
      reservation.op->setAttr(ttg::offsetName, b.getI64IntegerAttr(reservation.offset));
    int64_t bytes = std::max(plan.bytes, bytesForTensorMemory());
    function->setAttr(ttg::sharedBytesName, b.getI64IntegerAttr(bytes));
    return success();
  }

private:
  /// Returns the bytes with which an SM holds no more CTAs than its tensor memory suffices for. Another CTA would wait in its allocation
  /// for one of these to end, while other CTAs may wait for it: those of its cluster, for example.
  int64_t bytesForTensorMemory() {
    auto allocs = function.getBody().getOps<ttg::TensorAllocOp>();
    if (allocs.empty()) return 0;
    int64_t ctas = target.tensorColumns / (*allocs.begin()).getColumns(), ofSM = target.sharedBytes + reservedSharedBytes;
    return (ofSM / (ctas + 1) - reservedSharedBytes + plainAlignment) / plainAlignment * plainAlignment;
  }

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
