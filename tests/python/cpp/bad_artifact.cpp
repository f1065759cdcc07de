// Artifacts that are wrong, through their header and by name: prints the code and the text of each error. argv: libraries to open.
#include "scale.h"

#include <cstdio>
#include <vector>

static void report(const char *name, bool done, const TwError *error) {
  std::printf("== %s\n%d %s\n", name, static_cast<int>(twErrorCode(error)), done ? "no error" : twErrorText(error));
}

int main(int argc, char **argv) {
  namespace kernels = tilewright::kernels;
  std::vector<float> x(10, 1), out(10);
  auto show = [](const char *name, const tilewright::runtime::Status &status) {
    std::printf("== %s\n%d %s\n", name, static_cast<int>(status.code()), status ? "no error" : status.text().c_str());
  };
  show("right", kernels::scale(nullptr, x.data(), out.data(), 2, 10, "plain"));
  show("specialization", kernels::scale(nullptr, x.data(), out.data(), 2, 10, "other"));
  TwLaunchOptions options = TW_LAUNCH_OPTIONS_INIT;
  options.useDevice = 1;
  show("machine of the launch", kernels::scale(&options, x.data(), out.data(), 2, 10, "plain"));
  for (int i = 1; i < argc; ++i) {
    TwError *error = nullptr;
    TwLibrary *library = twLibraryOpen(argv[i], &error);
    bool isFound = library && twLibraryFind(library, "scale", &error);
    report(argv[i], isFound, error);
    twErrorFree(error);
    twLibraryClose(library);
  }
}
