// Prints memory accesses: loads, stores, atomics, and asynchronous copies (cp.async, mbarriers, tensor maps).
//     ptx.load_global %a if %p -> f16, f16, f16, f16        asm "@$3 ld.global.v2.b32 {$0, $1}, [$2];": two values share a word
#include "codegen/ptx/asm.h"
#include "gpu/machine/atomic_order.h"
#include "gpu/machine/mbarrier_scope.h"
#include "gpu/machine/ptx.h"
#include "ir/refusal.h"

#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace tilewright::ptx_print {

namespace {

/// How an access of `count` values is divided into registers: PTX takes 1, 2 or 4 of one size, so small values share 32-bit words.
struct Access {
  int64_t perWord = 1, words = 1, wordBits = 0;
  Type wordType; // null: the type of the values
  Type word(Type value) const { return wordType ? wordType : value; }
  std::string suffix() const { return (words > 1 ? ".v" + std::to_string(words) : std::string()) + ".b" + std::to_string(wordBits); }
};

} // namespace

static Access accessOf(PrintContext &at, TypeRange types) {
  int64_t count = types.size(), bits = bitsOf(types.front());
  Access access;
  access.wordBits = bits >= 32 ? bits : std::min<int64_t>(32, count * bits);
  access.perWord = access.wordBits / bits;
  access.words = count / access.perWord;
  if (access.perWord > 1) access.wordType = at.integer(access.wordBits);
  return access;
}

static SmallVector<Value> toWords(PrintContext &at, const Access &access, ValueRange values) {
  if (!access.wordType) return llvm::to_vector(values);
  SmallVector<Value> words;
  for (int64_t word = 0; word < access.words; ++word)
    words.push_back(packBits(at, values.slice(word * access.perWord, access.perWord), access.wordType));
  return words;
}

static SmallVector<Value> fromWords(PrintContext &at, const Access &access, ValueRange words, TypeRange types) {
  if (!access.wordType) return llvm::to_vector(words);
  SmallVector<Value> values;
  for (Value word : words)
    values.append(unpackBits(at, word, types.take_front(access.perWord)));
  return values;
}

// ---- memory

/// Cache operators and eviction priorities exclude each other. An operator can have a meaning (cv: volatile); a priority never has.
static std::string cachePolicy(ptx::Cache cache, ptx::Eviction evict) {
  if (cache != ptx::Cache::none) return "." + ptx::stringifyCache(cache).str();
  if (evict != ptx::Eviction::normal) return ".L1::" + ptx::stringifyEviction(evict).str();
  return "";
}

/// The registers that a load writes.
static SmallVector<std::string> wordsOut(Asm &code, const Access &access, Type value) {
  SmallVector<std::string> names;
  for (int64_t i = 0; i < access.words; ++i)
    names.push_back(code.out(access.word(value)));
  return names;
}

/// With a false predicate the registers keep their contents, so they start as `other`.
static LogicalResult lower(ptx::LoadGlobalOp op, PrintContext &at) {
  auto types = op.getValues().getTypes();
  Access access = accessOf(at, types);
  Asm code(at);
  SmallVector<std::string> names = wordsOut(code, access, types.front());
  std::string address = code.address(op.getAddress()), when;
  if (op.getPredicate()) {
    SmallVector<Value> start;
    if (!op.getOther().empty()) start = toWords(at, access, op.getOther());
    for (int64_t i = 0; i < access.words; ++i)
      code.tie(start.empty() ? LLVM::ZeroOp::create(at.b, access.word(types.front())).getResult() : start[i], i);
    when = code.when(op.getPredicate());
  }
  std::string kind = op.getIsVolatile() ? ".volatile.global" : ".global" + cachePolicy(op.getCache(), op.getEvict());
  bool isMadeHere = op.getIsVolatile() || op.getCache() == ptx::Cache::cv || op.getHoisted();
  Effect effect = isMadeHere ? Effect::writes : Effect::reads;
  SmallVector<Value> words = code.emit(when + "ld" + kind + access.suffix() + " " + braces(names) + ", " + address + ";", effect);
  replace(op, fromWords(at, access, words, types));
  return success();
}

