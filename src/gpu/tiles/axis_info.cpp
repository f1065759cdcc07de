// A fixpoint iteration from "not reached" to weaker results, until nothing changes. A loop-carried scalar first has its initial value, then
// the initial value or the result of one iteration, and so on.
//   %d = scf.for iter_args(%d = 0) { yield %d + 128 }      0: divisible by 2^30, then 0 or 128: by 128, then 0 or 256 ...: by 128
#include "gpu/tiles/axis_info.h"

#include "gpu/ttg/ttg.h"
#include "ir/slice.h"
#include "ir/volatile_load.h"
#include "support/gpu_hardware.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace tilewright::gpu {

constexpr int64_t maxPower = int64_t(1) << 30; // the maximum power of two: the product of two stays in range

static int64_t powerIn(int64_t value) {
  return std::min(maxPower, int64_t(1) << std::min(62, llvm::countr_zero(uint64_t(value))));
}

static bool isTracked(Type type) {
  Type element = getElementTypeOrSelf(type);
  return element.isIntOrIndex() || isa<tt::PointerType>(element);
}

using Extents = SmallVector<int64_t, 2>;

static Extents shapeOf(Type type) {
  auto tile = dyn_cast<RankedTensorType>(type);
  return tile ? Extents(tile.getShape()) : Extents{1};
}

static int64_t unitOf(Type type) {
  auto pointer = dyn_cast<tt::PointerType>(getElementTypeOrSelf(type));
  if (!pointer) return 1;
  Type pointee = pointer.getPointeeType();
  return pointee.isIntOrFloat() ? std::max<int64_t>(1, pointee.getIntOrFloatBitWidth() / 8) : 8;
}

static AxisInfo unknown(Type type) {
  size_t rank = shapeOf(type).size();
  AxisInfo info;
  info.contiguity.assign(rank, 1);
  info.divisibility.assign(rank, 1);
  info.constancy.assign(rank, 1);
  info.run.assign(rank, 1);
  info.stride.assign(rank, 0);
  info.unit = unitOf(type);
  return info;
}

/// Returns the info of a value with all elements equal.
static AxisInfo uniform(Type type, int64_t divisibility, std::optional<int64_t> constant) {
  AxisInfo info = unknown(type);
  Extents shape = shapeOf(type);
  info.constancy.assign(shape.begin(), shape.end());
  info.divisibility.assign(info.rank(), divisibility);
  info.constant = constant;
  return info;
}

void AxisInfo::extendRuns() {
  for (size_t dim = 0; dim < rank(); ++dim)
    for (auto [group, distance] : {std::pair(contiguity[dim], unit), std::pair(constancy[dim], int64_t(0))})
      if (group > run[dim]) run[dim] = group, stride[dim] = distance;
}

int64_t AxisInfo::divisibilityOfAll() const {
  int64_t all = 1;
  for (size_t dim = 0; dim < rank(); ++dim)
    all = std::max(all, divisibilityAt(dim, 1));
  return all;
}

/// Runs with large strides are not worth knowing, and the sums and products of others stay in range.
static void setRun(AxisInfo &info, size_t dim, int64_t run, int64_t stride) {
  bool isKnown = run > 1 && std::abs(stride) <= maxPower;
  info.run[dim] = isKnown ? run : 1;
  info.stride[dim] = isKnown ? stride : 0;
}

//===------------------------------------------------------------------------------------------------------------ lattice

AxisAnalysis::AxisAnalysis(tt::FuncOp function, bool trustsPromises, function_ref<int64_t(BlockArgument)> divisibilityOf)
    : trustsPromises(trustsPromises), failedGuards(ttg::failedGuardsOf(function)), indices(function, failedGuards, cudaGridLimits) {
  for (BlockArgument argument : function.getBody().getArguments()) {
    if (!isTracked(argument.getType())) continue;
    infos[argument] = uniform(argument.getType(), powerIn(divisibilityOf(argument)), std::nullopt);
  }
  do {
    changed = false;
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
  } while (changed);
}

const AxisInfo *AxisAnalysis::find(Value value) const {
  auto found = infos.find(value);
  return found == infos.end() ? nullptr : &found->second;
}

