// The table of builtins as data: names, signatures, summaries. The functions that emit them are bound in emit_builtins.cpp, so that code
// which only asks for names (module scopes, documentation) needs no IR.

#include "evaluate/builtins.h"
#include "evaluate/libdevice.h"
#include "evaluate/reference.h"

#include "llvm/ADT/StringMap.h"

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

  Table() {
    int64_t emitter = 0;
#define BUILTIN(path, signature, summary, function) add(path, signature, summary, emitter++);
#include "evaluate/builtins.def"
    // All libdevice functions share the one emitter behind the table's last; it finds its overloads by the path.
    llvm::ArrayRef<LibraryOverload> overloads = libraryOverloads();
    texts.reserve(2 * overloads.size());
    for (const LibraryOverload &overload : overloads) {
      std::string signature = overload.name.str() + "(";
      for (size_t k = 0; k < overload.parameters.size(); ++k)
        signature += (k ? ", arg" : "arg") + std::to_string(k);
      texts.push_back(signature + ")");
      llvm::StringRef kept = texts.emplace_back("extra.libdevice." + overload.name.str());
      add(kept, texts[texts.size() - 2], libdeviceSummary(overload.name), emitter);
    }
  }
};
} // namespace

static const Table &table() {
  static const Table instance;
  return instance;
}

const Builtin *findBuiltin(llvm::StringRef path) {
  std::string normal;
  for (llvm::StringRef alias : {"extra.cuda.libdevice.", "math.libdevice.", "libdevice."})
    if (path.starts_with(alias)) path = normal = "extra.libdevice." + path.drop_front(alias.size()).str();
  auto found = table().byPath.find(path);
  return found == table().byPath.end() ? nullptr : &table().rows[found->second];
}

std::vector<const Builtin *> allBuiltins() {
  std::vector<const Builtin *> all;
  for (const Builtin &row : table().rows)
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
