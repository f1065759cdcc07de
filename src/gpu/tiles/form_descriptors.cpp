// The copy engine moves a tile by one instruction, if a tensor map says how the tensor lies in memory. A kernel says it by arithmetic:
//   before: %p = a + (m0 + i) * stride_am + (k0 + j)         %mask = m0 + i < M  and  k0 + j < K
//           %x = tt.load %p, %mask, 0
//   after:  %x = ttg.descriptor_load %map[k0, m0]            map: base a, dims {K, M}, strides {stride_am}, a new argument
// The bounds of a mask become the map's extents, since the engine fills with zeros what lies outside. Addresses are polynomials
// (polynomial.h); a coordinate's factor is the stride of its dimension, and the rest of the address is shared out to the dimensions:
//   head * stride_kh      a further dimension of the map, without bound
//   16 * stride_am        the start of the dimension whose stride it is
//   64                    the start of the contiguous dimension
// A condition of the whole tile has no bound to become: where it is false the tile starts before the tensor, where there is nothing.
//
// Reads and writes of the copy engine come in no order with those of threads to the same memory. So a tensor that a kernel both reads and
// writes, or writes at two places, has no map. Two arguments may still name one tensor: as upstream, this is taken to be harmless, for a
// program that reads what another one writes at the same time has no meaning in the first place.
#include "gpu/passes.h"
#include "gpu/tiles/polynomial.h"
#include "gpu/tiles/ttg.h"
#include "support/target.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallBitVector.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

constexpr int64_t alignment = 16; // bytes: of a map's base and of its strides
constexpr size_t mostDims = 5;
constexpr int64_t farBefore = -(1 << 24); // further from 0 than any tile is long

//===---------------------------------------------------------------------------------------------- from an address to a map

/// One dimension of a map, and where the tile starts in it.
struct MapDimension {
  int64_t tileDim = -1; // -1: a further dimension, along which the tile has one element
  Polynomial stride, start;
  std::optional<Polynomial> distance; // start - bound, for a dimension that is masked
  bool fixed = false;                 // the mask has said all of `start`: it compares with 0 too
  bool placeholder = false;           // one element, and nobody said how far the next would be
  Polynomial bound;                   // none without terms
};

struct Plan {
  BlockArgument base;
  Polynomial offset;
  SmallVector<MapDimension> dims; // innermost first
  Mask wholly;                    // what must hold for any of the tile to exist
};

class Planner {
public:
  Planner(Indices &indices, tt::FuncOp function, Value pointers, Value mask)
      : indices(indices), function(function), pointers(pointers), mask(mask) {
    auto type = cast<RankedTensorType>(pointers.getType());
    shape.assign(type.getShape().begin(), type.getShape().end());
    bytes = cast<tt::PointerType>(type.getElementType()).getPointeeType().getIntOrFloatBitWidth() / 8;
  }

  Result<Plan> plan() {
    Result<Indices::Pointer> pointer = indices.pointer(pointers, ownDims(pointers));
    if (!pointer) return Failure{pointer.error()};
    plan_.base = dyn_cast<BlockArgument>(pointer->base);
    if (!plan_.base || plan_.base.getOwner() != &function.getBody().front()) return Failure{"its base is no argument of the kernel"};
    auto aligned = function.getArgAttrOfType<IntegerAttr>(plan_.base.getArgNumber(), tt::divisibilityName);
    if (!aligned || aligned.getInt() % alignment != 0)
      return unaligned(indices.text(Polynomial(Term{1, -1, {int64_t(plan_.base.getArgNumber())}})));
    offset = pointer->offset;
    rest = offset.along(-1);
    for (Result<void> (Planner::*step)() : {&Planner::findStrides, &Planner::readMask, &Planner::placeMasked, &Planner::placeComputed,
                                            &Planner::placeKnown, &Planner::finish})
      if (Result<void> done = (this->*step)(); !done) return Failure{done.error()};
    return plan_;
  }

private:
  static Failure unaligned(const std::string &what) { return Failure{what + " is not known to be a multiple of 16 bytes"}; }
  static Failure computedBound(const MapDimension &dim) {
    return Failure{"the bound of " + name(dim.tileDim) + " is computed in the kernel, or does not move with the address"};
  }
  bool isAligned(const Polynomial &elements) {
    return llvm::all_of(elements.terms, [&](const Term &term) { return indices.divisorOf(term) * bytes % alignment == 0; });
  }
  static std::string name(int64_t dim) { return "dimension " + std::to_string(dim); }
  MapDimension &dimOf(int64_t tileDim) {
    return *llvm::find_if(plan_.dims, [&](const MapDimension &dim) { return dim.tileDim == tileDim; });
  }
  MapDimension &contiguous() { return plan_.dims.front(); }

