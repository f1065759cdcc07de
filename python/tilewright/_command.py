"""The command `tilewright` of an installed package. It calls libtilewright, which is in the folder of the extension."""

import ctypes
import os
import sys


def main():
    os.environ.setdefault("TILEWRIGHT_PYTHON", sys.executable)  # for the commands that are written in Python
    if sys.prefix != sys.base_prefix:
        os.environ.setdefault("VIRTUAL_ENV", sys.prefix)  # where the versions of packages are looked up
    library = ctypes.CDLL(os.path.join(os.path.dirname(os.path.abspath(__file__)), "libtilewright.so.0"))
    words = (ctypes.c_char_p * (len(sys.argv) + 1))(*(word.encode() for word in ["tilewright", *sys.argv[1:]]), None)
    sys.exit(library.twCommand(len(sys.argv), words))


if __name__ == "__main__":
    main()
