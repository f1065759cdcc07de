// The texts of what explain has found.
#include "gpu/explain/findings.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright::gpu {

static std::string braced(ArrayRef<std::string> parts) {
  return "{" + llvm::join(parts, ", ") + "}";
}

static std::string text(const BankAccess &access) {
  std::string conflicts = access.extraWavefronts ? " with " + countText(access.extraWavefronts, "extra wavefront") + " for bank conflicts"
                                                 : " without bank conflicts";
  if (access.asMatrices) return std::string("as 8x8 matrices") + (access.transposed ? ", transposed," : "") + conflicts;
  return countText(access.bytes, "byte") + " at a time" + conflicts;
}

//===-------------------------------------------------------------------------------------------------------------------- accesses to memory

static std::string text(const AccessSectors &sectors) {
  return " in " + TileLayouts::nameOf(sectors.layout) + ": " + countText(sectors.accesses, "access", "accesses") + " of " +
         countText(sectors.bytes, "byte") + " a thread; each access of a warp takes " + countText(sectors.warpBytes, "byte") + " from " +
         countText(sectors.sectors, "sector") + " of 32 bytes" +
         (sectors.isCoalesced() ? ", coalesced" : ", not coalesced (" + std::to_string(sectors.neededSectors) + " would suffice)") +
         (sectors.isUnaligned ? ", as aligned words that threads shift, because rows are unaligned" : "") +
         (sectors.isNarrowed ? "; a wider access would need one mask value for all its elements" : "");
}

/// "M*N + 4", of the kernel's arguments.
static std::string polynomialText(ArrayRef<std::string> arguments, Attribute terms) {
  std::vector<std::string> parts;
  for (Attribute term : cast<ArrayAttr>(terms)) {
    ArrayRef<int64_t> numbers = cast<DenseI64ArrayAttr>(term).asArrayRef();
    std::string part = numbers[0] == 1 && numbers.size() > 1 ? "" : std::to_string(numbers[0]);
    for (int64_t argument : numbers.drop_front())
      part += (part.empty() ? "" : "*") + arguments[static_cast<size_t>(argument)];
    parts.push_back(part);
  }
  return parts.empty() ? "any" : llvm::join(parts, " + ");
}

static std::string text(ArrayRef<std::string> arguments, ttg::TensorMapAttr map) {
  if (!map) return "a tensor";
  auto polynomials = [&](ArrayAttr all) {
    return braced(llvm::map_to_vector(all.getValue(), [&](Attribute terms) { return polynomialText(arguments, terms); }));
  };
  return arguments[static_cast<size_t>(map.getBase())] + " by TMA: dims " + polynomials(map.getDims()) + ", strides " +
         polynomials(map.getStrides()) + ", box " +
         braced(llvm::map_to_vector(map.getBox().asArrayRef(), [](int64_t extent) { return std::to_string(extent); })) + ", swizzle " +
         std::to_string(map.getSwizzle());
}

static std::string text(ArrayRef<std::string> arguments, const Transfer &transfer) {
  std::string text;
  switch (transfer.by) {
  case Transfer::By::tma: text = gpu::text(arguments, transfer.map); break;
  case Transfer::By::copyAsync: text = "; by cp.async"; break;
  case Transfer::By::registers: text = "; through registers to shared memory"; break;
  case Transfer::By::none: text = "; to registers"; break;
  }
  if (transfer.isCarried) text += ", loaded an iteration early";
  if (transfer.stages) text += *transfer.stages > 1 ? ", in " + countText(*transfer.stages, "stage") : ", without prefetching";
  if (!transfer.obstacle.empty()) text += (transfer.isCarried ? "; not copied: " : "; not prefetched: ") + transfer.obstacle;
  return text + transfer.remarks + (transfer.multicasts ? "; each CTA loads a part and multicasts it" : "");
}

static const char *verbOf(FoundAccess::Direction direction) {
  switch (direction) {
  case FoundAccess::Direction::load: return " from ";
  case FoundAccess::Direction::store: return " to ";
  case FoundAccess::Direction::atomic: return " atomically to ";
  case FoundAccess::Direction::add: return " added to ";
  case FoundAccess::Direction::combine: return " atomically combined with ";
  }
}

