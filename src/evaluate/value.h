// Compile-time values: what module-level code and constexpr expressions evaluate to.
#pragma once

#include "evaluate/types.h"
#include "support/diagnostics.h"
#include "syntax/ast.h"

#include "llvm/ADT/StringMap.h"

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

namespace tilewright {

class Value;
class Namespace;
struct JitFunction;
struct Builtin; // a row of evaluate/builtins.def

using Int = __int128;

/// As Python prints them: all digits; the shortest text that reads back as the same double ("0.1", "1e-07", "inf").
std::string intToString(Int value);
std::string floatToString(double value);

struct NoneType {
  bool operator==(const NoneType &) const { return true; }
};
struct EllipsisType {
  bool operator==(const EllipsisType &) const { return true; }
};
/// Where the keys of a large set or dict stand, by their hashes.
using KeyIndices = std::unordered_multimap<uint64_t, size_t>;
struct Sequence {
  bool isTuple = true;
  std::vector<Value> items;
  std::vector<std::string> fieldNames; // of a namedtuple or an aggregate
  bool isSet = false;
  KeyIndices places;               // of a set
  std::shared_ptr<Namespace> type; // the class of an instance, where it is known
};
struct Dict {
  std::vector<std::pair<Value, Value>> items;
  KeyIndices places;
};
/// A lambda or a plain function of the module, or a Python callable: called with constexprs, at compile time.
struct Callable {
  virtual ~Callable() = default;
  virtual std::string name() const = 0;
  /// Returns nothing after reporting to `diagnostics`. `call` is where the call stands.
  virtual std::optional<Value> call(const std::vector<Value> &args, const std::vector<std::pair<std::string, Value>> &keywords,
                                    SourceRange call, Diagnostics &diagnostics) const = 0;
  /// The function's source, for a kernel that calls it with run-time values: its statements become the kernel's code.
  /// Null where host code must not be followed this way: only constexpr functions, methods of aggregates and builtins may be.
  virtual std::shared_ptr<const JitFunction> asHelper(Diagnostics &diagnostics) const;
  /// Whether it is an author's function under @tl.core.builtin or @tl.core.extern: it makes code of all its arguments, constants included.
  virtual bool isBuiltin() const { return false; }
  /// As JitFunction::mustUse.
  virtual std::optional<std::string> mustUse() const { return std::nullopt; }
};
/// A value of host code that the compiler does not follow (a PyTorch object, an unknown module). Only a kernel that uses it gets an error.
struct HostValue {
  std::string description;
  std::shared_ptr<const llvm::StringMap<Value>> members; // those that are known of an enum; null for anything else
};

class Value {
public:
  using Storage = std::variant<NoneType, bool, Int, double, std::shared_ptr<const std::string>, std::shared_ptr<const Sequence>,
                               std::shared_ptr<const Dict>, Type, std::shared_ptr<const JitFunction>, const Builtin *,
                               std::shared_ptr<Namespace>, std::shared_ptr<const Callable>, EllipsisType, std::shared_ptr<const HostValue>>;
  Value() = default; // None
  Value(const Value &) = default;
  Value(Value &&) = default;
  Value &operator=(const Value &other);
  Value &operator=(Value &&other);
  ~Value(); // does not recurse deeply, however deeply lists are nested
  static Value none() { return {}; }
  static Value boolean(bool v);
  static Value integer(Int v);
  static Value floating(double v);
  static Value string(std::string v);
  static Value tuple(std::vector<Value> items);
  static Value namedTuple(std::vector<std::string> fieldNames, std::vector<Value> items);
  static Value instance(std::shared_ptr<Namespace> type, std::vector<Value> items);
  static Value list(std::vector<Value> items);
  static Value set(std::vector<Value> items); // equal items once
  static Value dict(std::vector<std::pair<Value, Value>> items);
  static Value type(Type t);
  static Value function(std::shared_ptr<const JitFunction> f);
  static Value builtin(const Builtin *b);
  static Value nameSpace(std::shared_ptr<Namespace> n);
  static Value callable(std::shared_ptr<const Callable> c);
  static Value host(std::string description, std::shared_ptr<const llvm::StringMap<Value>> members = nullptr);
  static Value ellipsis();

  bool isNone() const { return std::holds_alternative<NoneType>(data); }
  const bool *asBool() const { return std::get_if<bool>(&data); }
  const Int *asInt() const { return std::get_if<Int>(&data); } // bool is not an Int here; see toInt
  const double *asFloat() const { return std::get_if<double>(&data); }
  const std::string *asString() const;
  const Sequence *asSequence() const; // tuple or list
  const Dict *asDict() const;
  const Type *asType() const { return std::get_if<Type>(&data); }
  std::shared_ptr<const JitFunction> asFunction() const;
  const Builtin *asBuiltin() const;
  std::shared_ptr<Namespace> asNamespace() const;
  std::shared_ptr<const Callable> asCallable() const;
  const HostValue *asHost() const;
  bool isEllipsis() const { return std::holds_alternative<EllipsisType>(data); }

