// Kernels of the ptx dialect as text, to PTX and through ptxas.
#pragma once

#include "codegen/lower.h"
#include "codegen/ptx/lower.h"
#include "codegen/ptx/text.h"
#include "gpu/machine/ptx.h"
#include "ir/tt.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

namespace tilewright {

inline mlir::MLIRContext &testContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    tt::registerDialects(registry);
    registerCodegenDialects(registry);
    registry.insert<ptx::PtxDialect>();
    auto *created = new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    created->loadAllAvailableDialects();
    return created;
  }();
  return *context;
}

/// PTX of a kernel text, or nothing; `error` is the first diagnostic.
inline std::optional<std::string> compile(const std::string &text, const GpuTarget &target, std::string *error = nullptr,
                                          CodeKind kind = CodeKind::assembly) {
  mlir::ScopedDiagnosticHandler handler(&testContext(), [&](mlir::Diagnostic &diagnostic) {
    if (error && error->empty()) *error = diagnostic.str();
    return error ? mlir::success() : mlir::failure();
  });
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::parseSourceString<mlir::ModuleOp>(text, &testContext(), "test.mlir");
  if (!module || failed(lowerPtxToLlvm(*module, target))) return std::nullopt;
  return generatePtx(*module, target, kind);
}

inline std::string kernel(const std::string &body, const std::string &arguments = "%g: i64",
                          const std::string &launch = "threads = 128, sharedBytes = 0") {
  return "tt.func public @kernel(" + arguments + ") attributes {ptx.kernel = #ptx.kernel<" + launch + ">} {\n" + body +
         "\n  tt.return\n}\n";
}

inline GpuTarget target(const char *name) {
  return *gpuTarget(name);
}

/// The kernel holds the lines on each target, and ptxas takes it without spills or remarks about wgmma.
inline void expectLines(const std::string &text, std::initializer_list<const char *> targets, const std::vector<std::string> &lines) {
  for (const char *name : targets) {
    SCOPED_TRACE(name);
    std::optional<std::string> ptx = compile(text, target(name));
    ASSERT_TRUE(ptx.has_value()) << text;
    for (const std::string &line : lines)
      EXPECT_NE(ptx->find(line), std::string::npos) << line << "\n" << *ptx;
    if (findPtxas().empty()) continue;
    AssemblerProblem problem;
    std::optional<Cubin> cubin = assemblePtx(*ptx, target(name), "", problem);
    ASSERT_TRUE(cubin.has_value()) << problem.text << *ptx;
    EXPECT_EQ(cubin->spillBytes, 0);
    EXPECT_GT(cubin->registers, 0) << cubin->log;
    EXPECT_EQ(cubin->log.find("C75"), std::string::npos) << cubin->log;
  }
}

/// "NAME, NAME, ..." and "TYPE, TYPE, ...".
inline std::string repeat(const std::string &word, int64_t count) {
  std::string text = word;
  for (int64_t i = 1; i < count; ++i)
    text += ", " + word;
  return text;
}

} // namespace tilewright