/// "128x64 f16 from x_ptr in L7: 4 accesses of 16 bytes a thread; each access of a warp takes 512 bytes from 16 sectors of 32 bytes,
/// coalesced".
static std::string text(ArrayRef<std::string> arguments, const FoundAccess &access) {
  std::string text = tileText(access.tile) + verbOf(access.direction) + access.base;
  if (access.sectors) text += gpu::text(*access.sectors);
  text += (access.strides.empty() ? "" : "; " + access.strides) + access.remarks;
  if (access.transfer) text += gpu::text(arguments, *access.transfer);
  return text;
}

//===---------------------------------------------------------------------------------------------------------------------------------- dots

std::string MmaInstruction::text() const {
  if (kind == ttg::MmaKind::fma) return "multiply-add";
  const char *name = kind == ttg::MmaKind::mma ? "mma.sync m" : kind == ttg::MmaKind::wgmma ? "wgmma m" : "tcgen05.mma m";
  return name + std::to_string(m) + "n" + std::to_string(n) + "k" + std::to_string(k) + (format.empty() ? "" : " " + format);
}

static std::string text(const DotOperand &operand) {
  if (!operand.format) return tileText(operand.tile);
  return std::to_string(operand.rows) + "x" + std::to_string(operand.columns) + " " + tt::stringifyScaleDotElemType(*operand.format).str();
}

static const char *storageText(OperandStorage storage) {
  switch (storage) {
  case OperandStorage::shared: return "in shared memory";
  case OperandStorage::registers: return "in registers";
  case OperandStorage::tensorMemory: return "in tensor memory";
  case OperandStorage::dequantizedInRegisters: return "dequantized in registers";
  }
}

/// "A and B in shared memory", or "A in registers, B in shared memory".
static std::string operandText(const FoundDot &dot) {
  std::string a = storageText(dot.a.storage), b = storageText(dot.b.storage), starts;
  if (dot.firstColumns)
    starts = ", starts when " + std::to_string(dot.firstColumns) + " of " + countText(dot.columns, "column") + " of A are stored";
  if (a != b) return "A " + a + ", B " + b + starts;
  return (dot.hasScales ? "A, B and scales " : "A and B ") + a + starts;
}

static std::string text(const FoundDot &dot, const GpuTarget &target) {
  bool isFma = dot.instruction.kind == ttg::MmaKind::fma;
  std::string text = gpu::text(dot.a) + " * " + gpu::text(dot.b) + " -> " + tileText(dot.result) + ": " + dot.instruction.text() +
                     (isFma ? " instructions, " : ", ") + operandText(dot);
  const char *better = isFma ? "tensor cores" : target.tcgen05 ? "tcgen05.mma" : "wgmma";
  if (!dot.reason.empty()) text += std::string("; no ") + better + ": " + dot.reason;
  return text + dot.remarks;
}

//===------------------------------------------------------------------------------------------------------ reductions, loops, shared memory

static std::string text(const FoundReduction &reduction) {
  std::string text = tileText(reduction.tile) + " in " + TileLayouts::nameOf(reduction.layout) + " along dimension " +
                     std::to_string(reduction.dim) + (reduction.isScan ? ", a scan: " : ": ");
  if (reduction.converts) return text + "after a conversion to another layout" + reduction.remarks;
  return text + countText(reduction.elements, "element") + " in each thread, " +
         (reduction.isScan     ? countText(reduction.steps, "step") + " across lanes"
          : reduction.shuffles ? countText(reduction.shuffles, "shuffle") + " in " + countText(reduction.steps, "step")
          : reduction.steps    ? "lanes combined by redux"
                               : "no shuffles") +
         ", " + (reduction.warps > 1 ? std::to_string(reduction.warps) + " warps exchange through shared memory" : "within one warp") +
         reduction.remarks;
}

static std::string text(const FoundLoop &loop) {
  std::string text, why = loop.reason.empty() ? "" : ": " + loop.reason;
  if (loop.stages > 1) {
    auto buffers = llvm::map_range(
        loop.buffers, [](const FoundLoop::Buffer &buffer) { return tileText(buffer.tile) + (buffer.byTma ? " by TMA" : " by cp.async"); });
    text = countText(loop.stages, "stage") + " of " + countText(loop.stageBytes, "byte") + ": " + llvm::join(buffers, ", ");
    if (!loop.reason.empty()) text += "; num_stages asks for " + std::to_string(loop.requested) + ", but " + loop.reason;
  } else if (loop.computedStages) {
    text = "threads write computed operands to " + countText(loop.computedStages, "buffer") +
           ", while the previous dot reads another one; no loads are copied" + why;
  } else {
    text = (loop.loadsEarly ? "no loads are copied" : "not pipelined, each iteration waits for its loads") + why;
  }
  bool hasEarly = loop.stages > 1 || loop.loadsEarly;
  if (loop.loadsEarly) text += "; loads to registers are issued an iteration early";
  if (hasEarly && loop.storesLoaded) text += "; loads that go through registers to shared memory are not prefetched";
  if (hasEarly && loop.hasOtherLoads)
    text += std::string("; ") + (loop.loadsEarly ? "other " : "") + "loads to registers are not prefetched";
  if (loop.dotsInFlight) text += "; " + countText(loop.dotsInFlight, "dot") + " may be in flight";
  text += loop.remarks;
  if (loop.crossTile) text += "; prefetches across tiles";
  if (loop.shiftsMma) text += "; a dot of the next iteration starts early";
  return text;
}

