// Records a kernel that host code describes call by call (include/tilewright/builder.h) as a syntax tree, the input of the front end.
//
//   C++:   auto mask = i < n;  store(out + i, x, mask);
//   tree:  %4 = %3 < n         %5 = out + %3    tl.store(%5, x, %4)
//
// A variable of the caller is a name of the tree. So the emitter finds the loop-carried values, promotes the types and reports the errors
// as it does for Python. A type of the caller is an annotation, which the emitter checks. Locations are in the caller's source file. The
// first wrong call is recorded, and ends the recording.
#pragma once

#include "support/diagnostics.h"
#include "syntax/ast.h"

#include "llvm/ADT/StringMap.h"

#include <map>

struct TwPlace;

namespace tilewright {

/// A syntax tree whose nodes may have locations in several files.
struct TracedModule : ast::Module {
  std::vector<std::shared_ptr<const SourceFile>> files;
};

class KernelTrace {
public:
  using Id = uint64_t; // of a value; 0: none
  struct Named {
    std::string name; // empty: by position
    Id value;
  };

  KernelTrace(std::string name, SourceRange place, std::shared_ptr<TracedModule> module);

  /// Reports the caller's mistake, unless there was one before.
  void fail(SourceRange place, std::string text, std::string advice);
  Id parameter(const std::string &name, const std::string &annotation, SourceRange place);
  /// Adds a constant. Its node may occur several times in the tree, because nodes never change.
  Id constant(ast::Expr *expr);
  Id tuple(const std::vector<Id> &items);
  Id call(const std::string &path, const std::vector<Named> &arguments, const std::string &type, SourceRange place);
  void run(const std::string &path, const std::vector<Named> &arguments, SourceRange place);
  Id unary(ast::UnaryOp op, Id operand, const std::string &type, SourceRange place);
  Id binary(ast::BinaryOp op, Id left, Id right, const std::string &type, SourceRange place);
  Id compare(ast::CompareOp op, Id left, Id right, const std::string &type, SourceRange place);
  Id logical(bool isAnd, Id left, Id right, const std::string &type, SourceRange place);
  Id item(Id tuple, size_t index, const std::string &type, SourceRange place);
  Id variable(Id value, const std::string &type, SourceRange place);
  void assign(Id variable, Id value, const std::string &type, SourceRange place);

  Id beginFor(const std::vector<Named> &arguments, SourceRange place);
  void beginIf(Id condition, SourceRange place);
  /// Opens the code for one value of a constexpr parameter.
  void beginCase(Id parameter, ast::Expr *value, SourceRange place);
  void beginElse(SourceRange place);
  void beginWhile(SourceRange place);
  void beginBody(Id condition, SourceRange place);
  void exitLoop(bool isBreak, SourceRange place);
  void returns(SourceRange place);
  void end(SourceRange place);
  std::vector<Id> beginFunction(size_t parameters, SourceRange place);
  Id endFunction(const std::vector<Id> &results, SourceRange place);

  void addConfig(ast::Expr *config) { configs.push_back(config); }
  bool anySize = false;                                    // of tiles: not only powers of two
  std::vector<std::string> key, resetToZero, restoreValue; // of the tuner

  /// Returns the finished tree, or null after an error. `end` is for calls of `begin...` without their end.
  std::shared_ptr<const ast::Module> finish();

  TracedModule &tree() { return *module; }
  Diagnostics diagnostics;
  SourceRange place; // of the kernel, and of constants

private:
  /// Why a block is open.
  enum class Block { function, then, otherwise, loop, condition, body };
  struct Open {
    Block kind;
    uint64_t id;
    ast::Block statements;
    ast::Stmt *stmt;
  };
  struct Entry {
    ast::Expr *constant = nullptr; // null for a variable
    std::string name;
    uint64_t block = 0; // in which the variable was made
  };

  /// Returns a node that reads the value; null after an error.
  ast::Expr *use(Id id, SourceRange place);
  ast::Expr *dotted(const std::string &path, SourceRange place);
  ast::CallExpr *callOf(const std::string &path, const std::vector<Named> &arguments, SourceRange place);
  ast::Stmt *assignment(ast::Expr *target, ast::Expr *value, const std::string &type, SourceRange place);
  Id bind(ast::Expr *value, const std::string &type, SourceRange place);
  Id addVariable(std::string name);
  void append(ast::Stmt *stmt) { open.back().statements.push_back(stmt); }
  static constexpr size_t maxDepth = 200; // of nested statements, as in text: later stages recurse
  void push(Block kind, ast::Stmt *stmt);
  ast::Block pop();
  bool isVisible(uint64_t block) const;
  size_t functionDepth() const;
  void allowExits(ast::Stmt *loop);
  ast::Expr *conditionOf(ast::Block statements, ast::Expr *last, SourceRange place);
  void checkTunedNames();
  void decorate();
  template <typename T> T *make(SourceRange range) { return module->make<T>(range); }

  std::shared_ptr<TracedModule> module;
  ast::FunctionStmt *kernel;
  std::vector<Open> open;
  std::vector<Entry> entries;
  std::vector<ast::Expr *> configs;
  uint64_t blocks = 0, names = 0;
};

} // namespace tilewright
