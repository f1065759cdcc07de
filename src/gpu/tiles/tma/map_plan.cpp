// See map_plan.h. Addresses are polynomials. The factor of a coordinate is the stride of its dimension, and the other terms of the address
// are distributed to the dimensions:
//   head * stride_kh      an additional dimension of the map, without bound
//   16 * stride_am        the start of the dimension with this stride
//   64                    the start of the contiguous dimension
// The choice of the dimension is free: `verifyTensorMap` checks the complete plan at the end.
//
// TMA reads zeros at a negative coordinate. But memory before an argument may be valid, if that points into a table, and then an index d of
// an additional dimension may be negative (loaded, or a difference). Such an index has two coordinates that are not negative, because TMA
// computes addresses modulo 2^64:
//   d * stride  =  (d mod 2^31) * stride + (d < 0 ? 2^30 : 0) * (multiple of 2^34 - 2 * stride)
#include "gpu/tiles/tma/map_plan.h"

#include "gpu/layout/layout.h"
#include "gpu/ttg/element_sizes.h"
#include "gpu/ttg/ttg.h"
#include "ir/address/divisibility.h"
#include "support/artifact.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

using address::Conjunct, address::Indices, address::Mask, address::ownDims, address::Polynomial, address::product, address::quotient,
    address::Term;

constexpr int64_t firstCoordinate = -(int64_t(1) << 30), lastCoordinate = INT32_MAX - (1 << 16);

/// True if the dimension may be signed: it has no bounds, and its index always fits in 32 bits.
bool maySign(Indices &indices, const MapDimension &dim) {
  return dim.tileDim < 0 && indices.isProven(dim.start, INT32_MIN, INT32_MAX);
}

/// Returns the dimension whose mask bound excludes exactly the elements past the demanded ones:  coordinate - demanded < 0
std::optional<int64_t> endOfDemanded(const Conjunct &bound, ArrayRef<int64_t> shape, ArrayRef<int64_t> demanded) {
  for (auto [dim, extent] : llvm::enumerate(demanded))
    if (extent < shape[dim] && bound == Polynomial(Term{1, int64_t(dim), {}}) - Polynomial(extent)) return int64_t(dim);
  return std::nullopt;
}

class Planner {
public:
  Planner(Indices &indices, tt::FuncOp function, Value pointers, Value mask, ArrayRef<int64_t> demanded)
      : indices(indices), function(function), pointers(pointers), mask(mask), demanded(demanded) {
    auto type = cast<RankedTensorType>(pointers.getType());
    shape.assign(type.getShape().begin(), type.getShape().end());
    bytes = ttg::elementBits(cast<tt::PointerType>(type.getElementType()).getPointeeType()) / 8;
  }

  Result<MapPlan> plan() {
    Result<Indices::Pointer> pointer = indices.pointer(pointers, ownDims(pointers));
    if (!pointer) return Failure{pointer.error()};
    plan_.base = dyn_cast<BlockArgument>(pointer->base);
    if (!plan_.base || plan_.base.getOwner() != &function.getBody().front()) return Failure{"its base is not an argument of the kernel"};
    if (address::divisibilityOf(plan_.base) % tmaAlignment != 0)
      return unaligned(indices.text(Polynomial(Term{1, -1, {int64_t(plan_.base.getArgNumber())}})));
    offset = pointer->offset;
    rest = offset.along(-1);
    Result<void> done = findStrides();
    if (done) done = readMask();
    if (done) chooseBox();
    if (done) done = takeMasked();
    if (done) done = takeComputed();
    if (done) done = takeKnown();
    if (done) done = finish();
    if (!done) return Failure{done.error()};
    return plan_;
  }

private:
  static Failure unaligned(const std::string &what) { return Failure{what + " is not known to be a multiple of 16 bytes"}; }
  static Failure computedBound(const MapDimension &dim) {
    return Failure{"the bound of " + name(dim.tileDim) + " is computed in the kernel or does not match the address"};
  }
  bool isAligned(const Polynomial &elements) {
    return llvm::all_of(elements.terms, [&](const Term &term) { return indices.divisorOf(term) * bytes % tmaAlignment == 0; });
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
    if (shape[size_t(*inner)] * bytes < tmaAlignment) return Failure{"its rows are shorter than 16 bytes"};
    Dims order{*inner};
    for (size_t d = shape.size(); d-- > 0;)
      if (int64_t(d) != *inner) order.push_back(int64_t(d));
    Dims extents(shape.begin(), shape.end());
    if (!tmaBox(SharedLayout::swizzled(extents, bytes * 8, 128, order))) return Failure{"its tile does not fit a TMA box"};
    plan_.dims.push_back({.tileDim = *inner, .stride = Polynomial(1)});
    for (size_t d = shape.size(); d-- > 0;) {
      if (int64_t(d) == *inner) continue;
      Polynomial stride = offset.along(int64_t(d));
      bool none = stride.isZero() || stride.constant() == 1;
      if (shape[d] == 1 && none) {
        plan_.dims.push_back({.tileDim = int64_t(d), .stride = Polynomial(tmaAlignment / bytes), .placeholder = true});
        continue;
      }
      if (stride.isZero()) return Failure{"all elements along " + name(int64_t(d)) + " are at one address"};
      if (!indices.isOfArguments(stride)) return Failure{"the stride of " + name(int64_t(d)) + " is computed in the kernel"};
      if (!indices.assumeNonNegative(stride)) return Failure{"the stride of " + name(int64_t(d)) + " may be negative"};
      if (!isAligned(stride)) return unaligned(indices.text(stride));
      plan_.dims.push_back({.tileDim = int64_t(d), .stride = stride});
    }
    return {};
  }

