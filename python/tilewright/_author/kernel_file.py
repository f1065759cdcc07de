"""A kernel file: Python that exports

    kernel_fn(*inputs)       the function to verify: host code that launches kernels and returns tensors, or writes to its inputs
    reference_fn(*inputs)    the function that computes the expected results
    get_inputs()             fresh inputs: a list in the order of the parameters, or a dict by their names
"""

import contextlib
import importlib.util
import os
import sys
import traceback

from .. import _alias
from .._errors import TritonError
from . import tensors

_EXPORTS = {"kernel_fn": "the function to verify", "reference_fn": "the function that computes the expected results", "get_inputs": "the inputs of both"}


class KernelFileError(TritonError):
    """A kernel file that cannot be verified, with the reason."""


def describe_exception(error):
    """An exception as text, with its line in the user's files: "ValueError at kernel.py:3: no such shape"."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"SyntaxError at {error.filename}:{error.lineno}: {error.msg}"
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    frames = [frame for frame in traceback.extract_tb(error.__traceback__)
              if not frame.filename.startswith("<frozen ") and not os.path.abspath(frame.filename).startswith(package)]
    place = f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""
    return f"{type(error).__name__}{place}: {error}"


@contextlib.contextmanager
def _blamed(what):
    try:
        yield
    except (KernelFileError, KeyboardInterrupt):
        raise
    except (Exception, SystemExit) as error:
        raise KernelFileError(f"{what} raises {describe_exception(error)}") from error


class KernelFile:
    def __init__(self, path):
        self.path = os.path.abspath(path)
        if not os.path.isfile(self.path):
            raise KernelFileError(f"cannot read '{path}': {'it is a folder' if os.path.isdir(path) else 'there is no such file'}")
        _alias.install()  # the file may say `import triton`
        folder = os.path.dirname(self.path)
        if folder not in sys.path:
            sys.path.insert(0, folder)
        spec = importlib.util.spec_from_file_location(os.path.splitext(os.path.basename(path))[0], self.path)
        if spec is None:
            raise KernelFileError(f"'{path}' is not a Python file: its name must end with .py")
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(spec.name, module)
        with _blamed(f"'{path}'"):
            spec.loader.exec_module(module)
        for name in _EXPORTS:
            if name in vars(module) and not callable(getattr(module, name)):
                raise KernelFileError(f"{name} of '{path}' is a {type(getattr(module, name)).__name__}, and not a function")
        missing = [f"{name}, {meaning}" for name, meaning in _EXPORTS.items() if not hasattr(module, name)]
        if missing:
            raise KernelFileError(f"'{path}' does not define {'; nor '.join(missing)}")
        self.kernel_fn, self.reference_fn, self._get_inputs = module.kernel_fn, module.reference_fn, module.get_inputs

    def inputs(self):
        """Fresh inputs as a dict: from names, or positions, to values."""
        with _blamed("get_inputs()"):
            given = self._get_inputs()
        if isinstance(given, dict):
            inputs = dict(given)
        elif isinstance(given, (list, tuple)):
            inputs = dict(enumerate(given))
        else:
            raise KernelFileError(f"get_inputs() must return a list or a dict of inputs, not a {type(given).__name__}")
        self._check_aliases(inputs)
        return inputs

    def _check_aliases(self, inputs):
        seen = []
        for name, value in inputs.items():
            if not tensors.is_tensor(value):
                continue
            begin, end = tensors.span(value)
            for other, first, last in seen:
                if begin < last and first < end:
                    raise KernelFileError(f"inputs {other} and {name} of get_inputs() share memory; what a kernel writes to one would change "
                                          "the other: give each its own")
            if begin < end:
                seen.append((name, begin, end))

    @staticmethod
    def call(function, inputs):
        """The outputs of a call as a list. Exceptions of the function go to the caller."""
        positional = [value for name, value in inputs.items() if isinstance(name, int)]
        named = {name: value for name, value in inputs.items() if not isinstance(name, int)}
        try:
            result = function(*positional, **named)
        except SystemExit as error:
            raise RuntimeError(f"it would end the process, by sys.exit({error.code!r})") from error
        if result is None:
            return None
        if isinstance(result, dict):
            return list(result.values())
        return list(result) if isinstance(result, (list, tuple)) else [result]
