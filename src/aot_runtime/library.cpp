// Opens shared libraries of `tilewright build`. The loader would crash on a truncated file, so the file is checked first.

#include "aot_runtime/bundle.h"
#include "aot_runtime/kernel.h"
#include "support/artifact_bytes.h"
#include "support/files.h"
#include "support/shared_library.h"

#include "llvm/ADT/STLExtras.h"

#include <dlfcn.h>
#include <mutex>
#include <utility>
#include <vector>

using namespace tilewright;
using namespace tilewright::aot;

struct TwLibrary {
  void *handle = nullptr;
  std::string path;
  std::mutex lock = {};                                        // of the next one
  std::vector<std::pair<TwArtifact *, Kernel *>> kernels = {}; // that twLibraryFind has decoded
};

/// Returns the reason why the file is not a shared library of this machine with all its bytes, or an empty text.
static std::string problemOfFile(std::string_view bytes) {
  if (Result<void> checked = checkSharedLibrary(bytes, bytes.size()); !checked) return checked.error();
  if (bytes.size() < trailerBytes || bytes.substr(bytes.size() - trailerBytes, trailerMagic.size()) != trailerMagic)
    return "it is truncated, or was not written by tilewright build";
  std::string_view content = bytes.substr(0, bytes.size() - trailerBytes);
  if (numberAt(bytes, bytes.size() - 8) != checksum(content)) return "its checksum is wrong";
  return "";
}

extern "C" {

TwLibrary *twLibraryOpen(const char *path, TwError **error) {
  return api::guarded<TwLibrary *>(error, nullptr, [&]() -> TwLibrary * {
    auto fail = [&](TwErrorCode code, const std::string &reason) {
      api::setError(error, code, "cannot open the artifact '" + std::string(path ? path : "") + "': " + reason + "\n");
      return nullptr;
    };
    if (!path) return fail(TW_ERROR_INVALID_ARGUMENT, "its path is null");
    Result<std::string> bytes = readRegularFile(path); // the loader takes no other kinds
    if (!bytes) return fail(TW_ERROR_IO, bytes.error());
    if (std::string problem = problemOfFile(*bytes); !problem.empty()) return fail(TW_ERROR_ARTIFACT, problem);
    std::string name = path;
    if (name.find('/') == std::string::npos) name = "./" + name; // the loader would search its own folders
    void *handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (!handle) {
      const char *reason = ::dlerror();
      return fail(TW_ERROR_ARTIFACT, reason ? reason : "the loader refuses it");
    }
    return new TwLibrary{handle, path};
  });
}

TwArtifact *twLibraryFind(TwLibrary *library, const char *kernel, TwError **error) {
  return api::guarded<TwArtifact *>(error, nullptr, [&]() -> TwArtifact * {
    if (!library || !kernel) {
      api::setError(error, TW_ERROR_INVALID_ARGUMENT, "there is no library, or no name: it is null\n");
      return nullptr;
    }
    void *found = ::dlsym(library->handle, (std::string(kernel) + "_artifact").c_str());
    if (!found) {
      api::setError(error, TW_ERROR_NOT_FOUND, "there is no kernel '" + std::string(kernel) + "' in '" + library->path + "'\n");
      return nullptr;
    }
    auto *artifact = static_cast<TwArtifact *>(found);
    Problem problem;
    if (Kernel *decoded = Kernel::of(artifact, problem)) {
      std::lock_guard<std::mutex> guard(library->lock);
      if (std::pair entry(artifact, decoded); !llvm::is_contained(library->kernels, entry)) library->kernels.push_back(entry);
      return artifact;
    }
    api::setError(error, problem.code, std::move(problem.text));
    return nullptr;
  });
}

void twLibraryClose(TwLibrary *library) {
  if (!library) return;
  ::dlclose(library->handle);
  // The loader keeps a library that is also open elsewhere, and then its kernels are still in use.
  Dl_info info;
  for (auto [artifact, kernel] : library->kernels)
    if (!::dladdr(artifact, &info)) delete kernel;
  delete library;
}

} // extern "C"
