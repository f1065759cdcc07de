// The error code of each message that a call of the C interface may end with. Messages about the kernel's text are the default.
#include "api/handles.h"

namespace tilewright::api {

namespace {
struct Row {
  Diag id;
  TwErrorCode code;
};
constexpr Row rows[] = {
    {Diag::unknownArgument, TW_ERROR_INVALID_ARGUMENT},
    {Diag::repeatedArgument, TW_ERROR_INVALID_ARGUMENT},
    {Diag::missingArgument, TW_ERROR_INVALID_ARGUMENT},
    {Diag::tooManyArguments, TW_ERROR_INVALID_ARGUMENT},
    {Diag::argumentType, TW_ERROR_INVALID_ARGUMENT},
    {Diag::unsupportedArgument, TW_ERROR_INVALID_ARGUMENT},
    {Diag::constexprArgument, TW_ERROR_INVALID_ARGUMENT},
    {Diag::badGrid, TW_ERROR_INVALID_ARGUMENT},
    {Diag::invalidOption, TW_ERROR_INVALID_ARGUMENT},
    {Diag::launchOption, TW_ERROR_INVALID_ARGUMENT},
    {Diag::guardFailed, TW_ERROR_INVALID_ARGUMENT},
    {Diag::slotMismatch, TW_ERROR_INVALID_ARGUMENT},
    {Diag::configConflict, TW_ERROR_INVALID_ARGUMENT},
    {Diag::tensorNeeded, TW_ERROR_INVALID_ARGUMENT},
    {Diag::tunedWhileTuned, TW_ERROR_INVALID_ARGUMENT},
    {Diag::textArgument, TW_ERROR_INVALID_ARGUMENT},
    {Diag::smallStack, TW_ERROR_INVALID_ARGUMENT},
    {Diag::unknownKernel, TW_ERROR_NOT_FOUND},
    {Diag::notAKernel, TW_ERROR_NOT_FOUND},
    {Diag::moduleNotFound, TW_ERROR_NOT_FOUND},
    {Diag::fileNotFound, TW_ERROR_NOT_FOUND},
    {Diag::readOnlyArgument, TW_ERROR_MEMORY},
    {Diag::broadcastArgument, TW_ERROR_MEMORY},
    {Diag::absentMemory, TW_ERROR_MEMORY},
    {Diag::mixedDevices, TW_ERROR_MEMORY},
    {Diag::noArena, TW_ERROR_OUT_OF_MEMORY},
    {Diag::deviceAssert, TW_ERROR_EXECUTION},
    {Diag::cudaFault, TW_ERROR_EXECUTION},
    {Diag::interruptedLaunch, TW_ERROR_CANCELED},
    {Diag::evaluationTooLong, TW_ERROR_LIMIT},
    {Diag::nestedTooDeeply, TW_ERROR_LIMIT},
    {Diag::stackExhausted, TW_ERROR_LIMIT},
    {Diag::callsTooDeep, TW_ERROR_LIMIT},
    {Diag::kernelTooLarge, TW_ERROR_LIMIT},
    {Diag::kernelTooDeep, TW_ERROR_LIMIT},
    {Diag::unrollCount, TW_ERROR_LIMIT},
    {Diag::evaluationTooLarge, TW_ERROR_LIMIT},
    {Diag::cudaMissing, TW_ERROR_DEVICE},
    {Diag::cudaTooOld, TW_ERROR_DEVICE},
    {Diag::cudaNoDevice, TW_ERROR_DEVICE},
    {Diag::cudaFailed, TW_ERROR_DEVICE},
    {Diag::cpuOperation, TW_ERROR_UNSUPPORTED},
    {Diag::cpuFunction, TW_ERROR_UNSUPPORTED},
    {Diag::notOnGpus, TW_ERROR_UNSUPPORTED},
    {Diag::gpuInstruction, TW_ERROR_UNSUPPORTED},
    {Diag::noBackend, TW_ERROR_UNSUPPORTED},
    {Diag::noClusters, TW_ERROR_UNSUPPORTED},
    {Diag::cudaUnsupported, TW_ERROR_UNSUPPORTED},
    {Diag::outOfResources, TW_ERROR_UNSUPPORTED},
    {Diag::tensorMapRefused, TW_ERROR_UNSUPPORTED},
    {Diag::noInitialConfig, TW_ERROR_UNSUPPORTED},
    {Diag::loadFailed, TW_ERROR_ARTIFACT},
    {Diag::damagedCache, TW_ERROR_ARTIFACT},
    {Diag::cacheUnusable, TW_ERROR_IO},
    {Diag::unsafeCache, TW_ERROR_IO},
    {Diag::tunedFile, TW_ERROR_IO},
    {Diag::assemblerCannotRun, TW_ERROR_IO},
    {Diag::internalError, TW_ERROR_INTERNAL},
    {Diag::assemblerFailed, TW_ERROR_INTERNAL},
    {Diag::invalidTiles, TW_ERROR_INTERNAL},
};
} // namespace

TwErrorCode codeOf(Diag id) {
  for (const Row &row : rows)
    if (row.id == id) return row.code;
  return TW_ERROR_KERNEL;
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
