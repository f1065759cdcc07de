// The arguments of a launch, and their types for the compiler.
//
// A launch has values; the compiler needs types and properties. `Argument` is the host's view (a pointer to fp32, the integer 98432, None);
// `specialize` converts one to the compiler's (`*fp32`, multiple of 16). Both happen on every launch, so nothing here allocates for plain
// pointers, numbers and None.
#pragma once

#include "driver/source.h"
#include "frontend/frontend.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace tilewright {

/// A restriction on the memory of a pointer, which a launch checks before a kernel uses it.
enum class Memory : uint8_t {
  plain,
  readOnly,  // must not be written
  broadcast, // several elements share one address, so writes are meaningless
  absent     // elements without memory: the tensor is only a description
};

/// One value for one kernel parameter.
class Argument {
public:
  enum class Kind : uint8_t { missing, none, boolean, integer, unsignedInteger, floating, pointer, constant, tuple, descriptor };

  /// `missing`: the parameter takes its default.
  Argument() = default;
  static Argument none() { return Argument(Kind::none); }
  static Argument boolean(bool value);
  static Argument integer(int64_t value);
  /// For values from 2^63 on; smaller ones become plain integers.
  static Argument unsignedInteger(uint64_t value);
  static Argument floating(double value);
  /// `bytes`: the size of the memory; 0: unknown. Only reset_to_zero and restore_value need it. `device`: the CUDA device that the memory
  /// belongs to; -1: the host.
  static Argument pointer(void *address, Scalar element, int64_t bytes, int64_t device = -1);
  /// Makes an argument of any compile-time value: numbers, bools and None become the plain kinds; strings, types, functions, tuples stay
  /// constants.
  static Argument constant(Value value);
  static Argument tuple(std::vector<Argument> members, std::vector<std::string> fieldNames);
  /// A tensor descriptor made by the host. `strides` in elements.
  static Argument descriptor(void *base, Scalar element, std::vector<int64_t> shape, std::vector<int64_t> strides,
                             std::vector<int64_t> blockShape, DescriptorMode mode, int64_t bytes, int64_t device = -1);

  void setMemory(Memory memory) { memoryKind = memory; }
  /// Returns the same value as a constant of the compiled code, for any parameter: the meaning of a caller's tl.constexpr.
  Argument fixed() const;
  bool isFixed() const { return isConstexpr; }

  Kind kind() const { return argumentKind; }
  bool isPointer() const { return argumentKind == Kind::pointer; }
  bool isNumber() const { return argumentKind >= Kind::boolean && argumentKind <= Kind::floating; }
  Scalar element() const { return elementKind; }                   // of pointers and descriptors
  void *address() const { return reinterpret_cast<void *>(bits); } // of pointers and descriptors
  int64_t device() const { return deviceOrdinal; }                 // of pointers and descriptors; -1: the host
  int64_t bytes() const { return extent; }
  Memory memory() const { return memoryKind; } // of a tuple: plain if all members are plain
  /// Returns the same argument for a tensor that is empty, or whose elements do not all follow its first one: its memory is [address -
  /// before, address + after).
  Argument reaching(int64_t before, int64_t after) const;
  /// Returns [begin, end) of the memory of a pointer or descriptor, if known.
  std::optional<std::pair<uint64_t, uint64_t>> reach() const;
  int64_t asInteger() const; // of numbers; floats are truncated
  double asDouble() const;   // of numbers
  llvm::ArrayRef<Argument> members() const;
  llvm::ArrayRef<std::string> fieldNames() const;                             // of a namedtuple's members
  llvm::ArrayRef<int64_t> shape() const, strides() const, blockShape() const; // of descriptors
  DescriptorMode descriptorMode() const;
  /// Returns the argument as a compile-time value; null for pointers and descriptors.
  std::optional<Value> value() const;
  /// Returns the type in messages: "int", "pointer<fp32>", "None".
  std::string describe() const;

private:
  struct Payload;
  explicit Argument(Kind kind) : argumentKind(kind) {}
  Kind argumentKind = Kind::missing;
  Scalar elementKind = Scalar::void_;
  Memory memoryKind = Memory::plain;
  bool isConstexpr = false;
  int16_t deviceOrdinal = -1;
  uint64_t bits = 0;
  int64_t extent = 0;
  std::shared_ptr<const Payload> payload;
  friend class KeyWriter;
};

struct NamedArgument {
  llvm::StringRef name;
  Argument value;
};

/// One argument for each parameter, in order; none is missing.
using BoundArguments = llvm::SmallVector<Argument, 24>;

/// Binds positional and named arguments (and defaults) to the parameters. Unknown, repeated and missing ones are errors.
std::optional<BoundArguments> bindArguments(const JitFunction &kernel, llvm::ArrayRef<Argument> positional,
                                            llvm::ArrayRef<NamedArgument> named, Diagnostics &diagnostics);
/// The same, but parameters without a value stay `missing` (a tuner fills them in).
std::optional<BoundArguments> bindKnownArguments(const JitFunction &kernel, llvm::ArrayRef<Argument> positional,
                                                 llvm::ArrayRef<NamedArgument> named, Diagnostics &diagnostics);

/// Returns the compiler's types and properties of the arguments. Null after an error (a float for `x: tl.int32`, a pointer for a
/// constexpr).
std::optional<std::vector<ArgumentSpec>> specialize(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments,
                                                    Diagnostics &diagnostics);

/// True if arguments fit the types that their parameters declare, without a conversion that changes them: an integer is in the type's
/// range, and a pointer leads to elements of this type. False after an error.
bool fitsDeclarations(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics);

/// True if arguments satisfy the assumptions of IR text: their types, and the multiples of addresses and sizes. False after an error.
bool fitsText(const IrKernel &kernel, llvm::ArrayRef<Argument> arguments, Diagnostics &diagnostics);
/// Checks only the multiples, for any compiled kernel.
bool keepsMultiples(const JitFunction &face, llvm::ArrayRef<ArgumentSpec> specs, llvm::ArrayRef<Argument> arguments,
                    Diagnostics &diagnostics);
/// The memory of one pointer or descriptor of a launch, by the name of its parameter: `x`, `xs[1]`.
struct ArgumentMemory {
  std::string name;
  uint64_t begin = 0, end = 0;
  bool isKnown = false; // the begin and end of the memory are known
};
/// Returns one for each pointer and descriptor that reaches the kernel at run time, in order.
std::vector<ArgumentMemory> memoryOfArguments(llvm::ArrayRef<std::string> parameters, llvm::ArrayRef<ArgumentSpec> specs,
                                              llvm::ArrayRef<Argument> arguments);

/// Bytes that are equal exactly if `specialize` returns equal results.
using SpecializationKey = llvm::SmallVector<uint8_t, 256>;
void appendSpecializationKey(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments, SpecializationKey &key);

/// Returns a specialization as text, in the form that parseSignature reads: "x_ptr=*fp32:16, n=i32, BLOCK=1024". It is part of the cache
/// key.
std::string signatureText(const JitFunction &kernel, llvm::ArrayRef<ArgumentSpec> specs);

/// Returns the names of parameters and their compile-time values (numbers, None, constants), for grid functions and heuristics.
Value argumentDict(const JitFunction &kernel, llvm::ArrayRef<Argument> arguments);

} // namespace tilewright
