// Decides which tiles are recomputed and which are stored.
//
//   %x = tt.load ...            used by a max and by an exp: loaded twice (nothing is written in between)
//   %e = math.exp (%x - %max)   used by a sum and by a store: expensive and read twice, so it is stored once
//   %m = cmpi slt %offs, %n     costs almost nothing: computed wherever it is needed
//
// The decisions run from the last operation to the first, because a tile's consumers must be known: a stored consumer is a root of its own.
// First, long chains of operations are cut by storing a tile at intervals. A compiler's time for one loop body, and its stack, grow
// faster than the body.

#include "cpu/analysis.h"

#include "cpu/lower_volatile_load.h"
#include "ir/slice.h"

#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

llvm::ArrayRef<int64_t> shapeOf(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? tile.getShape() : llvm::ArrayRef<int64_t>();
}

int64_t elementBytes(Type element) {
  if (isa<PointerType>(element)) return 8;
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

TileAnalysis::TileAnalysis(FuncOp function, address::FailedGuards failedGuards)
    : failedGuards(std::move(failedGuards)), indices(function, this->failedGuards, gridLimits) {
  findRows(function);
  cutLongChains(function);
  // The innermost and last operations come first.
  function->walk<WalkOrder::PostOrder, ReverseIterator>([&](Operation *op) {
    for (Value result : op->getResults())
      if (isTile(result)) decide(result);
  });
}

bool TileAnalysis::prefers(const LaunchGuard &guard) {
  if (failedGuards.contains(guard.name) || failedGuards.contains(everyGuard)) return false;
  if (!llvm::is_contained(preferred, guard)) preferred.push_back(guard);
  return true;
}

//===------------------------------------------------------------------------------------------------------------ strides

bool isElementwise(Operation *op) {
  if (op->getNumRegions() != 0 || isa<ElementwiseInlineAsmOp>(op)) return false;
  if (op->hasTrait<OpTrait::Elementwise>()) return true;
  return isa<arith::SelectOp>(op);
}

Stride TileAnalysis::strideOf(Value tile, int64_t dim) {
  if (shapeOf(tile).empty() || shapeOf(tile)[dim] == 1) return {Stride::constant, 0, false};
  if (assumedStrides) {
    if (auto found = assumedStrides->find({tile, dim}); found != assumedStrides->end()) return found->second;
    Strides *assumed = assumeStrides(nullptr);
    Stride always = strideOf(tile, dim);
    assumeStrides(assumed);
    // The assumed strides may make a remainder regular.
    if (always.kind != Stride::other && !always.wraps) return always;
    Stride result = computeStride(tile, dim);
    return (*assumedStrides)[{tile, dim}] = result;
  }
  auto found = strides.find({tile, dim});
  if (found != strides.end()) return found->second;
  Stride result = computeStride(tile, dim);
  strides[{tile, dim}] = result;
  return result;
}

TileAnalysis::Strides *TileAnalysis::assumeStrides(Strides *assumed) {
  return std::exchange(assumedStrides, assumed);
}

bool TileAnalysis::needsAssumedStrides(Value tile, int64_t dim) {
  if (!assumedStrides) return false;
  strideOf(tile, dim);
  return assumedStrides->contains({tile, dim});
}

static Stride addStrides(Stride a, Stride b, int64_t sign) {
  if (a.kind == Stride::other || b.kind == Stride::other) return {};
  Stride sum;
  sum.kind = a.kind == Stride::uniform || b.kind == Stride::uniform ? Stride::uniform : Stride::constant;
  // 64-bit integers wrap around, as the elements do.
  if (sum.kind == Stride::constant)
    sum.amount = static_cast<int64_t>(static_cast<uint64_t>(a.amount) + static_cast<uint64_t>(sign) * static_cast<uint64_t>(b.amount));
  sum.wraps = a.wraps || b.wraps;
  sum.extends = a.extends || b.extends;
  sum.modular = a.modular || b.modular;
  sum.varies = a.varies || b.varies;
  return sum;
}

std::optional<int64_t> constantOf(Value value) {
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer))) return integer.getSExtValue();
  if (auto splat = value.getDefiningOp<SplatOp>()) return constantOf(splat.getSrc());
  DenseElementsAttr dense;
  if (matchPattern(value, m_Constant(&dense)) && dense.isSplat() && dense.getElementType().isInteger())
    return dense.getSplatValue<APInt>().getSExtValue();
  if (auto broadcast = value.getDefiningOp<BroadcastOp>()) return constantOf(broadcast.getSrc());
  if (auto expand = value.getDefiningOp<ExpandDimsOp>()) return constantOf(expand.getSrc());
  return std::nullopt;
}

