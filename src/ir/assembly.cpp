#include "ir/assembly.h"

#include "ir/refusal.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace tilewright {

/// Limits far above what kernels need. LLVM's assembler for x86 recurses into parentheses and signs of expressions.
constexpr size_t maxText = 16384, maxNesting = 64, maxConstraints = 1024;
/// In bytes, a cache line. LLVM emits padding up to any alignment, so the alignment needs a limit.
constexpr uint64_t maxAlignment = 64;

AssemblyOperands assemblyOperands(StringRef constraints) {
  AssemblyOperands operands;
  SmallVector<StringRef> all;
  constraints.split(all, ',');
  for (StringRef constraint : all) {
    constraint = constraint.trim();
    if (constraint.consume_front("="))
      operands.outputs.push_back(constraint);
    else if (!constraint.starts_with("~") && (!constraint.empty() || all.size() > 1))
      operands.inputs.push_back(constraint);
  }
  return operands;
}

//===----------------------------------------------------------------------------------------------------- constraints

/// True for the name of a register for integers and addresses, except the stack registers.
static bool isGeneralRegister(StringRef name) {
  StringRef number = name;
  unsigned index = 0;
  if (number.consume_front("r")) {
    number = number.rtrim("dwb");
    if (!number.getAsInteger(10, index)) return index >= 8 && index < 16;
  }
  if (name.size() == 3 && (name.front() == 'e' || name.front() == 'r')) name = name.drop_front();
  return llvm::is_contained({"ax", "bx", "cx", "dx", "si", "di", "al", "bl", "cl", "dl", "sil", "dil"}, name);
}

/// True if an x86 constraint names registers that can hold the type. LLVM does not check all of them: "f" (the x87 stack) and "y" (MMX)
/// crash with some types, "m" as an output with every type.
static bool fitsX86(StringRef name, Type type, bool isOutput) {
  bool isVector = isa<VectorType>(type), isInteger = type.isInteger();
  bool isWide = type.isIntOrFloat() && type.getIntOrFloatBitWidth() >= 32;
  if (llvm::is_contained({"x", "v", "^Yz"}, name)) return isVector || isWide;
  if (isVector) return false;
  if (name == "k") return isInteger;
  if (name == "m" || name == "i" || name == "n" || name == "X") return !isOutput;
  if (llvm::is_contained({"r", "q", "Q", "R", "l", "a", "b", "c", "d", "S", "D", "A"}, name)) return true;
  if (!name.consume_front("{") || !name.consume_back("}")) return false;
  if (isGeneralRegister(name)) return true;
  if (name.consume_front("@cc")) return isOutput && isInteger && !name.empty() && llvm::all_of(name, llvm::isLower);
  unsigned number = 0;
  if (name.consume_front("k")) return isInteger && !name.getAsInteger(10, number) && number > 0 && number < 8;
  return name.consume_front("xmm") && !name.getAsInteger(10, number) && number < 16 && isWide;
}

/// True if an AArch64 constraint names registers that can hold the type.
static bool fitsAarch64(StringRef name, Type type, bool isOutput) {
  bool isVector = isa<VectorType>(type), isWide = type.isIntOrFloat() && type.getIntOrFloatBitWidth() >= 16;
  if (llvm::is_contained({"w", "x", "y"}, name)) return isVector || isWide;
  if (isVector) return false;
  if (name == "m" || name == "i" || name == "n") return !isOutput;
  if (name == "r") return true;
  unsigned number = 0;
  if (!name.consume_front("{") || !name.consume_back("}")) return false;
  bool isGeneral = name.starts_with("x") || name.starts_with("w"), isOfVectors = name.starts_with("v");
  if (name.empty() || name.drop_front().getAsInteger(10, number)) return false;
  return (isGeneral && number < 18) || (isOfVectors && number < 32 && isWide);
}

/// True if the register has the width of the type. ptxas checks the instructions.
static bool fitsPtx(StringRef name, Type type, bool isOutput) {
  if (name == "i" || name == "n") return !isOutput;
  return !isa<VectorType>(type) && llvm::is_contained({"b", "c", "h", "r", "l", "q", "f", "d"}, name);
}

static int64_t bitsOf(Type type) {
  auto vector = dyn_cast<VectorType>(type);
  Type element = getElementTypeOrSelf(type);
  return (vector ? vector.getNumElements() : 1) * (element.isIntOrFloat() ? int64_t(element.getIntOrFloatBitWidth()) : 64);
}

