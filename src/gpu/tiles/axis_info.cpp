// Facts only get weaker while the function is walked again and again, from "not reached" on, until nothing changes: a loop-carried scalar
// is first what it starts with, then what it starts with or was stepped to.
//   %d = scf.for iter_args(%d = 0) { yield %d + 128 }      0: divisible by 2^30, then 0 or 128: by 128, then 0 or 256 ...: by 128
#include "gpu/tiles/axis_info.h"

#include "gpu/tiles/ttg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::gpu {

constexpr int64_t most = int64_t(1) << 30; // "any power of two": products of two stay in range
constexpr int deepestSign = 48;

static int64_t powerIn(int64_t value) {
  return value == 0 ? most : std::min(most, value & -value);
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
  info.unit = unitOf(type);
  return info;
}

/// The same scalar everywhere.
static AxisInfo uniform(Type type, int64_t divisibility, std::optional<int64_t> constant) {
  AxisInfo info = unknown(type);
  Extents shape = shapeOf(type);
  info.constancy.assign(shape.begin(), shape.end());
  info.divisibility.assign(info.rank(), divisibility);
  info.constant = constant;
  return info;
}

int64_t AxisInfo::divisibilityOfAll() const {
  int64_t all = 1;
  for (size_t dim = 0; dim < rank(); ++dim)
    all = std::max(all, divisibilityAt(dim, 1));
  return all;
}

//===------------------------------------------------------------------------------------------------------------ lattice

AxisAnalysis::AxisAnalysis(tt::FuncOp function) : refuted(ttg::refutedFacts(function)), indices(function, refuted) {
  for (BlockArgument argument : function.getBody().getArguments()) {
    if (!isTracked(argument.getType())) continue;
    auto known = function.getArgAttrOfType<IntegerAttr>(argument.getArgNumber(), tt::divisibilityName);
    infos[argument] = uniform(argument.getType(), known ? powerIn(known.getInt()) : 1, std::nullopt);
  }
  do {
    changed = false;
    function.getBody().walk<WalkOrder::PreOrder>([&](Operation *op) { visit(op); });
  } while (changed);
  ttg::relyOn(function, indices.facts());
}

const AxisInfo *AxisAnalysis::find(Value value) const {
  auto found = infos.find(value);
  return found == infos.end() ? nullptr : &found->second;
}

AxisInfo AxisAnalysis::of(Value value) const {
  const AxisInfo *info = find(value);
  return info ? *info : unknown(value.getType());
}

void AxisAnalysis::meet(Value value, const AxisInfo &info) {
  auto [place, isNew] = infos.try_emplace(value, info);
  if (isNew) {
    changed = true;
    return;
  }
  AxisInfo &old = place->second, both = old;
  for (size_t dim = 0; dim < old.rank(); ++dim) {
    int64_t contiguity = std::min(old.contiguity[dim], info.contiguity[dim]);
    both.contiguity[dim] = contiguity;
    both.divisibility[dim] = std::min(old.divisibilityAt(dim, contiguity), info.divisibilityAt(dim, contiguity));
    both.constancy[dim] = std::min(old.constancy[dim], info.constancy[dim]);
  }
  if (old.constant != info.constant) both.constant.reset();
  if (both == old) return;
  old = both;
  changed = true;
}

void AxisAnalysis::meet(Value value, Value source) {
  if (!isTracked(value.getType())) return;
  if (const AxisInfo *info = find(source)) meet(value, AxisInfo(*info));
}

