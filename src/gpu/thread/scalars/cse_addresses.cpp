// Common subexpressions of addresses. The registers of a thread usually lie at constant distances in memory, or at distances that are
// equal for all threads. But each address has been computed from the start:
//   before: %p = %x + 4 * sext(%i)        %q = %x + 4 * sext(%i + 128)        %r = %x + 4 * sext(%i + 8 * %stride)
//   after:  %p = %x + 4 * sext(%i)        %q = %p + 512                       %r = %p + 32 * sext(%stride)
// A constant becomes the immediate offset of the access, and the product is computed once per warp. Addresses are compared as polynomials
// over opaque values. A sign extension of a sum is the sum of the sign extensions if the sum is marked as not wrapping
// (gpu/tiles/specialize/assume_no_wrap). Any other sign extension is opaque.
// Differences of indices, as of rows and columns, are compared in the same way: the elements of a diagonal have one difference.
#include "gpu/machine/ptx.h"
#include "gpu/passes.h"
#include "gpu/thread/scalars/address_bases.h"
#include "gpu/ttg/ttg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"

#include <optional>

using namespace mlir;

namespace tilewright::gpu {
namespace {

constexpr int deepest = 16;        // operations that a form looks through
constexpr size_t maxTerms = 3;     // of a factor
constexpr size_t maxSummands = 16; // of a form

class Sharer {
public:
  explicit Sharer(tt::FuncOp function) : function(function) {}

  void run() {
    for (Block &block : function.getBody())
      walk(block);
    ttg::eraseDead(function);
  }

private:
  void walk(Block &block) {
    for (Operation &op : block) {
      llvm::TypeSwitch<Operation *>(&op)
          .Case<ptx::LoadGlobalOp, ptx::StoreGlobalOp, ptx::AtomicOp, ptx::CompareSwapOp>(
              [&](auto access) { share(access.getAddressMutable()); })
          .Case([&](ptx::CopyAsyncOp copy) { share(copy.getGlobalMutable()); })
          .Case([&](arith::SubIOp difference) { share(difference); });
      for (Region &region : op.getRegions())
        for (Block &inner : region)
          walk(inner);
    }
    bases.leave(&block);
    differences.leave(&block);
  }

  size_t numberOf(Value value) {
    auto [entry, isNew] = numbers.try_emplace(value, values.size());
    if (isNew) values.push_back(value);
    return entry->second;
  }

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
      if (form.terms.size() > maxSummands) form = unknown(value);
    };
    if (depth < deepest) {
      if (auto add = value.getDefiningOp<arith::AddIOp>()) return sum(add.getLhs(), add.getRhs(), 1), form;
      if (auto sub = value.getDefiningOp<arith::SubIOp>()) return sum(sub.getLhs(), sub.getRhs(), -1), form;
      if (auto extend = value.getDefiningOp<arith::ExtSIOp>(); extend && extend->hasAttr(ttg::noWrapName))
        return formOf(extend.getIn(), depth + 1);
      if (auto factors = value.getDefiningOp<arith::MulIOp>()) {
        Form left = formOf(factors.getLhs(), depth + 1), right = formOf(factors.getRhs(), depth + 1);
        if (std::optional<Form> known = product(left, right)) return *known;
      }
      if (auto shift = value.getDefiningOp<arith::ShLIOp>();
          shift && matchPattern(shift.getRhs(), m_ConstantInt(&number)) && number.ult(32))
        return form.add(formOf(shift.getLhs(), depth + 1), int64_t(1) << number.getZExtValue()), form;
    }
    return unknown(value);
  }

  Form unknown(Value value) {
    Form form;
    form.terms[{numberOf(value)}] = 1;
    return form;
  }

  static std::optional<Form> product(const Form &a, const Form &b) {
    if (a.terms.size() > maxTerms || b.terms.size() > maxTerms) return std::nullopt;
    Form form;
    form.add(a, b.constant);
    for (const auto &[right, factor] : b.terms) {
      form.add(right, a.constant * factor);
      for (const auto &[left, count] : a.terms) {
        if (left.size() + right.size() > 2) return std::nullopt;
        Monomial both = left;
        both.insert(both.end(), right.begin(), right.end());
        llvm::sort(both);
        form.add(both, factor * count);
      }
    }
    form.constant = a.constant * b.constant;
    return form;
  }