/// Returns the error in one operand's constraint, or "".
static std::string problemOf(AssemblyKind kind, StringRef constraint, Type type, ArrayRef<StringRef> outputs, ArrayRef<Type> types,
                             bool isOutput) {
  size_t tied = 0;
  if (!isOutput && !constraint.empty() && llvm::all_of(constraint, llvm::isDigit)) {
    if (constraint.getAsInteger(10, tied) || tied >= outputs.size()) return "is tied to an output that does not exist";
    bool areIntegers = types[tied].isInteger() && type.isInteger();
    if (areIntegers || types[tied] == type || bitsOf(types[tied]) == bitsOf(type)) return "";
    return "is tied to output " + std::to_string(tied) + ", which has another size: " + mlirText(types[tied]) + ", not " + mlirText(type);
  }
  constraint.consume_front(isOutput ? "&" : "%");
  auto *fits = kind == AssemblyKind::x86 ? fitsX86 : kind == AssemblyKind::aarch64 ? fitsAarch64 : fitsPtx;
  if (fits(constraint, type, isOutput)) return "";
  return "names no register of this target that can hold " + mlirText(type);
}

static LogicalResult checkConstraints(tt::ElementwiseInlineAsmOp op, AssemblyKind kind, ArrayRef<Type> outputs, ArrayRef<Type> inputs) {
  StringRef text = op.getConstraints();
  AssemblyOperands named = assemblyOperands(text);
  auto counts = [](size_t out, size_t in) { return std::to_string(out) + " output and " + std::to_string(in) + " input"; };
  if (named.outputs.size() != outputs.size() || named.inputs.size() != inputs.size())
    return refuse(op, Diag::assemblyOperands,
                  {counts(outputs.size(), inputs.size()), text.str(), counts(named.outputs.size(), named.inputs.size())});
  auto reportConstraint = [&](StringRef constraint, const std::string &why) {
    return refuse(op, Diag::assemblyConstraint, {constraint.str(), why});
  };
  SmallVector<StringRef> all;
  text.split(all, ',');
  if (all.size() > maxConstraints)
    return reportConstraint(text.take_front(40), "is one of more than " + std::to_string(maxConstraints) + " constraints");
  enum { output, input, clobber } last = output;
  for (StringRef constraint : all) {
    constraint = constraint.trim();
    auto kindOf = constraint.starts_with("=") ? output : constraint.starts_with("~") ? clobber : input;
    if (kindOf < last) return reportConstraint(constraint, "is in the wrong order: outputs come first, then inputs, then clobbers");
    last = kindOf;
    if (kindOf != clobber) continue;
    StringRef name = constraint.drop_front();
    bool isName = name.consume_front("{") && name.consume_back("}") && !name.empty() &&
                  llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!isName) return reportConstraint(constraint, "is not a clobber, which is written ~{memory} or ~{rax}");
  }
  for (auto [constraint, type] : llvm::zip(named.outputs, outputs))
    if (std::string why = problemOf(kind, constraint, type, named.outputs, outputs, true); !why.empty())
      return reportConstraint("=" + constraint.str(), why);
  for (auto [constraint, type] : llvm::zip(named.inputs, inputs))
    if (std::string why = problemOf(kind, constraint, type, named.outputs, outputs, false); !why.empty())
      return reportConstraint(constraint, why);
  return success();
}

//===-------------------------------------------------------------------------------------------------------------- text

/// True if the text looks like PTX, where a dot follows an instruction's name (mov.b32) or precedes a declaration (.reg), or a special
/// register such as %smid occurs. No x86 instruction has a dot, and of AArch64's only conditional branches (b.eq).
static bool looksLikePtx(StringRef text) {
  if (text.contains("%globaltimer") || text.contains("%smid") || text.contains("%laneid") || text.contains("%tid.")) return true;
  while (!text.empty()) {
    size_t end = text.find_first_of(";{}\n");
    StringRef statement = text.take_front(end).trim();
    text = end == StringRef::npos ? "" : text.drop_front(end + 1);
    if (statement.starts_with("@")) statement = statement.drop_until(llvm::isSpace).trim(); // a predicate
    StringRef word = statement.take_until(llvm::isSpace);
    if (size_t label = word.find(':'); label != StringRef::npos && !word.drop_front(label).starts_with("::"))
      word = word.drop_front(label + 1);
    if (word == ".reg" || (!word.starts_with(".") && !word.starts_with("b.") && word.contains('.'))) return true;
  }
  return false;
}

