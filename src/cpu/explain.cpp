// Prints the lowering's notes (notes.h) as sentences. An example:
//     softmax.py:12  x = tl.load(x_ptr + at, mask=at < n)
//         1024 f32 from x_ptr: 16 at a time (64 bytes), contiguous along dimension 0; masked at the edge; 64 cache lines
//     softmax.py:13  e = tl.exp(x - tl.max(x, 0))
//         1024 f32, 4096 bytes: expensive to compute, and used several times or in every loop iteration
// Makes no decisions of its own: strides, reasons and blocks are those that the lowering used.
#include "cpu/explain.h"

#include "ir/address/indices.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"

#include <cmath>
#include <map>
#include <set>

using namespace mlir;
using namespace tilewright::tt;

namespace tilewright::cpu {

namespace {

constexpr int64_t lineBytes = 64;

void sortByLine(RemarkSection &section) {
  llvm::sort(section.remarks, [](const Remark &a, const Remark &b) { return std::tie(a.where, a.text) < std::tie(b.where, b.text); });
}

struct Explainer {
  Context &ctx;
  std::string file;

  SourceLine lineOf(Operation *op) const { return sourceLineOf(op->getLoc(), file); }

  //===------------------------------------------------------------------------------------------------------------- memory

  static Value pointerOf(Operation *op) { return isa<LoadOp>(op) ? cast<LoadOp>(op).getPtr() : cast<StoreOp>(op).getPtr(); }

  static int64_t bytesOf(Value pointer) { return elementBytes(cast<PointerType>(getElementTypeOrSelf(pointer)).getPointeeType()); }

  /// Returns the dimension along which elements are contiguous; -1: none.
  int64_t contiguousDim(Value pointer) const {
    for (int64_t d = 0, rank = shapeOf(pointer).size(); d < rank; ++d)
      if (Stride s = ctx.analysis->strideOf(pointer, d); s.kind == Stride::constant && s.amount == bytesOf(pointer)) return d;
    return -1;
  }

  struct Lines {
    double count = 1;
    bool isKnown = true; // false: an upper bound
  };
  /// Returns the cache lines that the whole tile covers if it starts at the beginning of one, as far as the strides are known.
  Lines linesOf(Value pointer) const {
    auto [lines, isKnown] = Lines();
    int64_t run = bytesOf(pointer);
    for (int64_t d = 0, rank = shapeOf(pointer).size(); d < rank; ++d) {
      Stride s = ctx.analysis->strideOf(pointer, d);
      int64_t extent = shapeOf(pointer)[d];
      if (extent == 1 || s.isZero()) continue;
      bool isNear = s.kind == Stride::constant && std::abs(s.amount) < lineBytes && run == bytesOf(pointer);
      if (isNear)
        run = (extent - 1) * std::abs(s.amount) + run;
      else
        lines *= static_cast<double>(extent), isKnown &= s.kind == Stride::constant;
    }
    return {lines * static_cast<double>((run + lineBytes - 1) / lineBytes), isKnown};
  }

  std::string linesText(Value pointer) const {
    Lines lines = linesOf(pointer);
    return std::string(lines.isKnown ? "" : "up to ") + countText(static_cast<int64_t>(lines.count), "cache line");
  }

  /// Finds accesses that touch more memory than they need.
  std::vector<AccessWaste> waste() const {
    std::vector<AccessWaste> found;
    ctx.kernel.walk([&](Operation *op) {
      if (!isa<LoadOp, StoreOp>(op) || !isTile(pointerOf(op))) return;
      double needed = static_cast<double>(bytesOf(pointerOf(op)));
      for (int64_t extent : shapeOf(pointerOf(op)))
        needed *= static_cast<double>(extent);
      double ratio = linesOf(pointerOf(op)).count * static_cast<double>(lineBytes) / needed;
      if (ratio > 1) found.push_back({lineOf(op), ratio});
    });
    return found;
  }

  /// "16 at a time (64 bytes), contiguous along dimension 1".
  std::string wayText(const AccessNote &note) const {
    Value pointer = pointerOf(note.op);
    std::string each = std::to_string(note.lanes) + " at a time";
    switch (note.way) {
    case Way::one: return "one element at a time";
    case Way::contiguous: {
      std::string where = " along dimension " + std::to_string(contiguousDim(pointer));
      return each + " (" + std::to_string(note.lanes * bytesOf(pointer)) + " bytes), contiguous" + where;
    }
    case Way::strided: return each + ", one load per element at a constant stride";
    case Way::scattered:
      if (isa<StoreOp>(note.op)) return each + ", to scattered addresses";
      return each + (ctx.target.gather ? ", by gather instructions" : ", one load per element");
    }
    return "";
  }

