// The registers of a thread usually lie at a constant distance from one another in memory, but each has computed its address from the
// start:
//   before: %p = %x + 4 * sext(%i)        %q = %x + 4 * sext(%i + 128)        load %p, load %q
//   after:  %p = %x + 4 * sext(%i)        %q = %p + 512                       load %p, load %q
// and a constant is part of the instruction that uses the address. Addresses are compared as linear forms over what nobody can look into;
// as everywhere, index arithmetic is taken not to overflow, so that a sign extension of a sum is the sum of sign extensions.
#include "gpu/passes.h"
#include "gpu/ptx.h"
#include "ir/tt.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <map>

using namespace mlir;

namespace tilewright::gpu {
namespace {

constexpr int deepest = 16;                          // sums that a form looks through
constexpr int64_t farthest = (int64_t(1) << 23) - 1; // of a constant in a load or a store

/// constant + sum of factor * value; values are i64, or i32 that are sign-extended.
struct Form {
  std::map<void *, int64_t> terms;
  int64_t constant = 0;

  void add(const Form &other, int64_t factor) {
    for (auto [value, count] : other.terms)
      if ((terms[value] += factor * count) == 0) terms.erase(value);
    constant += factor * other.constant;
  }
};

class Sharer {
public:
  explicit Sharer(tt::FuncOp function) : function(function) {}

  void run() {
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) {
      llvm::TypeSwitch<Operation *>(op)
          .Case<ptx::LoadGlobalOp, ptx::StoreGlobalOp, ptx::AtomicOp, ptx::CompareSwapOp>(
              [&](auto access) { share(access.getAddressMutable()); })
          .Case([&](ptx::CopyAsyncOp copy) { share(copy.getGlobalMutable()); });
    });
    function.getBody().walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
      if (isOpTriviallyDead(op)) op->erase();
    });
  }

private:
  struct Known {
    Value address;
    int64_t constant;
  };

  const Form &formOf(Value value, int depth) {
    auto found = forms.find(value);
    if (found != forms.end()) return found->second;
    Form form = compute(value, depth);
    return forms[value] = std::move(form);
  }

  Form compute(Value value, int depth) {
    Form form;
    APInt number;
    if (matchPattern(value, m_ConstantInt(&number))) {
      form.constant = number.getSExtValue();
      return form;
    }
    auto sum = [&](Value a, Value b, int64_t factor) {
      form.add(formOf(a, depth + 1), 1);
      form.add(formOf(b, depth + 1), factor);
    };
    if (depth < deepest) {
      if (auto add = value.getDefiningOp<arith::AddIOp>()) return sum(add.getLhs(), add.getRhs(), 1), form;
      if (auto sub = value.getDefiningOp<arith::SubIOp>()) return sum(sub.getLhs(), sub.getRhs(), -1), form;
      if (auto extend = value.getDefiningOp<arith::ExtSIOp>(); extend && extend.getIn().getType().isInteger(32))
        return formOf(extend.getIn(), depth + 1);
      if (auto product = value.getDefiningOp<arith::MulIOp>(); product && matchPattern(product.getRhs(), m_ConstantInt(&number)))
        return form.add(formOf(product.getLhs(), depth + 1), number.getSExtValue()), form;
      if (auto shift = value.getDefiningOp<arith::ShLIOp>();
          shift && matchPattern(shift.getRhs(), m_ConstantInt(&number)) && number.ult(32))
        return form.add(formOf(shift.getLhs(), depth + 1), int64_t(1) << number.getZExtValue()), form;
    }
    form.terms[value.getAsOpaquePointer()] = 1;
    return form;
  }

  void share(OpOperand &operand) {
    Value address = operand.get();
    const Form &form = formOf(address, 0);
    if (form.terms.empty()) return;
    SmallVector<Known> &known = bases[form.terms];
    for (const Known &base : known) {
      int64_t distance = form.constant - base.constant;
      if (base.address == address) return;
      if (distance < -farthest || distance > farthest) continue;
      // Visible here: defined in this block or one around it, before.
      Operation *user = operand.getOwner(), *definition = base.address.getDefiningOp();
      if (definition) {
        Operation *ancestor = definition->getBlock()->findAncestorOpInBlock(*user);
        if (!ancestor || !definition->isBeforeInBlock(ancestor)) continue;
      }
      if (distance == 0) return operand.set(base.address);
      OpBuilder b(user);
      Value offset = arith::ConstantOp::create(b, user->getLoc(), b.getI64IntegerAttr(distance));
      return operand.set(arith::AddIOp::create(b, user->getLoc(), base.address, offset));
    }
    known.push_back({address, form.constant});
  }

  tt::FuncOp function;
  DenseMap<Value, Form> forms;
  std::map<std::map<void *, int64_t>, SmallVector<Known>> bases;
};

} // namespace

LogicalResult shareAddresses(ModuleOp module) {
  for (auto function : module.getOps<tt::FuncOp>())
    Sharer(function).run();
  return success();
}

} // namespace tilewright::gpu