  Result<void> findStrides() {
    std::optional<int64_t> inner;
    for (auto [d, extent] : llvm::enumerate(shape)) {
      std::optional<int64_t> stride = offset.along(int64_t(d)).constant();
      if (stride != 1 || extent == 1) continue;
      if (inner) return Failure{"two of its dimensions are contiguous"};
      inner = d;
    }
    if (!inner) return Failure{"none of its dimensions is contiguous"};
    if (shape[size_t(*inner)] * bytes < alignment) return Failure{"its rows are shorter than 16 bytes"};
    Dims order{*inner};
    for (size_t d = shape.size(); d-- > 0;)
      if (int64_t(d) != *inner) order.push_back(int64_t(d));
    Dims extents(shape.begin(), shape.end());
    if (!tmaBox(SharedLayout::swizzled(extents, bytes * 8, 128, order)))
      return Failure{"its tile does not fit the boxes of the copy engine"};
    plan_.dims.push_back({*inner, Polynomial(1), {}, {}, false, false, {}});
    for (size_t d = shape.size(); d-- > 0;) {
      if (int64_t(d) == *inner) continue;
      Polynomial stride = offset.along(int64_t(d));
      bool none = stride.isZero() || stride.constant() == 1;
      if (shape[d] == 1 && none) {
        plan_.dims.push_back({int64_t(d), Polynomial(alignment / bytes), {}, {}, false, true, {}});
        continue;
      }
      if (stride.isZero()) return Failure{"all elements along " + name(int64_t(d)) + " are at one address"};
      if (!indices.isOfArguments(stride)) return Failure{"the stride of " + name(int64_t(d)) + " is computed in the kernel"};
      if (!indices.isNonNegative(stride)) return Failure{"the stride of " + name(int64_t(d)) + " may be negative"};
      if (!isAligned(stride)) return unaligned(indices.text(stride));
      plan_.dims.push_back({int64_t(d), stride, {}, {}, false, false, {}});
    }
    return {};
  }

