"""What the commands that are written in Python share: options, exit statuses, and a standard output for results alone."""

import argparse
import contextlib
import errno
import json
import math
import os
import sys

from .._errors import TritonError

WRONG, OUR_ERROR = 1, 2


class Parser(argparse.ArgumentParser):
    """Errors look, and end, as those of the other commands."""

    def __init__(self, command, **options):
        super().__init__(prog=f"tilewright {command}", formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message):
        fail(message)


def fail(message):
    print(f"tilewright: error: {message}", file=sys.stderr)
    sys.exit(WRONG)


@contextlib.contextmanager
def results_alone():
    """Gives a file for results. What a kernel file, and its kernels, print goes to stderr meanwhile."""
    sys.stdout.flush()
    results = os.fdopen(os.dup(1), "w")
    own = os.dup(1)
    os.dup2(2, 1)
    try:
        yield results
        results.flush()
    finally:
        sys.stdout.flush()
        os.dup2(own, 1)
        os.close(own)
        with contextlib.suppress(OSError):  # what could not be written has been told
            results.close()


def to_json(value):
    """What JSON has no number for is null."""
    if isinstance(value, dict):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, complex):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(value, file):
    print(json.dumps(to_json(value)), file=file)


def run(main):
    """Runs a command; a user's error is one line."""
    try:
        sys.exit(main())
    except TritonError as error:
        fail(str(error))
    except BrokenPipeError:  # nobody reads on
        sys.exit(WRONG)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        fail(f"cannot write the standard output: {error.strerror}")
    except KeyboardInterrupt:
        sys.exit(130)
