#include "cli/object.h"

#include "runtime/kernel.h"
#include "support/c_names.h"
#include "support/hash.h"

#include "llvm/ADT/StringExtras.h"

namespace tilewright {

/// The signature of the kernel as text: "x_ptr=*fp32, n=i32, BLOCK=1024". IR text has its own.
static std::string variantText(const CompileRequest &request) {
  const JitFunction *function = request.kernel.function();
  return function ? signatureText(*function, request.args) : std::string(request.kernel.file()->text());
}

std::string objectSymbol(const CompileRequest &request) {
  const KernelOptions &options = request.options;
  Hasher hasher;
  hasher.add(variantText(request)).add(request.target.name).addInteger(options.numWarps).addInteger(options.numStages);
  hasher.addInteger(options.debug).addInteger(options.fpFusion);
  std::string name;
  for (char c : request.kernel.name()) // Python's letters are those of all scripts
    name += llvm::isAlnum(c) || c == '_' ? std::string(1, c) : "_" + llvm::utohexstr(static_cast<unsigned char>(c));
  return name + "_" + hasher.hex().substr(0, 8);
}

static std::string slotText(SlotKind kind) {
  switch (kind) {
  case SlotKind::pointer: return "an address";
  case SlotKind::f16:
  case SlotKind::bf16: return "16 bits of a float, in the lowest bits";
  case SlotKind::f32: return "a float, as its bits in the lower half";
  case SlotKind::f64: return "a double, as its bits";
  default: return "an integer, extended to 64 bits by its sign";
  }
}

std::optional<std::string> objectHeader(const CompileRequest &request, Diagnostics &diagnostics) {
  std::unique_ptr<CpuArtifact> artifact = compileForCpu(request, diagnostics);
  if (!artifact) return std::nullopt;
  const JitFunction *function = request.kernel.function();
  std::vector<std::string> names = namesOfSlots(*request.kernel.face(), request.args);
  const std::string &symbol = request.symbol;
  std::string guard = llvm::StringRef(symbol).upper() + "_H";
  std::string text = "/* Kernel " + request.kernel.name() + " for cpu:" + request.target.name;
  if (function) text += ": " + commentText(signatureText(*function, request.args));
  text += ".\n * Made by 'tilewright compile --emit header'; the object is that of --emit obj with the same options. */\n";
  text += "#ifndef " + guard + "\n#define " + guard + "\n\n#include <stdint.h>\n\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n";
  text += "/* Bytes of scratch memory that each thread brings: " + std::to_string(artifact->arenaBytes) + ". */\n";
  text += "extern const uint64_t " + symbol + "_scratch_bytes;\n\n";
  text += "/* Runs the programs [first, last) of the grid, x fastest. Each argument takes eight bytes:\n";
  for (size_t i = 0; i < artifact->slots.size(); ++i)
    text +=
        " *   " + std::to_string(i) + "  " + (i < names.size() ? commentText(names[i]) : "") + ": " + slotText(artifact->slots[i]) + "\n";
  text +=
      " * `scratch` is aligned to 64 bytes and belongs to the calling thread; its first 64 bytes are zero when a launch begins. It may be\n"
      " * null if no scratch memory is needed. */\n";
  text += "void " + symbol + "(const uint64_t *arguments, const int32_t grid[3], int64_t first, int64_t last, void *scratch);\n\n";
  text += "#ifdef __cplusplus\n}\n#endif\n\n#endif\n";
  return text;
}

std::optional<std::string> objectSource(const CompileRequest &request, Diagnostics &diagnostics) {
  std::optional<std::string> assembly = emitStage(request, Stage::assembly, diagnostics);
  if (!assembly) return std::nullopt;
  return "/* Kernel " + request.kernel.name() + " for cpu:" + request.target.name +
         ".\n * Made by 'tilewright compile --emit c'; the header is that of --emit header with the same options. */\n" +
         assemblyStatement(*assembly);
}

} // namespace tilewright
