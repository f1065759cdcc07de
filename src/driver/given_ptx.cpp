#include "driver/given_ptx.h"

#include "llvm/ADT/StringExtras.h"

#include <optional>

namespace tilewright {

namespace {
struct Entry {
  std::string name;
  int64_t parameters = 0;
  std::optional<int64_t> threads; // per CTA: .reqntid
};
} // namespace

bool isPtx(llvm::StringRef text) {
  return text.contains(".entry");
}

/// "... .entry name ( .param ..., .param ... ) .reqntid 128 { ..."
static std::optional<Entry> entryOf(llvm::StringRef text) {
  llvm::StringRef header = text.split(".entry").second.split('{').first;
  auto [name, rest] = header.split('(');
  auto [parameters, directives] = rest.split(")\n");
  Entry entry{name.trim().str(), static_cast<int64_t>(parameters.count(".param ")), {}};
  if (entry.name.empty() || text.count(".entry ") != 1) return std::nullopt;
  int64_t threads = 0;
  if (!directives.split(".reqntid").second.ltrim().consumeInteger(10, threads) && threads > 0) entry.threads = threads;
  return entry;
}

bool takePtx(llvm::StringRef text, GpuArtifact &artifact, Diagnostics &diagnostics) {
  constexpr llvm::StringLiteral advice = "begin with `kernel.asm[\"ptx\"]` of the same launch";
  std::optional<Entry> entry = entryOf(text);
  if (!entry) {
    diagnostics.error({}, Diag::invalidOption, {"ir_override: the PTX must have exactly one kernel", advice.str()});
    return false;
  }
  auto wanted = static_cast<int64_t>(artifact.slots.size() + artifact.maps.size());
  if (entry->parameters < wanted || entry->parameters > wanted + GpuArtifact::scratchParameters) {
    diagnostics.error({}, Diag::invalidOption,
                      {"ir_override: the PTX's kernel '" + entry->name + "' has " + std::to_string(entry->parameters) +
                           " parameters, but the launch passes " + std::to_string(wanted),
                       advice.str()});
    return false;
  }
  artifact.entry = entry->name;
  if (entry->threads) artifact.warps = *entry->threads / 32;
  return true;
}

} // namespace tilewright
