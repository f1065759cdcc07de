// The command `tilewright`.

#include <csignal>

extern "C" int twCommand(int argc, char **argv);

int main(int argc, char **argv) {
  std::signal(SIGXFSZ, SIG_IGN); // the write then fails, as on a full disk
  return twCommand(argc, argv);
}
