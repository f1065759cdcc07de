"""Loads kernel files as modules, for the requested compiler."""

import ast
import contextlib
import importlib
import importlib.machinery
import importlib.util
import inspect
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(ROOT, "examples"))
LINKED = ("triton", "triton.language", "triton.runtime", "triton.testing", "triton.tools", "triton.tools.tensor_descriptor")
counter = 0


class WithoutCalls(importlib.machinery.SourceFileLoader):
    """Leaves out the calls at a file's top level, because a tutorial ends with its benchmark."""

    def get_code(self, name):
        tree = ast.parse(self.get_data(self.path))
        tree.body = [each for each in tree.body if not (isinstance(each, ast.Expr) and isinstance(each.value, ast.Call))]
        return compile(tree, self.path, "exec")


@contextlib.contextmanager
def taking_any_size(triton_module):
    """Makes another Triton accept any_size, which only Tilewright has: for powers of two, the kernel means the same without it."""
    jit = triton_module.jit
    if "any_size" in inspect.signature(jit).parameters:
        yield
        return
    triton_module.jit = lambda fn=None, *, any_size=False, **options: jit(fn, **options)
    try:
        yield
    finally:
        triton_module.jit = jit


def load_file(path, triton_module):
    """A fresh module of a file's definitions, whose `import triton` finds `triton_module`."""
    global counter
    counter += 1
    # The compiler's own modules come first: a module must be imported once only.
    own = {key: importlib.import_module(key.replace("triton", triton_module.__name__, 1)) for key in LINKED}
    saved = {key: sys.modules.get(key) for key in LINKED}
    sys.modules.update(own)
    try:
        name = os.path.splitext(os.path.basename(path))[0]
        full = f"{name}_{triton_module.__name__}_{counter}"
        spec = importlib.util.spec_from_file_location(full, path, loader=WithoutCalls(full, path))
        module = importlib.util.module_from_spec(spec)
        sys.modules[spec.name] = module
        with taking_any_size(triton_module):
            spec.loader.exec_module(module)
    finally:
        for key, value in saved.items():
            if value is None:
                sys.modules.pop(key, None)
            else:
                sys.modules[key] = value
    return module


def load(name, triton_module):
    """A fresh module of a file in examples/ or in this file's folder."""
    folder = HERE if os.path.exists(os.path.join(HERE, name + ".py")) else os.path.join(ROOT, "examples")
    return load_file(os.path.join(folder, name + ".py"), triton_module)


def retune(module, kernel, triton_module, configs, key):
    """Gives other configurations, (constants, warps, stages) each, to an autotuned kernel of the module."""
    made = [triton_module.Config(constants, num_warps=warps, num_stages=stages) for constants, warps, stages in configs]
    setattr(module, kernel, triton_module.autotune(configs=made, key=key)(getattr(module, kernel).fn))
    return module


def first_line(error):
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)