  /// Upper bounds give `distance`; comparisons with 0 that are not true anyway say where the tile starts.
  Result<void> readMask() {
    if (!mask) return {};
    Result<Mask> parts = indices.mask(mask, ownDims(mask));
    if (!parts) return Failure{parts.error()};
    plan_.wholly.conditions = parts->conditions;
    for (const Conjunct &conjunct : parts->conjuncts) {
      int64_t along = -1;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (conjunct.along(int64_t(d)).isZero()) continue;
        if (along >= 0) return Failure{"its mask compares indices of two dimensions"};
        along = int64_t(d);
      }
      Polynomial remainder = conjunct.along(-1);
      if (along < 0) {
        std::optional<int64_t> known = remainder.constant();
        if (!known || *known >= 0) plan_.wholly.conjuncts.push_back(remainder);
        continue;
      }
      std::optional<int64_t> factor = conjunct.along(along).constant();
      if (factor != 1 && factor != -1) return Failure{"its mask compares a multiple of an index"};
      MapDimension &dim = dimOf(along);
      if (factor == 1) {
        if (dim.distance && *dim.distance != remainder) return Failure{"its mask has two bounds in " + name(along)};
        dim.distance = remainder;
        continue;
      }
      // remainder - coordinate < 0, or coordinate + start >= 0
      Polynomial start = Polynomial(-1) - remainder;
      if (indices.isNonNegative(start)) continue;
      if (dim.fixed && dim.start != start) return Failure{"its mask has two lower bounds in " + name(along)};
      dim.start = start;
      dim.fixed = true;
    }
    return {};
  }

  Polynomial computedPart(const Polynomial &value) {
    Polynomial part;
    for (const Term &term : value.terms)
      if (!indices.isOfArguments(Polynomial(term))) part.add(term);
    return part;
  }

  /// Takes what the masks say about starts out of the address.
  Result<void> placeMasked() {
    for (MapDimension &dim : plan_.dims) {
      if (!dim.fixed && !dim.distance) continue;
      if (dim.placeholder) return Failure{"its mask bounds " + name(dim.tileDim) + ", which has one element"};
      if (!dim.fixed) {
        dim.start = computedPart(*dim.distance);
        if (!indices.isNonNegative(dim.start)) return computedBound(dim);
      }
      rest = rest - *product(dim.start, dim.stride);
    }
    return {};
  }

  /// Takes q * stride out of the address, if it is there whole for the first term of `stride`.
  bool take(const Term &term, MapDimension &dim) {
    std::optional<Term> factor = quotient(term, dim.stride.terms.back());
    if (!factor) return false;
    Polynomial less = rest - *product(Polynomial(*factor), dim.stride);
    if (less.terms.size() + dim.stride.terms.size() != rest.terms.size()) return false;
    rest = less;
    dim.start.add(*factor);
    return true;
  }

  /// Dimensions that terms may go to: the larger the stride, the earlier; the contiguous one last.
  SmallVector<MapDimension *> bySize(bool alsoMasked) {
    SmallVector<MapDimension *> result;
    for (MapDimension &dim : plan_.dims)
      if (!dim.fixed && !dim.placeholder && dim.tileDim >= 0 && (alsoMasked || !dim.distance)) result.push_back(&dim);
    llvm::sort(result, [](const MapDimension *a, const MapDimension *b) {
      const Term &x = a->stride.terms.back(), &y = b->stride.terms.back();
      return std::tuple(x.factors.size(), x.coefficient, a->tileDim) > std::tuple(y.factors.size(), y.coefficient, b->tileDim);
    });
    return result;
  }

  /// Terms with program ids, induction variables and the like.
  Result<void> placeComputed() {
    while (true) {
      Polynomial computed = computedPart(rest);
      if (computed.isZero()) return {};
      Term term = computed.terms.front();
      bool plain = llvm::none_of(term.factors, [&](int64_t factor) { return indices.isArgument(factor); });
      bool taken = false;
      for (MapDimension *dim : bySize(false))
        if (!taken && (dim->stride.constant() != 1 || plain)) taken = take(term, *dim);
      if (taken) continue;
      Result<void> further = placeFurther(term);
      if (!further) return further;
    }
  }

  /// head * stride_kh: one more dimension with the stride stride_kh.
  Result<void> placeFurther(const Term &term) {
    Term stride{1, -1, {}}, index{term.coefficient, -1, {}};
    for (int64_t factor : term.factors)
      (indices.isArgument(factor) ? stride : index).factors.push_back(factor);
    if (stride.factors.empty() || !isAligned(Polynomial(stride))) std::swap(stride.coefficient, index.coefficient);
    if (!isAligned(Polynomial(stride))) return unaligned(indices.text(Polynomial(stride)));
    if (stride.coefficient < 0) return Failure{"a part of its address is subtracted"};
    rest = rest - Polynomial(term);
    auto same = [&](const MapDimension &dim) { return dim.tileDim < 0 && dim.stride == Polynomial(stride); };
    auto found = llvm::find_if(plan_.dims, same);
    if (found == plan_.dims.end()) {
      plan_.dims.push_back({-1, Polynomial(stride), {}, {}, false, false, {}});
      found = plan_.dims.end() - 1;
    }
    found->start.add(index);
    return {};
  }

  /// Terms that the host knows as well.
  Result<void> placeKnown() {
    for (Polynomial left = rest; !left.isZero(); left.terms.erase(left.terms.begin())) {
      Term term = left.terms.front();
      if (!llvm::is_contained(rest.terms, term)) continue; // gone with one before
      bool taken = false, negative = term.coefficient < 0;
      for (MapDimension *dim : bySize(true)) {
        bool unit = dim->stride.constant() == 1;
        if (!taken && !negative && (!unit || term.factors.empty())) taken = take(term, *dim);
      }
      if (taken) continue;
      if (isAligned(Polynomial(term))) {
        rest = rest - Polynomial(term);
        plan_.offset.add(term);
      } else if (contiguous().fixed || !take(term, contiguous())) {
        return unaligned(indices.text(Polynomial(term)));
      }
    }
    return {};
  }

  Result<void> finish() {
    if (plan_.dims.size() > mostDims) return Failure{"a tensor map of " + std::to_string(plan_.dims.size()) + " dimensions is needed"};
    for (MapDimension &dim : plan_.dims) {
      // What a mask has and the address has not was taken out of it, and is missing now.
      auto masked = [&](const MapDimension &other) { return other.distance && other.stride == dim.stride; };
      auto of = dim.tileDim < 0 && !indices.isNonNegative(dim.start) ? llvm::find_if(plan_.dims, masked) : plan_.dims.end();
      if (of != plan_.dims.end()) return computedBound(*of);
      std::string which = dim.tileDim < 0 ? "a dimension with the stride " + indices.text(dim.stride) : name(dim.tileDim);
      if (!dim.fixed && !indices.isNonNegative(dim.start)) return Failure{"its start in " + which + " may be negative"};
      if (!dim.distance) continue;
      dim.bound = dim.start - *dim.distance;
      if (!indices.isOfArguments(dim.bound)) return computedBound(dim);
      if (dim.bound.isZero()) return Failure{"the bound of " + which + " is 0"};
    }
    return {};
  }

  Indices &indices;
  tt::FuncOp function;
  Value pointers, mask;
  SmallVector<int64_t> shape;
  int64_t bytes = 0;
  Polynomial offset, rest; // the address, and what no dimension has taken of it yet
  Plan plan_;
};