  /// Reads the mask. Upper bounds give `distance`; a comparison with 0 that may be false gives the tile's start.
  Result<void> readMask() {
    if (!mask) return {};
    Result<Mask> parts = indices.mask(mask, ownDims(mask));
    if (!parts) return Failure{parts.error()};
    plan_.tileMask.conditions = parts->conditions;
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
        if (!known || *known >= 0) plan_.tileMask.conjuncts.push_back(remainder);
        continue;
      }
      std::optional<int64_t> factor = conjunct.along(along).constant();
      if (factor != 1 && factor != -1) return Failure{"its mask compares a multiple of an index"};
      MapDimension &dim = dimOf(along);
      if (factor == 1) {
        if (endOfDemanded(conjunct, shape, demanded)) {
          ends.push_back(along);
          continue;
        }
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

  /// Copies less than the tile if less is demanded: columns in blocks of one swizzle span, rows in steps of one instruction. Elements that
  /// are copied but not demanded must lie inside the tensor, so this needs a second bound that marks the end.
  void chooseBox() {
    plan_.box = shape;
    for (int64_t along : ends) {
      MapDimension &dim = dimOf(along);
      int64_t &moved = plan_.box[size_t(along)], end = demanded[size_t(along)];
      if (!dim.distance)
        dim.distance = Polynomial(-end);
      else
        moved = std::min<int64_t>(moved, llvm::alignTo(end, &dim == &contiguous() ? swizzleSpanBytes / bytes : swizzleRows));
    }
  }

  Polynomial computedPart(const Polynomial &value) {
    Polynomial part;
    for (const Term &term : value.terms)
      if (!indices.isOfArguments(Polynomial(term))) part.add(term);
    return part;
  }

  /// Subtracts the starts that the mask determines from the address.
  Result<void> takeMasked() {
    for (MapDimension &dim : plan_.dims) {
      if (!dim.fixed && !dim.distance) continue;
      if (dim.placeholder) return Failure{"its mask bounds " + name(dim.tileDim) + ", which has one element"};
      if (!dim.fixed) {
        dim.start = computedPart(*dim.distance);
        if (!indices.assumeNonNegative(dim.start)) return computedBound(dim);
      }
      rest = rest - *product(dim.start, dim.stride);
    }
    return {};
  }

  /// Subtracts q * stride from the address if all its terms are present, for the q of the first term of `stride`.
  bool take(const Term &term, MapDimension &dim) {
    std::optional<Term> factor = quotient(term, dim.stride.terms.back());
    if (!factor) return false;
    Polynomial less = rest - *product(Polynomial(*factor), dim.stride);
    if (less.terms.size() + dim.stride.terms.size() != rest.terms.size()) return false;
    rest = less;
    dim.start.add(*factor);
    return true;
  }

  /// Returns the dimensions that may receive terms, by descending stride; the contiguous one comes last.
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

  /// Distributes terms with program ids, induction variables and other values computed in the kernel.
  Result<void> takeComputed() {
    while (true) {
      Polynomial computed = computedPart(rest);
      if (computed.isZero()) return {};
      Term term = computed.terms.front();
      bool plain = llvm::none_of(term.factors, [&](int64_t factor) { return indices.isArgument(factor); });
      bool taken = false;
      for (MapDimension *dim : bySize(false))
        if (!taken && (dim->stride.constant() != 1 || plain)) taken = take(term, *dim);
      if (taken) continue;
      Result<void> added = addDimension(term);
      if (!added) return added;
    }
  }

  /// Adds a dimension to the map: head * stride_kh gets one with the stride stride_kh.
  Result<void> addDimension(const Term &term) {
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
      plan_.dims.push_back({.stride = Polynomial(stride)});
      found = plan_.dims.end() - 1;
    }
    found->start.add(index);
    return {};
  }

