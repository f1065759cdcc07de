#include "driver/ir_text.h"

#include "codegen/debug_info.h"
#include "driver/tile_stages.h"
#include "ir/explanation.h"
#include "ir/newer_text.h"
#include "ir/refusal.h"
#include "ir/tt.h"

#include "mlir/IR/AsmState.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace tilewright {

namespace {
/// Finds text on which MLIR's parser would abort the process; compilers do not write such text.
struct Hostile {
  Diag why;
  std::string argument;
  uint32_t at = 0;
};
} // namespace

/// The type after "array" if the parser would accept it without a check of its width, and then fail; otherwise empty.
static std::string hostileArray(llvm::StringRef text) {
  llvm::StringRef type = text.ltrim();
  if (!type.consume_front("<")) return "";
  type = type.ltrim().take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '!' || c == '.'; });
  for (llvm::StringRef known : {"", "i1", "i8", "i16", "i32", "i64", "f32", "f64"})
    if (type == known) return "";
  return "an attribute cannot be an array of " + type.str();
}

/// The parser recurses into brackets, and allocates as many results as a use such as %x#12 implies.
static std::optional<Hostile> hostilePart(llvm::StringRef text) {
  constexpr int64_t maxDepth = 1000, maxResults = 1 << 16;
  int64_t depth = 0;
  // The brackets of types, but not arrows and comparisons.
  auto opensType = [&](size_t at) { return text[at] == '<' && !text.substr(at + 1).starts_with("="); };
  auto closesType = [&](size_t at) {
    return text[at] == '>' && !text.substr(at + 1).starts_with("=") && !text.substr(0, at).ends_with("-");
  };
  for (size_t at = 0; at < text.size(); ++at) {
    char c = text[at];
    if (c == '"') {
      for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
        if (text[at] == '\\') ++at;
    } else if (text.substr(at).starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
    } else if (c == '{' || c == '(' || c == '[' || opensType(at)) {
      if (++depth > maxDepth) return Hostile{Diag::nestedTooDeeply, std::to_string(maxDepth), static_cast<uint32_t>(at)};
    } else if (llvm::isAlpha(c) || c == '_') {
      llvm::StringRef word = text.substr(at).take_while([](char x) { return llvm::isAlnum(x) || x == '_' || x == '.' || x == '$'; });
      std::string problem = word == "array" ? hostileArray(text.substr(at + word.size())) : "";
      if (!problem.empty()) return Hostile{Diag::invalidIr, problem, static_cast<uint32_t>(at)};
      at += word.size() - 1;
    } else if (c == '#') {
      llvm::StringRef number = text.substr(at + 1).take_while(llvm::isDigit);
      uint64_t value = 0;
      if (!number.empty() && (number.getAsInteger(10, value) || value > maxResults))
        return Hostile{Diag::invalidIr, "there is no operation result with the number " + number.str(), static_cast<uint32_t>(at)};
    } else if (c == '}' || c == ')' || c == ']' || closesType(at)) {
      depth = std::max<int64_t>(depth - 1, 0);
    }
  }
  return std::nullopt;
}

/// For operations of unknown dialects, MLIR's error suggests options that this program does not have. So they are accepted at first, and
/// reported afterwards.
static OwningOpRef<ModuleOp> parse(MLIRContext &context, const SourceFile &file) {
  context.allowUnregisteredDialects(true);
  ParserConfig config(&context, /*verifyAfterParse=*/false);
  OwningOpRef<ModuleOp> module = parseSourceString<ModuleOp>(file.text(), config, file.name());
  context.allowUnregisteredDialects(false);
  if (!module || failed(tt::upgrade(*module))) return nullptr;
  auto isForeign = [](Operation *op) {
    auto opaque = [](Type type) { return isa<OpaqueType>(type); };
    return !op->isRegistered() || llvm::any_of(op->getOperandTypes(), opaque) || llvm::any_of(op->getResultTypes(), opaque) ||
           llvm::any_of(op->getAttrs(), [](NamedAttribute attribute) { return isa<OpaqueAttr>(attribute.getValue()); });
  };
  bool foreign = module
                     ->walk([&](Operation *op) {
                       if (!isForeign(op)) return WalkResult::advance();
                       refuse(op, Diag::foreignDialect, {});
                       return WalkResult::interrupt();
                     })
                     .wasInterrupted();
  if (foreign || failed(verify(*module))) return nullptr;
  return module;
}