static LogicalResult store(Operation *op, PrintContext &at, const std::string &kind, Value base, int64_t offset, ValueRange values,
                           Value predicate) {
  Access access = accessOf(at, values.getTypes());
  Asm code(at);
  std::string address = code.address(base, offset);
  SmallVector<std::string> names;
  for (Value word : toWords(at, access, values))
    names.push_back(code.in(word));
  code.emit(code.when(predicate) + kind + access.suffix() + " " + address + ", " + braces(names) + ";", Effect::writes);
  replace(op, {});
  return success();
}

static LogicalResult lower(ptx::StoreGlobalOp op, PrintContext &at) {
  return store(op, at, "st.global" + cachePolicy(op.getCache(), op.getEvict()), op.getAddress(), 0, op.getValues(), op.getPredicate());
}

static LogicalResult lower(ptx::LoadSharedOp op, PrintContext &at) {
  auto types = op.getValues().getTypes();
  Access access = accessOf(at, types);
  Asm code(at);
  SmallVector<std::string> names = wordsOut(code, access, types.front());
  std::string address = code.address(op.getAddress(), static_cast<int32_t>(op.getOffset()));
  std::string text = code.when(op.getPredicate()) + "ld.shared" + access.suffix() + " " + braces(names) + ", " + address + ";";
  replace(op, fromWords(at, access, code.emit(text, Effect::reads), types));
  return success();
}

/// mapa turns a shared address of this CTA into that of the same offset in another CTA.
static LogicalResult lower(ptx::LoadBlockOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.clusters))) return failure();
  auto types = op.getValues().getTypes();
  Access access = accessOf(at, types);
  Asm code(at);
  SmallVector<std::string> names = wordsOut(code, access, types.front());
  std::string address = code.in(op.getAddress()), rank = code.in(op.getRank());
  std::string text = "{ .reg .b32 %there; mapa.shared::cluster.u32 %there, " + address + ", " + rank + "; ld.shared::cluster" +
                     access.suffix() + " " + braces(names) + ", [%there]; }";
  replace(op, fromWords(at, access, code.emit(text, Effect::reads), types));
  return success();
}

static LogicalResult lower(ptx::StoreSharedOp op, PrintContext &at) {
  return store(op, at, "st.shared", op.getAddress(), static_cast<int32_t>(op.getOffset()), op.getValues(), op.getPredicate());
}

static LogicalResult lower(ptx::AddSharedOp op, PrintContext &at) {
  Asm code(at);
  std::string address = code.address(op.getAddress()), value = code.in(op.getValue());
  code.emit(code.when(op.getPredicate()) + "red.shared.add.u32 " + address + ", " + value + ";", Effect::writes);
  replace(op, {});
  return success();
}

static std::string matrixSuffix(size_t count, bool transposed) {
  return ".sync.aligned.m8n8.x" + std::to_string(count) + (transposed ? ".trans" : "") + ".shared.b16 ";
}

static LogicalResult lower(ptx::LdmatrixOp op, PrintContext &at) {
  Asm code(at);
  SmallVector<std::string> names;
  for (Value value : op.getValues())
    names.push_back(code.out(value.getType()));
  std::string address = code.address(op.getAddress(), static_cast<int32_t>(op.getOffset()));
  std::string text = "ldmatrix" + matrixSuffix(names.size(), op.getTransposed()) + braces(names, true) + ", " + address + ";";
  replace(op, code.emit(text, Effect::writes));
  return success();
}

static LogicalResult lower(ptx::StmatrixOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.stmatrix))) return failure();
  Asm code(at);
  std::string address = code.address(op.getAddress(), static_cast<int32_t>(op.getOffset()));
  SmallVector<std::string> names;
  for (Value value : op.getValues())
    names.push_back(code.in(value));
  code.emit("stmatrix" + matrixSuffix(names.size(), op.getTransposed()) + address + ", " + braces(names, true) + ";", Effect::writes);
  replace(op, {});
  return success();
}

