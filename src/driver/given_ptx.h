// PTX that replaces the compiler's own in a launch (ir_override): the compiler's PTX edited by hand, or upstream's.
#pragma once

#include "support/artifact.h"
#include "support/diagnostics.h"

#include "llvm/ADT/StringRef.h"

namespace tilewright {

/// True if the text of an ir_override is PTX rather than tt IR.
bool isPtx(llvm::StringRef text);
/// Makes `text` the artifact's code, with the kernel's name and number of threads from the text. Its parameters must be those of the
/// artifact, followed by up to `GpuArtifact::scratchParameters` pointers, which are null. False after an error.
bool takePtx(llvm::StringRef text, GpuArtifact &artifact, Diagnostics &diagnostics);

} // namespace tilewright