  /// Distributes terms that the host can compute.
  Result<void> takeKnown() {
    for (Polynomial left = rest; !left.isZero(); left.terms.erase(left.terms.begin())) {
      Term term = left.terms.front();
      if (!llvm::is_contained(rest.terms, term)) continue; // subtracted together with a previous term
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

  std::string which(const MapDimension &dim) {
    return dim.tileDim < 0 ? "a dimension with the stride " + indices.text(dim.stride) : name(dim.tileDim);
  }

  Result<void> finish() {
    for (MapDimension &dim : plan_.dims) {
      if (!dim.distance) continue;
      dim.bound = dim.start - *dim.distance;
      if (!indices.isOfArguments(dim.bound)) return computedBound(dim);
      if (dim.bound.isZero()) return Failure{"the bound of " + which(dim) + " is 0"};
    }
    for (MapDimension &dim : plan_.dims)
      if (Result<void> starts = finishStart(dim); !starts) return starts;
    auto rank = int64_t(plan_.dims.size()) + llvm::count_if(plan_.dims, [](const MapDimension &dim) { return dim.isSigned; });
    if (rank <= tmaMaxRank) return {};
    return Failure{"it needs a tensor map of " + std::to_string(rank) + " dimensions; the maximum is " + std::to_string(tmaMaxRank)};
  }

  /// Verifies the start of a dimension. Elements before index 0 do not exist, so the tile must not start there unless the mask excludes
  /// them. A coordinate must fit in 32 bits, with room for the tile.
  Result<void> finishStart(MapDimension &dim) {
    if (!dim.fixed && !indices.assumeNonNegative(dim.start)) {
      dim.isSigned = maySign(indices, dim);
      if (dim.isSigned) return {};
      // The mask's terms were subtracted from the address. Missing ones make the start negative.
      auto masked = [&](const MapDimension &other) { return other.distance && other.stride == dim.stride; };
      auto of = dim.tileDim < 0 ? llvm::find_if(plan_.dims, masked) : plan_.dims.end();
      if (of != plan_.dims.end()) return computedBound(*of);
      return Failure{"its start in " + which(dim) + " may be negative"};
    }
    if (indices.assume(dim.start, firstCoordinate, lastCoordinate)) return {};
    dim.clamped = dim.fixed && dim.distance;
    return dim.clamped ? Result<void>() : Failure{"its start in " + which(dim) + " may not fit in 32 bits"};
  }

  Indices &indices;
  tt::FuncOp function;
  Value pointers, mask;
  ArrayRef<int64_t> demanded;
  SmallVector<int64_t> shape, ends; // dimensions whose mask excludes the elements past the demanded ones
  int64_t bytes = 0;
  Polynomial offset, rest; // the address, and its terms that no dimension has yet
  MapPlan plan_;
};

/// Returns `value` without the terms of coordinates that are always 0.
Polynomial withoutUnit(const Polynomial &value, ArrayRef<int64_t> shape) {
  Polynomial result;
  for (const Term &term : value.terms)
    if (term.dim < 0 || shape[size_t(term.dim)] != 1) result.add(term);
  return result;
}

/// True if the bound has the form  remainder - coordinate < 0.
bool isLower(const Conjunct &bound) {
  SmallVector<const Term *> coordinates;
  for (const Term &term : bound.terms)
    if (term.dim >= 0) coordinates.push_back(&term);
  return coordinates.size() == 1 && coordinates[0]->coefficient == -1 && coordinates[0]->factors.empty();
}

Polynomial coordinate(const MapDimension &dim) {
  return dim.tileDim < 0 ? dim.start : dim.start + Polynomial(Term{1, dim.tileDim, {}});
}

} // namespace

Result<MapPlan> planTensorMap(Indices &indices, tt::FuncOp kernel, Value pointers, Value mask, ArrayRef<int64_t> demanded) {
  return Planner(indices, kernel, pointers, mask, demanded).plan();
}

bool verifyTensorMap(Indices &indices, const MapPlan &plan, Value pointers, Value mask, ArrayRef<int64_t> demanded) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(pointers.getType()).getShape();
  Result<Indices::Pointer> pointer = indices.pointer(pointers, ownDims(pointers));
  if (!pointer || pointer->base != plan.base) return false;
  Polynomial address = plan.offset;
  for (const MapDimension &dim : plan.dims) {
    std::optional<Polynomial> part = product(dim.placeholder ? dim.start : coordinate(dim), dim.stride);
    if (!part) return false;
    address = address + *part;
  }
  if (withoutUnit(address - pointer->offset, shape) != Polynomial()) return false;

