"""The parts that commands written in Python share: options, errors, exit statuses, and a standard output for results alone."""

import argparse
import contextlib
import errno
import json
import math
import os
import sys

from .._errors import CompilationError, TritonError

WRONG = 1  # the exit status of a mistake in the input, and of a kernel that is wrong or slower


class CommandError(TritonError):
    """Ends a command with an error. results: a dict of the results that exist so far, which --json prints."""

    def __init__(self, message, results=None):
        super().__init__(message)
        self.results = results or {}


class Parser(argparse.ArgumentParser):
    """A parser whose errors look like those of the other commands, with the same exit status."""

    def __init__(self, command, **options):
        super().__init__(prog=f"tilewright {command}", formatter_class=argparse.RawDescriptionHelpFormatter, **options)

    def error(self, message):
        raise CommandError(message)


@contextlib.contextmanager
def results_alone():
    """Gives a file for results. Within it, all that a kernel file and its kernels print goes to stderr."""
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
        with contextlib.suppress(OSError):  # the error is on stderr
            results.close()


def to_json(value):
    """The value as JSON text; infinities and NaN become null."""
    if isinstance(value, dict):
        return {str(name): to_json(item) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [to_json(item) for item in value]
    if isinstance(value, complex):
        return str(value)
    return None if isinstance(value, float) and not math.isfinite(value) else value


def write_json(value, file):
    print(json.dumps(to_json(value)), file=file)


def write_file(path, text):
    """Replaces the file in one step; a device or a pipe is written to in place. Returns the problem as text, or None."""
    aside = f"{path}.tmp.{os.getpid()}" if os.path.isfile(path) or not os.path.exists(path) else path
    try:
        with open(aside, "w") as file:
            file.write(text)
        if aside != path:
            os.replace(aside, os.path.realpath(path))
    except OSError as error:
        if aside != path and os.path.exists(aside):
            os.unlink(aside)
        return f"cannot write '{path}': {error.strerror}"
    return None


def _diagnostics(error):
    """The compiler's diagnostics, if the error is one of compilation."""
    while error is not None and not isinstance(error, CompilationError):
        error = error.__cause__
    return {"diagnostics": error.diagnostics} if error is not None else {}


def _end(error, as_json):
    print(f"tilewright: error: {error}", file=sys.stderr)
    if as_json:
        with contextlib.suppress(OSError):  # the error is on stderr
            write_json({**getattr(error, "results", {}), "error": str(error), **_diagnostics(error)}, sys.stdout)
            sys.stdout.flush()
    sys.exit(WRONG)


def run(main, words, options=None):
    """Runs a command with the words after its name; returns its exit status. A user's error is one line, and with --json an object as well."""
    as_json = "--json" in (words if options is None else options)
    if sys.stdout is None:  # the shell's >&-
        print("tilewright: error: cannot write the standard output: it is closed", file=sys.stderr)
        sys.exit(WRONG)
    try:
        sys.exit(main(words))
    except TritonError as error:
        _end(error, as_json)
    except BrokenPipeError:  # the reader is gone
        sys.exit(WRONG)
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        _end(CommandError(f"cannot write the standard output: {error.strerror}"), False)
    except KeyboardInterrupt:
        sys.exit(130)