/// Returns the error in the text after a "$", or "". Removes that text from the front of `text`.
static std::string referenceProblem(StringRef &text, size_t operands) {
  std::string limit = operands ? "the last one is $" + std::to_string(operands - 1) : "there is none";
  if (text.consume_front("$")) return "";
  bool braced = text.consume_front("{");
  if (braced && (text.consume_front(":uid}") || text.consume_front(":comment}") || text.consume_front(":private}"))) return "";
  StringRef digits = text.take_while(llvm::isDigit);
  if (digits.empty())
    return "a '$' stands before " + (text.empty() ? std::string("the end") : "'" + text.take_front(1).str() + "'") +
           ", not before an operand's number";
  text = text.drop_front(digits.size());
  size_t number = 0;
  if (digits.getAsInteger(10, number) || number >= operands) return "there is no operand $" + digits.take_front(20).str() + ": " + limit;
  if (!braced) return "";
  if (text.consume_front(":")) {
    if (text.empty() || !llvm::isAlpha(text.front())) return "a modifier of an operand is one letter, as in ${0:w}";
    text = text.drop_front();
  }
  return text.consume_front("}") ? "" : "'${' has no '}'";
}

/// Returns the error in the references to operands, or "".
static std::string referencesProblem(StringRef text, size_t operands) {
  if (text.contains('\0')) return "it contains a byte 0";
  while (true) {
    text = text.drop_while([](char c) { return c != '$'; });
    if (!text.consume_front("$")) return "";
    if (std::string why = referenceProblem(text, operands); !why.empty()) return why;
  }
}

/// True if the directive only emits data.
static bool isDataDirective(StringRef name) {
  return llvm::is_contained({".byte", ".short", ".value", ".2byte", ".long", ".int", ".4byte", ".quad", ".8byte"}, name);
}

/// Returns the first directive of a CPU's assembly that is not allowed, or "". Every word that begins with a dot counts as a directive, so
/// that no label, separator or comment hides one. Only .Lname is a label.
static std::string foreignDirective(StringRef text) {
  for (size_t at = text.find('.'); at != StringRef::npos; at = text.find('.', at + 1)) {
    char before = at ? text[at - 1] : ' ';
    if (llvm::isAlnum(before) || before == '_') continue;
    StringRef word = text.substr(at).take_while([](char c) { return llvm::isAlnum(c) || c == '_' || c == '.'; });
    StringRef rest = text.substr(at + word.size());
    if (word.starts_with(".L") || isDataDirective(word.lower())) continue;
    uint64_t bound = 0;
    StringRef number = rest.ltrim(" \t").take_until([](char c) { return c == '\n' || c == ';' || c == '#'; }).trim();
    bool aligns = word == ".align" || word == ".balign" || word == ".p2align";
    if (aligns && !number.getAsInteger(10, bound) && bound <= (word == ".p2align" ? 6 : maxAlignment)) continue;
    return aligns ? (word + " " + number.take_front(40)).str() : word.str();
  }
  return "";
}

/// Returns how deep nested parentheses and consecutive signs make the assembler recurse.
static size_t nestingOf(StringRef text) {
  size_t open = 0, deepest = 0, signs = 0;
  for (char c : text) {
    if (c == '(' || c == '[') ++open;
    if ((c == ')' || c == ']') && open) --open;
    signs = StringRef("-+~!").contains(c) ? signs + 1 : llvm::isSpace(c) ? signs : 0;
    deepest = std::max(deepest, open + signs);
  }
  return deepest;
}

static LogicalResult checkText(tt::ElementwiseInlineAsmOp op, AssemblyKind kind, size_t operands) {
  StringRef text = op.getAsmString();
  auto reportText = [&](const std::string &why) { return refuse(op, Diag::assemblyText, {why}); };
  if (kind != AssemblyKind::ptx && looksLikePtx(text)) return refuse(op, Diag::foreignAssembly, {});
  if (text.size() > maxText) return reportText("it has more than " + std::to_string(maxText) + " characters");
  if (std::string why = referencesProblem(text, operands); !why.empty()) return reportText(why);
  if (kind == AssemblyKind::ptx) return success(); // only ptxas reads it, in a separate process
  if (text.contains('"')) return reportText("it contains a '\"', which neither instructions nor data need");
  if (nestingOf(text) > maxNesting) return reportText("its expressions nest more than " + std::to_string(maxNesting) + " deep");
  if (std::string name = foreignDirective(text); !name.empty()) return refuse(op, Diag::assemblyDirective, {name});
  return success();
}

LogicalResult checkAssembly(tt::ElementwiseInlineAsmOp op, AssemblyKind kind, ArrayRef<Type> outputs, ArrayRef<Type> inputs) {
  if (failed(checkText(op, kind, outputs.size() + inputs.size()))) return failure();
  return checkConstraints(op, kind, outputs, inputs);
}

} // namespace tilewright