AxisInfo AxisAnalysis::of(Value value) const {
  const AxisInfo *info = find(value);
  return info ? *info : unknown(value.getType());
}

void AxisAnalysis::join(Value value, AxisInfo info) {
  info.extendRuns();
  auto [it, inserted] = infos.try_emplace(value, info);
  if (inserted) {
    changed = true;
    return;
  }
  AxisInfo &old = it->second, both = old;
  for (size_t dim = 0; dim < old.rank(); ++dim) {
    int64_t contiguity = std::min(old.contiguity[dim], info.contiguity[dim]);
    both.contiguity[dim] = contiguity;
    both.divisibility[dim] = std::min(old.divisibilityAt(dim, contiguity), info.divisibilityAt(dim, contiguity));
    both.constancy[dim] = std::min(old.constancy[dim], info.constancy[dim]);
    setRun(both, dim, old.stride[dim] == info.stride[dim] ? std::min(old.run[dim], info.run[dim]) : 1, old.stride[dim]);
  }
  both.extendRuns();
  if (old.constant != info.constant) both.constant.reset();
  if (both == old) return;
  old = both;
  changed = true;
}

void AxisAnalysis::join(Value value, Value source) {
  if (!isTracked(value.getType())) return;
  if (const AxisInfo *info = find(source)) join(value, *info);
}

void AxisAnalysis::visit(scf::ForOp loop) {
  const AxisInfo *from = find(loop.getLowerBound()), *step = find(loop.getStep());
  if (from && step)
    join(loop.getInductionVar(),
         uniform(loop.getInductionVar().getType(), std::min(from->divisibility[0], step->divisibility[0]), std::nullopt));
  for (auto [init, argument, yielded, result] :
       llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults())) {
    for (Value source : {Value(init), Value(yielded)}) {
      join(argument, source);
      join(result, source);
    }
  }
}

void AxisAnalysis::visit(scf::WhileOp loop) {
  for (auto [argument, init, yielded] : llvm::zip(loop.getBeforeArguments(), loop.getInits(), loop.getYieldOp()->getOperands())) {
    join(argument, init);
    join(argument, yielded);
  }
  for (auto [argument, result, passed] : llvm::zip(loop.getAfterArguments(), loop.getResults(), loop.getConditionOp().getArgs())) {
    join(argument, passed);
    join(result, passed);
  }
}

void AxisAnalysis::visit(scf::IfOp branch) {
  for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
    if (!region->empty() && branch.getNumResults())
      for (auto [result, yielded] : llvm::zip(branch.getResults(), region->front().getTerminator()->getOperands()))
        join(result, yielded);
}

/// Adds the author's hints about an operation's result.
static void addPromises(AxisInfo &info, Operation *op, Type type) {
  Extents shape = shapeOf(type);
  auto promise = [&](StringRef name, SmallVector<int64_t, 2> &numbers) {
    auto hint = op->getAttrOfType<DenseIntElementsAttr>(name);
    if (!hint || hint.getNumElements() != static_cast<int64_t>(numbers.size())) return;
    for (auto [dim, value] : llvm::enumerate(hint.getValues<APInt>())) {
      int64_t promised = powerIn(value.getSExtValue());
      if (name != tt::divisibilityName) promised = std::min(promised, shape[dim]);
      numbers[dim] = std::max(numbers[dim], promised);
    }
  };
  promise(tt::contiguityName, info.contiguity);
  promise(tt::divisibilityName, info.divisibility);
  promise(tt::constancyName, info.constancy);
}

void AxisAnalysis::visit(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) return visit(loop);
  if (auto loop = dyn_cast<scf::WhileOp>(op)) return visit(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op)) return visit(branch);
  // Regions of other operations work on scalars without any known properties.
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Value argument : block.getArguments())
        if (isTracked(argument.getType())) join(argument, unknown(argument.getType()));
  for (Value result : op->getResults()) {
    if (!isTracked(result.getType())) continue;
    std::optional<AxisInfo> info = op->getNumResults() == 1 ? compute(op) : unknown(result.getType());
    if (!info) continue;
    if (trustsPromises) addPromises(*info, op, result.getType());
    join(result, *info);
  }
}

