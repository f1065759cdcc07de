// See map_plan.h. Addresses are polynomials; a coordinate's factor is the stride of its dimension, and the rest of the address is shared
// out to the dimensions:
//   head * stride_kh      a further dimension of the map, without bound
//   16 * stride_am        the start of the dimension whose stride it is
//   64                    the start of the contiguous dimension
// Which dimension a term goes to is a choice; that it is still there is proven at the end.
#include "gpu/tiles/map_plan.h"

#include "gpu/layout/layout.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::gpu {
namespace {

using address::Conjunct, address::Indices, address::Mask, address::ownDims, address::Polynomial, address::dot, address::quotient,
    address::Term;

constexpr size_t maxDims = 5;
constexpr int64_t firstCoordinate = -(int64_t(1) << 30), lastCoordinate = INT32_MAX - (1 << 16);

/// Whether a tile at a negative index of this dimension lies in front of its tensor altogether, where no kernel reads: what is inside of
/// the dimension ends within its stride, which launches are asked for. The copy engine finds nothing there, and coordinates are signed. So
/// an index that comes from memory (a group, an expert) can be a coordinate.
bool isOutsideWhereNegative(Indices &indices, const MapPlan &plan, const MapDimension &dim) {
  if (dim.tileDim >= 0 || !plan.offset.isZero() || !indices.isProven(dim.start, INT32_MIN, INT32_MAX)) return false;
  Polynomial last; // of all that is inside of it
  for (const MapDimension &other : plan.dims) {
    if (&other == &dim || other.placeholder) continue;
    std::optional<Polynomial> part = dot(other.bound - Polynomial(1), other.stride);
    if (other.bound.isZero() || !part) return false;
    last = last + *part;
  }
  return indices.assumeNonNegative(dim.stride - Polynomial(1) - last);
}

/// The dimension of which a bound says that what is behind the elements that are looked at is off:  coordinate - looked < 0
std::optional<int64_t> endOfDemanded(const Conjunct &bound, ArrayRef<int64_t> shape, ArrayRef<int64_t> looked) {
  for (auto [dim, extent] : llvm::enumerate(looked))
    if (extent < shape[dim] && bound == Polynomial(Term{1, int64_t(dim), {}}) - Polynomial(extent)) return int64_t(dim);
  return std::nullopt;
}

class Planner {
public:
  Planner(Indices &indices, tt::FuncOp function, Value pointers, Value mask, ArrayRef<int64_t> looked)
      : indices(indices), function(function), pointers(pointers), mask(mask), looked(looked) {
    auto type = cast<RankedTensorType>(pointers.getType());
    shape.assign(type.getShape().begin(), type.getShape().end());
    bytes = cast<tt::PointerType>(type.getElementType()).getPointeeType().getIntOrFloatBitWidth() / 8;
  }

