// Builtins that create tiles and change their shapes.

#include "evaluate/pointer_depth.h"
#include "frontend/builtin_emitters.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright {

using Value = tilewright::Value;

// ---- the grid

static std::optional<tt::Axis> gridAxis(Arguments &args) {
  std::optional<int64_t> axis = args.integer(0);
  if (!axis) return std::nullopt;
  if (*axis < 0 || *axis > 2) return args.emitter.ops.failAt(args.ranges[0], Diag::gridAxis, {std::to_string(*axis)});
  return static_cast<tt::Axis>(*axis);
}

Maybe emitProgramId(Emitter &e, Arguments &args) {
  std::optional<tt::Axis> axis = gridAxis(args);
  if (!axis) return std::nullopt;
  return Operand::of(tt::GetProgramIdOp::create(e.ops.b, e.ops.b.getI32Type(), *axis).getResult(), Type(Scalar::int32));
}

Maybe emitNumPrograms(Emitter &e, Arguments &args) {
  std::optional<tt::Axis> axis = gridAxis(args);
  if (!axis) return std::nullopt;
  return Operand::of(tt::GetNumProgramsOp::create(e.ops.b, e.ops.b.getI32Type(), *axis).getResult(), Type(Scalar::int32));
}

// ---- creation

Maybe emitArange(Emitter &e, Arguments &args) {
  std::optional<int64_t> start = args.integer(0), end = start ? args.integer(1) : std::nullopt;
  if (!start || !end) return std::nullopt;
  const int64_t limit = int64_t(1) << 31;
  if (*start < -limit || *end > limit - 1 || *start > limit - 1)
    return e.ops.fail(Diag::arangeRange, {std::to_string(*start), std::to_string(*end)});
  int64_t length = *end - *start;
  if (length <= 0) return e.ops.fail(Diag::arangeEmpty, {std::to_string(*start), std::to_string(*end)});
  if (!e.unit.anySize && (length & (length - 1))) {
    int64_t next = 1;
    while (next < length)
      next *= 2;
    return e.ops.fail(Diag::arangeLength, {std::to_string(length), std::to_string(next)});
  }
  if (!e.ops.checkShape({length})) return std::nullopt;
  Type type = Type::block(Type(Scalar::int32), {length});
  auto op = tt::MakeRangeOp::create(e.ops.b, e.ops.irType(type), static_cast<int32_t>(*start), static_cast<int32_t>(*end));
  return Operand::of(op.getResult(), type);
}

// Returns a number as a constant of `type`, or converts a scalar or one-element tile to `type`.
static Maybe scalarOf(Emitter &e, Arguments &args, size_t index, const Type &type) {
  if (args[index].isNumber() && type.isScalar()) {
    if (type.scalar() == Scalar::void_) return e.ops.failAt(args.ranges[index], Diag::castImpossible, {args[index].describe(), type.str()});
    if (type.scalar() == Scalar::int1) return e.ops.scalarConstant(Value::boolean(args[index].constant.truth()), Scalar::int1);
    return e.ops.scalarConstant(args[index].constant, type.scalar());
  }
  Maybe value = args.tensor(index);
  if (!value) return std::nullopt;
  if (value->isBlock() && value->type.elements() != 1) return args.typeError(index, "a scalar");
  return e.ops.cast(e.ops.item(*value), type);
}

Maybe emitFull(Emitter &e, Arguments &args) {
  std::optional<std::vector<int64_t>> shape = args.integers(0);
  std::optional<Type> type = shape ? args.type(2) : std::nullopt;
  if (!type || !e.ops.checkShape(*shape)) return std::nullopt;
  Maybe value = scalarOf(e, args, 1, *type);
  if (!value) return std::nullopt;
  return e.ops.splat(*value, *shape);
}

static Maybe zerosOf(Emitter &e, llvm::ArrayRef<int64_t> shape, const Type &type) {
  if (!e.ops.checkShape(shape)) return std::nullopt;
  if (!type.isScalar() || type.scalar() == Scalar::void_) return e.ops.fail(Diag::castImpossible, {"int32", type.str()});
  return e.ops.splat(e.ops.scalarConstant(Value::integer(0), type.scalar()), shape);
}

Maybe emitZeros(Emitter &e, Arguments &args) {
  std::optional<std::vector<int64_t>> shape = args.integers(0);
  std::optional<Type> type = shape ? args.type(1) : std::nullopt;
  return type ? zerosOf(e, *shape, *type) : std::nullopt;
}