//===----------------------------------------------------------------------------------------------------------- transfer

/// True if a decision may depend on the info of a value. It does not if the value is only stored, or only computes floats.
static bool mayMatter(Value value) {
  return tt::reaches(value, [](OpOperand &use) {
    Operation *op = use.getOwner();
    if (auto store = dyn_cast<tt::StoreOp>(op)) return &use == &store.getValueMutable() ? tt::Search::skip : tt::Search::found;
    bool isArithmetic = isPure(op) && op->getNumRegions() == 0 && op->getNumResults() == 1;
    if (!isArithmetic || isa<arith::CmpIOp>(op) || op->use_empty()) return tt::Search::found; // comparisons are shared by several elements
    return isTracked(op->getResult(0).getType()) ? tt::Search::follow : tt::Search::skip;
  });
}

namespace {
/// Computes the info of an operation's result from that of its operands. Dimensions are independent.
struct Transfer {
  Operation *op;
  Type type; // of its result
  ArrayRef<AxisInfo> in;
  address::Indices &indices;

  Extents shape() const { return shapeOf(type); }

  /// Equal operand elements give equal result elements.
  AxisInfo elementwise() const {
    AxisInfo info = unknown(type);
    Extents extents = shape();
    for (size_t dim = 0; dim < info.rank(); ++dim) {
      info.constancy[dim] = extents[dim];
      for (auto [operand, from] : llvm::zip(op->getOperands(), in))
        if (isa<RankedTensorType>(operand.getType())) info.constancy[dim] = std::min(info.constancy[dim], from.constancy[dim]);
    }
    return info;
  }

  /// As above; `combine` gives the divisibility of all elements from that of both operands.
  template <typename Combine> AxisInfo elementwise(Combine combine) const {
    AxisInfo info = elementwise();
    for (size_t dim = 0; dim < info.rank(); ++dim)
      info.divisibility[dim] = combine(in[0].divisibilityAt(dim, 1), in[1].divisibilityAt(dim, 1));
    return info;
  }

  /// True if division rounds down. Truncation towards zero cuts groups below zero differently. Without groups no assumption is made.
  bool floors() const {
    bool grouped = false;
    for (size_t dim = 0; dim < shape().size(); ++dim)
      grouped |= groupWithin(in[0], in[1], dim) > 1;
    return grouped && mayMatter(op->getResult(0)) && indices.assumeNonNegativeElements(op->getOperand(0));
  }

  /// Returns the info of a known power of two, as an operand.
  AxisInfo powerOfTwo(int64_t number) const { return uniform(type, std::min(maxPower, number), number); }

  AxisInfo sum(const AxisInfo &a, const AxisInfo &b, bool minus) const {
    AxisInfo info = unknown(type);
    int64_t scale = info.unit; // tt.addptr counts elements
    for (size_t dim = 0; dim < info.rank(); ++dim) {
      int64_t rising = std::min(a.contiguity[dim], b.constancy[dim]);
      if (!minus) rising = std::max(rising, std::min(a.constancy[dim], b.contiguity[dim]));
      info.contiguity[dim] = rising;
      info.divisibility[dim] = std::min(a.divisibilityAt(dim, rising), std::min(maxPower, b.divisibilityAt(dim, rising) * scale));
      info.constancy[dim] = std::min(a.constancy[dim], b.constancy[dim]);
      setRun(info, dim, std::min(a.run[dim], b.run[dim]), a.stride[dim] + (minus ? -1 : scale) * b.stride[dim]);
    }
    if (a.constant && b.constant && !isa<tt::PointerType>(getElementTypeOrSelf(type))) { // wraps around at 64 bits
      auto x = static_cast<uint64_t>(*a.constant), y = static_cast<uint64_t>(*b.constant);
      info.constant = static_cast<int64_t>(minus ? x - y : x + y);
    }
    return info;
  }