//===------------------------------------------------------------------------------------------------------------- function

bool isElementwise(Operation *op) {
  StringRef dialect = op->getName().getDialectNamespace();
  return op->getNumRegions() == 0 && (dialect == "arith" || dialect == "math" || isa<tt::FpToFpOp, tt::ClampFOp>(op));
}

/// Whether a product takes the tile as an operand.
bool feedsProduct(Value tile) {
  return llvm::any_of(tile.getUses(), [](OpOperand &use) {
    if (isa<tt::DotOp>(use.getOwner())) return use.getOperandNumber() < 2;
    return isa<tt::TransOp, ttg::ConvertLayoutOp>(use.getOwner()) && feedsProduct(use.getOwner()->getResult(0));
  });
}

/// Whether the tile is made of a product's result.
bool comesFromProduct(Value tile) {
  llvm::SetVector<Value> seen;
  seen.insert(tile);
  for (size_t i = 0; i < seen.size(); ++i) {
    auto visit = [&](ValueRange values) { seen.insert_range(values); };
    if (auto argument = dyn_cast<BlockArgument>(seen[i])) {
      auto loop = dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp());
      if (!loop || argument == loop.getInductionVar()) continue;
      visit({loop.getInitArgs()[argument.getArgNumber() - 1], loop.getYieldedValues()[argument.getArgNumber() - 1]});
      continue;
    }
    Operation *op = seen[i].getDefiningOp();
    if (!isa<RankedTensorType>(seen[i].getType())) continue;
    size_t result = cast<OpResult>(seen[i]).getResultNumber();
    if (isa<tt::DotOp>(op)) return true;
    if (auto loop = dyn_cast<scf::ForOp>(op))
      visit({loop.getInitArgs()[result], loop.getYieldedValues()[result]});
    else if (auto branch = dyn_cast<scf::IfOp>(op))
      visit({branch.thenYield().getOperand(unsigned(result)), branch.elseYield().getOperand(unsigned(result))});
    else if (isElementwise(op) || isa<tt::TransOp, ttg::ConvertLayoutOp, tt::SplitOp, tt::ReshapeOp>(op))
      visit(op->getOperands());
  }
  return false;
}

