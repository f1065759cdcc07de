// The layouts of a kernel as explain shows them: the tiles that have each, how it was chosen, and a picture of which thread holds which
// element.
//     L2  128x256: 256 elements a thread, up to 256 registers; accumulator of wgmma m64n256k16
#pragma once

#include "gpu/ttg/ttg.h"
#include "ir/explanation.h"

namespace tilewright::gpu {

/// An instruction that multiplies: m rows, n columns and k elements along K.
struct MmaInstruction {
  ttg::MmaKind kind = ttg::MmaKind::fma;
  int64_t m = 0, n = 0, k = 0; ///< none for multiply-adds
  std::string format{};        ///< of a dot with scales
  std::string text() const;    ///< "wgmma m64n256k16" (print.cpp)
};

/// What an instruction reads or writes in a layout.
struct LayoutFamily {
  Layout layout;
  const char *part; ///< "operand A"
  MmaInstruction instruction;
};

struct TileUse {
  SourceLine where;
  std::string op;
  std::string type{};
  bool isPlumbing = false; ///< see TileLayouts
  bool isData = true;      ///< not addresses or their indices
};

struct TileLayout {
  Layout layout;
  std::vector<TileUse> uses;
  bool worth = false;      // holds more than addresses and masks
  bool held = false;       // finally in registers: a tile that TMA copies is not
  bool late = false;       // first found after buffers are chosen
  int64_t bits = 0;        // of the widest elements
  std::string choice = {}; // how it was chosen; empty: no class has it
  /// Returns how many registers of a thread the widest elements take, if all of them are live. Narrow ones share a register.
  int64_t registers() const { return std::max<int64_t>(1, layout.registersPerThread() * bits / 32); }
};

/// Numbers the layouts in the order in which they are first found.
class TileLayouts {
public:
  std::vector<TileLayout> all;
  std::vector<LayoutFamily> families;
  bool afterBuffers = false; ///< buffers are chosen: layouts found from now on are `late`

  size_t indexOf(const Layout &layout);
  /// Returns "L1" for the first one.
  static std::string nameOf(size_t index) { return "L" + std::to_string(index + 1); }
  TileLayout &operator[](mlir::Type tile) { return all[indexOf(ttg::layoutOf(tile))]; }
  /// Records that an operation has a tile of this type. `worth`: the layout is worth a picture.
  void addUse(mlir::Type type, TileUse use, bool worth);
  /// Returns the use of a result's type.
  static TileUse useBy(mlir::Operation *op, const SourceLine &where);
  /// True for operations that only broadcast scalars or rows to tiles; the explanation omits them.
  static bool isPlumbing(mlir::Operation *op);

  /// Returns the tiles with the most registers a thread: ptxas does not report which registers it spills.
  RemarkSection spilled() const;
  std::string text(size_t index, bool large) const;
  /// Returns the corner of the tile as a picture, with the lines of `file` that have such tiles.
  LayoutPicture picture(size_t index, llvm::StringRef file) const;

private:
  mutable SourceText source;
};

} // namespace tilewright::gpu
