// What a kernel does, for programs that look at kernels without MLIR's classes: the operations of its tt IR, where values, blocks and
// regions are numbers. Code generators find out this way which arguments a kernel writes to.
#pragma once

#include "pipeline/compile.h"

#include <utility>
#include <variant>

namespace tilewright {

struct TileOperation {
  std::string name; // "tt.store"
  std::vector<int64_t> operands, results, regions;
  std::optional<int64_t> block;                                                             // that it stands in
  std::vector<std::pair<std::string, std::variant<bool, int64_t, std::string>>> attributes; // those of these types
};

struct TileBlock {
  std::optional<int64_t> region;
  std::vector<int64_t> arguments;
};

struct TileOperations {
  std::string text;                      // the whole module
  std::vector<TileOperation> operations; // those of an operation's regions before itself
  std::vector<TileBlock> blocks;
  std::vector<std::vector<int64_t>> shapes; // of all values; empty for what is no tile
};

TileOperations operationsOf(mlir::ModuleOp module);
/// Those that the front end emits, before anything is simplified: what is stored under a condition that happens to be false for these
/// constants is among them. Nothing after an error.
std::optional<TileOperations> emittedOperations(const CompileRequest &request, Diagnostics &diagnostics);

} // namespace tilewright