bool TileAnalysis::isExact(Value tile) {
  auto found = exact.find(tile);
  return found != exact.end() ? found->second : exact[tile] = indices.assumeNoWrapOf(tile);
}

//===------------------------------------------------------------------------------------------------ strides, by operation

constexpr Stride noStride{Stride::constant, 0};

Stride TileAnalysis::sumStride(Operation *sum, int64_t dim, int64_t sign) {
  Stride result = addStrides(strideOf(sum->getOperand(0), dim), strideOf(sum->getOperand(1), dim), sign);
  result.modular = result.kind != Stride::other && !result.hasAmount(0);
  return result;
}

bool TileAnalysis::isOneValue(Value tile) {
  return llvm::all_of(llvm::seq<int64_t>(0, shapeOf(tile).size()), [&](int64_t d) { return strideOf(tile, d).isZero(); });
}

Stride TileAnalysis::mulStride(arith::MulIOp mul, int64_t dim) {
  constexpr int64_t limit = int64_t(1) << 40; // larger than the extent of any tile without overflow
  Stride l = strideOf(mul.getLhs(), dim), r = strideOf(mul.getRhs(), dim);
  if (l.isZero() && r.isZero()) return noStride;
  if (!l.isZero() && !r.isZero()) return {};
  Stride result = l.isZero() ? r : l;
  if (result.kind == Stride::other || result.hasAmount(0)) return result;
  result.modular = true;
  Value equal = l.isZero() ? mul.getLhs() : mul.getRhs();
  auto factor = constantOf(equal);
  if (result.kind == Stride::uniform || !factor) {
    result.kind = Stride::uniform;
    result.amount = 0;
    result.varies |= !isOneValue(equal);
    return result;
  }
  if (llvm::MulOverflow(result.amount, *factor, result.amount) || result.amount > limit || result.amount < -limit) return {};
  return result;
}

Value extendedFrom(Operation *op) {
  if (isa<arith::ExtSIOp, arith::ExtUIOp>(op)) return op->getOperand(0);
  auto moved = dyn_cast<AddPtrOp>(op);
  return moved && address::bitsOf(moved.getOffset().getType()) < 64 ? moved.getOffset() : Value();
}

bool TileAnalysis::extendsWithoutWrap(Operation *op, int64_t dim) {
  Value in = extendedFrom(op);
  if (isa<arith::ExtUIOp>(op) && !indices.assumeNonNegativeElements(in)) return false;
  return !strideOf(in, dim).modular || isExact(in);
}

/// The extended integers have the same stride unless the narrow ones overflow. If they may overflow, the stride needs a run-time check.
Stride TileAnalysis::extendedStride(Operation *op, int64_t dim) {
  Value in = extendedFrom(op);
  Stride result = strideOf(in, dim);
  if (getElementTypeOrSelf(in).isInteger(1)) return result.isZero() ? noStride : Stride{};
  if (result.kind == Stride::other || result.hasAmount(0)) return result;
  bool isExact = extendsWithoutWrap(op, dim);
  result.modular = false;
  if (isExact) return result;
  if (assumedStrides) return {};                                // the run-time checks test the strides without assumptions
  for (int64_t d = 0, rank = shapeOf(in).size(); d < rank; ++d) // the check computes the range
    if (Stride s = strideOf(in, d); s.kind == Stride::other || s.varies || (d != dim && s.isConditional())) return {};
  result.extends = true;
  return result;
}

