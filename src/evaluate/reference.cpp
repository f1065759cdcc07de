// Finds the reference's texts by name. Two forms of text:
//
//   ## exp exp2                       an entry of reference/N_*.txt: names, and below them the text, up to the next line that begins with
//   '#' add_rd add_rn: the sum, ...       a line of reference/libdevice.txt

#include "evaluate/reference.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

namespace tilewright {

static constexpr char entryBytes[] = {
#include "evaluate/reference.inc"
};
static constexpr char libdeviceBytes[] = {
#include "evaluate/libdevice_reference.inc"
};

static void addNames(llvm::StringMap<llvm::StringRef> &texts, llvm::StringRef names, llvm::StringRef text) {
  llvm::SmallVector<llvm::StringRef, 4> split;
  names.split(split, ' ', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef name : split)
    texts[name] = text;
}

static llvm::StringMap<llvm::StringRef> readEntries() {
  llvm::StringMap<llvm::StringRef> texts;
  llvm::StringRef names, rest(entryBytes, sizeof(entryBytes));
  const char *begin = nullptr;
  while (true) {
    bool isHeading = rest.empty() || rest.starts_with("#");
    if (isHeading && begin) addNames(texts, names, llvm::StringRef(begin, static_cast<size_t>(rest.data() - begin)).trim('\n'));
    if (rest.empty()) return texts;
    llvm::StringRef line;
    std::tie(line, rest) = rest.split('\n');
    if (!isHeading) continue;
    bool isEntry = line.consume_front("## ");
    names = line;
    begin = isEntry ? rest.data() : nullptr;
  }
}

static llvm::StringMap<llvm::StringRef> readLibdevice() {
  llvm::StringMap<llvm::StringRef> texts;
  llvm::SmallVector<llvm::StringRef, 0> lines;
  llvm::StringRef(libdeviceBytes, sizeof(libdeviceBytes)).split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (llvm::StringRef line : lines)
    addNames(texts, line.split(": ").first, line.split(": ").second);
  return texts;
}

llvm::StringRef referenceText(llvm::StringRef path) {
  static const llvm::StringMap<llvm::StringRef> texts = readEntries();
  path.consume_front("math."); // tl.math.exp is tl.exp
  return texts.lookup(path);
}

llvm::StringRef libdeviceSummary(llvm::StringRef name) {
  static const llvm::StringMap<llvm::StringRef> texts = readLibdevice();
  return texts.lookup(name);
}

} // namespace tilewright