  /// True for an i32 value that is equal in all threads: a distance between registers, not a base.
  bool isUniform(Value value, int depth) {
    if (!value.getType().isInteger(32) || depth > deepest) return false;
    if (auto argument = dyn_cast<BlockArgument>(value)) return isa<tt::FuncOp>(argument.getOwner()->getParentOp());
    Operation *op = value.getDefiningOp();
    if (isa<ptx::BlockIdOp, ptx::BlockCountOp>(op)) return true;
    // A sum that the form did not look through may have wrapped around.
    if (depth == 0 && isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ShLIOp, arith::TruncIOp>(op)) return false;
    if (op->getName().getDialectNamespace() != "arith") return false;
    auto known = uniform.find({value, depth});
    if (known != uniform.end()) return known->second;
    bool all = llvm::all_of(op->getOperands(), [&](Value operand) { return isUniform(operand, depth + 1); });
    return uniform[{value, depth}] = all;
  }
  bool isUniform(const Monomial &monomial) {
    return llvm::all_of(monomial, [&](size_t number) { return isUniform(values[number], 0); });
  }

  void share(OpOperand &operand) {
    Value address = operand.get();
    Form form = formOf(address, 0);
    if (llvm::all_of(form.terms, [&](const auto &term) { return isUniform(term.first); }))
      return; // nothing that distinguishes threads or bases
    std::optional<Bases::Found> base = bases.nearest(form);
    if (!base) return bases.add(address, std::move(form));
    if (base->address == address) return;
    OpBuilder b(operand.getOwner());
    Value moved = movedBy(b, operand.getOwner()->getLoc(), base->address, base->distance);
    if (!base->distance.terms.empty()) bases.add(moved, std::move(form));
    operand.set(moved);
  }

  /// Replaces a difference of 32 bits by an earlier one at a constant distance. Both may wrap around.
  void share(arith::SubIOp difference) {
    if (!difference.getType().isInteger(32)) return;
    Form form = formOf(difference, 0);
    std::optional<Bases::Found> base = form.terms.empty() ? std::nullopt : differences.nearest(form);
    if (!base) return differences.add(difference, std::move(form));
    OpBuilder b(difference);
    Value distance = arith::ConstantIntOp::create(b, difference.getLoc(), base->distance.constant, 32);
    difference.replaceAllUsesWith(b.createOrFold<arith::AddIOp>(difference.getLoc(), base->address, distance));
  }

  Value movedBy(OpBuilder &b, Location loc, Value address, const Form &distance) {
    auto constant = [&](int64_t value) -> Value { return arith::ConstantOp::create(b, loc, b.getI64IntegerAttr(value)); };
    for (const auto &[monomial, factor] : distance.terms) {
      Value bytes = constant(factor);
      for (size_t number : monomial)
        bytes = arith::MulIOp::create(b, loc, arith::ExtSIOp::create(b, loc, b.getI64Type(), values[number]), bytes);
      address = arith::AddIOp::create(b, loc, address, bytes);
    }
    return distance.constant ? Value(arith::AddIOp::create(b, loc, address, constant(distance.constant))) : address;
  }

  tt::FuncOp function;
  SmallVector<Value> values;
  DenseMap<Value, size_t> numbers;
  DenseMap<Value, Form> forms;
  DenseMap<std::pair<Value, int>, bool> uniform;
  Bases bases{[this](const Monomial &monomial) { return isUniform(monomial); }};
  Bases differences{[](const Monomial &) { return false; }};
};

} // namespace

LogicalResult cseAddresses(ModuleOp module) {
  for (auto function : module.getOps<tt::FuncOp>())
    Sharer(function).run();
  return success();
}

} // namespace tilewright::gpu