  Mask original;
  if (mask) {
    Result<Mask> parts = indices.mask(mask, ownDims(mask));
    if (!parts) return false;
    original = std::move(*parts);
  }
  for (auto [moved, extent] : llvm::zip(plan.box, demanded))
    if (moved < extent) return false;
  // Every bound of the map must be a bound of the mask, or hold in any case.
  SmallVector<Conjunct> bounds(plan.tileMask.conjuncts);
  for (const MapDimension &dim : plan.dims) {
    if (!dim.bound.isZero()) bounds.push_back(coordinate(dim) - dim.bound);
    if (!dim.fixed && !(dim.isSigned ? maySign(indices, dim) : indices.assumeNonNegative(dim.start))) return false;
    if (dim.fixed) bounds.push_back(Polynomial(-1) - coordinate(dim));
  }
  if (!llvm::all_of(bounds, [&](const Conjunct &bound) { return llvm::is_contained(original.conjuncts, bound); })) return false;
  auto isPastDemanded = [&](const Conjunct &bound) {
    std::optional<int64_t> end = endOfDemanded(bound, shape, demanded);
    return end && llvm::any_of(plan.dims, [&](const MapDimension &dim) { return dim.tileDim == *end && !dim.bound.isZero(); });
  };
  // Every bound of the mask must be a bound of the map, or hold in any case. For a lower bound it suffices that the start is not negative.
  return plan.tileMask.conditions == original.conditions && llvm::all_of(original.conjuncts, [&](const Conjunct &bound) {
           Polynomial start = Polynomial(-1) - bound.along(-1);
           return llvm::is_contained(bounds, bound) || isPastDemanded(bound) || (bound.constant() && *bound.constant() < 0) ||
                  (isLower(bound) && indices.isNonNegative(start));
         });
}

/// Copies count mbarrier phases in values that loops and branches carry.
static Result<void> checkRegion(Operation *op) {
  for (Operation *around = op->getParentOp(); !isa<tt::FuncOp>(around); around = around->getParentOp())
    if (!isa<scf::ForOp, scf::IfOp, scf::WhileOp>(around)) return Failure{"it is inside " + around->getName().getStringRef().str()};
  return {};
}

Result<MapPlan> planVerifiedMap(Operation *op, Indices &indices, Value pointers, Value mask, ArrayRef<int64_t> demanded) {
  auto kernel = op->getParentOfType<tt::FuncOp>();
  address::FailedGuards failedGuards = ttg::failedGuardsOf(kernel);
  if (Result<void> fits = checkRegion(op); !fits) return Failure{fits.error()};
  Result<MapPlan> plan = planTensorMap(indices, kernel, pointers, mask, demanded);
  if (!plan) return plan;
  if (failedGuards.contains(everyGuard) || failedGuards.contains(mapGuardName(plan->base.getArgNumber())))
    return Failure{"the launch could not create a tensor map for " + address::nameOf(plan->base)};
  if (!verifyTensorMap(indices, *plan, pointers, mask, demanded))
    return Failure{"internal error: the tensor map does not match the access"};
  return plan;
}

} // namespace tilewright::gpu