  std::string accessText(Operation *op, ArrayRef<AccessNote> notes) const {
    Value pointer = pointerOf(op);
    BlockArgument base = address::baseArgument(pointer);
    Type type = isa<LoadOp>(op) ? op->getResult(0).getType() : cast<StoreOp>(op).getValue().getType();
    std::string text = tileText(type) + (isa<LoadOp>(op) ? " from " : " to ") + (base ? address::nameOf(base) : "memory") + ": ";
    std::vector<std::string> ways;
    bool isMasked = false, isWhole = false, nonTemporal = false;
    bool hasVectors = llvm::any_of(notes, [](const AccessNote &note) { return note.way != Way::one; });
    for (const AccessNote &note : notes) {
      if (note.fallback || (hasVectors && note.way == Way::one)) continue; // one element represents all masked-off ones
      std::string way = wayText(note);
      if (!llvm::is_contained(ways, way)) ways.push_back(std::move(way));
      isMasked |= note.masked, isWhole |= !note.masked, nonTemporal |= note.nonTemporal;
    }
    text += llvm::join(ways, ", or ");
    if (isMasked) text += isWhole ? "; masked at the edge" : "; always masked";
    bool isFar = llvm::any_of(notes, [](const AccessNote &note) { return note.way == Way::strided || note.way == Way::scattered; });
    if (std::string steps = isFar ? stepsText(ctx.kernel, pointer) : ""; !steps.empty()) text += "; " + steps;
    if (nonTemporal) text += "; non-temporal stores if the whole output exceeds the caches";
    return text + "; " + linesText(pointer);
  }

  RemarkSection memory() const {
    RemarkSection section{"Memory", {}};
    llvm::MapVector<Operation *, std::vector<AccessNote>> byOp;
    ctx.kernel.walk([&](Operation *op) {
      if (isa<LoadOp, StoreOp>(op) && isTile(pointerOf(op))) byOp[op] = {};
      if (isa<AtomicRMWOp, AtomicCASOp>(op) && isTile(op->getOperand(0)))
        section.remarks.push_back({lineOf(op), tileText(op->getOperand(1).getType()) + ": one atomic operation per element"});
    });
    for (const AccessNote &note : ctx.notes.accesses)
      if (auto found = byOp.find(note.op); found != byOp.end()) found->second.push_back(note);
    for (const auto &[op, notes] : byOp)
      if (llvm::any_of(notes, [](const AccessNote &note) { return !note.fallback; }))
        section.remarks.push_back({lineOf(op), accessText(op, notes)});
    sortByLine(section);
    return section;
  }

  //===--------------------------------------------------------------------------------------------------------------- dots

  /// Estimates the fraction of the core's peak that a micro-kernel can reach. Two multiply-adds and two loads start per cycle, and a sum is
  /// ready after four cycles (Zen 2 and later, Skylake and later). Unused lanes of a vector are lost.
  static double fractionOfPeak(const DotNote &note) {
    double cycles = 0, needed = 0;
    for (const DotBlocks::Rows &block : note.blocks.rows) {
      auto rows = static_cast<double>(block.rows), vectors = static_cast<double>(note.blocks.vectors);
      double work = rows * vectors / 2, loads = (rows + vectors) / 2, chain = 4.0 / static_cast<double>(block.partials);
      if (note.blocks.tiles) work = rows * vectors, loads = rows / 2 + 8 * vectors, chain = 52; // of 16 rows: 16 per MMA, 8 per load
      needed += work * static_cast<double>(block.count);
      cycles += std::max({work, loads, chain}) * static_cast<double>(block.count);
    }
    return needed / cycles * static_cast<double>(note.blocks.lanes) / static_cast<double>(note.maxLanes);
  }

  static std::string dotText(const DotNote &note) {
    auto dot = cast<DotOp>(note.op);
    int64_t columns = note.blocks.lanes * note.blocks.vectors;
    std::vector<std::string> blocks;
    for (const DotBlocks::Rows &block : note.blocks.rows)
      blocks.push_back(std::to_string(block.count) + " of " + std::to_string(block.rows) + "x" + std::to_string(columns) +
                       (block.partials > 1 ? " (" + std::to_string(block.partials) + " partial sums)" : ""));
    std::string text = tileText(dot.getA().getType()) + " * " + tileText(dot.getB().getType()) + " -> " + tileText(dot.getType()) + ": ";
    text += std::string(note.blocks.instruction) + " on " + std::to_string(note.blocks.lanes) + " lanes; register blocks of C: ";
    text += llvm::join(blocks, " and ") + " per panel";
    text += note.from == DotNote::copy      ? "; A is copied"
            : note.from == DotNote::scratch ? "; A is read in place from scratch memory"
                                            : "; A is read in place from memory, or copied if a mask excludes elements";
    text += ", B packed into panels of " + countText(columns, "column");
    if (note.iterations > 1) text += "; K-blocking: " + std::to_string(note.iterations) + " loop iterations are multiplied together";
    if (note.storesResults) text += "; a whole tile of results is stored directly from registers";
    return text + "; the micro-kernel can reach " + std::to_string(std::lround(100 * fractionOfPeak(note))) + " % of the core's peak";
  }

  RemarkSection dots() const {
    RemarkSection section{"Dots", {}};
    for (const DotNote &note : ctx.notes.dots)
      section.remarks.push_back({lineOf(note.op), dotText(note)});
    return section;
  }

