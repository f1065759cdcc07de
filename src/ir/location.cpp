#include "ir/location.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tilewright {

FileLineColLoc locationOf(Location location) {
  if (auto fileLoc = dyn_cast<FileLineColLoc>(location)) return fileLoc;
  if (auto named = dyn_cast<NameLoc>(location)) return locationOf(named.getChildLoc());
  if (auto callSite = dyn_cast<CallSiteLoc>(location)) {
    FileLineColLoc callee = locationOf(callSite.getCallee());
    if (callee && !isInLibrary(callee)) return callee;
    FileLineColLoc caller = locationOf(callSite.getCaller());
    return caller ? caller : callee;
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (FileLineColLoc fileLoc = locationOf(part)) return fileLoc;
  return nullptr;
}

bool isInLibrary(FileLineColLoc fileLoc) {
  return fileLoc.getFilename().getValue().starts_with("<prelude>");
}

} // namespace tilewright
