// Many kernels load the operands of a dot without a mask for rows, and keep addresses inside the tensor by a modulo:
//   before: %r = (x + range) % M               %a = load (base + %r * stride + ...)                 ... store %c, mask: x + range < M
//   after:  %r = x + range                     %a = load (base + %r * stride + ...), mask: x + range < M, other 0
// The wrapped rows are garbage that the store's mask drops. An address with a modulo is not a polynomial: TMA cannot load it, and a CPU
// would gather the elements one by one if a tile extends beyond the tensor. The pass drops the modulo if each row of the loaded tile only
// reaches the same row of stored tiles. Every store must mask rows from M on. The index x must not be negative, so that the modulo
// changes nothing below M. The pass proves this, or a launch guard checks it.
#include "ir/address/indices.h"
#include "ir/passes.h"
#include "ir/slice.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"

#include "llvm/ADT/SetVector.h"

#include <set>

using namespace mlir;

namespace tilewright {
namespace {

using address::Indices, address::Mask, address::ownDims, address::Polynomial, address::sourceDims, address::Term;

/// A modulo in the address of a load.
struct Candidate {
  Operation *op; // arith.remsi or remui, on a tile with one dimension
  int64_t dim;   // of the load's result
};

/// The tile's elements along `dim` have the index (start + coordinate) % size.
struct Wraparound {
  Operation *op;
  int64_t dim;
  Polynomial beyond; // start - size
  Indices &indices;
};

class ModuloToMask {
public:
  ModuloToMask(tt::FuncOp function, const address::FailedGuards &failedGuards, const GridLimits &limits, KeepsPosition keepsPosition)
      : function(function), failedGuards(failedGuards), limits(limits), keepsPosition(keepsPosition) {}

  std::vector<LaunchGuard> run() {
    SmallVector<tt::LoadOp> loads;
    function.walk([&](tt::LoadOp load) {
      if (auto tile = dyn_cast<RankedTensorType>(load.getType()); tile && tile.getRank() >= 2) loads.push_back(load);
    });
    for (tt::LoadOp load : loads) {
      SmallVector<Candidate> found;
      Visited visited;
      find(load.getPtr(), ownDims(load.getPtr()), found, visited);
      for (const Candidate &candidate : found) {
        bool once = llvm::count_if(found, [&](const Candidate &other) { return other.op == candidate.op; }) == 1;
        if (once) tryToDrop(load, candidate);
      }
    }
    return std::move(guards);
  }

private:
  using Visited = std::set<std::pair<Operation *, SmallVector<int64_t>>>;

  void find(Value value, ArrayRef<int64_t> dims, SmallVectorImpl<Candidate> &found, Visited &visited) {
    Operation *op = value.getDefiningOp();
    if (!op || !isa<RankedTensorType>(value.getType()) || !visited.insert({op, SmallVector<int64_t>(dims)}).second) return;
    if (isa<arith::RemSIOp, arith::RemUIOp>(op)) {
      if (dims.size() == 1 && dims[0] >= 0) found.push_back({op, dims[0]});
      return;
    }
    if (std::optional<SmallVector<int64_t>> source = sourceDims(op, dims)) return find(op->getOperand(0), *source, found, visited);
    if (isPassedThrough(op))
      for (Value operand : op->getOperands())
        find(operand, dims, found, visited);
  }

  /// Removes the modulo if possible. Adds the assumptions to the kernel's guards only in this case.
  void tryToDrop(tt::LoadOp load, const Candidate &candidate) {
    Indices indices(function, failedGuards, limits);
    Result<Polynomial> index = indices.element(candidate.op->getOperand(0), {0}), size = indices.element(candidate.op->getOperand(1), {0});
    if (!index || !size || index->along(0).constant() != 1 || !size->along(0).isZero()) return;
    Polynomial start = index->along(-1);
    bool isUnsigned = isa<arith::RemUIOp>(candidate.op);
    if (!indices.assumeNonNegative(start) || (isUnsigned && !indices.assumeNonNegative(*size))) return;
    Wraparound wrap{candidate.op, candidate.dim, start - *size, indices};
    if (!staysInRow(load.getResult(), wrap)) return;
    drop(load, wrap);
    for (const LaunchGuard &guard : indices.guards())
      if (!llvm::is_contained(guards, guard)) guards.push_back(guard);
  }