Maybe emitZerosLike(Emitter &e, Arguments &args) {
  Maybe like = args.tensor(0);
  return like ? zerosOf(e, like->type.shape(), like->type.scalarType()) : std::nullopt;
}

Maybe emitCast(Emitter &e, Arguments &args) {
  Maybe value = args.tensor(0);
  std::optional<Type> type = value ? args.type(1) : std::nullopt;
  std::optional<std::string> rounding = type ? args.string(2) : std::nullopt;
  std::optional<bool> bits = rounding ? args.boolean(3) : std::nullopt;
  if (!bits) return std::nullopt;
  return *bits ? e.ops.bitcast(*value, *type) : e.ops.castRounded(*value, *type, *rounding);
}

Maybe emitConvertFloat8(Emitter &e, Arguments &args) {
  Maybe value = args.tensor(0);
  std::optional<Type> type = value ? args.type(1) : std::nullopt;
  std::optional<std::string> rounding = type ? args.string(2) : std::nullopt;
  return rounding ? e.ops.castRounded(*value, *type, *rounding) : std::nullopt;
}

Maybe emitToTensor(Emitter &e, Arguments &args) {
  return args.tensor(0);
}

Maybe emitConstexpr(Emitter &e, Arguments &args) {
  std::optional<Value> value = args.constant(0);
  if (!value) return std::nullopt;
  return Operand::of(*value);
}

Maybe emitTuple(Emitter &e, Arguments &args) {
  if (!args[0].isTuple()) return args.typeError(0, "a tuple");
  return args[0];
}

Maybe emitDtype(Emitter &e, Arguments &args) {
  std::optional<Type> type = args.type(0);
  if (!type) return std::nullopt;
  return Operand::of(Value::type(*type));
}

Maybe emitConstexprType(Emitter &e, Arguments &args) {
  std::optional<Value> value = args.constant(0);
  if (!value) return std::nullopt;
  return Operand::of(Value::type(Type::ofConstant(value->repr())));
}

Maybe emitTupleType(Emitter &e, Arguments &args) {
  std::vector<std::string> types;
  std::vector<Operand> items = *args.list(0);
  for (const Operand &item : items) {
    const Type *type = item.isConstant() ? item.constant.asType() : nullptr;
    if (!type) return args.typeError(0, "types");
    types.push_back(type->str());
  }
  return Operand::of(Value::type(Type::ofTuple(types)));
}

Maybe emitPointerType(Emitter &e, Arguments &args) {
  std::optional<Type> element = args.type(0);
  std::optional<int64_t> space = element ? args.integer(1) : std::nullopt;
  std::optional<bool> isConst = space ? args.boolean(2) : std::nullopt;
  if (!isConst) return std::nullopt;
  if (pointerDepth(*element) >= maxPointerDepth)
    return args.typeError(0, "a type of at most " + std::to_string(maxPointerDepth) + " levels of pointers");
  return Operand::of(Value::type(Type::pointer(*element, *isConst, *space)));
}

Maybe emitBlockType(Emitter &e, Arguments &args) {
  std::optional<Type> element = args.type(0);
  std::optional<std::vector<int64_t>> shape = element ? args.integers(1) : std::nullopt;
  if (!shape || !e.ops.checkShape(*shape)) return std::nullopt;
  return Operand::of(Value::type(Type::block(*element, *shape)));
}

// ---- shape

Maybe emitBroadcast(Emitter &e, Arguments &args) {
  Maybe x = args.tensor(0), y = x ? args.tensor(1) : std::nullopt;
  if (!y || !e.ops.broadcast(*x, *y)) return std::nullopt;
  return Operand::tuple({*x, *y});
}

Maybe emitBroadcastTo(Emitter &e, Arguments &args) {
  Maybe x = args.tensor(0);
  std::optional<std::vector<int64_t>> shape = x ? args.integers(1) : std::nullopt;
  if (!shape || !e.ops.checkShape(*shape)) return std::nullopt;
  return e.ops.broadcastTo(*x, *shape);
}

static std::optional<int64_t> wrapAxis(Arguments &args, size_t index, int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    return args.emitter.ops.failAt(args.ranges[index], Diag::axisRange, {std::to_string(axis), std::to_string(rank)});
  return axis < 0 ? axis + rank : axis;
}