Stride TileAnalysis::computeStride(Value tile, int64_t dim) {
  Operation *op = tile.getDefiningOp();
  if (!op) return {};
  return llvm::TypeSwitch<Operation *, Stride>(op)
      .Case([&](arith::ConstantOp c) {
        auto dense = dyn_cast<DenseElementsAttr>(c.getValue());
        return dense && dense.isSplat() ? noStride : Stride{};
      })
      .Case([&](SplatOp) { return noStride; })
      .Case([&](MakeRangeOp) { return Stride{Stride::constant, 1}; })
      .Case([&](ExpandDimsOp expand) {
        int64_t axis = expand.getAxis();
        return dim == axis ? noStride : strideOf(expand.getSrc(), dim < axis ? dim : dim - 1);
      })
      .Case([&](BroadcastOp broadcast) { return strideOf(broadcast.getSrc(), dim); })
      .Case([&](TransOp trans) { return strideOf(trans.getSrc(), trans.getOrder()[dim]); })
      .Case([&](arith::AddIOp) { return sumStride(op, dim, 1); })
      .Case([&](arith::SubIOp) { return sumStride(op, dim, -1); })
      .Case([&](arith::MulIOp mul) { return mulStride(mul, dim); })
      .Case<arith::ExtSIOp, arith::ExtUIOp>([&](auto) { return extendedStride(op, dim); })
      .Case([&](arith::TruncIOp trunc) {
        Stride s = strideOf(trunc.getIn(), dim);
        if (s.isZero()) return s;
        s.modular = true;
        return getElementTypeOrSelf(tile).getIntOrFloatBitWidth() >= 32 ? s : Stride{};
      })
      .Case<arith::RemSIOp, arith::RemUIOp>([&](auto rem) {
        Stride l = strideOf(rem.getLhs(), dim), r = strideOf(rem.getRhs(), dim);
        if (l.isZero() && r.isZero()) return noStride;
        // (start + i) % n: a range, as long as it does not wrap around. The check tests one n.
        if (!l.hasAmount(1) || !isOneValue(rem.getRhs()) || shapeOf(rem.getRhs()) != shapeOf(tile)) return Stride{};
        // The run-time checks test the strides without assumptions.
        bool isChecked =
            !needsAssumedStrides(rem.getLhs(), dim) &&
            llvm::none_of(llvm::seq<int64_t>(0, shapeOf(tile).size()), [&](int64_t d) { return needsAssumedStrides(rem.getRhs(), d); });
        return isChecked ? Stride{Stride::constant, 1, true, l.extends} : Stride{};
      })
      .Case([&](AddPtrOp add) {
        Stride p = strideOf(add.getPtr(), dim), o = extendedFrom(op) ? extendedStride(op, dim) : strideOf(add.getOffset(), dim);
        auto pointer = cast<PointerType>(getElementTypeOrSelf(add.getPtr()));
        o.amount *= elementBytes(pointer.getPointeeType());
        o.modular = false;
        return addStrides(p, o, 1);
      })
      .Default([&](Operation *other) {
        if (!isElementwise(other) && !isa<LoadOp>(other)) return Stride{};
        for (Value operand : other->getOperands())
          if (!strideOf(operand, dim).isZero()) return Stride{};
        return noStride;
      });
}

//===------------------------------------------------------------------------------------------------------------ masks

bool TileAnalysis::box(Value mask, llvm::SmallVectorImpl<BoxTerm> &terms) {
  Operation *op = mask.getDefiningOp();
  if (!op) return false;
  if (auto both = dyn_cast<arith::AndIOp>(op)) return box(both.getLhs(), terms) && box(both.getRhs(), terms);
  if (auto broadcast = dyn_cast<BroadcastOp>(op)) return box(broadcast.getSrc(), terms); // same rank, so the same dimensions
  if (auto expand = dyn_cast<ExpandDimsOp>(op)) {
    size_t first = terms.size();
    if (!box(expand.getSrc(), terms)) return false;
    for (size_t i = first; i < terms.size(); ++i)
      if (terms[i].dim >= int64_t(expand.getAxis())) ++terms[i].dim;
    return true;
  }
  auto compare = dyn_cast<arith::CmpIOp>(op);
  if (!compare || !isTile(mask)) return false;
  bool less;
  switch (compare.getPredicate()) {
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::sle:
  case arith::CmpIPredicate::ult:
  case arith::CmpIPredicate::ule: less = true; break;
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::sge:
  case arith::CmpIPredicate::ugt:
  case arith::CmpIPredicate::uge: less = false; break;
  default: return false;
  }
  bool isUnsigned = compare.getPredicate() >= arith::CmpIPredicate::ult;
  auto mayWrap = [&](Value index, int64_t dim) {
    if (dim < 0) return false;
    return (strideOf(index, dim).modular && !isExact(index)) || (isUnsigned && !indices.assumeNonNegativeElements(index));
  };
  // The side that changes is the index; the other must not.
  auto movingDim = [&](Value index, Value bound) -> std::optional<int64_t> {
    int64_t dim = -1;
    for (int64_t d = 0, rank = shapeOf(mask).size(); d < rank; ++d) {
      if (!strideOf(bound, d).isZero()) return std::nullopt;
      Stride s = strideOf(index, d);
      if (s.isZero()) continue;
      if (dim != -1 || s.kind != Stride::constant || s.amount != 1 || s.isConditional()) return std::nullopt;
      dim = d;
    }
    return dim;
  };
  Value lhs = compare.getLhs(), rhs = compare.getRhs();
  if (auto dim = less ? movingDim(lhs, rhs) : movingDim(rhs, lhs)) {
    terms.push_back({op, *dim, less, false, mayWrap(less ? lhs : rhs, *dim)});
    return true;
  }
  auto dim = less ? movingDim(rhs, lhs) : movingDim(lhs, rhs);
  if (!dim) return false;
  terms.push_back({op, *dim, !less, true, mayWrap(less ? rhs : lhs, *dim)});
  return true;
}

