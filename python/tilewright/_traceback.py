"""Short tracebacks for users: only the frames of their own files."""

import os
import sys
import traceback

from ._errors import TritonError

_OWN = os.path.dirname(os.path.abspath(__file__)) + os.sep


def _shortened(shown):
    """An exception as text, without the frames that start the program and those of the package."""
    shown.stack = traceback.StackSummary.from_list([frame for frame in shown.stack if not frame.filename.startswith(("<frozen ", _OWN))])
    for chained in (shown.__cause__, shown.__context__):
        if chained is not None:
            _shortened(chained)
    return shown


def show(kind, error, trace):
    """A `sys.excepthook`."""
    shown = _shortened(traceback.TracebackException(kind, error, trace))
    if isinstance(error, TritonError):
        shown.__cause__ = None  # it repeats the message, for programs that catch the exception
    print("".join(shown.format()), end="", file=sys.stderr)
