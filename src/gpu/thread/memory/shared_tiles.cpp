// Loads and stores of tiles in shared memory, and their copies by cp.async. A buffer's value is the address of its first byte. The type
// says where each element is, so that every access is one address per thread plus constants:
//   ttg.load_shared %buffer : !ttg.buffer<1 x f16, #ttg.shared<128x64, ...>> -> tensor<128x64xf16, #operand>
//   -> offset = XOR over the bits of lane and warp; ldmatrix.x4 [buffer + offset], ldmatrix.x4 [buffer + offset + 2048], ...
#include "gpu/layout/verify_plan.h"
#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/thread/lowering_table.h"
#include "gpu/thread/memory/memory.h"
#include "gpu/thread/memory/shared.h"
#include "ir/refusal.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;

namespace tilewright::gpu {

namespace {
/// Addresses of a thread in a tile in shared memory: a few registers with addresses, plus constants. `zero`: as in shared.h.
class ThreadAddresses {
public:
  ThreadAddresses(ThreadContext &t, Value base, const std::vector<uint32_t> &lanes, const std::vector<uint32_t> &warps, Value zero)
      : t(t), base(base) {
    inTile = arith::XOrIOp::create(t.b, xorBases(t, t.threads.lane, lanes), xorBases(t, t.threads.warp, warps));
    if (zero) inTile = arith::AddIOp::create(t.b, inTile, zero);
  }

  Value withXor(uint32_t xored) {
    Value &address = addresses[xored];
    if (!address) {
      Value offset = xored ? Value(arith::XOrIOp::create(t.b, inTile, t.i32(xored))) : inTile;
      address = arith::AddIOp::create(t.b, base, offset);
    }
    return address;
  }

private:
  ThreadContext &t;
  Value base, inTile;
  llvm::DenseMap<uint32_t, Value> addresses;
};

/// Addresses of a thread's registers.
class SharedAddresses {
public:
  SharedAddresses(ThreadContext &t, Value base, const Layout &layout, const SharedLayout &shared, Value zero)
      : offsets(offsetBases(layout, shared)), additive(splitAdd(offsets)),
        addresses(t, base, offsets[static_cast<size_t>(Axis::lane)], offsets[static_cast<size_t>(Axis::warp)], zero) {}

  std::pair<Value, uint32_t> of(int64_t reg) {
    const std::vector<uint32_t> &registers = offsets[static_cast<size_t>(Axis::reg)];
    uint32_t added = 0, xored = 0;
    for (size_t bit = 0; bit < registers.size(); ++bit)
      if (reg >> bit & 1) (additive >> bit & 1 ? added : xored) ^= registers[bit];
    return {addresses.withXor(xored), added};
  }

private:
  OffsetBases offsets;
  uint64_t additive;
  ThreadAddresses addresses;
};

/// Addresses of matrix instructions. Bits of an offset that no lane and no warp sets are added, so that instructions share registers.
class MatrixAddresses {
public:
  MatrixAddresses(ThreadContext &t, Value base, const MatrixPlan &plan, Value zero)
      : t(t), addresses(t, base, {plan.laneOffsets.begin(), plan.laneOffsets.end()}, plan.warpOffsets, zero) {
    for (uint32_t offset : llvm::concat<const uint32_t>(plan.laneOffsets, plan.warpOffsets))
      ofThreads |= offset;
  }

