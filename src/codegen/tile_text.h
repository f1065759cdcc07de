// How tl.device_print shows a tile on a CPU: all of it at once, eight numbers a line, aligned, as triton-cpu does.
//
//   (1, 0, 0) x: [ -1,   0,   1,  20,
//                  21, 100]
//
// (Real lines have eight numbers.) A GPU prints one element a line, because nothing there could put the threads' lines together.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <string>

namespace tilewright {

/// How compiled code describes a print: `KIND HEX WIDTH EXTENTS ; PREFIX`, as in "i-32,4,8; x: ".
struct PrintFormat {
  char kind; // f: a double's bits; i, u: an integer; p: an address; n: nothing but the prefix
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