/// ".add.u32", ".min.s64", ".add.noftz.f16x2", ".add.v4.f32": the operation and its type. Empty if PTX has no such atomic.
static std::string atomicKind(ptx::Atomic kind, Type type, size_t count, const GpuTarget &target) {
  std::string bits = std::to_string(bitsOf(type));
  if (kind == ptx::Atomic::fadd) {
    size_t words = count > 1 && bitsOf(type) == 16 ? count / 2 : count;
    std::string vector = words > 1 ? ".v" + std::to_string(words) : "";
    if (words > 1 && !target.vectorAtomics) return "";
    if (type.isF32() || (type.isF64() && count == 1)) return ".add" + vector + ".f" + bits;
    if (!type.isF16() && !(type.isBF16() && target.bf16Atomics)) return "";
    return ".add.noftz" + vector + (type.isF16() ? ".f16" : ".bf16") + (count > 1 ? "x2" : "");
  }
  if (count != 1 || (bits != "32" && bits != "64")) return "";
  switch (kind) {
  case ptx::Atomic::add: return ".add.u" + bits; // two's complement: signed sums are the same bits
  case ptx::Atomic::min: return ".min.s" + bits;
  case ptx::Atomic::max: return ".max.s" + bits;
  case ptx::Atomic::umin: return ".min.u" + bits;
  case ptx::Atomic::umax: return ".max.u" + bits;
  case ptx::Atomic::exch: return ".exch.b" + bits;
  default: return "." + ptx::stringifyAtomic(kind).str() + ".b" + bits;
  }
}

/// LLVM's atomicrmw loses order and scope on this target, so the instruction is printed. If the result is unused and the order allows it,
/// ptxas selects the cheaper `red`. Scope and order are printed in upstream's sequence, which tests check.
static LogicalResult lower(ptx::AtomicOp op, PrintContext &at) {
  ValueRange values = op.getValues();
  constexpr size_t maxBits = 128;
  if (values.empty() || !llvm::isPowerOf2_64(values.size()) || !llvm::all_equal(values.getTypes()) ||
      values.size() * size_t(bitsOf(values.front().getType())) > maxBits)
    return bug(op, "an atomic takes one value, or contiguous values of at most 16 bytes");
  if (op.getScope() == ptx::Scope::cluster && failed(need(op, at, at.target.clusters))) return failure();
  std::string kind = atomicKind(op.getOp(), values.front().getType(), values.size(), at.target);
  if (kind.empty())
    return refuse(op, Diag::gpuInstruction,
                  {at.target.name, "the atomic '" + ptx::stringifyAtomic(op.getOp()).str() + "' of " + mlirText(values.front().getType())});
  size_t perWord = values.size() > 1 && bitsOf(values.front().getType()) == 16 ? 2 : 1, words = values.size() / perWord;
  Type word = perWord == 2 ? at.integer(32) : values.front().getType();
  Asm code(at);
  std::vector<std::string> to, from;
  for (size_t i = 0; i < words; ++i)
    to.push_back(code.out(word));
  std::string address = code.address(op.getAddress());
  for (size_t i = 0; i < words; ++i)
    from.push_back(code.in(packBits(at, values.slice(i * perWord, perWord), word)));
  std::string scope = ptx::stringifyScope(op.getScope()).str();
  std::string order = ptx::stringifyOrder(ptx::ownOrder(op)).str();
  SmallVector<Value> old = code.emit(code.when(op.getPredicate()) + "atom.global." + scope + "." + order + kind + " " + braces(to) + ", " +
                                         address + ", " + braces(from) + ";",
                                     Effect::writes);
  SmallVector<Value> results;
  for (size_t i = 0; i < words && op->getNumResults(); ++i)
    llvm::append_range(results, unpackBits(at, old[i], SmallVector<Type>(perWord, values.front().getType())));
  replace(op, results);
  return success();
}

static LogicalResult lower(ptx::CompareSwapOp op, PrintContext &at) {
  if (op.getScope() == ptx::Scope::cluster && failed(need(op, at, at.target.clusters))) return failure();
  int64_t bits = bitsOf(op.getValue().getType());
  if (bits < 16) return bug(op, "PTX has no compare-and-swap of " + std::to_string(bits) + " bits");
  Asm code(at);
  std::string to = code.out(op.getOld().getType()), address = code.address(op.getAddress());
  std::string compare = code.in(op.getCompare()), value = code.in(op.getValue());
  std::string order = ptx::stringifyOrder(ptx::ownOrder(op)).str(), scope = ptx::stringifyScope(op.getScope()).str();
  replace(op, code.emit(code.when(op.getPredicate()) + "atom.global." + order + "." + scope + ".cas.b" + std::to_string(bits) + " " + to +
                            ", " + address + ", " + compare + ", " + value + ";",
                        Effect::writes));
  return success();
}