//===---------------------------------------------------------------------------------------------------------- decisions

static bool isFree(Operation *op) {
  return isa_and_nonnull<arith::ConstantOp, SplatOp, MakeRangeOp>(op);
}

/// Returns the cost of a tile's operation and its operands, whose costs are in `known`.
int64_t TileAnalysis::ownCost(Operation *op, const llvm::DenseMap<Value, int64_t> &known) {
  Value tile = op->getResult(0);
  bool affine = true;
  for (int64_t d = 0, rank = shapeOf(tile).size(); d < rank; ++d)
    affine &= strideOf(tile, d).kind != Stride::other;
  llvm::SmallVector<BoxTerm> terms;
  bool isMask = getElementTypeOrSelf(tile).isInteger(1);
  if ((affine && !isa<LoadOp>(op)) || (isMask && box(tile, terms))) return 0; // loops run where such masks hold
  int64_t result = 0;
  for (Value operand : op->getOperands())
    result += known.lookup(operand);
  if (isa<LoadOp>(op))
    result += 4;
  else if (isa<math::ExpOp, math::Exp2Op, math::LogOp, math::Log2Op, math::SinOp, math::CosOp, math::ErfOp, ExternElementwiseOp,
               math::TanhOp>(op))
    result += 12;
  else if (isa<arith::DivFOp, math::SqrtOp, math::RsqrtOp, PreciseDivFOp, PreciseSqrtOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp,
               arith::RemUIOp>(op))
    result += 6;
  else if (!isa<BroadcastOp, ExpandDimsOp, TransOp>(op))
    result += isa<arith::ExtFOp>(op) && getElementTypeOrSelf(op->getOperand(0)).isF16() ? 3 : 1; // from bf16 it is a shift
  return std::min<int64_t>(result, 1000);
}

int64_t TileAnalysis::cost(Value tile) {
  if (!isTile(tile)) return 0;
  if (auto found = costs.find(tile); found != costs.end()) return found->second;
  Operation *op = tile.getDefiningOp();
  int64_t result = isFree(op) ? 0 : 1;
  if (op && !isFree(op) && !mustStore(op)) {
    for (Value operand : op->getOperands())
      cost(operand);
    result = ownCost(op, costs);
  }
  return costs[tile] = result;
}

/// A quotient by a constant of several vectors is uniform in most vectors, and the remainder has stride 1. Masks mostly hold.
void TileAnalysis::findRows(Operation *function) {
  constexpr int64_t minLength = 32;
  function->walk([&](Operation *op) {
    bool isQuotient = isa<arith::DivSIOp, arith::DivUIOp>(op);
    if (!(isQuotient || isa<arith::RemSIOp, arith::RemUIOp>(op)) || !isTile(op->getResult(0))) return;
    std::optional<int64_t> length = constantOf(op->getOperand(1));
    if (!length || *length < minLength) return;
    for (int64_t d = 0, rank = shapeOf(op->getResult(0)).size(); d < rank; ++d)
      if (Stride s = strideOf(op->getOperand(0), d); s.hasAmount(1) && !s.isConditional())
        inRows[{op->getResult(0), d}] = Stride{Stride::constant, isQuotient ? 0 : 1};
  });
  if (inRows.empty()) return;
  function->walk([&](LoadOp load) {
    llvm::SmallVector<BoxTerm> terms;
    if (!load.getMask() || !box(load.getMask(), terms)) return;
    for (int64_t d = 0, rank = shapeOf(load.getMask()).size(); d < rank; ++d)
      inRows[{load.getMask(), d}] = Stride{Stride::constant, 0};
  });
}

int64_t TileAnalysis::costInRows(Value tile) {
  if (inRows.empty() || !isTile(tile)) return cost(tile);
  if (auto found = rowCosts.find(tile); found != rowCosts.end()) return found->second;
  Operation *op = tile.getDefiningOp();
  if (!op || isFree(op) || mustStore(op)) return rowCosts[tile] = cost(tile);
  for (Value operand : op->getOperands())
    costInRows(operand);
  Strides *before = assumeStrides(&inRows);
  int64_t result = isOneValue(tile) ? 0 : ownCost(op, rowCosts);
  assumeStrides(before);
  return rowCosts[tile] = result;
}

