"""python -m tilewright script.py [arguments]: runs Python with Tilewright as `triton`, in the program and in the processes that it starts."""

import linecache
import os
import runpy
import sys
import types

from . import _alias, _traceback, __version__

_USAGE = """usage: python -m tilewright [-m module | -c text | script.py] [arguments...]
       python -m tilewright --version
       python -m tilewright --path      the folder to add to PYTHONPATH for the same effect
       python -m tilewright --include   the folder of the headers for C and C++
       python -m tilewright --library   the library for C and C++
       python -m tilewright --runtime   the runtime library for kernels that were built ahead of time
       python -m tilewright --cmake     the value of -Dtilewright_DIR= for find_package(tilewright)"""

_FILES = {"--include": "include", "--library": "libtilewright.so.0", "--runtime": "libtilewright_rt.so.0", "--cmake": "cmake"}


def _run_text(text):
    # The compiler reads kernels from their source files.
    linecache.cache["<string>"] = (len(text), None, text.splitlines(keepends=True), "<string>")
    code = compile(text, "<string>", "exec")
    main = types.ModuleType("__main__")
    sys.modules["__main__"] = main
    exec(code, vars(main))


def _own_name(module):
    """The name under which Python runs a module: tilewright.X for triton.X."""
    return "tilewright" + module.removeprefix("triton") if module.split(".")[0] == "triton" else module


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(_USAGE)
        sys.exit(0 if arguments else 2)
    if arguments[0] in ("-V", "--version"):
        return print(f"Tilewright {__version__}")
    if arguments[0] == "--path":
        return print(_alias.path())
    if arguments[0] in _FILES:
        return print(os.path.join(os.path.dirname(os.path.abspath(__file__)), _FILES[arguments[0]]))
    if arguments[0] in ("-m", "-c") and len(arguments) < 2:
        sys.exit(_USAGE)
    _alias.install()
    sys.excepthook = _traceback.show
    if arguments[0] == "-m":
        sys.argv = arguments[1:]
        sys.path.insert(0, "")
        runpy.run_module(_own_name(arguments[1]), run_name="__main__", alter_sys=True)
    elif arguments[0] == "-c":
        sys.argv = ["-c", *arguments[2:]]
        sys.path.insert(0, "")
        _run_text(arguments[1])
    else:
        sys.argv = arguments
        sys.path.insert(0, os.path.dirname(os.path.abspath(arguments[0])))
        runpy.run_path(arguments[0], run_name="__main__")


if __name__ == "__main__":
    main()
