// The table of builtins as data: names, signatures, summaries. The functions that emit them are bound in emit_builtins.cpp, so that code
// which only asks for names (module scopes, documentation) needs no IR.

#include "evaluate/builtins.h"
#include "evaluate/libdevice.h"
#include "evaluate/reference.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/Twine.h"

namespace tilewright {

llvm::ArrayRef<LibraryOverload> libraryOverloads() {
  static constexpr LibraryOverload rows[] = {
#define LIBDEVICE(name, result, parameters, symbol, definition) {name, result, parameters, symbol, definition},
#include "evaluate/libdevice.def"
  };
  return rows;
}

namespace {
struct Table {
  std::vector<Builtin> rows;
  llvm::StringMap<int64_t> byPath;
  std::vector<std::string> texts; // signatures and paths made here; reserved in advance, so that references to them stay valid

  void add(llvm::StringRef path, llvm::StringRef signature, llvm::StringRef summary, int64_t emitter) {
    if (!byPath.try_emplace(path, static_cast<int64_t>(rows.size())).second) return; // another overload of a libdevice function
    rows.push_back({path, signature, summary, emitter});
  }
  const Builtin *find(llvm::StringRef path) const {
    auto found = byPath.find(path);
    return found == byPath.end() ? nullptr : &rows[found->second];
  }
};
} // namespace

static const Table &language() {
  static const Table table = [] {
    Table made;
    int64_t emitter = 0;
#define BUILTIN(path, signature, summary, function) made.add(path, signature, summary, emitter++);
#include "evaluate/builtins.def"
    return made;
  }();
  return table;
}

constexpr llvm::StringLiteral libdevicePath = "extra.libdevice.";

/// A separate table, built on the first use of libdevice. All its functions share one emitter, whose index follows the language's last. The
/// emitter finds the overloads by the path.
static const Table &libdevice() {
  static const Table table = [] {
    Table made;
    constexpr int64_t emitter = 0
#define BUILTIN(path, signature, summary, function) +1
#include "evaluate/builtins.def"
        ;
    llvm::ArrayRef<LibraryOverload> overloads = libraryOverloads();
    made.texts.reserve(2 * overloads.size());
    for (const LibraryOverload &overload : overloads) {
      std::string signature = overload.name.str() + "(";
      for (size_t k = 0; k < overload.parameters.size(); ++k)
        signature += (k ? ", arg" : "arg") + std::to_string(k);
      made.texts.push_back(signature + ")");
      llvm::StringRef kept = made.texts.emplace_back((llvm::Twine(libdevicePath) + overload.name).str());
      made.add(kept, made.texts[made.texts.size() - 2], libdeviceSummary(overload.name), emitter);
    }
    return made;
  }();
  return table;
}

const Builtin *findBuiltin(llvm::StringRef path) {
  for (llvm::StringRef alias : {"extra.cuda.libdevice.", "math.libdevice.", "libdevice."})
    if (path.starts_with(alias)) return libdevice().find((llvm::Twine(libdevicePath) + path.drop_front(alias.size())).str());
  return path.starts_with(libdevicePath) ? libdevice().find(path) : language().find(path);
}

std::vector<const Builtin *> allBuiltins() {
  std::vector<const Builtin *> all;
  for (const Table *table : {&language(), &libdevice()})
    for (const Builtin &row : table->rows)
      all.push_back(&row);
  return all;
}

llvm::StringRef libdeviceSource() {
  static constexpr char text[] = {
#include "evaluate/libdevice.inc"
  };
  return llvm::StringRef(text, sizeof(text));
}

llvm::StringRef preludeSource() {
  static constexpr char text[] = {
#include "evaluate/prelude.inc"
  };
  return llvm::StringRef(text, sizeof(text));
}

} // namespace tilewright
