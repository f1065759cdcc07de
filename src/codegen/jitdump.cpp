// The format is specified in tools/perf/Documentation/jitdump-specification.txt: a header, then records, all in the machine's byte order.
// Times are from CLOCK_MONOTONIC, which perf uses with -k mono.
#include "codegen/jitdump.h"

#include "support/files.h"
#include "support/target.h"

#include "llvm/DebugInfo/DWARF/DWARFContext.h"
#include "llvm/Object/ObjectFile.h"

#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <mutex>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace llvm;

namespace tilewright {

static uint64_t nanoseconds() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  return uint64_t(now.tv_sec) * 1'000'000'000 + uint64_t(now.tv_nsec);
}

namespace {

enum RecordKind : uint32_t { codeLoad = 0, debugInfo = 2 };

/// Bytes of one record.
class Record {
public:
  explicit Record(RecordKind kind) {
    add(uint32_t(kind));
    add(uint32_t(0)); // its size, filled in at the end
    add(nanoseconds());
  }
  template <typename Number> void add(Number number) { bytes.append(reinterpret_cast<const char *>(&number), sizeof(number)); }
  void add(const std::string &text) { bytes.append(text.c_str(), text.size() + 1); }
  void addCode(const LoadedFunction &function) {
    bytes.append(reinterpret_cast<const char *>(function.begin), function.end - function.begin);
  }
  std::string take() {
    auto size = static_cast<uint32_t>(bytes.size());
    bytes.replace(4, 4, reinterpret_cast<const char *>(&size), 4);
    return std::move(bytes);
  }

private:
  std::string bytes;
};

/// Returns $JITDUMPDIR, or the folder under ~/.debug that perf and its agents use. perf finds a dump through its mapping, in any folder.
std::string dumpFolder() {
  if (const char *named = std::getenv("JITDUMPDIR"); named && *named) return named;
  if (const char *home = std::getenv("HOME"); home && *home)
    if (std::string folder = std::string(home) + "/.debug/jit"; makePrivateDirectories(folder)) return folder;
  std::string folder = "/tmp/tilewright-jit-XXXXXX";
  return ::mkdtemp(folder.data()) ? folder : "";
}

/// Opens a new file. A file of an earlier process with this id is removed; links and files of other users are not touched.
int openFresh(const std::string &path) {
  struct stat status{};
  if (::lstat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == ::geteuid()) ::unlink(path.c_str());
  return ::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
}

/// The dump of this process. A forked child does not write one: its functions are those of its parent.
class JitDump {
public:
  static JitDump &get() {
    static auto *dump = new JitDump;
    return *dump;
  }

  std::mutex lock;
  uint64_t functions = 0;

  void write(const std::string &bytes) {
    if (file && process == ::getpid()) std::fwrite(bytes.data(), 1, bytes.size(), file), std::fflush(file);
  }

private:
  JitDump() : process(::getpid()) {
    std::string folder = dumpFolder();
    int opened = folder.empty() ? -1 : openFresh(folder + "/jit-" + std::to_string(process) + ".dump");
    file = opened >= 0 ? ::fdopen(opened, "w+") : nullptr;
    if (!file) return;
    constexpr uint32_t magic = 0x4A695444, version = 1, headerBytes = 40;
    constexpr uint32_t machine = hostIsa == Isa::aarch64 ? 183 : 62; // EM_AARCH64, EM_X86_64
    for (uint32_t word : {magic, version, headerBytes, machine, uint32_t(0), static_cast<uint32_t>(process)})
      std::fwrite(&word, 4, 1, file);
    for (uint64_t word : {nanoseconds(), uint64_t(0)})
      std::fwrite(&word, 8, 1, file);
    std::fflush(file);
    // The mapping is never read: perf records it, and so learns the file's name.
    ::mmap(nullptr, static_cast<size_t>(::sysconf(_SC_PAGESIZE)), PROT_READ | PROT_EXEC, MAP_PRIVATE, ::fileno(file), 0);
  }

  std::FILE *file = nullptr;
  pid_t process;
};

struct LineEntry {
  uint64_t address;
  uint32_t line;
  std::string file;
};

} // namespace

/// The line table of an object whose sections are loaded at these addresses.
static std::vector<LineEntry> linesOf(const std::string &bytes, ArrayRef<LoadedSection> sections) {
  std::vector<LineEntry> lines;
  Expected<std::unique_ptr<object::ObjectFile>> object = object::ObjectFile::createObjectFile(MemoryBufferRef(bytes, "kernel"));
  if (!object) return consumeError(object.takeError()), lines;
  std::vector<uint64_t> addresses; // by the section's index in the object
  for (const object::SectionRef &section : (*object)->sections()) {
    Expected<StringRef> name = section.getName();
    uint64_t address = 0;
    for (const LoadedSection &loaded : sections)
      if (name && loaded.name == *name) address = loaded.address;
    if (!name) consumeError(name.takeError());
    addresses.resize(std::max<size_t>(addresses.size(), section.getIndex() + 1));
    addresses[section.getIndex()] = address;
  }
  std::unique_ptr<DWARFContext> context = DWARFContext::create(**object);
  for (const std::unique_ptr<DWARFUnit> &unit : context->compile_units()) {
    const DWARFDebugLine::LineTable *table = context->getLineTableForUnit(unit.get());
    if (!table) continue;
    for (const DWARFDebugLine::Row &row : table->Rows) {
      uint64_t index = row.Address.SectionIndex;
      std::string file;
      bool isKnown =
          index < addresses.size() && addresses[index] && !row.EndSequence && row.Line > 0 &&
          table->getFileNameByIndex(row.File, unit->getCompilationDir(), DILineInfoSpecifier::FileLineInfoKind::AbsoluteFilePath, file);
      if (isKnown) lines.push_back({addresses[index] + row.Address.Address, row.Line, std::move(file)});
    }
  }
  return lines;
}

void appendToJitDump(const std::string &object, const std::vector<LoadedSection> &sections, const std::vector<LoadedFunction> &functions) {
  std::vector<LineEntry> lines = linesOf(object, sections);
  JitDump &dump = JitDump::get();
  std::lock_guard<std::mutex> guard(dump.lock);
  for (const LoadedFunction &function : functions) {
    std::vector<LineEntry> own;
    for (const LineEntry &line : lines)
      if (line.address >= function.begin && line.address < function.end) own.push_back(line);
    if (!own.empty()) {
      Record record(debugInfo);
      record.add(function.begin);
      record.add(uint64_t(own.size()));
      for (const LineEntry &line : own) {
        record.add(line.address);
        record.add(line.line);
        record.add(uint32_t(0)); // discriminator
        record.add(line.file);
      }
      dump.write(record.take());
    }
    Record record(codeLoad);
    record.add(static_cast<uint32_t>(::getpid()));
    record.add(static_cast<uint32_t>(::syscall(SYS_gettid)));
    record.add(function.begin);
    record.add(function.begin);
    record.add(function.end - function.begin);
    record.add(++dump.functions);
    record.add(function.name);
    record.addCode(function);
    dump.write(record.take());
  }
}

} // namespace tilewright