void AxisAnalysis::visit(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    const AxisInfo *from = find(loop.getLowerBound()), *step = find(loop.getStep());
    if (from && step)
      meet(loop.getInductionVar(),
           uniform(loop.getInductionVar().getType(), std::min(from->divisibility[0], step->divisibility[0]), std::nullopt));
    for (auto [init, argument, yielded, result] :
         llvm::zip(loop.getInitArgs(), loop.getRegionIterArgs(), loop.getYieldedValues(), loop.getResults())) {
      for (Value source : {Value(init), Value(yielded)}) {
        meet(argument, source);
        meet(result, source);
      }
    }
    return;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    for (auto [argument, init, yielded] : llvm::zip(loop.getBeforeArguments(), loop.getInits(), loop.getYieldOp()->getOperands())) {
      meet(argument, init);
      meet(argument, yielded);
    }
    for (auto [argument, result, passed] : llvm::zip(loop.getAfterArguments(), loop.getResults(), loop.getConditionOp().getArgs())) {
      meet(argument, passed);
      meet(result, passed);
    }
    return;
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    for (Region *region : {&branch.getThenRegion(), &branch.getElseRegion()})
      if (!region->empty() && branch.getNumResults())
        for (auto [result, yielded] : llvm::zip(branch.getResults(), region->front().getTerminator()->getOperands()))
          meet(result, yielded);
    return;
  }
  // The regions of other operations work on scalars of which nothing is known.
  for (Region &region : op->getRegions())
    for (Block &block : region)
      for (Value argument : block.getArguments())
        if (isTracked(argument.getType())) meet(argument, unknown(argument.getType()));
  for (Value result : op->getResults()) {
    if (!isTracked(result.getType())) continue;
    std::optional<AxisInfo> info = op->getNumResults() == 1 ? compute(op) : unknown(result.getType());
    if (!info) continue;
    // What the user promises.
    auto promise = [&](StringRef name, SmallVector<int64_t, 2> &numbers) {
      auto hint = op->getAttrOfType<DenseIntElementsAttr>(name);
      if (!hint || hint.getNumElements() != static_cast<int64_t>(numbers.size())) return;
      Extents shape = shapeOf(result.getType());
      for (auto [dim, value] : llvm::enumerate(hint.getValues<APInt>())) {
        int64_t promised = powerIn(value.getSExtValue());
        if (name != tt::divisibilityName) promised = std::min(promised, shape[dim]);
        numbers[dim] = std::max(numbers[dim], promised);
      }
    };
    promise(tt::contiguityName, info->contiguity);
    promise(tt::divisibilityName, info->divisibility);
    promise(tt::constancyName, info->constancy);
    meet(result, *info);
  }
}

//===------------------------------------------------------------------------------------------------------------- signs

bool AxisAnalysis::mayBeNegative(Value value, int depth) {
  if (depth > deepestSign) return true;
  if (indices.assumeNonNegativeElements(value)) return false;
  Operation *op = value.getDefiningOp();
  if (!op) return true;
  auto maySource = [&](unsigned operand) { return mayBeNegative(op->getOperand(operand), depth + 1); };
  return llvm::TypeSwitch<Operation *, bool>(op)
      .Case<tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp, tt::ReshapeOp, tt::TransOp, arith::ExtSIOp, arith::RemSIOp, arith::ShRSIOp>(
          [&](auto) { return maySource(0); })
      .Case<arith::DivSIOp, arith::MinSIOp>([&](auto) { return maySource(0) || maySource(1); })
      .Case<arith::MaxSIOp, arith::AndIOp>([&](auto) { return maySource(0) && maySource(1); })
      .Case<arith::SelectOp>([&](auto) { return maySource(1) || maySource(2); })
      .Default([](Operation *) { return true; });
}

//===----------------------------------------------------------------------------------------------------------- transfer

namespace {
/// What an operation makes of the facts about its operands; `dim` by `dim`, since dimensions do not see one another.
struct Transfer {
  Type type;