static std::string text(const FoundConversion &conversion) {
  std::string text =
      tileText(conversion.tile) + " from " + TileLayouts::nameOf(conversion.from) + " to " + TileLayouts::nameOf(conversion.to) + ": ";
  if (conversion.shuffle) {
    int64_t shuffles = conversion.shuffle->shuffles(), selects = conversion.shuffle->selectCount();
    if (!shuffles) return text + countText(selects, "select") + " a register, no shuffles";
    return text + countText(shuffles, "shuffle") + " within warps";
  }
  if (!conversion.scratchBytes) return text + "between CTAs";
  return text + "through " + countText(conversion.scratchBytes, "byte") + " of shared memory, written " + gpu::text(conversion.write) +
         ", read " + gpu::text(conversion.read);
}

static std::string orderText(const FoundBuffer &buffer) {
  switch (buffer.order) {
  case FoundBuffer::Order::padded: return "with padding";
  case FoundBuffer::Order::reordered: return "reordered";
  case FoundBuffer::Order::chunks: return "16-byte chunks swizzled";
  case FoundBuffer::Order::span: break;
  }
  if (!buffer.swizzleBytes) return "not swizzled";
  return "swizzle " + std::to_string(buffer.swizzleBytes) +
         (buffer.dim ? ", dimension " + std::to_string(*buffer.dim) + " contiguous" : "");
}

static std::string text(const FoundBuffer &buffer) {
  std::vector<std::string> accesses;
  for (const FoundBuffer::Access &access : buffer.accesses) {
    std::string text = access.what;
    if (access.layout) text += " in " + TileLayouts::nameOf(*access.layout);
    if (access.shared) text += " " + gpu::text(*access.shared);
    if (!llvm::is_contained(accesses, text)) accesses.push_back(text);
  }
  return tileText(buffer.tile) + ", " + (buffer.stages > 1 ? countText(buffer.stages, "stage") + ", " : "") +
         countText(buffer.bytes, "byte") + (buffer.offset ? " at offset " + std::to_string(*buffer.offset) : "") + ", " +
         orderText(buffer) + (accesses.empty() ? "" : ": ") + llvm::join(accesses, "; ");
}

//===-------------------------------------------------------------------------------------------------------------------------------- kernel

std::string Explainer::Impl::heading() const {
  std::string text = name + " for cuda:" + std::string(target->name) + ": " + countText(warps, "warp") + ", num_stages " +
                     std::to_string(stages) + kernelRemarks;
  if (!noWarpSpecialization.empty()) text += "; no warp specialization: " + noWarpSpecialization;
  auto works = llvm::map_range(
      partitions, [](const FoundPartition &partition) { return countText(partition.warps, "warp") + " for " + partition.work; });
  if (!partitions.empty()) text += "; warp specialization: " + llvm::join(works, ", ");
  return text;
}

std::vector<RemarkSection> Explainer::Impl::sections() const {
  std::vector<RemarkSection> sections;
  auto add = [&](const char *title, const auto &found, auto textOf) {
    sections.push_back({title, {}});
    for (const auto &each : found)
      sections.back().remarks.push_back({lineOf(each.location), textOf(each)});
  };
  auto plain = [](const auto &found) { return text(found); };
  add("Dots", dots, [&](const FoundDot &dot) { return text(dot, *target); });
  add("Loops", loops, plain);
  add("Memory", accesses, [&](const FoundAccess &access) { return text(argumentNames, access); });
  add("Reductions and scans", reductions, plain);
  add("Conversions between layouts", conversions, plain);
  add("Buffers in shared memory", buffers, plain);
  return sections;
}

} // namespace tilewright::gpu