  std::optional<Int> toInt() const;          // int or bool
  std::optional<double> toDouble() const;    // number of any kind
  bool truth() const;                        // Python's bool(x)
  bool operator==(const Value &other) const; // Python's ==: 1 == 1.0 == True
  /// Python's repr: "1024", "'relu'", "(1, 2)"; types as in signatures. Also what enters cache keys.
  std::string repr() const;
  /// Equal values have equal hashes.
  uint64_t hash() const;
  /// For messages: "an int", "a jit function 'f'", "the module torch".
  std::string describe() const;

private:
  Storage data;
};

/// The place of a key in a set or dict. Changes go through the functions below, which keep `places`.
std::optional<size_t> findItem(const Sequence &set, const Value &item);
std::optional<size_t> findKey(const Dict &dict, const Value &key);
void addItem(Sequence &set, Value item);
void put(Dict &dict, Value key, Value value);
void eraseItem(Sequence &set, size_t at);
void eraseKey(Dict &dict, size_t at);

/// A class that kernels may call: a namedtuple, or an @triton.aggregate with its methods.
struct ClassInfo {
  struct Field {
    std::string name;
    bool isConstexpr = false;
    std::optional<Value> defaultValue;
  };
  std::string name;
  bool isAggregate = false;
  bool hasInitializer = false;                     // __init__ of its own
  std::vector<Field> fields;                       // those of the classes that it inherits from first
  std::vector<std::string> members, staticMembers; // methods
  std::vector<const void *> lineage;               // what identifies the class, then its bases
  std::shared_ptr<const Callable> make;            // Python's own class: makes instances of constants; null where there is none

  bool isA(const ClassInfo &base) const;
  bool isStatic(llvm::StringRef member) const;
  std::vector<std::string> fieldNames() const;
};

/// Something with named members: a module's globals, `tl`, `tl.math`, `torch`, a live Python module.
/// Made by std::make_shared, so that functions defined in it can keep it alive.
class Namespace : public std::enable_shared_from_this<Namespace> {
public:
  virtual ~Namespace() = default;
  /// "triton.language", "kernels/matmul.py"
  virtual std::string path() const = 0;
  /// The member, or nothing where there is none (the caller reports). Errors while evaluating it go to `diagnostics`.
  virtual std::optional<Value> lookup(llvm::StringRef name, Diagnostics &diagnostics) = 0;
  /// All names that may be looked up, for "did you mean".
  virtual std::vector<std::string> names() const { return {}; }
  /// What makes this namespace a class; null for all other namespaces.
  virtual const ClassInfo *classInfo() const { return nullptr; }
};

/// One configuration of @triton.autotune.
struct Config {
  std::vector<std::pair<std::string, Value>> kwargs; // constexpr parameters, in order
  int64_t numWarps = 4, numStages = 3, numCtas = 1;
  std::optional<int64_t> maxnreg;
  bool hasHook = false; // a pre_hook, which only Python can call
};

struct Autotune {
  std::vector<Config> configs;
  std::vector<std::string> key, resetToZero, restoreValue;
  Value earlyPrune, perfModel, topK; // of prune_configs_by; None where it has none
  bool hasHook = false;              // a pre_hook or post_hook
  bool isAuto = false;               // configs="auto": there is no list
};

/// name -> function of a dict of the arguments by name.
using Heuristics = std::vector<std::pair<std::string, Value>>;

/// A function marked @triton.jit: its syntax tree and the scope that its names are looked up in.
struct JitFunction {
  std::string name;
  std::shared_ptr<const ast::Module> module; // keeps `decl` alive
  const ast::FunctionStmt *decl = nullptr;
  std::shared_ptr<Namespace> globals;
  bool noinline_ = false;
  bool anySize = false;               // as a kernel: tiles may have sizes that are no powers of two
  bool isHelper = false;              // Python's own function: its statements are emitted where it is called, so that constants stay such
  std::optional<std::string> mustUse; // what to report where its result is thrown away
  std::vector<std::string> doNotSpecialize, doNotSpecializeOnAlignment;
  std::optional<Autotune> autotune;
  Heuristics heuristics; // outermost last to first: the order in which they are applied

  struct Parameter {
    std::string name;
    bool isConstexpr = false;
    bool isVariadic = false;
    std::optional<Type> annotation; // `x: tl.int64`: the type does not follow the argument
    bool isConst = false;           // `x: tl.const`
    std::optional<Value> defaultValue;
    SourceRange range;
  };
  std::vector<Parameter> parameters;
};

} // namespace tilewright
