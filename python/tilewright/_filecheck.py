"""A kernel's tt IR against the FileCheck comments in its source, with LLVM's FileCheck."""

import functools
import inspect
import os
import subprocess
import tempfile

from ._programs import find_program
from .backends.compiler import GPUTarget

stub_target = GPUTarget("cuda", 90, 32)


class MatchError(ValueError):
    """The text does not match the comments."""

    def __init__(self, message, module_str):
        super().__init__(f"{message}\n{module_str}")
        self.module_str = module_str


class Module:
    """tt IR as text, by the names that upstream's modules have."""

    def __init__(self, text):
        self._text = text

    def str_nodebug(self):
        return self._text

    __str__ = str_nodebug


def _filecheck():
    for name in (os.environ.get("FILECHECK"), "FileCheck", "FileCheck-22", "/usr/lib/llvm-22/bin/FileCheck"):
        if name and (found := find_program(name)):
            return found
    raise RuntimeError("FileCheck is not found: install LLVM's tools, or name it in FILECHECK")


def run_filecheck(name, module_str, check_template):
    """Raises a MatchError with FileCheck's output if the text does not match the template's comments."""
    with tempfile.TemporaryDirectory() as folder:
        module, template = os.path.join(folder, "module"), os.path.join(folder, "expected")
        for path, text in ((module, module_str), (template, check_template)):
            with open(path, "w") as file:
                file.write(text)
        done = subprocess.run([_filecheck(), template, "--input-file", module, "--dump-input-context=50"], capture_output=True, text=True)
    if done.returncode != 0:
        raise ValueError(done.stdout + done.stderr)


def run_parser(kernel_fn, args=(), kwargs={}, target=stub_target):
    """The tt IR of a kernel for these arguments as the front end leaves it: calls are not inlined, and there are no checks for overflow, which are
    the default elsewhere."""
    return Module(kernel_fn._describe(*args, **{"sanitize_overflow": False, **kwargs}).emitted_tiles())


def run_filecheck_test(kernel_fn):
    run_filecheck("placeholder", run_parser(kernel_fn).str_nodebug(), inspect.getsource(kernel_fn.fn))


def filecheck_test(fn):
    """A test that checks a kernel's IR against the comments in it."""

    @functools.wraps(fn.fn)
    def test_fn():
        run_filecheck_test(fn)

    return test_fn