/// Stops carrying scalars that only made addresses: nothing but their own next value still depends on them.
void dropDeadCarried(scf::ForOp loop) {
  Operation *yield = loop.getBody()->getTerminator();
  for (auto [index, carried] : llvm::enumerate(loop.getRegionIterArgs())) {
    if (isa<RankedTensorType>(carried.getType()) || !loop.getResult(unsigned(index)).use_empty()) continue;
    llvm::SetVector<Value> reached;
    reached.insert(carried);
    bool dead = true;
    for (size_t i = 0; i < reached.size() && dead; ++i)
      for (OpOperand &use : reached[i].getUses()) {
        Operation *user = use.getOwner();
        if (user == yield)
          dead &= use.getOperandNumber() == index;
        else if (isPure(user) && user->getNumRegions() == 0 && !user->hasTrait<OpTrait::IsTerminator>())
          reached.insert_range(user->getResults());
        else
          dead = false;
      }
    if (dead) yield->setOperand(unsigned(index), carried);
  }
}

/// Who reads and writes each tensor.
struct Accesses {
  int64_t reads = 0, writes = 0;
};

class Former {
public:
  explicit Former(tt::FuncOp function) : function(function), b(function.getContext()) {}

  void run() {
    SmallVector<Operation *> candidates;
    function.walk([&](Operation *op) {
      auto load = dyn_cast<tt::LoadOp>(op);
      auto store = dyn_cast<tt::StoreOp>(op);
      if (load) countAccess(load.getPtr(), 1, 0);
      if (store) countAccess(store.getPtr(), 0, 1);
      if (isa<tt::AtomicRMWOp, tt::AtomicCASOp>(op)) countAccess(op->getOperand(0), 1, 1);
      if (load && isCandidate(load.getType()) && feedsProduct(load)) candidates.push_back(op);
      if (store && isCandidate(store.getValue().getType()) && comesFromProduct(store.getValue())) candidates.push_back(op);
    });
    for (Operation *op : candidates) {
      Result<void> formed = isa<tt::LoadOp>(op) ? formLoad(cast<tt::LoadOp>(op)) : formStore(cast<tt::StoreOp>(op));
      if (!formed) op->setAttr(ttg::noDescriptorName, b.getStringAttr(formed.error()));
    }
    function.walk(dropDeadCarried);
  }

private:
  static bool isCandidate(Type type) {
    auto tile = dyn_cast<RankedTensorType>(type);
    return tile && tile.getRank() >= 2;
  }

  void countAccess(Value pointer, int64_t reads, int64_t writes) {
    Indices indices(function);
    // Where a tile of pointers has no polynomial, what it is made from still has a base.
    while (auto type = dyn_cast<RankedTensorType>(pointer.getType())) {
      Operation *op = pointer.getDefiningOp();
      if (!op || !isa<tt::AddPtrOp, tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp, tt::TransOp, tt::ReshapeOp>(op)) break;
      pointer = op->getOperand(0);
    }
    Value base = pointer;
    if (!isa<RankedTensorType>(pointer.getType()))
      if (Result<Indices::Pointer> found = indices.pointer(pointer, {})) base = found->base;
    auto argument = dyn_cast<BlockArgument>(base);
    bool known = argument && argument.getOwner() == &function.getBody().front();
    Accesses &count = known ? accesses[base] : unknown;
    count.reads += reads;
    count.writes += writes;
  }

