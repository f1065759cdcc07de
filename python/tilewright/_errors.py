"""All errors of the compiler and its runtime. Everything may import this; it imports nothing of the package."""

import linecache
import re
import sys
import warnings


class TritonError(Exception):
    pass


class CompilationError(TritonError):
    """`str(e)` is the rendered message: file, line, column, the line itself with a caret, and a hint.

    `error_message` is the bare message. `diagnostics` lists all diagnostics, each a dict with name, severity, message,
    args (the values of the message's placeholders), hint, file, line, column, length, text and notes. `src` is the kernel's source.
    """

    def __init__(self, src=None, node=None, error_message=None, *, rendered=None, diagnostics=()):
        super().__init__(rendered or error_message or "")
        self.src = src
        self.node = node
        self.error_message = error_message
        self.rendered = rendered
        self.diagnostics = list(diagnostics)

    @property
    def message(self):
        return str(self)

    def __str__(self):
        return self.rendered or self.error_message or ""

    def __reduce__(self):
        return _restore, (type(self), self.src, self.error_message, self.rendered, self.diagnostics)


class CompileTimeAssertionFailure(CompilationError):
    """A tl.static_assert that does not hold."""


class UnsupportedLanguageConstruct(CompilationError):
    """Python that kernels cannot use."""


def _restore(kind, src, error_message, rendered, diagnostics):
    return kind(src, None, error_message, rendered=rendered, diagnostics=diagnostics)


_WITHOUT_CAUSE = {"operatorTypes"}  # Python's operators on constants: the message needs no cause
_NAME_ERRORS = {"unknownName", "unboundLocal", "undefinedAfter"}
_OF_FUNCTIONS = {"returnTypes"}  # errors of a function as a whole, not of one of its statements
_DEFINITION = re.compile(r"(\s*)def\s+(\w+)")


def _within_function(record):
    """"at 2:4: in kernel": the place of a diagnostic, counted from the first line of its function; "" if that is not known."""
    lines = linecache.getlines(record["file"])
    for index in range(min(record["line"], len(lines)) - 1, -1, -1):
        found = _DEFINITION.match(lines[index])
        column = record["column"] - 1 - len(found[1]) if found else -1
        if found and (column > 0 or index == record["line"] - 1):
            return f"at {record['line'] - index}:{column}: in {found[2]}"
    return ""


def _with_place(text, record):
    place = _within_function(record)
    return f"{text}\n  {place}" if place else text


def _cause_in_function(record):
    """An error in a function that the kernel calls, with its place: the statement, or the function's first line if the error is of the whole function."""
    text = _with_place(record["message"], record)
    return re.sub(r"(?<=at )\d+:\d+(?=: in \w+$)", "1:0", text) if record["name"] in _OF_FUNCTIONS else text


def compilation_error(rendered, diagnostics, src):
    """The exception for a compilation's diagnostics. Its cause is the bare message of the error, or a NameError if Python would raise one.
    For an error in a function that the kernel calls, the cause is an exception that names the line in that function."""
    errors = [record for record in diagnostics if record["severity"] == "error"]
    first = errors[0]
    name = first["name"].lower()
    kind = CompilationError
    if "assert" in name:
        kind = CompileTimeAssertionFailure
    elif "unsupported" in name or "notbuilt" in name:
        kind = UnsupportedLanguageConstruct
    calls = [note for note in first["notes"] if note["message"] == "called from here"]
    rendered = _with_place(rendered.rstrip("\n"), calls[-1] if calls else first)
    error = kind(src, None, first["message"], rendered=rendered, diagnostics=diagnostics)
    if calls:
        error.__cause__ = CompilationError(src, None, first["message"], rendered=_cause_in_function(first))
    elif first["name"] in _NAME_ERRORS:
        error.__cause__ = NameError(first["args"][0] + " is not defined")
    elif kind is CompilationError and first["name"] not in _WITHOUT_CAUSE:
        error.__cause__ = CompilationError(src, None, first["message"])
    return error


def warn(text):
    """Warns at the user's line that called into the package."""
    frame, level = sys._getframe(1), 2
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in ("tilewright", "triton"):
        frame, level = frame.f_back, level + 1
    warnings.warn(text, UserWarning, stacklevel=level)


class _ToldError(TritonError):
    """An error whose text is the words `_who`, followed by its message."""

    _who = ""

    def __init__(self, error_message=None):
        super().__init__(error_message)

    error_message = property(lambda self: self.args[0])

    def __str__(self):
        return self._who + (self.error_message or "")


class InterpreterError(_ToldError):
    """A kernel did something wrong while the interpreter ran it; the message names the operation's place."""


class PTXASError(_ToldError):
    _who = "PTXAS error: "


class AutotunerError(_ToldError):
    _who = "Autotuner error: "


class OptionError(ValueError, AssertionError):
    """An invalid launch option. It is an AssertionError, too, because upstream asserts that some options are valid."""


class OutOfResources(TritonError):
    """A kernel needs more of a resource than the machine has: raised with (required, limit, name)."""

    def __init__(self, required, limit, name):
        super().__init__(required, limit, name)

    required, limit, name = (property(lambda self, place=place: self.args[place]) for place in range(3))

    def __str__(self):
        return "out of resource: {2}, Required: {0}, Hardware limit: {1}. Reducing block sizes or `num_stages` may help.".format(*self.args)


# The classes are shown under the public module's name.
for _kind, _home in ((TritonError, "errors"), (CompilationError, "compiler.errors"), (CompileTimeAssertionFailure, "compiler.errors"),
                     (UnsupportedLanguageConstruct, "compiler.errors"), (InterpreterError, "runtime.errors"),
                     (OutOfResources, "runtime.errors"), (OptionError, "runtime.errors"), (PTXASError, "runtime.errors"), (AutotunerError, "runtime.errors")):
    _kind.__module__ = f"tilewright.{_home}"
