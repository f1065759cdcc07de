// The functions behind the rows of builtins.def; they live in builtin_*.cpp.
#pragma once

#include "frontend/emit.h"

namespace tilewright {

#define BUILTIN(path, signature, summary, function) Maybe function(Emitter &emitter, Arguments &args);
#include "evaluate/builtins.def"
/// All functions of libdevice.def.
Maybe emitLibdevice(Emitter &emitter, Arguments &args);

} // namespace tilewright