/// True if the operation's results always live in scratch, or are views of tiles that do.
bool TileAnalysis::mustStore(Operation *op) {
  if (isElementwise(op)) return false;
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto dense = dyn_cast<DenseElementsAttr>(constant.getValue());
    return !dense || !dense.isSplat();
  }
  return !isa<SplatOp, MakeRangeOp, ExpandDimsOp, BroadcastOp, TransOp, LoadOp>(op);
}

static bool isOnDemandUser(Operation *user) {
  return isElementwise(user) || isa<ExpandDimsOp, BroadcastOp, TransOp, LoadOp>(user);
}

/// Estimates how many instructions a tile's own operation becomes.
static int64_t ownWeight(Operation *op) {
  if (isa<math::MathDialect>(op->getDialect()) || isa<ExternElementwiseOp>(op)) return 16;
  return isa<LoadOp, arith::DivFOp, arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>(op) ? 4 : 1;
}

/// Returns the weight of all operations that are computed on demand for `tile`, each counted once.
int64_t TileAnalysis::chainAbove(Value tile) {
  int64_t weight = 0;
  llvm::SmallVector<Value> work = {tile};
  llvm::SmallPtrSet<Operation *, 32> seen;
  while (!work.empty()) {
    Value part = work.pop_back_val();
    Operation *op = part.getDefiningOp();
    if (!op || !isTile(part) || !isOnDemandUser(op) || (part != tile && stored.contains(part)) || !seen.insert(op).second) continue;
    weight += ownWeight(op);
    llvm::append_range(work, op->getOperands());
  }
  return weight;
}

void TileAnalysis::cutLongChains(Operation *function) {
  constexpr int64_t limit = 1024;         // the longest chain of the examples is 200
  llvm::DenseMap<Value, int64_t> weights; // shared operations count more than once, up to a limit
  function->walk([&](Operation *op) {
    if (op->getNumResults() != 1 || !isTile(op->getResult(0)) || !isOnDemandUser(op)) return;
    Value tile = op->getResult(0);
    // In program order each chain needs only one more operation: the results before it are known.
    for (int64_t d = 0, rank = shapeOf(tile).size(); d < rank; ++d)
      strideOf(tile, d);
    costInRows(tile);
    cost(tile);
    int64_t weight = ownWeight(op);
    for (Value operand : op->getOperands())
      weight = std::min(limit + 1, weight + weights.lookup(operand));
    if (weight > limit) weight = chainAbove(tile);
    Type element = getElementTypeOrSelf(tile);
    if (weight > limit && element.isIntOrFloat() && !element.isInteger(1)) {
      stored.try_emplace(tile, StoredFor::longChain);
      weight = 0;
    }
    weights[tile] = weight;
  });
}

void TileAnalysis::demands(Value tile, bool expands, bool moves, bool throughViews, llvm::SmallVectorImpl<Demand> &out, Seen &seen) {
  if (!seen.insert({tile, expands + 2 * moves}).second) return;
  for (Operation *user : tile.getUsers()) {
    bool recomputed =
        isOnDemandUser(user) && user->getNumResults() == 1 && isTile(user->getResult(0)) && !stored.contains(user->getResult(0));
    if (!recomputed) {
      // The source of a gather and the operands of scans are copied whole.
      if (llvm::none_of(out, [&](Demand d) { return d.root == user && d.expands == expands && d.moves == moves; }))
        out.push_back({user, expands, moves});
      // A view shares its source's memory, so readers of the view read the source.
      if (throughViews && isa<ReshapeOp, SplitOp>(user))
        for (Value view : user->getResults())
          demands(view, expands, true, true, out, seen);
      continue;
    }
    bool grows = isa<BroadcastOp>(user) && cast<RankedTensorType>(user->getResult(0).getType()).getNumElements() >
                                               cast<RankedTensorType>(tile.getType()).getNumElements();
    demands(user->getResult(0), expands || grows, moves || isa<TransOp>(user), throughViews, out, seen);
  }
}

