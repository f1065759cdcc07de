// See layouts.h.
#include "gpu/explain/layouts.h"

#include "gpu/schedule/shared_memory/scratch.h"
#include "gpu/ttg/element_sizes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include "llvm/ADT/SmallSet.h"
#include "llvm/ADT/StringExtras.h"

#include <map>
#include <set>

using namespace mlir;

namespace tilewright::gpu {

/// "128x64".
static std::string extents(const Dims &numbers) {
  std::string text;
  for (int64_t number : numbers)
    text += (text.empty() ? "" : "x") + std::to_string(number);
  return text.empty() ? "one element" : text;
}

/// "registers 2x16, lanes 8x4, warps 4x1, 2 copies".
static std::string shapeOfBits(const Layout &layout) {
  std::string text;
  int64_t copies = 1;
  const char *names[] = {"registers", "lanes", "warps"};
  for (Axis axis : allAxes) {
    Dims moved(layout.shape.size(), 1);
    bool mixed = false;
    for (uint32_t basis : layout.basesOf(axis)) {
      Dims at = layout.coordinates(basis);
      int64_t dims = llvm::count_if(at, [](int64_t x) { return x != 0; });
      copies *= dims == 0 ? 2 : 1;
      mixed |= dims > 1;
      for (size_t d = 0; d < at.size(); ++d)
        if (at[d]) moved[d] *= 2;
    }
    text += std::string(text.empty() ? "" : ", ") + names[static_cast<size_t>(axis)] + " " +
            (moved.empty() ? "1"
             : mixed       ? "across dimensions"
                           : extents(moved));
  }
  if (copies > 1) text += ", each element is held " + std::to_string(copies) + " times";
  return text;
}

/// Returns the picture with as many columns as fit in the explanation's width.
static std::string fittedPicture(const Layout &layout, int64_t rows) {
  for (int64_t columns = 16; columns > 1; columns /= 2) {
    std::string text = gpu::picture(layout, rows, columns);
    SmallVector<StringRef> lines;
    StringRef(text).split(lines, '\n');
    if (llvm::all_of(lines, [](StringRef line) { return line.size() <= explanationWidth - 6; })) return text;
  }
  return gpu::picture(layout, rows, 1);
}

static std::string indented(StringRef text, size_t by) {
  std::string result;
  for (StringRef line : llvm::split(text.rtrim(), '\n'))
    result += std::string(by, ' ') + line.rtrim().str() + "\n";
  return result;
}

size_t TileLayouts::indexOf(const Layout &layout) {
  for (size_t i = 0; i < all.size(); ++i)
    if (all[i].layout == layout) return i;
  all.emplace_back().layout = layout;
  all.back().late = afterBuffers;
  return all.size() - 1;
}

TileUse TileLayouts::useBy(Operation *op, const SourceLine &where) {
  TileUse use{where, isa<ttg::DescriptorLoadOp>(op) ? "load" : op->getName().stripDialect().str()};
  use.isPlumbing = isPlumbing(op);
  use.isData = !use.isPlumbing && !isa<tt::MakeRangeOp>(op);
  return use;
}

void TileLayouts::addUse(Type type, TileUse use, bool worth) {
  auto tile = dyn_cast<RankedTensorType>(type);
  if (!tile || !ttg::hasLayout(type)) return;
  TileLayout &entry = (*this)[type];
  entry.worth |= worth;
  bool isAddress = isa<tt::PointerType>(tile.getElementType()); // computed at its use
  if (!isAddress) entry.bits = std::max(entry.bits, ttg::memoryBits(tile.getElementType()));
  use.type = tileText(tile.getElementType());
  use.isData &= !isAddress;
  entry.uses.push_back(std::move(use));
}

RemarkSection TileLayouts::spilled() const {
  RemarkSection made{"Spilled registers: these tiles take the most; more warps or smaller tiles need fewer registers a thread", {}};
  std::vector<const TileLayout *> largest;
  for (const TileLayout &tile : all)
    if (tile.held && tile.worth) largest.push_back(&tile);
  llvm::sort(largest, [](const TileLayout *a, const TileLayout *b) { return a->registers() > b->registers(); });
  constexpr size_t maxLayouts = 2;
  for (const TileLayout *tile : ArrayRef(largest).take_front(maxLayouts)) {
    std::map<SourceLine, std::string> lines;
    for (const TileUse &use : tile->uses)
      if (!use.where.file.empty() && use.isData) lines[use.where] = use.op;
    for (const auto &[where, op] : lines)
      made.remarks.push_back(
          {where, op + ": " + countText(tile->registers(), "register") + " a thread for " + extents(tile->layout.shape)});
  }
  return made;
}

bool TileLayouts::isPlumbing(Operation *op) {
  return isa<arith::ConstantOp, tt::SplatOp, tt::BroadcastOp, tt::ExpandDimsOp, ttg::ConvertLayoutOp>(op);
}

std::string TileLayouts::text(size_t index, bool large) const {
  const TileLayout &tile = all[index];
  std::string text = "\n  " + nameOf(index) + "  " + extents(tile.layout.shape) + ": ";
  if (tile.held)
    text += countText(tile.layout.registersPerThread(), "element") + " a thread, up to " + countText(tile.registers(), "register");
  else
    text += "goes to shared memory without passing through registers";
  llvm::SmallSet<std::string, 4> reported;
  for (const auto &[layout, part, instruction] : families)
    if (std::string family = part + (" of " + instruction.text()); layout == tile.layout && reported.insert(family).second)
      text += "; " + family;
  text += "\n";
  if (tile.held && !tile.choice.empty()) text += paragraph(tile.choice, 6);
  if (tile.held) text += paragraph(shapeOfBits(tile.layout), 6);
  std::map<SourceLine, std::vector<std::string>> lines;
  for (const TileUse &use : tile.uses) {
    if (use.where.file.empty()) continue;
    std::vector<std::string> &ops = lines[use.where];
    std::string what = use.op + " " + use.type;
    if (!use.isPlumbing && !llvm::is_contained(ops, what)) ops.push_back(what);
  }
  for (auto &[where, ops] : lines) {
    text += "      " + source.titled(where) + "\n";
    if (!ops.empty()) text += paragraph(llvm::join(ops, ", "), 10);
  }
  if (tile.held && (tile.worth || large)) text += indented(fittedPicture(tile.layout, large ? 16 : 4), 6);
  return text;
}

LayoutPicture TileLayouts::picture(size_t index, StringRef file) const {
  const TileLayout &tile = all[index];
  constexpr int64_t maxExtent = 64;
  LayoutPicture made;
  made.name = nameOf(index), made.text = text(index, false);
  std::set<int64_t> lines;
  for (const TileUse &use : tile.uses)
    if (use.where.file == file) lines.insert(use.where.line);
  made.lines.assign(lines.begin(), lines.end());
  if (!tile.held || !tile.worth || tile.layout.shape.empty()) return made;
  int64_t columns = tile.layout.shape.back(), rows = elementCount(tile.layout.shape) / columns;
  made.rows = std::min(rows, maxExtent), made.columns = std::min(columns, maxExtent);
  made.owners.resize(static_cast<size_t>(made.rows * made.columns));
  LinearMap map = tile.layout.map();
  int64_t inBlock = tile.layout.bits(Axis::reg) + tile.layout.bits(Axis::lane) + tile.layout.bits(Axis::warp);
  for (int64_t input = (int64_t(1) << inBlock) - 1; input >= 0; --input) { // the first of several locations is shown
    int64_t at = map.apply(static_cast<uint64_t>(input));
    if (at / columns >= made.rows || at % columns >= made.columns) continue;
    HardwareLocation owner = tile.layout.locationOf(static_cast<uint64_t>(input));
    made.owners[static_cast<size_t>(at / columns * made.columns + at % columns)] = {owner.warp, owner.lane, owner.reg};
  }
  return made;
}

} // namespace tilewright::gpu