static LogicalResult lower(ptx::FenceOp op, PrintContext &at) {
  if (op.getScope() == ptx::Scope::cluster && failed(need(op, at, at.target.clusters))) return failure();
  return plain(op, at, "fence.acq_rel." + ptx::stringifyScope(op.getScope()).str() + ";");
}

static LogicalResult lower(ptx::SleepOp op, PrintContext &at) {
  return plain(op, at, "nanosleep.u32 " + std::to_string(op.getNanoseconds()) + ";");
}

static LogicalResult lower(ptx::PrefetchTensorMapOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.tma))) return failure();
  Asm code(at);
  std::string address = code.address(op->getOperand(0));
  code.emit("prefetch.tensormap " + address + ";", Effect::writes);
  replace(op, {});
  return success();
}

// ---- asynchronous copies

/// The bytes after the source size are filled with zeros, so a false predicate becomes a source size of zero.
static LogicalResult lower(ptx::CopyAsyncOp op, PrintContext &at) {
  int64_t bytes = op.getBytes();
  if (failed(need(op, at, at.target.cpAsync))) return failure();
  Asm code(at);
  std::string operands = code.address(op.getShared(), static_cast<int32_t>(op.getOffset()));
  operands += ", " + code.address(op.getGlobal()) + ", " + std::to_string(bytes);
  if (op.getPredicate()) operands += ", " + code.in(LLVM::SelectOp::create(at.b, op.getPredicate(), at.i32(bytes), at.i32(0)));
  code.emit(std::string("cp.async.") + (bytes == 16 ? "cg" : "ca") + ".shared.global " + operands + ";", Effect::writes);
  replace(op, {});
  return success();
}

static LogicalResult lower(ptx::CopyCommitOp op, PrintContext &at) {
  return failed(need(op, at, at.target.cpAsync)) ? failure() : plain(op, at, "cp.async.commit_group;");
}
static LogicalResult lower(ptx::CopyWaitOp op, PrintContext &at) {
  return failed(need(op, at, at.target.cpAsync)) ? failure()
                                                 : plain(op, at, "cp.async.wait_group " + std::to_string(op.getPending()) + ";");
}

/// "@p NAME [barrier], EXTRA;"
static LogicalResult onBarrier(Operation *op, PrintContext &at, const std::string &name, Value object, const std::string &extra,
                               Value predicate) {
  if (failed(need(op, at, at.target.mbarrier))) return failure();
  Asm code(at);
  std::string address = code.address(object);
  code.emit(code.when(predicate) + name + " " + address + extra + ";", Effect::writes);
  replace(op, {});
  return success();
}

static LogicalResult lower(ptx::MbarrierInitOp op, PrintContext &at) {
  return onBarrier(op, at, "mbarrier.init.shared::cta.b64", op.getBarrier(), ", " + std::to_string(op.getCount()), op.getPredicate());
}
static LogicalResult lower(ptx::MbarrierInitFenceOp op, PrintContext &at) {
  return failed(need(op, at, at.target.clusters)) ? failure() : plain(op, at, "fence.mbarrier_init.release.cluster;");
}
static LogicalResult lower(ptx::MbarrierExpectOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.mbarrierTransactions))) return failure();
  return onBarrier(op, at, "mbarrier.arrive.expect_tx.shared::cta.b64 _,", op.getBarrier(), ", " + std::to_string(op.getBytes()),
                   op.getPredicate());
}
/// Arrives at the barriers of the first `ctas` CTAs of the cluster (this one may be among them), which have the same address in each.
static LogicalResult arriveInCtas(ptx::MbarrierArriveOp op, PrintContext &at, int64_t ctas, StringRef semantics, StringRef fence) {
  if (failed(need(op, at, at.target.clusters))) return failure();
  Asm code(at);
  std::string address = code.in(op.getBarrier()), predicate = code.when(op.getPredicate());
  std::string text = "{ .reg .b32 there; " + fence.str();
  for (int64_t cta = 0; cta < ctas; ++cta)
    text += "mapa.shared::cluster.u32 there, " + address + ", " + std::to_string(cta) + "; " + predicate + "mbarrier.arrive" +
            semantics.str() + ".shared::cluster.b64 _, [there]; ";
  code.emit(text + "}", Effect::writes);
  replace(op, {});
  return success();
}