  std::string nameOf(BlockArgument argument) {
    auto name = dyn_cast<NameLoc>(argument.getLoc());
    return name ? name.getName().str() : "argument " + std::to_string(argument.getArgNumber());
  }

  Result<void> checkElement(Type tile) {
    Type element = cast<RankedTensorType>(tile).getElementType();
    int64_t bits = element.isIntOrFloat() ? element.getIntOrFloatBitWidth() : 0;
    if (bits == 8 || bits == 16 || bits == 32 || bits == 64) return {};
    return Failure{"its elements are no numbers of 1, 2, 4 or 8 bytes"};
  }

  Result<void> formLoad(tt::LoadOp op) {
    if (op.getIsVolatile() || op.getCache() == tt::CacheModifier::CV) return Failure{"it is volatile"};
    if (Result<void> fits = checkElement(op.getType()); !fits) return fits;
    Value other = op.getOther();
    if (auto splat = other ? other.getDefiningOp<tt::SplatOp>() : tt::SplatOp()) other = splat.getSrc();
    if (op.getMask() && other && !matchPattern(other, m_Zero()) && !matchPattern(other, m_PosZeroFloat()))
      return Failure{"elements outside of its mask are not 0"};
    Indices indices(function);
    Result<Plan> plan = Planner(indices, function, op.getPtr(), op.getMask()).plan();
    if (!plan) return Failure{plan.error()};
    if (unknown.writes) return Failure{"the kernel writes through pointers whose tensor is not known"};
    if (accesses[plan->base].writes) return Failure{"the kernel writes to " + nameOf(plan->base)};
    b.setInsertionPoint(op);
    Value map = addMap(indices, *plan, cast<RankedTensorType>(op.getType()).getElementType());
    auto loaded = ttg::DescriptorLoadOp::create(b, op.getLoc(), op.getType(), map, coordinates(indices, *plan, op.getLoc()), order(*plan),
                                                static_cast<uint32_t>(op.getEvict()));
    op.getResult().replaceAllUsesWith(loaded.getResult());
    op.erase();
    return {};
  }

  /// What the copy engine of an H100 does with stores that leave their tensor, as measured: behind the end of a row it clips to 16 bytes,
  /// not to elements; a box that starts before the tensor is an illegal instruction. Loads know neither.
  Result<void> checkStore(Indices &indices, const Plan &plan, Type tile) {
    int64_t bytes = cast<RankedTensorType>(tile).getElementTypeBitWidth() / 8;
    const MapDimension &inner = plan.dims.front();
    for (const Term &term : inner.bound.terms)
      if (indices.divisorOf(term) * bytes % alignment != 0)
        return Failure{"its rows may end within 16 bytes: " + indices.text(inner.bound) + " is not known to be a multiple of " +
                       std::to_string(alignment / bytes)};
    if (!plan.wholly.conditions.empty() || !plan.wholly.conjuncts.empty()) return Failure{"it may not take place at all"};
    for (const MapDimension &dim : plan.dims)
      if (!indices.isNonNegative(dim.start)) return Failure{"it may start before its tensor"};
    return {};
  }