static bool writesMemory(Operation *op) {
  if (isa<LoadOp, AssertOp, PrintOp>(op)) return false;
  if (auto effects = dyn_cast<MemoryEffectOpInterface>(op)) {
    if (!op->hasTrait<OpTrait::HasRecursiveMemoryEffects>()) return effects.hasEffect<MemoryEffects::Write>();
  }
  if (op->getNumRegions() == 0) return !isMemoryEffectFree(op);
  bool writes = false;
  op->walk([&](Operation *inner) { writes |= inner != op && inner->getNumRegions() == 0 && writesMemory(inner); });
  return writes;
}

/// Splits a tile of pointers into its base argument and its offset: splat(base) + offset.
static std::pair<Value, Value> baseAndOffset(Value pointer) {
  Value offset;
  while (Operation *op = pointer.getDefiningOp()) {
    if (auto add = dyn_cast<AddPtrOp>(op)) {
      if (offset && add.getOffset() != offset) return {pointer, nullptr};
      offset = add.getOffset();
      pointer = add.getPtr();
    } else if (isa<SplatOp, BroadcastOp>(op)) {
      pointer = op->getOperand(0);
    } else {
      break;
    }
  }
  return {pointer, offset};
}

static int64_t pointeeBytes(Value pointer) {
  return elementBytes(cast<PointerType>(getElementTypeOrSelf(pointer)).getPointeeType());
}

bool haveSameOffsets(Value first, Value second) {
  Value offset = baseAndOffset(first).second;
  return offset && offset == baseAndOffset(second).second && pointeeBytes(first) == pointeeBytes(second);
}

bool TileAnalysis::reachIsKnown(Value pointer) {
  for (int64_t d = 0, rank = shapeOf(pointer).size(); d < rank; ++d)
    if (Stride s = strideOf(pointer, d); s.kind == Stride::other || s.wraps || s.varies) return false;
  return true;
}

bool TileAnalysis::boundsAreKnown(Value tile, int64_t depth) {
  constexpr int64_t maxDepth = 32;
  Operation *op = tile.getDefiningOp();
  if (!op || depth == maxDepth) return false;
  if (auto found = bounded.find(tile); found != bounded.end()) return found->second;
  auto known = [&](Value part) { return boundsAreKnown(part, depth + 1); };
  bool result =
      llvm::TypeSwitch<Operation *, bool>(op)
          .Case<arith::ConstantOp, SplatOp, MakeRangeOp>(
              [&](auto) { return !mustStore(op) && (isa<PointerType>(getElementTypeOrSelf(tile)) || isExact(tile)); })
          .Case<arith::DivSIOp, arith::DivUIOp, arith::RemSIOp, arith::RemUIOp>([&](Operation *division) {
            Value dividend = division->getOperand(0);
            return constantOf(division->getOperand(1)).value_or(0) > 0 && known(dividend) && isNotNegative(dividend);
          })
          .Case([&](arith::AddIOp sum) { return known(sum.getLhs()) && known(sum.getRhs()) && isExact(tile); })
          .Case([&](arith::MulIOp mul) { return constantOf(mul.getRhs()).value_or(-1) >= 0 && known(mul.getLhs()) && isExact(tile); })
          .Case([&](arith::ExtUIOp wider) { return known(wider.getIn()) && isNotNegative(wider.getIn()); })
          .Case<arith::ExtSIOp, ExpandDimsOp, BroadcastOp, TransOp>([&](Operation *other) { return known(other->getOperand(0)); })
          .Case([&](AddPtrOp add) { return known(add.getPtr()) && known(add.getOffset()); })
          .Default([](Operation *) { return false; });
  return bounded[tile] = result;
}

/// True if a store may overwrite, in an earlier part of its loop, an element that the load reads in a later part.
bool TileAnalysis::storeMayOverwrite(LoadOp load, StoreOp store, bool elsewhere) {
  if (load.getPtr() == store.getPtr()) return elsewhere;
  Value from = address::baseArgument(load.getPtr()), to = address::baseArgument(store.getPtr());
  auto isBounded = [&](Value pointer) { return reachIsKnown(pointer) || boundsAreKnown(pointer); };
  if (from && to && from != to) // isDisjointFromStores checks this at run time if possible
    return !isTile(store.getPtr()) || !isBounded(load.getPtr()) || !isBounded(store.getPtr());
  auto [loadBase, loadOffset] = baseAndOffset(load.getPtr());
  auto [storeBase, storeOffset] = baseAndOffset(store.getPtr());
  return elsewhere || !(loadBase == storeBase && loadOffset && loadOffset == storeOffset);
}

