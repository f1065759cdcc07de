// A kernel's tt operations as plain data, for programs that inspect kernels without MLIR's classes. Values, blocks and regions are
// numbers. Code generators use it to find the arguments that a kernel writes to.
#pragma once

#include "driver/compile.h"

#include <utility>
#include <variant>

namespace tilewright {

struct TileOperation {
  std::string name; // "tt.store"
  std::vector<int64_t> operands, results, regions;
  std::optional<int64_t> block;                                                             // the block that contains it
  std::vector<std::pair<std::string, std::variant<bool, int64_t, std::string>>> attributes; // those of these types
};

struct TileBlock {
  std::optional<int64_t> region;
  std::vector<int64_t> arguments;
};

struct TileOperations {
  std::string text;                      // the whole module
  std::vector<TileOperation> operations; // the operations in an operation's regions come before it
  std::vector<TileBlock> blocks;
  std::vector<std::vector<int64_t>> shapes; // of all values; empty for values that are not tiles
};

TileOperations operationsOf(mlir::ModuleOp module);
/// The operations as the front end emits them, before simplification. So a store under a constant false condition is included. Null after
/// an error.
std::optional<TileOperations> emittedOperations(const CompileRequest &request, Diagnostics &diagnostics);

} // namespace tilewright
