#include "driver/source.h"

#include "driver/context.h"
#include "driver/diagnose.h"
#include "driver/given_ptx.h"
#include "driver/ir_text.h"
#include "evaluate/module.h"
#include "ir/refusal.h"
#include "ir/tt.h"
#include "support/hash.h"

using namespace mlir;

namespace tilewright {

const SourceFile *KernelSource::file() const {
  if (text) return text->file.get();
  return jit && jit->module ? jit->module->source.get() : nullptr;
}

/// Hashes the parts of an argument that the signature's text lacks: which words are constants (tl.float32 is written like a type), the
/// names of a tuple's members, and the code of functions.
static void addArgument(Hasher &hasher, const ArgumentSpec &spec) {
  if (spec.constant) hasher.add("constant").add(dependencyHash(*spec.constant));
  hasher.addInteger(static_cast<int64_t>(spec.members.size())).addInteger(static_cast<int64_t>(spec.fieldNames.size()));
  for (const std::string &name : spec.fieldNames)
    hasher.add(name);
  for (const ArgumentSpec &member : spec.members)
    addArgument(hasher, member);
}

std::string KernelSource::hash(llvm::ArrayRef<ArgumentSpec> args) const {
  Hasher hasher;
  if (text) return hasher.add("text").add(text->name).add(text->file->text()).hex();
  hasher.add("function").add(jit->name).add(dependencyHash(*jit));
  for (const ArgumentSpec &spec : args)
    addArgument(hasher, spec);
  return hasher.hex();
}

/// Parses the text that replaces `module` and takes its arguments. The attributes of the arguments come from the launch, not from the
/// text.
static OwningOpRef<ModuleOp> overridden(ModuleOp module, const std::string &name, const std::string &text, Diagnostics &diagnostics) {
  std::shared_ptr<const SourceFile> file = SourceFile::create("ir_override", text, 1);
  DiagnosticForwarder errors(*module.getContext(), file.get(), "", diagnostics);
  OwningOpRef<ModuleOp> other = readIrText(*module.getContext(), *file, name, diagnostics);
  if (!other) return nullptr;
  auto wanted = module.lookupSymbol<tt::FuncOp>(name), replacement = other->lookupSymbol<tt::FuncOp>(name);
  if (!wanted || !replacement || wanted.getFunctionType() != replacement.getFunctionType()) {
    diagnostics.error({}, Diag::invalidOption,
                      {"ir_override: the text has no kernel '" + name + "' with the type " + mlirText(wanted.getFunctionType()),
                       "begin with `kernel.asm[\"ttir\"]` of the same launch"});
    return nullptr;
  }
  replacement.setAllArgAttrs(wanted.getAllArgAttrs());
  return other;
}

OwningOpRef<ModuleOp> KernelSource::emit(MLIRContext &context, llvm::ArrayRef<ArgumentSpec> args, const KernelOptions &options,
                                         Diagnostics &diagnostics) const {
  if (text) return readIrText(context, *text->file, text->name, diagnostics);
  OwningOpRef<ModuleOp> module = emitTiles(context, *jit, args, options, diagnostics);
  if (!module || options.overrideText.empty()) return module;
  if (!isPtx(options.overrideText)) return overridden(*module, jit->name, options.overrideText, diagnostics);
  if (options.backend == "cuda") return module; // it replaces the kernel after code generation
  diagnostics.error({}, Diag::invalidOption, {"ir_override: PTX only runs on GPUs", "pass a .ttir file, or launch with tensors on a GPU"});
  return nullptr;
}

//===------------------------------------------------------------------------------------------------------------ IR text

/// The language's type of an argument. Integers in the IR have no sign: they are treated as signed, and a launch may pass either kind.
static std::optional<tilewright::Type> languageTypeOf(mlir::Type type) {
  if (auto pointer = dyn_cast<tt::PointerType>(type)) {
    std::optional<tilewright::Type> element = languageTypeOf(pointer.getPointeeType());
    if (!element) return std::nullopt;
    return tilewright::Type::pointer(*element, false, 1);
  }
  if (auto integer = dyn_cast<IntegerType>(type)) return parseTypeName("i" + std::to_string(integer.getWidth()));
  if (type.isF16()) return tilewright::Type(Scalar::fp16);
  if (type.isBF16()) return tilewright::Type(Scalar::bf16);
  if (type.isF32()) return tilewright::Type(Scalar::fp32);
  if (type.isF64()) return tilewright::Type(Scalar::fp64);
  if (isa<Float8E5M2Type>(type)) return tilewright::Type(Scalar::fp8e5);
  if (isa<Float8E4M3FNType>(type)) return tilewright::Type(Scalar::fp8e4nv);
  if (isa<Float8E5M2FNUZType>(type)) return tilewright::Type(Scalar::fp8e5b16);
  if (isa<Float8E4M3FNUZType>(type)) return tilewright::Type(Scalar::fp8e4b8);
  return std::nullopt;
}

/// "x_ptr" from loc("x_ptr"), where upstream stores the names of arguments; otherwise "arg0".
static std::string parameterName(BlockArgument argument) {
  if (auto named = dyn_cast<NameLoc>(argument.getLoc())) return named.getName().str();
  return "arg" + std::to_string(argument.getArgNumber());
}

static void describe(tt::FuncOp function, IrKernel &kernel) {
  auto face = std::make_shared<JitFunction>();
  face->name = kernel.name = function.getName().str();
  for (auto [index, type] : llvm::enumerate(function.getArgumentTypes())) {
    bool isDescriptor = isa<tt::TensorDescType>(type); // passed as the address of its first element
    JitFunction::Parameter &parameter = face->parameters.emplace_back();
    parameter.name = function.isExternal() ? "arg" + std::to_string(index) : parameterName(function.getArgument(index));
    ArgumentSpec &spec = kernel.specs.emplace_back();
    mlir::Type passed = isDescriptor ? tt::PointerType::get(cast<tt::TensorDescType>(type).getBlockType().getElementType()) : type;
    spec.type = languageTypeOf(passed).value_or(tilewright::Type());
    if (auto promised = function.getArgAttrOfType<IntegerAttr>(index, tt::divisibilityName)) spec.divisibility = promised.getInt();
  }
  kernel.face = std::move(face);
}

std::shared_ptr<const IrKernel> readIrKernel(const std::string &text, const std::string &fileName, const std::string &name,
                                             Diagnostics &diagnostics) {
  auto kernel = std::make_shared<IrKernel>();
  kernel->file = SourceFile::create(fileName, text, 1);
  ContextHold context = ContextHold::any();
  DiagnosticForwarder errors(*context, kernel->file.get(), "", diagnostics);
  OwningOpRef<ModuleOp> module = readIrText(*context, *kernel->file, name, diagnostics);
  if (!module) return nullptr;
  std::string names;
  tt::FuncOp found;
  for (auto function : module->getOps<tt::FuncOp>()) {
    if (!function.isPublic()) continue;
    names += (names.empty() ? "" : ", ") + function.getName().str();
    if (!found) found = function;
  }
  if (!found || names != found.getName()) {
    if (names.empty())
      diagnostics.error({}, Diag::invalidOption, {"'" + fileName + "' has no kernel", "a kernel is a public tt.func"});
    else
      diagnostics.error({}, Diag::invalidOption, {"'" + fileName + "' has several kernels: " + names, "choose one with --kernel NAME"});
    return nullptr;
  }
  describe(found, *kernel);
  return kernel;
}

std::shared_ptr<const IrKernel> dumpedKernel(const std::string &text, const std::string &fileName) {
  auto kernel = std::make_shared<IrKernel>();
  kernel->file = SourceFile::create(fileName, text, 1);
  return kernel;
}

} // namespace tilewright