  Result<void> formStore(tt::StoreOp op) {
    if (Result<void> fits = checkElement(op.getValue().getType()); !fits) return fits;
    Indices indices(function);
    Result<Plan> plan = Planner(indices, function, op.getPtr(), op.getMask()).plan();
    if (!plan) return Failure{plan.error()};
    const Accesses &count = accesses[plan->base];
    if (unknown.reads || unknown.writes) return Failure{"the kernel has pointers whose tensor is not known"};
    if (count.reads) return Failure{"the kernel also reads " + nameOf(plan->base)};
    if (count.writes > 1) return Failure{"the kernel writes to " + nameOf(plan->base) + " at several places"};
    if (Result<void> fits = checkStore(indices, *plan, op.getValue().getType()); !fits) return fits;
    b.setInsertionPoint(op);
    Value map = addMap(indices, *plan, cast<RankedTensorType>(op.getValue().getType()).getElementType());
    ttg::DescriptorStoreOp::create(b, op.getLoc(), op.getValue(), map, coordinates(indices, *plan, op.getLoc()), order(*plan));
    op.erase();
    return {};
  }

  SmallVector<Value> coordinates(Indices &indices, const Plan &plan, Location location) {
    SmallVector<Value> result;
    for (const MapDimension &dim : plan.dims)
      result.push_back(indices.make(b, location, dim.start));
    SmallVector<Value> conditions(plan.wholly.conditions);
    auto constant = [&](int64_t number) {
      return arith::ConstantOp::create(b, location, b.getI32IntegerAttr(int32_t(number))).getResult();
    };
    for (const Conjunct &conjunct : plan.wholly.conjuncts)
      conditions.push_back(arith::CmpIOp::create(b, location, arith::CmpIPredicate::slt, indices.make(b, location, conjunct), constant(0)));
    if (conditions.empty()) return result;
    Value exists = conditions.front();
    for (Value condition : ArrayRef(conditions).drop_front())
      exists = arith::AndIOp::create(b, location, exists, condition);
    result.back() = arith::SelectOp::create(b, location, exists, result.back(), constant(farBefore));
    return result;
  }

  static SmallVector<int32_t> order(const Plan &plan) {
    SmallVector<int32_t> result;
    for (const MapDimension &dim : plan.dims)
      if (dim.tileDim >= 0) result.push_back(static_cast<int32_t>(dim.tileDim));
    return result;
  }

  ArrayAttr attribute(Indices &indices, const Polynomial &value) {
    SmallVector<Attribute> terms;
    for (const Term &term : value.terms) {
      SmallVector<int64_t> numbers{term.coefficient};
      for (int64_t factor : term.factors)
        numbers.push_back(indices.argumentOf(factor));
      terms.push_back(b.getDenseI64ArrayAttr(numbers));
    }
    return b.getArrayAttr(terms);
  }

  Value addMap(Indices &indices, const Plan &plan, Type element) {
    SmallVector<Attribute> bounds, strides;
    for (auto [i, dim] : llvm::enumerate(plan.dims)) {
      bounds.push_back(attribute(indices, dim.bound));
      if (i > 0) strides.push_back(attribute(indices, dim.stride));
    }
    auto recipe = ttg::TensorMapAttr::get(b.getContext(), int64_t(plan.base.getArgNumber()), attribute(indices, plan.offset),
                                          b.getArrayAttr(bounds), b.getArrayAttr(strides), b.getDenseI64ArrayAttr({}), element, 0);
    unsigned index = function.getNumArguments();
    NamedAttribute attribute(b.getStringAttr(ttg::tensorMapName), recipe);
    (void)function.insertArgument(index, ptx::TensorMapType::get(b.getContext()), b.getDictionaryAttr(attribute), plan.base.getLoc());
    return function.getArgument(index);
  }

  tt::FuncOp function;
  OpBuilder b;
  llvm::DenseMap<Value, Accesses> accesses; // by the kernel's arguments
  Accesses unknown;
};

} // namespace

LogicalResult formDescriptors(ModuleOp module) {
  return ttg::onKernels(module, [](tt::FuncOp function, ttg::ConfigAttr, const GpuTarget &target) {
    if (target.tma) Former(function).run();
    return success();
  });
}

} // namespace tilewright::gpu