// If so, reading and writing at the same index is safe in any order.
bool TileAnalysis::distinctAddresses(Value pointer) {
  for (int64_t d = 0, rank = shapeOf(pointer).size(); d < rank; ++d) {
    Stride s = strideOf(pointer, d);
    if (shapeOf(pointer)[d] > 1 && (s.kind == Stride::other || s.hasAmount(0) || s.wraps || s.varies)) return false;
  }
  return true;
}

/// Returns the cost from which on a tile with several readers is stored. Storing costs a store and a load for each vector, so cheaper tiles
/// are recomputed. The limit is higher if the tile and its inputs would not fit in the L1 cache together.
static int64_t expensive(Value tile) {
  constexpr int64_t large = 16384;
  return cast<RankedTensorType>(tile.getType()).getNumElements() * elementBytes(getElementTypeOrSelf(tile)) > large ? 12 : 8;
}

/// True if the tile is loaded from addresses that are neither contiguous nor all equal.
bool TileAnalysis::isGathered(Value tile) {
  auto load = tile.getDefiningOp<LoadOp>();
  if (!load || isOneValue(load.getPtr())) return false;
  int64_t bytes = elementBytes(getElementTypeOrSelf(tile));
  return llvm::none_of(llvm::seq<int64_t>(0, shapeOf(tile).size()), [&](int64_t d) { return strideOf(load.getPtr(), d).hasAmount(bytes); });
}

void TileAnalysis::decide(Value tile) {
  Operation *op = tile.getDefiningOp();
  if (mustStore(op)) {
    stored.try_emplace(tile, StoredFor::itsOperation);
    return;
  }
  if (isa<arith::ConstantOp, SplatOp, MakeRangeOp>(op)) return;
  llvm::SmallVector<Demand> roots;
  Seen followed;
  demands(tile, false, false, false, roots, followed);
  int64_t own = cost(tile);
  bool nested = false, expands = false;
  for (Demand d : roots) {
    nested |= d.root->getBlock() != op->getBlock();
    expands |= d.expands;
  }
  if (auto load = dyn_cast<LoadOp>(op)) { // earlier loads are decided separately
    bool overwritten = nested || isVolatileLoad(load);
    for (Demand d : roots) {
      if (overwritten) break;
      for (Operation *between = op->getNextNode(); between && between != d.root && !overwritten; between = between->getNextNode())
        overwritten = writesMemory(between);
      if (auto store = dyn_cast<StoreOp>(d.root))
        overwritten |= storeMayOverwrite(load, store, d.moves || d.expands || !distinctAddresses(load.getPtr()));
      else
        overwritten |= isa<AtomicRMWOp, AtomicCASOp>(d.root);
    }
    if (overwritten && !roots.empty()) {
      stored.try_emplace(tile, StoredFor::laterStore);
      return;
    }
  }
  int64_t consumers = 0; // distinct operations, however often each is expanded
  llvm::SmallPtrSet<Operation *, 8> distinct;
  for (Demand d : roots)
    consumers += distinct.insert(d.root).second;
  auto areRows = [](Demand d) { return isOnDemandUser(d.root) || isa<StoreOp, AssertOp, AtomicRMWOp, AtomicCASOp>(d.root); };
  bool inLoopOverRows = llvm::all_of(roots, areRows) && !inRows.empty();
  Strides *before = assumeStrides(inLoopOverRows ? &inRows : nullptr);
  bool gathers = isGathered(tile);
  assumeStrides(before);
  bool isExpensive = gathers || (inLoopOverRows ? costInRows(tile) : own) >= expensive(tile);
  if (isExpensive && (consumers > 1 || expands || nested)) stored.try_emplace(tile, StoredFor::manyUses);
  if (nested && own >= 4) stored.try_emplace(tile, StoredFor::manyUses);
}

bool TileAnalysis::isReadAfter(Value tile, Operation *position) {
  llvm::SmallVector<Demand> roots;
  Seen followed;
  demands(tile, false, false, true, roots, followed);
  Block *block = position->getBlock();
  for (Demand d : roots) {
    Operation *ancestor = block->findAncestorOpInBlock(*d.root);
    if (!ancestor || position->isBeforeInBlock(ancestor)) return true;
    if (ancestor == position && d.root != position) return true;
  }
  return false;
}

bool TileAnalysis::isFirstReader(Operation *reader, Value tile) {
  llvm::SmallVector<Demand> roots;
  Seen followed;
  demands(tile, false, false, false, roots, followed);
  bool reads = false;
  for (Demand d : roots) {
    if (d.root == reader && (d.expands || d.moves)) return false;
    Operation *ancestor = reader->getBlock()->findAncestorOpInBlock(*d.root);
    if (!ancestor || ancestor->isBeforeInBlock(reader)) return false;
    reads |= d.root == reader;
  }
  return reads;
}