  AxisInfo product(const AxisInfo &a, const AxisInfo &b) const {
    if (a.constant == 1) return b;
    if (b.constant == 1) return a;
    AxisInfo info = unknown(type);
    for (size_t dim = 0; dim < info.rank(); ++dim) {
      info.divisibility[dim] = std::min(maxPower, a.divisibilityAt(dim, 1) * b.divisibilityAt(dim, 1));
      info.constancy[dim] = std::min(a.constancy[dim], b.constancy[dim]);
      for (auto [factor, varying] : {std::pair(&a, &b), std::pair(&b, &a)})
        if (factor->constant && *factor->constant >= -maxPower && *factor->constant <= maxPower)
          setRun(info, dim, varying->run[dim], varying->stride[dim] * *factor->constant);
    }
    return info;
  }

  /// Returns the size of groups that start at a multiple of their size, with `by` constant and a multiple of that size within each group.
  static int64_t groupWithin(const AxisInfo &a, const AxisInfo &by, size_t dim) {
    return std::min({a.contiguity[dim], a.divisibility[dim], by.constancy[dim], by.divisibilityAt(dim, 1)});
  }

  AxisInfo quotient(const AxisInfo &a, const AxisInfo &by, bool floors) const {
    if (by.constant == 1) return a;
    AxisInfo info = unknown(type);
    for (size_t dim = 0; dim < info.rank(); ++dim) {
      int64_t group = floors ? groupWithin(a, by, dim) : 1;
      info.constancy[dim] = std::max(std::min(a.constancy[dim], by.constancy[dim]), group);
      if (by.constant && *by.constant > 0 && llvm::isPowerOf2_64(static_cast<uint64_t>(*by.constant)))
        info.divisibility[dim] = std::max<int64_t>(1, a.divisibilityAt(dim, group) / *by.constant);
    }
    return info;
  }

  AxisInfo remainder(const AxisInfo &a, const AxisInfo &by, bool floors) const {
    AxisInfo info = unknown(type);
    for (size_t dim = 0; dim < info.rank(); ++dim) {
      int64_t group = floors ? groupWithin(a, by, dim) : 1;
      info.contiguity[dim] = group;
      info.divisibility[dim] = std::min(a.divisibilityAt(dim, group), by.divisibilityAt(dim, 1));
      info.constancy[dim] = std::min(a.constancy[dim], by.constancy[dim]);
    }
    return info;
  }

  /// `index < bound`: if groups of n start at multiples of n, and n divides the bound, each group is completely inside or outside.
  AxisInfo comparison(arith::CmpIPredicate predicate, const AxisInfo &a, const AxisInfo &b) const {
    using P = arith::CmpIPredicate;
    bool left = llvm::is_contained({P::slt, P::ult, P::sge, P::uge}, predicate); // the left operand may vary
    bool right = llvm::is_contained({P::sgt, P::ugt, P::sle, P::ule}, predicate);
    AxisInfo info = unknown(type);
    for (size_t dim = 0; dim < info.rank(); ++dim) {
      int64_t same = std::min(a.constancy[dim], b.constancy[dim]);
      if (left) same = std::max(same, groupWithin(a, b, dim));
      if (right) same = std::max(same, groupWithin(b, a, dim));
      info.constancy[dim] = same;
    }
    return info;
  }
};
} // namespace

//===-------------------------------------------------------------------------------------------------------------- rules

static AxisInfo ofConstant(const Transfer &t) {
  Attribute value = cast<arith::ConstantOp>(t.op).getValue();
  if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
    if (!dense.isSplat()) return unknown(t.type);
    value = dense.getSplatValue<Attribute>();
  }
  auto number = dyn_cast<IntegerAttr>(value);
  if (!number) return uniform(t.type, 1, std::nullopt);
  int64_t known = number.getValue().getSExtValue();
  return uniform(t.type, powerIn(known), known);
}

static AxisInfo ofRange(const Transfer &t) {
  AxisInfo info = unknown(t.type);
  info.contiguity[0] = t.shape()[0];
  info.divisibility[0] = powerIn(cast<tt::MakeRangeOp>(t.op).getStart());
  return info;
}

