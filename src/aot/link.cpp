// Writes archives and shared libraries without a linker or another tool: LLVM's archive writer and LLD are libraries.
//
// A shared library needs symbols of the runtime library, and some kernels need libm or libmvec. Their files may be missing on the machine
// that compiles. So empty libraries with their names stand for them: the loader finds the real ones.

#include "aot/build.h"
#include "codegen/ir_object.h"
#include "support/artifact_bytes.h"
#include "support/files.h"
#include "support/temporary_folder.h"

#include "lld/Common/Driver.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ArchiveWriter.h"
#include "llvm/Object/ObjectFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

#include <mutex>
#include <set>

LLD_HAS_DRIVER(elf)

namespace tilewright::aot {

/// Adds the names of the symbols that the objects use and do not define.
static Result<std::set<std::string>> undefinedSymbols(const std::vector<ObjectFile> &objects) {
  std::set<std::string> used, defined;
  for (const ObjectFile &object : objects) {
    auto file = llvm::object::ObjectFile::createELFObjectFile(llvm::MemoryBufferRef(object.bytes, object.name));
    if (!file) return Failure{llvm::toString(file.takeError())};
    for (const llvm::object::SymbolRef &symbol : (*file)->symbols()) {
      llvm::Expected<uint32_t> flags = symbol.getFlags();
      llvm::Expected<llvm::StringRef> name = symbol.getName();
      if (!flags || !name) return Failure{llvm::toString(flags ? name.takeError() : flags.takeError())};
      if (*flags & llvm::object::SymbolRef::SF_Global && !name->empty())
        (*flags & llvm::object::SymbolRef::SF_Undefined ? used : defined).insert(name->str());
    }
  }
  for (const std::string &name : defined)
    used.erase(name);
  return used;
}

/// Returns the library that has a symbol, or null: then no program could load the artifact. Names that begin with two underscores are those
/// of a compiler's run-time library, whose functions differ between systems.
static const char *libraryOf(llvm::StringRef symbol) {
  if (symbol.starts_with("tw")) return "libtilewright_rt.so.0";
  if (symbol.starts_with("_ZGV")) return "libmvec.so.1"; // the vector functions of the C library
  if (symbol.starts_with("_")) return nullptr;
  return llvm::is_contained({"memcpy", "memmove", "memset", "memcmp", "bcmp"}, symbol) ? "libc.so.6" : "libm.so.6";
}

static Result<void> checkSymbols(const std::vector<ObjectFile> &objects) {
  Result<std::set<std::string>> undefined = undefinedSymbols(objects);
  if (!undefined) return Failure{undefined.error()};
  for (const std::string &symbol : *undefined)
    if (!libraryOf(symbol)) return Failure{"the compiled code calls '" + symbol + "', which no library of the system has"};
  return {};
}

Result<std::string> archiveOf(const std::vector<ObjectFile> &objects) {
  if (Result<void> checked = checkSymbols(objects); !checked) return Failure{checked.error()};
  std::vector<llvm::NewArchiveMember> members;
  for (const ObjectFile &object : objects)
    members.emplace_back(llvm::MemoryBufferRef(object.bytes, object.name));
  auto archive = llvm::writeArchiveToBuffer(members, llvm::SymtabWritingMode::NormalSymtab, llvm::object::Archive::K_GNU,
                                            /*Deterministic=*/true, /*Thin=*/false);
  if (!archive) return Failure{llvm::toString(archive.takeError())};
  return (*archive)->getBuffer().str();
}

/// Runs LLD. Its state is global, so one thread links at a time.
static Result<void> link(const std::vector<std::string> &words) {
  static std::mutex lock;
  std::lock_guard<std::mutex> guard(lock);
  std::vector<const char *> arguments;
  for (const std::string &word : words)
    arguments.push_back(word.c_str());
  std::string text;
  llvm::raw_string_ostream out(text);
  lld::Result result = lld::lldMain(arguments, out, out, {{lld::Gnu, &lld::elf::link}});
  if (result.retCode != 0) return Failure{llvm::StringRef(text).trim().str()};
  return {};
}

static Result<void> writeStub(const TemporaryFolder &folder, const std::string &library, const std::vector<std::string> &symbols, Isa isa) {
  std::string text;
  for (const std::string &symbol : symbols)
    text += "define void @" + symbol + "() {\n  ret void\n}\n";
  Result<std::string> object = objectOfIr(text, isa);
  if (!object) return Failure{object.error()};
  if (Result<void> written = folder.write(library + ".o", *object); !written) return written;
  return link({"ld.lld", "-shared", "-soname", library, folder.file(library + ".o"), "-o", folder.file(library)});
}

Result<std::string> sharedLibraryOf(const BuiltArtifact &artifact, const std::string &soname) {
  TemporaryFolder folder;
  if (Result<void> made = folder.made(); !made) return Failure{made.error()};
  if (Result<void> checked = checkSymbols(artifact.objects); !checked) return Failure{checked.error()};
  Result<std::set<std::string>> undefined = undefinedSymbols(artifact.objects);
  if (!undefined) return Failure{undefined.error()};
  std::map<std::string, std::vector<std::string>> libraries;
  for (const std::string &symbol : *undefined)
    libraries[libraryOf(symbol)].push_back(symbol);
  std::string exported = "{\nglobal:\n";
  for (const std::string &symbol : artifact.exports)
    exported += "  " + symbol + ";\n";
  if (Result<void> written = folder.write("exports", exported + "local:\n  *;\n};\n"); !written) return Failure{written.error()};
  std::vector<std::string> words{"ld.lld",
                                 "-shared",
                                 "-soname",
                                 soname,
                                 "--build-id=none",
                                 "--threads=1",
                                 "-z",
                                 "defs",
                                 "-z",
                                 "now",
                                 "-z",
                                 "noexecstack",
                                 "-rpath",
                                 "$ORIGIN",
                                 "--version-script",
                                 folder.file("exports"),
                                 "-o",
                                 folder.file("out")};
  for (const ObjectFile &object : artifact.objects) {
    words.push_back(folder.file(object.name));
    if (Result<void> written = folder.write(object.name, object.bytes); !written) return Failure{written.error()};
  }
  for (const auto &[library, symbols] : libraries) {
    if (Result<void> made = writeStub(folder, library, symbols, artifact.isa); !made) return Failure{made.error()};
    words.push_back(folder.file(library));
  }
  if (Result<void> linked = link(words); !linked) return Failure{linked.error()};
  Result<std::string> bytes = readFile(folder.file("out"));
  if (!bytes) return Failure{"cannot read the temporary file '" + folder.file("out") + "': " + bytes.error()};
  uint64_t sum = checksum(*bytes);
  *bytes += trailerMagic;
  appendNumber(*bytes, sum);
  return bytes;
}

} // namespace tilewright::aot
