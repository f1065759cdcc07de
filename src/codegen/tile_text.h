// The text of tl.device_print for a tile on a CPU: the whole tile, eight numbers per line, aligned, as triton-cpu prints it.
//
//   (1, 0, 0) x: [ -1,   0,   1,  20,
//                  21, 100]
//
// (Actual lines have eight numbers.) A GPU prints one element per line, because its threads' lines cannot be joined.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace tilewright {

/// The description of a print in compiled code: `KIND HEX WIDTH EXTENTS ; PREFIX`, as in "i-32,4,8; x: ".
struct PrintFormat {
  char kind; // f: a double's bits; i, u: an integer; p: an address; n: only the prefix
  bool hex;
  unsigned width; // of the element, in bits
  llvm::SmallVector<int64_t> extents;
  llvm::StringRef prefix;

  int64_t count() const;
};

PrintFormat parsePrintFormat(llvm::StringRef text);

/// The elements of a tile, in order, as text, for a line that already has `indent` characters.
std::string tileText(const PrintFormat &format, llvm::ArrayRef<uint64_t> elements, int64_t indent);

} // namespace tilewright