static AxisInfo ofSplat(const Transfer &t) {
  return uniform(t.type, t.in[0].divisibility[0], t.in[0].constant);
}

static AxisInfo ofExpandDims(const Transfer &t) {
  AxisInfo info = t.in[0];
  int64_t axis = cast<tt::ExpandDimsOp>(t.op).getAxis(), all = info.divisibilityOfAll();
  info.contiguity.insert(info.contiguity.begin() + axis, 1);
  info.constancy.insert(info.constancy.begin() + axis, 1);
  info.divisibility.insert(info.divisibility.begin() + axis, all);
  info.run.insert(info.run.begin() + axis, 1);
  info.stride.insert(info.stride.begin() + axis, 0);
  return info;
}

static AxisInfo ofBroadcast(const Transfer &t) {
  AxisInfo info = t.in[0];
  Extents from = shapeOf(t.op->getOperand(0).getType()), to = t.shape();
  for (size_t dim = 0; dim < to.size(); ++dim)
    if (from[dim] != to[dim]) info.constancy[dim] = to[dim];
  return info;
}

static AxisInfo ofTrans(const Transfer &t) {
  AxisInfo info = t.in[0];
  for (auto [dim, from] : llvm::enumerate(cast<tt::TransOp>(t.op).getOrder())) {
    info.contiguity[dim] = t.in[0].contiguity[static_cast<size_t>(from)];
    info.divisibility[dim] = t.in[0].divisibility[static_cast<size_t>(from)];
    info.constancy[dim] = t.in[0].constancy[static_cast<size_t>(from)];
    setRun(info, dim, t.in[0].run[static_cast<size_t>(from)], t.in[0].stride[static_cast<size_t>(from)]);
  }
  return info;
}

/// Rows stay contiguous as far as both shapes contain them.
static AxisInfo ofReshape(const Transfer &t) {
  const AxisInfo &source = t.in[0];
  AxisInfo info = unknown(t.type);
  info.divisibility.assign(info.rank(), source.divisibilityOfAll());
  info.constant = source.constant;
  if (info.rank() == 0 || source.rank() == 0) return info;
  int64_t row = t.shape().back();
  info.contiguity.back() = std::min(row, source.contiguity.back());
  info.divisibility.back() = source.divisibilityAt(source.rank() - 1, info.contiguity.back());
  info.constancy.back() = std::min(row, source.constancy.back());
  setRun(info, info.rank() - 1, std::min(row, source.run.back()), source.stride.back());
  return info;
}

static AxisInfo ofSum(const Transfer &t) {
  return t.sum(t.in[0], t.in[1], isa<arith::SubIOp>(t.op));
}

static AxisInfo ofMultiplication(const Transfer &t) {
  return t.product(t.in[0], t.in[1]);
}

/// A shift is a multiplication or a division by a power of two.
static AxisInfo ofShift(const Transfer &t) {
  std::optional<int64_t> by = t.in[1].constant;
  if (!by || *by < 0 || *by > 30) return t.elementwise();
  AxisInfo power = t.powerOfTwo(int64_t(1) << *by);
  return isa<arith::ShLIOp>(t.op) ? t.product(t.in[0], power) : t.quotient(t.in[0], power, /*floors=*/true);
}

static AxisInfo ofQuotient(const Transfer &t) {
  return t.quotient(t.in[0], t.in[1], isa<arith::DivUIOp>(t.op) || t.floors());
}

static AxisInfo ofRemainder(const Transfer &t) {
  return t.remainder(t.in[0], t.in[1], isa<arith::RemUIOp>(t.op) || t.floors());
}

/// An `and` with 2^n - 1 is a remainder.
static AxisInfo ofAnd(const Transfer &t) {
  std::optional<int64_t> mask = t.in[1].constant;
  if (mask && *mask >= 0 && *mask < INT64_MAX && llvm::isPowerOf2_64(static_cast<uint64_t>(*mask) + 1))
    return t.remainder(t.in[0], t.powerOfTwo(*mask + 1), /*floors=*/true);
  return t.elementwise([](int64_t a, int64_t b) { return std::max(a, b); });
}