  Value of(uint32_t offset) {
    Value address = addresses.withXor(offset & ofThreads);
    uint32_t added = offset & ~ofThreads;
    return added ? Value(arith::AddIOp::create(t.b, address, t.i32(added))) : address;
  }

private:
  ThreadContext &t;
  ThreadAddresses addresses;
  uint32_t ofThreads = 0;
};
} // namespace

/// Verifies the plan of an access to a buffer, and reports an error on `op` if it is invalid.
template <typename Plan>
static LogicalResult prove(Operation *op, const SharedLayout &shared, const Layout &layout, const Plan &plan,
                           std::optional<std::string> (*verify)(const Plan &, const Layout &, const SharedLayout &)) {
  std::optional<std::string> error = verifyBuffer(shared);
  if (!error) error = verify(plan, layout, shared);
  return error ? bug(op, "the plan of its access to shared memory is invalid: " + *error) : success();
}

FailureOr<ThreadValues> loadTile(ThreadContext &t, Operation *op, Value base, const Layout &layout, const SharedLayout &shared, Type type) {
  Type inMemory = memoryType(type);
  SharedAddresses addresses(t, base, layout, shared, Value());
  ThreadValues results(static_cast<size_t>(layout.registersPerThread()), Value());
  if (std::optional<MatrixPlan> matrix = matricesRead(layout, shared, type)) {
    if (failed(prove(op, shared, layout, *matrix, verifyMatrices))) return failure();
    MatrixAddresses matrices(t, base, *matrix, Value());
    for (const MatrixPlan::Instruction &instruction : matrix->instructions) {
      SmallVector<Type> words(static_cast<size_t>(matrix->matrices), t.b.getI32Type());
      auto load = ptx::LdmatrixOp::create(t.b, words, matrices.of(instruction.offset), matrix->transposed);
      for (auto [index, word] : llvm::enumerate(load.getValues()))
        for (auto [at, value] : llvm::enumerate(unpacked(t, word, type)))
          results[static_cast<size_t>(instruction.firstRegister) + index * static_cast<size_t>(matrix->perWord) + at] = value;
    }
    return results;
  }
  VectorAccess access = vectorAccess(layout, shared);
  if (failed(prove(op, shared, layout, access, verifyVectors))) return failure();
  for (const VectorAccess::Vector &vector : access.vectors) {
    if (results[static_cast<size_t>(vector.registers[0])]) continue;
    auto [address, offset] = addresses.of(vector.registers[0]);
    // At most 8 values are loaded at once: more are packed in words.
    size_t count = vector.registers.size();
    size_t perWord = count > 8 ? count / 4 : 1;
    Type word = perWord > 1 ? Type(t.b.getI32Type()) : inMemory;
    SmallVector<Type> types(count / perWord, word);
    auto load = ptx::LoadSharedOp::create(t.b, types, address, Value(), static_cast<uint32_t>(offset));
    ThreadValues values;
    for (Value value : load.getValues()) {
      if (perWord == 1)
        values.push_back(value);
      else
        llvm::append_range(values, unpacked(t, value, inMemory));
    }
    for (auto [reg, value] : llvm::zip(vector.registers, values))
      results[static_cast<size_t>(reg)] = fromMemory(t, value, type);
  }
  return results;
}

LogicalResult storeTile(ThreadContext &t, Operation *op, Value base, const Layout &layout, const SharedLayout &shared, ValueRange held,
                        bool stmatrix, Value zero) {
  Type type = held.front().getType();
  if (std::optional<MatrixPlan> matrix = matricesWritten(layout, shared, type, stmatrix)) {
    if (failed(prove(op, shared, layout, *matrix, verifyMatrices))) return failure();
    MatrixAddresses matrices(t, base, *matrix, zero);
    for (const MatrixPlan::Instruction &instruction : matrix->instructions) {
      SmallVector<Value> words;
      for (int64_t i = 0; i < matrix->matrices; ++i)
        words.push_back(packed(
            t, held.slice(static_cast<size_t>(instruction.firstRegister + i * matrix->perWord), static_cast<size_t>(matrix->perWord))));
      ptx::StmatrixOp::create(t.b, matrices.of(instruction.offset), words, matrix->transposed);
    }
    return success();
  }
  SharedAddresses addresses(t, base, layout, shared, zero);
  Value first = holdsFirstCopy(t, layout);
  VectorAccess access = vectorAccess(layout, shared);
  if (failed(prove(op, shared, layout, access, verifyVectors))) return failure();
  llvm::DenseSet<int64_t> stored;
  for (const VectorAccess::Vector &vector : access.vectors) {
    if (stored.contains(vector.registers[0])) continue;
    SmallVector<Value> values;
    for (int64_t reg : vector.registers) {
      values.push_back(toMemory(t, held[static_cast<size_t>(reg)]));
      stored.insert(reg);
    }
    if (values.size() > 8) {
      SmallVector<Value> words;
      size_t perWord = values.size() / 4;
      for (size_t i = 0; i < values.size(); i += perWord)
        words.push_back(packed(t, ValueRange(values).slice(i, perWord)));
      values = words;
    }
    auto [address, offset] = addresses.of(vector.registers[0]);
    ptx::StoreSharedOp::create(t.b, address, values, first, static_cast<uint32_t>(offset));
  }
  return success();
}

static LogicalResult lowerLoadShared(ThreadContext &t, ttg::LoadSharedOp op) {
  auto tile = cast<RankedTensorType>(op.getType());
  FailureOr<ThreadValues> loaded =
      loadTile(t, op, t.getScalar(op.getBuffer()), ttg::layoutOf(tile), sharedOf(op.getBuffer()), scalarType(tile.getElementType()));
  if (failed(loaded)) return failure();
  t.set(op.getResult(), std::move(*loaded));
  return success();
}

static LogicalResult lowerStoreShared(ThreadContext &t, ttg::StoreSharedOp op) {
  return storeTile(t, op, t.getScalar(op.getBuffer()), ttg::layoutOf(op.getSrc().getType()), sharedOf(op.getBuffer()), t.get(op.getSrc()),
                   t.kernel.target.stmatrix, op.getZero() ? t.getScalar(op.getZero()) : Value());
}

static LogicalResult lowerCopyAsync(ThreadContext &t, ttg::CopyAsyncOp op) {
  Layout layout = ttg::layoutOf(op.getPointers().getType());
  SharedLayout shared = sharedOf(op.getBuffer());
  VectorAccess access = vectorAccess(layout, shared);
  if (failed(prove(op, shared, layout, access, verifyVectors))) return failure();
  // The width is limited by contiguous elements in both memories: for pointers, `ttg.vector` registers.
  const ThreadValues &pointers = t.get(op.getPointers());
  FailureOr<size_t> width = accessWidth(op, pointers.size());
  if (failed(width)) return failure();
  int64_t elements = std::min(static_cast<int64_t>(*width), registersInOrder(access));
  int64_t bytes = elements * shared.elementBytes();
  if (bytes < 4) return bug(op, "an asynchronous copy moves 4 bytes at least");
  SharedAddresses addresses(t, t.getScalar(op.getBuffer()), layout, shared, Value());
  Value first = holdsFirstCopy(t, layout);
  for (const VectorAccess::Vector &vector : access.vectors)
    for (size_t i = 0; i < vector.registers.size(); i += static_cast<size_t>(elements)) {
      size_t reg = static_cast<size_t>(vector.registers[i]);
      auto [address, offset] = addresses.of(vector.registers[i]);
      Value mask = op.getMask() ? t.get(op.getMask())[reg] : Value();
      // A copy by several threads would write the same bytes again. A false mask writes zeros, so it cannot prevent that.
      if (first) return bug(op, "a tile with elements held by several threads cannot be copied asynchronously");
      ptx::CopyAsyncOp::create(t.b, address, pointers[reg], mask, static_cast<uint32_t>(bytes), static_cast<uint32_t>(offset));
    }
  return success();
}

static LogicalResult lowerCopyCommit(ThreadContext &t, ttg::CopyCommitOp) {
  ptx::CopyCommitOp::create(t.b);
  return success();
}

static LogicalResult lowerCopyWait(ThreadContext &t, ttg::CopyWaitOp op) {
  ptx::CopyWaitOp::create(t.b, op.getPending());
  return success();
}

void addSharedTileLowerings(LoweringTable &table) {
  addLowerings<lowerLoadShared, lowerStoreShared, lowerCopyAsync, lowerCopyCommit, lowerCopyWait>(table);
}

} // namespace tilewright::gpu