  AxisInfo sum(const AxisInfo &a, const AxisInfo &b, bool minus) const {
    AxisInfo info = unknown(type);
    int64_t scale = info.unit; // tt.addptr counts elements
    for (size_t dim = 0; dim < info.rank(); ++dim) {
      int64_t rising = std::min(a.contiguity[dim], b.constancy[dim]);
      if (!minus) rising = std::max(rising, std::min(a.constancy[dim], b.contiguity[dim]));
      info.contiguity[dim] = rising;
      info.divisibility[dim] = std::min(a.divisibilityAt(dim, rising), std::min(most, b.divisibilityAt(dim, rising) * scale));
      info.constancy[dim] = std::min(a.constancy[dim], b.constancy[dim]);
    }
    if (a.constant && b.constant && !isa<tt::PointerType>(getElementTypeOrSelf(type)))
      info.constant = minus ? *a.constant - *b.constant : *a.constant + *b.constant;
    return info;
  }

  AxisInfo product(const AxisInfo &a, const AxisInfo &b) const {
    if (a.constant == 1) return b;
    if (b.constant == 1) return a;
    AxisInfo info = unknown(type);
    for (size_t dim = 0; dim < info.rank(); ++dim) {
      info.divisibility[dim] = std::min(most, a.divisibilityAt(dim, 1) * b.divisibilityAt(dim, 1));
      info.constancy[dim] = std::min(a.constancy[dim], b.constancy[dim]);
    }
    return info;
  }

  /// Groups of this size start at a multiple of themselves, and `by` is one multiple of the size for all of a group.
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