/// `or`, min, max: a divisor of both operands divides the result.
static AxisInfo ofEither(const Transfer &t) {
  return t.elementwise([](int64_t a, int64_t b) { return std::min(a, b); });
}

static AxisInfo ofComparison(const Transfer &t) {
  auto compare = cast<arith::CmpIOp>(t.op);
  if (isa<tt::PointerType>(getElementTypeOrSelf(compare.getLhs()))) return t.elementwise();
  return t.comparison(compare.getPredicate(), t.in[0], t.in[1]);
}

static AxisInfo ofSelect(const Transfer &t) {
  AxisInfo info = t.elementwise();
  bool tile = isa<RankedTensorType>(cast<arith::SelectOp>(t.op).getCondition().getType());
  for (size_t dim = 0; dim < info.rank(); ++dim) {
    int64_t rising = std::min(t.in[1].contiguity[dim], t.in[2].contiguity[dim]);
    if (tile) rising = std::min(rising, t.in[0].constancy[dim]);
    info.contiguity[dim] = rising;
    info.divisibility[dim] = std::min(t.in[1].divisibilityAt(dim, rising), t.in[2].divisibilityAt(dim, rising));
  }
  return info;
}

static AxisInfo ofIntegerCast(const Transfer &t) {
  Type element = getElementTypeOrSelf(t.type);
  if (getElementTypeOrSelf(t.op->getOperand(0)).isInteger(1) || element.isInteger(1)) return t.elementwise();
  AxisInfo info = t.in[0];
  bool narrows = isa<arith::TruncIOp>(t.op);
  if (narrows || (isa<arith::ExtUIOp>(t.op) && info.constant && *info.constant < 0)) info.constant.reset();
  auto widthOf = [](Type type) { return type.isIndex() ? unsigned(IndexType::kInternalStorageBitWidth) : type.getIntOrFloatBitWidth(); };
  unsigned bits = std::min(widthOf(element), widthOf(getElementTypeOrSelf(t.op->getOperand(0))));
  if (bits >= 32) return info;
  // Narrow integers wrap around, also before an extension. An aligned group of half of their values does not.
  for (size_t dim = 0; dim < info.rank(); ++dim) {
    int64_t rising = std::min({info.contiguity[dim], int64_t(1) << (bits - 1), info.divisibility[dim]});
    info.divisibility[dim] = info.divisibilityAt(dim, rising);
    info.contiguity[dim] = rising;
    setRun(info, dim, 1, 0);
  }
  return info;
}

static AxisInfo ofPointerCast(const Transfer &t) {
  if (!isTracked(t.op->getOperand(0).getType())) return t.elementwise();
  if (t.in[0].unit == unitOf(t.type)) return t.in[0];
  AxisInfo info = t.elementwise();
  for (size_t dim = 0; dim < info.rank(); ++dim)
    info.divisibility[dim] = t.in[0].divisibilityAt(dim, 1);
  return info;
}

/// Two elements of a volatile load may differ even if they have one address.
static AxisInfo ofLoad(const Transfer &t) {
  return tt::isVolatileLoad(cast<tt::LoadOp>(t.op)) ? unknown(t.type) : t.elementwise();
}

/// True if each element of the result depends only on the operands' elements at its own position, and not on the position. The result of
/// inline assembly for a pack of elements may depend on the position in the pack. Without operands it comes from special registers.
static bool isPositionIndependent(Operation *op) {
  auto assembly = dyn_cast<tt::ElementwiseInlineAsmOp>(op);
  if (assembly && (assembly.getPackedElement() > 1 || assembly.getArgs().empty())) return false;
  return op->hasTrait<OpTrait::Elementwise>() && op->getNumRegions() == 0 && isPure(op);
}

using Rule = AxisInfo (*)(const Transfer &);

template <typename... Ops> static void addRule(DenseMap<TypeID, Rule> &table, Rule rule) {
  (table.insert({TypeID::get<Ops>(), rule}), ...);
}

