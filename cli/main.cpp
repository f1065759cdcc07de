// The command `tilewright`.

extern "C" int twCommand(int argc, char **argv);

int main(int argc, char **argv) {
  return twCommand(argc, argv);
}