OwningOpRef<ModuleOp> readIrText(MLIRContext &context, const SourceFile &file, const std::string &name, Diagnostics &diagnostics) {
  if (std::optional<Hostile> found = hostilePart(file.text())) {
    diagnostics.error({&file, found->at, found->at + 1}, found->why, {found->argument});
    return nullptr;
  }
  OwningOpRef<ModuleOp> module;
  if (isTtgir(file.text())) {
    std::optional<std::string> text = withoutLayouts(file, diagnostics);
    if (text) module = parse(context, *SourceFile::create(file.name(), *text, 1));
  } else {
    module = parse(context, file);
  }
  if (!module || name.empty()) return module;
  bool found = false;
  std::string names;
  for (auto function : module->getOps<tt::FuncOp>()) {
    if (!function.isPublic()) continue;
    found |= function.getName() == name;
    names += (names.empty() ? "" : ", ") + function.getName().str();
    if (function.getName() != name) function.setPrivate();
  }
  if (found) return module;
  std::string hint = names.empty() ? "it has no public tt.func" : "its kernels are " + names;
  diagnostics.error({}, Diag::unknownKernel, {name, std::string(file.name()), hint});
  return nullptr;
}

static std::string printed(ModuleOp module, bool named, bool located) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  module->print(stream, OpPrintingFlags().printNameLocAsPrefix(named).enableDebugInfo(located));
  stream << "\n";
  return text;
}

std::string irText(ModuleOp module) {
  return printed(module, true, debugInfoIsOn());
}

std::string locatedIrText(ModuleOp module) {
  return printed(module, true, true);
}

static LinkedText unlinked(llvm::StringRef text) {
  LinkedText linked;
  for (llvm::StringRef line : llvm::split(text.rtrim(), '\n'))
    linked.text.push_back(line.str());
  linked.lines.resize(linked.text.size());
  return linked;
}

LinkedText linkedIrText(ModuleOp module, llvm::StringRef file) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  AsmState::LocationMap locations;
  AsmState state(module, OpPrintingFlags().printNameLocAsPrefix(true), &locations);
  module->print(stream, state);
  LinkedText linked = unlinked(text);
  for (const auto &[op, location] : locations) {
    SourceLine source = sourceLineOf(op->getLoc(), file);
    if (source.file == file && location.first >= 1 && location.first <= linked.lines.size()) linked.lines[location.first - 1] = source.line;
  }
  return linked;
}

LinkedText linkedAssembly(llvm::StringRef assembly, llvm::StringRef file) {
  auto [folder, name] = file.rsplit('/');
  if (name.empty()) name = file;
  llvm::StringSet<> ours; // the file numbers of the kernel's file; PTX lists them at its end
  for (llvm::StringRef text : llvm::split(assembly, '\n'))
    if (llvm::StringRef number = text.trim(); number.consume_front(".file") && number.contains(name))
      ours.insert(number.ltrim().split(' ').first);
  LinkedText linked;
  int64_t line = 0;
  for (llvm::StringRef text : llvm::split(assembly.rtrim(), '\n')) {
    llvm::StringRef word = text.trim(), directive = word;
    if (directive.consume_front(".loc")) {
      auto [number, rest] = directive.ltrim().split(' ');
      if (!ours.contains(number) || rest.split(' ').first.getAsInteger(10, line)) line = 0;
    }
    if (word.starts_with(".loc") || word.starts_with(".file") || word.starts_with(".Ltmp")) continue;
    bool isCode = !word.empty() && !word.starts_with(".") && !word.ends_with(":");
    linked.text.push_back(text.str());
    linked.lines.push_back(isCode ? line : 0);
  }
  return linked;
}

std::string numberedIrText(ModuleOp module) {
  return printed(module, false, debugInfoIsOn());
}

} // namespace tilewright
