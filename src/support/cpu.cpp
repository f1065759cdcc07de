#include "support/cpu.h"

#include "support/target.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/TargetParser/Host.h"

#include <fstream>

namespace tilewright {

namespace {
struct Row {
  const char *llvmName, *name;
  enum { always, ifAllowed, never } use;
};
constexpr Row rows[] = {
    {"avxvnni", "vnni of 32 bytes", Row::always},
    {"avx512vnni", "vnni", Row::always},
    {"avx512bf16", "bf16", Row::always},
    {"avx512fp16", "fp16", Row::never},
    {"amx-bf16", "amx bf16", Row::ifAllowed},
    {"amx-int8", "amx int8", Row::ifAllowed},
    {"amx-fp16", "amx fp16", Row::ifAllowed},
    {"dotprod", "dotprod", Row::always},
    {"bf16", "bf16", Row::always},
    {"i8mm", "i8mm", Row::always},
};

std::string reasonUnused(const Row &row) {
  if (row.use == Row::never) return "unused";
  return row.use == Row::ifAllowed && !mayUseTiles() ? "refused by the system" : "";
}
} // namespace

static std::string modelName() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    auto [name, value] = llvm::StringRef(line).split(':');
    if (name.trim() == "model name") return value.trim().str();
  }
  return "";
}

HostCpuInfo hostCpuInfo() {
  HostCpuInfo host;
  host.model = modelName();
  llvm::StringMap<bool> has = llvm::sys::getHostCPUFeatures();
  for (const Row &row : rows)
    if (has.lookup(row.llvmName)) host.narrow.push_back({row.name, reasonUnused(row)});
  int64_t kilobytes = 0;
  if (std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index3/size"); file >> kilobytes) host.lastLevelBytes = kilobytes * 1024;
  return host;
}

/// True if LLVM's name of a CPU is that of one of AMD's.
static bool isOfAmd(llvm::StringRef cpu) {
  return llvm::any_of(std::initializer_list<llvm::StringRef>{"znver", "bdver", "btver", "amdfam", "barcelona", "k8", "opteron", "athlon"},
                      [&](llvm::StringRef prefix) { return cpu.starts_with(prefix); });
}

// Intel CPUs handle a subnormal result in microcode (1.7 ns for each element). On Zen 5 it takes no longer than a normal one (0.121 ns for
// 16).
bool hasSlowSubnormals(const CpuTarget &target) {
  return target.isa == Isa::x86_64 && !isOfAmd(target.cpu);
}

// Intel CPUs start a division of 16 fp32 numbers every 16 cycles, one of 8 every 5 (uops.info). Three multiplications and a part of a check
// for a group of vectors take less than a third of the former and half of the latter. Zen 4 gains as well (softmax of 256x1024, one thread:
// AVX-512 24.0 to 27.0 GB/s, AVX2 19.1 to 20.6). On Zen 5 a division takes no longer.
bool hasSlowDivision(const CpuTarget &target) {
  if (target.isa != Isa::x86_64) return false;
  return !isOfAmd(target.cpu) || llvm::is_contained({"znver1", "znver2", "znver3", "znver4"}, target.cpu);
}

} // namespace tilewright