  Result<MapPlan> plan() {
    Result<Indices::Pointer> pointer = indices.pointer(pointers, ownDims(pointers));
    if (!pointer) return Failure{pointer.error()};
    plan_.base = dyn_cast<BlockArgument>(pointer->base);
    if (!plan_.base || plan_.base.getOwner() != &function.getBody().front()) return Failure{"its base is no argument of the kernel"};
    auto aligned = function.getArgAttrOfType<IntegerAttr>(plan_.base.getArgNumber(), tt::divisibilityName);
    if (!aligned || aligned.getInt() % mapAlignment != 0)
      return unaligned(indices.text(Polynomial(Term{1, -1, {int64_t(plan_.base.getArgNumber())}})));
    offset = pointer->offset;
    rest = offset.along(-1);
    Result<void> done = findStrides();
    if (done) done = readMask();
    if (done) chooseBox();
    if (done) done = placeMasked();
    if (done) done = placeComputed();
    if (done) done = placeKnown();
    if (done) done = finish();
    if (!done) return Failure{done.error()};
    return plan_;
  }

private:
  static Failure unaligned(const std::string &what) { return Failure{what + " is not known to be a multiple of 16 bytes"}; }
  static Failure computedBound(const MapDimension &dim) {
    return Failure{"the bound of " + name(dim.tileDim) + " is computed in the kernel, or does not move with the address"};
  }
  bool isAligned(const Polynomial &elements) {
    return llvm::all_of(elements.terms, [&](const Term &term) { return indices.divisorOf(term) * bytes % mapAlignment == 0; });
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
    if (shape[size_t(*inner)] * bytes < mapAlignment) return Failure{"its rows are shorter than 16 bytes"};
    Dims order{*inner};
    for (size_t d = shape.size(); d-- > 0;)
      if (int64_t(d) != *inner) order.push_back(int64_t(d));
    Dims extents(shape.begin(), shape.end());
    if (!tmaBox(SharedLayout::swizzled(extents, bytes * 8, 128, order)))
      return Failure{"its tile does not fit the boxes of the copy engine"};
    plan_.dims.push_back({.tileDim = *inner, .stride = Polynomial(1)});
    for (size_t d = shape.size(); d-- > 0;) {
      if (int64_t(d) == *inner) continue;
      Polynomial stride = offset.along(int64_t(d));
      bool none = stride.isZero() || stride.constant() == 1;
      if (shape[d] == 1 && none) {
        plan_.dims.push_back({.tileDim = int64_t(d), .stride = Polynomial(mapAlignment / bytes), .placeholder = true});
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
        if (endOfDemanded(conjunct, shape, looked)) {
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

  /// Less than the tile where less is looked at: blocks of columns as wide as a swizzle, rows in steps of an instruction. What that is more
  /// than what is looked at must not be behind the tensor: a second bound says where that ends.
  void chooseBox() {
    constexpr int64_t span = 128, rows = 8;
    plan_.box = shape;
    for (int64_t along : ends) {
      MapDimension &dim = dimOf(along);
      int64_t &moved = plan_.box[size_t(along)], end = looked[size_t(along)];
      if (!dim.distance)
        dim.distance = Polynomial(-end);
      else
        moved = std::min<int64_t>(moved, llvm::alignTo(end, &dim == &contiguous() ? span / bytes : rows));
    }
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
        if (!indices.assumeNonNegative(dim.start)) return computedBound(dim);
      }
      rest = rest - *dot(dim.start, dim.stride);
    }
    return {};
  }

  /// Takes q * stride out of the address, if it is there whole for the first term of `stride`.
  bool take(const Term &term, MapDimension &dim) {
    std::optional<Term> factor = quotient(term, dim.stride.terms.back());
    if (!factor) return false;
    Polynomial less = rest - *dot(Polynomial(*factor), dim.stride);
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
      plan_.dims.push_back({.stride = Polynomial(stride)});
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

  std::string which(const MapDimension &dim) {
    return dim.tileDim < 0 ? "a dimension with the stride " + indices.text(dim.stride) : name(dim.tileDim);
  }

  Result<void> finish() {
    if (plan_.dims.size() > maxDims) return Failure{"a tensor map of " + std::to_string(plan_.dims.size()) + " dimensions is needed"};
    for (MapDimension &dim : plan_.dims) {
      if (!dim.distance) continue;
      dim.bound = dim.start - *dim.distance;
      if (!indices.isOfArguments(dim.bound)) return computedBound(dim);
      if (dim.bound.isZero()) return Failure{"the bound of " + which(dim) + " is 0"};
    }
    for (MapDimension &dim : plan_.dims)
      if (Result<void> starts = finishStart(dim); !starts) return starts;
    return {};
  }

  /// Elements before the start of a dimension do not exist, so that the tile must not begin there unless the mask says the same. And a
  /// coordinate has 32 bits, with room for the tile.
  Result<void> finishStart(MapDimension &dim) {
    if (!dim.fixed && !indices.assumeNonNegative(dim.start)) {
      if (isOutsideWhereNegative(indices, plan_, dim)) return {};
      // What a mask has and the address has not was taken out of it, and is missing now.
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
  ArrayRef<int64_t> looked;
  SmallVector<int64_t> shape, ends; // ends: dimensions whose elements behind those that are looked at are masked off
  int64_t bytes = 0;
  Polynomial offset, rest; // the address, and what no dimension has taken of it yet
  MapPlan plan_;
};

/// `value` without the terms of coordinates that are always 0.
Polynomial withoutUnit(const Polynomial &value, ArrayRef<int64_t> shape) {
  Polynomial result;
  for (const Term &term : value.terms)
    if (term.dim < 0 || shape[size_t(term.dim)] != 1) result.add(term);
  return result;
}

/// Whether it is  remainder - coordinate < 0.
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

Result<MapPlan> planTensorMap(Indices &indices, tt::FuncOp kernel, Value pointers, Value mask, ArrayRef<int64_t> looked) {
  return Planner(indices, kernel, pointers, mask, looked).plan();
}

bool provesItself(Indices &indices, const MapPlan &plan, Value pointers, Value mask, ArrayRef<int64_t> looked) {
  ArrayRef<int64_t> shape = cast<RankedTensorType>(pointers.getType()).getShape();
  Result<Indices::Pointer> pointer = indices.pointer(pointers, ownDims(pointers));
  if (!pointer || pointer->base != plan.base) return false;
  Polynomial place = plan.offset;
  for (const MapDimension &dim : plan.dims) {
    std::optional<Polynomial> part = dot(dim.placeholder ? dim.start : coordinate(dim), dim.stride);
    if (!part) return false;
    place = place + *part;
  }
  if (withoutUnit(place - pointer->offset, shape) != Polynomial()) return false;

  Mask original;
  if (mask) {
    Result<Mask> parts = indices.mask(mask, ownDims(mask));
    if (!parts) return false;
    original = std::move(*parts);
  }
  for (auto [moved, extent] : llvm::zip(plan.box, looked))
    if (moved < extent) return false;
  // Every bound of the map is one of the mask's, or holds anyway.
  SmallVector<Conjunct> bounds(plan.wholly.conjuncts);
  for (const MapDimension &dim : plan.dims) {
    if (!dim.bound.isZero()) bounds.push_back(coordinate(dim) - dim.bound);
    if (!dim.fixed && !indices.assumeNonNegative(dim.start) && !isOutsideWhereNegative(indices, plan, dim)) return false;
    if (dim.fixed) bounds.push_back(Polynomial(-1) - coordinate(dim));
  }
  if (!llvm::all_of(bounds, [&](const Conjunct &bound) { return llvm::is_contained(original.conjuncts, bound); })) return false;
  auto isPastDemanded = [&](const Conjunct &bound) {
    std::optional<int64_t> at = endOfDemanded(bound, shape, looked);
    return at && llvm::any_of(plan.dims, [&](const MapDimension &dim) { return dim.tileDim == *at && !dim.bound.isZero(); });
  };
  // Every bound of the mask is one of the map's, or holds anyway: of lower ones, it is enough if the start is not negative.
  return plan.wholly.conditions == original.conditions && llvm::all_of(original.conjuncts, [&](const Conjunct &bound) {
           Polynomial start = Polynomial(-1) - bound.along(-1);
           return llvm::is_contained(bounds, bound) || isPastDemanded(bound) || (bound.constant() && *bound.constant() < 0) ||
                  (isLower(bound) && indices.isNonNegative(start));
         });
}

} // namespace tilewright::gpu