/// Older GPUs take one arrival at a time. For a release in cluster scope ptxas would add a fence of the whole GPU (MEMBAR.ALL.GPU), which
/// waits for all stores of the warp. A fence of what is in shared memory, and a relaxed arrival, release the same shared memory.
static LogicalResult lower(ptx::MbarrierArriveOp op, PrintContext &at) {
  if (op.getCount() != 1 && failed(need(op, at, at.target.mbarrierTransactions))) return failure();
  std::string count = op.getCount() == 1 ? "" : ", " + std::to_string(op.getCount());
  bool inCluster = op.getScope() == ptx::Scope::cluster;
  if (inCluster && failed(need(op, at, ptx::hasSharedFences(at.target)))) return failure();
  StringRef fence = inCluster ? "fence.release.sync_restrict::shared::cta.cluster; " : "";
  if (std::optional<uint32_t> ctas = op.getInCtas())
    return arriveInCtas(op, at, op.getToFirst() ? 1 : *ctas, inCluster ? ".relaxed.cluster" : ".release.cta", fence);
  if (inCluster) Asm(at).emit(fence.rtrim().str(), Effect::writes);
  return onBarrier(op, at, std::string("mbarrier.arrive") + (inCluster ? ".relaxed.cluster" : "") + ".shared::cta.b64 _,", op.getBarrier(),
                   count, op.getPredicate());
}
/// try_wait suspends the thread for a limited time and may then fail, so it is repeated; labels in braces are local. Older GPUs only have
/// test_wait.
static LogicalResult lower(ptx::MbarrierWaitOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.mbarrier))) return failure();
  Asm code(at);
  std::string address = code.address(op.getBarrier()), parity = code.in(op.getParity());
  std::string name = at.target.mbarrierTransactions ? "mbarrier.try_wait" : "mbarrier.test_wait", semantics, fence;
  if (op.getScope() == ptx::Scope::cluster) {
    if (failed(need(op, at, ptx::hasSharedFences(at.target)))) return failure();
    semantics = ".relaxed.cluster", fence = " fence.acquire.sync_restrict::shared::cluster.cluster;";
  }
  code.emit("{ .reg .pred done; again: " + name + ".parity" + semantics + ".shared::cta.b64 done, " + address + ", " + parity +
                "; @!done bra.uni again;" + fence + " }",
            Effect::writes);
  replace(op, {});
  return success();
}

/// "[map, {x, y}]"
static std::string tensorAddress(Asm &code, Value map, ValueRange coordinates) {
  std::string text = "[" + code.in(map) + ", ";
  SmallVector<std::string> names;
  for (Value coordinate : coordinates)
    names.push_back(code.in(coordinate));
  return text + braces(names, true) + "]";
}

/// Returns the address of an mbarrier in the even CTA of this CTA's pair. Bit 24 of a shared address in the cluster's window is the lowest
/// bit of the CTA's rank.
static Value inEvenCta(PrintContext &at, Value barrier) {
  constexpr int64_t withoutLowestBitOfRank = 0xfeffffff;
  return LLVM::AndOp::create(at.b, barrier, at.i32(withoutLowestBitOfRank));
}

/// The first PTX with copies to `.shared::cta`. For `.shared::cluster`, ptxas for sm_120 calls a function if the address is that of another
/// CTA, and values that are live across a call are in few registers.
constexpr std::pair<int64_t, int64_t> firstCopyToOwnCta = {8, 6};