Maybe emitExpandDims(Emitter &e, Arguments &args) {
  Maybe x = args.tensor(0);
  std::optional<std::vector<int64_t>> axes = x ? args.integers(1) : std::nullopt;
  if (!axes) return std::nullopt;
  int64_t rank = static_cast<int64_t>(x->type.shape().size() + axes->size());
  for (int64_t &axis : *axes) {
    std::optional<int64_t> wrapped = wrapAxis(args, 1, axis, rank);
    if (!wrapped) return std::nullopt;
    axis = *wrapped;
  }
  std::sort(axes->begin(), axes->end());
  if (std::adjacent_find(axes->begin(), axes->end()) != axes->end())
    return e.ops.failAt(args.ranges[1], Diag::duplicateAxes,
                        {"[" + llvm::join(llvm::map_range(*axes, [](int64_t axis) { return std::to_string(axis); }), ", ") + "]"});
  Operand result = *x;
  for (int64_t axis : *axes)
    result = e.ops.expandDims(result, axis);
  return result;
}

Maybe emitUnsqueeze(Emitter &e, Arguments &args) {
  return emitExpandDims(e, args);
}

Maybe emitSqueeze(Emitter &e, Arguments &args) {
  Maybe x = args.tile(0);
  std::optional<int64_t> axis = x ? args.integer(1) : std::nullopt;
  if (axis) axis = wrapAxis(args, 1, *axis, static_cast<int64_t>(x->type.shape().size()));
  if (!axis) return std::nullopt;
  llvm::SmallVector<int64_t> shape(x->type.shape());
  if (shape[*axis] != 1) return args.typeError(1, "a dimension of size 1");
  shape.erase(shape.begin() + *axis);
  return shape.empty() ? e.ops.item(*x) : e.ops.reshape(*x, shape, false);
}

static Maybe reshaped(Emitter &e, Arguments &args, const Operand &x, llvm::ArrayRef<int64_t> shape, bool reorder) {
  if (!e.ops.checkShape(shape)) return std::nullopt;
  int64_t elements = 1;
  for (int64_t size : shape)
    elements *= size;
  if (elements != x.type.elements())
    return e.ops.fail(Diag::reshapeElements, {x.describe(), std::to_string(x.type.elements()), std::to_string(elements)});
  if (shape.empty()) return e.ops.item(x);
  return e.ops.reshape(x, shape, reorder);
}

Maybe emitReshape(Emitter &e, Arguments &args) {
  Maybe x = args.tensor(0);
  std::optional<std::vector<int64_t>> shape = x ? args.integers(1) : std::nullopt;
  std::optional<bool> reorder = shape ? args.boolean(2) : std::nullopt;
  return reorder ? reshaped(e, args, *x, *shape, *reorder) : std::nullopt;
}

Maybe emitView(Emitter &e, Arguments &args) {
  Maybe x = args.tensor(0);
  std::optional<std::vector<int64_t>> shape = x ? args.integers(1) : std::nullopt;
  return shape ? reshaped(e, args, *x, *shape, true) : std::nullopt;
}

Maybe emitRavel(Emitter &e, Arguments &args) {
  Maybe x = args.tensor(0);
  std::optional<bool> reorder = x ? args.boolean(1) : std::nullopt;
  return reorder ? reshaped(e, args, *x, {x->type.elements()}, *reorder) : std::nullopt;
}

static Maybe permuted(Emitter &e, Arguments &args, const Operand &x, llvm::ArrayRef<int64_t> order) {
  llvm::ArrayRef<int64_t> from = x.type.shape();
  llvm::SmallVector<int64_t> shape;
  llvm::SmallVector<int32_t> dims;
  std::vector<bool> seen(from.size());
  for (int64_t dim : order) {
    if (dim < 0) dim += static_cast<int64_t>(from.size());
    if (order.size() != from.size() || dim < 0 || dim >= static_cast<int64_t>(from.size()) || seen[dim])
      return args.typeError(1, "each dimension of " + x.describe() + " once");
    seen[dim] = true;
    dims.push_back(static_cast<int32_t>(dim));
    shape.push_back(from[dim]);
  }
  Type type = Type::block(x.type.element(), shape);
  return Operand::of(tt::TransOp::create(e.ops.b, e.ops.irType(type), x.handle, dims).getResult(), type);
}

Maybe emitTrans(Emitter &e, Arguments &args) {
  Maybe x = args.tile(0);
  std::optional<std::vector<int64_t>> order = x ? args.integers(1) : std::nullopt;
  if (!order) return std::nullopt;
  if (order->empty()) {
    if (x->type.shape().size() < 2) return e.ops.failAt(args.ranges[0], Diag::transposeRank, {x->describe()});
    for (int64_t i = 0; i < static_cast<int64_t>(x->type.shape().size()); ++i)
      order->push_back(i);
    std::swap((*order)[order->size() - 1], (*order)[order->size() - 2]);
  }
  return permuted(e, args, *x, *order);
}

