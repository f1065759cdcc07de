// Classes whose instances kernels use: namedtuples and classes under @triton.aggregate.
#pragma once

#include "evaluate/evaluate.h"

namespace tilewright {

/// The class of a namedtuple: called with its fields, by position or name.
Value namedTupleClass(std::string name, std::vector<std::string> fields, std::vector<MaybeValue> defaults);
/// A class with methods and bases, from its statement. `members` are its functions, decorated; `bases` are classes themselves.
Value sourceClass(ClassInfo info, llvm::StringMap<Value> members, std::vector<std::shared_ptr<Namespace>> bases);
/// Calls a class with constants. An aggregate with its own __init__ gives a HostValue: the front end emits the __init__ in kernels.
MaybeValue makeInstance(const std::shared_ptr<Namespace> &type, const NativeCall &call);

} // namespace tilewright