  //===------------------------------------------------------------------------------------------- stored and fused tiles

  static const char *reasonText(StoredFor reason) {
    switch (reason) {
    case StoredFor::itsOperation: return "the operation produces the whole tile at once";
    case StoredFor::longChain: return "computing it takes a long chain of operations, which is split here";
    case StoredFor::laterStore: return "a store may overwrite the memory that it is loaded from before it is used";
    case StoredFor::manyUses: return "expensive to compute, and used several times or in every loop iteration";
    }
    return "";
  }

  std::string scratchText(const ScratchNote &note) const {
    std::string bytes = countText(note.bytes, "byte");
    if (isa<DotOp>(note.op)) return bytes + ": a dot's copied operand, or its result";
    if (isa<scf::ForOp, scf::WhileOp>(note.op)) return bytes + ": a tile that the loop carries";
    if (isa<scf::IfOp>(note.op)) return bytes + ": a tile that the branch returns";
    if (isa<StoreOp>(note.op)) return bytes + ": a copy of data that this store may overwrite or that takes long to compute";
    Value tile = note.op->getNumResults() == 1 ? note.op->getResult(0) : Value();
    std::optional<StoredFor> reason = tile ? ctx.analysis->storedFor(tile) : std::nullopt;
    if (!reason) return bytes + ": temporary storage of " + note.op->getName().stripDialect().str();
    return tileText(tile.getType()) + ", " + bytes + ": " + reasonText(*reason);
  }

  RemarkSection scratch() const {
    RemarkSection section{"Scratch memory", {}};
    std::map<std::pair<SourceLine, std::string>, int64_t> times;
    for (const ScratchNote &note : ctx.notes.scratch)
      ++times[{lineOf(note.op), scratchText(note)}];
    for (const auto &[remark, count] : times)
      section.remarks.push_back({remark.first, (count > 1 ? std::to_string(count) + " times " : "") + remark.second});
    sortByLine(section);
    return section;
  }

  /// Addresses and masks cost almost nothing, so lines that only compute them are not mentioned.
  static bool isWorth(Operation *op) {
    return isa<LoadOp>(op) || (op->getNumResults() == 1 && isa<FloatType>(getElementTypeOrSelf(op->getResult(0))) &&
                               !isa<arith::ConstantOp, SplatOp, BroadcastOp, ExpandDimsOp, TransOp>(op));
  }

  RemarkSection fused() const {
    RemarkSection section{"Fused: computed element by element where it is used, never stored", {}};
    std::map<SourceLine, std::set<SourceLine>> used;
    for (const auto &[op, root] : ctx.notes.computed)
      if (isWorth(op) && lineOf(op) != lineOf(root) && root) used[lineOf(op)].insert(lineOf(root));
    for (const auto &[where, roots] : used) {
      std::vector<std::string> lines;
      for (const SourceLine &root : roots)
        if (!root.file.empty()) lines.push_back("line " + std::to_string(root.line));
      if (!where.file.empty() && !lines.empty())
        section.remarks.push_back({where, "in the loops of " + llvm::join(lines, ", and again in those of ")});
    }
    return section;
  }

  RemarkSection versions() const {
    RemarkSection section{"Two versions, chosen at run time", {}};
    for (Operation *op : ctx.notes.versions)
      section.remarks.push_back({lineOf(op), "a fast path, and a slow path for indices that wrap around or tensors that overlap"});
    sortByLine(section);
    return section;
  }
};

} // namespace

int64_t arenaBytes(const Context &ctx) {
  bool hasArena = ctx.arenaPeak > 0 || ctx.panelCacheBytes > int64_t(sizeof(ArenaHead)) || ctx.atomics == Atomics::plain;
  return hasArena ? static_cast<int64_t>(sizeof(ArenaHead)) + ctx.arenaPeak + ctx.panelCacheBytes : 0;
}

Explanation explain(Context &ctx) {
  Explainer explainer{ctx, sourceFileOf(ctx.kernel)};
  Explanation explanation;
  explanation.kernel = ctx.kernel.getName().str(), explanation.target = "cpu:" + ctx.target.name, explanation.file = explainer.file;
  explanation.heading = explanation.kernel + " for " + explanation.target + ": vectors of " + std::to_string(ctx.target.vectorBytes) +
                        " bytes, " + std::to_string(ctx.target.registers) + " registers";
  explanation.scratchBytes = arenaBytes(ctx);
  explanation.resources.push_back("scratch memory  " + countText(explanation.scratchBytes, "byte") + " per worker; its L2 cache has " +
                                  countText(ctx.target.l2Bytes, "byte"));
  explanation.guards = ctx.analysis->guards();
  llvm::append_range(explanation.guards, ctx.analysis->versioningRequests());
  explanation.waste = explainer.waste();
  explanation.sections = {explainer.dots(), explainer.memory(), explainer.scratch(), explainer.fused(), explainer.versions()};
  return explanation;
}

} // namespace tilewright::cpu
