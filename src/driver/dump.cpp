#include "driver/dump.h"

#include "driver/ir_text.h"
#include "support/files.h"

#include "mlir/IR/BuiltinOps.h"

namespace tilewright {

Dump::Dump(std::string into, llvm::StringRef source, llvm::StringRef suffix) : folder(std::move(into)) {
  if (Result<void> made = makeDirectories(folder); !made) failed = "'" + folder + "': " + made.error();
  write("source", suffix, source);
}

void Dump::see(const StepDone &done) {
  ++number;
  if (!done.module) return write(done.step, done.suffix, done.output);
  std::string text = irText(*done.module);
  if (text == before) return;
  before = std::move(text);
  write(done.step, "mlir", before);
}

void Dump::write(llvm::StringRef name, llvm::StringRef suffix, llvm::StringRef bytes) {
  if (!failed.empty()) return;
  std::string count = (number < 10 ? "0" : "") + std::to_string(number);
  std::string path = folder + "/" + count + "_" + name.str() + "." + suffix.str();
  if (Result<void> done = writeFileAtomically(path, bytes); !done) failed = "'" + path + "': " + done.error();
}

} // namespace tilewright
