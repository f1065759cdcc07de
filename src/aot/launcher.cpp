// The launcher of a bundle as LLVM IR text. It stores its arguments to eight-byte slots and calls the runtime library:
//
//   int scale(const TwLaunchOptions *options, const float *x, float *out, int32_t n, TwError **error)
//
//   define i32 @scale(ptr %options, ptr %0, ptr %1, i32 %2, ptr %error) {
//     %slots = alloca [3 x i64]
//     ...
//     %done = call i32 @twArtifactLaunch(ptr @artifact, ptr %options, ptr null, ptr %slots, i64 3, ptr %error)
//     ret i32 %done

#include "aot/build.h"
#include "aot_runtime/elements.h"
#include "codegen/ir_object.h"
#include "tilewright/runtime.h"

#include "llvm/ADT/StringExtras.h"

namespace tilewright::aot {

static std::string quoted(llvm::StringRef bytes) {
  std::string text = "c\"";
  for (unsigned char c : bytes) {
    if (llvm::isAlnum(static_cast<char>(c)))
      text += static_cast<char>(c);
    else
      text += "\\" + llvm::utohexstr(c, false, 2);
  }
  return text + "\"";
}

/// Returns LLVM's type of a parameter.
static std::string irType(const Parameter &parameter) {
  if (parameter.isPointer || parameter.element == Element::text) return "ptr";
  const ElementInfo info = infoOf(parameter.element);
  if (info.isFloat) return parameter.element == Element::fp64 ? "double" : "float";
  return "i" + std::to_string(std::max(info.bits, 8));
}

/// Returns instructions that store argument `index` as its slot.
static std::string storeText(const Parameter &parameter, size_t index) {
  std::string number = std::to_string(index), type = irType(parameter), slot = "%slot" + number, text;
  text = "  " + slot + " = getelementptr i64, ptr %slots, i64 " + number + "\n";
  bool isSmallInteger = type == "i8" || type == "i16" || type == "i32";
  if (type == "float") {
    text += "  %bits" + number + " = bitcast float %a" + number + " to i32\n  %wide" + number + " = zext i32 %bits" + number + " to i64\n";
    return text + "  store i64 %wide" + number + ", ptr " + slot + "\n";
  }
  if (!isSmallInteger) return text + "  store " + type + " %a" + number + ", ptr " + slot + "\n";
  bool isUnsigned = std::string_view(infoOf(parameter.element).name).starts_with("u");
  text += "  %wide" + number + " = " + (isUnsigned ? "zext " : "sext ") + type + " %a" + number + " to i64\n";
  return text + "  store i64 %wide" + number + ", ptr " + slot + "\n";
}

/// `isShared`: the linker of an archive decides whether the launcher is exported, so it is protected: calls from the same library reach it
/// even if another library of the process has a kernel of the same name.
static std::string launcherText(const Launcher &launcher, bool isShared) {
  const std::vector<Parameter> &parameters = launcher.bundle.parameters;
  bool givesGrid = launcher.bundle.callerGivesGrid();
  std::string count = std::to_string(parameters.size());
  std::string text = std::string("define ") + (isShared ? "" : "protected ") + "i32 @" + launcher.name + "(ptr %options";
  if (givesGrid) text += ", i64 %x, i64 %y, i64 %z";
  for (auto [i, parameter] : llvm::enumerate(parameters))
    text += ", " + irType(parameter) + " %a" + std::to_string(i);
  text += ", ptr %error) {\n  %slots = alloca [" + count + " x i64], align 8\n";
  if (givesGrid) {
    text += "  %grid = alloca [3 x i64], align 8\n";
    for (size_t i = 0; i < 3; ++i) {
      std::string axis(1, "xyz"[i]);
      text += "  %at_" + axis + " = getelementptr i64, ptr %grid, i64 " + std::to_string(i) + "\n  store i64 %" + axis + ", ptr %at_" +
              axis + "\n";
    }
  }
  for (auto [i, parameter] : llvm::enumerate(parameters))
    text += storeText(parameter, i);
  return text + "  %done = call i32 @twArtifactLaunch(ptr @artifact, ptr %options, ptr " + (givesGrid ? "%grid" : "null") +
         ", ptr %slots, i64 " + count + ", ptr %error)\n  ret i32 %done\n}\n";
}

Result<std::string> launcherObject(const Launcher &launcher, llvm::ArrayRef<std::string> entries, const BuildRequest &request, Isa isa) {
  std::string bytes = encodeBundle(launcher.bundle), list, text = "source_filename = \"launcher\"\n";
  for (const std::string &entry : entries) {
    text += "declare void @" + entry + "(ptr, ptr, i64, i64, ptr)\n";
    list += (list.empty() ? "ptr @" : ", ptr @") + entry;
  }
  std::string size = std::to_string(bytes.size()), count = std::to_string(entries.size());
  text += "@bundle = internal constant [" + size + " x i8] " + quoted(bytes) + ", align 8\n";
  text += "@entries = internal constant [" + count + " x ptr] [" + list + "], align 8\n";
  static_assert(sizeof(TwArtifact) == 48);
  // The launcher uses a private name: another artifact in the process may have a kernel of the same name.
  text += "@artifact = internal global { i64, ptr, i64, ptr, i64, ptr } { i64 48, ptr @bundle, i64 " + size + ", ptr @entries, i64 " +
          count + ", ptr null }, align 8\n@" + launcher.name + "_artifact = alias { i64, ptr, i64, ptr, i64, ptr }, ptr @artifact\n";
  text += "declare i32 @twArtifactLaunch(ptr, ptr, ptr, ptr, i64, ptr)\ndeclare i32 @twArtifactCallFfi(ptr, ptr, i32, ptr)\n";
  text += launcherText(launcher, request.isShared);
  if (request.ffi)
    text += "define i32 @__tvm_ffi_" + launcher.name + "(ptr %self, ptr %arguments, i32 %count, ptr %result) {\n" +
            "  %failed = call i32 @twArtifactCallFfi(ptr @artifact, ptr %arguments, i32 %count, ptr %result)\n" + "  ret i32 %failed\n}\n";
  return objectOfIr(text, isa);
}

} // namespace tilewright::aot