  /// `index < bound`: where groups of n start at multiples of n and n divides the bound, a group is wholly inside or outside.
  AxisInfo comparison(arith::CmpIPredicate predicate, const AxisInfo &a, const AxisInfo &b) const {
    using P = arith::CmpIPredicate;
    bool left = llvm::is_contained({P::slt, P::ult, P::sge, P::uge}, predicate); // the left side may move
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

static std::optional<int64_t> shiftOf(const AxisInfo &by) {
  if (!by.constant || *by.constant < 0 || *by.constant > 30) return std::nullopt;
  return *by.constant;
}

std::optional<AxisInfo> AxisAnalysis::compute(Operation *op) {
  Type type = op->getResult(0).getType();
  Transfer transfer{type};
  SmallVector<AxisInfo, 3> in;
  for (Value operand : op->getOperands()) {
    if (!isTracked(operand.getType())) {
      in.push_back(unknown(operand.getType()));
      // The same float everywhere is a constancy, too: a select or a load may ask.
      if (isa_and_present<tt::SplatOp, arith::ConstantOp>(operand.getDefiningOp())) in.back() = uniform(operand.getType(), 1, std::nullopt);
      continue;
    }
    const AxisInfo *info = find(operand);
    if (!info) return std::nullopt;
    in.push_back(*info);
  }
  size_t rank = shapeOf(type).size();
  // Equal elements give equal elements.
  auto elementwise = [&]() {
    AxisInfo info = unknown(type);
    for (size_t dim = 0; dim < rank; ++dim) {
      info.constancy[dim] = shapeOf(type)[dim];
      for (auto [operand, from] : llvm::zip(op->getOperands(), in))
        if (isa<RankedTensorType>(operand.getType())) info.constancy[dim] = std::min(info.constancy[dim], from.constancy[dim]);
    }
    return info;
  };
  // Truncation towards zero cuts groups below zero in another way. Nothing is taken for granted where there are no groups.
  auto floors = [&] {
    bool grouped = false;
    for (size_t dim = 0; dim < rank; ++dim)
      grouped |= Transfer::groupWithin(in[0], in[1], dim) > 1;
    return grouped && !mayBeNegative(op->getOperand(0), 0);
  };
  return llvm::TypeSwitch<Operation *, AxisInfo>(op)
      .Case([&](arith::ConstantOp constant) {
        Attribute value = constant.getValue();
        if (auto dense = dyn_cast<DenseElementsAttr>(value)) {
          if (!dense.isSplat()) return unknown(type);
          value = dense.getSplatValue<Attribute>();
        }
        auto number = dyn_cast<IntegerAttr>(value);
        if (!number) return uniform(type, 1, std::nullopt);
        int64_t known = number.getValue().getSExtValue();
        return uniform(type, powerIn(known), known);
      })
      .Case([&](tt::MakeRangeOp range) {
        AxisInfo info = unknown(type);
        info.contiguity[0] = shapeOf(type)[0];
        info.divisibility[0] = powerIn(range.getStart());
        return info;
      })
      .Case([&](tt::SplatOp) { return uniform(type, in[0].divisibility[0], in[0].constant); })
      .Case([&](tt::ExpandDimsOp expand) {
        AxisInfo info = in[0];
        int64_t all = info.divisibilityOfAll();
        info.contiguity.insert(info.contiguity.begin() + expand.getAxis(), 1);
        info.constancy.insert(info.constancy.begin() + expand.getAxis(), 1);
        info.divisibility.insert(info.divisibility.begin() + expand.getAxis(), all);
        return info;
      })
      .Case([&](tt::BroadcastOp broadcast) {
        AxisInfo info = in[0];
        Extents from = shapeOf(broadcast.getSrc().getType()), to = shapeOf(type);
        for (size_t dim = 0; dim < rank; ++dim)
          if (from[dim] != to[dim]) info.constancy[dim] = to[dim];
        return info;
      })
      .Case([&](tt::TransOp trans) {
        AxisInfo info = in[0];
        for (auto [dim, from] : llvm::enumerate(trans.getOrder())) {
          info.contiguity[dim] = in[0].contiguity[static_cast<size_t>(from)];
          info.divisibility[dim] = in[0].divisibility[static_cast<size_t>(from)];
          info.constancy[dim] = in[0].constancy[static_cast<size_t>(from)];
        }
        return info;
      })
      .Case([&](tt::ReshapeOp reshape) {
        // Rows stay rows as far as both shapes have them.
        AxisInfo info = unknown(type);
        info.divisibility.assign(rank, in[0].divisibilityOfAll());
        info.constant = in[0].constant;
        if (rank == 0 || in[0].rank() == 0) return info;
        int64_t row = shapeOf(type).back();
        info.contiguity.back() = std::min(row, in[0].contiguity.back());
        info.divisibility.back() = in[0].divisibilityAt(in[0].rank() - 1, info.contiguity.back());
        info.constancy.back() = std::min(row, in[0].constancy.back());
        return info;
      })
      .Case<arith::AddIOp, tt::AddPtrOp>([&](auto) { return transfer.sum(in[0], in[1], false); })
      .Case([&](arith::SubIOp) { return transfer.sum(in[0], in[1], true); })
      .Case([&](arith::MulIOp) { return transfer.product(in[0], in[1]); })
      .Case([&](arith::ShLIOp) {
        std::optional<int64_t> by = shiftOf(in[1]);
        return by ? transfer.product(in[0], uniform(type, int64_t(1) << *by, int64_t(1) << *by)) : elementwise();
      })
      .Case<arith::ShRUIOp, arith::ShRSIOp>([&](auto) {
        std::optional<int64_t> by = shiftOf(in[1]);
        return by ? transfer.quotient(in[0], uniform(type, int64_t(1) << *by, int64_t(1) << *by), true) : elementwise();
      })
      .Case([&](arith::DivSIOp) { return transfer.quotient(in[0], in[1], floors()); })
      .Case([&](arith::RemSIOp) { return transfer.remainder(in[0], in[1], floors()); })
      .Case([&](arith::DivUIOp) { return transfer.quotient(in[0], in[1], true); })
      .Case([&](arith::RemUIOp) { return transfer.remainder(in[0], in[1], true); })
      .Case([&](arith::AndIOp) {
        if (in[1].constant && *in[1].constant >= 0 && llvm::isPowerOf2_64(static_cast<uint64_t>(*in[1].constant) + 1)) {
          int64_t bound = *in[1].constant + 1;
          return transfer.remainder(in[0], uniform(type, std::min(most, bound), bound), true);
        }
        AxisInfo info = elementwise();
        for (size_t dim = 0; dim < rank; ++dim)
          info.divisibility[dim] = std::max(in[0].divisibilityAt(dim, 1), in[1].divisibilityAt(dim, 1));
        return info;
      })
      .Case<arith::OrIOp, arith::XOrIOp, arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp, arith::MaxUIOp>([&](auto) {
        AxisInfo info = elementwise();
        for (size_t dim = 0; dim < rank; ++dim)
          info.divisibility[dim] = std::min(in[0].divisibilityAt(dim, 1), in[1].divisibilityAt(dim, 1));
        return info;
      })
      .Case([&](arith::CmpIOp compare) {
        if (isa<tt::PointerType>(getElementTypeOrSelf(compare.getLhs()))) return elementwise();
        return transfer.comparison(compare.getPredicate(), in[0], in[1]);
      })
      .Case([&](arith::SelectOp select) {
        AxisInfo info = elementwise();
        bool tile = isa<RankedTensorType>(select.getCondition().getType());
        for (size_t dim = 0; dim < rank; ++dim) {
          int64_t rising = std::min(in[1].contiguity[dim], in[2].contiguity[dim]);
          if (tile) rising = std::min(rising, in[0].constancy[dim]);
          info.contiguity[dim] = rising;
          info.divisibility[dim] = std::min(in[1].divisibilityAt(dim, rising), in[2].divisibilityAt(dim, rising));
        }
        return info;
      })
      .Case<arith::ExtSIOp, arith::ExtUIOp, arith::TruncIOp, arith::IndexCastOp, arith::IndexCastUIOp>([&](auto) {
        bool isBool = getElementTypeOrSelf(op->getOperand(0)).isInteger(1) || getElementTypeOrSelf(type).isInteger(1);
        if (isBool) return elementwise();
        AxisInfo info = in[0];
        if (isa<arith::TruncIOp>(op) || (isa<arith::ExtUIOp>(op) && info.constant && *info.constant < 0)) info.constant.reset();
        // Half of the narrow type's numbers rise before they wrap around.
        if (isa<arith::TruncIOp>(op) && getElementTypeOrSelf(type).getIntOrFloatBitWidth() < 32)
          for (size_t dim = 0; dim < rank; ++dim) {
            int64_t rising = std::min(info.contiguity[dim], int64_t(1) << (getElementTypeOrSelf(type).getIntOrFloatBitWidth() - 1));
            info.divisibility[dim] = info.divisibilityAt(dim, rising);
            info.contiguity[dim] = rising;
          }
        return info;
      })
      .Case<tt::PtrToIntOp, tt::IntToPtrOp, tt::BitcastOp>([&](auto) {
        if (!isTracked(op->getOperand(0).getType())) return elementwise();
        if (in[0].unit == unitOf(type)) return in[0];
        AxisInfo info = elementwise();
        for (size_t dim = 0; dim < rank; ++dim)
          info.divisibility[dim] = in[0].divisibilityAt(dim, 1);
        return info;
      })
      .Case([&](tt::LoadOp) { return elementwise(); })
      .Default([&](Operation *other) {
        bool same = other->hasTrait<OpTrait::Elementwise>() && other->getNumRegions() == 0 && isPure(other);
        return same ? elementwise() : unknown(type);
      });
}

int64_t AxisAnalysis::vectorWidth(Value pointer, Value mask, size_t dim) const {
  AxisInfo info = of(pointer);
  if (dim >= info.rank()) return 1;
  int64_t width = std::min({16 / std::min<int64_t>(16, info.unit), info.contiguity[dim], info.divisibility[dim] / info.unit});
  if (mask) width = std::min(width, of(mask).constancy[dim]);
  return std::max<int64_t>(1, width);
}

} // namespace tilewright::gpu
