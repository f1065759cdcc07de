#include "api/error.h"

#include "support/bounded_text.h"

using namespace tilewright::api;

/// For failures that find no memory for an error. twErrorFree leaves it. The string holds its short text without memory of its own.
static TwError &errorWithoutMemory() {
  static TwError constant{TW_ERROR_OUT_OF_MEMORY, "out of memory\n"};
  return constant;
}

void tilewright::api::setError(TwError **error, TwErrorCode code, std::string text) noexcept {
  if (!error) return;
  try {
    *error = new TwError{code, tilewright::boundedText(std::move(text), tilewright::maxErrorBytes)};
  } catch (const std::bad_alloc &) {
    *error = &errorWithoutMemory();
  }
}

void tilewright::api::setErrorOfException(TwError **error) noexcept {
  if (!error) return;
  try {
    throw;
  } catch (const std::bad_alloc &) {
    *error = &errorWithoutMemory();
  } catch (const std::exception &exception) {
    try {
      setError(error, TW_ERROR_INTERNAL, std::string("an exception ended the call: ") + exception.what() + "\n");
    } catch (...) {
      *error = &errorWithoutMemory();
    }
  } catch (...) {
    try {
      setError(error, TW_ERROR_INTERNAL, "an exception of unknown type ended the call\n");
    } catch (...) {
      *error = &errorWithoutMemory();
    }
  }
}

extern "C" {

TwErrorCode twErrorCode(const TwError *error) {
  return error ? error->code : TW_ERROR_NONE;
}
const char *twErrorText(const TwError *error) {
  return error ? error->text.c_str() : "";
}
void twErrorFree(TwError *error) {
  if (error != &errorWithoutMemory()) delete error;
}
TwError *twErrorNewWithCode(TwErrorCode code, const char *text) {
  TwError *made = &errorWithoutMemory();
  guarded(&made, 0, [&] {
    setError(&made, code == TW_ERROR_NONE ? TW_ERROR_CALLBACK : code, text ? text : "");
    return 1;
  });
  return made;
}
TwError *twErrorNew(const char *text) {
  return twErrorNewWithCode(TW_ERROR_CALLBACK, text);
}

} // extern "C"
