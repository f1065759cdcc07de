// Declares the emitter of each row of builtins.def. Their definitions are in builtin_*.cpp.
#pragma once

#include "frontend/emit.h"

namespace tilewright {

#define BUILTIN(path, signature, summary, function) Maybe function(Emitter &emitter, Arguments &args);
#include "evaluate/builtins.def"
/// Emits a call of any function of libdevice.def.
Maybe emitLibdevice(Emitter &emitter, Arguments &args);

} // namespace tilewright
