// Classes whose instances kernels hold: namedtuples, and what @triton.aggregate makes.
#pragma once

#include "evaluate/evaluate.h"

namespace tilewright {

/// The class of a namedtuple: called with its fields, by position or name.
Value namedTupleClass(std::string name, std::vector<std::string> fields, std::vector<MaybeValue> defaults);
/// A class with methods and bases, from its statement. `members` are its functions, decorated; `bases` are classes themselves.
Value sourceClass(ClassInfo info, llvm::StringMap<Value> members, std::vector<std::shared_ptr<Namespace>> bases);
/// Calls a class with constants. An aggregate with an __init__ of its own gives a HostValue: kernels follow that.
MaybeValue makeInstance(const std::shared_ptr<Namespace> &type, const NativeCall &call);

} // namespace tilewright
