"""What is wrong with a kernel, as an exception that shows where."""

from ..errors import TritonError


class CompilationError(TritonError):
    """`str(e)` is the rendered message: file, line, column, the line itself with a caret, and what to do.

    `error_message` is the bare message, `diagnostics` all that was reported, each a dict with name, severity, message,
    hint, file, line, column, length, text and notes. `src` is the kernel's source.
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


def compilation_error(rendered, diagnostics, src):
    """The exception for a compilation's diagnostics; the bare message of the innermost one is its cause."""
    errors = [record for record in diagnostics if record["severity"] == "error"]
    first = errors[0]
    name = first["name"].lower()
    kind = CompilationError
    if "assert" in name:
        kind = CompileTimeAssertionFailure
    elif "unsupported" in name or "notbuilt" in name:
        kind = UnsupportedLanguageConstruct
    error = kind(src, None, first["message"], rendered=rendered.rstrip("\n"), diagnostics=diagnostics)
    error.__cause__ = CompilationError(src, None, first["message"])
    return error
