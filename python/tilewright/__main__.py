"""python -m tilewright script.py [arguments], or -m module [arguments]: runs Python with `triton` meaning Tilewright."""

import runpy
import sys

from . import _alias

_USAGE = "usage: python -m tilewright [-m module | script.py] [arguments...]"


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        sys.exit(0 if arguments else 2)
    _alias.install()
    if arguments[0] == "-m":
        if len(arguments) < 2:
            sys.exit(_USAGE)
        sys.argv = arguments[1:]
        sys.path.insert(0, "")
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
        return
    sys.argv = arguments
    import os
    sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
    runpy.run_path(arguments[0], run_name="__main__")


main()