/// Returns null for operations without a rule.
static Rule ruleOf(Operation *op) {
  static const DenseMap<TypeID, Rule> table = [] {
    DenseMap<TypeID, Rule> rules;
    addRule<arith::ConstantOp>(rules, ofConstant);
    addRule<tt::MakeRangeOp>(rules, ofRange);
    addRule<tt::SplatOp>(rules, ofSplat);
    addRule<tt::ExpandDimsOp>(rules, ofExpandDims);
    addRule<tt::BroadcastOp>(rules, ofBroadcast);
    addRule<tt::TransOp>(rules, ofTrans);
    addRule<tt::ReshapeOp>(rules, ofReshape);
    addRule<arith::AddIOp, arith::SubIOp, tt::AddPtrOp>(rules, ofSum);
    addRule<arith::MulIOp>(rules, ofMultiplication);
    addRule<arith::ShLIOp, arith::ShRUIOp, arith::ShRSIOp>(rules, ofShift);
    addRule<arith::DivSIOp, arith::DivUIOp>(rules, ofQuotient);
    addRule<arith::RemSIOp, arith::RemUIOp>(rules, ofRemainder);
    addRule<arith::AndIOp>(rules, ofAnd);
    addRule<arith::OrIOp, arith::XOrIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>(rules, ofEither);
    addRule<arith::CmpIOp>(rules, ofComparison);
    addRule<arith::SelectOp>(rules, ofSelect);
    addRule<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>(rules, ofIntegerCast);
    addRule<tt::PtrToIntOp, tt::IntToPtrOp, tt::BitcastOp>(rules, ofPointerCast);
    addRule<tt::LoadOp>(rules, ofLoad);
    addRule<ttg::ConvertLayoutOp>(rules, [](const Transfer &t) { return t.in[0]; });
    return rules;
  }();
  return table.lookup(op->getName().getTypeID());
}

std::optional<AxisInfo> AxisAnalysis::compute(Operation *op) {
  SmallVector<AxisInfo, 3> in;
  for (Value operand : op->getOperands()) {
    const AxisInfo *info = find(operand);
    if (!info && isTracked(operand.getType())) return std::nullopt; // not reached yet
    // A uniform float has constancy, too: a select or a load may need it.
    bool same = isa_and_present<tt::SplatOp, arith::ConstantOp>(operand.getDefiningOp());
    in.push_back(info ? *info : same ? uniform(operand.getType(), 1, std::nullopt) : unknown(operand.getType()));
  }
  Transfer transfer{op, op->getResult(0).getType(), in, indices};
  if (Rule rule = ruleOf(op)) {
    AxisInfo info = rule(transfer);
    // A constant outside its type's range wraps around before any extension.
    if (auto type = dyn_cast<IntegerType>(getElementTypeOrSelf(transfer.type)); type && info.constant && type.getWidth() < 64)
      info.constant = llvm::SignExtend64(static_cast<uint64_t>(*info.constant), type.getWidth());
    return info;
  }
  return isPositionIndependent(op) ? transfer.elementwise() : unknown(transfer.type);
}

int64_t AxisAnalysis::vectorWidth(Value pointer, Value mask, size_t dim) const {
  AxisInfo info = of(pointer);
  if (dim >= info.rank()) return 1;
  int64_t width =
      std::min({maxAccessBytes / std::min(maxAccessBytes, info.unit), info.contiguity[dim], info.divisibility[dim] / info.unit});
  if (mask) width = std::min(width, of(mask).constancy[dim]);
  return std::max<int64_t>(1, width);
}

SmallVector<int64_t> AxisAnalysis::accessWidths(tt::FuncOp function) const {
  SmallVector<int64_t> widths;
  auto add = [&](auto access) {
    auto tile = dyn_cast<RankedTensorType>(access.getPtr().getType());
    if (!tile) return;
    int64_t &widest = widths.emplace_back(1);
    for (int64_t dim = 0; dim < tile.getRank(); ++dim)
      widest = std::max(widest, vectorWidth(access.getPtr(), access.getMask(), static_cast<size_t>(dim)));
  };
  function.walk([&](tt::LoadOp load) { add(load); });
  function.walk([&](tt::StoreOp store) { add(store); });
  return widths;
}

} // namespace tilewright::gpu
