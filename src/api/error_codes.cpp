// The error code of each message that a call of the C interface may end with. Messages about the kernel's text are the default.
#include "api/handles.h"

namespace tilewright::api {

TwErrorCode codeOf(Diag id) {
  switch (id) {
  case Diag::unknownArgument:
  case Diag::repeatedArgument:
  case Diag::missingArgument:
  case Diag::tooManyArguments:
  case Diag::argumentType:
  case Diag::unsupportedArgument:
  case Diag::constexprArgument:
  case Diag::badGrid:
  case Diag::invalidOption:
  case Diag::launchOption:
  case Diag::guardFailed:
  case Diag::slotMismatch:
  case Diag::configConflict:
  case Diag::tensorNeeded:
  case Diag::tunedWhileTuned:
  case Diag::textArgument:
  case Diag::smallStack: return TW_ERROR_INVALID_ARGUMENT;
  case Diag::unknownKernel:
  case Diag::notAKernel:
  case Diag::moduleNotFound: return TW_ERROR_NOT_FOUND;
  case Diag::fileNotFound: return TW_ERROR_NOT_FOUND;
  case Diag::readOnlyArgument:
  case Diag::broadcastArgument:
  case Diag::absentMemory:
  case Diag::mixedDevices: return TW_ERROR_MEMORY;
  case Diag::noArena: return TW_ERROR_OUT_OF_MEMORY;
  case Diag::deviceAssert:
  case Diag::cudaFault: return TW_ERROR_EXECUTION;
  case Diag::interruptedLaunch: return TW_ERROR_CANCELED;
  case Diag::evaluationTooLong:
  case Diag::evaluationTooLarge: return TW_ERROR_LIMIT;
  case Diag::cudaMissing:
  case Diag::cudaTooOld:
  case Diag::cudaNoDevice:
  case Diag::cudaFailed: return TW_ERROR_DEVICE;
  case Diag::cpuOperation:
  case Diag::cpuFunction:
  case Diag::notOnGpus:
  case Diag::gpuInstruction:
  case Diag::noBackend:
  case Diag::noClusters:
  case Diag::cudaUnsupported:
  case Diag::outOfResources:
  case Diag::tensorMapRefused:
  case Diag::noInitialConfig: return TW_ERROR_UNSUPPORTED;
  case Diag::loadFailed:
  case Diag::damagedCache: return TW_ERROR_ARTIFACT;
  case Diag::cacheUnusable:
  case Diag::unsafeCache:
  case Diag::tunedFile: return TW_ERROR_IO;
  case Diag::internalError:
  case Diag::assemblerFailed:
  case Diag::invalidTiles: return TW_ERROR_INTERNAL;
  default: return TW_ERROR_KERNEL;
  }
}

TwErrorCode codeOf(const Diagnostics &diagnostics) {
  for (const Diagnostic &diagnostic : diagnostics.all())
    if (diagnostic.severity == Severity::error) return codeOf(diagnostic.id);
  return TW_ERROR_INTERNAL;
}

void setError(TwError **error, const Diagnostics &diagnostics) {
  if (error) setError(error, codeOf(diagnostics), diagnostics.render());
}

} // namespace tilewright::api
