// The pass driver alone, for the tests of the IR: smaller and quicker to link than the whole command.
#include "opt.h"

int main(int argc, char **argv) {
  return tilewright::optMain(argc, argv);
}
