"""The command: profiles a script, or tests, without a change to them.

    python -m triton.profiler.proton -n NAME -k triton script.py ...
    python -m triton.profiler.proton -n NAME pytest ...
"""

import argparse
import os
import runpy
import sys

from tilewright import _alias
from tilewright.profiler import session as sessions


def _run(target, arguments):
    if os.path.basename(target) == "pytest":
        import pytest
        return pytest.main(arguments)
    sys.argv = [target, *arguments]
    sys.path.insert(0, os.path.dirname(os.path.abspath(target)))
    try:
        runpy.run_path(target, run_name="__main__")
    except SystemExit as ended:
        return ended.code
    return 0


def main():
    parser = argparse.ArgumentParser(prog="proton", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("-n", "--name", help="the profile's file, without its ending")
    parser.add_argument("-b", "--backend", help="accepted, but has no effect")
    parser.add_argument("-c", "--context", default="shadow", choices=["shadow", "python"])
    parser.add_argument("-m", "--mode", help="accepted, but has no effect")
    parser.add_argument("-d", "--data", default="tree", choices=["tree", "trace"])
    parser.add_argument("-k", "--hook", choices=["triton"], help="kernels have the metrics that their launch_metadata gives")
    parser.add_argument("target", nargs=argparse.REMAINDER, help="a script with its arguments, or pytest with its own")
    given = parser.parse_args()
    if not given.target:
        parser.error("name a script, or pytest")
    _alias.install()
    sessions.start(given.name, context=given.context, data=given.data, backend=given.backend, mode=given.mode, hook=given.hook)
    sessions.profiled_by_command = True
    try:
        status = _run(given.target[0], given.target[1:])
    finally:
        sessions.profiled_by_command = False
        sessions.finalize()
    sys.exit(status)


if __name__ == "__main__":
    main()