//===------------------------------------------------------------------------------------------------------ x - max(x)

/// True if the combine region of a reduction is a single maximum.
static bool takesMaximum(ReduceOp reduce) {
  if (reduce.getSrcs().size() != 1) return false;
  Block &block = reduce.getCombineOp().front();
  Operation *last = block.getTerminator()->getOperand(0).getDefiningOp();
  if (!isa_and_nonnull<arith::MaxNumFOp, arith::MaximumFOp>(last)) return false;
  Value x = last->getOperand(0), y = last->getOperand(1), first = block.getArgument(0), second = block.getArgument(1);
  return (x == first && y == second) || (x == second && y == first);
}

constexpr int64_t everyIndex = -1;

/// True if `bound` at the indices `dims` is at least `x`, and unordered only if `x` is NaN. Each entry of `dims` is the dimension of x
/// whose index selects the element of `bound`, or everyIndex if any index will do. Example: x[i, j] and broadcast(expand_dims(reduce max x,
/// axis 1)).
static bool neverBelow(Value bound, llvm::SmallVector<int64_t> dims, Value x, int64_t depth) {
  if (depth == 0) return false;
  if (bound == x) {
    for (auto [position, dim] : llvm::enumerate(dims))
      if (dim != everyIndex && dim != int64_t(position)) return false;
    return true;
  }
  Operation *op = bound.getDefiningOp();
  if (!op) return false;
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case([&](SplatOp splat) { return neverBelow(splat.getSrc(), {}, x, depth - 1); })
      .Case([&](BroadcastOp broadcast) { return neverBelow(broadcast.getSrc(), dims, x, depth - 1); })
      .Case([&](ExpandDimsOp expand) {
        dims.erase(dims.begin() + expand.getAxis());
        return neverBelow(expand.getSrc(), dims, x, depth - 1);
      })
      .Case([&](ReshapeOp reshape) {
        if (llvm::any_of(dims, [](int64_t dim) { return dim != everyIndex; })) return false;
        return neverBelow(reshape.getSrc(), llvm::SmallVector<int64_t>(shapeOf(reshape.getSrc()).size(), everyIndex), x, depth - 1);
      })
      .Case<arith::MaxNumFOp, arith::MaximumFOp>([&](Operation *max) {
        return neverBelow(max->getOperand(0), dims, x, depth - 1) || neverBelow(max->getOperand(1), dims, x, depth - 1);
      })
      .Case([&](ReduceOp reduce) {
        if (!takesMaximum(reduce)) return false;
        dims.insert(dims.begin() + reduce.getAxis(), everyIndex);
        return neverBelow(reduce.getSrcs()[0], dims, x, depth - 1);
      })
      .Default([](Operation *) { return false; });
}

bool isNotPositive(Value value, bool fused) {
  Operation *op = value.getDefiningOp();
  if (auto multiply = dyn_cast_or_null<arith::MulFOp>(op)) {
    auto above = [](const APFloat &factor) { return !factor.isNegative() && !factor.isNaN() && !factor.isZero(); };
    auto positive = [&](Value factor) {
      FloatAttr scalar;
      DenseFPElementsAttr tile;
      if (matchPattern(factor, m_Constant(&tile)) && tile.isSplat()) return above(tile.getSplatValue<APFloat>());
      return matchPattern(factor, m_Constant(&scalar)) && above(scalar.getValue());
    };
    return (positive(multiply.getRhs()) && isNotPositive(multiply.getLhs(), fused)) ||
           (positive(multiply.getLhs()) && isNotPositive(multiply.getRhs(), fused));
  }
  auto difference = dyn_cast_or_null<arith::SubFOp>(op);
  if (!difference) return false;
  Value x = difference.getLhs();
  Operation *source = lookThrough<SplatOp, BroadcastOp, ExpandDimsOp, TransOp>(x).getDefiningOp();
  if (fused && isa_and_nonnull<arith::MulFOp, arith::NegFOp>(source)) return false;
  llvm::SmallVector<int64_t> dims;
  for (size_t d = 0; d < shapeOf(x).size(); ++d)
    dims.push_back(d);
  constexpr int64_t maxDistance = 8; // operations from a row's maximum to the subtrahend
  return neverBelow(difference.getRhs(), dims, x, maxDistance);
}

} // namespace tilewright::cpu
