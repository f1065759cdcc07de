#include "ir/location.h"

#include "mlir/IR/BuiltinAttributes.h"

using namespace mlir;

namespace tilewright {

FileLineColLoc locationOf(Location location) {
  if (auto place = dyn_cast<FileLineColLoc>(location)) return place;
  if (auto named = dyn_cast<NameLoc>(location)) return locationOf(named.getChildLoc());
  if (auto callSite = dyn_cast<CallSiteLoc>(location)) {
    FileLineColLoc callee = locationOf(callSite.getCallee());
    if (callee && !isInLibrary(callee)) return callee;
    FileLineColLoc caller = locationOf(callSite.getCaller());
    return caller ? caller : callee;
  }
  if (auto fused = dyn_cast<FusedLoc>(location))
    for (Location part : fused.getLocations())
      if (FileLineColLoc place = locationOf(part)) return place;
  return nullptr;
}

bool isInLibrary(FileLineColLoc place) {
  return place.getFilename().getValue().starts_with("<prelude>");
}

} // namespace tilewright
