// Kernels as text for tests of the simulator, and planted mistakes in them.
#pragma once

#include "gpu/machine/ptx.h"
#include "gpu/machine/simulate.h"
#include "ir/tt.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

#include <cstring>

namespace tilewright::gpu {

struct Launch {
  std::vector<uint64_t> slots;
  std::vector<SimulatedTensorMap> maps;
  std::vector<SimulatedMemory> memory;
  std::array<int64_t, 3> grid{1, 1, 1};
  bool checkRaces = false;
  bool tagsArguments = false;
  int64_t ctasPerSM = 1;
  ApproximationError error = ApproximationError::none;
  bool mayFuse = true;

  template <class T> Launch &pointer(std::vector<T> &data) {
    auto begin = reinterpret_cast<uint64_t>(data.data());
    slots.push_back(begin);
    memory.push_back({begin, begin + data.size() * sizeof(T), "argument " + std::to_string(slots.size() - 1)});
    return *this;
  }
  template <class T>
  Launch &map(std::vector<T> &data, MapElement element, std::vector<int64_t> dims, std::vector<int64_t> strides, std::vector<int64_t> box,
              int64_t swizzle) {
    auto begin = reinterpret_cast<uint64_t>(data.data());
    maps.push_back({begin, element, std::move(dims), std::move(strides), std::move(box), swizzle, false});
    memory.push_back({begin, begin + data.size() * sizeof(T), "map " + std::to_string(maps.size() - 1)});
    return *this;
  }
};

/// A kernel of `threads` threads and `shared` bytes; `body` may use %c0, %c1, ... of i32 that it defines itself.
inline std::string kernel(int64_t threads, int64_t shared, const std::string &args, const std::string &body) {
  return "tt.func public @kernel(" + args + ") attributes {ptx.kernel = #ptx.kernel<threads = " + std::to_string(threads) +
         ", sharedBytes = " + std::to_string(shared) + ">} {\n" + body + "\n  tt.return\n}\n";
}

/// Copies a box of 1024 bytes from %in to %base, reported to the mbarrier %bar, which a warp's thread %leader initializes. `barrier` orders
/// that before the copy by %one.
inline std::string loadByTma(const std::string &barrier = "ptx.warp_barrier", const std::string &leader = "%one") {
  return "  ptx.mbarrier_init %bar, 1 if " + leader + "\n  ptx.mbarrier_init_fence\n  " + barrier +
         "\n  ptx.mbarrier_expect %bar, 1024 if %one\n  ptx.tma_load %in [%c0, %c0] to %base, %bar if %one\n";
}

/// Runs once. The answer is the error's message, or nothing.
inline std::string simulateOnce(const std::string &text, const Launch &run, uint64_t seed, AsyncTiming timing) {
  mlir::DialectRegistry registry;
  tt::registerDialects(registry);
  registry.insert<ptx::PtxDialect>();
  mlir::MLIRContext context(registry);
  context.loadAllAvailableDialects();
  std::string problem;
  mlir::ScopedDiagnosticHandler handler(&context, [&](mlir::Diagnostic &diagnostic) { problem += diagnostic.str(); });
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context, "test.mlir");
  if (!module) return "not parsed: " + problem;
  SimulateOptions options;
  options.memory = run.memory;
  options.seed = seed;
  options.timing = timing;
  options.maxSteps = 1'000'000;
  options.checkRaces = run.checkRaces;
  options.tagsArguments = run.tagsArguments;
  options.ctasPerSM = run.ctasPerSM;
  options.error = run.error;
  options.mayFuse = run.mayFuse;
  auto error = simulate(*module, "kernel", run.grid, {run.slots, run.maps}, options);
  return error ? error->message() : "";
}

/// The number of runs of simulateText.
constexpr int32_t ordersOfText = 6;

/// Runs with several seeds, and with asynchronous operations as late and as early as possible, until an error. The answer is its message,
/// or nothing.
inline std::string simulateText(const std::string &text, const Launch &run) {
  std::string message;
  for (uint64_t seed = 0; seed < ordersOfText && message.empty(); ++seed)
    message = simulateOnce(text, run, seed, seed < 4 ? AsyncTiming::random : seed == 4 ? AsyncTiming::late : AsyncTiming::early);
  return message;
}

inline int64_t lineOf(const std::string &text, const std::string &mark) {
  size_t at = text.find(mark);
  return at == std::string::npos ? 0 : 1 + std::count(text.begin(), text.begin() + int64_t(at), '\n');
}

inline void expectError(const std::string &text, const Launch &run, const std::string &words) {
  std::string message = simulateText(text, run);
  EXPECT_NE(message.find(words), std::string::npos) << message;
  int64_t here = lineOf(text, "// HERE"), other = lineOf(text, "// OTHER");
  auto names = [&](int64_t first, int64_t second) { // 0: any
    return (!first || message.starts_with("test.mlir:" + std::to_string(first) + ":")) &&
           (!second || message.find("(other: test.mlir:" + std::to_string(second) + ":") != std::string::npos);
  };
  // Which of two colliding accesses comes last is up to the seed.
  EXPECT_TRUE(names(here, other) || (here && other && names(other, here))) << message;
}

/// The text without its marks, for mistakes elsewhere.
inline std::string unmarked(std::string text) {
  for (const char *mark : {"// HERE", "// OTHER"})
    for (size_t at; (at = text.find(mark)) != std::string::npos;)
      text.erase(at, std::strlen(mark));
  return text;
}

inline std::string without(std::string text, const std::string &line) {
  size_t at = text.find(line);
  EXPECT_NE(at, std::string::npos) << line;
  return text.erase(at, line.size());
}
inline std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

/// Each CTA of one warp does the `work` of %block, with a pointer %out: it asks for another block by launch control until none is left.
inline std::string programLoop(const std::string &work) {
  return kernel(32, 64, "%out: i64",
                R"(
  %base = ptx.shared_base
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c16 = arith.constant 16 : i32
  %true = arith.constant 1 : i1
  %bar = arith.addi %base, %c16 : i32
  %one = ptx.elect
  ptx.mbarrier_init %bar, 1 if %one
  ptx.mbarrier_init_fence
  ptx.warp_barrier
  %first = ptx.block_id 0
  %r:3 = scf.while (%block = %first, %parity = %c0, %more = %true) : (i32, i32, i1) -> (i32, i32, i1) {
    scf.condition(%more) %block, %parity, %more : i32, i32, i1
  } do {
  ^bb0(%block: i32, %parity: i32, %more: i1):
    ptx.mbarrier_expect %bar, 16 if %one
    ptx.clc_try_cancel %base, %bar if %one // HERE)" +
                    work + R"(
    ptx.mbarrier_wait %bar, %parity
    %canceled, %x, %y, %z = ptx.clc_query %base
    ptx.fence_async
    ptx.warp_barrier
    %next = arith.xori %parity, %c1 : i32
    scf.yield %x, %next, %canceled : i32, i32, i1
  })");
}

} // namespace tilewright::gpu
