// The pass driver alone, for tests of the IR: smaller than the whole command, and quicker to link.
#include "opt.h"

int main(int argc, char **argv) {
  return tilewright::optMain(argc, argv);
}