Maybe emitPermute(Emitter &e, Arguments &args) {
  Maybe x = args.tile(0);
  std::optional<std::vector<int64_t>> order = x ? args.integers(1) : std::nullopt;
  return order ? permuted(e, args, *x, *order) : std::nullopt;
}

// Concatenates two tiles: joins them along a new dimension before `dim`, then merges the two dimensions.
static Operand concatenated(Emitter &e, const Operand &x, const Operand &y, int64_t dim) {
  llvm::SmallVector<int64_t> pairs(x.type.shape()), permuted, result(x.type.shape());
  pairs.push_back(2);
  result[dim] *= 2;
  llvm::SmallVector<int32_t> order;
  auto last = static_cast<int32_t>(pairs.size() - 1);
  for (int32_t i = 0; i < last; ++i) {
    if (i == dim) order.push_back(last);
    order.push_back(i);
  }
  for (int32_t i : order)
    permuted.push_back(pairs[static_cast<size_t>(i)]);
  Type joined = Type::block(x.type.element(), pairs), moved = Type::block(x.type.element(), permuted);
  mlir::Value pair = tt::JoinOp::create(e.ops.b, e.ops.irType(joined), x.handle, y.handle);
  mlir::Value trans = tt::TransOp::create(e.ops.b, e.ops.irType(moved), pair, order);
  return e.ops.reshape(Operand::of(trans, moved), result, false);
}

Maybe emitCat(Emitter &e, Arguments &args) {
  Maybe x = args.tile(0), y = x ? args.tile(1) : std::nullopt;
  std::optional<int64_t> dim = y ? args.integer(3) : std::nullopt;
  if (dim) dim = wrapAxis(args, 3, *dim, static_cast<int64_t>(x->type.shape().size()));
  if (!dim) return std::nullopt;
  if (x->type != y->type) return e.ops.fail(Diag::operandTypes, {"cat", x->describe(), y->describe()});
  llvm::SmallVector<int64_t> shape(x->type.shape());
  shape[static_cast<size_t>(*dim)] *= 2;
  if (!e.ops.checkShape(shape)) return std::nullopt;
  if (shape.size() > 1) return concatenated(e, *x, *y, *dim);
  Type type = Type::block(x->type.element(), shape);
  return Operand::of(tt::CatOp::create(e.ops.b, e.ops.irType(type), x->handle, y->handle).getResult(), type);
}

Maybe emitJoin(Emitter &e, Arguments &args) {
  Maybe x = args.tensor(0), y = x ? args.tensor(1) : std::nullopt;
  if (!y || !e.ops.broadcast(*x, *y)) return std::nullopt;
  if (x->type.scalarType() != y->type.scalarType()) return e.ops.fail(Diag::operandTypes, {"join", x->describe(), y->describe()});
  bool scalars = !x->isBlock(); // joined as tiles of one element
  if (scalars) {
    x = e.ops.expandDims(*x, 0);
    y = e.ops.expandDims(*y, 0);
  }
  llvm::SmallVector<int64_t> shape(x->type.shape());
  shape.push_back(2);
  if (!e.ops.checkShape(shape)) return std::nullopt;
  Type type = Type::block(x->type.element(), shape);
  Operand result = Operand::of(tt::JoinOp::create(e.ops.b, e.ops.irType(type), x->handle, y->handle).getResult(), type);
  return scalars ? e.ops.reshape(result, {2}, false) : result;
}

Maybe emitSplit(Emitter &e, Arguments &args) {
  Maybe x = args.tile(0);
  if (!x) return std::nullopt;
  if (x->type.shape().back() != 2) return e.ops.failAt(args.ranges[0], Diag::splitShape, {x->describe()});
  bool scalars = x->type.shape().size() == 1;
  if (scalars) x = e.ops.expandDims(*x, 0);
  Type type = Type::block(x->type.element(), x->type.shape().drop_back());
  mlir::Type ir = e.ops.irType(type);
  auto op = tt::SplitOp::create(e.ops.b, ir, ir, x->handle);
  Operand left = Operand::of(op.getOutLHS(), type), right = Operand::of(op.getOutRHS(), type);
  if (scalars) return Operand::tuple({e.ops.item(left), e.ops.item(right)});
  return Operand::tuple({left, right});
}

Maybe emitItem(Emitter &e, Arguments &args) {
  Maybe x = args.tensor(0);
  if (!x) return std::nullopt;
  if (x->type.elements() != 1) return args.typeError(0, "a tile of one element");
  return e.ops.item(*x);
}

} // namespace tilewright