  static bool isPassedThrough(Operation *op) {
    return isa<tt::AddPtrOp, arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp>(op);
  }

  //===------------------------------------------------------------------------------------------------------- the proof

  bool staysInRow(Value loaded, const Wraparound &wrap) {
    llvm::SetVector<std::pair<Value, int64_t>> reached;
    reached.insert({loaded, wrap.dim});
    bool reachesDot = false;
    for (size_t i = 0; i < reached.size(); ++i) {
      auto [value, dim] = reached[i];
      for (OpOperand &use : value.getUses()) {
        reachesDot |= isa<tt::DotOp>(use.getOwner());
        if (!follow(use, dim, wrap, reached)) return false;
      }
    }
    return reachesDot;
  }

  /// Follows the rows of a used tile to its users. Returns false if rows may mix or may be stored.
  bool follow(OpOperand &use, int64_t dim, const Wraparound &wrap, llvm::SetVector<std::pair<Value, int64_t>> &reached) {
    Operation *op = use.getOwner();
    size_t number = use.getOperandNumber();
    if (auto dot = dyn_cast<tt::DotOp>(op)) {
      int64_t inner = cast<RankedTensorType>(dot.getA().getType()).getRank() - (number == 0 ? 1 : 2);
      if (number < 2 && dim == inner) return false; // summed along the inner dimension
      reached.insert({dot.getResult(), dim});
      return true;
    }
    if (auto store = dyn_cast<tt::StoreOp>(op)) return number == 1 && isMasked(store, dim, wrap);
    if (auto trans = dyn_cast<tt::TransOp>(op)) {
      for (auto [to, from] : llvm::enumerate(trans.getOrder()))
        if (from == dim) reached.insert({trans.getResult(), int64_t(to)});
      return true;
    }
    if (auto reduce = dyn_cast<tt::ReduceOp>(op)) {
      if (int64_t(reduce.getAxis()) == dim) return false;
      for (Value result : reduce->getResults())
        reached.insert({result, dim - (int64_t(reduce.getAxis()) < dim ? 1 : 0)});
      return true;
    }
    if (auto expand = dyn_cast<tt::ExpandDimsOp>(op)) {
      reached.insert({expand.getResult(), dim + (int64_t(expand.getAxis()) <= dim ? 1 : 0)});
      return true;
    }
    if (auto broadcast = dyn_cast<tt::BroadcastOp>(op)) {
      auto from = cast<RankedTensorType>(broadcast.getSrc().getType()), to = cast<RankedTensorType>(broadcast.getType());
      if (from.getShape()[size_t(dim)] != to.getShape()[size_t(dim)]) return false;
      reached.insert({broadcast.getResult(), dim});
      return true;
    }
    if (auto yield = dyn_cast<scf::YieldOp>(op)) {
      Operation *parent = yield->getParentOp();
      if (!isa<scf::ForOp, scf::IfOp>(parent)) return false;
      auto loop = dyn_cast<scf::ForOp>(parent);
      // In the next iteration and after the loop, `start` must have the same value as at the load.
      if (loop && !wrap.indices.isInvariant(wrap.beyond, loop)) return false;
      if (loop) reached.insert({loop.getRegionIterArgs()[number], dim});
      reached.insert({parent->getResult(unsigned(number)), dim});
      return true;
    }
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      size_t carried = number - loop.getNumControlOperands();
      reached.insert({loop.getRegionIterArgs()[carried], dim});
      reached.insert({loop.getResult(unsigned(carried)), dim});
      return true;
    }
    bool divides = isa<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op);
    if (divides && number == 1) return false; // a divisor that becomes 0
    StringRef dialect = op->getName().getDialectNamespace();
    bool elementwise = dialect == "arith" || dialect == "math" || isa<tt::FpToFpOp, tt::ClampFOp, tt::BitcastOp>(op);
    if ((!elementwise && !keepsPosition(op, dim)) || op->getNumRegions() != 0) return false;
    for (Value result : op->getResults())
      reached.insert({result, dim});
    return true;
  }