/// The policies are constants for the L2 cache, equal to the results of createpolicy.
static LogicalResult lower(ptx::TmaLoadOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.tma))) return failure();
  if (op.getMulticast() && failed(need(op, at, at.target.multicast))) return failure();
  if (op.getToLeader() && failed(need(op, at, at.target.ctaPairs))) return failure();
  Asm code(at);
  std::string shared = code.address(op.getShared()), map = tensorAddress(code, op->getOperand(0), op.getCoordinates());
  std::string barrier = code.address(op.getToLeader() ? inEvenCta(at, op.getBarrier()) : op.getBarrier());
  bool toOtherCtas = op.getMulticast() || op.getToLeader();
  std::string space = toOtherCtas || at.target.ptxIsa() < firstCopyToOwnCta ? "cluster" : "cta";
  std::string text = "cp.async.bulk.tensor." + std::to_string(op.getCoordinates().size()) + "d.shared::" + space +
                     ".global.tile.mbarrier::complete_tx::bytes";
  std::string tail;
  if (op.getMulticast()) {
    text += ".multicast::cluster";
    tail +=
        ", " + code.in(LLVM::ConstantOp::create(at.b, at.integer(16), at.b.getI16IntegerAttr(static_cast<int16_t>(*op.getMulticast()))));
  }
  if (op.getToLeader()) text += ".cta_group::2";
  if (op.getEvict() != ptx::Eviction::normal) {
    text += ".L2::cache_hint";
    tail += ", " + code.in(at.i64(op.getEvict() == ptx::Eviction::evict_first ? 0x12F0000000000000 : 0x14F0000000000000));
  }
  code.emit(code.when(op.getPredicate()) + text + " " + shared + ", " + map + ", " + barrier + tail + ";", Effect::writes);
  replace(op, {});
  return success();
}

static LogicalResult lower(ptx::TmaStoreOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.tma))) return failure();
  Asm code(at);
  std::string map = tensorAddress(code, op->getOperand(0), op.getCoordinates()), shared = code.address(op.getShared());
  std::string dims = std::to_string(op.getCoordinates().size()) + "d.global.shared::cta";
  std::string text = "cp.async.bulk.tensor." + dims + ".tile.bulk_group ";
  if (std::optional<ptx::Redux> kind = op.getReduce()) { // the map's element type says whether min and max are signed
    StringRef name = ptx::stringifyRedux(*kind);
    name.consume_front("u");
    text = "cp.reduce.async.bulk.tensor." + dims + "." + name.str() + ".tile.bulk_group ";
  }
  code.emit(code.when(op.getPredicate()) + text + map + ", " + shared + ";", Effect::writes);
  replace(op, {});
  return success();
}

static LogicalResult lower(ptx::TmaCommitOp op, PrintContext &at) {
  return failed(need(op, at, at.target.tma)) ? failure() : plain(op, at, "cp.async.bulk.commit_group;");
}
static LogicalResult lower(ptx::TmaWaitOp op, PrintContext &at) {
  if (failed(need(op, at, at.target.tma))) return failure();
  return plain(op, at, std::string("cp.async.bulk.wait_group") + (op.getRead() ? ".read " : " ") + std::to_string(op.getPending()) + ";");
}
/// Only for shared memory: the unqualified fence also waits for global writes.
static LogicalResult lower(ptx::FenceAsyncOp op, PrintContext &at) {
  return failed(need(op, at, at.target.tma)) ? failure() : plain(op, at, "fence.proxy.async.shared::cta;");
}

LogicalResult printMemory(Operation *op, PrintContext &at) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(op)
      .Case<ptx::LoadGlobalOp, ptx::StoreGlobalOp, ptx::LoadSharedOp, ptx::LoadBlockOp, ptx::StoreSharedOp, ptx::AddSharedOp,
            ptx::LdmatrixOp, ptx::StmatrixOp, ptx::AtomicOp, ptx::CompareSwapOp, ptx::FenceOp, ptx::SleepOp, ptx::PrefetchTensorMapOp,
            ptx::CopyAsyncOp, ptx::CopyCommitOp, ptx::CopyWaitOp, ptx::MbarrierInitOp, ptx::MbarrierInitFenceOp, ptx::MbarrierExpectOp,
            ptx::MbarrierArriveOp, ptx::MbarrierWaitOp, ptx::TmaLoadOp, ptx::TmaStoreOp, ptx::TmaCommitOp, ptx::TmaWaitOp,
            ptx::FenceAsyncOp>([&](auto concrete) { return lower(concrete, at); })
      .Default([&](Operation *) { return printMatrix(op, at); });
}

} // namespace tilewright::ptx_print