  bool isMasked(tt::StoreOp store, int64_t dim, const Wraparound &wrap) {
    if (!store.getMask()) return false;
    Result<Mask> mask = wrap.indices.mask(store.getMask(), ownDims(store.getMask()));
    return mask && llvm::is_contained(mask->conjuncts, wrap.beyond + Polynomial(Term{1, dim, {}}));
  }

  //===------------------------------------------------------------------------------------------------------- the change

  /// Returns `value` with the modulo replaced by its operand, and clones the operations after it. Other loads may still need the modulo.
  Value without(Value value, Operation *wrap, llvm::DenseMap<Value, Value> &made) {
    Operation *op = value.getDefiningOp();
    if (!op || !isa<RankedTensorType>(value.getType())) return value;
    if (op == wrap) return wrap->getOperand(0);
    if (!isPassedThrough(op) && !isa<tt::BroadcastOp, tt::ExpandDimsOp, tt::TransOp>(op)) return value;
    auto found = made.find(value);
    if (found != made.end()) return found->second;
    SmallVector<Value> operands = llvm::map_to_vector(op->getOperands(), [&](Value operand) { return without(operand, wrap, made); });
    OpBuilder b(op);
    bool isSame = llvm::equal(operands, op->getOperands());
    return made[value] = isSame ? value : tt::cloneAs(b, op, operands, value.getType());
  }

  void drop(tt::LoadOp load, const Wraparound &wrap) {
    llvm::DenseMap<Value, Value> made;
    load.getPtrMutable().assign(without(load.getPtr(), wrap.op, made));
    // The mask is computed at the modulo, outside of loops that do not change it.
    OpBuilder b(wrap.op);
    Location location = wrap.op->getLoc();
    Value mask = arith::CmpIOp::create(b, location, arith::CmpIPredicate::slt, wrap.op->getOperand(0), wrap.op->getOperand(1));
    auto tile = cast<RankedTensorType>(load.getType());
    SmallVector<int64_t> shape{tile.getShape()[size_t(wrap.dim)]};
    for (int64_t d = 0; d < tile.getRank(); ++d) {
      if (d == wrap.dim) continue;
      shape.insert(shape.begin() + d, 1);
      mask = tt::ExpandDimsOp::create(b, location, RankedTensorType::get(shape, b.getI1Type()), mask, static_cast<uint32_t>(d));
    }
    mask = tt::BroadcastOp::create(b, location, RankedTensorType::get(tile.getShape(), b.getI1Type()), mask);
    b.setInsertionPoint(load);
    if (load.getMask()) {
      load.getMaskMutable().assign(arith::AndIOp::create(b, location, load.getMask(), mask));
      return;
    }
    Value zero = arith::ConstantOp::create(b, location, cast<TypedAttr>(b.getZeroAttr(tile)));
    load.getMaskMutable().assign(mask);
    load.getOtherMutable().assign(zero);
  }

  tt::FuncOp function;
  const address::FailedGuards &failedGuards;
  GridLimits limits;
  KeepsPosition keepsPosition;
  std::vector<LaunchGuard> guards;
};

} // namespace

std::vector<LaunchGuard> moduloToMask(tt::FuncOp function, const llvm::StringSet<> &failedGuards, const GridLimits &limits,
                                      KeepsPosition keepsPosition) {
  return ModuloToMask(function, failedGuards, limits, keepsPosition).run();
}

} // namespace tilewright
